"""Erasing a memory for good: what that takes, and doing it. What then holds it still is looked for by `proof`.

    find every version ──► a commit without it ──► history without it ──► reflogs, `gc` ──► derived files

The case (what is to go, as digests) is kept in `.atlas/purge.json` from before the first step until after the last. A
kill in between leaves a vault that reads and writes as ever, and the next purge goes on from there: each step does what
is left of it, and nothing where nothing is left.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from atlas import kept, markdown, objects, rewriting, tombstones, transcripts, usage, vault, versions
from atlas.config import Config
from atlas.errors import GitRefused, NotText
from atlas.git import Repository
from atlas.memory import Change
from atlas.paths import is_record
from atlas.receipt import Quote
from atlas.rewriting import Rewriter, Rewritten, Without
from atlas.source import decode, encode
from atlas.survey import blob_id
from atlas.traces import Traces
from atlas.versions import Past, Versions

_FILE = "purge.json"
#: Which memories are in which group (see `communities`): their ids, and names drawn from them.
_GROUPS = "communities.json"
_HOURS = 6 * 3600.0
_HUB = re.compile(r"clusters/[^/]+\.md", re.IGNORECASE)
_BLOCK = re.compile(r"<!-- atlas:([\w-]+) -->.*?<!-- /atlas:\1 -->", re.DOTALL)
_TARGET = re.compile(r"\[\[([^\]|#]+)")
_TRAILER = re.compile(r"(Atlas-[A-Za-z-]+: ).*")
#: Metadata that says what a memory is, not what it says.
_FACTS = frozenset(
    {
        *("id", "kind", "tags", "created", "updated", "importance", "pinned", "tier", "scope", "trust"),
        *("valid_from", "valid_to", "recorded_at", "supersedes", "superseded_by", "derived_from"),
        *("full", "forgotten", "rung", "digest", "source", "entities"),
    }
)
#: Never expire the log of stashes: all but the newest are named nowhere else.
_LOGS = (
    "-c", "gc.reflogExpire=now", "-c", "gc.reflogExpireUnreachable=now",
    "-c", "gc.refs/stash.reflogExpire=never", "-c", "gc.refs/stash.reflogExpireUnreachable=never",
)  # fmt: skip
#: What Git leaves of operations that are over.
_HEADS = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")
_MESSAGES = ("COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG", "NOTES_EDITMSG", "description")
_LEFTOVERS = ("rr-cache", "lost-found", "filter-repo")


@dataclass(frozen=True)
class Case:
    """What is to go, as it may be kept on disk: digests of what it says, was called, where it lay.

    `shared` are the digests that other notes say too, in the blobs `sharers`; `leases` what remotes had when it began.
    """

    ids: tuple[str, ...]
    traces: Traces
    names: Traces
    marks: frozenset[str]
    blobs: tuple[str, ...]
    shared: frozenset[int] = frozenset()
    sharers: frozenset[str] = frozenset()
    quotes: tuple[Quote, ...] = ()
    leases: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """What stands for the ids where they would say too much."""
        return hashlib.sha256("\n".join(self.ids).encode()).hexdigest()[:12]

    def mark(self, *words: str) -> str:
        """A digest of a path, or of a version."""
        text = "\0".join(words).encode("utf-8", "surrogateescape")
        return hashlib.blake2b(text, key=self.traces.key, digest_size=12).hexdigest()

    def safe(self, path: str) -> str:
        """The path, or what stands for it where its words say what the memory says."""
        said = self.traces.said(path) or self.names.said(path)
        return f"(a file with words of it in its name: {self.mark(path)[:8]})" if said else path

    # ------------------------------------------------- what others say of it

    def said(self, lines: Sequence[str]) -> Sequence[str]:
        """The lines of a message without what they say of it."""
        about = any(id in line for line in lines for id in self.ids)
        held = [self._holds(line, about=about) for line in lines]
        if not any(held):
            return lines
        return [self._unsaid(line) if bad else self._nameless(line) for line, bad in zip(lines, held, strict=True)]

    def _holds(self, line: str, *, about: bool) -> bool:
        said = self.traces.said(line)
        return bool(said or self.names.said(line)) if about else bool(said - self.shared)

    def _unsaid(self, line: str) -> str:
        trailer = _TRAILER.fullmatch(line)
        return f"{trailer[1]}purged {self.digest}" if trailer else f"Purged {self.digest}"

    def _nameless(self, line: str) -> str:
        for id in self.ids:
            line = line.replace(id, f"purged-{self.digest}")
        return line

    def edit(self, path: str, data: bytes) -> bytes:
        """A file of Atlas's without the lines about it. `path` is relative to the vault."""
        if is_record(path):
            wanted = [json.dumps(id).encode() for id in self.ids]
            return b"".join(line for line in data.splitlines(keepends=True) if not any(id in line for id in wanted))
        try:
            source = decode(data)
        except NotText:
            return data
        text = _BLOCK.sub(lambda block: "".join(self._lines(block.group())), source.text)
        return data if text == source.text else encode(source, text)

    def _lines(self, block: str) -> Iterator[str]:
        for line in block.splitlines(keepends=True):
            linked = any(self.mark(target.strip()) in self.marks for target in _TARGET.findall(line))
            if not linked and not self.traces.said(line) - self.shared:
                yield line

    # --------------------------------------------------------------- on disk

    def save(self, config: Config) -> None:
        """Keep it until the purge is over."""
        state = {
            "ids": self.ids, "traces": self.traces.state(), "names": self.names.state(), "marks": sorted(self.marks),
            "blobs": self.blobs, "shared": [f"{x:x}" for x in sorted(self.shared)], "sharers": sorted(self.sharers),
            "quotes": [[one.path, one.runs, one.derived] for one in self.quotes], "leases": dict(self.leases),
        }  # fmt: skip
        vault.write_elsewhere(config.state / _FILE, json.dumps(state).encode())


def unfinished(config: Config) -> Case | None:
    """The case of a purge that was killed, None if there is none."""
    try:
        state: dict[str, Any] = json.loads((config.state / _FILE).read_bytes())
        return Case(
            ids=tuple(state["ids"]), traces=Traces.restored(state["traces"]), names=Traces.restored(state["names"]),
            marks=frozenset(state["marks"]), blobs=tuple(state["blobs"]),
            shared=frozenset(int(x, 16) for x in state["shared"]), sharers=frozenset(state["sharers"]),
            quotes=tuple(Quote(*one) for one in state["quotes"]), leases=state["leases"],
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None


def finished(config: Config) -> None:
    """Forget the case: its receipt exists."""
    (config.state / _FILE).unlink(missing_ok=True)


# ------------------------------------------------------------------ planning


def case(repo: Repository, past: Past, found: Versions, here: Iterable[bytes] = ()) -> Case:
    """The case against these versions of memories; reads every blob once, for who else says the same.

    `here` is what lies in the folder, which a filter (LFS, encryption) may keep out of the blobs.
    """
    every = {*found.contents.values(), *here}
    texts = [text for data in every for text in _texts(data)]
    called = [text for data in every for text in _called(data)]
    stems = [Path(path).stem for path in found.paths]
    bare = Case(
        ids=tuple(sorted(found.ids)),
        traces=Traces.gather([*texts, *called, *stems]),
        names=Traces.gather([*called, *stems], telling=False),
        marks=frozenset(),
        blobs=tuple(sorted(found.contents)),
    )
    own = [repo.own(path) or path for path in found.paths]
    targets = {target for path in own for target in (path, path.removesuffix(".md"), Path(path).stem)}
    marks = {bare.mark(*version) for version in found.found} | {bare.mark(target) for target in targets}
    return _shared(repo, past, replace(bare, marks=frozenset(marks)))


def _shared(repo: Repository, past: Past, told: Case) -> Case:
    """The case, with who else says some of the same."""
    paths = {blob: path for path, blob in past.steps if told.mark(path, blob) not in told.marks}
    shared = {run for path in set(paths.values()) for run in told.traces.said(path)}
    sharers: dict[str, frozenset[int]] = {}
    runs: dict[str, Quote] = {}
    for one, content in objects.read(repo, (o for o in past.objects if o.kind == "blob" and o.id in paths)):
        path = paths[one.id]
        data = told.edit(repo.own(path) or path, content) if is_edited(repo, path) else content
        said = told.traces.found(data)
        if said:
            sharers[objects.id_of(repo, "blob", data)] = said
            shared |= said
            derived = any(id in str(versions.meta(data).get("derived_from", "")) for id in told.ids)
            more = runs.get(path, Quote(path, 0))
            runs[path] = Quote(told.safe(path), max(more.runs, len(said)), derived or more.derived)
    leases = {ref.name: ref.id for ref in past.refs if ref.name.startswith("refs/remotes/")}
    quotes = tuple(sorted(runs.values(), key=lambda one: (not one.derived, -one.runs, one.path)))
    return replace(told, shared=frozenset(shared), sharers=frozenset(sharers), quotes=quotes, leases=leases)


def _called(data: bytes) -> Iterator[str]:
    """What a version is called."""
    try:
        note = markdown.parse(decode(data).text, "")
    except NotText:
        return
    yield note.title
    yield from (one for one in note.aliases if one)


def _texts(data: bytes) -> Iterator[str]:
    """What a version says: its body, and in its metadata what is not a fact about it."""
    try:
        note = markdown.parse(decode(data).text, "")
    except NotText:
        yield data.decode("utf-8", "replace")
        return
    yield note.body
    for key, value in note.meta.items():
        if key not in _FACTS:
            yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def is_edited(repo: Repository, full: str) -> bool:
    """Whether a file is one of Atlas's that may say something of a memory in a line: usage, tombstones, hub notes."""
    path = repo.own(full)
    if path is None:
        return False
    listed = is_record(path) and path.startswith((f"{usage.FOLDER}/", f"{tombstones.FOLDER}/"))
    return listed or bool(_HUB.fullmatch(path))


def ours(told: Case, past: Past) -> frozenset[versions.Version]:
    """The versions of a case that history still has."""
    return frozenset(version for version in past.steps if told.mark(*version) in told.marks)


# -------------------------------------------------------------------- doing


def removal(repo: Repository, told: Case, read: Callable[[str], bytes | None]) -> list[Change]:
    """What takes it out of the folder: its files, and what Atlas's own files say of it."""
    tree = repo.tree() if repo.head() else {}
    changes = []
    for path, blob in tree.items():
        data = read(path) if told.mark(repo.full(path), blob) in told.marks else None
        if data is not None:
            changes.append(Change(path, None, blob_id(data)))
        elif is_edited(repo, repo.full(path)) and (data := read(path)) is not None:
            new = told.edit(path, data)
            if new != data:
                changes.append(Change(path, new or None, blob_id(data)))
    return changes


def rewritten(repo: Repository, past: Past, told: Case, *, writes: bool) -> Rewritten:
    """History without it, beside the one there is."""
    without = Without(
        versions=ours(told, past),
        edited=lambda path: is_edited(repo, path),
        edit=lambda path, data: told.edit(repo.own(path) or path, data),
        said=told.said,
    )
    return Rewriter(repo, past, without, writes=writes).run()


def rewrite(repo: Repository, told: Case) -> Rewritten:
    """Put history without it in the place of the one there is; raises GitRefused, and then no ref has moved."""
    log = versions.stash_log(repo)
    past = versions.look(repo)
    done = rewritten(repo, past, told, writes=True)
    rewriting.check(repo, done, repo.head())
    rewriting.move(repo, done)
    rewriting.move_stashes(repo, log, done.commits, told.said)
    return done


def clean(repo: Repository, told: Case) -> None:
    """Let Git forget what nothing names any more."""
    folders = [repo.common_dir, *_worktree_folders(repo)]
    for folder in folders:
        for name in _HEADS:
            (folder / name).unlink(missing_ok=True)
        for name in _MESSAGES:
            _unlink_if(told, folder / name)
        for name in _LEFTOVERS:
            for file in (folder / name).rglob("*"):
                _unlink_if(told, file)
    repo.run(*_LOGS, "reflog", "expire", "--all", seconds=_HOURS)
    repo.call("update-index", "--clear-resolve-undo")
    info = repo.common_dir / "objects" / "info"
    (info / "commit-graph").unlink(missing_ok=True)
    shutil.rmtree(info / "commit-graphs", ignore_errors=True)
    repo.run(*_LOGS, "-c", "gc.bigPackThreshold=0", "gc", "--quiet", "--prune=now", seconds=_HOURS)


def _worktree_folders(repo: Repository) -> list[Path]:
    return [repo.git_dir, *(repo.common_dir / "worktrees").glob("*")]


def _unlink_if(told: Case, file: Path) -> None:
    if file.is_file() and (told.traces.found(file.read_bytes()) or told.names.found(file.read_bytes())):
        file.unlink()


def forget(config: Config, told: Case) -> None:
    """Remove what is derived and may hold it, but for the index, which its owner rebuilds. All sessions begin anew."""
    kept.renew(config)
    for file in (*config.state.glob("broken-*.duckdb*"), *config.state.glob("*.log"), config.state / _GROUPS):
        file.unlink(missing_ok=True)
    for file in config.state.rglob(f"{vault.TEMPORARY}*"):
        file.unlink(missing_ok=True)
    folder = config.state / "journal"
    for file in folder.glob("*.jsonl") if folder.is_dir() else ():
        _blanked(file, told.ids)
    transcripts.erase(config, lambda data: bool(told.traces.found(data) - told.shared))


def _blanked(file: Path, ids: Collection[str]) -> None:
    """Put spaces over each naming of an id: how far the journal was counted is kept as a number of bytes."""
    names = b"|".join(re.escape(json.dumps(id).encode()) for id in ids)
    entry = rb'(?:%s)(?::"[^"]*")?' % names
    with file.open("r+b") as stream:
        data = stream.read()
        for match in re.finditer(rb",%s|%s,?" % (entry, entry), data):
            stream.seek(match.start())
            stream.write(b" " * len(match.group()))


# ------------------------------------------------------------------ refusing


def refuse(repo: Repository, waiting: Sequence[str], told: Callable[[str, str], bool]) -> None:
    """Raise GitRefused, with the next step, where history must not be rewritten now.

    `told` says whether a blob at a path is a version of what is to go.
    """
    reason = repo.blocked() or _incomplete(repo) or _unsaved(repo, waiting) or _shared_with(repo, told)
    if reason:
        raise GitRefused("purge", reason)


def _incomplete(repo: Repository) -> str:
    git_dir = repo.common_dir
    if (git_dir / "shallow").exists():
        return "this is a shallow clone, without the whole history; run `git fetch --unshallow` first"
    if repo.call("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$").code == 0:
        return "this is a partial clone, which fetches what it lacks; purge in a whole clone"
    if (git_dir / "reftable").is_dir():
        return (
            "its refs are in the reftable format, which purge cannot move in one step; purge in a clone with ref files"
        )
    if repo.call("for-each-ref", "--count=1", "refs/replace").out or (git_dir / "info" / "grafts").exists():
        return "objects are replaced or grafted; run `git replace --delete` for each, or make it history, first"
    held = sorted(place.name for place in (git_dir / "objects" / "pack").glob("*.keep"))
    if held:
        return f"{held[0]} keeps a pack from being cleaned up; remove that file first"
    return ""


def _unsaved(repo: Repository, waiting: Sequence[str]) -> str:
    words = ("status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=all")
    if waiting or repo.run(*words) or repo.uncommitted():
        return "there is uncommitted work; commit it, or put it aside with `git stash -u`, first"
    return ""


def _shared_with(repo: Repository, told: Callable[[str, str], bool]) -> str:
    """Why another working tree stands in the way."""
    for folder, detached in other_worktrees(repo):
        if detached or not folder.is_dir():
            return f"the worktree {folder} has a detached HEAD or is gone; switch it to a branch or remove it first"
        other = Repository(folder, folder, repo.git_dir, repo.common_dir, "", repo.object_format)
        if other.run("status", "--porcelain=v1", "-z", "--untracked-files=no"):
            return f"the worktree {folder} has uncommitted work; commit it there first"
        if any(told(path, blob) for path, blob in other.tree().items()):
            return f"the worktree {folder} has the memory checked out; remove it there, or the worktree, first"
    return ""


def other_worktrees(repo: Repository) -> list[tuple[Path, bool]]:
    """The other working trees of the repository, and whether each has a detached HEAD."""
    found = []
    for block in repo.run("worktree", "list", "--porcelain", "-z").decode("utf-8", "surrogateescape").split("\0\0"):
        facts = [line for line in block.split("\0") if line]
        folder = next((line.removeprefix("worktree ") for line in facts if line.startswith("worktree ")), "")
        if folder and Path(folder).resolve() != repo.top and "bare" not in facts:
            found.append((Path(folder), "detached" in facts))
    return found
