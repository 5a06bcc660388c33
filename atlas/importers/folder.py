"""Any folder of Markdown, as Obsidian has it: every note byte for byte, below a folder of the vault.

The notes are the person's own, and say of themselves what they say, as in a folder that `atlas init` adopts: one that
calls itself pinned or verified is named in the report, and `--untrusted` takes both away.
"""

from __future__ import annotations

from collections.abc import Iterator

from atlas.importers import Found, Skipped
from atlas.importers.given import Given
from atlas.importers.notes import files, meta_of, names, word
from atlas.note import pinned

NAME = "folder"


def detect(given: Given) -> bool:
    """Whether there is any Markdown."""
    return bool(names(given))


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every note as it is."""
    for found in files(given):
        yield found
        if isinstance(found, Skipped) or not (b"pinned" in found.data or b"trust" in found.data):
            continue
        meta = meta_of(found)
        claims = [f"trust: {word(meta.get('trust'))}"] if word(meta.get("trust")) else []
        claims += ["pinned"] if pinned(meta) else []
        if claims:
            yield Skipped(
                found.path, f"it says of itself: {', '.join(claims)}; `--untrusted` takes that away", kept=True
            )
