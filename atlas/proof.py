"""Looking for what was purged, in every place there is to look: by digest, and independently of how it was removed.

Nothing here knows which blobs were left out or which files were rewritten: all objects, rows and files are read, and
their words compared with the digests of the words that are to be gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from atlas import objects
from atlas.config import Config
from atlas.erase import Case, other_worktrees
from atlas.git import Repository, text_of
from atlas.receipt import Place, State, elsewhere, gone_or

#: Larger files are not read: videos and disk images hold no memory in a form that could be found.
_LARGEST = 256_000_000
#: How files begin whose content is compressed, so that no search sees its words.
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"%PDF", b"Rar!")
_LOOSE = re.compile(
    r"[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/[\w-]+\.(?:pack|idx|rev|bitmap|mtimes)|info/.*|pack/multi-.*"
)
_SECRET = re.compile(r"(?<=//)[^/@]+@")
#: Rows are read in SQL, vectors are numbers, and the case itself is digests.
_NOT_TEXT = re.compile(r"index.*\.duckdb(\.wal)?|index-.*\.new.*|vectors-.*\.f32|purge\.json|.*\.lock")


class Search:
    """One search for what a case wants gone."""

    def __init__(self, told: Case) -> None:
        self._case = told
        self._wanted = told.traces
        self._packed: list[str] = []
        self._unread: list[str] = []

    def places(self, config: Config, repo: Repository, texts: Iterable[tuple[str, str]]) -> list[Place]:
        """Every place: what was looked at and how much, and what is out of reach. `texts` are those of the index."""
        found = [self._objects(repo), self._git_files(repo), self._rows(texts), self._state(config)]
        found.append(self._folder("the folder", repo.top, "remove it there: it is no file that Git has"))
        found += [self._folder(f"worktree {folder}", folder, "remove it there") for folder, _ in other_worktrees(repo)]
        return [*found, *self._doubts(), *_alternates(repo), *elsewhere(_remotes(repo, self._case))]

    # ------------------------------------------------------------------- Git

    def _objects(self, repo: Repository) -> Place:
        held = objects.every(repo)
        bad = [f"{one.kind} {one.id[:12]}" for one, data in objects.read(repo, held) if self._holds(repo, one, data)]
        return gone_or(bad, "objects of the repository", f"{len(held):,} objects read, in every pack and loose")

    def _holds(self, repo: Repository, one: objects.Object, data: bytes) -> bool:
        if one.kind == "tree":  # its ids are bytes that could look like anything
            names = b"\n".join(node.name for node in objects.entries(repo, data))
            return bool(self._alone(names))
        # What another note says too is in its blob, and there it stays.
        return one.id not in self._case.sharers and bool(self._alone(data))

    def _git_files(self, repo: Repository) -> Place:
        store = repo.common_dir / "objects"
        files = [file for file in _files(repo.common_dir) if not file.is_relative_to(store)]
        named = [file.relative_to(repo.common_dir).as_posix() for file in files if self._read(file)]
        bad = [self._case.safe(name) for name in named]
        strange = [file for file in _files(store) if not _LOOSE.fullmatch(file.relative_to(store).as_posix())]
        self._unread += [f".git/objects/{file.relative_to(store)}" for file in strange]
        return gone_or(
            bad, "Git's own files", f"{len(files):,} files read: logs, index, messages, left-overs of merges"
        )

    # ----------------------------------------------------------------- Atlas

    def _rows(self, texts: Iterable[tuple[str, str]]) -> Place:
        count, bad = 0, set[str]()
        for where, text in texts:
            count += 1
            if self._alone(text.encode("utf-8", "surrogatepass")):
                bad.add(where)
        return gone_or(
            sorted(bad), "the index", f"rebuilt in a new file; {count:,} texts of it read", "`atlas index --rebuild`"
        )

    def _state(self, config: Config) -> Place:
        files = [file for file in _files(config.state) if not _NOT_TEXT.fullmatch(file.name)]
        bad = [file.relative_to(config.root).as_posix() for file in files if self._read(file)]
        looked = f"{len(files):,} files read: sessions, journal, intentions, logs"
        return gone_or(bad, "caches and journal", looked, "delete them, they are derived")

    # ----------------------------------------------------------------- files

    def _folder(self, name: str, top: Path, advice: str) -> Place:
        bad, count = [], 0
        for file in _files(top, closed=frozenset({".git", ".atlas"})):
            count += 1
            path = file.relative_to(top).as_posix()
            if self._alone(path.encode("utf-8", "surrogateescape")) or self._read(file):
                bad.append(self._case.safe(path))
        return gone_or(bad, name, f"{count:,} files read, ignored ones and other programs' folders too", advice)

    def _read(self, file: Path) -> bool:
        """Whether a file holds it. What cannot be read, or read through, is kept in mind."""
        try:
            if file.stat().st_size > _LARGEST:
                self._unread.append(self._case.safe(file.name))
                return False
            data = file.read_bytes()
        except OSError:
            self._unread.append(self._case.safe(file.name))
            return False
        if data.startswith(_PACKED):
            self._packed.append(self._case.safe(file.name))
        return bool(self._alone(data))

    def _alone(self, data: bytes) -> frozenset[int]:
        """The digests in these bytes that no other note says."""
        return self._wanted.found(data) - self._case.shared

    def _doubts(self) -> Iterator[Place]:
        if self._packed:
            yield Place("compressed files", State.NOT_PROVEN, f"not seen through: {_shown(self._packed)}")
        if self._unread:
            yield Place("files not read", State.NOT_PROVEN, _shown(self._unread))


def search(told: Case, config: Config, repo: Repository, texts: Iterable[tuple[str, str]]) -> list[Place]:
    """Every place, and what is known of it now."""
    return Search(told).places(config, repo, texts)


def _files(folder: Path, closed: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Every regular file below; links are not followed."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in closed)
        for name in sorted(files):
            place = Path(here, name)
            if place.is_file() and not place.is_symlink() and name not in closed:
                yield place


def _shown(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _alternates(repo: Repository) -> Iterator[Place]:
    file = repo.common_dir / "objects" / "info" / "alternates"
    if file.is_file():
        for line in text_of(file.read_bytes()).split("\n"):
            if line:
                yield Place(f"borrowed objects {line}", State.NOT_PROVEN, "another repository's: purge there too")


def _remotes(repo: Repository, told: Case) -> dict[str, str]:
    """Each remote: its address, without a password, and how to replace what it has."""
    found: dict[str, list[str]] = {}
    for row in text_of(repo.call("config", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$").out).split("\0"):
        key, _, url = row.partition("\n")
        if url:
            found.setdefault(key.removeprefix("remote.").rpartition(".")[0], []).append(_SECRET.sub("", url))
    advice = {}
    for name, urls in found.items():
        prefix = f"refs/remotes/{name}/"
        had = {ref.removeprefix(prefix): old for ref, old in told.leases.items() if ref.startswith(prefix)}
        pushes = [f"git push --force-with-lease={b}:{old} {name} {b}" for b, old in sorted(had.items()) if b != "HEAD"]
        how = "; ".join(pushes) or f"git push --force {name} for each branch"
        advice[name] = (
            f"{', '.join(dict.fromkeys(urls))}: fetch and pull nothing from it before it is replaced: `{how}`, and its "
            "tags; then its host has to clean up, and forks and pull requests keep what they have"
        )
    return advice
