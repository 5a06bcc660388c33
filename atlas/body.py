"""The Markdown of a note: code set aside, headings, links and tags. Offsets count characters of the body.

Patterns run over copies of the text in which code is blanked and every newline is one line feed, character for
character in the same place, so what they find can be cut from the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from atlas.memory import Link

_FENCE = re.compile(
    r"\n(?P<prefix>[ \t>]*)(?P<marker>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<sign>`{3,}|~{3,})(?P<info>[^\n]*)"
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_ATX = re.compile(r"\n {0,3}(#{1,6})(?:[ \t]([^\n]*)|(?=\n)|\Z)")
_UNDERLINE = re.compile(r"\n {0,3}(=+|-+)[ \t]*(?=\n|\Z)")
#: Lines that an underline does not turn into a heading: other blocks, and indented code.
_NOT_PARAGRAPH = re.compile(
    r"\s*$| {4}| {0,3}(?:\t|[-*+][ \t]|[>|]|\d{1,9}[.)][ \t]|#{1,6}(?:[ \t]|$)|%%|(?:=+|(?:[-*_][ \t]*)+)$)"
)
#: Lines after which a paragraph begins.
_NO_TEXT_ABOVE = re.compile(r"\s*$| {0,3}(?:#{1,6}(?:[ \t]|$)|(?:=+|-+)[ \t]*$)")
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
#: The address of a Markdown link, in angle brackets or bare; pairs of parentheses may stand in the latter.
_ADDRESS = re.compile(r"\]\(\s*(?:<([^<>\n]+)>|([^\s<>()]+(?:\([^\s()]*\)[^\s()]*)*))")
#: `#` and what can stand in a tag: anything but space, ASCII punctuation except `-`, `_`, `/`, and the punctuation of
#: other scripts. Emoji and their joiners are part of a tag.
_TAG = re.compile(
    r"#([^\s\x00-\x1f!-,.:-@\[-^`{-~\xa1\xa7\xab\xb6\xb7\xbb\xbf\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+)"
)
#: How far back on its line a tag looks for the bracket it may stand in: one line can be megabytes long.
_LOOK_BACK = 1000


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading. `start` is where its line begins, `end` where the text under it begins; `line` counts from 1."""

    level: int
    text: str
    start: int
    line: int
    end: int = 0


@dataclass(frozen=True, slots=True)
class Plain:
    """A body with code set aside: `lines` has one kind of newline, `unfenced` no fences, `prose` no code spans."""

    body: str
    lines: str
    unfenced: str
    prose: str


def plain(body: str) -> Plain:
    """The body with code set aside, for the functions below."""
    lines = lined(body)
    unfenced = _blanked(lines, [(start, end) for start, end, _ in fences(lines)])
    return Plain(body, lines, unfenced, _without_code_spans(unfenced))


def lined(text: str) -> str:
    """The text with every newline one line feed, each character in its place: a carriage return becomes a space."""
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text


def fences(lines: str) -> list[tuple[int, int, bool]]:
    """(start, end, closed) of every fenced code block, its fence lines included.

    A fence ends at a line of the same sign, as long or longer; one in a quotation or a list item also where that
    ends; one never closed runs to the end, and only that is `closed=False`.
    """
    if "```" not in lines and "~~~" not in lines:
        return []
    found: list[tuple[int, int, bool]] = []
    ends: dict[str, re.Match[str] | None] = {}
    text = "\n" + lines
    opening = _FENCE.search(text)
    while opening:
        end = opening.end()
        if opening["sign"][0] == "~" or "`" not in opening["info"]:  # else it is a code span, not a fence
            end, closed = _fence_end(text, opening, ends)
            found.append((opening.start(), end - 1, closed))
        opening = _FENCE.search(text, end)
    return found


def headings(text: Plain, first_line: int = 1) -> tuple[Heading, ...]:
    """Every heading outside code: `#` to `######`, and a one-line paragraph underlined with `=` or `-`.

    A paragraph of several lines above `---` is a paragraph and a rule: that is what people mean. `first_line` is the
    line in the file on which the body begins.
    """
    found = sorted([*_atx(text), *_underlined(text)], key=lambda h: h.start)
    out, line, seen = [], first_line, 0
    for heading in found:
        line, seen = line + text.lines.count("\n", seen, heading.start), heading.start
        out.append(Heading(heading.level, heading.text, heading.start, line, heading.end))
    return tuple(out)


def links(text: Plain) -> tuple[Link, ...]:
    r"""Every `[[wikilink]]` outside code. `\|` (in tables) counts as `|`; `.md` is not part of a target.

    `[[#heading]]`, a link within the note, has an empty target. `start`, `end` leave out the `!` of an embed.
    """
    found = []
    for match in _WIKILINK.finditer(text.prose) if "[[" in text.prose else ():
        start, end = match.span()
        if not match.group(1).strip() or text.prose[start - 1 : start] == "\\":
            continue
        place, _, alias = text.body[start + 2 : end - 2].partition("|")
        target, _, heading = place.removesuffix("\\").partition("#")
        embed = text.prose[start - 1 : start] == "!"
        found.append(Link(_bare(target), heading.strip(), alias.strip(), embed, start, end))
    return tuple(found)


def addresses(text: Plain) -> Iterator[str]:
    """The notes that `[Markdown](links.md)` outside code lead to: their paths as typed, without `../`, ending, heading.

    Addresses of the web and of files that are no notes are left out.
    """
    for start, end, _ in address_spans(text):
        place = unquote(re.split(r"[#?]", text.prose[start:end], maxsplit=1)[0]).strip()
        name, dot, ending = place.rpartition(".")
        if name and dot and ending.lower() in {"md", "markdown"} and "://" not in place:
            yield re.sub(r"^(?:\.{0,2}/)+", "", name)


def address_spans(text: Plain) -> Iterator[tuple[int, int, bool]]:
    """Where the address of every `[Markdown](link)` outside code stands, and whether it is in angle brackets."""
    for match in _ADDRESS.finditer(text.prose) if "](" in text.prose else ():
        angled = match.group(1) is not None
        yield (*match.span(1 if angled else 2), angled)


def retarget(body: str, choose: Callable[[Link], str | None]) -> str:
    """The body with the targets of links exchanged: `choose` gives the new one, or None to leave the link alone.

    Everything else of a link stays: its heading or block, its alias, an escaped bar, `!` and a written `.md`.
    """
    out, seen = [], 0
    for link in links(plain(body)):
        new = choose(link)
        if new is None:
            continue
        inner = body[link.start + 2 : link.end - 2]
        typed = re.split(r"\\?\||#", inner, maxsplit=1)[0]
        ending = typed.rstrip()[-3:] if typed.rstrip().lower().endswith(".md") else ""
        out += [body[seen : link.start + 2], new + ending]
        seen = link.start + 2 + len(typed)
    return "".join([*out, body[seen:]])


def tags(text: Plain) -> Iterator[str]:
    """The inline `#tags` of the prose, by Obsidian's rules, as typed without `#`.

    A tag begins a line or follows a space or `(`; it has letters, digits, `-`, `_`, `/` (nested) or emoji, and not
    digits alone. None in code, in a link or its address, or inside an HTML tag.
    """
    prose = text.prose
    for match in _TAG.finditer(prose) if "#" in prose else ():
        at, word = match.start(), match.group(1).strip("/")
        before = prose[at - 1 : at]
        if before and not before.isspace() and before != "(":
            continue
        if word and not word.replace("/", "").isdigit() and not _enclosed(prose, at):
            yield word


def normal_tag(word: str) -> str:
    """A tag as it is compared and kept: NFC, without `#` in front or slashes around."""
    return unicodedata.normalize("NFC", word).strip().lstrip("#").strip("/ ")


def _fence_end(text: str, opening: re.Match[str], ends: dict[str, re.Match[str] | None]) -> tuple[int, bool]:
    """The offset behind a fence's last line, and whether anything but the end of the text ended it.

    `ends` remembers the next end of each sign: looked for anew at every fence, a long note would take minutes.
    """
    sign, start = opening["sign"], opening.end()
    close = ends.get(sign)
    if sign not in ends or (close and close.start() < start):
        pattern = re.compile(rf"\n[ \t>]*{sign[0]}{{{len(sign)},}}[ \t]*(?=\n|\Z)")
        close = ends[sign] = pattern.search(text, start)
    over = _container_end(text, start, close.end() if close else len(text), opening)
    if over is not None:
        return over, True
    return (close.end(), True) if close else (len(text), opening["marker"] + opening["prefix"].strip() != "")


def _container_end(text: str, start: int, limit: int, opening: re.Match[str]) -> int | None:
    """Where the quotation or list item that holds a fence is over, if before `limit`."""
    prefix, marker = opening["prefix"], opening["marker"]
    width = len((prefix + marker).expandtabs(4)) - (0 if marker else 3)
    if ">" in prefix:
        pattern = r"\n(?![ \t]{0,3}>)"
    elif width > 0:
        pattern = rf"\n(?![ \t]*(?:\n|\Z))(?!\t| {{{width}}})"
    else:
        return None
    over = re.compile(pattern).search(text, start, limit)
    return over.start() if over else None


def _blanked(lines: str, spans: list[tuple[int, int]]) -> str:
    if not spans:
        return lines
    out, seen = [], 0
    for start, end in spans:
        out += [lines[seen:start], _NOT_NEWLINE.sub(" ", lines[start:end])]
        seen = end
    return "".join([*out, lines[seen:]])


def _without_code_spans(text: str) -> str:
    """The text with `code` blanked: a run of backticks closes at the next run of its length in the paragraph."""
    if "`" not in text:
        return text
    runs = [match.span() for match in _TICKS.finditer(text)]
    spans: list[tuple[int, int]] = []
    missed: set[int] = set()
    at, paragraph_end = 0, -1
    while at < len(runs):
        start, end = runs[at]
        if end > paragraph_end:
            blank = _BLANK_LINE.search(text, end)
            paragraph_end = blank.start() if blank else len(text)
            missed.clear()
        if text[start - 1 : start] == "\\" and text[start - 2 : start] != "\\\\":
            start += 1
        length = end - start
        close = _closing_run(runs, at + 1, length, paragraph_end) if length and length not in missed else 0
        if close:
            spans.append((start, runs[close][1]))
            at = close
        else:
            missed.add(length)
        at += 1
    return _blanked(text, spans)


def _closing_run(runs: list[tuple[int, int]], first: int, length: int, limit: int) -> int:
    """The index of the next run of this length before `limit`, or 0."""
    for at in range(first, len(runs)):
        start, end = runs[at]
        if start >= limit:
            return 0
        if end - start == length:
            return at
    return 0


def _atx(text: Plain) -> Iterator[Heading]:
    if "#" not in text.unfenced:
        return
    for match in _ATX.finditer("\n" + text.unfenced):
        start, end = match.start(), match.end() - 1
        title = _unclosed((match.group(2) or "").strip())
        yield Heading(len(match.group(1)), title, start, 0, min(end + 1, len(text.lines)))


def _unclosed(title: str) -> str:
    """A heading's text without the `##` that may stand at its end."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _underlined(text: Plain) -> Iterator[Heading]:
    unfenced = text.unfenced
    for match in _UNDERLINE.finditer(unfenced):
        above = match.start()
        start = unfenced.rfind("\n", 0, above) + 1
        before = unfenced[unfenced.rfind("\n", 0, max(start - 1, 0)) + 1 : max(start - 1, 0)]
        line = unfenced[start:above]
        if _NO_TEXT_ABOVE.match(before) and not _NOT_PARAGRAPH.match(line.rstrip()):
            level = 1 if "=" in match.group(1) else 2
            yield Heading(level, line.strip(), start, 0, min(match.end() + 1, len(unfenced)))


def _bare(target: str) -> str:
    target = target.strip()
    return target[:-3].rstrip() if target.lower().endswith(".md") else target


def _enclosed(prose: str, at: int) -> bool:
    """Whether a place lies in a link, a link's address or an HTML tag that is open on its line."""
    line = prose[max(0, at - _LOOK_BACK) : at].rpartition("\n")[2]
    if line.rfind("[[") > line.rfind("]]") or line.rfind("](") > line.rfind(")"):
        return True
    tag = line.rfind("<")
    return tag > line.rfind(">") and bool(re.match(r"[A-Za-z/!]", line[tag + 1 : tag + 2]))
