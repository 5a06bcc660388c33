"""Upkeep: each task one commit, only what is due, never over somebody's edit; and the first task, hub notes."""

from __future__ import annotations

import re

import pytest
from filelock import FileLock
from shell import atlas
from support import write

from atlas import MemoryEngine, config, upkeep
from atlas.errors import Conflict, GitRefused, Unavailable, UsageError
from atlas.memory import Applied, Change
from atlas.planning import Plan, Row

HUB = "clusters/boiler.md"


@pytest.fixture
def bundled(engine, root, git):
    """Three notes of one cluster, committed."""
    for name in ("one", "two", "three"):
        write(root, f"notes/{name}.md", f"---\ntags: [cluster/boiler]\n---\n# Valve {name}\n\nText {name}.\n")
    commit(root, git)
    return root


def commit(root, git) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")


def linked(root) -> list[str]:
    return re.findall(r"\[\[([^|]+)\|", (root / HUB).read_text())


def test_a_cluster_of_three_gets_a_hub_in_one_commit(engine, bundled, git):
    (ran,) = engine.maintain()
    assert (ran.task, ran.changed) == ("clusters", (HUB,))
    assert git(bundled, "show", "--name-only", "--format=", ran.commit).split() == [HUB]
    assert "Atlas-Op: clusters" in git(bundled, "show", "-s", "--format=%B", ran.commit)
    assert linked(bundled) == ["notes/one", "notes/three", "notes/two"]
    hub = engine.expand(HUB)
    assert (hub.label, hub.meta["kind"], hub.clusters) == ("Boiler", "hub", ())


def test_nothing_is_due_twice(engine, bundled, git):
    engine.maintain()
    head = git(bundled, "rev-parse", "HEAD")
    assert engine.maintain() == []
    assert engine.maintain() == []
    assert git(bundled, "rev-parse", "HEAD") == head


def test_two_are_no_bundle(engine, bundled, git):
    (bundled / "notes" / "two.md").unlink()
    commit(bundled, git)
    assert engine.maintain() == []
    assert not (bundled / HUB).exists()


def test_a_hub_follows_its_members_and_keeps_what_a_person_wrote(engine, bundled, git):
    engine.maintain()
    place = bundled / HUB
    place.write_bytes(b"Above.\r\n" + place.read_bytes() + b"\nBelow, by hand: see [[elsewhere]].\n")
    write(bundled, "notes/four.md", "---\ntags: [cluster/boiler]\n---\n# A [[bracket]] | four\n")
    (bundled / "notes" / "one.md").unlink()
    commit(bundled, git)
    before = place.read_bytes()
    engine.maintain()
    after = place.read_bytes()
    marks = re.compile(rb"(<!-- atlas:(\w+) -->).*?(<!-- /atlas:\2 -->)", re.DOTALL)
    assert marks.sub(rb"\1\3", after) == marks.sub(rb"\1\3", before)
    assert b"- [[notes/four|A bracket four]]\n" in after
    assert b"notes/one" not in after


@pytest.mark.parametrize("text", ["# Boiler\n\nMy own page.\n", "<!-- atlas:members -->\n", "caf\udce9\n"])
def test_a_persons_own_page_is_left_alone(engine, bundled, git, text):
    write(bundled, HUB, text)
    commit(bundled, git)
    before = (bundled / HUB).read_bytes()
    assert engine.maintain() == []
    assert (bundled / HUB).read_bytes() == before


def test_a_hub_that_was_deleted_stays_deleted(engine, bundled, git):
    engine.maintain()
    git(bundled, "rm", "-q", HUB)
    git(bundled, "commit", "-qm", "no such page, please")
    assert engine.maintain() == []
    assert not (bundled / HUB).exists()


def test_a_hub_with_uncommitted_edits_waits(engine, bundled, git):
    engine.maintain()
    place = bundled / HUB
    place.write_text(place.read_text() + "\nHalf a sent")
    write(bundled, "notes/four.md", "---\ntags: [cluster/boiler]\n---\n# Four\n")
    assert engine.maintain() == []
    assert place.read_text().endswith("Half a sent")
    commit(bundled, git)
    (ran,) = engine.maintain()
    assert ran.changed == (HUB,)
    assert "notes/four" in linked(bundled)


def test_undo_takes_a_run_back(engine, bundled):
    (ran,) = engine.maintain()
    engine.undo(ran.commit)
    assert not (bundled / HUB).exists()
    assert engine.maintain() == []


def test_a_dry_run_writes_nothing(bundled, git):
    before = git(bundled, "status", "--porcelain")
    ran = atlas("maintain", "--dry-run", cwd=bundled)
    assert ran.out == f"clusters: {HUB}\n"
    assert git(bundled, "status", "--porcelain") == before
    ran = atlas("maintain", "--json", cwd=bundled)
    assert [(r["task"], r["changed"]) for r in ran.json["ran"]] == [("clusters", [HUB])]


def test_never_in_the_middle_of_a_rebase(engine, bundled, git):
    (bundled / ".git" / "rebase-merge").mkdir()
    with pytest.raises(GitRefused, match="a rebase is under way"):
        engine.maintain()
    assert not (bundled / HUB).exists()
    (bundled / ".git" / "rebase-merge").rmdir()
    git(bundled, "checkout", "-q", "--detach")
    with pytest.raises(GitRefused, match="HEAD is detached"):
        engine.maintain()


def test_one_at_a_time(engine, bundled):
    engine.refresh()
    with FileLock(bundled / ".atlas" / "upkeep.lock"), pytest.raises(Unavailable, match="another process"):
        engine.maintain()


def test_a_part_of_the_vault_is_not_enough(bundled):
    with MemoryEngine(bundled, scope="notes/") as part, pytest.raises(UsageError, match="whole vault"):
        part.maintain()


class Still:
    """A vault that does not change."""

    def state(self) -> str:
        return "1"

    def view(self) -> None:
        return None

    def waits(self) -> bool:
        return False


def run(plan: Plan, apply, folder, **asked) -> list[upkeep.Ran]:
    """One task that has this plan."""
    tasks = {"look": upkeep.Task(lambda _: plan)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upkeep, "TASKS", tasks)
        return upkeep.run(Still(), apply, upkeep.Log(folder), upkeep.Asked(**asked), config.now())


def planned(*paths: str) -> tuple[Change, ...]:
    return tuple(Change(path, b"new\n", "0" * 40) for path in paths)


def edited(*paths: str):
    """A hand that finds some files edited."""

    def apply(changes, record):
        for change in changes:
            if change.path in paths:
                raise Conflict(change.path, b"new\n", b"theirs\n")
        return Applied(tuple(change.path for change in changes), "c0ffee")

    return apply


def test_what_is_edited_meanwhile_is_left_out(tmp_path):
    (ran,) = run(Plan(planned("a.md", "b.md")), edited("a.md"), tmp_path)
    assert (ran.changed, ran.note) == (("b.md",), "left out, edited meanwhile: a.md")


def test_what_belongs_to_it_is_left_out_with_it(tmp_path):
    """A summary without its source, or a source cut down without its summary, would lose something."""
    plan = Plan(planned("a.md", "sum.md", "b.md", "c.md"), groups=((1, 3), (0, 1)))
    (ran,) = run(plan, edited("a.md"), tmp_path)
    assert ran.changed == ("b.md",), "c.md goes with sum.md, and that with a.md"
    plan = Plan(planned("a.md", "sum.md", "b.md"), groups=((0, 1),))
    (ran,) = run(plan, edited("sum.md"), tmp_path)
    assert (ran.changed, ran.note) == (("b.md",), "left out, edited meanwhile: sum.md")


def test_a_plan_that_stops_waits_for_a_yes(tmp_path):
    row = Row("01J", "a.md", "L2", "L1", "old")
    plan = Plan(planned("a.md"), rows=(row,), stops="It would touch 9 of 10 memories: say yes.")
    (ran,) = run(plan, edited(), tmp_path)
    assert (ran.changed, ran.commit, ran.stops, ran.rows) == ((), "", plan.stops, (row,))
    (ran,) = run(plan, edited(), tmp_path, dry_run=True)
    assert (ran.changed, ran.stops) == ((), plan.stops)
    (ran,) = run(plan, edited(), tmp_path, yes=True)
    assert (ran.changed, ran.commit, ran.stops) == (("a.md",), "c0ffee", "")


def test_no_task_is_begun_after_the_time_limit(engine, bundled):
    write(bundled, "atlas.toml", "[upkeep]\ntimeout_seconds = 1e-9\n")
    with MemoryEngine(bundled) as hurried:
        said = hurried.maintain()
    assert all("not begun" in ran.note for ran in said)
    assert not (bundled / HUB).exists()


def test_a_hub_is_no_member_of_its_own_cluster(engine, bundled, git):
    engine.maintain()
    place = bundled / HUB
    place.write_text(place.read_text().replace("kind: hub\n", "kind: hub\ntags: [cluster/boiler]\n"))
    commit(bundled, git)
    assert engine.expand(HUB).clusters == ("boiler",)
    assert [ran.task for ran in engine.maintain()] == ["usage"], "one was just read"
    assert linked(bundled) == ["notes/one", "notes/three", "notes/two"]


def test_a_task_with_nothing_to_do_is_asked_again_when_something_changed(engine, bundled, git, monkeypatch):
    asked = []
    tasks = {"look": upkeep.Task(lambda view: asked.append(len(view.cards)) or Plan(), daily=True)}
    monkeypatch.setattr(upkeep, "TASKS", tasks)
    monkeypatch.setenv("ATLAS_NOW", "2026-05-01T09:00:00Z")
    engine.maintain()
    engine.maintain()
    assert asked == [3]
    engine.maintain(all_tasks=True)
    assert asked == [3, 3]
    monkeypatch.setenv("ATLAS_NOW", "2026-05-02T09:00:00Z")
    engine.maintain()
    assert asked == [3, 3, 3], "on a new day, what depends on the day is due"
    write(bundled, "notes/four.md", "# Four\n")
    engine.maintain()
    assert asked == [3, 3, 3, 4]


def test_what_git_is_told_to_ignore_stands_on_no_page(engine, bundled, git):
    """A page is committed and shared; the title of a note that is kept from Git would be shared with it."""
    write(bundled, ".gitignore", (bundled / ".gitignore").read_text() + "\nown/\n")
    write(bundled, "own/four.md", "---\ntags: [cluster/boiler]\n---\n# What nobody shall see\n")
    commit(bundled, git)
    engine.maintain()
    assert linked(bundled) == ["notes/one", "notes/three", "notes/two"]
    assert "nobody" not in (bundled / HUB).read_text()
