"""What stands below all importers: bounded archives, streams of JSON cut at their records, one family of readers."""

from __future__ import annotations

import json
import os
import re
import zipfile
from types import ModuleType

import pytest
from foreign import gpt_line, mem0_memory, write_json, zip_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from shell import atlas, new_vault
from support import write

from atlas import importers
from atlas.commands.bundle import SOURCES
from atlas.errors import UsageError
from atlas.importers import given as room
from atlas.importers import jsons
from atlas.importers.given import opened
from atlas.importers.jsons import clean, moment, objects


def records(place, *lists):
    with opened(place) as one:
        return list(objects(one, next(iter(one.files)), *lists))


# ---------------------------------------------------------------- the family


def test_every_reader_is_of_the_same_shape_and_offered_on_the_command_line():
    for name in importers.READERS:
        module = importers.reader(name)
        assert isinstance(module, ModuleType)
        assert name == module.NAME
        assert module.detect.__doc__
        assert module.read.__doc__
    offered = {"auto", importers.BUNDLE, *importers.READERS}
    assert set(SOURCES) == offered
    with pytest.raises(UsageError, match="no format"):
        importers.reader("word")


def test_readers_tell_each_others_files_apart(tmp_path):
    files = {
        "chatgpt": zip_bytes({"conversations.json": [gpt_line("c", ["a", "b"])]}),
        "mem0": json.dumps([mem0_memory("u", "text")]).encode(),
        "jsonl": b'{"text": "one"}\n{"text": "two"}\n',
        "csv": b"text,tags\none,a\n",
        "folder": zip_bytes({"n/a.md": b"# A\n"}),
    }
    for name, data in files.items():
        write(tmp_path, f"thing-{name}", data)
        with opened(tmp_path / f"thing-{name}") as one:
            assert importers.detected(one) == name


# -------------------------------------------------------------------- archives


def test_an_archive_that_unpacks_without_end_is_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "FREE_BYTES", 1_000_000)
    place = tmp_path / "bomb.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "conversations.json", json.dumps([gpt_line("c1", ["Herons?", "Yes."])])[:-1] + " " * 30_000_000
        )
    with opened(place) as one:
        found = list(importers.reader("chatgpt").read(one))
        assert one.consumed < 7_000_000
    assert found[0].name == "chatgpt/c1"
    assert "over 200 times" in found[-1].reason


def test_a_damaged_member_costs_only_itself(tmp_path):
    whole = zip_bytes({"a/1.md": b"# One\n", "a/2.md": b"# Two " + bytes(range(65, 91)) * 99, "a/3.md": b"# Three\n"})
    at = whole.index(b"2.md") + 12
    place = tmp_path / "notes.zip"
    place.write_bytes(whole[:at] + b"\xff\x00\xff\x00" + whole[at + 4 :])
    vault = new_vault(tmp_path / "vault")
    done = atlas("import", str(place), "--json", cwd=vault).json
    assert done["imported"] == 2
    assert [s["path"] for s in done["skipped"]] == ["2.md"]
    assert "damaged" in done["skipped"][0]["reason"]
    write(tmp_path, "cut.zip", whole[: len(whole) // 2])
    said = atlas("import", str(tmp_path / "cut.zip"), cwd=vault)
    assert said.code == 2
    assert said.sentence


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    said = atlas("import", str(tmp_path / "pipe"), cwd=new_vault(tmp_path / "vault"))
    assert said.code == 2
    assert "save it as a file" in said.sentence


def test_names_in_an_archive_are_read_as_they_were_meant(tmp_path):
    place = tmp_path / "n.zip"
    with zipfile.ZipFile(place, "w") as archive:
        info = zipfile.ZipInfo("caf.md")
        archive.writestr(info, b"# A\n")
        link = zipfile.ZipInfo("link.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    data = place.read_bytes().replace(b"caf.md", b"\xc3\xa9a.md")
    place.write_bytes(data)
    with opened(place) as one:
        assert list(one.files) == ["éa.md"]
        assert [(s.what, s.reason) for s in one.skipped] == [("link.md", "a link is not followed")]


# ------------------------------------------------------------------------ JSON

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=6)


@settings(max_examples=60)
@given(rows=RECORDS, piece=st.integers(1, 40), indent=st.none() | st.integers(0, 2), wrapped=st.booleans())
def test_records_are_cut_where_json_says_whatever_the_pieces(tmp_path_factory, rows, piece, indent, wrapped):
    value = {"a": [1, {"b": "]}"}], "results": rows, "z": "["} if wrapped else rows
    place = tmp_path_factory.getbasetemp() / "rows.json"
    place.write_text(json.dumps(value, indent=indent, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsons, "_PIECE", piece)
        assert records(place, "results") == rows


@given(rows=st.lists(st.fixed_dictionaries({"n": st.integers(), "t": st.text(max_size=9)}), min_size=1), data=st.data())
def test_a_file_cut_anywhere_gives_every_record_before_the_cut(tmp_path_factory, rows, data):
    text = json.dumps(rows)
    cut = data.draw(st.integers(1, len(text) - 1))
    place = tmp_path_factory.getbasetemp() / "cut.json"
    place.write_text(text[:cut])
    found = records(place)
    good = [one for one in found if isinstance(one, dict)]
    whole = max(n for n in range(len(rows) + 1) if n == 0 or len(json.dumps(rows[:n])) - 1 <= cut)
    assert good == rows[:whole]
    assert len(found) == len(good) + 1
    assert found[-1].reason == jsons.CUT


@pytest.mark.parametrize(
    ("text", "good", "left"),
    [
        ('[{"a": 1}, {"a": tru}, {"a": 3}]', [1, 3], 1),
        ('[{"a": 1} {"a": 2}]', [1, 2], 0),
        ('[{"a": 1}, }, {"a": 3}]', [1, 3], 1),
        ('[{"a": 1}, "x", 7, null, {"a": 3}]', [1, 3], 3),
        ('{"a": 1}', [1], 0),
        ('{"other": [1], "a": 1}', [1], 0),
        ("[" * 50_000, [], 1),
        ('[{"a": ' + "[" * 50_000 + "]" * 50_000 + '}, {"a": 3}]', [3], 1),
        ("prose", [], 1),
        ("", [], 0),
        ('[{"a": "\\ud800"}]', ["\ud800"], 0),
        ('[{"a": "tab\there"}]', ["tab\there"], 0),
    ],
    ids=range(12),
)
def test_what_is_damaged_is_named_and_the_rest_read(tmp_path, text, good, left):
    write(tmp_path, "t.json", text)
    found = records(tmp_path / "t.json")
    assert [one["a"] for one in found if isinstance(one, dict)] == good
    assert sum(not isinstance(one, dict) for one in found) == left


def test_a_file_that_is_no_json_is_not_told_of_a_thousand_times_and_more(tmp_path):
    write(tmp_path, "t.json", "[" + "}" * 100_000)
    assert len(records(tmp_path / "t.json")) == jsons.MOST_WRONG + 1


def test_a_record_beyond_all_bounds_ends_the_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(jsons, "MOST", 1000)
    monkeypatch.setattr(jsons, "_PIECE", 100)
    write(tmp_path, "t.json", '[{"a": 1}, {"a": "' + "x" * 5000 + '"}, {"a": 3}]')
    first, second = records(tmp_path / "t.json")
    assert first == {"a": 1}
    assert second.reason == jsons.TOO_LONG


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])
def test_json_in_any_encoding(tmp_path, encoding):
    place = tmp_path / "t.json"
    place.write_bytes('[{"a": "Café, naïve, déjà vu"}, {"a": "plain"}]'.encode(encoding))
    assert [one["a"] for one in records(place)] == ["Café, naïve, déjà vu", "plain"]


def test_bytes_that_are_no_text_cost_only_their_record(tmp_path):
    place = tmp_path / "t.json"
    place.write_bytes('[{"a": "Café ☕"}, {"a": "'.encode() + b"\xff" + '"}, {"a": "日本"}]'.encode())
    first, second, third = records(place)
    assert (first["a"], second.reason, third["a"]) == ("Café ☕", "it is not valid UTF-8", "日本")


def test_a_large_file_is_read_a_piece_at_a_time(tmp_path):
    place = write_json(tmp_path / "m.json", [mem0_memory(f"u{n}", "x" * 10_000) for n in range(600)])
    with opened(place) as one:
        reader = iter(importers.reader("mem0").read(one))
        next(reader)
        assert one.consumed < one.size // 2
        assert sum(1 for _ in reader) == 599
        assert one.consumed == one.size == place.stat().st_size


# ------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("value", "stamp"),
    [
        (1_767_268_800, "2026-01-01T12:00:00+00:00"),
        (1_767_268_800.25, "2026-01-01T12:00:00.250000+00:00"),
        (1_767_268_800_000, "2026-01-01T12:00:00+00:00"),
        ("1767268800", "2026-01-01T12:00:00+00:00"),
        ("2026-01-01T04:00:00.123456789-08:00", "2026-01-01T12:00:00.123456+00:00"),
        ("2026-01-01 12:00:00 UTC", "2026-01-01T12:00:00+00:00"),
        ("2026-01-01", "2026-01-01T00:00:00+00:00"),
    ],
)
def test_times_in_their_spellings(value, stamp):
    assert moment(value).isoformat() == stamp


@pytest.mark.parametrize(
    "value", [None, "", True, "soon", float("nan"), float("inf"), 1e300, -5, 0, [], {}, "2026-02-30"]
)
def test_what_is_no_time(value):
    assert moment(value) is None


@given(st.text())
def test_a_clean_text_can_be_written_and_keeps_all_else(text):
    done = clean(text)
    assert done.encode("utf-8").decode("utf-8") == done
    assert "\0" not in done
    assert len(done) == len(text)
    assert all(a == b or re.fullmatch("[\0\ud800-\udfff]", a) for a, b in zip(text, done, strict=True))
