"""What a push would give away: private notes, and secrets, in the commits that the remote does not have yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from atlas import git
from atlas.config import Config
from atlas.credentials import find_secrets
from atlas.errors import NotText
from atlas.memory import Finding
from atlas.note import split
from atlas.process import refused
from atlas.source import decode
from atlas.survey import ignorer, is_memory

#: Seconds Git may take to walk a large history.
_SECONDS = 600.0
#: So many findings are enough to say that a push must not go out.
_MOST = 50
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SCOPE_LINE = re.compile(rb"^[\"']?scope[\"']?[ \t]*:", re.MULTILINE)


class Put(NamedTuple):
    """A file that a commit added or changed: its blob, and those it had in the commit's parents."""

    commit: str
    path: str
    blob: str
    before: tuple[str, ...]


def findings(config: Config, repository: git.Repository, remote: str, refs: bytes) -> list[Finding]:
    """Why these refs should not be pushed; `refs` is what Git tells the hook on its standard input."""
    puts = list(outgoing(repository, remote, refs))
    private = ignorer(config.private)
    said = [_finding(p, 0, "private", "lies in the private part of the vault") for p in puts if private(p.path)]
    for finding in _in_notes(config, repository, puts):
        if len(said) >= _MOST:
            break
        said.append(finding)
    return said[:_MOST]


def outgoing(repository: git.Repository, remote: str, refs: bytes) -> Iterator[Put]:
    """Every regular file that a commit to be pushed adds or changes, oldest commit first.

    What the remote has is known from its tracking branches and from the old values of the refs. A merge counts only
    for what it changed against all its parents.
    """
    commits = _commits(repository, remote, refs)
    if not commits:
        return
    words = ("diff-tree", "--stdin", "--root", "-r", "-c", "-z", "--no-renames", "--raw")
    ran = repository.call(*words, *repository.within, data=commits, seconds=_SECONDS)
    if ran.code:
        raise refused(words, ran)
    commit, fields = "", iter(git.fields(ran.out))
    for field in fields:
        if not field.startswith(":"):
            commit = field.strip()
            continue
        parents = len(field) - len(field.lstrip(":"))
        facts = field.lstrip(":").split(" ")
        path, mode, blobs = repository.own(next(fields)), facts[parents], facts[parents + 1 : -1]
        if path and mode.startswith("100"):
            yield Put(commit, path, blobs[-1], tuple(blobs[:-1]))


def _commits(repository: git.Repository, remote: str, refs: bytes) -> bytes:
    """The ids of the commits that the push brings, one a line, oldest first."""
    wanted, had = [], []
    for line in refs.decode("utf-8", "replace").splitlines():
        _, local, _, there = ([*line.split(" "), *[""] * 4])[:4]
        wanted += [local] if _is_object(local) else []
        had += [there] if _is_object(there) else []
    if not wanted:  # only deletions
        return b""
    known = _there(repository, [*wanted, *had])
    data = "\n".join([*(id for id in wanted if id in known), *(f"^{id}" for id in had if id in known), ""])
    words = ("rev-list", "--stdin", "--reverse", "--topo-order", "--not", f"--remotes={remote}")
    ran = repository.call(*words, data=data.encode(), seconds=_SECONDS)
    if ran.code:
        raise refused(words, ran)
    return ran.out


def _is_object(id: str) -> bool:
    return bool(_COMMIT.fullmatch(id)) and set(id) != {"0"}


def _there(repository: git.Repository, ids: Sequence[str]) -> set[str]:
    """Those of these objects that are commits, or tags of some, here: others may never have been fetched."""
    data = "".join(f"{id}^{{commit}}\n" for id in ids).encode()
    rows = repository.run("cat-file", "--batch-check", data=data).decode().splitlines()
    return {id for id, row in zip(ids, rows, strict=True) if row.split(" ")[1:2] == ["commit"]}


def _in_notes(config: Config, repository: git.Repository, puts: Sequence[Put]) -> Iterator[Finding]:
    """What stands in the notes themselves: a scope that is private, and secrets the version before did not have."""
    ignored = ignorer(config.ignore)
    notes = [put for put in puts if is_memory(put.path) and not ignored(put.path)]
    first: dict[str, Put] = {}
    for put in notes:
        first.setdefault(put.blob, put)
    for blob, data in repository.blobs(_small(repository, first, config.max_note_bytes)):
        put = first[blob]
        if _SCOPE_LINE.search(data) and _scope(data) == "private":
            yield _finding(put, 1, "private", "its metadata says `scope: private`")
        yield from _secrets(repository, put, data)


def _small(repository: git.Repository, blobs: Iterable[str], most: int) -> list[str]:
    """Those of the blobs that a note may be; the others are never read whole."""
    rows = repository.run("cat-file", "--batch-check", data="".join(f"{id}\n" for id in blobs).encode())
    facts = (row.split(" ") for row in rows.decode().splitlines())
    return [fact[0] for fact in facts if len(fact) == 3 and int(fact[2]) <= most]


def _secrets(repository: git.Repository, put: Put, data: bytes) -> Iterator[Finding]:
    lines = _text(data).split("\n")
    found = find_secrets("\n".join(lines))
    if not found:
        return
    old = {line for _, before in repository.blobs(put.before) for line in _text(before).split("\n")}
    for number, kind in found:
        if lines[number - 1] not in old:
            yield _finding(put, number, "secret", f"looks like a credential ({kind})")


def _scope(data: bytes) -> str:
    block = split(_text(data)).block
    value = block.meta.get("scope", "") if block and block.kind == "mapping" else ""
    return value.strip().strip("/") if isinstance(value, str) else ""


def _text(data: bytes) -> str:
    try:
        return decode(data).text
    except NotText:
        return ""


def _finding(put: Put, line: int, kind: str, said: str) -> Finding:
    return Finding(put.path, line, kind, f"{said}, in commit {put.commit[:9]}")
