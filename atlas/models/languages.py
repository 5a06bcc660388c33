"""The words that facts hang on, in several languages: months, weekdays, numerals, denials, opposites. Data only.

A word of one language may be a harmless one of another (`no`, `sin`, `mar`). Where facts are compared that errs on the
safe side: a text seems to say one fact more than it does.
"""

from __future__ import annotations


def _numbered(text: str, first: int = 1) -> dict[str, int]:
    """Each word → the number of its line."""
    return {word: number for number, line in enumerate(text.strip().splitlines(), first) for word in line.split()}


#: English, German, French, Spanish; each with the short forms in use.
MONTHS = _numbered("""
january jan januar jänner janvier enero ene
february feb februar februari février fevrier febrero
march mar märz maerz mars marzo
april apr avril abril abr
may mai mayo
june jun juni juin junio
july jul juli juillet julio
august aug août aout agosto
september sep sept septembre septiembre
october oct oktober okt octobre octubre
november nov novembre noviembre
december dec dezember dez décembre decembre diciembre dic
""")

#: Monday is 1. Short forms are left out: most are words (`sun`, `do`, `mar`).
WEEKDAYS = _numbered("""
monday mondays montag lundi lunes 月曜日 星期一 周一
tuesday tuesdays dienstag mardi martes 火曜日 星期二 周二
wednesday wednesdays mittwoch mercredi miércoles 水曜日 星期三 周三
thursday thursdays donnerstag jeudi jueves 木曜日 星期四 周四
friday fridays freitag vendredi viernes 金曜日 星期五 周五
saturday saturdays samstag sonnabend samedi sábado 土曜日 星期六 周六
sunday sundays sonntag dimanche domingo 日曜日 星期日 星期天 周日
""")

#: Times that mean another day each day they are read. Longer ones come first where they are looked for.
RELATIVE = (
    *("day before yesterday", "day after tomorrow", "yesterday", "tomorrow", "tonight", "last night", "today"),
    *("vorgestern", "übermorgen", "gestern", "morgen", "heute", "avant-hier", "hier soir", "hier", "demain"),
    *("aujourd'hui", "anteayer", "ayer", "mañana", "hoy"),
    *(
        "一昨日",
        "昨日",
        "明日",
        "今日",
        "去年",
        "来年",
        "先週",
        "来週",
        "先月",
        "来月",
        "昨天",
        "明天",
        "今天",
        "前天",
        "后天",
    ),
    *("上周", "下周", "上个月", "下个月", "明年", "今年"),
)

#: Numerals in words. `one` and `second` are left out: they count too seldom (`that one`, `a second`).
NUMERALS = {
    word: str(number)
    for word, number in {
        **_numbered("zero", 0),
        **_numbered("""
two twice zwei deux dos
three third thrice drei trois tres
four fourth vier quatre cuatro
five fifth fünf cinq cinco
six sixth sechs seis
seven seventh sieben sept siete
eight eighth acht huit ocho
nine ninth neun neuf nueve
ten tenth zehn dix diez
eleven eleventh elf onze once
twelve twelfth zwölf douze doce
thirteen
fourteen
fifteen
sixteen
seventeen
eighteen
nineteen
twenty zwanzig vingt veinte
""", 2),
        "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
        "hundred": 100, "hundert": 100, "thousand": 1000, "tausend": 1000, "million": 10**6, "billion": 10**9,
    }.items()
    if word not in {"once", "sept"}
} | {"half": "0.5", "dozen": "12"}  # fmt: skip

#: What denies, forbids or excepts: word → the sense in which it does. Two senses never stand for each other.
DENIALS = {
    word: sense
    for sense, text in {
        "not": """not no none nobody nothing nowhere neither nor cannot cant wont dont doesnt didnt isnt wasnt arent
            nicht kein keine keinen keinem keiner keines nichts niemand weder pas aucun aucune rien ni
            nada nadie ningún ninguna ninguno tampoco hardly barely scarcely rarely seldom kaum""",
        "never": "never nie niemals jamais nunca jamás",
        "without": "without ohne sans sin",
        "except": "except excluding unless außer ausser sauf salvo excepto",
        "only": "only nur seulement uniquement solamente únicamente",
        "forbidden": "forbidden prohibited verboten interdit interdite prohibido prohibida",
    }.items()
    for word in text.split()
}

#: The same in scripts without spaces: pieces of words.
GLUED_DENIALS = {
    **dict.fromkeys(("不", "没", "無", "无", "未", "别", "勿", "ない", "なかっ", "ません", "なし", "ずに"), "not"),
    **dict.fromkeys(("从不", "從不", "决不", "決して"), "never"),
    **dict.fromkeys(("禁止",), "forbidden"),
    **dict.fromkeys(("除了", "以外"), "except"),
    **dict.fromkeys(("只", "だけ", "のみ"), "only"),
}

#: Words behind `no` and `not` that make it an end: `no longer`, `not anymore`, `nicht mehr`, `ne … plus`, `ya no`.
ENDED = frozenset({"longer", "anymore", "more", "mehr", "plus"})

_PAIRS = """
/
on/off enable/disable enabled/disabled allow/forbid allow/deny allowed/forbidden allowed/denied open/close
open/closed opened/closed start/stop started/stopped starts/stops add/remove added/removed increase/decrease
increased/decreased up/down left/right before/after always/never true/false yes/no pass/fail passed/failed
passes/fails accept/reject accepted/rejected min/max minimum/maximum first/last more/less most/least
above/below over/under high/low higher/lower fast/slow faster/slower with/without include/exclude
included/excluded lock/unlock locked/unlocked valid/invalid safe/unsafe public/private internal/external
primary/secondary online/offline upgrade/downgrade win/lose won/lost buy/sell bought/sold love/hate
loves/hates likes/dislikes like/dislike can/cannot morning/evening am/pm north/south east/west
an/aus mit/ohne vor/nach avant/après avec/sans con/sin antes/después
"""

#: Words of which two texts that are otherwise the same may not have one each.
OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())

_PLAIN = """
a an the this that these those of to in on at by for from with as and or so if then than is are was were be been being
am do does did have has had will would i you he she it we they me him her us them my your his its our their i'm i've i'd
i'll it's that's there
"""

#: What a denial does not turn on. Far fewer than the stop words: of `not going` the second word is all there is.
FUNCTION_WORDS = frozenset(_PLAIN.split())
