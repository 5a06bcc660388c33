"""W, D1, D4, O3: a watcher in a process of its own, and what editors, Git and file managers do beside it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from filelock import FileLock

from atlas import template

PROJECT = Path(__file__).parents[2]
PATIENCE = 40.0
ID = "01JDXK3Q8ZV5T9W2M4N6P8R0S1"
NOTE = f"---\nid: {ID}\ncreated: 2025-01-02T03:04:05Z\n---\n# Quince\n\n"


class Watching:
    """`atlas watch --json`, and the lines it has printed."""

    def __init__(self, root: Path, *words: str) -> None:
        self.root, self.lines, self.closed = root, [], False
        self.process = subprocess.Popen(
            [*words, sys.executable, "-P", "-m", "atlas", "watch", "--json"],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        assert self.until("start") is self.lines[0]

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
        self.closed = True

    def until(self, event: str, since: int = 0, **wanted: Any) -> dict[str, Any]:
        """The first line of this event, with these values, after the first `since` lines."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not (self.closed and len(self.lines) <= since):
            for line in self.lines[since:]:
                if line["event"] == event and wanted.items() <= line.items():
                    return line
            time.sleep(0.01)
        self.process.kill()
        raise AssertionError(f"no {event} {wanted} after {since}: {self.lines} {self.process.communicate()[1]}")

    def quiet(self, seconds: float = 2.2) -> None:
        """Wait until no line came for so long: longer than anything is held."""
        count = -1
        while count != len(self.lines):
            count = len(self.lines)
            time.sleep(seconds)

    def since(self, mark: int, *events: str) -> list[dict[str, Any]]:
        return [line for line in self.lines[mark:] if not events or line["event"] in events]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return code


@pytest.fixture
def watching(vault) -> Iterator[Watching]:
    vault.put("n.md", NOTE + "The first text.\n")
    vault.put("plain.md", "A note without an id: heron.\n")
    vault.commit("n.md", "plain.md")
    run = Watching(vault.root)
    run.quiet(0.3)
    yield run
    if run.process.poll() is None:
        assert run.end() == 0
    assert run.process.stderr
    assert run.process.stderr.read() == ""
    for stream in (run.process.stdin, run.process.stdout, run.process.stderr):
        stream.close()


def rows(root: Path, column: str = "ident") -> dict[str, Any]:
    """What the index says, without a look at the folder: path → the value of one column."""
    query = f"SELECT path, {column} FROM listing LEFT JOIN notes USING (note)"
    file = root / ".atlas" / "index.duckdb"
    with FileLock(root / ".atlas" / "index.lock"), duckdb.connect(str(file), read_only=True) as con:
        return dict(con.execute(query).fetchall())


def texts(root: Path, path: str) -> str:
    query = "SELECT c.text FROM listing l JOIN chunks c USING (note) WHERE path = ? ORDER BY seq"
    file = root / ".atlas" / "index.duckdb"
    with FileLock(root / ".atlas" / "index.lock"), duckdb.connect(str(file), read_only=True) as con:
        return " ".join(text for (text,) in con.execute(query, [path]).fetchall())


# -------------------------------------------------------------------- W1: six ways to save


def in_place(place: Path, text: str) -> None:
    """Over the old bytes, then cut to length."""
    with place.open("r+b") as file:
        file.write(text.encode())
        file.truncate()


def truncate_then_write(place: Path, text: str) -> None:
    """Emptied first, and written in two parts a moment later."""
    with place.open("w") as file:
        file.flush()
        time.sleep(0.15)
        file.write(text[:30])  # within the metadata
        file.flush()
        time.sleep(0.15)
        file.write(text[30:])


def renamed_over(place: Path, text: str) -> None:
    """A temporary file with a dot, renamed over the note."""
    temp = place.with_name(f".{place.name}.tmp1")
    temp.write_text(text)
    temp.replace(place)


def like_vim(place: Path, text: str) -> None:
    """A file that tries the folder out, the note renamed away, a new one written, the backup deleted."""
    trial, backup = place.with_name("4913"), place.with_name(f"{place.name}~")
    trial.write_text("")
    trial.unlink()
    place.rename(backup)
    time.sleep(0.1)
    place.write_text(text)
    backup.unlink()


def like_jetbrains(place: Path, text: str) -> None:
    """The new text beside it, the note renamed away, the new one to its place."""
    new, old = place.with_name(f"{place.name}___jb_tmp___"), place.with_name(f"{place.name}___jb_old___")
    new.write_text(text)
    place.rename(old)
    time.sleep(0.1)
    new.rename(place)
    old.unlink()


def deleted_and_recreated(place: Path, text: str) -> None:
    place.unlink()
    time.sleep(0.3)
    place.write_text(text)


STYLES: list[Callable[[Path, str], None]] = [
    in_place, truncate_then_write, renamed_over, like_vim, like_jetbrains, deleted_and_recreated,
]  # fmt: skip


def test_w1_a_note_saved_in_six_ways_is_never_gone_and_never_new(vault, watching):
    """With an id in the file and without one: id, time and links hold; the last text is there within two seconds."""
    vault.put("link.md", "See [[n]] and [[plain]].\n")
    watching.until("refresh", added=1)
    before, created = rows(vault.root), rows(vault.root, "created")
    for number, style in enumerate(STYLES):
        for path, head in (("n.md", NOTE), ("plain.md", "")):
            mark, text = len(watching.lines), f"{head}Text {number} by {style.__name__}.\n"
            style(vault.root / path, text)
            saved = time.monotonic()
            while f"Text {number} by" not in texts(vault.root, path):
                assert time.monotonic() - saved < 10, (style.__name__, watching.since(mark))
                time.sleep(0.02)
            vault.left[path] = text.encode()
            assert rows(vault.root) == before, style.__name__
    watching.quiet()
    lines = watching.since(1, "refresh", "error")
    assert {(line["event"], line["removed"]) for line in lines} == {("refresh", 0)}
    assert sum(line["added"] for line in lines) == 1
    assert sum(line["changed"] for line in lines) >= 2 * len(STYLES)
    assert rows(vault.root) == before
    assert {path: rows(vault.root, "created")[path] for path in ("n.md", "link.md")} == {
        path: created[path] for path in ("n.md", "link.md")
    }
    assert vault.git("status", "--porcelain", "n.md", "plain.md") == " M n.md\n M plain.md\n"
    vault.holds()


def test_w1_debris_of_editors_is_no_row_no_line_and_no_error(vault, watching):
    mark = len(watching.lines)
    (vault.root / ".#n.md").symlink_to("user@host.1:2")
    for name in ("#n.md#", "n.md~", ".n.md.swp", "~$n.md", "n.md.tmp", "4913", "n.md___jb_old___"):
        (vault.root / name).write_text("debris\n")
    (vault.root / "gone.md").symlink_to("nowhere")
    vault.put("sign.md", "Written after the debris.\n")
    watching.until("refresh", mark, added=1)
    watching.quiet()
    assert [line["added"] for line in watching.since(mark)] == [1]
    assert set(rows(vault.root)) == {path for path in vault.left if path.endswith(".md")}
    assert {f.path for f in vault.findings()} == {"gone.md"}
    for name in (".#n.md", "#n.md#", "n.md~", ".n.md.swp", "~$n.md", "n.md.tmp", "4913", "n.md___jb_old___", "gone.md"):
        (vault.root / name).unlink()
    vault.holds()


# ------------------------------------------------------------ W2, W3: folders


def test_w2_folders_created_full(vault, watching):
    mark = len(watching.lines)
    for n in range(200):
        vault.put(f"d{n}/e/n.md", f"x {n}\n")
    prepared = vault.root.with_name("prepared")
    for n in range(20):
        (prepared / "deep" / str(n)).mkdir(parents=True)
        (prepared / "deep" / str(n) / "p.md").write_text(f"prepared {n}\n")
        vault.left[f"moved/deep/{n}/p.md"] = f"prepared {n}\n".encode()
    prepared.rename(vault.root / "moved")
    watching.quiet()
    assert sum(line["added"] for line in watching.since(mark)) == 220
    assert set(rows(vault.root)) == {path for path in vault.left if path.endswith(".md")}
    mark = len(watching.lines)
    vault.put("d7/e/later.md", "Written later into a folder that came full.\n")
    watching.until("refresh", mark, added=1)


def test_w2_a_checkout_of_many_notes_and_back(vault, watching):
    before = rows(vault.root)
    vault.git("switch", "--quiet", "-c", "other")
    for n in range(500):
        (vault.root / f"many/{n // 25}").mkdir(parents=True, exist_ok=True)
        (vault.root / f"many/{n // 25}/{n}.md").write_text(f"Note {n} of many.\n")
    vault.git("add", "many")
    vault.git("commit", "-qm", "many", "--", "many")
    watching.quiet()
    vault.git("switch", "--quiet", "main")
    end = time.monotonic() + 20
    while rows(vault.root) != before and time.monotonic() < end:
        time.sleep(0.02)
    assert rows(vault.root) == before
    watching.quiet()
    vault.git("switch", "--quiet", "other")
    end = time.monotonic() + 20
    while len(rows(vault.root)) < len(before) + 500 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(rows(vault.root)) == len(before) + 500
    watching.quiet()
    counts = [(sum(line[key] for line in watching.since(1, "refresh"))) for key in ("added", "removed")]
    assert counts == [1000, 500]


def test_w3_folders_moved_and_removed(vault, watching):
    for n in range(3):
        vault.put(f"area/{n}.md", f"---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0A{n}\n---\nIn the area.\n")
    vault.put("area/bare.md", "Without an id, see [[0]].\n")
    vault.commit(*(path for path in vault.left if path.startswith("area/")))
    watching.quiet()
    before, outside = rows(vault.root), vault.root.with_name("outside")
    inside = {path: id for path, id in before.items() if path.startswith("area/")}

    def wait(wanted: dict[str, str]) -> None:
        end = time.monotonic() + 20
        while (now := rows(vault.root)) != wanted and time.monotonic() < end:
            time.sleep(0.05)
        assert now == wanted

    area = vault.root / "area"
    area.rename(outside)
    without = {path: id for path, id in before.items() if path not in inside}
    wait(without)
    outside.rename(area)
    wait(before)
    area.rename(vault.root / "area2")
    wait({**without, **{path.replace("area/", "area2/"): id for path, id in inside.items()}})
    shutil.rmtree(vault.root / "area2")
    wait(without)
    (vault.root / ".trash").mkdir()
    (vault.root / "plain.md").rename(vault.root / ".trash" / "plain.md")
    wait({path: id for path, id in without.items() if path != "plain.md"})
    assert vault.git("log", "--diff-filter=D", "--format=%H") == ""
    assert watching.since(1, "error") == []


def test_w3_a_note_deleted_by_hand_goes_at_the_second_sighting(vault, watching):
    mark = len(watching.lines)
    vault.put("sign.md", "Saved in the same moment.\n")
    vault.drop("plain.md")
    assert watching.until("refresh", mark, added=1)["removed"] == 0
    assert watching.until("refresh", mark, removed=1)["lag"] >= 1.4
    vault.git("rm", "-q", "--force", "n.md")
    del vault.left["n.md"]
    assert watching.until("refresh", mark + 2, removed=1)["lag"] < 1.4
    vault.git("reset", "--quiet", "--", "n.md")
    vault.holds({("n.md", 0, "missing"), ("plain.md", 0, "missing")})


# ----------------------------------------------------------- W4, O3: it does not wake itself


def test_w4_o3_nothing_but_notes_leads_to_work(vault, watching):
    """Reading notes, application folders, the vault's own commits and searches: not one line, not one refresh."""
    mark, state = len(watching.lines), vault.root / ".atlas" / "watch.json"
    written = state.stat().st_mtime_ns
    places = (
        ".obsidian/plugins/p/r.md",
        ".trash/t.md",
        ".smart-env/s.md",
        "logseq/bak/b.md",
        "node_modules/m.md",
    )
    for path in places:
        (vault.root / path).parent.mkdir(parents=True, exist_ok=True)
        (vault.root / path).write_text("No memory.\n")
    for n in range(20):
        (vault.root / ".obsidian" / "workspace.json").write_text(json.dumps({"n": n}))
        (vault.root / "n.md").read_text()
        (vault.root / ".git" / "atlas-test").write_text(str(n))
        time.sleep(0.05)
    vault.cli("search", "beans")
    watching.quiet()
    assert watching.since(mark) == []
    assert state.stat().st_mtime_ns == written
    assert set(rows(vault.root)) == {path for path in vault.left if path.endswith(".md")}
    assert vault.cli("status", "--json").json["watcher"]["refreshes"] == 1
    for path in (".obsidian", ".trash", ".smart-env", "logseq", "node_modules"):
        shutil.rmtree(vault.root / path)
    vault.holds()


def test_w4_a_file_being_typed_in_is_never_written(vault, watching):
    """An editor that saves every moment: one line for each save that was seen, no write, no commit."""
    head, place = vault.git("rev-parse", "HEAD"), vault.root / "plain.md"
    for n in range(12):
        place.write_text("word " * (n + 1) + "\n")
        own = place.stat()
        time.sleep(0.2)
        now = place.stat()
        assert (own.st_mtime_ns, own.st_ino) == (now.st_mtime_ns, now.st_ino)
    vault.left["plain.md"] = place.read_bytes()
    watching.quiet()
    lines = watching.since(1, "refresh")
    assert {(line["added"], line["changed"], line["removed"]) for line in lines} == {(0, 1, 0)}
    assert len(lines) <= 12
    assert vault.git("rev-parse", "HEAD") == head
    vault.holds()


# ------------------------------------------------------------- W5: it does not go blind


def test_w5_the_folder_goes_and_comes_back(vault, watching):
    """Renamed away (an unmounted disk), then deleted and restored from a copy: never "all deleted"."""
    before, away = rows(vault.root), vault.root.with_name("away")
    vault.root.rename(away)
    watching.until("root-missing")
    vault.root.mkdir()
    time.sleep(1.5)
    assert list(vault.root.iterdir()) == []
    vault.root.rmdir()
    mark = len(watching.lines)
    away.rename(vault.root)
    watching.until("back", mark)
    vault.put("n.md", NOTE + "After the disk was mounted again.\n")
    watching.until("refresh", mark, changed=1)
    shutil.copytree(vault.root, away, symlinks=True, ignore=shutil.ignore_patterns(".atlas-tmp-*"))
    mark = len(watching.lines)
    shutil.rmtree(vault.root)
    watching.until("root-missing", mark)
    assert not vault.root.exists()
    away.rename(vault.root)
    watching.until("back", mark)
    vault.put("n.md", NOTE + "After it was restored.\n")
    end = time.monotonic() + 20
    while "After it was restored" not in texts(vault.root, "n.md") and time.monotonic() < end:
        time.sleep(0.02)
    assert "After it was restored" in texts(vault.root, "n.md")
    watching.quiet()
    assert rows(vault.root) == before
    assert {line["removed"] for line in watching.since(1)} == {0}
    assert vault.cli("status", "--json").json["watcher"]["running"]
    vault.holds()


def own_limits() -> list[str]:
    """The words before a command that give it limits of its own, where the system can."""
    alone = ["unshare", "--user", "--map-root-user"]
    if not shutil.which("unshare"):
        return []
    tried = subprocess.run(
        [*alone, "test", "-w", "/proc/sys/user/max_inotify_watches"], capture_output=True, check=False
    )
    return alone if tried.returncode == 0 else []


@pytest.mark.skipif(not own_limits(), reason="limits of their own need a user namespace")
@pytest.mark.parametrize(
    ("limit", "few", "named"),
    [("max_inotify_instances", 0, "max_user_instances"), ("max_inotify_watches", 0, "max_user_watches"),
     ("max_inotify_watches", 24, "max_user_watches")],
)  # fmt: skip
def test_w5_the_kernel_refuses(vault, limit, few, named):
    """No instance, no watch, or too few for a folder that comes later: said with the limit's name, and scanned for."""
    file = f"/proc/sys/user/{limit}"
    script = f'echo {few} > {file}; exec 3<&0; (read line <&3; echo 9999 > {file}) & exec "$@"'
    for n in range(few):
        vault.put(f"later/{n}.txt", "no note")
    run = Watching(vault.root, *own_limits(), "sh", "-c", script, "sh")
    for n in range(few):
        vault.put(f"folder{n}/deep/n.md", f"In a folder that came later, {n}.\n")
    said = run.until("degraded")["message"]
    assert f"fs.inotify.{named}" in said
    assert f"sysctl fs.inotify.{named}=" in said
    mark = len(run.lines)
    vault.put("trips/more.md", "Found by a scan.\n")
    vault.put("folder0/deep/later.md", "This one too.\n")
    while sum(line["added"] for line in run.since(mark, "refresh")) < 2:
        run.until("refresh", mark)
        assert run.process.poll() is None
        time.sleep(0.05)
    assert vault.cli("status", "--json").json["watcher"]["mode"] == "degraded"
    assert run.process.stdin
    run.process.stdin.write("enough\n")
    run.process.stdin.flush()
    run.until("events", mark)
    mark = len(run.lines)
    vault.put("folder0/deep/heard.md", "Heard again.\n")
    assert run.until("refresh", mark, added=1)["lag"] < 1.9
    assert run.end() == 0
    assert [line["event"] for line in run.lines].count("degraded") == 1
    run.process.stdin.close()
    run.process.stdout.close()
    run.process.stderr.close()


# ------------------------------------------------------------------ one watcher, in order


def test_a_second_watcher_says_who_runs_and_exits_4(vault, watching):
    ran = vault.cli("watch")
    assert (ran.code, ran.out) == (4, "")
    assert f"process {watching.process.pid}" in ran.err
    state = vault.cli("status", "--json").json["watcher"]
    assert (state["running"], state["pid"], state["mode"]) == (True, watching.process.pid, "events")
    watching.process.kill()
    watching.process.wait()
    assert vault.cli("status", "--json").json["watcher"] == {"running": False}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_in_order(vault, number, code):
    run = Watching(vault.root)
    assert run.end(number) == code
    assert [line["event"] for line in run.lines] == ["start", "stop"]
    assert run.process.stderr
    assert run.process.stderr.read() == ""
    assert not vault.cli("status", "--json").json["watcher"]["running"]
    for stream in (run.process.stdin, run.process.stdout, run.process.stderr):
        stream.close()


def test_a_person_reads_plain_lines(vault):
    words = [sys.executable, "-P", "-m", "atlas", "watch"]
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(words, cwd=vault.root, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("watching: 3 added, 0 changed, 0 removed in ")
        vault.put("new.md", "New.\n")
        assert process.stdout.readline().startswith("1 added, 0 changed, 0 removed in ")
        process.terminate()
        assert process.wait(PATIENCE) == 0


# ------------------------------------------------------- D1, D2, D4 with a watcher about


def test_d1_searches_and_writes_beside_a_watcher(vault, watching):
    """Five that search and two that remember, while notes are saved: every one succeeds."""
    running = []
    for n in range(5):
        words = ["search", "beans", "--json"] if n % 2 == 0 else ["ingest", f"Heron {n} on the slate."]
        running.append(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "atlas", *words],
                cwd=vault.root,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        vault.put("plain.md", f"Saved meanwhile, {n}.\n")
    for process in running:
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert not out.startswith("{") or json.loads(out)["hits"][0]["path"] == "garden.md"
    watching.quiet()
    assert watching.since(1, "error") == []
    assert "Saved meanwhile, 4" in texts(vault.root, "plain.md")
    vault.holds()


def test_d2_the_index_deleted_under_a_watcher(vault, watching):
    for file in (vault.root / ".atlas").glob("index.duckdb*"):
        file.unlink()
    vault.put("plain.md", "The index was deleted before this.\n")
    watching.until("refresh", 1, added=5)
    assert "deleted before this" in texts(vault.root, "plain.md")
    assert watching.since(1, "error") == []
    vault.holds()


def test_d4_a_part_of_the_vault_that_is_empty_for_a_moment(vault, watching):
    """A mount below the vault that comes late: its notes are neither gone nor new."""
    before, mark = rows(vault.root), len(watching.lines)
    aside = vault.root.with_name("unmounted")
    (vault.root / "trips").rename(aside)
    (vault.root / "trips").mkdir()
    time.sleep(0.7)
    (vault.root / "trips").rmdir()
    aside.rename(vault.root / "trips")
    watching.quiet()
    assert rows(vault.root) == before
    assert [line for line in watching.since(mark) if line["removed"] or line["added"]] == []
    vault.holds()


def test_d4_one_note_changed_says_nothing_of_the_others(vault, watching):
    before = rows(vault.root)
    vault.put("garden.md", "One file of this batch.\n")
    line = watching.until("refresh", 1)
    assert (line["added"], line["changed"], line["removed"], line["memories"]) == (0, 1, 0, len(before))
    assert rows(vault.root) == before


def as_nobody() -> list[str]:
    """The words before a command that take root's rights away, which no folder can refuse."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []


@pytest.mark.skipif(bool(as_nobody()) and not shutil.which("setpriv"), reason="root may read everything")
def test_d4_a_folder_that_cannot_be_read_any_more(make_repo):
    """Its notes keep their rows, however often is looked; the watcher is not degraded for it, and hears the others."""
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        Path(folder).chmod(0o755)
        root = make_repo(Path(folder) / "vault")
        template.create(root)
        (root / "hills").mkdir()
        for path in ("hills/a.md", "open.md"):
            (root / path).write_text(f"Rain in {path}.\n")
        for place in (root, *root.rglob("*")) if as_nobody() else ():
            os.chown(place, 65534, 65534)
        run = Watching(root, *as_nobody())
        (root / "hills").chmod(0)
        for n in range(3):
            mark = len(run.lines)
            (root / "open.md").write_text(f"Rain, number {n}.\n")
            assert run.until("refresh", mark, changed=1)["removed"] == 0
            time.sleep(1)
        assert set(rows(root)) == {"hills/a.md", "open.md"}
        (root / "hills").chmod(0o755)
        assert run.end() == 0
        assert {line["event"] for line in run.lines} == {"start", "refresh", "stop"}
        for stream in (run.process.stdin, run.process.stdout, run.process.stderr):
            stream.close()


def test_a_jump_of_the_clock_changes_nothing(vault, watching):
    """File times far ahead and far behind: what happened is seen, in whatever order the clock puts it."""
    for seconds in (2_000_000_000, 1, 1_900_000_000):
        place = vault.put("plain.md", f"At second {seconds}.\n")
        os.utime(place, (seconds, seconds))
        end = time.monotonic() + 20
        while f"At second {seconds}" not in texts(vault.root, "plain.md") and time.monotonic() < end:
            time.sleep(0.02)
        assert f"At second {seconds}" in texts(vault.root, "plain.md")
    watching.quiet()
    assert {line["removed"] + line["added"] for line in watching.since(1)} == {0}
