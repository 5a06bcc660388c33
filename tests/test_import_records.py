"""Records of mem0, JSON lists and tables: each a memory that keeps the id it had, once."""

from __future__ import annotations

import json

import pytest
from foreign import mem0_memory, write_json, zipped
from shell import atlas, new_vault
from support import write

from atlas import MemoryEngine, importers, intake
from atlas.errors import UsageError
from atlas.importers import Skipped
from atlas.importers.given import opened
from atlas.ingest import Request

TEXTS = ["Ana prefers tea to coffee.", "Staging listens on port 5433.", "The mill was built in 1764."]


def found(place, columns=None, name=""):
    """The format of a file, its records, and what was left out."""
    with opened(place, columns) as given:
        source = name or importers.detected(given)
        said = list(importers.reader(source).read(given))
    return source, [r for r in said if isinstance(r, Request)], [s for s in said if isinstance(s, Skipped)]


def bring(vault, place, *words):
    said = atlas("import", str(place), *words, "--json", cwd=vault)
    assert said.code == 0, said.err
    return said.json


def stored(vault):
    return {p.relative_to(vault).as_posix(): p.read_text("utf-8") for p in vault.rglob("memories/**/*.md")}


@pytest.fixture
def vault(tmp_path):
    return new_vault(tmp_path / "vault")


# ------------------------------------------------------------------------ mem0


@pytest.mark.parametrize("shape", ["list", "results", "paged", "zip"])
def test_every_shape_of_mem0(tmp_path, shape):
    rows = [mem0_memory(f"u{n}", text) for n, text in enumerate(TEXTS)]
    rows[0] |= {
        "categories": ["food and drink", "preferences"],
        "metadata": {"category": "taste", "type": "preference"},
    }
    rows[1] |= {"user_id": None, "agent_id": "ops bot", "created_at": None}
    value = {"list": rows, "results": {"results": rows, "relations": [{"source": "ana", "relationship": "likes"}]},
             "paged": {"count": 3, "next": None, "previous": None, "results": rows}, "zip": rows}[shape]  # fmt: skip
    place = (
        zipped(tmp_path / "m.zip", {"memories.json": value}) if shape == "zip" else write_json(tmp_path / "m", value)
    )
    source, requests, left = found(place)
    assert (source, left) == ("mem0", [])
    assert [r.text for r in requests] == TEXTS
    assert [r.source for r in requests] == ["mem0:u0", "mem0:u1", "mem0:u2"]
    assert requests[0].tags == ("food-and-drink", "preferences", "taste", "user/ana")
    assert (requests[0].kind, requests[1].kind) == ("preference", None)
    assert requests[1].tags == ("agent/ops-bot",)
    assert requests[0].created.isoformat() == "2026-01-01T12:00:00.123456+00:00"
    assert requests[1].created.isoformat() == "2026-01-02T12:00:00.123456+00:00"


def test_mem0_again_later_and_edited_here(tmp_path, vault, git):
    rows = [mem0_memory(f"u{n}", text) for n, text in enumerate(TEXTS)]
    place = write_json(tmp_path / "mem0.json", {"results": rows})
    first = bring(vault, place)
    assert (first["imported"], first["skipped"]) == (3, [])
    assert (first["report"]["source"], first["report"]["found"]) == ("mem0", 3)
    assert git(vault, "show", "--name-only", "--format=", first["commit"]).count(".md") == 3
    paths = stored(vault)
    assert all(path.startswith("memories/2026/01/") for path in paths)
    head = git(vault, "rev-parse", "HEAD")
    again = bring(vault, place)
    assert (again["imported"], again["report"]["here"], again["report"]["left_out"]) == (0, 3, [])
    assert git(vault, "rev-parse", "HEAD") == head
    loud = atlas("import", str(place), cwd=vault)
    assert loud.err == "Read as mem0: 3 records.\n3 memories here already.\n"

    tea = next(path for path, text in paths.items() if "tea" in text)
    write(vault, tea, paths[tea].replace("tea to coffee", "green tea to all else"))
    rows[1]["memory"] = "Staging listens on port 6000."
    write_json(place, {"results": [*rows, mem0_memory("u3", "The bees are behind the mill.")]})
    more = bring(vault, place)
    assert more["imported"] == 1
    assert sorted(s["path"] for s in more["skipped"] if "overwrite" in s["reason"]) == ["mem0:u0", "mem0:u1"]
    now = stored(vault)
    assert "green tea" in now[tea]
    assert len(now) == 4

    done = bring(vault, place, "--mode", "overwrite")
    assert done["imported"] == 2
    last = stored(vault)
    assert len(last) == 4
    assert "Ana prefers tea to coffee." in last[tea]
    assert any("6000" in text for text in last.values())
    assert not any("5433" in text for text in last.values())
    ids = [line for text in paths.values() for line in text.splitlines() if line.startswith("id:")]
    assert all(any(id in text for text in last.values()) for id in ids)
    assert atlas("undo", cwd=vault).code == 0
    assert "green tea" in stored(vault)[tea]


def test_bad_records_are_named_and_the_others_stored(tmp_path, vault):
    key = "ghp_" + "a1B2" * 9
    rows = [
        mem0_memory("u0", TEXTS[0]),
        mem0_memory("u1", f"The token is {key}."),
        mem0_memory("u2", ""),
        {"id": "u3", "memory": None, "user_id": "ana"},
        mem0_memory("", "No id."),
        "text",
        mem0_memory("u6", "half \ud83d and nul \0 inside"),
        mem0_memory(
            "u7", TEXTS[1], created_at="yesterday", updated_at=float("1e300"), categories={"a": 1}, metadata=[]
        ),
        mem0_memory("u0", "The same id again."),
        mem0_memory("u9", TEXTS[0]),
    ]
    place = tmp_path / "mem0.json"
    place.write_text(json.dumps(rows))
    done = bring(vault, place)
    assert done["imported"] == 3
    assert {s["path"]: s["reason"] for s in done["skipped"]} | {"dup": ""} == {
        "mem0:u1": "it holds what looks like a credential (GitHub Token)",
        "u2": "it has no text",
        "u3": "it has no text",
        "mem0.json, record 5": "it has no id",
        "mem0.json, record 6": "it is no object with named fields",
        "mem0:u0": "it stands in the export twice",
        "mem0:u9": "it is here already",
        "dup": "",
    }
    assert key not in json.dumps(done)
    assert any("half \ufffd and nul \ufffd inside" in text for text in stored(vault).values())


def test_what_no_note_could_hold_is_named(tmp_path, vault):
    write(vault, "atlas.toml", "[vault]\nmax_note_bytes = 1000\n")
    rows = [mem0_memory("u0", TEXTS[0]), mem0_memory("u1", "word " * 300)]
    done = bring(vault, write_json(tmp_path / "mem0.json", rows))
    assert (done["imported"], [s["path"] for s in done["skipped"]]) == (1, ["mem0:u1"])
    (tmp_path / "n").mkdir()
    write(tmp_path, "n/large.md", "word " * 300)
    assert bring(vault, tmp_path / "n")["skipped"][0]["reason"] == "it is larger than `vault.max_note_bytes`"


def test_what_the_gate_refuses_is_named_one_by_one(tmp_path, vault):
    place = write_json(tmp_path / "mem0.json", [mem0_memory(f"u{n}", text) for n, text in enumerate(TEXTS)])
    done = bring(vault, place, "--scope", "/".join(["x" * 250] * 4))
    assert done["imported"] == 0
    assert [s["path"] for s in done["skipped"]] == ["mem0:u0", "mem0:u1", "mem0:u2"]
    assert len(done["report"]["left_out"]) == 1
    assert stored(vault) == {}


def test_a_file_that_ends_too_soon_gives_what_it_has(tmp_path, vault):
    text = json.dumps({"results": [mem0_memory(f"u{n}", text) for n, text in enumerate(TEXTS)]})
    place = tmp_path / "mem0.json"
    place.write_text(text[: text.rindex("1764")])
    done = bring(vault, place)
    assert done["imported"] == 2
    assert [s["path"] for s in done["skipped"]] == ["mem0.json, record 3"]
    assert "ends in the middle" in done["skipped"][0]["reason"]


def test_a_dry_run_writes_nothing(tmp_path, vault, git):
    place = write_json(tmp_path / "mem0.json", [mem0_memory("u0", TEXTS[0]), mem0_memory("u1", "")])
    head = git(vault, "rev-parse", "HEAD")
    done = bring(vault, place, "--dry-run")
    assert (done["imported"], len(done["skipped"]), done["dry_run"]) == (1, 1, True)
    assert (stored(vault), git(vault, "rev-parse", "HEAD")) == ({}, head)
    assert git(vault, "status", "--porcelain") == ""
    assert "1 memory would be imported" in atlas("import", str(place), "--dry-run", cwd=vault).out


# --------------------------------------------------------- lists and tables


def test_lines_of_json_by_their_usual_names(tmp_path):
    rows = [
        {"id": 7, "content": TEXTS[0], "created_at": 1_767_268_800, "tags": ["a b", "#c"], "type": "Preference"},
        {"_id": "x", "Text": TEXTS[1], "timestamp": "1767268800000", "metadata": {"tags": "x; y", "source": "talk.md"}},
        {"text": TEXTS[2], "date": "someday", "importance": "0.9", "title": "The mill"},
    ]
    place = tmp_path / "notes.jsonl"
    place.write_text("\n".join(json.dumps(row) for row in rows) + '\n{"text": "cut\n\n"just words"\n{"other": 1}\n')
    source, requests, left = found(place)
    assert source == "jsonl"
    assert [r.text for r in requests] == [*TEXTS, "just words"]
    assert [r.source for r in requests[:2]] == ["notes.jsonl#7", "talk.md#x"]
    assert requests[0].created == requests[1].created
    assert requests[0].created.isoformat() == "2026-01-01T12:00:00+00:00"
    assert [r.tags for r in requests[:2]] == [("a-b", "c"), ("x", "y")]
    assert (requests[0].kind, requests[2].importance, requests[2].label) == ("preference", 0.9, "The mill")
    assert [(s.what, s.kept) for s in left] == [
        ("notes.jsonl, line 3", True), ("notes.jsonl, line 4", False), ("notes.jsonl, line 7", False)]  # fmt: skip


@pytest.mark.parametrize("wrap", [list, lambda rows: {"version": 1, "items": rows}])
def test_a_list_in_json(tmp_path, wrap):
    place = write_json(tmp_path / "notes.json", wrap([{"text": text} for text in TEXTS]))
    source, requests, left = found(place)
    assert (source, [r.text for r in requests], left) == ("jsonl", TEXTS, [])


def test_a_list_of_texts(tmp_path):
    source, requests, left = found(write_json(tmp_path / "notes.json", [TEXTS[0], '"quoted" \\ one', 7, TEXTS[1]]))
    assert (source, [r.text for r in requests]) == ("jsonl", [TEXTS[0], '"quoted" \\ one', TEXTS[1]])
    assert [s.what for s in left] == ["notes.json, record 3"]
    assert len({r.source for r in requests}) == 3


@pytest.mark.parametrize(
    ("name", "sign", "encoding"),
    [("t.csv", ",", "utf-8"), ("t.csv", ";", "utf-8-sig"), ("t.tsv", "\t", "utf-16"), ("t.txt", "|", "cp1252")],
)
def test_tables_in_any_spelling(tmp_path, name, sign, encoding):
    place = tmp_path / name
    rows = [["Id", "Created At", "Memory", "Tags"], ["1", "2026-01-01", f'"Caf{chr(233)}{sign}\r\nand ""more"""', "a"],
            ["2", "", "Plain.", ""], [], ["3", "2026-01-02", "  ", ""], ["4", "", "Two.", "", "over"]]  # fmt: skip
    place.write_bytes("\r\n".join(sign.join(row) for row in rows).encode(encoding))
    source, requests, left = found(place)
    assert source == "csv"
    assert [r.text for r in requests] == [f'Café{sign}\r\nand "more"', "Plain."]
    assert requests[0].source == f"{name}#1"
    assert requests[0].created.isoformat() == "2026-01-01T00:00:00+00:00"
    assert [s.reason for s in left] == ["it has no text", "it has more cells than the table has columns"]


def test_a_row_that_is_no_text_costs_only_itself(tmp_path):
    place = tmp_path / "t.csv"
    place.write_bytes("text\nCafé ☕ is open.\n".encode() + b"b\xffd\n" + "日本 is far.\n".encode())
    _, requests, left = found(place)
    assert [r.text for r in requests] == ["Café ☕ is open.", "日本 is far."]
    assert [(s.what, s.reason) for s in left] == [("t.csv, line 3", "it is not valid UTF-8")]


def test_columns_are_named(tmp_path, vault):
    place = tmp_path / "table.csv"
    place.write_text("who,what,when\nana,Likes tea very much.,2026-01-03\n")
    said = atlas("import", str(place), cwd=vault)
    assert said.code == 2
    assert "--map text=COLUMN" in said.sentence
    done = bring(vault, place, "--map", "text=what", "--map", "created=when", "--map", "tags=who")
    assert done["imported"] == 1
    (text,) = stored(vault).values()
    assert "tags: [ana]" in text
    assert "created: 2026-01-03" in text
    for words, part in [
        (["text=nothing"], "no column 'nothing'"),
        (["text"], "no FIELD=COLUMN"),
        (["x=who"], "no field"),
    ]:
        wrong = atlas("import", str(place), *(w for word in words for w in ("--map", word)), cwd=vault)
        assert wrong.code == 2
        assert part in wrong.sentence
    with MemoryEngine(vault) as engine, pytest.raises(UsageError, match="named for tables"):
        engine.import_memories(write_json(tmp_path / "m.json", [mem0_memory("u", "x y z")]), columns={"text": "memory"})


def test_a_row_without_an_id_is_known_by_its_words(tmp_path, vault):
    place = tmp_path / "t.csv"
    place.write_text("text\nThe heron nests at the mill.\nBees need water.\n")
    assert bring(vault, place)["imported"] == 2
    heron = next(path for path, text in stored(vault).items() if "heron" in text)
    write(vault, heron, stored(vault)[heron].replace("at the mill", "in the reeds"))
    place.write_text("text\nA new first row is here.\nThe heron nests at the mill.\nBees need water.\n")
    done = bring(vault, place)
    assert done["imported"] == 1
    assert "reeds" in stored(vault)[heron]
    assert len(stored(vault)) == 3


def test_messages_are_sent_to_where_they_are_read(tmp_path, vault):
    place = tmp_path / "chat.jsonl"
    place.write_text('{"role": "user", "content": "Hello"}\n')
    said = atlas("import", str(place), cwd=vault)
    assert said.code == 2
    assert "atlas ingest --file" in said.sentence


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", "just prose\n", "[1, 2]", '{"a": {"b": 1}}', "\x00\x01\x02" * 50]
)
def test_what_nobody_knows_is_said_in_one_sentence(tmp_path, vault, text):
    write(tmp_path, "thing", text)
    said = atlas("import", "../thing", cwd=vault)
    assert said.code == 2
    assert "--from" in said.sentence


def test_an_import_is_one_commit_per_batch_and_each_can_be_undone(tmp_path, vault, git, monkeypatch):
    monkeypatch.setattr(intake, "BATCH", 20)
    place = write_json(
        tmp_path / "m.json", [mem0_memory(f"u{n}", f"The box {n} holds {n + 7} bolts.") for n in range(45)]
    )
    before = int(git(vault, "rev-list", "--count", "HEAD"))
    assert bring(vault, place)["imported"] == 45
    assert int(git(vault, "rev-list", "--count", "HEAD")) - before == 3
    assert atlas("undo", cwd=vault).code == 0
    assert len(stored(vault)) == 40
    assert bring(vault, place)["imported"] == 5


def test_progress_is_told_in_bytes(tmp_path, engine):
    place = write_json(
        tmp_path / "m.json", [mem0_memory(f"u{n}", f"The box {n} holds {n + 7} bolts.") for n in range(9)]
    )
    seen: list[tuple[int, int]] = []
    engine.import_memories(place, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(place.stat().st_size, place.stat().st_size)]
