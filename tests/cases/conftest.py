"""The vault every case begins with, and the six things that must hold after each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from atlas import template
from atlas.engine import MemoryEngine
from atlas.memory import Finding, Hit

PROJECT = Path(__file__).parents[2]

#: The three ordinary notes, and a question that finds each.
ORDINARY = {
    "garden.md": (
        "---\ntitle: Garden plan\ntags: [garden]\n---\nPlant the beans by the southern fence in May.\n",
        "beans",
    ),
    "kettle.md": ("# Kettle\n\nDescale the kettle with vinegar every month.\n", "vinegar"),
    "trips/harbour.md": (
        "# Harbour walk\n\nThe ferry to the lighthouse leaves at nine. See [[Kettle]].\n",
        "lighthouse",
    ),
}
#: One step may use this much: processor seconds, and bytes of memory.
MOST_SECONDS, MOST_MEMORY = 10.0, 500_000_000
#: No child hangs for longer, whatever the machine is doing.
PATIENCE = 120

#: All that is kept of every memory and passage, without the numbers that depend on the order of arrival.
_ROWS = """
SELECT l.path, l.ident, l.blob, l.problem, n.* EXCLUDE (note), c.seq, c.heading, c.line, c.text, c.words, c.vec >= 0,
  (SELECT list((term, tf) ORDER BY term) FROM postings p WHERE p.chunk = c.chunk)
FROM listing l LEFT JOIN notes n USING (note)
LEFT JOIN chunks c ON c.note = l.note OR c.chunk = l.name_chunk ORDER BY l.path, c.seq
"""
_MEASURED = """
import sys
from pathlib import Path
from atlas.engine import MemoryEngine
with MemoryEngine(".", create=False) as engine:
    engine.refresh(rebuild=True)
    engine.search("beans")
    engine.status()
status = Path("/proc/self/status")
peak = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")] if status.exists() else []
print(int(peak[0].split()[1]) * 1024 if peak else 0)
"""


@dataclass(frozen=True)
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on stdout; NaN and Infinity are no JSON."""
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@dataclass
class Vault:
    """A vault under Git with three ordinary notes committed, and a text of the user's half staged."""

    root: Path
    run_git: Callable[..., str]
    sound: Callable[[Path], None]
    left: dict[str, bytes] = field(default_factory=dict)
    staged: str = ""

    @cached_property
    def engine(self) -> MemoryEngine:
        """The engine a program would keep open while everything else happens."""
        return MemoryEngine(self.root, create=False)

    def git(self, *words: str) -> str:
        """Git, as the person at the keyboard runs it."""
        return self.run_git(self.root, *words)

    def commits(self, *paths: str) -> str:
        """Try to commit these files through the hooks; what Git and they said, "" when the commit was made."""
        words = ["git", "commit", "-qm", "by hand", "--", *paths]
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0 or done.stderr
        return done.stderr if done.returncode else ""

    def put(self, path: str, data: str | bytes) -> Path:
        """Save a file as an editor does; from now on these are its bytes."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        self.left[path] = data if isinstance(data, bytes) else data.encode()
        place.write_bytes(self.left[path])
        return place

    def drop(self, path: str) -> None:
        """Delete a file by hand."""
        (self.root / path).unlink()
        del self.left[path]

    def commit(self, *paths: str) -> None:
        """Commit these files by hand, and nothing that is staged besides."""
        self.git("add", "--", *paths)
        self.git("commit", "-qm", "by hand", "--", *paths)

    def stage(self, *paths: str) -> None:
        """Stage files, as part of what must stay staged."""
        self.git("add", "--", *paths)
        self.staged = self._staged()

    def accept(self, path: str) -> bytes:
        """The bytes of a file that Atlas was asked to change, which count as the user's from now on."""
        self.left[path] = (self.root / path).read_bytes()
        return self.left[path]

    def cli(self, *words: str, env: dict[str, str] | None = None) -> Ran:
        """`python -m atlas` in the vault's folder, in a process of its own."""
        return self._run("-m", "atlas", *words, env=env)

    def script(self, code: str, *words: str, env: dict[str, str] | None = None) -> Ran:
        """A Python program in the vault's folder, in a process of its own."""
        return self._run("-c", code, *words, env=env)

    def _run(self, *words: str, env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-P", *words],
            cwd=self.root,
            env={**os.environ, **(env or {}), "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err, err
        return Ran(done.returncode, out, err)

    def hits(self, query: str, **options: Any) -> tuple[Hit, ...]:
        """What a search finds, best first."""
        return self.engine.search(query, **options).hits

    def paths(self, query: str, **options: Any) -> list[str]:
        """The files a search finds, best first."""
        return [hit.path for hit in self.hits(query, **options)]

    def first(self, query: str, **options: Any) -> str:
        """The file a search finds first, or ""."""
        return next(iter(self.paths(query, **options)), "")

    def findings(self) -> list[Finding]:
        """Everything `status` has to say about files."""
        return list(self.engine.status()["findings"])

    def named(self) -> set[tuple[str, int, str]]:
        """The same as (path, line, kind)."""
        return {(f.path, f.line, f.kind) for f in self.findings()}

    # ------------------------------------------------------ what holds after every case

    def holds(self, said: Collection[tuple[str, int, str]] = (), *, queries: Collection[str] = ()) -> None:
        """All six checks. `said` is all that `status` has to name: (path, line, kind)."""
        self.b3_ordinary_notes_are_found()
        self.b4_nothing_is_silent(said)
        self.b2_index_equals_a_rebuilt_one([*queries, "beans, vinegar and the lighthouse"])
        self.b6_git_is_whole_and_staging_untouched()
        self.b1_files_are_as_they_were_left()

    def b1_files_are_as_they_were_left(self) -> None:
        """Every file has the bytes its editor left; what else lies here, Atlas was told to remember."""
        there = {os.fsdecode(place.relative_to(self.root)): place for place in self._files()}
        assert {path: there[path].read_bytes() for path in self.left} == self.left
        extra = {path for path in there if path not in self.left}
        assert {path for path in extra if "memories" not in Path(path).parts or not path.endswith(".md")} == set()

    def b2_index_equals_a_rebuilt_one(self, queries: Collection[str]) -> None:
        """The index kept up to date on the way equals one built from nothing over the same files (B5 on the way)."""
        copy = self.root.with_name(f"{self.root.name}-again")
        shutil.copytree(
            self.root, copy, symlinks=True, ignore=lambda d, _: {".atlas"} if Path(d) == self.root else set()
        )
        began = time.process_time()
        with MemoryEngine(copy, create=False) as again:
            rebuilt = _state(again, queries)
        assert time.process_time() - began < MOST_SECONDS
        shutil.rmtree(copy)
        kept, scores = _state(self.engine, queries)
        for name, value in kept.items():
            assert value == rebuilt[0][name]
        assert scores == pytest.approx(rebuilt[1], abs=1e-5)

    def b3_ordinary_notes_are_found(self) -> None:
        """One bad thing never blocks the rest."""
        assert {path: self.first(query) for path, (_, query) in ORDINARY.items()} == {path: path for path in ORDINARY}

    def b4_nothing_is_silent(self, said: Collection[tuple[str, int, str]]) -> None:
        """`status` names exactly these files, each with a line, a kind and a reason in words."""
        found = self.findings()
        assert {(f.path, f.line, f.kind) for f in found} == set(said)
        assert all(len(f.message.split()) > 2 for f in found)

    def b5_bounded(self) -> None:
        """A rebuild, a search and a status, in a process of their own, stay within the memory allowed."""
        done = self.script(_MEASURED)
        assert done.code == 0, done.err
        assert int(done.out) < MOST_MEMORY

    def b6_git_is_whole_and_staging_untouched(self) -> None:
        """The repository is whole, no lock or stash is left, and what was staged still is."""
        self.sound(self.root)
        assert self.git("stash", "list") == ""
        assert self._staged() == self.staged

    def _staged(self) -> str:
        return self.git("diff", "--cached", "--raw", "--no-abbrev", "-z")

    def _files(self) -> Iterator[Path]:
        for folder, names, files in os.walk(self.root):
            names[:] = [n for n in names if n not in {".git", ".atlas"} and not Path(folder, n).is_symlink()]
            yield from (Path(folder, name) for name in files if not Path(folder, name).is_symlink())


def _state(engine: MemoryEngine, queries: Collection[str]) -> tuple[dict[str, Any], list[float]]:
    """All an index says: rows, findings, names, the answers to some questions; and the scores of these."""
    with engine._index.reader() as reader:
        rows = reader.con.execute(_ROWS).fetchall()
    found = {query: engine.search(query).hits for query in queries}
    status = engine.status()
    return {
        "rows": rows,
        "status": [status[key] for key in ("memories", "findings", "uncommitted")],
        "hits": {q: [(h.id, h.path, h.label, h.line, h.heading, h.text) for h in hits] for q, hits in found.items()},
        "clusters": engine.clusters(),
    }, [h.score for hits in found.values() for h in hits]


@pytest.fixture
def vault(tmp_path, make_repo, git, sound) -> Iterator[Vault]:
    """`$V` of the cases: a repository with an identity, Atlas initialised, three ordinary notes committed."""
    root = make_repo(tmp_path / "vault")
    template.create(root)
    made = Vault(root, git, sound)
    made.left = {place.name: place.read_bytes() for place in root.iterdir() if place.is_file()}
    for path, (text, _) in ORDINARY.items():
        made.put(path, text)
    made.commit(*ORDINARY)
    made.put("shopping.txt", "eggs\n")
    made.stage("shopping.txt")
    made.put("shopping.txt", "eggs\nmilk\n")
    yield made
    made.engine.close()
