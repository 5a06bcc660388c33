"""D: the index is shared, damaged, lost, and offline."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import children
import duckdb
import pytest

from atlas import template
from atlas.engine import MemoryEngine
from atlas.errors import Unavailable

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
