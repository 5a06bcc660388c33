"""What a watcher decides: when to look, what to believe, what concerns it; and what it goes on after."""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st
from support import write

from atlas import derive, hook, standing, survey
from atlas.alarm import Alarm, concerns
from atlas.config import Config, load
from atlas.engine import MemoryEngine
from atlas.errors import Unavailable
from atlas.listing import Diff
from atlas.note import is_half_written
from atlas.sightings import PATIENCE, Debounce, Sightings
from atlas.survey import Sheet, Survey, is_dataless
from atlas.watch import Event, Pace, Watcher

# -------------------------------------------------------------------- debounce


def test_nothing_is_due_before_something_happened():
    debounce = Debounce(0.05, 1.0)
    assert debounce.due == math.inf
    debounce.poke(3.0)
    assert debounce.due == pytest.approx(3.05)
    debounce.clear()
    assert debounce.due == math.inf


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=200), st.floats(0.01, 0.1), st.floats(0.2, 3))
def test_a_look_waits_for_quiet_and_never_longer_than_the_most(gaps, quiet, most):
    """Whatever comes: never before `quiet` after the last event, unless `most` after the first is over."""
    debounce, now = Debounce(quiet, most), 100.0
    for gap in gaps:
        now += gap
        debounce.poke(now)
    first = 100.0 + gaps[0]
    assert debounce.due <= first + most + 1e-9
    assert debounce.due == pytest.approx(min(now + quiet, first + most))


# ------------------------------------------------------------------- sightings


def seen(**files: tuple[int, int, int, int]) -> dict[str, tuple[int, int, int, int]]:
    return {f"{name}.md": stat for name, stat in files.items()}


def looked(files: dict[str, tuple[int, int, int, int]], **rest) -> Survey:
    return Survey(Sheet.of(files), (), (), **rest)


def changes(look: Survey, known: dict[str, tuple[int, int, int, int]]) -> Diff:
    to_read = {path: stat for path, stat in look.files.items() if known.get(path) != stat}
    return Diff(to_read, tuple(path for path in known if look.missing(path)))


class Doubter:
    """Sightings with answers set by the test."""

    def __init__(self) -> None:
        self.git: set[str] = set()
        self.half: set[str] = set()
        self.sightings = Sightings(lambda paths: self.git & set(paths), lambda path: path in self.half)

    def at(self, now: float, look: Survey, known, unreadable=frozenset()) -> Diff:
        self.sightings.now = now
        return self.sightings.sift(look, known, changes(look, known), lambda: unreadable)


A, B = (10, 1, 1, 7), (20, 2, 2, 8)


def test_a_missing_note_is_believed_at_the_second_sighting():
    doubter, known, empty = Doubter(), seen(a=A, b=B), looked(seen(b=B))
    assert doubter.at(0, empty, known) == Diff({}, (), ("a.md",))
    assert doubter.at(PATIENCE - 0.1, empty, known).gone == ()
    assert doubter.at(PATIENCE, empty, known) == Diff({}, ("a.md",))


def test_a_note_that_comes_back_begins_anew():
    doubter, known, without = Doubter(), seen(a=A, b=B), looked(seen(b=B))
    doubter.at(0, without, known)
    assert not doubter.at(1, looked(known), known)
    assert doubter.at(PATIENCE + 0.1, without, known).held == ("a.md",)


def test_what_git_deleted_is_believed_at_once():
    doubter, known = Doubter(), seen(a=A, b=B)
    doubter.git = {"a.md"}
    assert doubter.at(0, looked({}), known) == Diff({}, ("a.md",), ("b.md",))


def test_a_renamed_file_is_not_missing():
    doubter, known = Doubter(), seen(a=A)
    moved = doubter.at(0, looked(seen(z=(10, 1, 99, 7))), known)
    assert (moved.gone, list(moved.to_read), moved.held) == (("a.md",), ["z.md"], ())


def test_a_note_that_is_empty_for_a_moment_keeps_its_row():
    doubter, known, emptied = Doubter(), seen(a=A), looked(seen(a=(0, 5, 5, 7)))
    assert doubter.at(0, emptied, known) == Diff({}, (), ("a.md",))
    assert list(doubter.at(PATIENCE, emptied, known).to_read) == ["a.md"]
    was_empty = seen(a=(0, 4, 4, 7))
    assert list(doubter.at(9, emptied, was_empty).to_read) == ["a.md"], "an empty note is no news"


def test_a_half_written_note_keeps_its_row_if_it_was_whole():
    doubter, known, half = Doubter(), seen(a=A), looked(seen(a=(4, 5, 5, 7)))
    doubter.half = {"a.md"}
    assert doubter.at(0, half, known).held == ("a.md",)
    assert list(doubter.at(PATIENCE, half, known).to_read) == ["a.md"]
    assert list(doubter.at(20, half, known, frozenset({"a.md"})).to_read) == ["a.md"]
    assert list(doubter.at(30, half, {}).to_read) == ["a.md"], "a new note has no row to keep"


def test_missing_then_empty_is_another_doubt():
    doubter, known = Doubter(), seen(a=A)
    doubter.at(0, looked({}), known)
    assert doubter.at(PATIENCE + 1, looked(seen(a=(0, 5, 5, 7))), known).held == ("a.md",)


def test_while_a_folder_is_being_put_back_nothing_of_it_is_deleted():
    names = [f"n{n}" for n in range(9)]
    known = seen(**dict.fromkeys(names, A))
    doubter = Doubter()
    doubter.at(0, looked({}), known)
    for n in range(2, 10, 2):
        back = looked(seen(**dict.fromkeys(names[:n], A)))
        assert doubter.at(n, back, known).gone == ()
    assert doubter.at(8 + PATIENCE, looked(seen(**dict.fromkeys(names[:8], A))), known).gone == ("n8.md",)


def test_what_could_not_be_seen_is_not_in_doubt():
    doubter, known = Doubter(), seen(a=A)
    assert doubter.at(0, looked({}, evicted=frozenset({"a.md"})), known) == Diff({}, ())


paths = st.sampled_from([f"{name}.md" for name in "abcd"])
stats = st.sampled_from([A, B, (0, 3, 3, 9), (5, 4, 4, 10)])
listings = st.dictionaries(paths, stats)


@given(listings, st.lists(st.tuples(listings, st.floats(0.01, 2)), min_size=1, max_size=8))
def test_nothing_is_lost_between_believed_and_held(known, looks):
    """Every change is either let through or held, and what stays as it is gets believed."""
    doubter, now = Doubter(), 0.0
    for files, gap in looks:
        now += gap
        look = looked(files)
        every, kept = changes(look, known), doubter.at(now, look, known)
        assert {*kept.to_read, *kept.gone, *kept.held} == {*every.to_read, *every.gone}
        assert not {*kept.to_read, *kept.gone} & set(kept.held)
        known = {path: stat for path, stat in {**known, **kept.to_read}.items() if path not in kept.gone}
    assert doubter.at(now + PATIENCE, look, known).held == ()


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\nki", True),
        ("---\n", True),
        ("---\nti", True),
        ("---\ntitle: x\ntags: [a]\n", True),
        ("---\ntitle: x\n---\nBody", False),
        ("---\n\nA rule, and then prose.\nMore of it.\n", False),
        ("# Plain\n", False),
        ("", False),
    ],
)
def test_what_is_half_written(text, half):
    assert is_half_written(text) is half


# --------------------------------------------------------------- what concerns it

OURS = ["a.md", "sub/b.MD", "été/n.markdown", "logseq/n.md", "atlas.toml", ""]
OTHERS = [
    *("n.txt", ".git/index", ".atlas/index.duckdb", ".obsidian/workspace.json", ".obsidian/plugins/p/r.md"),
    *(".trash/n.md", ".smart-env/n.md", "node_modules/p/README.md", "a/__pycache__/n.md", "lost+found/n.md"),
    *("logseq/bak/n.md", "logseq/version-files/n.md", "private/n.md", "x.draft.md", "4913", "n.md.tmp", ".n.md.tmp1"),
    *(".#n.md", "#n.md#", "n.md~", ".n.md.swp", "~$n.md", "sub/~$n.md", ".n.md.icloud"),
    *("n.md___jb_tmp___", "n.md___jb_old___"),
]


def test_only_events_of_notes_wake_it():
    matters = concerns(Config(Path("/v"), ignore=("private/", "*.draft.md")))
    assert [path for path in OURS if not matters(path, False)] == []
    assert [path for path in OTHERS if matters(path, False)] == []
    assert [path for path in ("sub", "a/b", "logseq") if not matters(path, True)] == []
    folders = (".git", ".atlas/x", ".obsidian", "node_modules", "logseq/bak", "private", "a/.trash")
    assert [path for path in folders if matters(path, True)] == []


@pytest.mark.parametrize("path", [p for p in [*OURS, *OTHERS] if p and p != "atlas.toml"])
def test_what_wakes_it_is_what_a_survey_finds(tmp_path, path):
    """The same rules, so no event is missed of a file that counts, and none heeded of one that does not."""
    write(tmp_path, "atlas.toml", '[vault]\nignore = ["private/", "*.draft.md"]\n')
    write(tmp_path, path, "x")
    config = load(tmp_path)
    assert (path in survey.survey(config).files) == concerns(config)(path, False)
    last = Survey(Sheet.of({}), (), ())
    assert (path in survey.again(config, last, [path]).files) == concerns(config)(path, False)


# --------------------------------------------------------------------- the cloud


def test_an_evicted_note_keeps_its_row_and_is_named(vault):
    """ICloud puts `.n.md.icloud` in the place of a note it takes off this disk."""
    with MemoryEngine(vault, create=False) as engine:
        engine.refresh()
        before = engine.expand("a.md").id
        (vault / "a.md").rename(vault / ".a.md.icloud")
        assert engine.refresh().removed == 0
        write(vault, "sub/.never-here.md.icloud", "")
        report = engine.refresh()
        assert (report.removed, report.memories) == (0, 2)
        assert engine.retrieve("heron")[0].id == before
        named = {(f.path, f.kind) for f in engine.status()["findings"]}
        assert named == {("a.md", "evicted"), ("sub/never-here.md", "evicted")}
        assert survey.survey(load(vault)).evicted == {"a.md", "sub/never-here.md"}
        (vault / ".a.md.icloud").rename(vault / "a.md")
        (vault / "sub" / ".never-here.md.icloud").unlink()
        assert engine.refresh().removed == 0
        assert engine.status()["findings"] == []


def test_a_placeholder_beside_its_note_means_nothing(vault):
    write(vault, ".a.md.icloud", "")
    assert survey.survey(load(vault)).evicted == frozenset()


def test_files_without_their_content_are_told_by_their_flags():
    assert is_dataless(SimpleNamespace(st_flags=0x4000_0000))
    assert is_dataless(SimpleNamespace(st_file_attributes=0x40_0020))
    assert is_dataless(SimpleNamespace(st_file_attributes=0x1000))
    assert not is_dataless(SimpleNamespace(st_flags=0x20, st_file_attributes=0x20))
    assert not is_dataless(Path(__file__).stat())


# ------------------------------------------------------------------ the standing


@pytest.fixture
def vault(tmp_path) -> Path:
    root = tmp_path / "vault"
    write(root, "atlas.toml", "")
    write(root, "a.md", "# Heron\n\nThe heron stands.\n")
    write(root, "b.md", "# Boiler\n\nThe valve leaks.\n")
    return root


def test_a_killed_watcher_does_not_count_as_running(vault):
    config = load(vault)
    assert standing.state(config) == {"running": False}
    post = standing.Post(config)
    post.take()
    post.save()
    assert standing.state(config)["running"]
    post.leave()
    assert (config.state / "watch.json").exists()
    assert standing.state(config) == {"running": False}


def test_a_state_that_cannot_be_read_is_still_a_watcher(vault):
    config = load(vault)
    config.state.mkdir()
    with FileLock(config.state / "watch.lock"):
        for text in ("", "{", "[]"):
            (config.state / "watch.json").write_text(text)
            assert standing.state(config) == {"running": True, "since": ""}


def test_there_is_one_watcher(vault):
    one, two = standing.Post(load(vault)), standing.Post(load(vault))
    one.take()
    one.save()
    with pytest.raises(Unavailable, match=f"process {one.standing.pid}") as refused:
        two.take()
    assert refused.value.exit_code == 4
    one.leave()
    two.take()
    two.leave()


# ---------------------------------------------------------------- the loop, in a thread

QUICK = Pace(settle=PATIENCE + 0.1, tick=0.05, again=0.2, scan=0.1, rest=0.5)


class Running:
    """A watcher in a thread of this process, and what it tells."""

    def __init__(self, root: Path, pace: Pace = QUICK, tend=None) -> None:
        self.told: list[Event] = []
        self.watcher = Watcher(load(root), self.told.append, pace, tend)
        self.thread = threading.Thread(target=self.watcher.run)

    def until(self, event: str, since: int = 0, seconds: float = 30) -> Event:
        """The first event of this name after the first `since` ones."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for told in self.told[since:]:
                if told.event == event:
                    return told
            time.sleep(0.01)
        raise AssertionError(f"no {event} in {self.told}")


@pytest.fixture
def running(vault) -> Iterator[Running]:
    run = Running(vault)
    run.thread.start()
    run.until("start")
    yield run
    run.watcher.stop()
    run.thread.join(30)
    assert not run.thread.is_alive()


def test_upkeep_runs_once_when_it_is_quiet(root, notes):
    """Once a day is once in a test."""
    notes({f"{name}.md": f"---\ntags: [cluster/boiler]\n---\n# Valve {name}\n" for name in "abc"})
    calls = []

    def tend():
        calls.append(time.monotonic())
        return hook.upkeep(load(root))

    run = Running(root, replace(QUICK, tend=0.6), tend)
    run.thread.start()
    run.until("start")
    for n in range(4):  # not while somebody works
        write(root, "d.md", f"# Version {n}\n")
        time.sleep(0.2)
    busy = time.monotonic()
    assert "upkeep, clusters: committed" in run.until("note").message
    time.sleep(0.8)
    run.watcher.stop()
    run.thread.join(30)
    assert len(calls) == 1
    assert calls[0] > busy
    assert (root / "clusters" / "boiler.md").exists()


def rows(root: Path) -> dict[str, str]:
    """What the index says, as it is, without a look at the folder: path → id."""
    import duckdb

    with FileLock(root / ".atlas" / "index.lock"), duckdb.connect(str(root / ".atlas" / "index.duckdb")) as con:
        return dict(con.execute("SELECT path, ident FROM listing").fetchall())


def test_a_listener_that_dies_is_replaced(vault, running):
    """An exception in a handler ends watchdog's thread, and nobody is told."""
    handler = running.watcher._alarm._handler

    def fails(_event):
        raise ValueError("from within the handler")

    caught: list[object] = []
    before, threading.excepthook = threading.excepthook, lambda args: caught.append(args.exc_value)
    handler.dispatch = fails
    try:
        write(vault, "a.md", "# Heron\n\nHeard by nobody.\n")
        while not caught:
            time.sleep(0.01)
    finally:
        threading.excepthook = before
        del handler.dispatch
    assert running.until("refresh").changed == 1
    mark = len(running.told)
    write(vault, "b.md", "# Boiler\n\nHeard again.\n")
    assert running.until("refresh", mark).changed == 1
    assert running.watcher._alarm.sound


def test_one_note_that_fails_does_not_keep_the_others_out(vault, running, monkeypatch):
    """Fault injection: deriving one text raises; the rest goes on, the note keeps its row, and the error is told."""
    real = derive.Deriver.note

    def note(self, blob, data):
        if b"poison" in data:
            raise ZeroDivisionError("in the deriver")
        return real(self, blob, data)

    monkeypatch.setattr(derive.Deriver, "note", note)
    write(vault, "a.md", "poison\n")
    for n in range(5):
        write(vault, f"new{n}.md", f"number {n}\n")
    assert "a.md" in running.until("error").message
    deadline = time.monotonic() + 30
    while len(rows(vault)) < 7 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert set(rows(vault)) == {"a.md", "b.md", *(f"new{n}.md" for n in range(5))}
    assert "a.md" in standing.state(load(vault))["last_error"]
    mark = len(running.told)
    write(vault, "b.md", "another edit\n")
    assert running.until("refresh", mark).changed == 1
    mark = len(running.told)
    write(vault, "a.md", "The heron is well again.\n")
    assert running.until("refresh", mark).changed == 1


def test_a_pass_that_fails_altogether_is_tried_again(vault, running, monkeypatch):
    failures = []

    def fails(*_args, **_options):
        failures.append(time.monotonic())
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("atlas.watch.survey", fails)
    write(vault, "a.md", "# Heron\n\nWritten while nothing could be read.\n")
    assert "Input/output error" in running.until("error").message
    while len(failures) < 2:
        time.sleep(0.01)
    monkeypatch.undo()
    assert running.until("refresh").changed == 1
    assert [event.event for event in running.told].count("error") == 1
    state = standing.state(load(vault))
    assert "Input/output error" in state["last_error"]
    assert state["failed"]


def test_changed_settings_are_followed(vault, running):
    write(vault, "drafts/d.md", "A draft.\n")
    running.until("refresh")
    mark = len(running.told)
    write(vault, "atlas.toml", '[vault]\nignore = ["drafts/"]\n')
    assert running.until("refresh", mark).removed == 1
    mark = len(running.told)
    write(vault, "atlas.toml", "[vault\n")
    assert "not valid TOML" in running.until("error", mark).message
    write(vault, "atlas.toml", "")
    assert running.until("refresh", mark).added == 1


def test_when_nothing_happens_memory_is_given_back_and_taken_again(vault, running):
    write(vault, "a.md", "One.\n")
    running.until("refresh")
    deadline = time.monotonic() + 30
    while running.watcher._index._index._store._con is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running.watcher._index._index._store._con is None
    mark = len(running.told)
    write(vault, "a.md", "Two.\n")
    assert running.until("refresh", mark).changed == 1


def test_where_it_cannot_listen_it_scans_and_says_so(vault, monkeypatch):
    monkeypatch.setattr(Alarm, "arm", lambda _self: "because of the test")
    run = Running(vault)
    run.thread.start()
    assert run.until("start").mode == "degraded"
    assert run.told[0].event == "start"
    assert "because of the test; scanning every 0.1 s instead" in run.until("degraded").message
    write(vault, "new.md", "Found by a scan.\n")
    assert run.until("refresh").added == 1
    assert standing.state(load(vault))["mode"] == "degraded"
    monkeypatch.undo()
    run.until("events")
    assert standing.state(load(vault))["reason"] == ""
    run.watcher.stop()
    run.thread.join(30)
    assert [e.event for e in run.told].count("degraded") == 1


def test_the_state_is_written_when_something_changed_only(vault, running):
    file = vault / ".atlas" / "watch.json"
    before = file.stat().st_mtime_ns
    write(vault, "note.txt", "no memory")
    running.watcher._poke()
    time.sleep(0.5)
    assert file.stat().st_mtime_ns == before
    assert json.loads(file.read_text())["refreshes"] == 1, "the first, at the start"


def test_who_removes_the_derived_folder_finds_it_again_with_an_index_and_a_lock(vault, running):
    shutil.rmtree(vault / ".atlas")
    time.sleep(0.3)
    assert not (vault / ".atlas").exists(), "perhaps all of the vault is being removed"
    assert running.until("refresh").added == 2
    assert standing.state(load(vault))["running"]
    with pytest.raises(Unavailable):
        standing.Post(load(vault)).take()


def test_a_stop_is_told_last(vault):
    run = Running(vault, replace(QUICK, tick=5))
    run.thread.start()
    run.until("start")
    run.watcher.stop()
    run.thread.join(5)
    assert [event.event for event in run.told] == ["start", "stop"]
    assert threading.active_count() < 10


def test_a_listener_says_nothing_and_survives_folders_made_within_folders(vault, capfd):
    """Here every warning is an error, and one in the listener's thread would end it."""
    alarm = Alarm(load(vault), lambda: None)
    assert alarm.arm() == ""
    for n in range(100):
        write(vault, f"d{n}/e/f/n.md", "x")
    deadline = time.monotonic() + 30
    folders = ["", *(f"d{n}/e/f/" for n in range(100))]
    while alarm.deaf_to(folders) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alarm.deaf_to(folders) == ""
    assert alarm.sound
    alarm.disarm()
    assert not alarm.sound
    assert capfd.readouterr() == ("", "")


def test_reading_notes_and_the_files_of_others_wake_nobody(vault):
    """A look that woke the next one would never end."""
    poked: list[float] = []
    alarm = Alarm(load(vault), lambda: poked.append(time.monotonic()))
    for folder in (".atlas", ".obsidian", ".git", "node_modules"):
        (vault / folder).mkdir()
    assert alarm.arm() == ""
    for _ in range(3):
        (vault / "a.md").read_text()
        survey.survey(load(vault))
        for folder in (".atlas", ".obsidian", ".git", "node_modules"):
            write(vault, f"{folder}/n.md", "x")
        time.sleep(0.1)
    assert poked == []
    write(vault, "a.md", "woken")
    deadline = time.monotonic() + 30
    while not poked and time.monotonic() < deadline:
        time.sleep(0.01)
    alarm.disarm()
    assert poked


def test_while_others_are_busy_the_longest_wait_is_soon_enough():
    wait = Debounce(0.05, 1.0)
    wait.poke(10.0)
    assert wait.due == pytest.approx(10.05)
    wait.busy = True
    assert wait.due == pytest.approx(11.0)
    wait.poke(10.9)
    assert wait.due == pytest.approx(11.0)
