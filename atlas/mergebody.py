"""The bodies of two versions merged section by section.

    base ──► sections ─┐
    first ─► sections ─┼─► who is who ─► each merged by its lines ─► in the order of whoever moved them
    second ► sections ─┘

A section is a heading and the text below it up to the next heading of any level; headings in code are none. It is
recognised by its path of headings, else by its text, else as the only one left in its place, so a section that was
renamed or moved by one side and edited by the other is still one. However sections are paired, no added line is lost:
a side's section is paired with one of the base's at most, and one paired with none stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from atlas import markers, threeway
from atlas.body import fences, headings, lined, plain
from atlas.threeway import Clash


@dataclass(frozen=True, slots=True)
class Section:
    """One heading line (or two, underlined), the text below it, and the blank lines that follow.

    `title` is the path of headings that leads here; `parent` the place of the one above, -1 for the first, which has
    no heading; `before` that of the one before it under this parent. `last` says that the body ended with it.
    """

    title: tuple[str, ...]
    level: int
    parent: int
    heading: str
    text: tuple[str, ...]
    gap: tuple[str, ...]
    last: bool = False
    before: int = -1

    @property
    def whole(self) -> tuple[str, ...]:
        """The heading and the text, line by line."""
        return (*_split(self.heading), *self.text)


@dataclass(slots=True)
class Merge:
    """A body in the making: its lines, and the name of the section of each clash in it, in order."""

    size: int = markers.SIZE
    out: list[str] = field(default_factory=list)
    clashes: list[str] = field(default_factory=list)

    def clash(self, name: str, one: Iterable[str], two: Iterable[str]) -> None:
        """Keep both texts, marked; in the order of these texts, so that a repair of marks does not turn them round."""
        above, below = sorted(("".join(one), "".join(two)))
        self.out.append(markers.block(above, below, self.size))
        self.clashes.append(name)


def merge(base: str, first: str, second: str, size: int = markers.SIZE) -> tuple[str, list[str]]:
    """The merged body, and the name of the section of each conflict. Texts have line feeds, and one at their end."""
    olds, ones, twos = map(sections, (base, first, second))
    by_one, by_two = pairs(olds, ones), pairs(olds, twos)
    new = _additions(ones, twos, by_one, by_two, len(olds))
    table_one = {by_one.get(n, new.get(n, -1 - n)): s for n, s in enumerate(ones)}
    table_two = {by_two.get(n, len(olds) + n): s for n, s in enumerate(twos)}
    table = dict(enumerate(olds))
    made = {}
    for id in {**table, **table_one, **table_two}:
        part = _section(table.get(id), table_one.get(id), table_two.get(id), size)
        if part:
            made[id] = part
    places = threeway.order(list(table), list(table_one), list(table_two), made, lambda place: made[place][0].level)
    text, clashes = _joined([made[id] for id in places])
    if clashes:
        # A heading put into the middle of a text makes two sections of it; line by line, that is one line more.
        flat = threeway.lines(*map(_split, (base, first, second)))
        if not any(isinstance(part, Clash) for part in flat) and not _cuts_code(flat, size):
            return "".join(map(str, flat)), []
    return text, clashes


def whole(base: str, first: str, second: str, size: int = markers.SIZE) -> tuple[str, list[str]]:
    """Texts that cannot be taken apart, merged by their lines."""
    made = Merge(size)
    _lines(made, "", *(_split(text) for text in (base, first, second)))
    return "".join(made.out), made.clashes


def sections(body: str) -> list[Section]:
    """The sections of a body; the first is what stands above all headings. Joined, they are the body."""
    found = headings(plain(markers.blanked(body)))
    starts = [h.start for h in found]
    ends = [*starts, len(body)][1:]
    top = body[: starts[0]] if starts else body
    out = [_section_of((), top, last=not found)]
    above: list[int] = [0]
    before: dict[int, int] = {}
    for heading, start, end in zip(found, starts, ends, strict=True):
        while len(above) > 1 and out[above[-1]].level >= heading.level:
            above.pop()
        made = _section_of((*out[above[-1]].title, heading.text), body[heading.end : end], last=end == len(body))
        line, parent = body[start : heading.end], above[-1]
        out.append(replace(made, level=heading.level, heading=line, parent=parent, before=before.get(parent, -1)))
        above.append(len(out) - 1)
        before[parent] = len(out) - 1
    return out


def pairs(olds: Sequence[Section], news: Sequence[Section]) -> dict[int, int]:
    """Which section of a side is which of the base's, by place."""
    found = {0: 0}

    def parents(section: Section, places: dict[int, int]) -> int:
        return places.get(section.parent, -1)

    def place(section: Section, places: dict[int, int]) -> tuple[int, ...]:
        return parents(section, places), section.level, places.get(section.before, -1)

    here = {n: n for n in range(len(olds))}
    _pair(found, olds, news, lambda s, _: (s.title, s.text))
    _pair(found, olds, news, lambda s, _: s.title)
    _pair(found, olds, news, lambda s, _: s.text if any(map(str.strip, s.text)) else None)
    for _ in range(6):  # the path of a section may begin with a heading that was renamed: once per level
        before = len(found)
        _pair(found, olds, news, lambda s, up: (parents(s, up), s.title[-1:]), here)
        _pair(found, olds, news, place, here, only=True)
        if len(found) == before:
            break
    _pair(found, olds, news, lambda s, _: s.title[-1:], only=True)
    return found


Key = Callable[[Section, dict[int, int]], object]


def _pair(
    found: dict[int, int],
    olds: Sequence[Section],
    news: Sequence[Section],
    key: Key,
    here: dict[int, int] | None = None,
    *,
    only: bool = False,
) -> None:
    """Pair sections not paired yet that have one key, in order; with `only`, where there is one on either side."""
    up, down = dict(found), here or {}
    left: dict[object, list[int]] = {}
    taken = set(found.values())
    for n, section in enumerate(olds):
        if n not in taken:
            left.setdefault(key(section, down), []).append(n)
    mine: dict[object, list[int]] = {}
    for n, section in enumerate(news):
        if n not in found:
            mine.setdefault(key(section, up), []).append(n)
    for name, places in mine.items():
        others = left.get(name, [])
        if name is not None and (not only or len(places) == len(others) == 1):
            found.update(zip(places, others, strict=False))


def _additions(
    ones: Sequence[Section], twos: Sequence[Section], by_one: dict[int, int], by_two: dict[int, int], count: int
) -> dict[int, int]:
    """Sections that both sides added under one heading: place in the first → the id of the second's."""
    found: dict[int, int] = {}
    fresh = [n for n in range(len(twos)) if n not in by_two]
    for n, section in enumerate(ones):
        if n in by_one:
            continue
        match = next((m for m in fresh if twos[m].title == section.title), None)
        if match is not None:
            fresh.remove(match)
            found[n] = count + match
    return found


def _section_of(path: tuple[str, ...], text: str, *, last: bool) -> Section:
    """A section without its heading: the text, and the blank lines at its end."""
    lines = _split(text)
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return Section(path, 0, -1, "", tuple(lines[:end]), tuple(lines[end:]), last)


def _section(
    base: Section | None, first: Section | None, second: Section | None, size: int
) -> tuple[Section, Merge] | None:
    """One section merged, with what names and places it; None where it is deleted."""
    some = first or second
    if some is None:
        return None
    if first is None or second is None:
        return _of_one(base, first, second, some, size)
    made = Merge(size)
    name = " > ".join(first.title)
    old = base or Section((), 0, -1, first.heading if first.heading == second.heading else "", (), ())
    heading = threeway.chosen(old.heading, first.heading, second.heading)
    if heading is None:
        made.clash(name, [first.heading], [second.heading])
    else:
        made.out.append(heading)
    _lines(made, name, old.text, first.text, second.text)
    gap = threeway.chosen(old.gap, first.gap, second.gap)
    if gap is None:
        gap = max(first.gap, second.gap, key=lambda lines: (len(lines), lines))
    return replace(first, gap=gap, last=first.last or second.last), made


def _of_one(
    base: Section | None, first: Section | None, second: Section | None, some: Section, size: int
) -> tuple[Section, Merge] | None:
    """A section that one side has: added by it, left alone by it, or edited by it while the other deleted it."""
    made = Merge(size)
    if base is None:
        made.out += some.whole
        return some, made
    if base.whole == some.whole:
        return None
    if not any(map(str.strip, some.whole)):  # emptied by one side, deleted by the other
        return None
    made.clash(" > ".join(some.title), first.whole if first else (), second.whole if second else ())
    return some, made


def _lines(made: Merge, name: str, base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> None:
    """Text merged by its lines. Marks never stand inside a code block: then its blocks are merged as wholes."""
    merged = threeway.lines(base, first, second)
    if _cuts_code(merged, made.size):
        merged = threeway.lines(*(_with_code_whole(lines) for lines in (base, first, second)))
    for part in merged:
        if isinstance(part, Clash):
            made.clash(name, part.first, part.second)
        else:
            made.out.append(part)


def _cuts_code(merged: Sequence[str | Clash], size: int) -> bool:
    """Whether a clash lies in a code block or holds half of one, or the blocks no longer close."""
    trial = Merge(size)
    clashes = [part for part in merged if isinstance(part, Clash)]
    for part in merged:
        if isinstance(part, Clash):
            trial.clash("", part.first, part.second)
        else:
            trial.out.append(part)
    text = "".join(trial.out)
    sides = ["".join(side) for clash in clashes for side in (clash.first, clash.second)]
    return len(markers.openings(text, size)) < len(clashes) or not all(map(_closed, [text, *sides]))


def _closed(text: str) -> bool:
    return all(closed for _, _, closed in fences(lined(text)))


def _with_code_whole(lines: Sequence[str]) -> list[str]:
    """The lines, those of a code block as one."""
    text = "".join(lines)
    out, seen = [], 0
    for start, end, _ in fences(lined(text)):
        end += text[end : end + 1] == "\n"  # noqa: PLW2901 - with its line end
        out += [*_split(text[seen:start]), text[start:end]]
        seen = end
    return [*out, *_split(text[seen:])]


def _joined(parts: Sequence[tuple[Section, Merge]]) -> tuple[str, list[str]]:
    """The sections one after the other. One that ended its version gets the blank line it now needs."""
    out: list[str] = []
    clashes: list[str] = []
    for n, (section, made) in enumerate(parts):
        out += made.out
        clashes += made.clashes
        ends = n == len(parts) - 1
        if section.last and not ends and not section.gap and out:
            out.append("\n")
        out += section.gap
    return "".join(out), clashes


def _split(text: str) -> list[str]:
    """The lines of a text with line feeds, each with its own; form feeds and Unicode separators are text."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
