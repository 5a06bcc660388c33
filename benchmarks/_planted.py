"""Conversations with facts planted in them, a summariser that makes mistakes, and an oracle of its own for both.

The oracle knows what was planted and looks for the words: it shares no rule with `atlas.facts`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from atlas import compaction, markdown
from atlas.config import Config
from atlas.digest import Said, digest
from atlas.ingest import Request, plan_batch
from atlas.memory import Change
from atlas.planning import Plan, View
from atlas.profiles import Profile

NOW = datetime(2026, 6, 1, tzinfo=UTC)
_NAMES = ("Ana", "Ben", "Carla", "Dmitri", "Edda", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Kemal", "Lotte")
_PLACES = ("Lisbon", "Oslo", "Quito", "Graz", "Turin", "Kyoto", "Perth", "Bergen", "Lima", "Zadar")
_THINGS = ("gateway", "ledger", "scheduler", "mailer", "archive", "index", "router", "cache", "proxy", "registry")
_DEEDS = ("restart", "delete", "upgrade", "move", "publish", "rename", "merge", "stop", "copy", "lock")
_UNITS = ("ms", "euros", "MB", "percent", "km", "hours", "rows", "tickets", "seats", "boxes")
_MONTHS = ("January", "February", "March", "April", "June", "July", "August", "October")
_CHATTER = (
    "Hey, good to see you!", "Thanks a lot, that means so much.", "How have you been lately?", "Wow, that is great!",
    "That sounds like a lovely plan.", "Take care and see you soon!", "What do you think about it?",
    "It was such a fun evening with everyone.", "I really enjoy working on this kind of thing.",
    "Having people around who help makes such a difference.", "Sounds good to me.", "Have a nice weekend!",
    "Let us talk about it some other time.", "The weather has been so pleasant all week long.",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A fact: the words that must stand in one sentence, and whether that sentence must deny."""

    words: tuple[str, ...]
    denied: bool | None = None


@dataclass(frozen=True)
class Turn:
    """What one turn says, and what is planted in it."""

    text: str
    planted: tuple[Planted, ...]


Form = Callable[[random.Random], tuple[str, Planted]]


def _number(rng: random.Random) -> tuple[str, Planted]:
    name, thing, unit = rng.choice(_NAMES), rng.choice(_THINGS), rng.choice(_UNITS)
    value = rng.choice([str(rng.randint(2, 99999)), f"{rng.randint(0, 99)}.{rng.randint(100, 999)}"])
    return f"{name} measured {value} {unit} on the {thing}.", Planted((name, value, unit, thing))


def _port(rng: random.Random) -> tuple[str, Planted]:
    thing, value = rng.choice(_THINGS), str(rng.randint(1024, 65000))
    name = rng.choice(_NAMES)
    return f"The {thing} of {name} listens on port {value}.", Planted((thing, name, "port", value))


def _age(rng: random.Random) -> tuple[str, Planted]:
    name, other = rng.sample(_NAMES, 2)
    return f"{name} is {(age := rng.randint(18, 80))} and lives with {other}.", Planted((name, str(age), other))


def _denial(rng: random.Random) -> tuple[str, Planted]:
    deed, thing, letter = rng.choice(_DEEDS), rng.choice(_THINGS), rng.choice("ABCDEFGH")
    lead = rng.choice(["Do not", "Never", "Please don't", "You must not"])
    return f"{lead} {deed} the {thing} on node {letter}.", Planted((deed, thing, f"node {letter}"), denied=True)


def _order(rng: random.Random) -> tuple[str, Planted]:
    deed, thing, letter = rng.choice(_DEEDS), rng.choice(_THINGS), rng.choice("ABCDEFGH")
    return f"{deed.title()} the {thing} on node {letter}.", Planted((f"node {letter}",))


def _ended(rng: random.Random) -> tuple[str, Planted]:
    name, place = rng.choice(_NAMES), rng.choice(_PLACES)
    return f"{name} no longer works in {place}.", Planted((name, "no longer", place), denied=True)


def _without(rng: random.Random) -> tuple[str, Planted]:
    name, thing = rng.choice(_NAMES), rng.choice(_THINGS)
    return f"{name} runs it without the {thing}.", Planted((name, "without", thing), denied=True)


def _date(rng: random.Random) -> tuple[str, Planted]:
    name, place = rng.choice(_NAMES), rng.choice(_PLACES)
    day, month = str(rng.randint(1, 28)), rng.choice(_MONTHS)
    return f"{name} goes to {place} on {day} {month}.", Planted((name, place, f"{day} {month}"))


def _met(rng: random.Random) -> tuple[str, Planted]:
    (one, two), place = rng.sample(_NAMES, 2), rng.choice(_PLACES)
    return f"Yesterday {one} met {two} in {place}.", Planted(("yesterday", one, two, place))


_FORMS: tuple[Form, ...] = (_number, _port, _age, _denial, _order, _ended, _without, _date, _met)


def talk(rng: random.Random) -> list[Turn]:
    """One conversation: 5 to 30 turns of two speakers, half of them with a fact or two among their small talk."""
    speakers = rng.sample(_NAMES, 2)
    turns = []
    for place in range(rng.randint(5, 30)):
        told = [(rng.choice(_CHATTER), None) for _ in range(rng.randint(3, 7))]
        told += [rng.choice(_FORMS)(rng) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
        rng.shuffle(told)
        text = f"{speakers[place % 2]}: {' '.join(sentence for sentence, _ in told)}"
        turns.append(Turn(text, tuple(fact for _, fact in told if fact)))
    return turns


def holds(text: str, fact: Planted) -> bool:
    """Whether one sentence of a text has all the words of a fact, and denies where that denies."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        there = all(
            re.search(rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)", sentence, re.IGNORECASE) for word in fact.words
        )
        if there and (fact.denied is None or bool(_DENIES.search(sentence)) == fact.denied):
            return True
    return False


_DENIES = re.compile(r"\b(?:not|never|don't|no longer|without)\b", re.IGNORECASE)


# --------------------------------------------------------------------- a vault in memory


def vault(turns: Sequence[Turn], source: str = "talk/1") -> tuple[dict[str, bytes], View]:
    """The turns as the memories an ingest makes of them, and what a planner sees of those."""
    began = NOW - timedelta(days=60)
    return remembered(
        Request(
            turn.text, kind="episode", source=f"{source}#{place}", whole=True, created=began + timedelta(minutes=place)
        )
        for place, turn in enumerate(turns)
    )


def remembered(asked: Iterable[Request]) -> tuple[dict[str, bytes], View]:
    """These texts as memories: path → bytes, and what a planner sees of them."""
    requests = list(asked)
    ids = iter(f"01J{number:023d}" for number in range(len(requests)))
    drafts = plan_batch(
        requests, now=NOW - timedelta(days=50), new_id=lambda: next(ids), taken=lambda _: False, stored=lambda _: {},
        related=lambda _: [], total=0,
    ).drafts  # fmt: skip
    files = {draft.path: draft.data for draft in drafts}
    profiles = tuple(_profile(path, data) for path, data in files.items())
    view = View(
        config=Config(Path("/nowhere"), upkeep_seconds=3600.0), cards=(), profiles=lambda: profiles, read=files.get,
        removed=lambda _: False,
        busy=lambda _: False, now=NOW, usage=dict, ours=files.keys,
        vectors=lambda paths: np.zeros((len(paths), 0), np.float32),
    )  # fmt: skip
    return files, view


def _profile(path: str, data: bytes) -> Profile:
    note = markdown.parse(data.decode(), path)
    created = markdown.when(str(note.meta["created"]))
    assert created
    return Profile(
        path=path, id=str(note.meta["id"]), blob="", label=note.title, kind="episode", tags=note.tags,
        entities=note.entities, created=int(created.timestamp() * 1e6), importance=0.3, pinned=False, trust="candidate",
        source=str(note.meta["source"]), valid_from=None, valid_to=None, meta=note.meta, readable=True, words=20,
        linked=False,
    )  # fmt: skip


def applied(files: Mapping[str, bytes], changes: Sequence[Change]) -> dict[str, bytes]:
    """The files after the changes."""
    after = dict(files)
    for change in changes:
        if change.data is None:
            del after[change.path]
        else:
            after[change.path] = change.data
    return after


def body(data: bytes) -> str:
    """What a memory says, without its metadata."""
    return markdown.parse(data.decode(), "").body


def lost(turns: Sequence[Turn], after: Mapping[str, bytes]) -> list[Planted]:
    """The facts that stand neither in a summary nor in what is left of their turn."""
    metas = {path: markdown.parse(data.decode(), path).meta for path, data in after.items()}
    summaries = [body(after[path]) for path, meta in metas.items() if meta.get("derived_from")]
    left = {str(meta["source"]).partition("#")[2]: body(after[path]) for path, meta in metas.items() if "#" in
            str(meta.get("source"))}  # fmt: skip
    found = []
    for place, turn in enumerate(turns):
        here = [*summaries, left.get(str(place), "")]
        found += [fact for fact in turn.planted if not any(holds(text, fact) for text in here)]
    return found


# --------------------------------------------------------------------- careless summaries


def careless(rng: random.Random) -> Callable[[Sequence[Said], int], str]:
    """A summariser that makes one to three mistakes: it drops, renumbers, renames, affirms, denies, mixes up."""

    def summarise(said: Sequence[Said], room: int) -> str:
        lines = digest(said, room).split("\n")
        for _ in range(rng.randint(1, 3)):
            places = [n for n, line in enumerate(lines) if line.startswith("- ")]
            if len(places) > 1:
                rng.choice(_MISTAKES)(rng, lines, places)
        return "\n".join(lines)

    return summarise


def _drop(rng: random.Random, lines: list[str], places: list[int]) -> None:
    lines[rng.choice(places)] = "- It was a pleasant talk."


def _renumber(rng: random.Random, lines: list[str], places: list[int]) -> None:
    place = rng.choice(places)
    lines[place] = re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 10), lines[place], count=1)


def _rename(rng: random.Random, lines: list[str], places: list[int]) -> None:
    place = rng.choice(places)
    head, mark, rest = lines[place].partition(": ")
    lines[place] = head + mark + re.sub("|".join(_NAMES), lambda _: rng.choice(_NAMES), rest, count=1)


def _affirm(rng: random.Random, lines: list[str], places: list[int]) -> None:
    place = rng.choice(places)
    lines[place] = re.sub(r"Do not |Never |don't |must not |no longer |without ", "", lines[place], count=1)


def _deny(rng: random.Random, lines: list[str], places: list[int]) -> None:
    place = rng.choice(places)
    lines[place] = re.sub(r" (is|listens|goes|measured) ", r" never \1 ", lines[place], count=1)


def _mix(rng: random.Random, lines: list[str], places: list[int]) -> None:
    one, two = rng.sample(places, 2)
    numbers = [re.search(r"\d+", lines[place]) for place in (one, two)]
    if all(numbers):
        a, b = (number[0] for number in numbers if number)
        lines[one], lines[two] = lines[one].replace(a, b, 1), lines[two].replace(b, a, 1)


_MISTAKES = (_drop, _drop, _drop, _affirm, _renumber, _rename, _affirm, _deny, _mix)


def compacted(seed: int) -> tuple[list[Turn], dict[str, bytes], dict[str, bytes], Plan]:
    """One generated compaction: the turns, the files before and after, the plan. Every second summary is careless."""
    rng = random.Random(seed)
    turns = talk(rng)
    files, view = vault(turns)
    plan = compaction.plan(view, careless(rng) if seed % 2 else digest)
    return turns, files, applied(files, plan.changes), plan
