"""Reading the past: what was done to which memory, when and why; finding a revision; what undoing would write.

A commit of a person has no trailers: it appears with the operation "edit" and its author as the actor.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from atlas import markdown, merge, tombstones
from atlas.commits import ACTOR, MEMORY, OP, POLICY, REASON
from atlas.config import ENDINGS
from atlas.config import now as clock
from atlas.errors import GitRefused, NotFound, NotText
from atlas.git import Repository, fields, raw
from atlas.memory import Entry
from atlas.source import decode

#: One commit in the output of `git log -z`. A path never begins with `//`, so neither a path nor a status is a start.
_FORMAT = "//%H%x00%cI%x00%an%x00%s%x00%(trailers:only=true,unfold=true,separator=%x1f)"
_HEADER = 5
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_AGO = re.compile(r"(?:(\d+)|an?|last)\s+(second|minute|hour|day|week|month|year)s?(?:\s+ago)?")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2592000, "year": 31536000}
_DAY = timedelta(days=1)
#: `git merge-file` ends with the number of conflicts; from here on the code means that it failed.
_MERGE_FAILED = 128


class Rename(NamedTuple):
    """A file that got another name with its content unchanged."""

    commit: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class _Row:
    """One commit as listed, with the status and the names of each file it changed (from the top)."""

    commit: str
    time: str
    author: str
    subject: str
    trailers: Sequence[tuple[str, str]]
    files: Sequence[tuple[str, ...]]


# ------------------------------------------------------------------------------ finding a revision


def resolve(repo: Repository, name: str, now: datetime | None = None, *, day_ends: bool = True) -> str:
    """The commit of a revision, a tag, or a moment (the last commit up to then); raises NotFound.

    A moment is ISO 8601 (no zone means UTC), "2 weeks ago", "yesterday", "today" or "now". A day without an hour means
    its end, or its beginning with `day_ends` off. Git's own reading of dates is not used: it takes a day for that day
    at the present hour, and any word it does not know for now.
    """
    ran = repo.call("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
    if name and ran.code == 0:
        return ran.out.decode().strip()
    when = moment(name, now or clock(), day_ends=day_ends)
    if when is None:
        hint = "Give a commit, a tag, a date such as 2026-05-01, or “2 weeks ago”."
        raise NotFound("revision or moment", name, hint)
    found = before(repo, when)
    if not found:
        raise NotFound("commit made by then", name)
    return found


def before(repo: Repository, when: datetime) -> str:
    """The last commit on HEAD made up to that moment, "" if there is none."""
    if not repo.head():
        return ""
    return repo.run("rev-list", "--max-count=1", f"--min-age={int(when.timestamp())}", "HEAD").decode().strip()


def moment(text: str, now: datetime, *, day_ends: bool = True) -> datetime | None:
    """The moment that words or an ISO 8601 date mean, None if they mean none. A month has 30 days, a year 365.

    >>> moment("2026-05-01", datetime(2026, 6, 1, tzinfo=UTC)).isoformat()
    '2026-05-01T23:59:59+00:00'
    >>> moment("3 days ago", datetime(2026, 6, 4, 12, tzinfo=UTC)).isoformat()
    '2026-06-01T12:00:00+00:00'
    """
    words = " ".join(text.lower().split())
    if words in ("today", "yesterday"):
        return _day(now if words == "today" else now - _DAY, ends=day_ends)
    if words == "now":
        return now
    ago = _AGO.fullmatch(words)
    try:
        if ago:
            return now - timedelta(seconds=int(ago[1] or 1) * _SECONDS[ago[2]])
        when = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return _day(when, ends=day_ends) if _DATE.fullmatch(text.strip()) else when


def _day(when: datetime, *, ends: bool) -> datetime:
    midnight = when.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + _DAY - timedelta(seconds=1) if ends else midnight


# ------------------------------------------------------------------------------ the log


def log(repo: Repository, path: str = "", memory: str = "", since: str = "", limit: int = 50) -> list[Entry]:
    """The history of the vault, of the file at `path` (followed over renames), or of one memory id; newest first.

    With both `path` and `memory`, commits that meet either. `since` is a commit: only what came after it. Commits that
    touch no memory and are not Atlas's are left out, and so are merges.
    """
    if not repo.head():
        return []
    span = (f"{since}..HEAD",) if since else ("HEAD",)
    if not path and not memory:
        return _recent(repo, span, limit)
    rows: dict[str, _Row] = {}
    if path:
        words = ("--follow", "-M", *span, "--", repo.full(path))
        rows.update((row.commit, row) for row in _rows(repo, f"--max-count={limit}", *words))
    if memory:
        grep = ("--fixed-strings", f"--grep={MEMORY}: {memory}")
        named = _rows(repo, "--no-renames", *grep, *span, *repo.within)
        rows.update((row.commit, row) for row in named if (MEMORY, memory) in row.trailers)
    newest = sorted(rows.values(), key=lambda row: datetime.fromisoformat(row.time), reverse=True)
    return [_entry(repo, row) for row in newest[:limit]]


def touched(repo: Repository, folder: str) -> frozenset[str]:
    """The files directly or further below a folder (no `/` at its end, "" for all) that any commit touched."""
    if not repo.head():
        return frozenset()
    words = ("-z", "--name-only", "--no-renames", "--format=", "HEAD", "--", repo.full(folder) or ".")
    found = (repo.own(path) for path in fields(repo.run("log", *words)))
    return frozenset(path for path in found if path)


def last_atlas_commit(repo: Repository) -> str:
    """The newest commit of Atlas's on this vault, "" if there is none."""
    if not repo.head():
        return ""
    grep = ("--basic-regexp", f"--grep=^{OP}: ")
    rows = _rows(repo, "--no-renames", *grep, "HEAD", *repo.within)
    return next((row.commit for row in rows if any(key == OP for key, _ in row.trailers)), "")


def renames(repo: Repository) -> list[Rename]:
    """Every rename with unchanged content on the way to HEAD, newest first."""
    return renames_since(repo, "")[0]


def renames_since(repo: Repository, since: str) -> tuple[list[Rename], bool]:
    """The same after the commit `since`; if HEAD does not come after that, all of them, and False.

    Only identical blobs are paired, so Git compares ids and reads no file.
    """
    head = repo.head()
    if not head or since == head:
        return [], bool(since)
    known = bool(since) and repo.call("merge-base", "--is-ancestor", since, "HEAD").code == 0
    span = f"{since}..HEAD" if known else "HEAD"
    found = []
    for row in _rows(repo, "-M100%", "--diff-filter=R", span, *repo.within):
        for _, *names in row.files:
            old, new = (repo.own(name) for name in names)
            if old and new:
                found.append(Rename(row.commit, old, new))
    return found, known


def changed_paths(repo: Repository, sha: str) -> tuple[str, ...]:
    """The vault paths a commit changed, against its first parent."""
    parent = _parent(repo, sha)
    return tuple(path for path, _, _ in _changes(repo, parent, sha))


def _recent(repo: Repository, span: tuple[str, ...], limit: int) -> list[Entry]:
    """The newest entries; looks further back until enough of the commits concern memories."""
    window = 2 * limit
    while True:
        rows = _rows(repo, "--no-renames", f"--max-count={window}", *span, *repo.within)
        entries = [_entry(repo, row) for row in rows if _concerns(repo, row)]
        if len(entries) >= limit or len(rows) < window:
            return entries[:limit]
        window *= 4


def _rows(repo: Repository, *words: str) -> list[_Row]:
    options = ("-z", "--no-merges", "--no-show-signature", "--encoding=UTF-8", "--name-status", f"--format={_FORMAT}")
    return list(_parsed(fields(repo.run("log", *options, *words) + b"\0")))


def _parsed(tokens: list[str]) -> Iterator[_Row]:
    """The commits in `git log -z --name-status`: five header fields, then per file a status and one or two names."""
    at = 0
    while at + _HEADER <= len(tokens):
        sha, time, author, subject, trailers = tokens[at : at + _HEADER]
        at += _HEADER
        files: list[tuple[str, ...]] = []
        while at < len(tokens) and tokens[at].strip() and not tokens[at].startswith("//"):
            status = tokens[at].strip()
            size = 3 if status[0] in "RC" else 2
            files.append((status, *tokens[at + 1 : at + size]))
            at += size
        pairs = [line.partition(": ") for line in _shown(trailers).split("\x1f") if line]
        facts = [(key, value.strip()) for key, _, value in pairs]
        yield _Row(sha.strip()[2:], time, _shown(author), _shown(subject), facts, files)


def _shown(text: str) -> str:
    """Text to read, not a name to give back to Git: bytes that are no UTF-8 are replaced."""
    return raw(text).decode("utf-8", "replace")


def _concerns(repo: Repository, row: _Row) -> bool:
    own = any(key == OP for key, _ in row.trailers)
    return own or any((repo.own(file[-1]) or "").lower().endswith(ENDINGS) for file in row.files)


def _entry(repo: Repository, row: _Row) -> Entry:
    facts = dict(reversed(row.trailers))
    paths = (repo.own(file[-1]) for file in row.files)
    return Entry(
        commit=row.commit,
        time=row.time,
        op=facts.get(OP, "edit"),
        subject=row.subject,
        memories=tuple(value for key, value in row.trailers if key == MEMORY),
        paths=tuple(path for path in paths if path),
        reason=facts.get(REASON, ""),
        actor=facts.get(ACTOR, "") if OP in facts else row.author,
        policy=facts.get(POLICY, ""),
    )


# ------------------------------------------------------------------------------ undoing


def revert_files(
    repo: Repository,
    sha: str,
    now: Callable[[str], bytes | None] | None = None,
    endings: tuple[str, ...] = ENDINGS,
) -> dict[str, bytes | None]:
    """What undoing a commit would write: path → bytes, None to remove the file. Files already undone are left out.

    `now` gives the present bytes of a path, None if there is no file (default: what HEAD holds). Later edits are kept:
    a file that changed since is merged, and if the changes overlap, GitRefused names it. Only paths with one of the
    `endings` are undone, and tombstones: usage and the ledger go forward only.
    """
    commit = resolve(repo, sha)
    parent = _parent(repo, commit, "undo")
    both = _changes(repo, parent, commit)
    changes = [c for c in both if c[0].lower().endswith(endings) or c[0].startswith(f"{tombstones.FOLDER}/")]
    present = now or _head_reader(repo, [path for path, _, _ in changes])
    contents = _contents(repo, [id for _, *ids in changes for id in ids])
    homes = _homes([(path, contents[old], contents[new]) for path, old, new in changes])
    written: dict[str, bytes | None] = {}
    for path, old, new in changes:
        current, made, home = present(path), contents[new], homes.get(path)
        if home and made and current not in (None, made) and present(home[0]) is None:
            # It was moved here, then given a tag: the note goes back, and takes with it what was edited since.
            written |= {path: None, home[0]: _merge(repo, home[0], current or b"", made, home[1])}
            continue
        wanted = _undone(repo, path, contents[old], made, current)
        if wanted != current:
            written.setdefault(path, wanted)
    return written


def _homes(changes: Sequence[tuple[str, bytes | None, bytes | None]]) -> dict[str, tuple[str, bytes]]:
    """Where notes came from that a commit moved: their new path → the old one and what was there. Their id tells."""
    written = markdown.written_id
    left = {id: (path, old) for path, old, new in changes if old and new is None and (id := written(old))}
    arrived = {path: written(new) for path, old, new in changes if new and old is None} if left else {}
    return {path: left[id] for path, id in arrived.items() if id in left}


def _undone(
    repo: Repository, path: str, target: bytes | None, made: bytes | None, current: bytes | None
) -> bytes | None:
    """The content after undoing made → target on a file that is now `current`."""
    if current is not None and b"\r\n" in current and b"\r\n" not in (made or b""):
        # The working tree has CRLF where Git has LF: undo in Git's form, then go back.
        plain = _undone(repo, path, target, made, current.replace(b"\r\n", b"\n"))
        return plain and plain.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if current in (made, target):
        return target
    if current is None and target is not None and made is not None:
        return None  # removed since by somebody; the part that is to be undone went with it
    if target is None and current is not None and made is not None and _same_but_tags(path, made, current):
        return None  # a memory stored later drew it into a cluster
    if current is None or made is None or target is None:
        raise GitRefused("undo this commit", f"{path} was changed again after it; undo the later change first")
    return _merge(repo, path, current, made, target)


def _same_but_tags(path: str, made: bytes, current: bytes) -> bool:
    """Whether two versions are one note with other tags."""
    try:
        one, other = (markdown.parse(decode(data).text, path) for data in (made, current))
    except NotText:
        return False
    metas = [{key: value for key, value in note.meta.items() if key != "tags"} for note in (one, other)]
    return one.readable and other.readable and one.body == other.body and metas[0] == metas[1]


def _merge(repo: Repository, path: str, current: bytes, base: bytes, other: bytes) -> bytes:
    """`current` with the change base → other applied; raises GitRefused when both changed the same thing.

    Line by line first. Where lines touch, a note is merged by key and by section: a tag given after a memory was
    forgotten stands in the line beside what forgetting wrote.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, data in (("current", current), ("base", base), ("other", other)):
            Path(folder, name).write_bytes(data)
            names.append(str(Path(folder, name)))
        ran = repo.call("merge-file", "-p", *names)
    if ran.code == 0:
        return ran.out
    if 0 < ran.code < _MERGE_FAILED:
        merged = merge.merge(base, current, other, path) if path.lower().endswith(ENDINGS) else None
        if merged is not None and not merged.conflicts:
            return merged.data
        raise GitRefused("undo this commit", f"{path} was edited later in the same lines; edit that file by hand")
    raise GitRefused(f"merge {path}", ran.said)


def _parent(repo: Repository, sha: str, doing: str = "") -> str:
    """The first parent, or the empty tree for a first commit. Undoing a merge is refused.

    Read from the commit itself: at the edge of a shallow clone `rev-list` shows no parent, and undoing that commit
    would have removed every file.
    """
    header = repo.run("cat-file", "commit", sha).split(b"\n\n", 1)[0].decode("utf-8", "replace")
    parents = [line.removeprefix("parent ") for line in header.split("\n") if line.startswith("parent ")]
    if doing and len(parents) > 1:
        raise GitRefused(f"{doing} {sha[:10]}", "it is a merge; undo the commits it brought in, or use `git revert -m`")
    return parents[0] if parents else repo.empty_tree


def _changes(repo: Repository, parent: str, sha: str) -> list[tuple[str, str, str]]:
    """(path, old blob id, new blob id) of the vault's files that differ; "" stands for no file (or a link)."""
    rows = fields(repo.run("diff-tree", "-r", "-z", "--no-renames", parent, sha, *repo.within))
    found = []
    for facts, name in zip(rows[::2], rows[1::2], strict=True):
        mode, new_mode, old, new, _ = facts[1:].split(" ")
        path = repo.own(name)
        if path:
            found.append((path, old if mode.startswith("100") else "", new if new_mode.startswith("100") else ""))
    return found


def _contents(repo: Repository, ids: Sequence[str]) -> dict[str, bytes | None]:
    """The bytes of blobs by id, None for ""; raises GitRefused if the repository lacks one."""
    held: dict[str, bytes | None] = {"": None, **dict(repo.blobs(ids))}
    lost = set(ids) - set(held)
    if lost:
        raise GitRefused("undo this commit", f"the repository lacks {min(lost)}; fetch it or run `git fsck`")
    return held


def _head_reader(repo: Repository, paths: Sequence[str]) -> Callable[[str], bytes | None]:
    tree = repo.tree()
    ids = {path: tree.get(path, "") for path in paths}
    held = _contents(repo, list(ids.values()))
    return lambda path: held[ids[path]]
