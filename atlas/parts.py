"""How many memories a text is. One, unless it lists statements that each stand alone, or is as long as a document.

    - Staging listens on 5433          three memories: nothing in one needs the others
    - Ana prefers tea
    - Backups run at two

    1. Open the lid                    one memory: steps mean nothing alone
    2. Turn the valve

Splitting wrongly tears a thought apart for good, while a list kept whole is still found: in doubt a text stays one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from atlas.models.entities import entities, slug_of
from atlas.models.offline import sentences

#: Longest statement in characters, and longest memory in words (two letters of Chinese or Japanese count as one).
STATEMENT_CHARS, MEMORY_WORDS = 200, 1500

_BULLET = re.compile(r"[-*+•][ \t]+(?!\[[ xX]?\])(\S.*)")
_RECORD = re.compile(r"[\w .'’()-]{1,30}[:：](?:\s|$)")
_MARKUP = re.compile(r"\d{1,3}[.)]\s|[#|>`{}<\[=~$(]|.*(?:[{};]|=>|::|\s=\s|\|)")
_UNFINISHED = re.compile(r".*(?:[,;:\\(–—，、；：-]|\b(?:and|or|but|the|a|an|of|to|with|for|in|on))", re.IGNORECASE)
#: A line that begins so needs the one before it.
_LEANING = re.compile(
    r"(?:it|its|he|him|his|she|her|they|them|their|this|that|these|those|such|then|also|but|and|or|so|however|because|which"
    r"|who|there|here|therefore|thus|instead|otherwise|afterwards?|finally|next|first|second|third|last|still|besides|both"
    r"|same|another|others?|additionally|moreover|furthermore|meanwhile|later|plus|yet|nor|neither|either)\b",
    re.IGNORECASE,
)
_TERMINATORS = ".!?…。！？"
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")


def split(text: str, *, listed: bool = True) -> list[str]:
    """The memories a text holds, in order; an empty text holds none. No word is lost, list marks apart.

    Without `listed` a list of statements is one memory, and only a document too long to be one is cut.

    >>> split("JWT token expiration bug. JWT refresh token race condition. JWT sliding window strategy.")
    ['JWT token expiration bug.', 'JWT refresh token race condition.', 'JWT sliding window strategy.']
    >>> len(split("JWT refresh token has a race condition. Decided to use sliding window strategy."))
    1
    """
    body = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not body.strip():
        return []
    statements = (_statements(body) or _enumeration(body)) if listed else []
    return statements or _document(body)


def _statements(body: str) -> list[str]:
    """The lines of a list of at least three statements, or nothing."""
    lines = [line.rstrip() for line in body.split("\n")]
    bullets = [match[1] for line in lines if (match := _BULLET.fullmatch(line))]
    bulleted = len(bullets) == sum(1 for line in lines if line)
    items = bullets if bulleted else lines
    if len(items) < 3 or not all(map(_stands, items)) or sum(bool(_RECORD.match(i)) for i in items) > 1:
        return []
    return items if bulleted or _one_per_line(items) else []


def _stands(item: str) -> bool:
    """Whether a line can be understood without its neighbours."""
    long_enough = len(item.split()) >= 3 or len(_UNSPACED.findall(item)) >= 6
    refused = _MARKUP.match(item) or _UNFINISHED.fullmatch(item) or _LEANING.match(item)
    return long_enough and len(item) <= STATEMENT_CHARS and not refused and len(sentences(item)) <= 2


def _one_per_line(lines: list[str]) -> bool:
    """Whether plain lines are statements and not prose broken at a width: all finished, or all headlines."""
    if any(line[0].islower() or not line[0].isalnum() for line in lines):
        return False
    finished = {line[-1] in _TERMINATORS for line in lines}
    return finished == {True} or (finished == {False} and all(len(sentences(line)) == 1 for line in lines))


def _enumeration(body: str) -> list[str]:
    """The sentences of one paragraph whose every sentence, of at least three, opens with the same named thing."""
    if "\n\n" in body or any(_BULLET.match(line) or _HEADING.match(line) for line in body.split("\n")):
        return []
    said = sentences(body)
    if len(said) < 3 or any(len(s) > STATEMENT_CHARS or len(s.split()) < 3 for s in said):
        return []
    openers = {slug_of(re.sub(r"['’]s$", "", s.split()[0].rstrip(",:"))) for s in said}
    if len(openers) > 1:
        return []
    return said if openers <= {slug_of(name) for name in entities(body)} else []


def _document(body: str) -> list[str]:
    """The text itself, or, beyond `MEMORY_WORDS`, runs of sections and paragraphs below that size."""
    if size(body) <= MEMORY_WORDS:
        return [body]
    pieces = [piece for section in _cut(body, headings=True) for piece in _fitting(section)]
    packs: list[str] = []
    room = 0
    for piece in pieces:
        if packs and size(piece) <= room:
            packs[-1] += piece
        else:
            packs.append(piece)
            room = MEMORY_WORDS
        room -= size(piece)
    return [pack.strip("\n") for pack in packs if pack.strip()]


def _fitting(section: str) -> Iterator[str]:
    """The section, or its paragraphs where it is too long. A paragraph, a table, a code block is never cut."""
    if size(section) <= MEMORY_WORDS:
        yield section
    else:
        yield from _cut(section, headings=False)


def _cut(text: str, *, headings: bool) -> Iterator[str]:
    """Slices that together are the text, cut before headings or after blank lines, outside code fences."""
    cuts, at, fence, blank = [0], 0, "", False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if not fence and at and (_HEADING.match(line) if headings else blank and line.strip()):
            cuts.append(at)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        blank = not line.strip()
        at += len(line)
    for start, end in pairwise([*cuts, len(text)]):
        yield text[start:end]


def size(text: str) -> int:
    """Length in words, as `MEMORY_WORDS` counts them."""
    return len(text.split()) + len(_UNSPACED.findall(text)) // 2
