"""Notes as people and programs leave them, and what two of them do to one: for the laws of merging."""

from __future__ import annotations

import random
import re
from collections import Counter

from atlas.markdown import parse
from atlas.merge import merge

WORDS = ("boiler", "valve", "sliding", "window", "token", "Grüße", "设备", "`code`", "[[Kettle]]", "#home", "the", "in")
#: Lines that alignments stumble over: they come again and again.
COMMON = ("", "", "- [ ] buy milk", "***", "    indented", "=======", "---", "| a | b |", "- item")
TITLES = ("Summary", "Detail", "Log", "Log", "Notes", "See also", "2026-05-01", "Open points")
CODE = ("```python\n# no heading\nx = 1\n\n# nor this\n```", "~~~\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n~~~")
#: A key in several spellings of the same kind of value.
META: dict[str, tuple[str, ...]] = {
    "id": ("id: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\n",),
    "title": ("title: 'The {w}'\n", 'title: "{w}"  # a name\n', "title: {w}\n"),
    "tags": ("tags: [a, b, {w}]\n", "tags:\n  - a\n  # why\n  - b\n  - {w}\n", "tags: a, b\n", "tags: []\n"),
    "aliases": ("aliases: ['{w} one', two]\n", "aliases:\n- {w}\n"),
    "importance": ("importance: 0.{n}\n", "importance:   0.{n} # felt\n"),
    "updated": ("updated: 2026-05-0{d}T10:00:00Z\n", "updated: 2026-05-0{d}\n"),
    "kind": ("kind: decision\n", "kind: fact\n"),
    "summary": ("summary: >\n  {w}\n  and more\n", "summary: |\n  {w}\n\n  more\n"),
    "people": ("people: [Ann, {w}]\n",),
    "place": ("place:\n  city: {w}\n  street: x\n", "place: {{city: {w}}}\n"),
    "empty": ("empty:\n", "empty: ~\n"),
}


class Writer:
    """Makes notes and changes them, by a seed; every line it adds on purpose is one of a kind."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0

    def line(self) -> str:
        """A line never seen before."""
        self.count += 1
        return f"{' '.join(self.rng.choices(WORDS, k=self.rng.randint(1, 5)))} {self.count}.{self.rng.random():.6f}"

    def field(self, key: str) -> str:
        """A key with some value."""
        form = self.rng.choice(META[key])
        return form.format(w=f"w{self.rng.randint(0, 99)}", n=self.rng.randint(1, 9), d=self.rng.randint(1, 9))

    def head(self) -> list[str]:
        """The lines of some metadata, comments and blank lines between keys included; or none."""
        if self.rng.random() < 0.2:
            return []
        out = []
        for key in self.rng.sample(list(META), self.rng.randint(1, 7)):
            out += [f"# {self.line()}\n"] if self.rng.random() < 0.2 else []
            out += ["\n"] if self.rng.random() < 0.1 else []
            out.append(self.field(key))
        return out

    def text(self) -> list[str]:
        """The lines of a section."""
        out: list[str] = []
        for _ in range(self.rng.randint(0, 6)):
            what = self.rng.random()
            out.append(self.line() if what < 0.6 else self.rng.choice(COMMON if what < 0.9 else CODE))
        return out

    def body(self) -> list[str]:
        """The lines of a body."""
        out = self.text() if self.rng.random() < 0.3 else []
        out += [f"# {self.line()}", ""] if self.rng.random() < 0.8 else []
        for title in self.rng.sample(TITLES, self.rng.randint(0, 5)):
            out.append("#" * self.rng.choice((2, 2, 2, 3)) + " " + title)
            out += [*self.text(), *([""] if self.rng.random() < 0.8 else [])]
        return out

    def note(self) -> str:
        """A whole note."""
        return file(self.head(), self.body())

    def changed(self, text: str) -> str:
        """The note with some changes of any kind, line by line; the metadata may break."""
        note = parse(text, "n.md")
        body = note.body.split("\n")
        for _ in range(self.rng.randint(0, 4)):
            at = self.rng.randrange(len(body) + 1)
            to = min(len(body), at + self.rng.randint(1, 5))
            rest = self.rng.randrange(len(body) + 1)
            change = self.rng.randrange(6)
            if change == 0:
                body[at:at] = [self.line()]
            elif change == 1:
                body[at:to] = []
            elif change == 2:
                body[at:to] = [self.line(), *self.text()]
            elif change == 3:
                moved, body = body[at:to], body[:at] + body[to:]
                body[rest:rest] = moved
            elif change == 4:
                body[at:at] = ["", f"## {self.rng.choice(TITLES)}", self.line()]
            else:
                body[at:at] = [self.rng.choice((*COMMON, *CODE))]
        return self.fenced(note.raw_head, note.head) + "\n".join(body)

    def fenced(self, raw: str, head: str) -> str:
        """The metadata with some keys changed, added, removed or moved."""
        if self.rng.random() < 0.3:
            return head
        found = dict.fromkeys(parse(f"---\n{raw}---\n", "n.md").meta) if raw else {}
        blocks = {key: block for key in found if (block := _block(raw, key))}
        if len(blocks) != len(found):
            return head
        for _ in range(self.rng.randint(0, 3)):
            key = self.rng.choice(list(META))
            change = self.rng.random()
            if change < 0.7:
                blocks[key] = self.field(key)
            elif change < 0.85:
                blocks.pop(key, None)
            else:
                blocks = dict(self.rng.sample(list(blocks.items()), len(blocks)))
        return f"---\n{''.join(blocks.values())}---\n" if blocks else ""

    def bytes(self, text: str) -> bytes:
        """The note as a file of some system."""
        out = text if self.rng.random() < 0.8 else text.rstrip("\n")
        out = out.replace("\n", "\r\n") if self.rng.random() < 0.2 else out
        mark = b"\xef\xbb\xbf" if self.rng.random() < 0.1 else b""
        return mark + out.encode()

    def three(self) -> tuple[bytes, bytes, bytes]:
        """A note, and two versions of it; now and then without a common past, or with another note for one."""
        base = self.note()
        sides = [self.changed(base) if self.rng.random() < 0.9 else self.note() for _ in range(2)]
        past = base if self.rng.random() < 0.9 else ""
        return self.bytes(past), self.bytes(sides[0]), self.bytes(sides[1])


def file(head: list[str], body: list[str]) -> str:
    """A note of these lines."""
    text = "\n".join(body)
    return (f"---\n{''.join(head)}---\n" if head else "") + text + ("\n" if text else "")


def _block(raw: str, key: str) -> str:
    """The lines of a key, with those above it that hold none."""
    found = re.search(rf"(?:^(?:[ \t]*#.*)?\n)*^{key}:.*\n(?:^(?:[ -].*)?\n)*", raw, re.MULTILINE)
    return found.group() if found else ""


def lines_of(data: bytes) -> Counter[str]:
    """The lines of a file's body, without their line ends, each as often as it stands there."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    return Counter(parse(text, "n.md").body.split("\n"))


def lost(base: bytes, side: bytes, merged: bytes) -> Counter[str]:
    """The lines that a side added and that are not in the merge. Blank ones are no loss."""
    added = lines_of(side) - lines_of(base)
    there = lines_of(merged)
    return Counter({line: n for line, n in (added - there).items() if line.strip()})


def merged_both_ways(base: bytes, one: bytes, two: bytes) -> bytes:
    """The merge, once it is seen to be the same from either side."""
    there, back = merge(base, one, two, "n.md"), merge(base, two, one, "n.md")
    assert there == back
    return there.data
