"""What a simulated year is made of: memories to be stored with the questions they answer, a vault, and its twin."""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import _common
import locomo
import numpy as np

from atlas import MemoryEngine, hubs, markdown, merge, tokens
from atlas.git import find
from atlas.ingest import Request
from atlas.memory import Rung
from atlas.profiles import rung_of
from atlas.remembering import Ingested
from atlas.survey import survey

START = datetime(2025, 1, 1, tzinfo=UTC)
#: Of the memories of a day, this share are turns of dialogues, the others notes.
TURNS = 0.6
_LONGEST_NOTE = 3000
_FEWEST_WORDS = 12


@dataclass(frozen=True)
class Item:
    """A text to be stored, and what is asked when it is needed."""

    request: Request
    questions: tuple[str, ...]


def turns(data: Path, seed: int) -> list[Item]:
    """The turns of LoCoMo, session by session, the sessions shuffled; each with the questions it is evidence for."""
    found = locomo.turns(data)
    asked: dict[str, list[str]] = {}
    for question in found.questions:
        for key in question.gold if question.category != "5" else ():
            asked.setdefault(key, []).append(question.text)
    sessions: dict[str, list[Item]] = {}
    for key, request in found.texts.items():
        plain = Request(request.text, kind="episode", source=request.source, whole=True)
        name = str(request.source).partition("#")[0]
        sessions.setdefault(name, []).append(Item(plain, tuple(asked.get(key, ()))))
    order = list(sessions.values())
    random.Random(seed).shuffle(order)
    return list(chain.from_iterable(order))


def notes(archive: Path, seed: int) -> list[Item]:
    """The notes of a vault, shuffled: every second as a whole (kind note), of the others a paragraph (kind fact)."""
    with tempfile.TemporaryDirectory() as temp:
        folder = _common.unpack(archive, Path(temp))
        texts = {place.stem: place.read_text("utf-8", "replace") for place in sorted(folder.rglob("*.md"))}
    found = [
        item for number, (title, text) in enumerate(texts.items()) if (item := _note(title, text, number)) is not None
    ]
    random.Random(seed).shuffle(found)
    return found


def _note(title: str, text: str, number: int) -> Item | None:
    body = markdown.parse(text, "").body
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n", body) if len(re.findall(r"\w+", p)) >= _FEWEST_WORDS]
    prose = [p for p in paragraphs if not p.startswith(("#", "|", "```", "-", "*", "<", ">", "%%", "!"))]
    if not prose:
        return None
    if number % 2:
        return Item(Request(f"{title}: {prose[0]}", kind="fact", whole=True), (title,))
    whole = f"# {title}\n\n{body[:_LONGEST_NOTE]}"
    return Item(Request(whole, kind="note", label=title, whole=True), (" ".join(prose[0].split()[:_FEWEST_WORDS]),))


def days(talk: Sequence[Item], kept: Sequence[Item], days: int, per_day: int) -> Iterator[list[Item]]:
    """What is stored on each day: some consecutive turns, some notes. Begins anew where a source is used up."""
    share = round(per_day * TURNS)
    for day in range(days):
        first = [talk[n % len(talk)] for n in range(day * share, (day + 1) * share)]
        rest = per_day - share
        yield first + [kept[n % len(kept)] for n in range(day * rest, (day + 1) * rest)]


def at(day: int, hour: int) -> None:
    """Set the clock of the simulation."""
    os.environ["ATLAS_NOW"] = (START + timedelta(days=day, hours=hour)).isoformat()


class Readers:
    """Who reads which memory: by Zipf's law, every memory having drawn its rank when it was stored."""

    def __init__(self, seed: int, total: int) -> None:
        self._numbers = np.random.default_rng(seed)
        self._weights = 1 / (1 + self._numbers.permutation(total))
        self._ids: list[str] = []

    def stored(self, ids: Sequence[str]) -> None:
        """Memories that can be read from now on."""
        self._ids += ids

    def read(self, count: int) -> list[str]:
        """The memories read on a day; one may be read twice."""
        weights = self._weights[: len(self._ids)]
        return [self._ids[n] for n in self._numbers.choice(len(self._ids), count, p=weights / weights.sum())]


@dataclass
class Twin:
    """A vault with the same memories, byte for byte, of which nothing is ever forgotten."""

    root: Path
    paths: dict[str, str] = field(default_factory=dict)

    def follow(self, engine: MemoryEngine, done: Ingested) -> None:
        """Store what the other vault has just stored, and give the tags it gave."""
        new = {one.path: one.id for one in done.memories}
        for path, id in new.items():
            self._write(path, (engine.config.root / path).read_bytes())
            self.paths[id] = path
        for path in done.applied.paths:
            if path not in new:
                self._join(engine, path)
        _common.git(self.root, "add", "-A")
        _common.git(self.root, "commit", "--quiet", "-m", "a day")

    def _join(self, engine: MemoryEngine, path: str) -> None:
        repository = find(engine.config.root)
        assert repository is not None
        old, new = (repository.read(rev, path) for rev in ("HEAD~1", "HEAD"))
        known = self.paths.get(str(markdown.parse(new.decode(), path).meta["id"]))
        if known is None:  # a summary, which only the other vault has
            return
        self._write(known, merge.merge(old, (self.root / known).read_bytes(), new, known).data)

    def _write(self, path: str, data: bytes) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def sizes(engine: MemoryEngine) -> dict[str, int]:
    """Notes, and tokens: of their texts (label, summary, detail), of hub notes among them, of files with metadata."""
    count = tokens.load(engine.config.tokenizer, engine.config.root).count
    found = {"notes": 0, "text": 0, "hubs": 0, "files": 0}
    for path in survey(engine.config).files:
        text = (engine.config.root / path).read_text("utf-8")
        found["notes"] += 1
        words = count(markdown.parse(text, path).body)
        found["text"] += words
        found["hubs"] += words if path.startswith(f"{hubs.FOLDER}/") else 0
        found["files"] += count(text)
    return found


def standing(engine: MemoryEngine) -> set[str]:
    """The ids of the memories that are there in full."""
    texts = ((engine.config.root / path).read_text("utf-8") for path in survey(engine.config).files)
    metas = [markdown.parse(text, "").meta for text in texts]
    return {str(meta.get("id")) for meta in metas if rung_of(meta) == Rung.L2}


def taken_in(engine: MemoryEngine) -> dict[str, set[str]]:
    """The ids of the memories that each summary has taken in, by its own."""
    texts = ((engine.config.root / path).read_text("utf-8") for path in survey(engine.config).files)
    metas = (markdown.parse(text, "").meta for text in texts if "derived_from" in text)
    return {str(meta.get("id")): set(meta.get("derived_from") or ()) for meta in metas}


def trees(root: Path) -> Mapping[str, str]:
    """What HEAD has outside usage and ledger: path → blob id."""
    rows = _common.git(root, "ls-tree", "-r", "-z", "HEAD").split("\0")
    pairs = ((row.partition("\t")[2], row.split(" ")[2].partition("\t")[0]) for row in rows if row)
    return {path: blob for path, blob in pairs if not path.startswith(("usage/", "ledger/"))}
