"""Vaults and histories of made-up notes: the same ones for the same size, on every machine."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

SEED = 7
VOCABULARY = 50_000
FEWEST_WORDS, MOST_WORDS = 60, 200
PER_FOLDER = 500
_ONSETS = ["b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t"]
_NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
_CODAS = ["", "l", "m", "n", "nd", "r", "s", "st", "t", "x"]
_TAGS = 200
#: The commonest words are those of English, since a search drops them: with made-up ones in their place every query
#: would ask for words that stand in every note.
_COMMON = """
the of and to a in is it that for on was with as be by at are this from or had not but have an they were which you we
his her she he has there been if would who will more when them so can out up into do their what about some than
"""
_FUNCTION_WORDS = _COMMON.split()


@cache
def vocabulary() -> list[str]:
    """Words, the commonest first: those English uses most, then made-up ones, short before long."""
    syllables = ["".join(parts) for parts in product(_ONSETS, _NUCLEI, _CODAS)]
    draw = random.Random(SEED)
    draw.shuffle(syllables)
    found = dict.fromkeys([*_FUNCTION_WORDS, *syllables])
    while len(found) < VOCABULARY:
        found["".join(draw.choices(syllables, k=2 + (len(found) > VOCABULARY // 4)))] = None
    return list(found)


def drawn(numbers: np.random.Generator, count: int) -> list[str]:
    """Words as often as Zipf's law has them: the one of rank r in proportion to 1 / r."""
    weights = 1 / np.arange(1, VOCABULARY + 1)
    edges = np.cumsum(weights / weights.sum())
    words = vocabulary()
    return [words[n] for n in np.minimum(np.searchsorted(edges, numbers.random(count)), VOCABULARY - 1)]


def notes(count: int) -> Iterator[tuple[str, str]]:
    """(path, text) of each note: a title, paragraphs, often tags, often links to notes before it."""
    numbers, draw = np.random.default_rng(SEED), random.Random(SEED)
    titles: list[str] = []
    lengths = numbers.integers(FEWEST_WORDS, MOST_WORDS, count, endpoint=True)
    words = iter(drawn(numbers, int(lengths.sum())))
    for number, length in enumerate(lengths.tolist()):
        said = [next(words) for _ in range(length)]
        title = f"{' '.join(draw.sample(said, 3)).capitalize()} {number}"
        yield f"area-{number // PER_FOLDER:03}/{title}.md", _note(title, said, titles, draw)
        titles.append(title)


def _note(title: str, said: list[str], before: list[str], draw: random.Random) -> str:
    """One note. A third has its tags in the metadata, a third in the text, half has a link."""
    tag, kind = f"topic-{draw.randrange(_TAGS)}", draw.randrange(3)
    head = f"---\ntags: [{tag}]\ncreated: 2024-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}\n---\n"
    sentences = [" ".join(said[n : n + 12]).capitalize() + "." for n in range(0, len(said), 12)]
    paragraphs = [" ".join(sentences[n : n + 4]) for n in range(0, len(sentences), 4)]
    tail = [f"See [[{draw.choice(before)}]]."] if before and draw.random() < 0.5 else []
    tail += [f"#{tag}"] if kind == 1 else []
    return (head if kind == 0 else "") + "\n\n".join([f"# {title}", *paragraphs, *tail]) + "\n"


def write(folder: Path, count: int) -> Path:
    """Write the notes into a folder, `PER_FOLDER` in each of its own."""
    made: set[Path] = set()
    for path, text in notes(count):
        file = folder / path
        if file.parent not in made:
            file.parent.mkdir(parents=True, exist_ok=True)
            made.add(file.parent)
        file.write_bytes(text.encode())
    return folder


def queries(count: int, size: int) -> list[str]:
    """Different questions for a vault of this size: up to six words that stand together, two of them telling."""
    draw = random.Random(SEED + 1)
    chosen = set(draw.sample(range(size), min(size, count)))
    openings = [text.split("\n\n")[1] for n, (_, text) in enumerate(notes(size)) if n in chosen]
    bodies = [opening.replace(".", "").lower().split() for opening in openings]
    found: dict[str, None] = {}
    while len(found) < count:
        words = draw.choice(bodies)
        start = draw.randrange(len(words) - 6)
        asked = words[start : start + draw.randint(3, 6)]
        if len(set(asked) - set(_FUNCTION_WORDS)) >= 2:
            found[" ".join(asked)] = None
    return list(found)


def history(repository: Path, count: int, commits: int) -> None:
    """Give an empty repository `count` notes in one commit and then `commits` that add a line to one each."""
    lines = [_commit("notes", 0, list(notes(count)))]
    texts, draw = dict(notes(count)), random.Random(SEED + 2)
    for number in range(1, commits + 1):
        path = draw.choice(list(texts))
        texts[path] += f"\n{' '.join(draw.choices(vocabulary(), k=8)).capitalize()}.\n"
        lines.append(_commit(f"edit {number}", number, [(path, texts[path])]))
    words = ["git", "-C", str(repository)]
    subprocess.run([*words, "fast-import", "--quiet"], input=b"".join(lines), check=True)
    subprocess.run([*words, "reset", "--quiet", "--hard", "main"], check=True)


def _commit(message: str, number: int, files: list[tuple[str, str]]) -> bytes:
    """A commit of these files on main, in the words of `git fast-import`; a minute after the one before."""
    who = f"bench <bench@example.test> {1_700_000_000 + 60 * number} +0000"
    parts = [f"commit refs/heads/main\ncommitter {who}\n".encode(), _data(message)]
    for path, text in files:
        parts += [f'M 644 inline "{path}"\n'.encode(), _data(text)]
    return b"".join([*parts, b"\n"])


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%b\n" % (len(raw), raw)
