"""Conversations word for word, as a framework replays them: a file each in `.atlas/conversations`, which only grows.

They are a journal. What was said becomes memories, which are the truth; losing a transcript costs its replay and no
memory. It is not committed: it holds what tools returned, be it long or secret, and may be cleared.

A line is a JSON object: `{"add": ITEM}`, `{"pop": 1}` for the last item taken back, or `{"kept": N}`: the first N items
have become memories.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from atlas import journal, vault
from atlas.errors import Unavailable

if TYPE_CHECKING:
    from atlas.config import Config

FOLDER = "conversations"
#: What stands in the place of words that were purged.
ERASED = "[erased]"


@dataclass(slots=True)
class Told:
    """The items of a conversation, and how many of them have become memories."""

    items: list[Any] = field(default_factory=list)
    kept: int = 0

    @property
    def new(self) -> list[Any]:
        """Those that have not."""
        return self.items[self.kept :]


class Transcript:
    """The transcript of the conversation of one name. Safe for threads and for processes."""

    def __init__(self, config: Config, name: str) -> None:
        key = hashlib.blake2b(f"{config.scope.prefix}\0{name}".encode("utf-8", "surrogatepass"), digest_size=12)
        self.file = config.state / FOLDER / f"{key.hexdigest()}.jsonl"
        self._seconds = config.lock_seconds

    def read(self) -> Told:
        """What it holds; lines that are none are passed over."""
        try:
            lines = self.file.read_bytes().splitlines()
        except FileNotFoundError:
            lines = []
        told = Told()
        for line in lines:
            _follow(told, line)
        return told

    def add(self, items: Sequence[Any]) -> None:
        """Add items at the end: all or, if one of them is no JSON, none (TypeError)."""
        self._write([{"add": item} for item in items])

    def pop(self) -> Any | None:
        """Take the last item back; None where there is none."""
        with self._alone():
            told = self.read()
            if not told.items:
                return None
            self._write([{"pop": 1}])
            return told.items[-1]

    def keep(self, number: int) -> None:
        """Note that the first so many items have become memories."""
        self._write([{"kept": number}])

    def clear(self) -> None:
        """Remove the transcript. What it became stays in memory."""
        with self._alone():
            self.file.unlink(missing_ok=True)

    def _write(self, lines: Sequence[dict[str, Any]]) -> None:
        if lines:
            journal.add(self.file, b"".join(map(_line, lines)))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.file.with_suffix(".lock"), timeout=self._seconds, poll_interval=0.005):
                yield
        except Timeout:
            raise Unavailable("The conversation is being changed by another process: try again in a moment.") from None


def erase(config: Config, holds: Callable[[bytes], bool]) -> None:
    """Put `ERASED` in the place of every text that holds what is purged, in all transcripts."""
    folder = config.state / FOLDER
    for file in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        if holds(file.read_bytes()):
            vault.write_elsewhere(file, b"".join(_without(line, holds) for line in file.read_bytes().splitlines()))
            if holds(file.read_bytes()):  # spread over several texts
                file.unlink()


def _follow(told: Told, line: bytes) -> None:
    try:
        step = json.loads(line)
    except ValueError:  # cut short, as a full disk leaves it
        return
    if not isinstance(step, dict):
        return
    if "add" in step:
        told.items.append(step["add"])
    elif "pop" in step and told.items:
        told.items.pop()
        told.kept = min(told.kept, len(told.items))
    elif isinstance(step.get("kept"), int):
        told.kept = min(max(told.kept, step["kept"]), len(told.items))


def _without(line: bytes, holds: Callable[[bytes], bool]) -> bytes:
    try:
        step = json.loads(line)
    except ValueError:
        return b"" if holds(line) else line + b"\n"
    return _line(_blanked(step, holds))


def _line(step: Any) -> bytes:
    text = json.dumps(step, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, as a model's broken JSON decodes to
        return json.dumps(step, separators=(",", ":")).encode() + b"\n"


def _blanked(value: Any, holds: Callable[[bytes], bool]) -> Any:
    if isinstance(value, str):
        return ERASED if holds(value.encode("utf-8", "surrogatepass")) else value
    if isinstance(value, list):
        return [_blanked(one, holds) for one in value]
    if isinstance(value, dict):
        return {key: _blanked(one, holds) for key, one in value.items()}
    return value
