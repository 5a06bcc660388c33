"""Writing commits: exactly the given bytes at the given paths, and nothing the user staged.

    files ──► blobs ──► tree ──► commit ──► user's index ──► branch
              stored             (signed)   our entries      moved, if nobody else did

The branch moves last and in one step, so a kill at any point leaves it wholly old or wholly new. The index goes just
before it: killed in between, a memory is staged and not yet committed. The other order would leave HEAD new and the
index old, and the user's next `git commit` would take the memory out again without a word.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from filelock import FileLock, Timeout

from atlas.errors import AtlasError, GitRefused, NotCommitted, OutsideVault
from atlas.git import Position, Repository, fields, raw
from atlas.memory import Record
from atlas.process import SECONDS, refused
from atlas.staging import Entry, draft, entries_at, exchange, sweep, workroom

#: Trailer keys, in the order they are written.
OP, MEMORY, COUNT = "Atlas-Op", "Atlas-Memory", "Atlas-Memory-Count"
REASON, ACTOR, POLICY = "Atlas-Reason", "Atlas-Actor", "Atlas-Policy"

#: Memories named one by one; a commit over more of them says how many there are.
MOST_NAMED = 50
_SUBJECT = 100
#: More files than this are stored by one process, if Git would store their bytes as they are.
_FEW = 8
_ATTEMPTS = 30
_REGULAR = ("100644", "100755")
_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a commit may wait: for a lock of another program, and for a signature, in seconds."""

    patience: float = 3.0
    signing: float = 8.0


@dataclass(frozen=True, slots=True)
class _Job:
    """One commit to be made. `entries` has the paths from the top of the working tree; None removes."""

    repo: Repository
    entries: Mapping[str, Entry | None]
    message: bytes
    when: datetime | None
    limits: Limits


def commit(
    repo: Repository,
    files: Mapping[str, bytes | None],
    record: Record,
    when: datetime | None = None,
    limits: Limits | None = None,
) -> str:
    """Commit these bytes at these vault paths (None removes) and nothing else; the commit's id.

    The user's index gets the same entries, except where the user staged something else. Modes are kept. When HEAD
    already holds the files, its id ("" before the first commit) is returned and no commit made. `when` (with a zone)
    dates the commit, else the clock does. Signing follows `commit.gpgsign`. Commit hooks do not run: every change has
    passed Atlas's own gate, and a hook may start Atlas again. Raises NotCommitted with the reason; then the branch and
    the index are as before.
    """
    limits = limits or Limits()
    try:
        with _turn(repo, limits):
            where = repo.position()
            _refuse_if_blocked(repo, where, files)
            names = [repo.full(_checked(path)) for path in files]
            blobs = _store(repo, dict(zip(names, files.values(), strict=True)))
            entries = {name: Entry("", blob) if blob else None for name, blob in blobs.items()}
            return _land(_Job(repo, entries, message(record), when, limits), where)
    except (NotCommitted, GitRefused, OSError) as problem:
        raise NotCommitted(_reason(problem), tuple(files)) from problem


def message(record: Record) -> bytes:
    r"""The commit message: subject, the reason if it has several lines, trailers.

    Every value is brought onto one line, so text from outside cannot add a trailer of its own.

    >>> print(message(Record("ingest", "Remember the boiler", "asked\nAtlas-Op: purge", memories=["01J"])).decode())
    Remember the boiler
    <BLANKLINE>
    asked
    Atlas-Op: purge
    <BLANKLINE>
    Atlas-Op: ingest
    Atlas-Memory: 01J
    Atlas-Reason: asked Atlas-Op: purge
    <BLANKLINE>
    """
    op = one_line(record.op) or "change"
    subject = one_line(record.subject) or op
    if len(subject) > _SUBJECT:
        subject = subject[: _SUBJECT - 1].rstrip() + "…"
    named = [one_line(id) for id in record.memories]
    trailers = [(OP, op), *((MEMORY, id) for id in named[:MOST_NAMED])]
    if len(named) > MOST_NAMED:
        trailers.append((COUNT, str(len(named))))
    trailers += [(REASON, one_line(record.reason)), (ACTOR, one_line(record.actor)), (POLICY, one_line(record.policy))]
    body = [line for line in map(one_line, record.reason.splitlines()) if line]
    parts = [subject, *(["\n".join(body)] if len(body) > 1 else [])]
    parts.append("\n".join(f"{key}: {value}" for key, value in trailers if value))
    return ("\n\n".join(parts) + "\n").encode("utf-8")


def one_line(text: str) -> str:
    r"""The text on a single line: control characters, line ends of any kind and lone surrogates become spaces.

    >>> one_line(" a\r\n\u2028b\tc ")
    'a b c'
    """
    return " ".join("".join(" " if unicodedata.category(c) in _CONTROL else c for c in text).split())


# ------------------------------------------------------------------------ the steps


@contextmanager
def _turn(repo: Repository, limits: Limits) -> Iterator[None]:
    """Atlas's own writers take turns, across processes too; a killed one gives its turn back.

    Without this, eight writers spend their time undoing each other's races.
    """
    seconds = limits.patience + limits.signing
    lock = FileLock(workroom(repo) / "turn", timeout=seconds, poll_interval=0.005)
    try:
        lock.acquire()
    except Timeout:
        reason = f"another Atlas process has been committing for more than {seconds:g} s; it is committed later"
        raise NotCommitted(reason) from None
    try:
        sweep(repo)
        yield
    finally:
        lock.release()


def _refuse_if_blocked(repo: Repository, where: Position, files: Mapping[str, object]) -> None:
    reason = repo.blocked(where)
    if reason:
        raise NotCommitted(reason, tuple(files))


def _checked(path: str) -> str:
    """The path, if it can be one of the vault's; Git refuses what is left (`.git`, links on the way)."""
    if not path or path.startswith("/") or "\0" in path or {"", ".", ".."} & set(path.split("/")):
        raise OutsideVault(path, "it is not a path below the vault")
    return path


def _land(job: _Job, where: Position) -> str:
    """Make the commit on HEAD as it was found; if somebody else moves the branch meanwhile, again on the new HEAD."""
    placed: dict[str, Entry | None] = {}
    try:
        for attempt in range(_ATTEMPTS):
            sha = _attempt(job, where, placed)
            if sha is not None:
                return sha
            time.sleep(random.uniform(0.005, 0.03) * min(attempt, 5))  # noqa: S311 - to fall out of step, no secret
            where = job.repo.position()
            _refuse_if_blocked(job.repo, where, job.entries)
        raise NotCommitted(f"other programs moved {where.branch} {_ATTEMPTS} times while the commit was being made")
    except (AtlasError, OSError) as problem:
        _take_back(job, placed, problem)
        raise


def _attempt(job: _Job, where: Position, placed: dict[str, Entry | None]) -> str | None:
    """One try: the new commit's id (HEAD's, "" before the first, when nothing changes), None if the branch moved.

    `placed` gathers the entries put into the user's index.
    """
    repo, patience = job.repo, job.limits.patience
    old: dict[str, Entry | None] = dict.fromkeys(job.entries)
    old.update(entries_at(repo, where.head, job.entries))
    new = {path: entry and Entry(_mode(old[path]), entry.blob) for path, entry in job.entries.items()}
    new = {path: entry for path, entry in new.items() if entry != old[path]}
    if not new:
        return where.head
    with draft(repo) as copy:
        staged = copy.staged(where.head)
        copy.put({**{path: head for path, (head, _) in staged.items()}, **new})
        sha = _commit_object(job, where, copy.tree(where.head, new))
        _refuse_if_blocked(repo, where, new)  # a signature takes long enough to start a rebase in
        whole = not staged and copy.replace(patience)
        placed.update(new if whole else exchange(repo, where.head, old, new, patience))
    return _move(job, where, sha)


def _mode(entry: Entry | None) -> str:
    return entry.mode if entry and entry.mode in _REGULAR else _REGULAR[0]


def _commit_object(job: _Job, where: Position, tree: str) -> str:
    repo, limits = job.repo, job.limits
    signed = repo.call("config", "--type=bool", "--get", "commit.gpgsign").out.strip() == b"true"
    words = ["-c", "i18n.commitEncoding=UTF-8"]
    if not os.environ.get("EMAIL"):  # Git would make one up of the user's and the machine's names
        words += ["-c", "user.useConfigOnly=true"]
    words += ["commit-tree", tree, "-F", "-"]
    words += ["-p", where.head] if where.head else []
    words += ["-S"] if signed else []
    env = {}
    if job.when:
        stamp = f"@{max(0, int(job.when.timestamp()))} {job.when:%z}"
        env = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    ran = repo.call(*words, data=job.message, env=env, seconds=limits.signing if signed else SECONDS)
    if ran.code == 0:
        return ran.out.decode().strip()
    if ran.late and signed:
        raise NotCommitted(f"signing took longer than {limits.signing:g} s; is the key unlocked?")
    if "tell me who you are" in ran.said or "empty ident name" in ran.said:
        raise NotCommitted("Git knows no name and e-mail; run `git config user.name …` and `git config user.email …`")
    raise NotCommitted(f"the commit could not be signed: {ran.said}") if signed else refused(("commit-tree",), ran)


def _move(job: _Job, where: Position, sha: str) -> str | None:
    """Move the branch from the old commit to the new one; None if it is no longer where it was."""
    before = where.head or "0" * len(sha)
    reason = "atlas: " + job.message.split(b"\n", 1)[0].decode()
    wait = f"core.filesRefLockTimeout={int(job.limits.patience * 1000)}"
    ran = job.repo.call("-c", wait, "update-ref", "-m", reason, where.branch, sha, before)
    if ran.code == 0:
        return sha
    if job.repo.position() != where:
        return None
    raise refused(("update-ref",), ran)


def _take_back(job: _Job, placed: Mapping[str, Entry | None], problem: Exception) -> None:
    """No commit came of it: our entries leave the user's index again. If they cannot, NotCommitted says both."""
    if not placed:
        return
    try:
        head = job.repo.head()
        held: dict[str, Entry | None] = {**dict.fromkeys(placed), **entries_at(job.repo, head, placed)}
        exchange(job.repo, head, placed, held, job.limits.patience)
    except (AtlasError, OSError) as second:
        raise NotCommitted(f"{_reason(problem)}; it stays staged, for {_reason(second)}") from problem


def _reason(problem: Exception) -> str:
    """Why, in words that can follow "Saved, not committed:"."""
    if isinstance(problem, NotCommitted):
        return problem.reason
    if isinstance(problem, GitRefused):
        return problem.said
    if isinstance(problem, OSError) and problem.filename:
        return f"{problem.strerror} ({problem.filename})"
    return str(problem)


# ---------------------------------------------------------------------- storing blobs


def _store(repo: Repository, files: Mapping[str, bytes | None]) -> dict[str, str | None]:
    """Store the bytes as Git would on `git add` (line ends, LFS and other filters apply); path → blob id."""
    present = {path: data for path, data in files.items() if data is not None}
    plain = _plain(repo, present) if len(present) > _FEW else {}
    ids: dict[str, str | None] = dict.fromkeys(files)
    ids.update(_store_plain(repo, plain))
    for path, data in present.items():
        if path not in plain:
            ids[path] = repo.run("hash-object", "-w", "--stdin", f"--path={path}", data=data).decode().strip()
    return ids


def _plain(repo: Repository, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that no filter would change, as far as attributes and settings tell."""
    attributes = ("filter", "ident", "working-tree-encoding", "text", "eol", "crlf")
    listing = b"".join(raw(path) + b"\0" for path in files)
    rows = fields(repo.run("check-attr", "-z", "--stdin", *attributes, data=listing))
    line_ends = {"text", "eol", "crlf"}
    converting = repo.call("config", "--get", "core.autocrlf").out.strip() not in (b"", b"false")
    translated = set(files) if converting else set()
    rewritten: set[str] = set()
    for path, attribute, value in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        if value not in ("unspecified", "unset"):
            (translated if attribute in line_ends else rewritten).add(path)
    return {
        path: data
        for path, data in files.items()
        if path not in rewritten and not (path in translated and b"\r\n" in data)
    }


def _store_plain(repo: Repository, files: Mapping[str, bytes]) -> dict[str, str]:
    """Store many blobs as they are with one process, in one pack: a process each takes 8 s for 5,000 files."""
    if not files:
        return {}
    stream = b"".join(b"blob\ndata %d\n%b\n" % (len(data), data) for data in files.values())
    repo.run("fast-import", "--quiet", "--done", data=stream + b"done\n", seconds=600)
    return {path: _blob_id(repo, data) for path, data in files.items()}


def _blob_id(repo: Repository, data: bytes) -> str:
    return hashlib.new(repo.object_format, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
