"""What several test files about Git need: small files, opening a repository, signers."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from atlas import git
from atlas.commits import Limits
from atlas.memory import Record

RECORD = Record("ingest", "Remember the boiler", reason="asked", actor="ada", policy="", memories=("01J",))
QUICK = Limits(patience=0.3, signing=1.0)

#: What `PYTHONPATH` must be for a child that imports the package.
IMPORTS = os.pathsep.join(filter(None, (str(Path(git.__file__).parents[1]), os.environ.get("PYTHONPATH"))))
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LINES = "".join(f"line {n}\n" for n in range(1, 10)).encode()

#: A signer that says yes to everything.
SIGN = r"""
cat > /dev/null
echo '[GNUPG:] SIG_CREATED ' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n'
"""

#: Names that shells, Git's quoting and pathspecs stumble over; the last is not UTF-8.
ODD_NAMES = (
    "📥 inbox/日本 café.md",
    'has "quote".md',
    "two\nlines.md",
    "-rf.md",
    " lead and trail .md",
    "semi;$(touch pwned).md",
    ":(glob)*.md",
    "star*[a].md",
    "back\\slash.md",
    "caf\udce9.md",
)


def write(folder: Path, path: str, data: str | bytes) -> None:
    """Put a file there, folders included, byte for byte."""
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))


def open_repo(folder: Path) -> git.Repository:
    """The repository that must be there."""
    found = git.find(folder)
    assert found is not None
    return found


def script(place: Path, text: str) -> Path:
    """An executable shell script."""
    place.write_text("#!/bin/sh\n" + text)
    place.chmod(0o755)
    return place
