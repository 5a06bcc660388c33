"""A new vault, or a folder of notes made one: the few files Atlas adds, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atlas import commits, git
from atlas.config import MARKER, load, now
from atlas.errors import AtlasError, NotFound, UsageError
from atlas.memory import Record
from atlas.survey import survey


@dataclass(frozen=True, slots=True)
class Made:
    """A vault, the files added, and what a person should know.

    `new`: it was no vault before. `adopted`: it is new, and notes were there already.
    """

    root: Path
    new: bool
    adopted: bool
    added: tuple[str, ...]
    note: str = ""


def shipped(name: str) -> Path:
    """A folder that ships with Atlas: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    for place in (package / "_data" / name, package.parent / name):
        if place.is_dir():
            return place
    raise NotFound("shipped folder", name, "Install memory-atlas again.")


def create(folder: Path) -> Made:
    """Make `folder` a vault. Files that exist are only added to; no note is touched; doing it twice changes nothing."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    root = folder.resolve()
    source = shipped("vault-template")
    was_vault = (root / MARKER).is_file()
    if was_vault:
        load(root)  # a broken atlas.toml is said before anything is written
    added = [name for name in sorted(p.name for p in source.iterdir()) if _add(source / name, root / name)]
    if was_vault:
        return Made(root, new=False, adopted=False, added=tuple(added))
    notes = bool(survey(load(root)).files)
    return Made(root, new=True, adopted=notes, added=tuple(added), note=_under_git(root, added, notes))


def _under_git(root: Path, added: list[str], adopted: bool) -> str:
    """See that the folder is under Git; commit the template of a new vault, and leave a person's repository to them."""
    try:
        repository = git.ensure_repository(root)
        if not adopted:
            files = {name: (root / name).read_bytes() for name in added}
            commits.commit(repository, files, Record("init", "Start the vault"), now())
    except AtlasError as err:
        return str(err)
    return "Commit atlas.toml, .gitignore and .gitattributes when you are ready." if adopted else ""


def _add(source: Path, target: Path) -> bool:
    """Copy a template file, or add its missing lines to the one that is there; whether anything was written."""
    wanted = source.read_bytes()
    if not target.exists():
        with target.open("xb") as file:
            file.write(wanted)
        return True
    if target.name == MARKER:
        return False
    have = target.read_bytes()
    lines = {line.strip() for line in have.splitlines()}
    missing = [line for line in wanted.splitlines() if line.strip() and line.strip() not in lines]
    if not missing:
        return False
    end = b"\r\n" if b"\r\n" in have else b"\n"
    gap = b"" if not have or have.endswith(b"\n") else end
    with target.open("ab") as file:
        file.write(gap + end.join(missing) + end)
    return True
