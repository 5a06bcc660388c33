"""Forgetting through the engine and the command line: one commit a run, and everything comes back."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import children
import pytest
from shell import atlas
from support import write

from atlas import MemoryEngine
from atlas.errors import GitRefused, Protected, Unavailable, UsageError
from atlas.ingest import Request

FIRST = datetime(2026, 1, 1, 9, tzinfo=UTC)
LONG = (
    "The heron nests in the reeds by the old mill since April.\n\nIts eggs are pale blue and there are four of them. "
    "The warden counted the nests along the whole river and wrote every one of them down in the green book.\n\n"
    "Nobody is to go nearer than fifty metres, not even to take photographs, until the young can fly in July. "
    "The path along the bank is closed on that account and a sign on the gate says which way to walk instead."
)
SHORT = "The ferry to the lighthouse leaves from the northern quay at nine, except on the days the tide is too low."


@pytest.fixture
def day(monkeypatch):
    """`day(n)`: it is so many days after the first."""

    def set_(n: float) -> str:
        now = (FIRST + timedelta(days=n)).isoformat()
        monkeypatch.setenv("ATLAS_NOW", now)
        return now

    set_(0)
    return set_


@pytest.fixture
def lived_in(engine, day):
    """A long and a short memory of the first day, and one more each week for twenty weeks."""
    engine.ingest_many([Request(LONG, kind="fact", whole=True), Request(SHORT, kind="fact")])
    live(engine, day, range(7, 141, 7))
    return engine


def live(engine, day, days) -> None:
    """Store a decision of each of these days: the vault is in use, and decisions last."""
    said = "Decided on day {0} that gauge {0} stays at {1} millibar whatever happens."
    made = [(FIRST + timedelta(days=n)).isoformat() for n in days]
    requests = [Request(said.format(n, n * 3), kind="decision", created=at) for n, at in zip(days, made, strict=True)]
    engine.ingest_many(requests)
    day(days[-1])


def named(root, word: str) -> str:
    """The path of the memory whose label begins with this word; a search would count as reading."""
    (place,) = (root / "memories").rglob(f"{word}*.md")
    return place.relative_to(root).as_posix()


def rungs(done) -> list[tuple[str, str]]:
    return sorted((row.was, row.to) for row in done.plan)


def head(root, git) -> str:
    return git(root, "rev-parse", "HEAD").strip()


def test_a_run_is_one_commit_that_says_why_and_is_taken_back(lived_in, root, git):
    tree = git(root, "rev-parse", "HEAD^{tree}")
    done = lived_in.forget()
    assert rungs(done) == [("L2", "L0"), ("L2", "L1")]
    assert done.applied.commit == head(root, git)
    message = git(root, "show", "-s", "--format=%B", "HEAD")
    assert message.startswith("Forget 2 memories\n")
    for trailer in (
        "Op: forget",
        "Reason: 1 to the summary, 1 to the label: low activity",
        "Policy: activity half_life=",
    ):
        assert f"Atlas-{trailer}" in message
    for row in done.plan:
        assert f"Atlas-Memory: {row.id}" in message
        assert next(e.op for e in lived_in.history(row.id)) == "forget"
    assert git(root, "status", "--porcelain") == ""
    lived_in.undo(done.applied.commit)
    assert git(root, "rev-parse", "HEAD^{tree}") == tree


def test_what_is_left_is_found_and_keeps_its_id(lived_in, root):
    ids = {row.was + row.to: row.id for row in lived_in.forget().plan}
    heron, ferry = lived_in.expand(ids["L2L1"]), lived_in.expand(ids["L2L0"])
    assert "photographs" not in heron.detail
    assert heron.summary
    assert heron.label.startswith("The heron nests")
    assert ferry.path.startswith("archive/2026/01/")
    assert ferry.detail.split() == ["#", *ferry.label.split()]
    assert lived_in.search("ferry lighthouse quay").hits[0].id == ferry.id
    assert lived_in.search("heron nests reeds").hits[0].id == heron.id


def test_all_the_way_down_and_all_the_way_back(lived_in, day, root, git):
    start = {path: (root / path).read_bytes() for path in git(root, "ls-files", "memories").split()}
    runs, seen, last = [], [], 130
    for n in (140, 200, 260, 320, 400, 480):
        live(lived_in, day, range(last + 10, n + 1, 10))
        last, done = n, lived_in.forget()
        if done.applied.committed:
            runs.append(done.applied.commit)
            seen.append(rungs(done))
    assert seen == [[("L2", "L0"), ("L2", "L1")], [("L0", "tombstone"), ("L1", "L0")], [("L0", "tombstone")]]
    assert len(list((root / "archive" / "tombstones").iterdir())) == 2
    assert not list((root / "archive").rglob("*.md"))
    for commit in reversed(runs):
        lived_in.undo(commit)
    assert {path: (root / path).read_bytes() for path in start} == start
    assert not list((root / "archive").rglob("*.*"))
    assert lived_in.search("photographs of the heron").hits[0].path in start


def test_what_was_brought_back_is_not_forgotten_again_the_next_day(lived_in, day, root):
    lived_in.undo(lived_in.forget().applied.commit)
    day(141)
    assert lived_in.forget().plan == ()
    live(lived_in, day, range(147, 350, 7))
    done = lived_in.forget()
    assert [row.inputs["accesses"] for row in done.plan] == [1, 1]
    lived_in.restore(done.plan[0].id)
    day(351)
    assert lived_in.forget().plan == ()


def test_nothing_is_forgotten_twice_in_a_row(lived_in, day):
    assert lived_in.forget().plan
    assert lived_in.forget().plan == ()
    day(150)
    assert lived_in.forget().plan == ()


def test_a_memory_that_is_read_stays(lived_in, day, root):
    heron = named(root, "the-heron")
    lived_in.expand(heron)
    day(146)
    assert rungs(lived_in.forget()) == [("L2", "L0")]
    assert (root / heron).is_file()


def test_a_dry_run_tells_the_numbers_and_writes_nothing(lived_in, root, git):
    before = head(root, git)
    done = lived_in.forget(dry_run=True)
    assert rungs(done) == [("L2", "L0"), ("L2", "L1")]
    assert (done.applied.paths, head(root, git), git(root, "status", "--porcelain")) == ((), before, "")
    inputs = done.plan[0].inputs
    assert (inputs["days"], inputs["accesses"], inputs["half_life"]) == (140.0, 0, 45)
    assert 0 < inputs["activity"] < 0.12


def test_what_a_person_wrote_or_edited_is_never_touched(lived_in, root, git):
    write(root, "notes/old.md", f"---\ncreated: 2026-01-01\nimportance: 0.05\n---\n# Old\n\n{LONG}\n")
    heron = named(root, "the-heron")
    place = root / heron
    place.write_bytes(place.read_bytes() + b"\nAnd a fifth egg.\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    assert rungs(lived_in.forget()) == [("L2", "L0")]
    with pytest.raises(Protected, match="a person wrote it"):
        lived_in.forget([heron])
    (root / "atlas.toml").write_text('[forget]\nfolders = ["notes/"]\n')
    with MemoryEngine(root) as engine:
        assert [row.path for row in engine.forget().plan] == ["notes/old.md"]


def test_what_is_being_edited_waits(lived_in, root):
    heron = named(root, "the-heron")
    place = root / heron
    mine = place.read_bytes() + b"\nHalf a sent"
    place.write_bytes(mine)
    assert rungs(lived_in.forget()) == [("L2", "L0")]
    assert place.read_bytes() == mine
    with pytest.raises(Protected, match="commit them first"):
        lived_in.forget([heron])


def test_a_named_memory_steps_down_and_a_pinned_one_does_not(engine, day, root, git):
    (id,) = engine.ingest(LONG, kind="fact", whole=True)
    done = engine.forget([id])
    assert (rungs(done), done.plan[0].reason) == ([("L2", "L1")], "asked for")
    engine.edit(id, lambda text: text.replace("kind: fact\n", "kind: fact\npinned: true\n"))
    with pytest.raises(Protected, match="is pinned"):
        engine.forget([id])


def test_what_others_link_to_stays_in_its_place(engine, day, root):
    (ferry,) = engine.ingest(SHORT, kind="fact")
    path = engine.expand(ferry).path
    engine.ingest(
        f"Decided to take the boat, see [[{path.removesuffix('.md')}]], on the first of May.", kind="decision"
    )
    live(engine, day, range(7, 141, 7))
    assert engine.forget().plan == ()
    with pytest.raises(Protected, match="other notes link to it"):
        engine.forget([ferry])


def test_upkeep_forgets_once_a_day(lived_in, day, root):
    ran = {r.task: r for r in lived_in.maintain()}
    assert len(ran["forget"].rows) == 2
    assert "forget" not in {r.task for r in lived_in.maintain()}
    (root / "atlas.toml").write_text("[forget]\nenabled = false\n")
    day(300)
    with MemoryEngine(root) as engine:
        assert "forget" not in {r.task for r in engine.maintain()}


# --------------------------------------------------------------------- the command line


def test_the_command_prints_the_table_and_json(lived_in, root, git):
    now = {"ATLAS_NOW": os.environ["ATLAS_NOW"]}
    ran = atlas("forget", "--dry-run", cwd=root, **now)
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert sorted(line[1:3] for line in lines) == [["L2", "L0"], ["L2", "L1"]]
    assert lines[0][5:8] == ["140", "0", "45.0"]
    assert "2 memories would step down." in ran.err
    found = atlas("forget", "--json", "--limit", "1", cwd=root, **now).json
    (row,) = found["plan"]
    assert {"id", "from", "to", "activity", "reason"} <= row.keys()
    assert found["commit"] == head(root, git)
    assert "Atlas-Actor: upkeep" in git(root, "show", "-s", "--format=%B", "HEAD")
    ran = atlas("forget", cwd=root, **now)
    assert (ran.code, "Committed" in ran.err) == (0, True)
    ran = atlas("forget", cwd=root, **now)
    assert (ran.code, ran.out, "Nothing is to be forgotten now." in ran.err) == (0, "", True)


def test_the_command_stops_and_asks(engine, day, root, git):
    engine.ingest_many([Request(f"{SHORT} That was said of boat {n}.", kind="fact") for n in range(25)])
    live(engine, day, range(7, 141, 7))
    before = head(root, git)
    now = {"ATLAS_NOW": os.environ["ATLAS_NOW"]}
    ran = atlas("forget", cwd=root, **now)
    assert (ran.code, head(root, git)) == (1, before)
    assert "Forgetting would touch 25 of 45 memories" in ran.err
    assert atlas("forget", "--json", cwd=root, **now).json["stops"]
    assert atlas("forget", "--dry-run", cwd=root, **now).code == 0
    assert any("25 of 45" in r.stops for r in engine.maintain())
    assert head(root, git) != before  # of the hub notes, or the readings
    assert atlas("forget", "--yes", cwd=root, **now).code == 0
    assert len(list((root / "archive").rglob("*.md"))) == 25


def test_a_word_that_cannot_be_meant_is_said(lived_in, root):
    assert atlas("forget", "x", "--limit", "1", cwd=root).code == 2
    assert atlas("forget", "--policy", "sm2", cwd=root).code == 2
    assert atlas("forget", "nobody", cwd=root).code == 1
    write(root, "notes/mine.md", "# Mine\n\nText.\n")
    sentence = atlas("forget", "notes/mine.md", cwd=root).sentence
    assert sentence.startswith("atlas: notes/mine.md is not forgotten: a person wrote it; name its folder")


def test_saved_and_not_committed_is_exit_code_three(lived_in, root, git):
    git(root, "config", "commit.gpgsign", "true")
    git(root, "config", "gpg.program", "false")
    ran = atlas("forget", cwd=root, ATLAS_NOW=os.environ["ATLAS_NOW"])
    assert (ran.code, "Saved, not committed" in ran.err) == (3, True)


# ---------------------------------------------------------------- where it must not run


def test_never_in_the_middle_of_a_rebase_or_on_a_detached_head(lived_in, root, git):
    before = git(root, "status", "--porcelain"), head(root, git)
    (root / ".git" / "rebase-merge").mkdir()
    with pytest.raises(GitRefused, match="a rebase is under way"):
        lived_in.forget()
    (root / ".git" / "rebase-merge").rmdir()
    git(root, "checkout", "-q", "--detach")
    with pytest.raises(GitRefused, match="HEAD is detached"):
        lived_in.forget(yes=True)
    assert (git(root, "status", "--porcelain"), head(root, git)) == before


def test_a_part_of_the_vault_is_not_enough(lived_in, root):
    with MemoryEngine(root, scope="memories/") as part, pytest.raises(UsageError, match="whole vault"):
        part.forget()


def test_not_while_upkeep_runs(lived_in, root):
    from filelock import FileLock

    with FileLock(root / ".atlas" / "upkeep.lock"), pytest.raises(Unavailable, match="another process"):
        lived_in.forget()


def forget(root: str) -> int:
    """What the victim does."""
    with MemoryEngine(root, create=False, resident=False) as engine:
        return len(engine.forget(yes=True).plan)


@pytest.mark.parametrize(
    "dies",
    [
        "before atlas.vault:write",
        "after atlas.vault:write",
        "before atlas.commits:commit",
        "after atlas.commits:commit",
    ],
)
def test_killed_half_way_it_is_whole_old_or_whole_new(lived_in, root, git, sound, dies):
    old = git(root, "rev-parse", "HEAD^{tree}")
    lived_in.close()
    child = children.start(forget, str(root), dies=dies, env={"ATLAS_NOW": os.environ["ATLAS_NOW"]})
    assert child.killed()
    with MemoryEngine(root) as engine:
        engine.ingest("The one that comes next finishes what was begun.")
        head_of = git(root, "log", "--format=%(trailers:key=Atlas-Op,valueonly,separator=%x2C)").split()
        new = "forget" in head_of
        assert (git(root, "rev-parse", "HEAD~1^{tree}") == old) is not new
        assert git(root, "status", "--porcelain") == ""
        heron, ferry = (engine.search(words).hits[0] for words in ("heron nests reeds", "ferry lighthouse quay"))
        assert ("photographs" in engine.expand(heron.id).detail) is not new
        assert ferry.path.startswith("archive/") is new
        assert len({card.id for card in (heron, ferry)}) == 2
    sound(root)
