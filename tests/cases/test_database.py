"""D: the index is shared, damaged, lost, offline, looked at in part, and must never answer with old text."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import children
import duckdb
import pytest

from atlas import template
from atlas.config import load
from atlas.engine import MemoryEngine
from atlas.errors import NotAVault, Unavailable
from atlas.survey import survey

PROJECT = Path(__file__).parents[2]
NOBODY = 65534


# ------------------------------------------------------------------ D1: locked by another process


def ask(root: str, times: int, resident: bool) -> int:
    """A process that searches; how often it found the kettle."""
    with MemoryEngine(root, create=False, resident=resident) as engine:
        return sum(engine.retrieve("vinegar")[0].path == "kettle.md" for _ in range(times))


def tell(root: str, who: int, times: int) -> list[str]:
    """A process that remembers."""
    with MemoryEngine(root, create=False, resident=False) as engine:
        return [id for n in range(times) for id in engine.ingest(f"Heron {who} stood on slate {n} for an hour.")]


def test_d1_processes_search_and_remember_at_once(vault):
    askers = [children.start(ask, str(vault.root), 12, resident) for resident in (True, False, False, True, False)]
    tellers = [children.start(tell, str(vault.root), who, 2) for who in range(5)]
    assert [child.result() for child in askers] == [12] * 5
    stored = [id for child in tellers for id in child.result()]
    assert len(set(stored)) == len(stored) == 10
    assert {vault.engine.expand(id).id for id in stored} == set(stored)
    vault.holds(queries=["heron on slate"])


def test_d1_two_engines_of_one_process_with_different_options(vault):
    with (
        MemoryEngine(vault.root, create=False, embedding_model="none", resident=False) as plain,
        MemoryEngine(vault.root, create=False, scope="trips") as trips,
    ):
        for turn in range(2):
            vault.put("trips/diary.md", f"Turn {turn}: the museum was closed.\n")
            assert plain.retrieve("vinegar")[0].path == "kettle.md"
            assert {hit.path for hit in trips.retrieve("closed museum")} <= {"trips/diary.md", "trips/harbour.md"}
            assert "kettle.md" not in {hit.path for hit in trips.retrieve("vinegar")}
            assert vault.hits("closed museum")[0].text.strip() == f"Turn {turn}: the museum was closed."
        plain.ingest("Remembered without vectors: the ferry is blue.")
    vault.holds(queries=["blue ferry"])


# ------------------------------------------------------------------ D2: cannot be opened


def write_and_die(root: str, text: str) -> None:
    with MemoryEngine(root, create=False, resident=False) as engine:
        (Path(root) / "new.md").write_text(text)
        engine.refresh()


def leave_a_log(vault) -> Path:
    """A process dies with the database open: what it did last is in the log beside it."""
    vault.engine.refresh()
    child = children.start(write_and_die, str(vault.root), "Wombats dig.\n", dies="before atlas.store:Store._detach")
    assert child.killed()
    vault.left["new.md"] = b"Wombats dig.\n"
    log = vault.root / ".atlas" / "index.duckdb.wal"
    assert log.stat().st_size > 100
    return log


@pytest.mark.parametrize("damage", ["none", "half", "garbage", "empty"])
def test_d2_the_log_of_a_killed_process(vault, damage):
    log = leave_a_log(vault)
    data = log.read_bytes()
    log.write_bytes(
        {"none": data, "half": data[: len(data) // 2], "garbage": b"\x07" * len(data), "empty": b""}[damage]
    )
    assert vault.first("wombats") == "new.md"
    assert not log.exists()
    vault.holds(queries=["wombats"])


def newer(file: Path) -> None:
    """The storage format of a version to come."""
    data = bytearray(file.read_bytes())
    assert data[8:12] == b"DUCK"
    data[12:20] = struct.pack("<Q", 9_999)
    file.write_bytes(data)


def garble(file: Path) -> None:
    file.write_bytes(os.urandom(30_000))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:20_000])


def halve(file: Path) -> None:
    """DuckDB opens its first half, and stumbles only over what is missing."""
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def forget_tables(file: Path) -> None:
    with duckdb.connect(str(file)) as con:
        con.execute("DROP TABLE meta")


@pytest.mark.parametrize("damage", [newer, garble, empty, shorten, halve, forget_tables])
def test_d2_a_database_that_cannot_be_used(vault, damage):
    """Moved aside, built anew from the notes, one line said; the living engine follows."""
    vault.first("beans")
    damage(vault.root / ".atlas" / "index.duckdb")
    with MemoryEngine(vault.root, create=False, resident=False) as fresh:
        assert fresh.retrieve("vinegar")[0].path == "kettle.md"
        (line,) = fresh.said()
        assert "rebuilt from the notes" in line
        assert fresh.retrieve("beans")[0].path == "garden.md"
        assert fresh.said() == []
    assert len(list((vault.root / ".atlas").glob("broken-*.duckdb"))) == 1
    vault.holds()


def test_d2_a_good_database_is_never_taken_for_a_damaged_one(vault):
    """Rows come and go, so the file has free blocks, inside and at its end."""
    for n in range(12):
        for m in range(20):
            vault.put(f"bulk/{m}.md", f"# Bulk {m}\n\n" + f"Round {n} of the heron {m}. " * (300 if n % 3 else 3))
        vault.engine.refresh()
    token = vault.engine.status()["index"]["generation"].partition(":")[0]
    for m in range(20):
        vault.drop(f"bulk/{m}.md")
    vault.first("beans")
    assert vault.engine.said() == []
    assert vault.engine.status()["index"]["generation"].startswith(token)
    vault.holds()


def test_d2_a_rotten_block_is_found_when_it_is_read(vault):
    """A search that meets it says so, and the next one has an index again."""
    vault.first("beans")
    file = vault.root / ".atlas" / "index.duckdb"
    data = bytearray(file.read_bytes())
    place = data.find(b"Descale the kettle")
    assert place > 0
    data[place] ^= 1
    file.write_bytes(data)
    with MemoryEngine(vault.root, create=False, resident=False) as fresh:
        with pytest.raises(Unavailable, match="damaged"):
            fresh.retrieve("vinegar")
        assert fresh.retrieve("vinegar")[0].path == "kettle.md"
        assert "rebuilt from the notes" in fresh.said()[0]
    vault.holds()


def test_d2_the_command_line_says_one_line_and_goes_on(vault):
    vault.first("beans")
    garble(vault.root / ".atlas" / "index.duckdb")
    ran = vault.cli("search", "vinegar", "--json")
    assert (ran.code, ran.json["hits"][0]["path"]) == (0, "kettle.md")
    assert len(ran.err.splitlines()) == 1
    assert "rebuilt from the notes" in ran.err


def test_d2_rows_of_another_derivation_are_not_mixed_in(vault):
    vault.first("beans")
    with duckdb.connect(str(vault.root / ".atlas" / "index.duckdb")) as con:
        con.execute("UPDATE meta SET value = 'some other day' WHERE key = 'stamp'")
        con.execute("UPDATE notes SET label = 'derived by another version'")
        con.execute("UPDATE meta SET value = '1000' WHERE key = 'generation'")
    with MemoryEngine(vault.root, create=False, resident=False) as fresh:
        assert fresh.retrieve("vinegar")[0].label == "Kettle"
    vault.holds()


@pytest.mark.parametrize("what", ["index.duckdb", "vectors-*.f32", "generation", "*"])
def test_d2_deleted_under_living_engines(vault, what):
    """Two engines hold the index in memory while files of it vanish: numbers given out anew do not mix with theirs."""
    vault.put("z.md", "Zebras come last by name and first into the index.\n")
    vault.first("zebras")
    vault.put("b.md", "Bison came later.\n")
    vault.first("bison")
    with MemoryEngine(vault.root, create=False) as other:
        assert other.retrieve("bison")[0].path == "b.md"
        for file in (vault.root / ".atlas").glob(what):
            if file.is_file() and not file.name.endswith(".lock"):
                file.unlink()
        vault.put("a.md", "Aardvarks dig at night.\n")
        assert vault.first("aardvarks") == "a.md"
        for query, path in (("aardvarks", "a.md"), ("bison", "b.md"), ("zebras", "z.md"), ("vinegar", "kettle.md")):
            hit = other.retrieve(query)[0]
            assert (hit.path, hit.text) == (path, vault.engine.retrieve(query)[0].text)
    vault.holds(queries=["aardvarks", "bison", "zebras"])


def test_d2_a_renamed_note_keeps_its_id_when_the_vectors_are_lost(vault):
    before = vault.engine.expand("kettle.md").id
    vault.git("mv", "kettle.md", "teapot.md")
    vault.left["teapot.md"] = vault.left.pop("kettle.md")
    vault.git("commit", "-qm", "rename", "--", "kettle.md", "teapot.md")
    assert vault.engine.expand("teapot.md").id == before
    for file in (vault.root / ".atlas").glob("vectors-*.f32"):
        file.unlink()
    vault.put("new.md", "So there is something to do.\n")
    assert vault.engine.expand("teapot.md").id == before
    vault.b2_index_equals_a_rebuilt_one(["vinegar"])


def test_d2_the_log_of_a_database_that_is_gone(vault):
    """The log a killed process left is not replayed into the database that is built in place of a deleted one."""
    leave_a_log(vault)
    (vault.root / ".atlas" / "index.duckdb").unlink()
    assert vault.first("wombats") == "new.md"
    vault.holds(queries=["wombats"])


def test_d2_a_full_folder_of_leftovers_is_swept(vault):
    """What killed builders left behind does not pile up."""
    state = vault.root / ".atlas"
    child = children.start(write_and_die, str(vault.root), "x\n", dies="before atlas.store:set_meta")
    assert child.killed()
    vault.left["new.md"] = b"x\n"
    assert list(state.glob("index-*.new*"))
    vault.first("beans")
    assert not list(state.glob("index-*.new*"))
    vault.holds()


# ------------------------------------------------------------------ D3: no network

_OFFLINE = """
import sys
def deaf(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"}:
        raise OSError(f"there is no network: {event} {args}")
sys.addaudithook(deaf)
import duckdb
from atlas.engine import MemoryEngine
with MemoryEngine(sys.argv[1]) as engine:
    engine.ingest("The gate mnemonic is heron over slate.")
    engine.refresh(rebuild=True)
    print(engine.retrieve("gate mnemonic")[0].label)
    con = engine._index._store.con
    fetched = "SELECT count(*) FROM duckdb_extensions() WHERE installed AND install_mode <> 'STATICALLY_LINKED'"
    print(con.execute(fetched).fetchone())
    print(len(engine.history()))
"""


def test_d3_everything_works_without_a_network(tmp_path, make_repo):
    root, home = tmp_path / "vault", tmp_path / "fresh home"
    home.mkdir()
    alone = ["unshare", "--map-root-user", "--net"]
    cut_off = (
        shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    )
    dead = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    make_repo(root)
    shutil.copytree(root / ".git", tmp_path / "git")
    shutil.rmtree(root)
    template.create(root)
    shutil.copy(tmp_path / "git" / "config", root / ".git" / "config")
    words = [*(alone if cut_off else []), sys.executable, "-P", "-c", _OFFLINE, str(root)]
    env = {**os.environ, **dead, "HOME": str(home), "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["The gate mnemonic is heron over slate", "(0,)"]
    assert list(home.iterdir()) == []


# ------------------------------------------------------------------ D4: a look at a part


def test_d4_run_from_a_subfolder(vault):
    before = vault.engine.refresh().memories
    for words in (("search", "vinegar"), ("index", "--full")):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "atlas", *words],
            cwd=vault.root / "trips",
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert vault.engine.stats()["memories"] == before
    vault.holds()


def test_d4_a_word_about_two_files_says_nothing_of_the_others(vault):
    vault.engine.validate(["garden.md", "kettle.md"])
    vault.cli("validate", "trips/harbour.md")
    vault.engine.adopt(["garden.md"])
    vault.accept("garden.md")
    assert vault.engine.stats()["memories"] == 3
    vault.holds()


def found(engine: MemoryEngine) -> list[str]:
    """The hand-written notes about rain."""
    return sorted(hit.path for hit in engine.retrieve("rain in the hills") if not hit.path.startswith("memories/"))


def look_without_rights(root: str) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """As somebody who may not read one folder: what is found before and after, and what status says."""
    with MemoryEngine(root, create=False) as engine:
        before = found(engine)
        (Path(root) / "hills").chmod(0)
        engine.ingest("Something new, so that there is a change: rain is expected.")
        (Path(root) / "open.md").write_text("The rain changed.\n")
        after = found(engine)
        said = [(f.path, f.kind) for f in engine.status()["findings"]]
        engine.refresh(full=True)
        assert found(engine) == after
    return before, after, said


def without_root(root: str) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Root may read everything, so root becomes nobody; whoever is not root already may not."""
    if os.geteuid():
        return look_without_rights(root)
    with MemoryEngine(root, create=False) as engine:
        engine.ingest("Rain was here before, so that all is loaded that root's own folders hold.")
        engine.status()
    for place in (Path(root).parent, Path(root), *Path(root).rglob("*")):
        os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    return look_without_rights(root)


def test_d4_a_folder_that_cannot_be_read_is_unknown_not_empty(make_repo, git):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        root = make_repo(Path(folder) / "vault")
        template.create(root)
        (root / "hills").mkdir()
        (root / "hills" / "a.md").write_text("Rain in the hills.\n")
        (root / "open.md").write_text("Rain in the valley.\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "notes")
        before, after, said = children.start(without_root, str(root)).result()
        (root / "hills").chmod(0o755)
        for place in (root, *root.rglob("*")):
            os.chown(place, os.geteuid(), os.getegid(), follow_symlinks=False)
        assert before == after == ["hills/a.md", "open.md"]
        assert ("hills/", "unreadable") in said
        assert git(root, "log", "--diff-filter=D", "--format=%H") == ""
        with MemoryEngine(root, create=False) as engine:
            assert engine.refresh().removed == 0
            assert [f for f in engine.status()["findings"] if f.kind == "unreadable"] == []


def test_d4_a_disk_that_is_not_there_for_a_moment(vault):
    """An unmounted disk leaves an empty folder behind: that is not a vault without notes."""
    vault.first("beans")
    gone = vault.root.with_name("unmounted")
    vault.root.rename(gone)
    vault.root.mkdir()
    for ask_it in (lambda: vault.first("beans"), vault.engine.refresh, vault.engine.status):
        with pytest.raises(NotAVault):
            ask_it()
    with pytest.raises(NotAVault):
        vault.engine.ingest("This must not make a vault of the mount point.")
    ran = vault.cli("search", "beans")
    assert ran.code == 1
    assert not list(vault.root.glob("*.md"))
    shutil.rmtree(vault.root)
    gone.rename(vault.root)
    assert vault.engine.refresh().removed == 0
    vault.holds()


def test_d4_without_its_marker_nothing_is_taken_for_deleted(vault):
    vault.first("beans")
    (vault.root / "atlas.toml").rename(vault.root / "elsewhere.toml")
    with pytest.raises(NotAVault):
        vault.engine.refresh()
    (vault.root / "elsewhere.toml").rename(vault.root / "atlas.toml")
    assert vault.engine.refresh().removed == 0
    vault.holds()


def test_d4_an_empty_mount_inside_the_vault_is_said_and_forgets_nothing(vault):
    """Only the whole disk can be told from deletion; a part that is empty is named, and never committed."""
    before = vault.engine.expand("trips/harbour.md").id
    (vault.root / "trips").rename(vault.root.with_name("unmounted"))
    (vault.root / "trips").mkdir()
    vault.engine.ingest("Something else is remembered meanwhile.")
    assert ("trips/harbour.md", 0, "missing") in vault.named()
    assert vault.git("log", "--diff-filter=D", "--format=%H") == ""
    assert vault.git("ls-files", "trips") == "trips/harbour.md\n"
    (vault.root / "trips").rmdir()
    vault.root.with_name("unmounted").rename(vault.root / "trips")
    assert vault.engine.expand("trips/harbour.md").id == before
    vault.holds()


def test_d4_a_survey_says_what_it_could_not_see(vault, monkeypatch):
    """The same through the one function that looks, for those who cannot take rights away from themselves."""
    config = load(vault.root)
    real = os.scandir

    def refusing(place):
        if Path(place).name == "trips":
            raise PermissionError(13, "Permission denied", str(place))
        return real(place)

    vault.first("lighthouse")
    monkeypatch.setattr(os, "scandir", refusing)
    look = survey(config)
    assert look.unknown == ("trips/",)
    assert "trips/harbour.md" not in look.files
    report = vault.engine.refresh(full=True)
    assert report.removed == 0
    assert vault.first("lighthouse") == "trips/harbour.md"
    monkeypatch.undo()
    vault.holds()


# ------------------------------------------------------------------ D5: old text still answers


def test_d5_no_search_answers_with_old_text(vault):
    """No watcher runs: every search, of every kind of engine, sees the folder as it is now."""
    with MemoryEngine(vault.root, create=False, resident=False) as fresh:

        def found(query: str) -> set[str]:
            texts = [{(h.path, h.text) for h in engine.retrieve(query)} for engine in (vault.engine, fresh)]
            assert texts[0] == texts[1]
            return {path for path, text in texts[0] if query in text}

        for name in ("edited", "deleted", "emptied", "blanked", "renamed"):
            vault.put(f"{name}.md", f"# {name.title()}\n\nHere {name}quagga grazes.\n")
        assert {name: found(f"{name}quagga") for name in ("edited", "renamed")} == {
            "edited": {"edited.md"},
            "renamed": {"renamed.md"},
        }
        vault.put("edited.md", "# Edited\n\nHere editednarwhal swims.\n")
        vault.drop("deleted.md")
        vault.put("emptied.md", "")
        vault.put("blanked.md", "---\nkind: fact\n---\n\n***\n")
        (vault.root / "renamed.md").rename(vault.root / "other.md")
        vault.left["other.md"] = vault.left.pop("renamed.md")
        for name in ("edited", "deleted", "emptied", "blanked"):
            assert found(f"{name}quagga") == set()
        assert found("editednarwhal") == {"edited.md"}
        assert found("renamedquagga") == {"other.md"}
        gone = {hit.path for hit in fresh.retrieve("deletedquagga grazes", k=50)}
        assert gone.isdisjoint({"deleted.md", "renamed.md"})
    vault.holds(queries=["quagga", "narwhal"])


def test_d5_an_edit_that_keeps_size_and_time_is_seen_by_a_full_check(vault):
    """Content decides; size and time only hint, and are fooled by a tool that sets both back."""
    place = vault.put("clock.md", "The clock says one.\n")
    then = place.stat().st_mtime_ns
    vault.first("clock")
    vault.put("clock.md", "The clock says two.\n")
    os.utime(place, ns=(then, then))
    vault.engine.refresh(full=True)
    assert vault.hits("clock says")[0].text.strip() == "The clock says two."
    vault.holds()
