"""C2: a summary that takes its time. What was edited meanwhile is never overwritten; all of it is done, or nothing."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from atlas import compaction, upkeep
from atlas.digest import digest
from atlas.engine import MemoryEngine
from atlas.ingest import Request

TURNS = [
    "Ana: Hey Ben! How was the long weekend with everybody? I was thinking of you all the time.",
    "Ben: Wow, it was such a lovely time, thanks so much! We had so much fun together, it means the world to me.",
    "Ana: The gateway listens on port 5433. It is good to have that written down somewhere at last, is it not?",
    "Ben: Sounds good! That is a really great idea, and it makes such a difference when people write things down.",
    "Ana: Do not restart node A. Have a nice evening, and take good care of yourself until we see each other again!",
    "Ben: Great, thank you so much! It is so nice to have somebody around who thinks of all these little things.",
]
FACTS = ("port 5433", "Do not restart node A")
SECONDS = 5.0


@pytest.fixture
def session(vault, monkeypatch):
    """Six turns of a session two months ago, stored then; their paths."""
    began = datetime.now(UTC) - timedelta(days=60)
    with monkeypatch.context() as then:
        then.setenv("ATLAS_NOW", began.isoformat())
        store(vault, began)
    return [card.path for card in cards(vault.engine)]


def store(vault, began):
    vault.engine.ingest_many(
        Request(text, kind="episode", source=f"talk/1#{n}", created=began + timedelta(minutes=n), whole=True)
        for n, text in enumerate(TURNS)
    )


def cards(engine):
    with engine._catalog() as catalog:
        return [card for card in catalog.cards() if card.kind == "episode"]


def summaries(engine):
    return [memory for card in cards(engine) if "derived_from" in (memory := engine.expand(card.path)).meta]


class Slow:
    """A summariser of five seconds that says when it has begun."""

    def __init__(self, seconds=SECONDS):
        self.begun, self.seconds = threading.Event(), seconds

    def __call__(self, said, room):
        self.begun.set()
        time.sleep(self.seconds)
        return digest(said, room)


def maintained(vault, monkeypatch, slow, meanwhile):
    """Upkeep with that summariser, in a thread, and what happens while it thinks."""
    monkeypatch.setattr(upkeep, "TASKS", {"compact": upkeep.Task(partial(compaction.plan, summarise=slow))})
    ran = []
    with MemoryEngine(vault.root, create=False) as other:
        thread = threading.Thread(target=lambda: ran.extend(other.maintain(all_tasks=True)))
        thread.start()
        assert slow.begun.wait(60)
        began = time.monotonic()
        meanwhile()
        took = time.monotonic() - began
        thread.join(60)
    return ran, took


def test_c2_undisturbed_it_is_one_commit_and_found_by_then(vault, session, monkeypatch):
    (ran,), _ = maintained(vault, monkeypatch, Slow(0), lambda: None)
    (summary,) = summaries(vault.engine)
    assert len(summary.meta["derived_from"]) == len(TURNS)
    assert all(fact in summary.detail or fact in summary.summary for fact in FACTS)
    assert summary.meta["source"] == "talk/1"
    paths = vault.git("show", "--name-status", "--format=", "--no-renames", ran.commit)
    assert f"A\t{summary.path}" in paths
    assert all(path in paths for path in session), "the sources step down in the same commit"
    assert summary.id in [hit.id for hit in vault.hits("port 5433")]
    assert vault.engine.maintain(all_tasks=True) == [], "nothing is summarised twice"
    vault.engine.undo(ran.commit)
    assert sorted(card.path for card in cards(vault.engine)) == sorted(session)
    vault.holds()


def test_c2_edited_deleted_added_meanwhile(vault, session, monkeypatch):
    edited, deleted = vault.root / session[0], vault.root / session[1]

    def meanwhile():
        edited.write_text(edited.read_text() + "\nAdded by hand: the key lies under the mat.\n")
        deleted.unlink()
        vault.engine.ingest("A new note: the boiler was repaired.", kind="episode")

    before = {path: (vault.root / path).read_bytes() for path in session[2:]}
    (ran,), took = maintained(vault, monkeypatch, Slow(), meanwhile)
    assert took < SECONDS - 1, "who writes does not wait for a summary"
    assert not ran.commit
    assert "left out, edited meanwhile" in ran.note
    assert "the key lies under the mat" in edited.read_text()
    assert not deleted.exists()
    assert {path: (vault.root / path).read_bytes() for path in session[2:]} == before
    assert summaries(vault.engine) == []
    assert vault.first("boiler repaired")
    vault.sound(vault.root)


_KILLED = """
import os, sys, threading, time
from functools import partial
from atlas import compaction, upkeep
from atlas.digest import digest
from atlas.engine import MemoryEngine
from atlas import vault as files

def summarise(said, room):
    if sys.argv[1] == "thinking":
        os.kill(os.getpid(), 9)
    return digest(said, room)

wrote = []
def write(*args, real=files.write):
    if len(wrote) == 3:
        os.kill(os.getpid(), 9)
    wrote.append(args)
    return real(*args)

if sys.argv[1] == "writing":
    files.write = write
upkeep.TASKS = {"compact": upkeep.Task(partial(compaction.plan, summarise=summarise))}
with MemoryEngine(".", create=False) as engine:
    engine.maintain(all_tasks=True)
"""


@pytest.mark.parametrize("when", ["thinking", "writing"])
def test_c2_killed_half_way(vault, session, when):
    before = {path: (vault.root / path).read_bytes() for path in session}
    assert vault.script(_KILLED, when).code == -9
    with MemoryEngine(vault.root, create=False) as engine:
        engine.ingest("The next writer tidies up.")
        made = summaries(engine)
        if when == "thinking":
            assert made == []
            assert {path: (vault.root / path).read_bytes() for path in session} == before
        else:
            assert len(made) == 1
            assert len(made[0].meta["derived_from"]) == len(TURNS)
            assert not any(
                (vault.root / path).exists() and (vault.root / path).read_bytes() == before[path] for path in session
            )
        assert engine.search("gateway listens on port 5433").hits
    assert vault.git("status", "--porcelain", "--", "memories", "archive") == ""
    vault.sound(vault.root)
