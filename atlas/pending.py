"""Intentions: what is about to be written and committed, noted first, so that a kill in between loses nothing.

An intention is one file in `.atlas/pending`, removed once its commit exists. What a killed writer, a busy Git or a
rebase left behind is finished later, once, under its own reason: files still as they were read are written, files a
person changed since are left to that person.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atlas.memory import Change, Record


@dataclass(frozen=True, slots=True)
class Intention:
    """The changes of one commit to be, and its record."""

    file: Path
    changes: tuple[Change, ...]
    record: Record


def note(folder: Path, name: str, changes: Sequence[Change], record: Record) -> Intention:
    """Write the intention down."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    temp = file.with_suffix(".tmp")
    text = json.dumps({"changes": [_packed(c) for c in changes], "record": asdict(record)}, ensure_ascii=False)
    try:
        temp.write_text(text, encoding="utf-8")
    except OSError:  # a full disk is no place for half an intention
        temp.unlink(missing_ok=True)
        raise
    temp.replace(file)
    return Intention(file, tuple(changes), record)


def fulfilled(intention: Intention) -> None:
    """Forget an intention: its commit exists, or its files have gone another way."""
    intention.file.unlink(missing_ok=True)


def left(folder: Path) -> list[Intention]:
    """Intentions never fulfilled, oldest first. One that cannot be read was never acted on and is dropped."""
    found = []
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            record = Record(**{**data["record"], "memories": tuple(data["record"]["memories"])})
            found.append(Intention(file, tuple(_unpacked(c) for c in data["changes"]), record))
        except FileNotFoundError:
            continue  # fulfilled by another process since the folder was listed
        except (ValueError, KeyError, TypeError):
            file.unlink(missing_ok=True)
    return found


def sweep(folder: Path) -> None:
    """Remove intentions that a killed writer had not finished noting. Call only under the vault's write lock."""
    for temp in folder.glob("*.tmp"):
        temp.unlink(missing_ok=True)


def _packed(change: Change) -> dict[str, Any]:
    data = None if change.data is None else base64.b64encode(change.data).decode("ascii")
    return {**asdict(change), "data": data}


def _unpacked(packed: dict[str, Any]) -> Change:
    data = None if packed["data"] is None else base64.b64decode(packed["data"])
    return Change(**{**packed, "data": data})
