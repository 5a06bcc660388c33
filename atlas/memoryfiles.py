"""A folder of the vault as files that an agent names and writes itself, byte for byte: six commands, each a commit.

Nothing is added to what the agent wrote. Replies and refusals have the wording that models know from the reference
implementation of Claude's memory tool. Paths are checked by their spelling (`memorynames`), then on disk: no link is
followed. Not even an empty folder of somebody else's is removed with files that are no memories in it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from atlas import edits, markdown, vault
from atlas.errors import NotFound, SecretFound, UsageError
from atlas.memory import Applied, Change, Record
from atlas.memorynames import ROOT, parts, shown_name, stored_name
from atlas.paths import check_path
from atlas.survey import blob_id

if TYPE_CHECKING:
    from atlas.config import Config
    from atlas.hand import Hand

_MOST_LINES = 999_999
_WIDTH = len(str(_MOST_LINES))
#: Levels of a folder that are listed.
_DEPTH = 2
#: Lines shown on either side of an edit.
_AROUND = 2
#: Metadata by which persons say how far a memory may be relied on.
_JUDGED = ("trust", "reviewed", "pinned")
_UNITS = ("B", "K", "M", "G")

log = logging.getLogger(__name__)


class MemoryFiles:
    """The folder. Safe to use from threads and processes.

    `folder` is relative to the engine's scope. Every command raises UsageError for what it cannot do, and what the
    gate says (SecretFound, DuplicateId); then nothing was changed.
    """

    def __init__(self, config: Config, hand: Hand, folder: str) -> None:
        self._config, self._hand = config, hand
        self.folder = check_path(config.scope.prefix + folder.strip("/"), endings=())

    # ----------------------------------------------------------------- reading

    def view(self, path: str, lines: Sequence[int] | None = None) -> str:
        """A file with its lines numbered, or what is in a folder; `lines` is the first and the last, -1 for the end."""
        place = self._folder(path)
        if place.is_dir():
            rows = [f"{size_of(place.lstat().st_size)}\t{path}"]
            rows += [f"{size_of(size)}\t{path}/{name}" for name, size in _entries(place, "", 1)]
            header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
            return "\n".join([header, *rows])
        content = self._read(path)[0].split("\n")
        if len(content) > _MOST_LINES:
            raise UsageError(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = lines if lines and len(lines) == 2 else (1, -1)
        begin = max(1, first) - 1
        shown = content[begin : len(content) if last == -1 else last]
        return f"Here's the content of {path} with line numbers:\n{_numbered(shown, begin + 1)}"

    # ----------------------------------------------------------------- writing

    def create(self, path: str, text: str) -> str:
        """Write a file that is not there yet."""
        with self._hand.lock():
            if self._taken(path):
                raise UsageError(f"File {path} already exists")
            self._judge(path, data := _encoded(text), b"")
            self._apply(path, [Change(self._stored(path), data, None)], "Create")
        return f"File created successfully at: {path}"

    def replace(self, path: str, old: str, new: str) -> str:
        """Put one text in the place of another, which must be there exactly once."""
        text, place = self._edit(path, lambda content: _replaced(content, old, new, path))
        line = text.count("\n", 0, place)
        begin = max(0, line - _AROUND)
        around = _numbered(text.split("\n")[begin : line + _AROUND + 1], begin + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{around}"

    def insert(self, path: str, line: int, text: str) -> str:
        """Put a text behind a line; 0 is the beginning."""
        self._edit(path, lambda content: (_inserted(content, line, text), 0))
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Remove a file, or a folder with all that is in it; Git keeps it."""
        if not parts(path):
            raise UsageError(f"Cannot delete the {ROOT} directory itself")
        with self._hand.lock():
            place = self._folder(path)
            if place.is_dir():
                self._apply(path, self._without(self._below(place)), "Delete")
                _prune(place)
            elif self._file(path).is_file():
                self._apply(path, self._without([self._stored(path)]), "Delete")
            else:
                raise UsageError(f"The path {path} does not exist")
        return f"Successfully deleted {path}"

    def rename(self, old: str, new: str) -> str:
        """Give a file or a folder another name; nothing is replaced."""
        if not parts(old):
            raise UsageError(f"Cannot rename the {ROOT} directory itself")
        with self._hand.lock():
            if self._taken(new):
                raise UsageError(f"The destination {new} already exists")
            source = self._folder(old)
            if source.is_dir():
                self._move_folder(old, new, source)
            elif self._file(old).is_file():
                self._apply(old, self._moved([(self._stored(old), self._stored(new))]), "Rename")
            else:
                raise UsageError(f"The path {old} does not exist")
        return f"Successfully renamed {old} to {new}"

    def clear(self) -> str:
        """Remove all files of the folder; Git keeps them."""
        with self._hand.lock():
            place = self._folder(ROOT)
            self._apply(ROOT, self._without(self._below(place)), "Clear")
            _prune(place)
        return "All memory cleared"

    # ------------------------------------------------------------------ places

    def _folder(self, path: str) -> Path:
        """Where a folder of this name lies, or would; the folder itself is made where it is not there."""
        place = self._place([self.folder, *parts(path)], path)
        if not parts(path):
            place.mkdir(parents=True, exist_ok=True)
        return place

    def _file(self, path: str) -> Path:
        """Where a file of this name lies, or would."""
        return self._place([self._stored(path)], path)

    def _stored(self, path: str) -> str:
        """The path of this file in the vault; raises UsageError for the folder itself."""
        *folders, name = parts(path) or [""]
        if not name:
            raise UsageError(f"The path {path} is not a file.")
        return "/".join([self.folder, *folders, stored_name(name)])

    def _place(self, names: Sequence[str], path: str) -> Path:
        """The place on disk, once no link is on the way; raises UsageError."""
        home = Path(os.path.realpath(self._config.root))
        place = home.joinpath(*names)
        if os.path.realpath(place) != str(place):
            raise UsageError(f"Path {path} would escape {ROOT} directory via symlink")
        return place

    def _taken(self, path: str) -> bool:
        """Whether the name is in use, by a file or a folder; raises UsageError if a file is on the way."""
        found = parts(path)
        for number in range(1, len(found)):
            above = "/".join([ROOT, *found[:number]])
            if self._file(above).exists() and not self._folder(above).is_dir():
                raise UsageError(f"The path {above} is a file: nothing can be put into it.")
        return self._folder(path).exists() or self._file(path).exists()

    def _below(self, place: Path) -> list[str]:
        """The vault's paths of all files below a folder; raises UsageError if something else is there too."""
        found = []
        for folder, names, files in os.walk(place):
            for name in (*names, *files):
                if name.startswith(".") or Path(folder, name).is_symlink() or (name in files and not shown_name(name)):
                    raise UsageError(f"The folder holds {name!r}, which is no memory: nothing was changed.")
            found += [Path(folder, name).relative_to(os.path.realpath(self._config.root)).as_posix() for name in files]
        return sorted(found)

    # ------------------------------------------------------------------- steps

    def _read(self, path: str) -> tuple[str, bytes]:
        """The text of a file, and its bytes."""
        if not parts(path):
            raise UsageError(f"The path {path} is not a file.")
        try:
            self._file(path)
            data = vault.read(self._config, self._stored(path))
            return data.decode("utf-8"), data
        except NotFound:
            raise UsageError(f"The path {path} does not exist. Please provide a valid path.") from None
        except UnicodeDecodeError:
            raise UsageError(f"path {path!r} is not valid utf-8") from None

    def _edit(self, path: str, edit: Callable[[str], tuple[str, int]]) -> tuple[str, int]:
        """Change a file by a function, made again on the newer text if somebody else saved it meanwhile."""
        made: list[tuple[str, int]] = []

        def attempt() -> Applied:
            with self._hand.lock():
                if self._folder(path).is_dir():
                    raise UsageError(f"The path {path} is not a file.")
                content, before = self._read(path)
                made[:] = [edit(content)]
                data = _encoded(made[0][0])
                self._judge(path, data, before)
                return self._apply(path, [Change(self._stored(path), data, blob_id(before))], "Edit")

        edits.retried(attempt)
        return made[0]

    def _judge(self, path: str, data: bytes, before: bytes) -> None:
        """Raise UsageError for a file that is too large, or would say itself how far it may be relied on."""
        if len(data) > self._config.max_note_bytes:
            raise UsageError(f"{path} would have more than {self._config.max_note_bytes:,} bytes: write less.")
        changed = [key for key, value in _judgements(data).items() if value != _judgements(before)[key]]
        if changed:
            raise UsageError(f"{path} cannot change its {' and '.join(changed)}: that is for a person to say.")

    def _without(self, files: Sequence[str]) -> list[Change]:
        return [Change(file, None, blob_id(vault.read(self._config, file))) for file in files]

    def _moved(self, names: Sequence[tuple[str, str]]) -> list[Change]:
        found = [(old, new, vault.read(self._config, old)) for old, new in names]
        made = [Change(new, data, None) for _, new, data in found]
        return [*made, *(Change(old, None, blob_id(data)) for old, _, data in found)]

    def _move_folder(self, old: str, new: str, source: Path) -> None:
        target = self._folder(new)
        if target.is_relative_to(source):
            raise UsageError(f"Cannot rename {old} to {new}: it would be inside itself.")
        before, after = ("/".join([self.folder, *parts(path)]) for path in (old, new))
        names = [(file, after + file.removeprefix(before)) for file in self._below(source)]
        self._apply(old, self._moved(names), "Rename")
        target.mkdir(parents=True, exist_ok=True)  # a folder without a file has a name, too
        _prune(source)

    def _apply(self, path: str, changes: Sequence[Change], did: str) -> Applied:
        """Make the changes, which are one commit."""
        wanted = [one for one in changes if one.data is None or blob_id(one.data) != one.before]
        if not wanted:
            return Applied(())
        subject = f"{did} {path.removeprefix(ROOT).strip('/') or ROOT}"
        try:
            applied = self._hand.apply(wanted, Record("memory-tool", subject, actor=self._config.actor))
        except SecretFound as err:  # named as the agent names it
            raise SecretFound(path, err.line, err.kind) from None
        if not applied.committed:
            log.warning("Saved, not committed: %s", applied.note)
        return applied


def size_of(size: int) -> str:
    """A number of bytes in the unit that suits it.

    >>> [size_of(size) for size in (0, 512, 1024, 1536, 5 * 1024**3)]
    ['0B', '512B', '1K', '1.5K', '5G']
    """
    power = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    scaled = size / 1024**power
    return f"{scaled:.0f}{_UNITS[power]}" if scaled.is_integer() else f"{scaled:.1f}{_UNITS[power]}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _replaced(content: str, old: str, new: str, path: str) -> tuple[str, int]:
    """The text with `old` replaced, and where; raises UsageError unless it is there once."""
    place = content.find(old)
    if place < 0:
        raise UsageError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if content.count(old) > 1:
        lines = []
        while place >= 0:
            lines.append(str(content.count("\n", 0, place) + 1))
            place = content.find(old, place + 1)
        raise UsageError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {', '.join(lines)}. "
            "Please ensure it is unique"
        )
    return content[:place] + new + content[place + len(old) :], place


def _inserted(content: str, line: int, text: str) -> str:
    lines = content.removesuffix("\n").split("\n") if content else []
    if not 0 <= line <= len(lines):
        raise UsageError(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    joined = "\n".join([*lines[:line], text.rstrip("\n"), *lines[line:]])
    return joined if joined.endswith("\n") else f"{joined}\n"


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("The text holds half of a surrogate pair: write it again.") from None


def _judgements(data: bytes) -> dict[str, object]:
    meta = markdown.parse(markdown.decode(data).text, "").meta
    return {key: meta.get(key) for key in _JUDGED}


def _entries(place: Path, prefix: str, depth: int) -> Iterator[tuple[str, int]]:
    """The visible names below a folder with their sizes, in the order of the names an agent sees; no links."""
    found: list[tuple[str, os.DirEntry[str]]] = []
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            name = entry.name if entry.is_dir(follow_symlinks=False) else shown_name(entry.name)
            if name and not entry.name.startswith(".") and not entry.is_symlink():
                found.append((name, entry))
    for name, entry in sorted(found, key=lambda one: one[0]):
        folder = entry.is_dir(follow_symlinks=False)
        yield f"{prefix}{name}{'/' if folder else ''}", entry.stat(follow_symlinks=False).st_size
        if folder and depth < _DEPTH:
            yield from _entries(Path(entry.path), f"{prefix}{name}/", depth + 1)


def _prune(place: Path) -> None:
    """Remove the folders that are empty now."""
    for folder, _, _ in os.walk(place, topdown=False):
        with suppress(OSError):
            Path(folder).rmdir()
