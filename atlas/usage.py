"""How memories are used: read from the journal, folded into one tracked file per device, added up over all devices.

    .atlas/journal (this device, not tracked) ──fold──► usage/<device>.jsonl (tracked) ──known──► Use per memory

A device writes its own file and no other, so two devices never conflict, and no read ever touches a note. The file says
in its first line up to which byte of each month's journal it has counted: counts and that mark are one commit, so a
kill in between counts nothing twice.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlas import journal, vault
from atlas.config import Config
from atlas.memory import Change, Lod, Record, Use
from atlas.planning import Plan, View
from atlas.survey import blob_id

FOLDER = "usage"
#: So many of the latest days of reading are kept of each memory; all reads are counted.
_DAYS = 20
#: Of what a search or a view put first, so many count as read: an agent is shown more than it takes in.
_FIRST = 3
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


@dataclass(slots=True)
class _Book:
    """A device's file in memory: what each memory's use is, and how far the journal was counted."""

    device: str
    folded: dict[str, int] = field(default_factory=dict)
    uses: dict[str, Use] = field(default_factory=dict)


def plan(view: View) -> Plan:
    """The journal folded into this device's file. A run that nobody asked for folds once a day."""
    device = _device(view.config)
    path = f"{FOLDER}/{device}.jsonl"
    data = view.read(path)
    book = _book(data or b"", device)
    if view.unasked and data and _last_day(book) >= f"{view.now:%Y-%m-%d}":
        return Plan()
    counted = _count(view.config, book)
    if not counted:
        return Plan()
    subject = f"Count {counted} readings" if counted > 1 else "Count a reading"
    change = Change(path, _written(book), None if data is None else blob_id(data))
    return Plan((change,), Record("usage", subject, "journal folded"))


def known(config: Config) -> dict[str, Use]:
    """The use of every memory, by id: the files of all devices, and what this one has not folded yet."""
    folder, total = config.root / FOLDER, dict[str, Use]()
    device = _named(config)
    own = _Book(device)
    for file in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        book = _book(file.read_bytes(), file.stem)
        if file.stem == device:
            own = book
        else:
            _add(total, book.uses)
    _count(config, own)
    _add(total, own.uses)
    return total


def reads(event: journal.Event) -> tuple[str, ...]:
    """The memories an event counts as read: shown by name, or first in a search or a view and shown with their text."""
    if event.op == journal.VIEW:
        told = [id for id in event.needed if event.shown.get(id, Lod.L0) != Lod.L0]
        return tuple(told[:_FIRST])
    if event.op == journal.SEARCH:
        return tuple(event.shown)[:_FIRST]
    return tuple(event.shown) if event.op in (journal.SHOW, journal.GOOD) else ()


def _count(config: Config, book: _Book) -> int:
    """Add what the journal has beyond the book's marks; how many readings and corrections that were."""
    days: dict[str, list[str]] = defaultdict(list)
    wrong: dict[str, list[str]] = defaultdict(list)
    for file in journal.files(config):
        data = file.read_bytes()
        start = book.folded.get(file.stem, 0)
        start = start if start <= len(data) else 0  # the file was begun anew
        end = data.rfind(b"\n") + 1
        for event in journal.events(data[start:end]):
            for id in reads(event):
                days[id].append(event.time[:10])
            for id in event.shown if event.op == journal.WRONG else ():
                wrong[id].append(event.time[:10])
        book.folded[file.stem] = end
    for id in days.keys() | wrong.keys():
        more = Use(len(days[id]), tuple(days[id]), tuple(wrong[id]))
        book.uses[id] = joined(book.uses.get(id, Use()), more)
    return sum(map(len, (*days.values(), *wrong.values())))


def joined(one: Use, other: Use) -> Use:
    """Two uses of a memory as one. The same whichever comes first."""
    days = tuple(sorted({*one.days, *other.days}))[-_DAYS:]
    return Use(one.reads + other.reads, days, tuple(sorted({*one.wrong, *other.wrong}))[-_DAYS:])


def _add(total: dict[str, Use], more: Mapping[str, Use]) -> None:
    for id, use in more.items():
        total[id] = joined(total[id], use) if id in total else use


def _book(data: bytes, device: str) -> _Book:
    book = _Book(device)
    for one in _objects(data):
        if isinstance(one.get("folded"), dict):
            book.folded = {str(month): int(end) for month, end in one["folded"].items() if isinstance(end, int)}
        elif isinstance(one.get("id"), str) and isinstance(one.get("reads"), int):
            days, wrong = (tuple(map(str, one.get(key) or ())) for key in ("days", "wrong"))
            book.uses[one["id"]] = Use(one["reads"], days, wrong)
    return book


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            one = json.loads(line)
        except ValueError:
            continue
        if isinstance(one, dict):
            yield one


def _written(book: _Book) -> bytes:
    """The file: its mark, then a line per memory, by id, so that Git's deltas are small."""
    lines = [json.dumps({"device": book.device, "folded": dict(sorted(book.folded.items()))})]
    for id, use in sorted(book.uses.items()):
        wrong = {"wrong": use.wrong} if use.wrong else {}
        lines.append(json.dumps({"id": id, "reads": use.reads, "days": use.days, **wrong}))
    return ("\n".join(lines) + "\n").encode()


def _last_day(book: _Book) -> str:
    return max((day for use in book.uses.values() for day in use.days), default="")


def _device(config: Config) -> str:
    """The name of this copy of the vault: made up once, nothing about the machine in it."""
    name = _named(config)
    if not name:
        name = "".join(secrets.choice(_LETTERS) for _ in range(8))
        vault.write_elsewhere(_file(config), name.encode())
    return name


def _named(config: Config) -> str:
    try:
        return _file(config).read_text(encoding="ascii").strip()
    except (OSError, UnicodeError):
        return ""


def _file(config: Config) -> Path:
    return config.state / "device"
