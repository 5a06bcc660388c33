"""What was said on some days, in fewer words and with no fact lost. Pure; sentences are chosen, never reworded.

    each sentence ─► bears a fact not kept yet?   kept
                     greeting, mere question, repetition? dropped
                     else                          kept while there is room, the weightiest first

Every day stands in a line of its own above what was said on it: `yesterday` means nothing without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from atlas.assertions import folded
from atlas.facts import Fact, Kept, Kind, facts, lost
from atlas.models import offline

#: Questions this short an answer leans on: `How many?` `Three.`
_LEANING_WORDS = 5
#: Sentences of fewer words than this are kept for a fact alone.
_FEWEST_WORDS = 5

_SPEAKER = re.compile(
    r"(?P<who>[^\W\d_][\w.'’-]*(?: [^\W_][\w.'’-]*){0,2})(?: \((?P<when>[^()\n]{1,60})\))?: +(?=\S)", re.UNICODE
)
_MARK = re.compile(r"(?:[#>|*+\s-]+|\d{1,3}[.)]\s+)+(?=\S)")
_PRAISE = r"awesome|great|cool|nice|amazing|wonderful|good"
_CHATTER = re.compile(
    r"(?:hi|hey|hello|wow|thanks|thank you|thx|bye|ok|okay|lol|haha|congrats|yeah|yep|yes|sure|absolutely|definitely"
    r"|exactly|sounds|glad|take care|see you|good (?:morning|night|luck|to)|have (?:a|fun)|you (?:too|got|rock)"
    rf"|{_PRAISE}|no (?:problem|worries)|that(?:'s|’s| is) (?:so |really |such )?(?:a )?(?:{_PRAISE}))\b",
    re.IGNORECASE,
)
_INNER_END = re.compile(r"[.!]\s+\w")
_POINTING = re.compile(
    r"(?:and |but |so |then )?(?:it|its|this|that|these|those|they|he|she|there|both|it's|that's|they're|he's|she's)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """One text, and the ISO day it was said on."""

    text: str
    day: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """Who said it and when, as the text tells it (`Ana (8 May): …`), and the rest of it."""
        text = self.text.strip()
        found = _SPEAKER.match(text)
        return (found["who"], found["when"] or "", text[found.end() :]) if found else ("", "", text)

    @property
    def plain(self) -> str:
        """The text without when it was said, which the line above it tells."""
        who, _, rest = self.parts
        return f"{who}: {rest}" if who else rest

    @property
    def head(self) -> str:
        """The line above it."""
        moment = self.parts[1]
        return f"{self.day}, {moment}" if moment else self.day


@dataclass(slots=True)
class _Sentence:
    """A sentence of one of the texts: its place among all, the text's number, and whether it is to stay."""

    text: str
    lead: str
    source: int
    head: str
    stays: bool = False

    @property
    def line(self) -> str:
        """The sentence as its speaker's."""
        return f"{self.lead}: {self.text}" if self.lead else self.text

    @property
    def asks(self) -> bool:
        """Whether it is a question and nothing else."""
        return not _INNER_END.search(self.text) and self.text.rstrip("\"'”’)*_ ").endswith(("?", "？"))


def digest(said: Sequence[Said], room: int) -> str:
    """The texts in fewer words, one line each in a list below its day; "" if there is nothing to keep.

    `room` is how many characters what bears no fact may fill up to; what bears facts is kept whatever its length.
    """
    every = [sentence for number, one in enumerate(said) for sentence in _taken_apart(one, number)]
    kept = Kept()
    for head in {sentence.head for sentence in every}:
        kept.add(head)
    _keep_facts(every, kept)
    _lean(every)
    _fill(every, room)
    return _written(every)


def forgotten(said: Sequence[Said], summary: str) -> dict[int, tuple[Fact, ...]]:
    """The facts a summary has not kept, by the number of the text; see `facts.lost`.

    When a text was said counts too: its day has to stand in the summary, as the line above it.
    """
    missing = lost([one.plain for one in said], summary)
    heads = {line.removesuffix(":") for line in summary.splitlines()}
    for number, one in enumerate(said):
        if one.head not in heads:
            missing[number] = (*missing.get(number, ()), Fact(Kind.DATE, one.head, said=one.head))
    return missing


def _taken_apart(one: Said, number: int) -> Iterator[_Sentence]:
    lead, _, rest = one.parts
    for said in offline.sentences(rest):
        plain = _MARK.sub("", said, count=1) if _MARK.match(said) else said
        if plain:
            yield _Sentence(plain, lead, number, one.head)


def _keep_facts(every: Sequence[_Sentence], kept: Kept) -> None:
    """What bears a number, a date or a denial stays, and what states something of a name; then any name still missing.

    A sentence goes only if the same words stay: `I haven't read it` is not said by another who hasn't either.
    """
    seen: set[str] = set()
    for sentence in every:
        words = _plain(sentence.line)
        if _bears(sentence) and words not in seen:
            sentence.stays = True
            seen.add(words)
            kept.add(sentence.line)
    for sentence in sorted(every, key=_greeting):
        if not sentence.stays and kept.missing(sentence.line):
            sentence.stays = True
            kept.add(sentence.line)


def _bears(sentence: _Sentence) -> bool:
    """Whether it has a fact: `Restart node A` too, though another sentence has node A; a name in a greeting is none."""
    borne = {fact.kind for fact in facts(sentence.text)}
    return bool(borne - {Kind.NAME}) or (bool(borne) and not _greeting(sentence))


def _greeting(sentence: _Sentence) -> bool:
    """Whether it is a greeting, an applause, a mere question: the last place to look for a name."""
    return sentence.asks or bool(_CHATTER.match(sentence.text))


def _lean(every: Sequence[_Sentence]) -> None:
    """What a kept sentence cannot do without stays too: the one it points back to, the question it answers."""
    for at in range(len(every) - 1, 0, -1):
        here, before = every[at], every[at - 1]
        if not here.stays or before.stays:
            continue
        same = before.source == here.source
        if same and _POINTING.match(here.text) and not _greeting(before):
            before.stays = True
        if before.asks and not same and len(here.text.split()) <= _LEANING_WORDS:
            before.stays = True


def _fill(every: Sequence[_Sentence], room: int) -> None:
    """Statements without a fact, the weightiest first, while there is room."""
    seen = {_plain(s.text) for s in every if s.stays}
    left = room - sum(len(s.text) + 2 for s in every if s.stays)
    rest = [s for s in every if not s.stays and not _greeting(s) and len(s.text.split()) >= _FEWEST_WORDS]
    weights = {id(s): offline.importance(s.text, offline.kind(s.text)) for s in rest}
    for sentence in sorted(rest, key=lambda s: -weights[id(s)]):
        plain = _plain(sentence.text)
        if plain not in seen and len(sentence.text) + 2 <= left:
            sentence.stays = True
            seen.add(plain)
            left -= len(sentence.text) + 2


def _plain(text: str) -> str:
    return " ".join(map(folded, re.findall(r"\w+", text)))


def _written(every: Sequence[_Sentence]) -> str:
    """The sentences that stay: a line for each day, below it a line for each speaker's turn."""
    blocks = []
    for head, day in groupby((s for s in every if s.stays), key=lambda s: s.head):
        lines = [f"{head}:", ""]
        for _, turn in groupby(day, key=lambda s: s.source):
            told = list(turn)
            lead = f"{told[0].lead}: " if told[0].lead else ""
            lines.append(f"- {lead}{' '.join(_closed(s.text) for s in told)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _closed(sentence: str) -> str:
    """A sentence that ends, so that the next one does not run on from it."""
    return sentence + "." if sentence[-1].isalnum() else sentence
