"""The journal: what was shown, a JSON object a line in `.atlas/journal`, a file a month. It only grows.

It is what a person's use leaves behind: losing it costs usage counts, and nothing else. It names memories by their
ids and holds none of their words, nor those of a question.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.config import now
from atlas.memory import Lod

if TYPE_CHECKING:
    from atlas.config import Config

FOLDER = "journal"
VIEW, SEARCH, SHOW = "view", "search", "show"
#: What a person or an agent said of a memory: of use, or wrong.
GOOD, WRONG = "good", "wrong"


@dataclass(frozen=True, slots=True)
class Event:
    """One reading. `time` is ISO 8601 in UTC, `op` is one of those above; `shown` has each memory's id and its level.

    `needed` are the ids that ranked first, whatever was shown; `scope` is the prefix they were asked for in.
    """

    time: str
    op: str
    session: str
    scope: str
    shown: Mapping[str, str]
    needed: tuple[str, ...] = ()


def append(config: Config, event: Event) -> None:
    """Write an event at the end: whole, in one call, so that many processes can."""
    line = json.dumps(_fields(event), ensure_ascii=False, separators=(",", ":")) + "\n"
    add(config.state / FOLDER / f"{event.time[:7]}.jsonl", line.encode("utf-8", "surrogateescape"))


def add(file: Path, lines: bytes) -> None:
    """Write lines, each with its end, at the end of a file that only grows."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+", buffering=0) as stream:
        # What a full disk cut short must not take the next line with it.
        torn = stream.seek(0, os.SEEK_END) and not _ends_a_line(stream.fileno())
        stream.write((b"\n" if torn else b"") + lines)


def note(config: Config, op: str, ids: Iterable[str]) -> None:
    """Note that memories were read or judged; on a disk that takes no writing, nothing is noted."""
    shown = dict.fromkeys(ids, Lod.L2.value)
    if shown:
        with suppress(OSError):
            append(config, Event(now().strftime("%Y-%m-%dT%H:%M:%SZ"), op, "", config.scope.prefix, shown))


def read(config: Config) -> Iterator[Event]:
    """All events, oldest first; lines that are none are passed over."""
    for file in files(config):
        yield from events(file.read_bytes())


def events(data: bytes) -> Iterator[Event]:
    """The events in a stretch of the journal."""
    for line in data.splitlines():
        event = _event(line)
        if event is not None:
            yield event


def files(config: Config) -> list[Path]:
    """The files of the journal, oldest first."""
    folder = config.state / FOLDER
    return sorted(folder.glob("*.jsonl")) if folder.is_dir() else []


def _fields(event: Event) -> dict[str, Any]:
    return {
        "time": event.time,
        "op": event.op,
        "session": event.session,
        "scope": event.scope,
        "shown": dict(event.shown),
        "needed": list(event.needed),
    }


def _event(line: bytes) -> Event | None:
    try:
        found = json.loads(line)
        shown = {str(id): str(lod) for id, lod in found["shown"].items()}
        time, op, session, scope = (str(found[name]) for name in ("time", "op", "session", "scope"))
        return Event(time, op, session, scope, shown, tuple(map(str, found["needed"])))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"
