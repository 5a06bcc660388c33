"""Any folder of Markdown, as Obsidian has it: every note byte for byte, below a folder of the vault.

The notes are the person's own, and say of themselves what they say, as in a folder that `atlas init` adopts: one that
calls itself pinned or verified is named in the report, and `--untrusted` takes both away. What somebody approved there
is approved there alone: an agent does what a skill says.
"""

from __future__ import annotations

from collections.abc import Iterator

from atlas import approval
from atlas.importers import File, Found, Skipped
from atlas.importers.given import Given
from atlas.importers.notes import files, keyed, meta_of, names, word
from atlas.note import pinned

NAME = "folder"

#: What stands in the bytes of a note that may vouch for itself; the last is in all that is written in UTF-16.
_CLAIMS = (b"pinned", b"trust", approval.KEY.encode(), b"\0")


def detect(given: Given) -> bool:
    """Whether there is any Markdown."""
    return bool(names(given))


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every note as it is."""
    for found in files(given):
        if isinstance(found, File) and any(claim in found.data for claim in _CLAIMS):
            yield from _claiming(found)
        else:
            yield found


def _claiming(file: File) -> Iterator[File | Skipped]:
    """A note that may vouch for itself: it is named; and an approval counts in the vault where it was given."""
    meta = meta_of(file)
    if approval.KEY in meta:
        yield from keyed(file, {approval.KEY: None}, own=True)
        yield Skipped(file.path, "it was approved elsewhere: `atlas review` approves it here", kept=True)
    else:
        yield file
    claims = [f"trust: {word(meta.get('trust'))}"] if word(meta.get("trust")) else []
    claims += ["pinned"] if pinned(meta) else []
    if claims:
        yield Skipped(file.path, f"it says of itself: {', '.join(claims)}; `--untrusted` takes that away", kept=True)
