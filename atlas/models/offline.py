"""Language work without a language model: sentences, labels, summaries, importance, kind.

Rules and counts only: no key, no network, and the same text always gives the same answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from atlas.models.lexicon import ABBREVIATIONS, CLOSING, STOPWORDS, UNITS
from atlas.words import terms

#: Longest label and summary, in characters.
LABEL_CHARS, SUMMARY_CHARS = 80, 300

_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEAD_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+\S")
_BLOCK_MARK = re.compile(r"\A[ \t]*(?:(?:#{1,6}|[-*+•>]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|>+|\|)")
# One way to match each line: with two, a row of fifty dashes and a letter took for ever.
_RULE = re.compile(r"[|: \t]*[-=_*][|: \t]*[-=_*][-=_*|: \t]*")
_END = re.compile(r"[.!?…]+[\"'”’)\]»*_]*(?=\s|$)|[。！？｡]+[」』”’）】]*")
_LAST_WORD = re.compile(r"\S*$")
# A sentence scoring under this share of the best one is filler, even where there is room.
_WORTH = 0.3
_TRAILING = " \t.,;:!?…。！？｡、，；：–—"


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, white space collapsed; a heading, a bullet, a table row stands alone.

    >>> sentences("Dr. Lee measured 3.5 ms. See e.g. foo.py! 备份完成。重启服务器。")
    ['Dr. Lee measured 3.5 ms.', 'See e.g. foo.py!', '备份完成。', '重启服务器。']
    """
    return [sentence for block in _blocks(text) for sentence in _cut(block)]


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs with their lines joined; what Markdown sets apart is set apart."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line.strip() or _BLOCK_MARK.match(line):
            if lines:
                yield " ".join(" ".join(lines).split())
            lines = []
        if line.strip() and not _RULE.fullmatch(line):
            lines.append(line)
            if _HEADING.match(line):
                yield " ".join(line.split())
                lines = []
    if lines:
        yield " ".join(" ".join(lines).split())


def _cut(block: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(block):
        if _ends(block, start, match):
            yield block[start : match.end()].strip()
            start = match.end()
    if block[start:].strip():
        yield block[start:].strip()


def _ends(block: str, start: int, match: re.Match[str]) -> bool:
    """Whether the mark ends the sentence that began at `start`."""
    mark, after = match[0], block[match.end() :].lstrip()[:1]
    if mark[0] in "。！？｡" or not after:
        return True
    if mark[0] != "." or mark.startswith(".."):
        return not after.islower()
    before = block[start : match.start()]
    word = _LAST_WORD.findall(before)[0].lstrip("([\"'“‘")
    if word.lower() in ABBREVIATIONS:
        return after.isupper() and (word.lower() in CLOSING or word in UNITS)
    if len(word) == 1 and word.isupper() and word != "I":
        # An initial follows a name or opens the sentence; `node A.` and `option B.` end it.
        previous = _LAST_WORD.findall(before[: -len(word)].rstrip())[0]
        return bool(previous) and not previous[0].isupper()
    numbers_a_list = word.isdigit() and not before[: -len(word)].strip()
    return not (after.islower() or numbers_a_list)


def label(text: str) -> str:
    """One line of at most `LABEL_CHARS`: the title, the first heading, or the first clause; no punctuation at its end.

    >>> label("JWT refresh token has a race condition. Decided to use sliding window strategy.")
    'JWT refresh token has a race condition'
    """
    head = _HEAD.match(text)
    title = _HEAD_TITLE.search(head[1]) if head else None
    plain = _plain(title[1] if title else _opening(prose(text)[:4000])) or " ".join(text.split())
    short = plain if len(plain) <= LABEL_CHARS else _clause(plain)
    return short.rstrip(_TRAILING) or short


def _opening(text: str) -> str:
    """The first sentence that says something: not `Hey Ana!` when there is another."""
    said = [s for s in sentences(text) if any(map(str.isalnum, s))]
    telling = (s for s in said if not (_CHATTER.match(s) and len(s.split()) <= 6))
    return next(telling, said[0] if said else "")


def _clause(text: str) -> str:
    """The opening of a long sentence: to its last clause mark within the limit, else to the last whole word."""
    head = text[: LABEL_CHARS + 1]
    cuts = [m.start() for m in re.finditer(r"[,;:、，；：](?=\s|[^\x00-\x7f])| [-–—(] |[、，；：]", head)]
    if cuts and cuts[-1] >= LABEL_CHARS // 2:
        return text[: cuts[-1]]
    words = head.rsplit(" ", 1)[0].split(" ") if " " in head else [head[:LABEL_CHARS]]
    while len(words) > 4 and words[-1].lower() in STOPWORDS:
        words.pop()
    return " ".join(words)


def summary(text: str, limit: int = SUMMARY_CHARS) -> str:
    """At most `limit` characters on one line: a short text itself, of a longer one the sentences it turns on.

    A sentence scores by the words it shares with the others (centrality), by its place, and by what it decides or
    forbids; chosen sentences keep their order.
    """
    whole = " ".join(text.split())
    if len(whole) <= limit and "\n" not in text.strip():
        return whole
    said = [plain for s in sentences(prose(text)) if not _HEADING.match(s) and (plain := _plain(s))]
    said = said or [plain for s in sentences(text) if (plain := _plain(s))] or [whole]
    if len(joined := " ".join(map(_closed, said))) <= limit:
        return joined
    chosen = _choose(said, limit)
    return " ".join(_closed(said[i]) for i in sorted(chosen)) if chosen else _shortened(said[0], limit)


def _choose(said: list[str], limit: int) -> list[int]:
    """Greedy choice by score, each pick lowering what repeats it."""
    bags = [frozenset(t for t in terms(s) if t not in STOPWORDS) for s in said]
    spread = Counter(term for bag in bags for term in bag)
    scores = [_weight(i, s, bag, spread) for i, (s, bag) in enumerate(zip(said, bags, strict=True))]
    chosen: list[int] = []
    room, least = limit, 0.0
    while fitting := [i for i, s in enumerate(said) if i not in chosen and len(s) + 2 <= room + bool(not chosen)]:
        best = max(fitting, key=lambda i: (scores[i], -i))
        least = least or scores[best] * _WORTH
        if scores[best] < least:
            break
        chosen.append(best)
        room -= len(said[best]) + 2
        for i, bag in enumerate(bags):
            scores[i] *= 1 - len(bag & bags[best]) / (len(bag | bags[best]) or 1)
    return chosen


def _weight(place: int, sentence: str, bag: frozenset[str], spread: Counter[str]) -> float:
    central = sum(math.log1p(spread[term] - 1) for term in bag) / math.sqrt(len(bag) + 4)
    opening = 0.6 if place == 0 else 0.3 / (1 + place)
    return (0.2 + central + opening + 0.5 * _strength(sentence)) * (
        0.5 if len(bag) < 4 or sentence.endswith("?") else 1
    )


def _closed(sentence: str) -> str:
    return sentence + "." if sentence[-1].isalnum() and sentence[-1].isascii() else sentence


def _shortened(sentence: str, limit: int) -> str:
    head = sentence[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head).rstrip(_TRAILING) + "…"


def prose(text: str) -> str:
    """The text without its metadata block and code blocks, unless it is nothing else."""
    body = _HEAD.sub("", text.replace("\r\n", "\n"), count=1)
    bare = _FENCE.sub("\n\n", body)
    return bare if bare.strip() else body.replace("```", "").replace("~~~", "") or text


def _plain(sentence: str) -> str:
    """A sentence as it reads: no list mark, no link target, no emphasis signs, nothing that Markdown would act on."""
    text = _BLOCK_MARK.sub("", sentence, count=1)
    text = re.sub(r"!?\[\[(?:[^\]|\n]*\|)?([^\]|\n]+)\]\]", r"\1", text)
    text = re.sub(r"!?\[([^\]\n]*)\]\([^()\s]*\)", r"\1", text)
    text = re.sub(r"(\*\*|__|==|~~)(?=\S)(.+?)(?<=\S)\1|(?<!\w)\*(?=\S)(.+?)(?<=\S)\*(?!\w)", r"\2\3", text)
    text = re.sub(r"`+([^`]*)`+", r"\1", text)
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split()).lstrip("#>|`~ ")


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_DECISION = _any(
    r"(?<!not )(?<!n't )(?<!never )(?<!yet )\b(?:decided|chose to|agreed (?:to|on|that)|settled on|opted (?:for|to))\b",
    r"\bdecision:",
    r"\b(?:we|i)(?:'ll| will| are| am|'re|'m) (?:going with|go with|switching to|adopting|sticking with)\b",
    r"决定|決定|决策|entschieden",
)
_PREFERENCE = _any(
    r"\b(?:prefer(?:s|red|ences?)?|favou?rites?|would rather|'d rather)\b",
    r"\b(?:always|never|please) (?:use|write|call|reply|answer)\b",
    r"\b(?:i|we) (?:really |don't |do not )?(?:like|hate|dislike) (?:to|it when|when|my|our)\b",
    r"喜欢|偏好|lieber|bevorzug",
)
_DUTY = _any(
    r"\b(?:must|never|always|shall|do not|don't|cannot|required?|mandatory|forbidden|ensure|make sure)\b",
    r"必须|不要|禁止|必ず",
)
_WEIGHT = _any(
    r"\b(?:important|critical|crucial|urgent|warning|caution|careful|remember|essential|deadline)\b", r"重要|注意"
)
_CAUSE = _any(
    r"\b(?:because|therefore|so that|root cause|caused by|fix(?:ed)?|fails?|broken?|bug|error|moved|changed|replaced)\b"
)
_NAMED = re.compile(r"\b[A-Z]{2,}\b|\w_\w|[a-z][A-Z]|`")
_CUES = (
    (0.25, _DUTY),
    (0.2, _WEIGHT),
    (0.2, _DECISION),
    (0.15, _PREFERENCE),
    (0.1, _CAUSE),
    (0.1, re.compile(r"\d")),
    (0.05, _NAMED),
)
_CHATTER = re.compile(
    r"\s*(?:\w+: )?(?:hi|hey|hello|wow|thanks|thank you|bye|ok|okay|lol|haha|cool|nice|great"
    r"|sounds good|that makes sense|good (?:morning|night|luck))\b",
    re.IGNORECASE,
)
_BASE = {"decision": 0.5, "preference": 0.5, "skill": 0.45, "tool": 0.4, "fact": 0.35, "note": 0.3, "episode": 0.3}


def importance(text: str, kind: str) -> float:
    """0 to 1, two decimals: what the kind and the cues of the sentences say (obligations, decisions, reasons, figures).

    The mean of the average and the strongest sentence, each sentence once: saying a thing three times adds nothing.
    """
    once = _one_period(text.strip())
    said = {_plain(s).rstrip(_TRAILING).casefold(): s for s in sentences(once)}
    weights = [_strength(s) for s in said.values()] or [0.0]
    return round(min(1.0, max(0.05, _BASE.get(kind, 0.3) + (max(weights) + sum(weights) / len(weights)) / 2)), 2)


def _one_period(text: str) -> str:
    """`abab` is `ab`: a text glued to its own copy has no sentence end between them."""
    period = (text + text).find(text, 1)
    return text[:period] if 0 < period < len(text) else text


def _strength(sentence: str) -> float:
    weight = sum(add for add, cue in _CUES if cue.search(sentence))
    return weight - (0.15 if _CHATTER.match(sentence) or sentence.endswith("?") else 0.0)


def kind(text: str) -> str:
    """A guess among the kinds from how the text opens: decision, preference, else fact.

    >>> kind("Decided to use sliding windows."), kind("I prefer tabs."), kind("Not decided yet.")
    ('decision', 'preference', 'fact')
    """
    opening = prose(text)[:400]
    if _DECISION.search(opening):
        return "decision"
    return "preference" if _PREFERENCE.search(opening) else "fact"
