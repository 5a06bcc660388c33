"""The index is a function of the folder and of Git, whatever happened on the way to it.

A person at the keyboard, Git, Atlas, kills and damage take turns at random; after every such story the index that was
kept up change by change equals one built from nothing, and every engine that lived through it answers alike.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import children
import pytest
import same
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from atlas import index
from atlas.engine import MemoryEngine
from atlas.errors import NotFound, NotText, Unparsable

#: More stories than the suite has time for: `ATLAS_STORIES=500 pytest tests/laws`.
STORIES = int(os.environ.get("ATLAS_STORIES", "12"))

PATHS = ("a.md", "b.md", "sub/c.md", "sub/deep note.md", "réunion.md", "zebra-2.md", "over/there.markdown")
TEXTS = (
    b"",
    b"Just a line about the heron and the boiler.\n",
    b"# Boiler\n\nPressure was 2 bar; valve 7 was replaced.\n",
    b"---\nid: 01J00000000000000000000001\ntags: [alpha, beta/gamma]\nkind: decision\n---\n# Sub note\n\nZebras.\n",
    b"---\nid: 01J00000000000000000000002\ncreated: 2026-05-01\n---\nThe second, with [[Boiler]] and #inline tag.\n",
    b"---\r\ntitle: Windows\r\n---\r\nSaved with CRLF, valve 9.\r\n",
    b"---\ntitle: [broken\n---\nThis metadata does not parse, the heron does.\n",
    "Réunion sur la pression. 设备清单与备份计划。\n".encode(),
    b"\x00\x01\xff binary \x00",
    b"# One\n\nfirst alpha\n\n## Two\n\nsecond boiler\n\n### Three\n\n" + b"pressure and heron again. " * 120,
    b"caf\xe9 valve\n",
    b"---\naliases: [Valve]\nsuperseded_by: '[[c]]'\n---\n# Heron\n\nSee [it](../sub/c.md), ![[R\xc3\xa9union]].\n",
)
SAYINGS = (
    "The boiler valve was replaced on Monday because the pressure fell.",
    "I prefer the heron gate code over the zebra one.",
    "JWT refresh token race condition; decided to use a sliding window.",
    "备份 of the devices is kept in the shared folder.",
)
#: Where a process dies while it writes or indexes.
DEATHS = (
    "after atlas.pending:note",
    "before atlas.vault:_replace",
    "before atlas.vault:_create",
    "before atlas.vault:_sync_folder",
    "before atlas.commits:_commit_object",
    "before atlas.commits:_move",
    "after atlas.commits:_move",
    "before atlas.pending:fulfilled",
    "before atlas.hand:Hand._refreshed",
    "after atlas.vectors:append",
    "before atlas.index:Refresh._commit_listing",
    "before atlas.index:assign_identities",
    "before atlas.index:tidy",
    "before atlas.store:Store.publish",
    "before atlas.store:Store._detach",
)


@pytest.fixture(scope="module")
def seed_vault(tmp_path_factory):
    """A vault under Git with an identity and two notes; each story begins with a copy of it."""
    root = tmp_path_factory.mktemp("seed") / "vault"
    with MemoryEngine(root):
        pass
    for words in (("user.name", "Ada Example"), ("user.email", "ada@example.test"), ("gc.auto", "0")):
        subprocess.run(["git", "config", *words], cwd=root, check=True)
    (root / "a.md").write_bytes(TEXTS[2])
    (root / "sub").mkdir()
    (root / "sub" / "c.md").write_bytes(TEXTS[1])
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qm", "start"], cwd=root, check=True)
    return root


def write_and_die(root: str, verb: str, word: str) -> None:
    """What a process does when it is killed: one verb on the vault."""
    with MemoryEngine(root, create=False, resident=False) as engine:
        if verb == "refresh":
            engine.refresh(full=True)
        elif verb == "rebuild":
            engine.refresh(rebuild=True)
        elif verb == "ingest":
            engine.ingest(word)
        else:
            engine.append(word, "A paragraph that may not arrive.")


class Story(RuleBasedStateMachine):
    """One vault, two engines that live long, and all that happens to them."""

    seed: Path

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "vault"
        shutil.copytree(self.seed, self.root)
        # So few notes would never be tidied up otherwise.
        self.patch = pytest.MonkeyPatch()
        for name, value in {"_DEAD_FLOOR": 2, "_DEAD_FACTOR": 1, "_UNSORTED_FLOOR": 10}.items():
            self.patch.setattr(index, name, value)
        self.writer = MemoryEngine(self.root, create=False)
        self.reader = MemoryEngine(self.root, create=False)
        self.branches = 0

    def teardown(self) -> None:
        if hasattr(self, "root"):
            try:
                same.check(self.root, self.reader, self.writer)
            finally:
                self.writer.close()
                self.reader.close()
                self.patch.undo()
                shutil.rmtree(self.folder)

    def git(self, *words: str) -> bool:
        """Git as a person runs it; it may refuse."""
        return subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=False).returncode == 0

    def notes(self) -> list[str]:
        """The notes that are there now."""
        return sorted(
            os.fsdecode(place.relative_to(self.root))
            for place in self.root.rglob("*")
            if place.suffix in {".md", ".markdown"} and ".git" not in place.parts and ".atlas" not in place.parts
        )

    def pick(self, number: int) -> str:
        there = self.notes()
        return there[number % len(there)]

    # ------------------------------------------------------------ a person

    @rule(path=st.sampled_from(PATHS), text=st.sampled_from(TEXTS))
    def save(self, path: str, text: bytes) -> None:
        place = self.root / path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(text)

    @precondition(lambda self: self.notes())
    @rule(number=st.integers(0, 99), word=st.sampled_from([b"alpha", b"omega", b"heron"]))
    def edit_in_place(self, number: int, word: bytes) -> None:
        """The same size as before, within the same tick of the clock: only the content tells."""
        place = self.root / self.pick(number)
        data = place.read_bytes()
        place.write_bytes(word + data[len(word) :])

    @precondition(lambda self: self.notes())
    @rule(number=st.integers(0, 99), to=st.sampled_from(PATHS), with_git=st.booleans())
    def move(self, number: int, to: str, with_git: bool) -> None:
        place = self.root / to
        old = self.pick(number)
        if place.exists():
            return
        place.parent.mkdir(exist_ok=True)
        if not (with_git and self.git("mv", old, to)):
            (self.root / old).rename(place)

    @precondition(lambda self: self.notes())
    @rule(number=st.integers(0, 99))
    def delete(self, number: int) -> None:
        (self.root / self.pick(number)).unlink()

    @rule(away=st.booleans())
    def move_folder(self, away: bool) -> None:
        one, two = self.root / "sub", self.root / "over"
        if away and one.is_dir() and not two.exists():
            one.rename(two)
        elif two.is_dir() and not one.exists():
            two.rename(one)

    # ------------------------------------------------------------ Git

    @rule()
    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "by hand")

    @rule(new=st.booleans(), number=st.integers(0, 9))
    def switch(self, new: bool, number: int) -> None:
        if new:
            self.branches += 1
            self.git("switch", "-qc", f"b{self.branches}")
        else:
            self.commit()
            self.git("switch", "-q", f"b{number % self.branches + 1}" if self.branches and number else "main")

    @precondition(lambda self: self.branches)
    @rule(number=st.integers(0, 9), side=st.sampled_from(["ours", "theirs"]))
    def merge(self, number: int, side: str) -> None:
        self.commit()
        other = f"b{number % self.branches + 1}" if number else "main"
        if not self.git("merge", "-q", "--no-edit", "-X", side, other):
            self.git("merge", "--abort")

    @rule()
    def reset(self) -> None:
        """The last commit is taken back, its changes stay: HEAD moves to a commit that was there before."""
        self.git("reset", "-q", "HEAD~1")

    # ------------------------------------------------------------ Atlas

    @rule(text=st.sampled_from(SAYINGS), tail=st.integers(0, 3))
    def ingest(self, text: str, tail: int) -> None:
        self.writer.ingest(f"{text} Case {tail}." if tail else text)

    @precondition(lambda self: self.notes())
    @rule(number=st.integers(0, 99), tag=st.sampled_from(["alpha", "new/tag"]))
    def tag(self, number: int, tag: str) -> None:
        with suppress(NotText, Unparsable, NotFound):  # a binary file is no memory, and damaged metadata stays
            self.writer.tag(self.pick(number), [tag])

    @rule(query=st.sampled_from(same.QUERIES))
    def search(self, query: str) -> None:
        self.reader.search(query)

    @rule(full=st.booleans())
    def refresh(self, full: bool) -> None:
        self.writer.refresh(full=full)

    @rule()
    def reopen(self) -> None:
        self.reader.close()
        self.reader = MemoryEngine(self.root, create=False)

    # ------------------------------------------------------------ bad luck

    @precondition(lambda self: self.notes())
    @rule(
        death=st.sampled_from(DEATHS),
        verb=st.sampled_from(["refresh", "rebuild", "ingest", "append"]),
        number=st.integers(0, 99),
        saying=st.sampled_from(SAYINGS),
    )
    def kill(self, death: str, verb: str, number: int, saying: str) -> None:
        word = saying if verb == "ingest" else self.pick(number)
        child = children.start(write_and_die, str(self.root), verb, word, dies=death)
        child.process.join(60)
        assert child.process.exitcode in (0, -9)

    @rule(what=st.sampled_from(["vectors-*.f32", "index.duckdb", "generation"]))
    def lose(self, what: str) -> None:
        for place in (self.root / ".atlas").glob(what):
            place.unlink()

    @rule(what=st.sampled_from(["vectors-*.f32", "index.duckdb"]))
    def cut(self, what: str) -> None:
        """As after a restored backup: another file of that name, and only half of it."""
        for place in (self.root / ".atlas").glob(what):
            half = place.with_name("half")
            half.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
            half.replace(place)
        with MemoryEngine(self.root, create=False, resident=False) as somebody:
            somebody._index._store.examine()  # as after the first search that met it

    @invariant()
    def names_nothing_twice(self) -> None:
        """No temporary file is ever taken for a note."""
        if hasattr(self, "root"):
            assert not [name for name in self.notes() if ".atlas-tmp" in name]


def test_kept_up_or_built_anew(seed_vault):
    Story.seed = seed_vault
    case = Story.TestCase
    case.settings = settings(
        max_examples=STORIES, stateful_step_count=14, deadline=None, database=None, print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )  # fmt: skip
    case("runTest").runTest()
