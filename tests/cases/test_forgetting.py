"""A5: forgetting too much. Idle months, clock jumps and fresh clones take nothing; all that goes comes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from atlas import MemoryEngine
from atlas.ingest import Request

FIRST = datetime(2026, 1, 1, 9, tzinfo=UTC)
PINNED, LINKED, UNDATED, ALL = 5, 10, 5, 120
RUNS = 60


def words(number: int) -> str:
    return (
        f"Gauge {number} at the weir was read on a Tuesday and showed {number * 7} millibar, a little under the mark."
    )


@pytest.fixture
def now(monkeypatch):
    """`now(days)`: it is so many days after the first."""

    def set_(days: float) -> None:
        monkeypatch.setenv("ATLAS_NOW", (FIRST + timedelta(days=days)).isoformat())

    set_(0)
    return set_


def note(number: int) -> str:
    """One of 120 notes written by hand: pinned, linked to, undated, the rest plain."""
    meta = ["created: 2026-01-01"] if number >= UNDATED else []
    meta += ["pinned: true"] if UNDATED <= number < UNDATED + PINNED else []
    return "\n".join(["---", *meta, "importance: 0.1", "---", f"# Gauge {number}", "", words(number), ""])


@pytest.fixture
def by_hand(vault):
    """The 120 notes as a person has them, ten of them linked to from another."""
    paths = [f"gauges/{number}.md" for number in range(ALL)]
    for number, path in enumerate(paths):
        vault.put(path, note(number))
    links = " ".join(f"[[gauges/{number}]]" for number in range(20, 20 + LINKED))
    vault.put("weir.md", f"# Weir\n\nThe gauges of the weir: {links}.\n")
    vault.commit("weir.md", *paths)
    return vault


def pin(text: str) -> str:
    return text.replace("\n---\n", "\npinned: true\n---\n", 1)


def undate(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("created:"))


@pytest.fixture
def by_atlas(vault, now):
    """The same as Atlas remembers them, over 100 days; and who of them is protected, by path."""
    engine, requests = vault.engine, []
    for number in range(ALL):
        at = (FIRST + timedelta(days=100 * number / ALL)).isoformat()
        requests.append(Request(words(number), kind="fact", label=f"Gauge {number} at the weir", created=at))
    paths = [memory.path for memory in engine.ingest_many(requests).memories]
    for some, edit in ((paths[:PINNED], pin), (paths[PINNED : PINNED + UNDATED], undate)):
        engine._edit_all(some, edit, op="edit", reason="")
    linked = paths[20 : 20 + LINKED]
    links = " ".join(f"[[{path.removesuffix('.md')}]]" for path in linked)
    engine.ingest(f"Decided to keep these gauges of the weir for good: {links}.", kind="decision", whole=True)
    return vault, paths, {*paths[: PINNED + UNDATED], *linked}


def test_a5_what_a_person_wrote_is_never_forgotten(by_hand, now):
    vault = by_hand
    for run in range(1, RUNS + 1):
        now(400 * run)
        assert vault.engine.forget(yes=True).plan == ()
    now((datetime(2099, 1, 1, tzinfo=UTC) - FIRST).days)
    assert vault.engine.forget(yes=True).plan == ()
    assert vault.first("gauge 77 millibar") == "gauges/77.md"
    vault.holds(queries=["gauge 77 millibar"])


def test_a5_idle_years_take_no_more_than_a_pause_allows(by_atlas, now, git):
    """60 runs, each 400 days after the last, with nothing stored or read in between: two months' worth goes, once."""
    vault, paths, protected = by_atlas
    before = {path: (vault.root / path).read_bytes() for path in paths}
    now(400)
    asked = vault.engine.forget()
    assert "look at `atlas forget --dry-run`" in asked.stops
    assert {path: (vault.root / path).read_bytes() for path in paths} == before, "it stops and asks"
    done = vault.engine.forget(yes=True)
    gone = {row.path for row in done.plan}
    assert {row.to for row in done.plan} == {"L0"}
    assert max(row.inputs["days"] for row in done.plan) < 191
    for run in range(2, RUNS + 1):
        now(400 * run)
        assert vault.engine.forget(yes=True).plan == ()
    left = {path: (vault.root / path).read_bytes() for path in paths if path not in gone}
    assert left == {path: data for path, data in before.items() if path not in gone}
    assert not gone & protected
    assert len(list((vault.root / "archive").rglob("*.md"))) == len(gone)


def test_a5_a_clock_set_to_2099_and_back(by_atlas, now, git):
    vault, _, _ = by_atlas
    now(105)
    today = {row.path for row in vault.engine.forget(dry_run=True).plan}
    now((datetime(2099, 1, 1, tzinfo=UTC) - FIRST).days)
    later = vault.engine.forget(dry_run=True).plan
    now(100 + 90)
    assert {row.path for row in vault.engine.forget(dry_run=True).plan} == {row.path for row in later} >= today
    now(105)
    assert {row.path for row in vault.engine.forget(dry_run=True).plan} == today


def test_a5_a_fresh_clone_is_as_old_as_the_vault_it_is_of(by_atlas, now, git, tmp_path):
    vault, _, _ = by_atlas
    now(110)
    here = vault.engine.forget(dry_run=True).plan
    copy = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(vault.root), str(copy))
    with MemoryEngine(copy) as engine:
        there = engine.forget(dry_run=True).plan
    assert here
    assert [(r.id, r.was, r.to, r.inputs) for r in there] == [(r.id, r.was, r.to, r.inputs) for r in here]


def test_a5_in_use_for_years_what_goes_comes_back_by_git_revert(by_atlas, now, git):
    """Something is stored all the time, so the clock runs: the plain ones go in the end, and all of it comes back."""
    vault, paths, protected = by_atlas
    files = {path: (vault.root / path).read_bytes() for path in paths}
    commits, stopped = [], 0
    for run in range(1, 9):
        days = range(100 + 40 * (run - 1), 100 + 40 * run, 10)
        made = [(FIRST + timedelta(days=day)).isoformat() for day in days]
        lasting = [Request(f"Decided on {at} to go on with the weir.", kind="decision", created=at) for at in made]
        now(100 + 40 * run)
        vault.engine.ingest_many(lasting)
        done = vault.engine.forget()
        if done.stops:
            stopped += 1
            assert "`atlas forget --yes`" in done.stops
            assert not done.applied.paths
            done = vault.engine.forget(yes=True)
        commits += [done.applied.commit] if done.applied.committed else []
        assert not protected & {row.path for row in done.plan}
    assert stopped
    left = {path for path in paths if (vault.root / path).is_file()}
    assert left == protected
    stones = [place.read_text().count("\n") for place in (vault.root / "archive/tombstones").glob("*.jsonl")]
    assert sum(stones) == ALL - len(protected)
    assert all(
        vault.git("show", "-s", "--format=%(trailers:key=Atlas-Op,valueonly)", c).strip() == "forget" for c in commits
    )
    assert vault.first("gauge 77 at the weir 539 millibar") != paths[77]

    vault.git("restore", "--staged", "shopping.txt")
    vault.git("stash", "push", "-q", "--", "shopping.txt") if vault.git("diff", "--name-only") else None
    for commit in reversed(commits):
        vault.git("revert", "--no-edit", commit)
    assert {path: (vault.root / path).read_bytes() for path in paths} == files
    assert not list((vault.root / "archive").rglob("*.*"))
    assert vault.first("gauge 77 at the weir 539 millibar") == paths[77]


def test_g6_in_the_middle_of_a_rebase_nothing_is_forgotten(by_atlas, now, git):
    vault, _, _ = by_atlas
    now(110)
    assert vault.engine.forget(dry_run=True).plan
    state = git(vault.root, "rev-parse", "HEAD"), git(vault.root, "status", "--porcelain")
    (vault.root / ".git" / "rebase-merge").mkdir()
    ran = vault.cli("forget", "--yes")
    assert ran.code == 1
    assert "a rebase is under way" in ran.err
    ran = vault.cli("maintain")
    assert ran.code == 1
    (vault.root / ".git" / "rebase-merge").rmdir()
    assert (git(vault.root, "rev-parse", "HEAD"), git(vault.root, "status", "--porcelain")) == state
