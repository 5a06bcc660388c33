"""History written anew without some versions of files: every object that held one, and nothing beside.

    blobs ──► trees ──► commits ──► tags, notes ──► refs, in one step
    left out   without   on those     that name
    or edited  them      trees        those commits

Object by object, on their bytes: what is not concerned keeps its id, its dates, its encoding and its signature. A
stream through `git fast-export` (which git-filter-repo filters) loses every signature and re-encodes messages, and so
gives new ids to commits that have nothing to do with what is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from atlas import objects
from atlas.errors import GitRefused
from atlas.git import Repository, raw
from atlas.objects import FOLDER, PLAIN, Node, Object, Writer
from atlas.vault import write_elsewhere
from atlas.versions import NOTES, Past, Ref, Version, stash_log

_HOURS = 6 * 3600.0
_ID = re.compile(rb"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
#: Headers of a commit that vouch for what is no longer so.
_SIGNATURES = (b"gpgsig", b"gpgsig-sha256", b"mergetag")
_SIGNED = re.compile(rb"^-----BEGIN [A-Z ]*SIGN[A-Z ]*-----$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Without:
    """What is to be left out: `versions` of files; what other files and messages say of them.

    `edit` gives the bytes of a file without it, for the paths that `edited` says yes to; `said` the lines of a message.
    """

    versions: frozenset[Version]
    edited: Callable[[str], bool]
    edit: Callable[[str, bytes], bytes]
    said: Callable[[Sequence[str]], Sequence[str]]


@dataclass
class Rewritten:
    """What became of the commits, tags and refs: old id → new id of those that changed; refs that are to move."""

    commits: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    refs: dict[Ref, str] = field(default_factory=dict)
    signatures: int = 0
    stashes: int = 0


class Rewriter:
    """Makes the objects of the new history beside the old. No ref moves before `move`."""

    def __init__(self, repo: Repository, past: Past, without: Without, *, writes: bool = True) -> None:
        self._repo, self._past, self._without = repo, past, without
        self._writer = Writer(repo, writes=writes)
        self._known = {one.id: one for one in past.objects}
        self._trees: dict[tuple[str, str], str] = {}
        self._edits: dict[tuple[str, str], str] = {}
        listed = {blob for path, blob in past.steps if without.edited(path)}
        self._listed = {one.id: data for one, data in objects.read(repo, self._objects(listed))}
        self._touched = self._touching()
        self._data = {one.id: data for one, data in objects.read(repo, self._objects(self._touched))}
        self.done = Rewritten()

    def run(self) -> Rewritten:
        """Write all new objects; what became of what."""
        refs = [ref for ref in self._past.refs if not ref.name.startswith(NOTES)]
        notes = [ref for ref in self._past.refs if ref.name.startswith(NOTES)]
        self._commits([*(ref.id for ref in refs), *self._past.stashes], self._tree)
        for ref in refs:
            self.done.refs[ref] = self._target(ref.id)
        self._commits([ref.id for ref in notes], self._annotated)
        for ref in notes:
            self.done.refs[ref] = self._target(ref.id)
        self.done.refs = {ref: new for ref, new in self.done.refs.items() if new != ref.id}
        self.done.stashes = sum(id in self.done.commits for id in self._past.stashes)
        self._writer.flush()
        return self.done

    # ----------------------------------------------------------------- trees

    def _touching(self) -> set[str]:
        """The trees that hold, somewhere below, a version to be left out or a file to be edited."""
        blobs = {blob for _, blob in self._without.versions} | self._listed.keys()
        above: dict[str, set[str]] = defaultdict(set)
        found: list[str] = []
        for one, data in objects.read(self._repo, (o for o in self._past.objects if o.kind == "tree")):
            nodes = objects.entries(self._repo, data)
            for node in nodes:
                if node.mode == FOLDER:
                    above[node.id].add(one.id)
            if any(node.id in blobs for node in nodes):
                found.append(one.id)
        touched: set[str] = set()
        while found:
            tree = found.pop()
            if tree not in touched:
                touched.add(tree)
                found += above[tree]
        return touched

    def _objects(self, ids: Collection[str]) -> list[Object]:
        return [one for one in self._past.objects if one.id in ids]

    def _tree(self, id: str, prefix: str = "") -> str:
        """The tree without what is to be left out; "" if nothing is left of it."""
        if id not in self._touched:
            return id
        key = id, prefix
        if key not in self._trees:
            nodes = objects.entries(self._repo, self._data[id])
            kept = [new for node in nodes if (new := self._node(node, prefix)) is not None]
            same = kept == nodes
            self._trees[key] = (
                id if same else self._writer.put("tree", objects.tree(kept)) if kept or not prefix else ""
            )
        return self._trees[key]

    def _node(self, node: Node, prefix: str) -> Node | None:
        path = prefix + node.name.decode("utf-8", "surrogateescape")
        if node.mode == FOLDER:
            new = self._tree(node.id, path + "/")
            return node._replace(id=new) if new else None
        if (path, node.id) in self._without.versions:
            return None
        if not self._without.edited(path) or not node.mode.startswith("100"):
            return node
        new = self._edited(path, node.id)
        return node._replace(id=new) if new else None

    def _edited(self, path: str, blob: str) -> str:
        """The file without the lines that are to go; "" if none is left."""
        key = path, blob
        if key not in self._edits:
            data = self._listed[blob]
            new = self._without.edit(path, data)
            self._edits[key] = blob if new == data else self._writer.put("blob", new) if new else ""
        return self._edits[key]

    # --------------------------------------------------------------- commits

    def _commits(self, tips: list[str], tree: Callable[[str], str]) -> None:
        """All commits that lead to these, parents first."""
        ends = [id for tip in tips if (id := self._peeled(tip))]
        if not ends:
            return
        data = "".join(f"{id}\n" for id in ends).encode()
        words = ("rev-list", "--topo-order", "--reverse", "--stdin")
        order = self._repo.run(*words, data=data, env=PLAIN, seconds=_HOURS).decode().split()
        todo = [self._known[id] for id in order if id not in self.done.commits]
        for one, content in objects.read(self._repo, todo):
            new = self._commit(content, tree)
            if new != content:
                self.done.commits[one.id] = self._writer.put("commit", new)

    def _commit(self, content: bytes, tree: Callable[[str], str]) -> bytes:
        head, _, message = content.partition(b"\n\n")
        headers = re.split(rb"\n(?! )", head)
        encoding = next((h.split(b" ", 1)[1] for h in headers if h.startswith(b"encoding ")), b"utf-8")
        new = [self._header(header, tree) for header in headers]
        text = self._message(message, encoding)
        if new == headers and text == message:
            return content
        self.done.signatures += any(header.startswith(b"gpgsig") for header in headers)
        new = [header for header in new if header.partition(b" ")[0] not in _SIGNATURES]
        return b"\n".join(new) + b"\n\n" + self._renamed(text)

    def _header(self, header: bytes, tree: Callable[[str], str]) -> bytes:
        key, _, value = header.partition(b" ")
        if key == b"tree":
            return b"tree " + tree(value.decode()).encode()
        if key == b"parent":
            return b"parent " + self.done.commits.get(value.decode(), value.decode()).encode()
        return header

    def _message(self, message: bytes, encoding: bytes = b"utf-8") -> bytes:
        """The message without what it says of the memory, line by line; other lines keep their bytes."""
        try:
            b"".decode(name := encoding.decode("ascii"))
        except (LookupError, UnicodeDecodeError):
            name = "utf-8"
        lines = message.split(b"\n")
        texts = [line.decode(name, "replace") for line in lines]
        new = self._without.said(texts)
        pairs = zip(lines, texts, new, strict=True)
        return b"\n".join(line if text == now else now.encode(name, "replace") for line, text, now in pairs)

    def _renamed(self, message: bytes) -> bytes:
        """Commits that a message names, such as the one it reverts, by their new ids."""
        return _ID.sub(lambda m: self.done.commits.get(m.group().decode(), m.group().decode()).encode(), message)

    # ----------------------------------------------------------- tags, notes

    def _peeled(self, id: str) -> str:
        """The commit a ref's object leads to, "" if it is none."""
        one = self._known[id]
        while one.kind == "tag":
            one = self._known[self._tagged(one)]
        return one.id if one.kind == "commit" else ""

    def _tagged(self, tag: Object) -> str:
        ((_, data),) = objects.read(self._repo, [tag])
        return data.split(b"\n", 1)[0].removeprefix(b"object ").decode()

    def _target(self, id: str) -> str:
        """What a ref to this object is to name; "" if nothing is left of it."""
        one = self._known[id]
        if one.kind == "commit":
            return self.done.commits.get(id, id)
        if one.kind == "tree":
            return self._tree(id)
        if one.kind == "blob":
            return "" if id in {blob for _, blob in self._without.versions} else id
        if id not in self.done.tags:
            self.done.tags[id] = self._tag(one)
        return self.done.tags[id]

    def _tag(self, tag: Object) -> str:
        ((_, data),) = objects.read(self._repo, [tag])
        head, _, message = data.partition(b"\n\n")
        first, _, rest = head.partition(b"\n")
        old = first.removeprefix(b"object ").decode()
        new, text = self._target(old), self._message(message)
        if (new, text) == (old, message):
            return tag.id
        if not new:
            return ""
        signed = _SIGNED.search(text)
        self.done.signatures += signed is not None
        text = text[: signed.start()] if signed else text
        return self._writer.put("tag", b"object %s\n%s\n\n%s" % (new.encode(), rest, text))

    def _annotated(self, id: str) -> str:
        """The tree of notes on commits: filed under the commits' new ids, without what they say of the memory."""
        key = id, NOTES
        if key not in self._trees:
            notes = self._notes(id, b"")
            kept = [Node(mode, self._filed(name), self._noted(blob)) for mode, name, blob in notes]
            self._trees[key] = id if kept == notes else self._writer.put("tree", objects.tree(kept))
        return self._trees[key]

    def _notes(self, id: str, above: bytes) -> list[Node]:
        """The notes of a tree. Git spreads many over folders, and reads them as well from one."""
        ((_, data),) = objects.read(self._repo, [self._known[id]])
        found: list[Node] = []
        for node in objects.entries(self._repo, data):
            if node.mode == FOLDER:
                found += self._notes(node.id, above + node.name)
            else:
                found.append(node._replace(name=above + node.name))
        return found

    def _filed(self, name: bytes) -> bytes:
        commit = name.decode("utf-8", "surrogateescape")
        return self.done.commits.get(commit, commit).encode("utf-8", "surrogateescape")

    def _noted(self, blob: str) -> str:
        data = dict(self._repo.blobs([blob])).get(blob, b"")
        new = self._message(data)
        return blob if new == data else self._writer.put("blob", new)


def check(repo: Repository, done: Rewritten, head: str) -> None:
    """Raise GitRefused unless the new history is whole and the branch checked out leads to the very same files."""
    new = done.commits.get(head, head)
    trees = repo.run("rev-parse", f"{head}^{{tree}}", f"{new}^{{tree}}", env=PLAIN).split()
    if trees[0] != trees[1]:
        raise GitRefused("leave the folder as it is while history is written anew", "nothing was changed")
    tips = [id for id in done.refs.values() if id]
    data = "".join(f"{id}\n" for id in [*tips, *done.commits.values()]).encode()
    if data:
        repo.run("rev-list", "--objects", "--quiet", "--stdin", data=data, env=PLAIN, seconds=_HOURS)


def move(repo: Repository, done: Rewritten) -> None:
    """Let every ref name what became of its object, all in one step, each only if nobody moved it meanwhile."""
    lines = []
    for ref, new in done.refs.items():
        words = f"update {ref.name}\0{new}\0{ref.id}\0" if new else f"delete {ref.name}\0{ref.id}\0"
        lines.append(raw(words))
    if lines:
        repo.run("update-ref", "--no-deref", "-z", "-m", "purge", "--stdin", data=b"".join(lines))


def move_stashes(
    repo: Repository, log: Sequence[str], commits: Mapping[str, str], said: Callable[[Sequence[str]], Sequence[str]]
) -> None:
    """Let Git's log of stashes name what became of each; `log` is how it was before the refs moved."""
    lines: list[str] = []
    last = ""
    for line in log:
        facts, tab, message = line.partition("\t")
        old, new, rest = facts.split(" ", 2)
        new = commits.get(new, new)
        if new != last:
            lines.append(f"{commits.get(old, old)} {new} {rest}{tab}{said([message])[0]}\n")
        last = new
    if lines and stash_log(repo):
        write_elsewhere(repo.common_dir / "logs" / "refs" / "stash", raw("".join(lines)))
