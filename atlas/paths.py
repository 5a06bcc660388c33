"""Which paths may hold a memory. Lexical rules first, then one look at the links on the way.

    check_path("notes/a.md")      the path, cleaned, or OutsideVault with the reason
    inside(root, "notes/a.md")    the place on disk, or OutsideVault if a link leads elsewhere

A name to be created must be legal and unmistakable on Linux, macOS and Windows. A name that already exists only has to
be safe: people keep files called `aux.md` or with a line break in the name, and those are still memories.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from atlas.config import ENDINGS
from atlas.errors import OutsideVault

#: Longest name of one file or folder, and longest path, in bytes of UTF-8 (the limits of ext4 and macOS).
LONGEST_NAME = 255
LONGEST_PATH = 1024

#: Devices of Windows: a file of this name, whatever its ending, cannot be checked out there.
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {device + digit for device in ("com", "lpt") for digit in "0123456789¹²³"}
)

#: What Atlas keeps beside the memories, tracked by Git: usage, tombstones, receipts. A line each, and no memory.
_RECORD = re.compile(r"(?:usage|receipts|archive/tombstones)/[\w-]+\.jsonl?", re.ASCII)

_DRIVE = re.compile(r"[A-Za-z]:")
# NTFS lists `.git` a second time as `GIT~1`, `.obsidian` as `OBSIDI~1`.
_SHORT_ALIAS = re.compile(r"[^./~]{1,6}~\d+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_PLAIN = re.compile(r"[A-Za-z0-9_][\w./ -]*", re.ASCII)


def check_path(path: str, *, endings: tuple[str, ...] = ENDINGS, existing: bool = False) -> str:
    """The clean vault-relative POSIX form of a path, or OutsideVault.

    `endings` are the allowed file endings in lower case; an empty tuple allows all. `existing` is for a name that was
    found on disk: rules of portability do not apply, and a backslash stays part of the name where the system says so.
    """
    spelled = path if existing and os.name != "nt" else path.replace("\\", "/")
    parts = _safe_parts(path, path.replace("\\", "/"))
    _safe_parts(path, spelled)
    if not existing or os.name == "nt":
        _check_drives(path, parts)
    if not existing:
        for other in _other_spellings(path):
            _check_drives(path, _safe_parts(path, other))
        _check_portable(path, parts)
    clean = "/".join(part for part in spelled.split("/") if part not in ("", "."))
    if endings and not clean.lower().endswith(endings) and not is_record(clean):
        raise OutsideVault(path, f"its name must end in {' or '.join(endings)}")
    return clean


def is_record(path: str) -> bool:
    """Whether a path is that of a file Atlas keeps beside the memories.

    >>> is_record("usage/k7f2m3q9.jsonl"), is_record("usage/note.md")
    (True, False)
    """
    return bool(_RECORD.fullmatch(path))


def inside(root: Path, path: str) -> Path:
    """`root / path`, once every link on the way is known to stay inside `root` and out of its closed folders.

    Raises OutsideVault. Looks only at what is there now; nothing is created or followed beyond names.
    """
    home = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(home, path))  # noqa: PTH118 - Path.resolve raises on a loop, in some versions
    except ValueError:
        raise OutsideVault(path, "it holds a NUL character") from None
    below = real.removeprefix(home.rstrip(os.sep) + os.sep)
    if below == real:
        raise OutsideVault(path, "a link on the way leads out of the vault")
    if any(part.startswith(".") for part in Path(below).parts):
        raise OutsideVault(path, "a link on the way leads into a closed folder")
    if os.path.islink(real):  # noqa: PTH114 - what realpath leaves unresolved is a link that leads back to itself
        raise OutsideVault(path, "the links on the way form a loop")
    return root / path


def _safe_parts(path: str, form: str) -> list[str]:
    """The components of one spelling of `path`; raises OutsideVault if any could leave or open a closed folder."""
    if "\0" in form:
        raise OutsideVault(path, "it holds a NUL character")
    if form.startswith("/"):
        raise OutsideVault(path, "it is absolute; give it relative to the vault")
    parts = [part for part in form.split("/") if part not in ("", ".")]
    if not parts:
        raise OutsideVault(path, "it names no file")
    for part in parts:
        # Windows drops dots and spaces at the end of a name, so `.. ` is `..` there.
        if part.startswith("..") and not part.rstrip(". "):
            raise OutsideVault(path, "it leaves the vault")
        if part.startswith("."):
            raise OutsideVault(path, f"{part!r} begins with a dot, and such folders belong to Git, Atlas and editors")
    return parts


def _check_drives(path: str, parts: list[str]) -> None:
    """Raise OutsideVault for `C:evil` and `GIT~1`. Off Windows they are plain names: some notes are called `Q: why`."""
    for part in parts:
        if _DRIVE.match(part) or _SHORT_ALIAS.fullmatch(part.rstrip(". ")):
            raise OutsideVault(path, f"{part!r} means another place on Windows")


def _other_spellings(path: str) -> Iterator[str]:
    """What a careless decoder would make of the path: percent signs decoded, look-alikes and invisible marks folded.

    macOS once opened `.git` under a name with an invisible joiner in it; web doors decode `%2e%2e` behind our back.
    """
    if _PLAIN.fullmatch(path):
        return
    form = path
    for _ in range(4):
        # The one-character ellipsis unfolds to three dots, and titles may begin with it.
        folded = unicodedata.normalize("NFKC", unquote(form).replace("…", "_")).replace("\\", "/")
        plain = "".join(c for c in folded if unicodedata.category(c) != "Cf")
        if plain == form:
            return
        yield plain
        form = plain


def _check_portable(path: str, parts: list[str]) -> None:
    """Raise OutsideVault for a name that some system cannot hold or would take for another."""
    if path.startswith("~"):
        raise OutsideVault(path, "`~` means a home folder")
    if _CONTROL.search(path):
        raise OutsideVault(path, "it holds a control character")
    try:
        sizes = [len(part.encode("utf-8")) for part in parts]
    except UnicodeEncodeError:
        raise OutsideVault(path, "it is not valid Unicode") from None
    if max(sizes) > LONGEST_NAME or sum(sizes) + len(sizes) - 1 > LONGEST_PATH:
        raise OutsideVault(path, f"a name may have {LONGEST_NAME} bytes, a whole path {LONGEST_PATH}")
    for part in parts:
        if part[-1] in ". ":
            raise OutsideVault(path, f"{part!r} ends in a dot or a space, which Windows drops")
        if part.partition(".")[0].rstrip().casefold() in RESERVED:
            raise OutsideVault(path, f"{part!r} is a device on Windows")
