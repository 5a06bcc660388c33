r"""What is drawn from the turns of a window by rule: preferences, decisions, facts, how something is done.

Each is a sentence of its own, about the one who said it, with the date its "yesterday" means, and names its turn. Rules
are strict, English only, and rather miss something than make it up: the window keeps every word anyway. Of an assistant
only decisions and steps are drawn, since what else it says is seldom about anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from atlas import spoken, turns
from atlas.ingest import Request
from atlas.messages import USER, Message
from atlas.models.entities import entities
from atlas.models.offline import prose, sentences
from atlas.statements import statements
from atlas.turns import Turn

#: A longer message, in characters, was pasted: what stands in it is said by somebody else.
_PASTED = 2000
_FEWEST, _MOST = 3, 30
#: Fewer steps are no procedure.
_STEPS = 3
#: The verbs that a habit is told with.
_DOING = (
    r"(?:use|write|eat|drink|wear|buy|order|choose|take|work|run|put|keep|start|drive|go for|listen to|read|watch|play)"
)
_ASKED = (
    r"(?:use|write|call|reply|answer|respond|include|show|give|keep|explain|add|format|ask|mention|put|avoid|check|run"
    r"|commit|remind|start|end|send|provide|make|suggest|assume|store|speak|address)"
)
_VAGUE = (
    r"(?:it|that|this|these|those|them|him|her|his|their|how|your|you|our|what|when|to (?:hear|see|know|help)"
    r"|the (?:idea|way|sound|look))\b"
)
_IMPERATIVE = re.compile(
    rf"(?:(?:and|but|so|also),? )?(?:(?:please )?(?:always|never) {_ASKED}\b"
    r"|(?:from now on|going forward|in (?:the )?future),? (?:please )?(?:always |never |do not |don['’]t )?"
    rf"{_ASKED}\b"
    r"|please (?:always|never|call me|address me|reply in|answer in|respond in|write in|speak|stop|don['’]t ever)\b)",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"(?:(?:and|but|so|well|also|honestly|personally|actually|no|now|these days),? )*(?:"
    r"(?:I|we)(?:['’]d| would)? (?:(?:really|strongly|much|generally|usually|now|actually) )*prefer\b"
    r"|I(?:['’]d| would) (?:much )?rather \w+ .*\bthan\b"
    rf"|I (?:always|never) {_DOING}\b"
    r"|my favou?rite \w+(?: \w+){0,3} (?:is|are|was)\b"
    rf"|I (?:(?:really|absolutely|just) )*(?:love|like|enjoy|hate|dislike|adore|can['’]t stand) "
    rf"(?!{_VAGUE}|(?-i:the [a-z]))\w"
    rf"|I (?:don['’]t|do not) (?:like|eat|drink|enjoy) (?!{_VAGUE})\w"
    r"|I(?:['’]m| am) (?:not )?(?:a (?:big|huge) fan of|vegetarian|vegan|allergic to)\b)",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"(?:(?:so|ok|okay|then|and|yes|alright|well),? )?(?:"
    r"(?:we|i)(?:['’]ve| have)? (?:(?:just|finally|also) )?(?:decided (?:to|on|that|against|not to)"
    r"|agreed (?:to|on|that)|settled on|chosen|chose(?: to)?|opted (?:for|to))\b"
    r"|let['’]?s (?:go with|stick (?:with|to)|settle on|choose|switch to)\b"
    r"|we(?:['’]ll|['’]re| will| are) (?:go with|going with|stick with|sticking with|switching to|adopting)\b"
    r"|(?:the )?decision(?: is| was)?:? )",
    re.IGNORECASE,
)
_PLAIN_DECISION = re.compile(
    r"(?:we (?:decided|agreed|chose|settled on)|(?:the )?decision(?: is| was)?:) ", re.IGNORECASE
)
#: What is decided by all of them is told as it was said.
_OURS = re.compile(r"(?:we(?:['’]\w+)? \w+|let['’]?s|(?:the )?decision)\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\?|\b(?:if|unless|would|could|might|should|maybe|perhaps|probably|possibly|apparently|thinking (?:of|about)"
    r"|considering|not sure|wonder|guess|suppose|supposed|hope|hoping|wish|almost|nearly|about to|used to)\b",
    re.IGNORECASE,
)
_EVENT = (
    r"(?:moved|relocated|bought|adopted|got|started|joined|finished|completed|graduated|married|went|visited|met"
    r"|signed up|applied|passed|won|lost|quit|left|sold|booked|built|launched|published|changed|switched|migrated"
    r"|upgraded|installed|attended|volunteered|returned|flew|travell?ed|ran|made|wrote|read|saw|took|became|grew up"
    r"|celebrated|received|gave|learned|hired|opened|released|deployed|fixed|created|retired|broke|injured)"
)
_STATE = r"(?:live|work|study|teach|own|speak|manage|run|lead|play|volunteer)"
_FACT = re.compile(
    rf"(?:(?:and|but|so|well|also|actually),? )?(?:"
    rf"(?:(?:yesterday|today|recently|(?:last|this) \w+),? )?(?:I|we)(?:['’]ve| have)?"
    rf"(?: (?:just|recently|finally|also|even))? (?P<event>{_EVENT})\b(?!['’]| {_VAGUE})"
    rf"|I (?:(?:now|still|also|currently) )?(?P<state>{_STATE})\b"
    r"|I(?:['’]m| am) (?:from|based in|living in|working (?:as|at|for|on)|studying|allergic to|married|an? [a-z]+"
    r"|\d+ years old)\b"
    r"|I(?:['’]ve| have) (?:an?|two|three|four|five|\d+) "
    r"|I was born\b"
    r"|my (?P<thing>[a-z]+(?: [a-z]+){0,2}?)(?:['’]s name)? "
    r"(?:is|are|was|lives?|works?|moved|sits?|starts?|runs?|listens?)\b)",
    re.IGNORECASE,
)
#: A word within three of the verb that stands for what was said before.
_POINTING = re.compile(r"\w*(?:\W+\w+){0,2}?\W+(?:it|this|that|these|those|them|him|her)\b(?!['’])", re.IGNORECASE)
#: And one anywhere that points at what is in front of them, unless it is a time.
_HERE = re.compile(
    r"\b(?:this|these|those)\b"
    r"(?! (?:year|month|week|weekend|morning|afternoon|evening|spring|summer|autumn|fall|winter)\b)",
    re.IGNORECASE,
)
#: What nobody needs to know later.
_IDLE = re.compile(
    r"\b(?:excited|glad|happy|sure|sorry|curious|interested|looking forward|trying|going to|planning|wondering|ready"
    r"|bit|lots? of|ton of|couple of|few|question|problem|issue|feeling|kind of|sort of|pleasure|big help|fan|something"
    r"|got)\b",
    re.IGNORECASE,
)
_IDLE_THINGS = frozenset(
    {"goal", "question", "point", "plan", "idea", "problem", "issue", "understanding", "guess", "concern", "main"}
    | {"first", "next", "only", "code", "app", "project"}
)
_OPENING = re.compile(
    r"(?:and|but|so|well|also|honestly|personally|actually|ok|okay|then|yes|alright),? ", re.IGNORECASE
)
_HOW_TO = re.compile(
    r"[#* ]*(?:how (?:to|we|i)\b|(?:the )?steps (?:to|for)\b|.{0,40}\b(?:procedure|runbook|checklist)\b).{0,80}",
    re.IGNORECASE,
)
_STEP = re.compile(r"[ \t]*(?:step )?(?P<number>\d{1,2})[.):][ \t]+\S", re.IGNORECASE)


def gleaned(window: Sequence[Turn], name: str) -> Iterator[Request]:
    """The memories of their own in a window, each with the turn it comes from."""
    for turn in window:
        moment = turn.message.time
        for kind, text in _drawn(turn.message):
            yield Request(text, kind=kind, source=turns.source(name, [turn]), created=moment, whole=True)


def _drawn(message: Message) -> Iterator[tuple[str, str]]:
    """(kind, text) of what is drawn from one message."""
    personal = message.role == USER
    if personal and (steps := skill(message.text)):
        yield "skill", steps
    if len(message.text) > _PASTED:
        return
    who = message.speaker or "The user"
    for sentence in sentences(prose(message.text)):
        kind = kind_of(sentence) if personal else "decision" if _PLAIN_DECISION.match(sentence) else ""
        if kind:
            yield kind, _told(kind, sentence, who, message)


def kind_of(sentence: str) -> str:
    """Whether a sentence of a person is a preference, a decision, a fact worth keeping; else "".

    >>> [kind_of(s) for s in ("I prefer tabs to spaces.", "We decided to use Postgres.", "I moved to Porto yesterday.")]
    ['preference', 'decision', 'fact']
    >>> [kind_of(s) for s in ("Do you prefer tabs?", "I love that one!", "I might move to Porto.", "That is fine.")]
    ['', '', '', '']
    """
    number = len(sentence.split())
    if not _FEWEST <= number <= _MOST or sentence.rstrip().endswith(("?", ":")) or "[secret:" in sentence:
        return ""
    if (match := _DECISION.match(sentence)) and "?" not in sentence:
        return "" if _pointing(sentence, match) else "decision"
    if match := _PREFERENCE.match(sentence) or _IMPERATIVE.match(sentence):
        return "" if _pointing(sentence, match) or _HERE.search(sentence) else "preference"
    if _HERE.search(sentence) or _UNSURE.search(sentence):
        return ""
    return "fact" if statements(sentence) or _is_fact(sentence) else ""


def skill(text: str) -> str:
    r"""How something is done, if a text says so: a line that names it and at least three numbered steps; else "".

    >>> skill("How to restart the proxy:\n1. Drain it\n2. Stop it\n3. Start it\nGood luck!").splitlines()[-1]
    '3. Start it'
    """
    lines = text.split("\n")
    numbered = [(n, int(m["number"])) for n, line in enumerate(lines) if (m := _STEP.match(line))]
    steps = [n for place, (n, number) in enumerate(numbered, 1) if number == place]
    if len(steps) < _STEPS:
        return ""
    above = [line.strip() for line in lines[: steps[0]] if line.strip()]
    if not above or not _HOW_TO.match(above[-1]):
        return ""
    return "\n".join([above[-1].strip("#* :"), "", *(lines[n].strip() for n in steps)])


def _told(kind: str, sentence: str, who: str, message: Message) -> str:
    """The sentence as it is stored: about the one who said it, with its date."""
    if kind == "fact" and statements(sentence):
        return sentence
    plain = _OPENING.sub("", sentence, count=1) if _OPENING.match(sentence) else sentence
    plain = plain[:1].upper() + plain[1:]
    said = plain if _IMPERATIVE.match(plain) or (kind == "decision" and _OURS.match(plain)) else spoken.of(plain, who)
    # What a pattern of `statements` reads is dated by `valid_from`: a date in brackets would hide it.
    return said if statements(said) else spoken.dated(said, message.time)


def _is_fact(sentence: str) -> bool:
    """Whether somebody tells of themselves what happened, or what is so, and says something by it."""
    match = _FACT.match(sentence)
    dated = bool(spoken.TIMED.search(sentence))
    if not match or (_IDLE.search(sentence) and not dated):
        return False
    if match["thing"] and match["thing"].split()[0].lower() in _IDLE_THINGS:
        return False
    return dated or _telling(sentence) if match["event"] or match["state"] or match["thing"] else True


def _pointing(sentence: str, match: re.Match[str]) -> bool:
    """Whether what is meant stands in another sentence: "I love watching them", "let's go with that"."""
    return bool(_POINTING.match(sentence, match.end() - 1))


def _telling(sentence: str) -> bool:
    """Whether there is a name or a number in it."""
    return any(map(str.isdigit, sentence)) or any(one[:1].isupper() for one in entities(sentence))
