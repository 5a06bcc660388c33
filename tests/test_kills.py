"""kill -9 at random moments of indexing and remembering: nothing is torn, nothing said to be stored is lost.

`ATLAS_KILLS=50 pytest tests/test_kills.py` kills more often; `ATLAS_SEED` repeats the moments of another run.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import children
import pytest
import same

from atlas import template
from atlas.engine import MemoryEngine

KILLS = int(os.environ.get("ATLAS_KILLS", "12"))
SEED = int(os.environ.get("ATLAS_SEED", "2026"))
NOTES = 120
VERBS = ("rebuild", "refresh", "ingest")
#: No victim lives longer than this, in seconds; each of the verbs takes about as long.
LONGEST = 0.7


def toil(root: str, verb: str, turn: int, told: str) -> None:
    """What the victim does over and over; what it is told to be stored, it writes down."""
    with MemoryEngine(root, create=False, resident=False) as engine, Path(told).open("a") as said:
        said.write("ready\n")
        said.flush()
        for n in range(1000):
            if verb == "rebuild":
                engine.refresh(rebuild=True)
            elif verb == "refresh":
                Path(root, f"turn-{turn}.md").write_text(f"# Turn {turn}\n\nThe heron came back {n} times.\n")
                engine.refresh(full=True)
            else:
                stored = engine.ingest(sentence(turn, n))
                said.write(f"{stored.memories[0].path}\n")
                said.flush()


def sentence(turn: int, number: int) -> str:
    return f"In turn {turn} the gauge {number} read {turn * 1000 + number} millibar, and so it ends whole."


@pytest.fixture
def vault(repo, git):
    """A vault with enough notes for an index to take a while."""
    template.create(repo)
    for n in range(NOTES):
        place = repo / f"part-{n % 7}" / f"note {n}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(
            f"# Note {n}\n\nThe boiler of house {n} holds {n % 9} bar.\n\n## More\n\n" + f"valve {n} " * 40
        )
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "notes")
    return repo


def strike(vault: Path, verb: str, turn: int, seconds: float, told: Path) -> None:
    """Start a victim, wait until it works, and kill it so much later."""
    child = children.start(toil, str(vault), verb, turn, str(told))
    until = time.monotonic() + 60
    while not (told.exists() and told.stat().st_size):
        assert time.monotonic() < until
        time.sleep(0.005)
    time.sleep(seconds)
    child.kill()
    assert child.process.exitcode == -9
    time.sleep(0.1)  # what Git itself had begun comes to its end


def check_files(vault: Path, git, before: dict[Path, bytes]) -> None:
    """No note of a person's changed, no memory is torn, the repository is whole, and no lock is left."""
    assert {place: place.read_bytes() for place in before} == before
    for place in (vault / "memories").rglob("*.md"):
        text = place.read_text()
        assert text.startswith("---\nid: "), place
        assert text.rstrip().endswith("and so it ends whole."), place
    assert "error" not in git(vault, "fsck", "--no-dangling")
    assert list((vault / ".git").rglob("*.lock")) == []


def test_killed_at_random_moments(vault, git, sound, tmp_path):
    chance = random.Random(SEED)
    before = {place: place.read_bytes() for place in vault.rglob("note *.md")}
    assert len(before) == NOTES
    told: list[Path] = []
    with MemoryEngine(vault, create=False) as engine:
        engine.refresh()
        for turn in range(KILLS):
            verb, seconds = VERBS[turn % len(VERBS)], chance.uniform(0, LONGEST)
            told.append(tmp_path / f"told-{turn}")
            strike(vault, verb, turn, seconds, told[-1])
            check_files(vault, git, before)
            if turn % 4 == 3 or turn == KILLS - 1:
                same.check(vault, engine, queries=["heron came back", "gauge millibar", "boiler of house 77"])
            else:
                assert engine.retrieve("boiler of house 77")[0].path == "part-0/note 77.md"
        stored = [vault / line for file in told for line in file.read_text().split("\n")[1:-1]]
        engine.ingest("One more, so that what the killed had begun comes to its end: and so it ends whole.")
        assert engine.status()["waiting"] == []
    assert all(place.exists() for place in stored)
    assert git(vault, "status", "--porcelain", "--", "memories") == ""
    texts = [place.read_text().split("---\n")[2] for place in (vault / "memories").rglob("*.md")]
    assert len(texts) == len(set(texts)) >= len(stored)
    assert not [*vault.rglob(".atlas-tmp-*"), *(vault / ".atlas" / "pending").iterdir()]
    assert not list((vault / ".atlas").glob("*.new*"))
    subprocess.run(["git", "gc", "-q"], cwd=vault, check=True)
    sound(vault)
