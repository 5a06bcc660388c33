"""C: two writers on one memory, a kill between any two steps, a full disk, and a Git that somebody else holds."""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import children
import pytest

from atlas import vault as folder
from atlas.engine import MemoryEngine
from atlas.errors import Conflict

SHARED = "shared.md"

# ------------------------------------------------------------------ C1: two writers, one memory


def add_lines(root: str, who: int, times: int) -> list[str]:
    """A process that adds lines through the API; those for which it was told that they are in."""
    told = []
    with MemoryEngine(root, create=False) as engine:
        for n in range(times):
            line = f"w{who}-{n:02d}."
            try:
                engine.append(SHARED, line)
            except Conflict:
                continue
            told.append(line)
    return told


def hold_the_lock(root: str) -> None:
    """A process that takes the lock of all writers and is killed while it has it."""
    with MemoryEngine(root, create=False) as engine, engine._hand.lock():
        (Path(root) / ".atlas" / "held").touch()
        time.sleep(60)


def save_by_rename(place: Path, times: int, stop: threading.Event) -> list[tuple[str, bytes]]:
    """A script as naive as an editor: reads, adds a line, renames over. Each line with the text it was added to."""
    saved = []
    for n in range(times):
        read = place.read_bytes()
        line = f"s-{n:02d}."
        temp = place.with_name("shared.tmp")
        temp.write_bytes(read + f"\n{line}\n".encode())
        temp.replace(place)
        saved.append((line, read))
        stop.wait(0.4)
    return saved


def test_c1_two_hundred_updates_of_one_memory(vault):
    """No line is lost that Atlas said was in: it is in the file, or in the commit it was said to be in."""
    place = vault.put(SHARED, "# Shared\n\nstart.\n")
    vault.commit(SHARED)
    writers = [children.start(add_lines, str(vault.root), who, 25) for who in range(8)]
    stop, saved = threading.Event(), []
    script = threading.Thread(target=lambda: saved.extend(save_by_rename(place, 10, stop)))
    script.start()
    holder = children.start(hold_the_lock, str(vault.root))
    while not (vault.root / ".atlas" / "held").exists():
        time.sleep(0.01)
    holder.kill()
    told = [line for child in writers for line in child.result(300)]
    stop.set()
    script.join()
    assert len(saved) == 10
    assert len(set(told)) == len(told) >= 200 - 8
    vault.engine.append(SHARED, "end.")
    kept = vault.accept(SHARED).decode()
    history = vault.git("log", "-p", "--format=", "--", SHARED)
    committed = set(re.findall(r"^\+([ws]\d*-\d\d\.)$", history, re.MULTILINE))
    assert set(told) <= committed
    # In the file is every line that the script did not itself write over with an older text.
    last_read = [read.decode() for _, read in saved]
    lost = {line for line in told if line not in kept}
    assert all(any(line not in read for read in last_read) for line in lost)
    assert {line for line, _ in saved} <= committed | set(re.findall(r"s-\d\d\.", kept))
    assert not list(vault.root.rglob(".atlas-tmp-*"))
    assert vault.engine.status()["waiting"] == []
    vault.holds(queries=["shared start"])


def swap_and_die(root: str, line: str) -> None:
    """A save of somebody else's lands between look and swap, and the process dies before it sees what came out."""
    place = Path(root) / SHARED
    real = folder._exchange

    def exchange(one: Path, two: Path) -> bool:
        place.write_text("# Shared\n\nWritten by a person just now.\n")
        assert real(one, two)
        os.kill(os.getpid(), signal.SIGKILL)
        return True

    folder._exchange = exchange
    with MemoryEngine(root, create=False) as engine:
        engine.append(SHARED, line)


def test_c1_a_save_that_was_swapped_out_unseen_is_given_back(vault):
    vault.put(SHARED, "# Shared\n\nstart.\n")
    vault.commit(SHARED)
    assert children.start(swap_and_die, str(vault.root), "from the agent.").killed()
    vault.engine.ingest("Any next write.")
    assert vault.accept(SHARED) == b"# Shared\n\nWritten by a person just now.\n"
    assert "from the agent" not in vault.git("log", "-p", "--", SHARED)
    assert vault.engine.status()["waiting"] == []
    assert not list(vault.root.rglob(".atlas-tmp-*"))
    vault.holds(queries=["written by a person"])


def test_c1_an_editor_that_keeps_saving_gets_no_silent_loss(vault):
    """Every attempt meets a newer file: the writer is told, both texts are there, and nothing was written."""
    place = vault.put(SHARED, "0\n")
    vault.commit(SHARED)
    seen = iter(range(1, 100))

    def edit(old: str) -> str:
        place.write_text(f"{next(seen)}\n")
        return old + "mine\n"

    with pytest.raises(Conflict) as caught:
        vault.engine.edit(SHARED, edit)
    assert caught.value.ours is not None
    assert caught.value.ours.endswith(b"mine\n")
    assert caught.value.theirs == vault.accept(SHARED)
    assert "+mine" not in vault.git("log", "-p", "--format=", "--", SHARED)
    assert vault.engine.status()["waiting"] == []
    vault.b6_git_is_whole_and_staging_untouched()


# ------------------------------------------------------------------ C3: killed between any two steps

OLD = "# Shared\n\nstart.\n"
NEW = "# Shared\n\nstart.\n\nThe agent's paragraph.\n"

#: Where the process dies, and what lies in the file then: the old text, or the new.
DEATHS = {
    "after atlas.pending:note": OLD,
    "before atlas.vault:_replace": OLD,
    "before atlas.vault:_sync_folder": NEW,
    "before atlas.commits:commit": NEW,
    "before atlas.commits:_commit_object": NEW,
    "before atlas.commits:_move": NEW,
    "after atlas.commits:_move": NEW,
    "before atlas.pending:fulfilled": NEW,
    "before atlas.hand:Hand._refreshed": NEW,
    "before atlas.index:Refresh._commit_listing": NEW,
    "before atlas.store:Store.publish": NEW,
}
COMMITTED = ("after atlas.commits:_move", "before atlas.pending:fulfilled")
DONE = (
    "before atlas.hand:Hand._refreshed",
    "before atlas.index:Refresh._commit_listing",
    "before atlas.store:Store.publish",
)


def settle(vault) -> None:
    """Let the index know every file for good: one changed within the clock's tick is read once more."""
    time.sleep(0.1)
    vault.engine.refresh()


def append_one(root: str) -> None:
    with MemoryEngine(root, create=False, resident=False) as engine:
        engine.append(SHARED, "The agent's paragraph.")


@pytest.mark.parametrize("death", DEATHS)
def test_c3_killed_while_changing_a_note(vault, death):
    vault.put(SHARED, OLD)
    vault.commit(SHARED)
    settle(vault)
    assert children.start(append_one, str(vault.root), dies=death).killed()
    assert vault.accept(SHARED).decode() == DEATHS[death]
    assert not (vault.root / ".git" / "index.lock").exists()
    status = vault.engine.status()
    assert status["waiting"] == ([] if death in DONE else [SHARED])
    assert vault.git("ls-files", "*atlas-tmp*") == ""
    assert {hit.path for hit in vault.hits("paragraph shared", k=50)} <= {
        SHARED,
        *("garden.md", "kettle.md", "trips/harbour.md"),
    }
    # The next write, of whatever kind, brings it to its end: once, under its own reason.
    vault.engine.ingest("Something else altogether.")
    assert vault.accept(SHARED).decode() == NEW
    assert vault.git("show", f"HEAD:{SHARED}") == NEW
    ops = vault.git("log", "--format=%(trailers:key=Atlas-Op,valueonly)", "--", SHARED).split()
    assert ops == ["edit"]
    assert vault.engine.status()["waiting"] == []
    assert vault.git("status", "--porcelain", "--", "*.md") == ""
    assert not [*vault.root.rglob(".atlas-tmp-*"), *(vault.root / ".atlas" / "pending").iterdir()]
    vault.holds(queries=["agent's paragraph"])


def ingest_one(root: str) -> None:
    with MemoryEngine(root, create=False, resident=False) as engine:
        engine.ingest("The gate mnemonic is heron over slate.")


@pytest.mark.parametrize(
    "death",
    [
        "after atlas.pending:note",
        "before atlas.vault:_create",
        "before atlas.vault:_sync_folder",
        "before atlas.commits:_move",
        "before atlas.pending:fulfilled",
        "before atlas.store:Store.publish",
    ],
)
def test_c3_a_new_memory_tried_again_is_stored_once(vault, death):
    """Who was killed tries again, as one does: the first attempt is finished, the second finds it."""
    settle(vault)
    assert children.start(ingest_one, str(vault.root), dies=death).killed()
    again = vault.engine.ingest("The gate mnemonic is heron over slate.")
    assert (len(again.memories), len(again.duplicates)) == (0, 1)
    (file,) = (vault.root / "memories").rglob("*.md")
    assert vault.git("status", "--porcelain", "--", "*.md") == ""
    subjects = vault.git("log", "--format=%s", "--", str(file.relative_to(vault.root))).splitlines()
    assert len(subjects) == 1
    vault.holds(queries=["gate mnemonic"])


def test_c3_a_torn_intention_is_no_obstacle(vault):
    """A power cut may leave an intention empty, or half of one."""
    pending = vault.root / ".atlas" / "pending"
    pending.mkdir(parents=True)
    (pending / "01J0.json").write_bytes(b"")
    (pending / "01J1.json").write_bytes(b'{"changes": [{"path": "x.md", "da')
    (pending / "01J2.tmp").write_bytes(b"{")
    assert vault.engine.status()["waiting"] == []
    vault.engine.ingest("All goes on.")
    assert vault.engine.ingest("And on.").applied.committed
    vault.holds()


def test_c3_what_a_person_changed_since_is_left_to_them(vault):
    vault.put(SHARED, OLD)
    vault.commit(SHARED)
    assert children.start(append_one, str(vault.root), dies="before atlas.vault:_replace").killed()
    vault.put(SHARED, OLD + "\nA person went on here.\n")
    vault.engine.ingest("Any next write.")
    assert (vault.root / SHARED).read_text() == OLD + "\nA person went on here.\n"
    assert vault.git("show", f"HEAD:{SHARED}") == OLD
    assert vault.engine.status()["waiting"] == []
    vault.holds()


def write_on_a_full_disk(root: str, room: int) -> list[str]:
    """A process that may not make any file larger than `room`: what it was told about each of its writes."""
    with MemoryEngine(root, create=False, resident=False) as engine:
        engine.search("so that the index is there")
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        writes = [
            lambda: engine.append(SHARED, "word " * room),
            lambda: engine.tag(SHARED, [f"tag-{n}" for n in range(room)]),
            lambda: folder.write(engine.config, SHARED, b"x" * room * 2, folder.blob_id(OLD.encode())),
            lambda: folder.write(engine.config, "new.md", b"x" * room * 2, None),
        ]
        return [_said(write) for write in writes]


def _said(write: Callable[[], object]) -> str:
    try:
        write()
    except OSError as full:
        return os.strerror(full.errno)
    return "done"


def test_c3_a_full_disk_leaves_the_old_note(vault):
    vault.put(SHARED, OLD)
    vault.commit(SHARED)
    said = children.start(write_on_a_full_disk, str(vault.root), 5_000).result()
    assert said == [os.strerror(errno.EFBIG)] * 4
    assert not (vault.root / "new.md").exists()
    assert (vault.root / SHARED).read_text() == OLD
    assert not list(vault.root.rglob(".atlas-tmp-*"))
    assert vault.engine.status()["waiting"] == []
    vault.engine.append(SHARED, "There is room again.")
    assert vault.accept(SHARED).decode() == OLD + "\nThere is room again.\n"
    assert list((vault.root / ".atlas" / "pending").iterdir()) == []
    vault.holds()


# ------------------------------------------------------------------ C4: index.lock is there


def test_c4_a_lock_of_somebody_else_s(vault):
    before = vault.git("rev-parse", "HEAD")
    lock = vault.root / ".git" / "index.lock"
    lock.write_text("somebody's")
    ran = vault.cli("ingest", "The valve was replaced.", "--json")
    assert ran.code == 3
    assert ran.json["committed"] is False
    assert "index.lock" in ran.json["note"]
    assert "Saved, not committed" in ran.err
    (memory,) = ran.json["memories"]
    assert (vault.root / memory["path"]).exists()
    assert vault.first("valve replaced") == memory["path"]
    assert vault.engine.status()["waiting"] == [memory["path"]]
    second = vault.engine.ingest("The boiler was bled.")
    assert not second.applied.committed
    assert lock.read_text() == "somebody's"
    assert vault.git("rev-parse", "HEAD") == before
    lock.unlink()
    assert vault.engine.ingest("The lock is gone.").applied.committed
    # Each was committed once, in the order in which they were said.
    made = vault.git("log", "--reverse", "--format=%s", f"{before.strip()}..HEAD").splitlines()
    assert [line.split()[2] for line in made] == ["valve", "boiler", "lock"]
    assert vault.engine.status()["waiting"] == []
    vault.holds(queries=["valve replaced", "boiler bled"])


def test_c4_a_person_who_never_stops_using_git(vault):
    before = vault.git("rev-parse", "HEAD").strip()
    stop = threading.Event()

    def busy() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            (vault.root / "theirs.txt").write_text(f"{turn}\n")
            for words in (("add", "theirs.txt"), ("status",)):
                subprocess.run(["git", *words], cwd=vault.root, capture_output=True, check=False)

    person = threading.Thread(target=busy)
    person.start()
    try:
        made = [vault.engine.ingest(f"Reading {n}: the river stood at {n * 7} centimetres.") for n in range(20)]
    finally:
        stop.set()
        person.join()
    vault.engine.ingest("One more, when all is quiet.")
    assert all(len(each) == 1 for each in made)
    assert vault.engine.status()["waiting"] == []
    assert vault.git("log", "--format=%(trailers:key=Atlas-Op,valueonly)", f"{before}..").split() == ["ingest"] * 21
    assert "theirs.txt" not in vault.git("log", "--name-only", "--format=")
    vault.left["theirs.txt"] = (vault.root / "theirs.txt").read_bytes()
    vault.stage("theirs.txt")
    vault.holds(queries=["river 49 centimetres"])
