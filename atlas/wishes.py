"""What a short text says that somebody prefers: whose wish, on what topic, which value; and whether it was said. Pure.

    "Ana prefers dark mode"                ana, theme, dark
    "I prefer light mode now"              user, theme, light, a change
    "Please answer in German"              user, language of answers, german
    "Ana prefers tea over coffee"          ana, drinks or whatever else, tea, above coffee

A few sentence patterns, English only, each from the first word of the sentence to its last. A topic is told by its
object ("answers in German" and "commit messages in English" are two) and by when it holds ("at night"). What fits no
pattern is a preference all the same and replaces nothing: a wish overruled by mistake is worse than two that disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from atlas.assertions import folded
from atlas.models import offline
from atlas.models.lexicon import STOPWORDS

#: The key of the metadata, and its two values: it was said so, or it was drawn from what somebody does.
KEY, EXPLICIT, IMPLICIT = "stated", "explicit", "implicit"
#: Whose wish it is where nobody is named.
USER = "user"
#: Texts of more sentences or characters tell a story, values of more words are not one thing. The patterns try every
#: way to part a sentence, so a page without a full stop would keep them busy for half a minute.
_MOST_SENTENCES, _MOST_CHARS, _MOST_WORDS = 3, 200, 6

#: Values that exclude one another, by what they are values of: the words for each.
_SCALES: Mapping[str, Mapping[str, str]] = {
    "theme": {"dark": "dark|night|black", "light": "light|day|bright"},
    "length": {
        "short": "short|shorter|brief|concise|terse|compact|succinct",
        "long": "long|longer|detailed|verbose|thorough|extensive|elaborate|in-depth",
    },
    "tone": {"formal": "formal|polite|professional", "informal": "informal|casual|friendly|relaxed"},
    "indentation": {"tabs": "tabs", "spaces": "(?:(?:two|four|eight|2|4|8) )?spaces"},
    "units": {"metric": "metric", "imperial": "imperial"},
    "temperature": {"celsius": "celsius", "fahrenheit": "fahrenheit"},
    "clock": {"24": "24-hour|24 hour|24h", "12": "12-hour|12 hour|12h|am/pm"},
}
#: The only nouns some of these are said of, and that need not be said; the others are said of anything.
_NOUNS: Mapping[str, frozenset[str]] = {
    "theme": frozenset({"mode", "modes", "theme", "themes", "colour scheme", "color scheme", "ui", "interface"}),
    "indentation": frozenset({"", "indentation", "indent"}),
    "units": frozenset({"", "units", "system", "measurements"}),
    "temperature": frozenset({"", "degrees", "temperatures"}),
    "clock": frozenset({"", "clock", "time", "times", "format", "time format", "clocks"}),
}
_LANGUAGES = (
    "english|german|french|spanish|italian|portuguese|dutch|swedish|danish|norwegian|finnish|polish|czech|russian"
    "|ukrainian|turkish|greek|arabic|hebrew|hindi|chinese|mandarin|cantonese|japanese|korean|vietnamese|thai|indonesian"
    "|hungarian|romanian|catalan|croatian|serbian|slovak|slovenian|bulgarian|persian|farsi"
)

_WHO = r"(?P<who>I|[Ww]e|[Tt]he [Uu]ser|[Uu]ser|[A-Z][\w-]*(?: [A-Z][\w-]*)?)"
_SPEAKER = re.compile(r"(?P<who>[A-Z][\w.-]*(?: [A-Z][\w.-]*)?): (?=\S)")
_LEAD = re.compile(
    r"(?:(?P<change>from now on|now|as of today|going forward|in (?:the )?future)|actually|please|ok|okay|well|also"
    r"|and|so|by the way|note that|remember that|remember|note|to be clear)[,:]? +",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[ ,]+(?:(?P<change>now|from now on|these days|nowadays|instead|again|as of today|going forward)|please|in general"
    r"|generally|by default|always|(?:because|since|as it|as they|so that) .+)$",
    re.IGNORECASE,
)
_ADVERB = r"(?: (?:now|always|really|strongly|generally|still|much|clearly|definitely|also|just))*"
_NOW = re.compile(r"\b(?:now|switched|changed)\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\?|\b(?:maybe|perhaps|might|may|could|if i|whether|used to|thinks?|thought|said|says|wonders?|would have)\b",
    re.IGNORECASE,
)
#: What joins two things: neither is the one value.
_JOINED = re.compile(r"[,;:/]|\b(?:and|or|but|unless|except|either|both|than)\b")

#: What is liked is not exclusive: who likes short stories may like long ones.
_WANTS = r"(?:prefers?|wants?|wishes|needs?|(?:would|'d) (?:like|prefer|rather have)|uses?|switched to|chooses?)"
_DOES = r"(?:use|give|keep|make|set|show|write|prefer|stick to|switch to|go with)(?: me| us)?"
_ASK = rf"(?:{_WANTS}|{_DOES})(?: to (?:have|use|get|see|work in|work with))?"
_ARTICLE = r"(?:(?:the|a|an|my|your|our|all|his|her|their) )*"
_OVER = r"(?: (?:over|to|rather than|instead of|not) (?P<over>.+?))?"
_WHEN = r"(?P<when>(?: (?:for|when|while|at|during|on|with|before|after|if|in the|in a) .+)?)"

_FAVOURITE = re.compile(rf"(?P<topic>[\w -]{{2,40}}?) (?:is|are){_ADVERB} {_ARTICLE}(?P<value>.+)")
_CALLED = re.compile(
    r"(?:(?:please )?(?:call|address) me(?: as)?|(?:prefers?|wants?|likes?|would like) to be (?:called|addressed as)"
    r"|goes by) (?P<value>[\w .'-]{1,30})"
)
_IN_LANGUAGE = re.compile(
    rf"(?:{_ASK} )?{_ARTICLE}(?P<thing>(?:to )?(?:answers?|reply|replies|respond|responses?|speak|talk|be answered"
    rf"|write(?: [\w -]{{2,30}})?)|[\w -]{{2,30}}?)(?: to be)?(?: written)? in (?P<value>{_LANGUAGES}){_OVER}{_WHEN}"
)
_OF_LANGUAGE = re.compile(
    rf"{_ASK} (?P<value>{_LANGUAGES}) (?P<thing>answers|replies|responses|comments|documentation){_OVER}{_WHEN}"
)
_ALWAYS = re.compile(r"(?P<value>always|never|do not|don't) (?P<topic>\w.+)")
_LIKES = re.compile(
    r"(?P<value>likes?|loves?|enjoys?|dislikes?|hates?|(?:does not|doesn't|do not|don't) (?:like|enjoy|want))"
    r" (?P<topic>.+)"
)
_USE_FOR = re.compile(rf"{_ASK} {_ARTICLE}(?P<value>.+?){_OVER} for (?P<topic>.+)")
_PREFERS = re.compile(
    rf"(?:prefers?|(?:would|'d) rather have|(?:would|'d) prefer) {_ARTICLE}(?P<value>.+?){_OVER}{_WHEN}"
)
_BE = re.compile(r"(?:be|stay|keep it|keep your answers|keep answers|keep replies|make it) (?:more )?(?P<value>.+)")
_ANSWERING = re.compile(r"(?:to )?(?:be )?(?:answer|repl(?:y|ie)|respon[ds]e?|speak|talk)(?:s|ed)?")
_ORDER = re.compile(
    rf"(?:{_DOES}|answers?|reply|replies|respond|responses?|speak|talk|call|address|always|never|do|don't|be|stay)"
    r"(?: .*)?"
)
_MUST = re.compile(r"(?:you )?(?:must|should|have to) ", re.IGNORECASE)

#: What says that a wish was said, and what says that it was only guessed.
_SAID = re.compile(
    r"\b(?:prefers?|wants?|likes?|loves?|hates?|dislikes?|wishes|needs?|enjoys?|favou?rites?|would (?:like|rather)"
    r"|insists?|must|should)\b|(?:^|[.!:,] )(?:please|always|never|don't|do not|answer|reply|respond|call me|use|keep"
    r"|write|avoid|stop|speak|give|be|from now on|remember)\b|'d (?:rather|like|prefer)\b|lieber|bevorzug|喜欢|偏好",
    re.IGNORECASE,
)
_GUESSED = re.compile(
    r"\b(?:seems?|seemed|appears?|tends?|usually|often|mostly|typically|probably|apparently|likely|perhaps|maybe|might"
    r"|presumably|i think|i guess|looks like|sounds like)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted by `subject`, on `topic`: `value`, rather than any of `over`.

    `sole`: the topic has one value at a time. `change`: the text says that it was otherwise before. `ended`: that this
    value is wanted no more.
    """

    subject: str
    topic: tuple[str, ...]
    value: str
    sole: bool = False
    change: bool = False
    ended: bool = False
    over: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, ...]:
        """What two wishes share that may overrule one another."""
        return self.subject, *self.topic

    def replaces(self, older: Wish) -> bool:
        """Whether this puts an end to an older wish."""
        if self.key != older.key or older.ended:
            return False
        if self.value == older.value:
            return self.ended
        return not self.ended and (self.sole or self.change or older.value in self.over)


def stated(text: str) -> str:
    """Whether a preference was said, or drawn from what somebody does.

    >>> stated("I prefer dark mode"), stated("Ana seems to prefer dark mode"), stated("Ana opened the dark theme again")
    ('explicit', 'implicit', 'implicit')
    """
    plain = _SPEAKER.sub("", text.strip(), count=1)
    return EXPLICIT if _SAID.search(plain) and not _GUESSED.search(plain) else IMPLICIT


def wishes(text: str) -> tuple[Wish, ...]:
    """What a short text says that somebody prefers; nothing of a long one.

    >>> [(w.subject, w.topic, w.value) for w in wishes("Ana: please answer in German")]
    [('ana', ('language', 'answers', ''), 'german')]
    """
    if len(text) > _MOST_SENTENCES * _MOST_CHARS:
        return ()
    said = offline.sentences(text)
    if len(said) > _MOST_SENTENCES or max(map(len, said), default=0) > _MOST_CHARS:
        return ()
    speaker = _SPEAKER.match(text.strip())
    subject = _folded(speaker["who"]) if speaker else USER
    return tuple(chain.from_iterable(_said(one, subject) for one in said))


def _said(sentence: str, speaker: str) -> Iterator[Wish]:
    """The wish of one sentence, if it is one."""
    text, change = _bare(_SPEAKER.sub("", sentence.strip(), count=1).rstrip(" .!"))
    if _UNSURE.search(text):
        return
    who, rest = _parted(text)
    subject = _subject(who, speaker)
    if not rest or subject is None:
        return
    ended = bool(re.search(r"\b(?:no longer|any ?more|any longer)\b", rest))
    plain = _unended(rest) if ended else rest
    for read in (_favourite, _called, _language, _scale, _toggle, _for, _plain_wish):
        found = read(plain, who)
        if found is not None:
            topic, value, sole, over = found
            generic = topic[0] == "prefer"
            if _fits(value):
                changed = (change or bool(_NOW.search(rest))) and not generic
                yield Wish(subject, topic, value, sole and not ended, changed, ended, over)
            return


_Read = tuple[tuple[str, ...], str, bool, frozenset[str]]


def _bare(text: str) -> tuple[str, bool]:
    """The sentence without what leads in and out of it, and whether that says that something has changed."""
    change = False
    while found := _LEAD.match(text):
        change, text = change or bool(found["change"]), text[found.end() :]
    while found := _TAIL.search(text):
        change, text = change or bool(found["change"]), text[: found.start()]
    return text, change


def _parted(text: str) -> tuple[str, str]:
    """Who is spoken of ("" in an order), and what is said of them, in lower case."""
    owner = re.match(
        r"(?:(?P<my>[Mm]y|[Oo]ur)|(?P<who>[A-Z][\w-]*(?: [A-Z][\w-]*)?)['’]s) (?:favou?rite|preferred) ", text
    )
    if owner:
        return "I" if owner["my"] else owner["who"], "favourite " + text[owner.end() :].casefold()
    found = re.match(rf"{_WHO}{_ADVERB} (?=\w|')", text.replace("I'd ", "I would "))
    if found and not _order(found["who"]):
        rest = text.replace("I'd ", "I would ")[found.end() :]
        return found["who"], _MUST.sub("", rest.casefold())
    return "", _MUST.sub("", text.casefold())


def _order(word: str) -> bool:
    """Whether what looks like a name is the first word of an order."""
    return bool(_ORDER.fullmatch(word.casefold())) or word.casefold() in STOPWORDS - {"i", "we"}


def _subject(who: str, speaker: str) -> str | None:
    name = " ".join(who.casefold().split())
    if name in {"", "i", "my"}:
        return speaker
    if name in {"user", "the user"}:
        return USER
    return _folded(who)


def _unended(text: str) -> str:
    """What is wanted no more, as if it still were."""
    text = re.sub(r"\bno longer |,? \b(?:any ?more|any longer)\b", "", text)
    return re.sub(r"\b(?:does not|doesn't|do not|don't) ", "", text)


def _favourite(text: str, _who: str) -> _Read | None:
    found = _FAVOURITE.fullmatch(text.removeprefix("favourite ")) if text.startswith("favourite ") else None
    return (("favourite", _folded(found["topic"])), _folded(found["value"]), True, frozenset()) if found else None


def _called(text: str, _who: str) -> _Read | None:
    found = _CALLED.fullmatch(text)
    return (("name",), _folded(found["value"]), True, frozenset()) if found else None


def _language(text: str, who: str) -> _Read | None:
    text = text.removeprefix("always ")
    found = _IN_LANGUAGE.fullmatch(text) or _OF_LANGUAGE.fullmatch(text)
    # "Ana answers in German" is what she does; "the user's answers" are nobody's wish.
    if found is None or (who and not re.match(_ASK, text) and not _ANSWERING.match(text)):
        return None
    if re.match(r"never|do not|don't|not\b", found["thing"]):
        return None
    thing = re.sub(rf"^(?:to )?(?:write|keep) ?{_ARTICLE}", "", found["thing"])
    about = "answers" if not thing or _ANSWERING.fullmatch(thing) else _folded(thing)
    return ("language", about, _folded(found["when"])), found["value"], True, _others(found["over"])


def _scale(text: str, _who: str) -> _Read | None:
    """A value of one of the scales: "dark mode", "short answers", "tabs"."""
    for name, values in _SCALES.items():
        for value, words in values.items():
            noun = r"(?: (?P<noun>(?!over |to |rather |instead |not )[\w -]{2,30}?))?"
            form = rf"{_ASK} {_ARTICLE}(?P<is>{words}){noun}{_OVER}{_WHEN}"
            found = re.fullmatch(form, text)
            if found and (name not in _NOUNS or (found["noun"] or "") in _NOUNS[name]):
                if name not in _NOUNS and not found["noun"]:
                    return None
                about = "" if name in _NOUNS else _answers(_folded(found["noun"]))
                return (name, about, _folded(found["when"])), value, True, frozenset()
            short = _BE.fullmatch(text)
            if short and name in {"length", "tone"} and re.fullmatch(words, short["value"]):
                return (name, "answers", ""), value, True, frozenset()
    return None


def _answers(noun: str) -> str:
    return "answers" if _ANSWERING.fullmatch(noun) or noun in {"reply", "response"} else noun


def _toggle(text: str, who: str) -> _Read | None:
    """Always or never, like or dislike."""
    found = _ALWAYS.fullmatch(text)
    if found and not who:
        verb, _, rest = found["topic"].partition(" ")
        if verb in {"answer", "reply", "respond", "speak", "use", "write"} and found["value"] == "always":
            more = _language(found["topic"], who) or _scale(found["topic"], who)
            if more:
                return more
        return ("do", verb, _folded(rest)), "yes" if found["value"] == "always" else "no", True, frozenset()
    likes = _LIKES.fullmatch(text)
    if likes is None:
        return None
    no = bool(re.match(r"(?:dis|hate|do)", likes["value"]))
    return ("like", _folded(re.sub(rf"^{_ARTICLE}", "", likes["topic"]))), "no" if no else "yes", True, frozenset()


def _for(text: str, _who: str) -> _Read | None:
    """Something for a purpose: it may have two, so only a word of change makes one of them the older."""
    found = _USE_FOR.fullmatch(text)
    return (("for", _folded(found["topic"])), _folded(found["value"]), False, _others(found["over"])) if found else None


def _plain_wish(text: str, _who: str) -> _Read | None:
    found = _PREFERS.fullmatch(text)
    if found is None:
        return None
    return ("prefer", _folded(found["when"])), _folded(found["value"]), False, _others(found["over"])


def _others(text: str | None) -> frozenset[str]:
    return frozenset({_folded(re.sub(rf"^{_ARTICLE}", "", text))}) if text else frozenset()


def _fits(value: str) -> bool:
    return 0 < len(value.split()) <= _MOST_WORDS and not _JOINED.search(value)


def _folded(text: str) -> str:
    return " ".join(map(folded, text.split())).strip(" .!")
