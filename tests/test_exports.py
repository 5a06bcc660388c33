"""Memories for others: plain JSON and plain Markdown, which come in again as the same memories."""

from __future__ import annotations

import json
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell import atlas, new_vault
from support import ODD_NAMES, write
from test_bundle import ID, NOTES, contents, filled

from atlas import MemoryEngine, exports, importers, markdown, vault
from atlas.bundle import Item
from atlas.importers import File
from atlas.importers.given import opened


def meant(data: bytes, path: str):
    """What a file says, whatever its encoding and the manner of its metadata."""
    note = markdown.parse(markdown.decode(data).text, path)
    return note.title, note.summary, note.detail, note.tags, dict(note.meta), note.body, note.readable


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A vault of odd notes and of some that Atlas made."""
    place = filled(tmp_path_factory.mktemp("out") / "source", NOTES)
    with MemoryEngine(place) as engine:
        engine.ingest(
            "We decided that staging listens on 5433: " + "the reason is long. " * 40, tags=["a/b"], kind="decision"
        )
    return place


def test_json_is_an_array_any_program_reads(source, tmp_path):
    file = tmp_path / "all.json"
    said = atlas("export", str(file), "--format", "json", "--json", cwd=source)
    assert (said.json["exported"], said.json["format"]) == (len(contents(source)), "json")
    records = json.loads(file.read_bytes())
    assert [one["path"] for one in records] == sorted(contents(source))
    by_path = {one["path"]: one for one in records}
    made = next(one for one in records if one["kind"] == "decision")
    assert (made["tags"], len(made["id"]), made["created"][:2]) == (["a/b"], 26, "20")
    assert made["summary"]
    assert "listens on 5433" in made["detail"]
    assert by_path["with id.md"]["meta"]["custom"] == ["1.10", "no", "12:30"]
    assert by_path["latin.md"]["detail"] == "# Café in latin-1\n"
    broken = by_path["broken.md"]
    assert broken["frontmatter"] + broken["detail"] == NOTES["broken.md"].decode()


def test_json_comes_in_again_as_the_same_memories(source, tmp_path):
    file, again = tmp_path / "all.json", tmp_path / "again.json"
    atlas("export", str(file), "--format", "json", cwd=source)
    target = new_vault(tmp_path / "target")
    done = atlas("import", str(file), "--json", cwd=target).json
    assert (done["report"]["source"], done["imported"], done["skipped"]) == ("json", len(contents(source)), [])
    there = contents(source)
    assert {p: meant(d, p) for p, d in contents(target).items()} == {p: meant(d, p) for p, d in there.items()}
    atlas("export", str(again), "--format", "json", cwd=target)
    assert json.loads(again.read_bytes()) == json.loads(file.read_bytes())
    assert atlas("import", str(file), "--json", cwd=target).json["imported"] == 0


@pytest.mark.parametrize("archived", [False, True])
def test_markdown_is_the_files_themselves(source, tmp_path, archived):
    place = tmp_path / ("out.zip" if archived else "out")
    said = atlas("export", str(place), "--format", "markdown", cwd=source)
    assert said.out == f"{len(contents(source))} memories written to {place}\n"
    if archived:
        with zipfile.ZipFile(place) as archive:
            assert {name: archive.read(name) for name in archive.namelist()} == contents(source)
            assert archive.testzip() is None
    else:
        assert contents(place) == contents(source)
    target = new_vault(tmp_path / "target")
    done = atlas("import", str(place), "--from", "folder", "--scope", "back", "--json", cwd=target).json
    assert (done["imported"], done["skipped"]) == (len(contents(source)), [])
    assert {p.removeprefix("back/"): d for p, d in contents(target).items()} == contents(source)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([place.name, "target"])


def test_no_folder_with_files_in_it_is_written_into(source, tmp_path):
    write(tmp_path, "mine/a.txt", "mine")
    write(tmp_path, "file", "mine")
    for place, part in [(tmp_path / "mine", "not empty"), (tmp_path / "file", "not empty"),
                        (source / "inner", "lies in the vault")]:  # fmt: skip
        said = atlas("export", str(place), "--format", "markdown", cwd=source)
        assert said.code == 2
        assert part in said.sentence
    assert (tmp_path / "mine/a.txt").read_text() == (tmp_path / "file").read_text() == "mine"
    assert not (source / "inner").exists()
    (tmp_path / "empty").mkdir()
    assert atlas("export", str(tmp_path / "empty"), "--format", "markdown", "--scope", "deep", cwd=source).code == 0
    assert contents(tmp_path / "empty").keys() == {path for path in NOTES if path.startswith("deep/")}
    folder = atlas("export", str(tmp_path / "mine"), cwd=source)
    assert folder.code == 2


def test_a_folder_that_is_filled_meanwhile_is_left_alone(tmp_path):
    write(tmp_path, "out/mine.txt", "mine")
    with pytest.raises(OSError, match="not empty"):
        vault.folder_elsewhere(tmp_path / "out", [("a.md", b"# A\n")])
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "mine.txt"]


def test_odd_names_go_out_and_come_back(tmp_path):
    names = [name for name in ODD_NAMES if "\udce9" not in name]
    place = filled(tmp_path / "vault", {name: f"# {n}\n".encode() for n, name in enumerate(names)})
    for form, file in [("markdown", "out"), ("markdown", "out.zip"), ("json", "out.json")]:
        assert atlas("export", str(tmp_path / file), "--format", form, cwd=place).code == 0
    assert contents(tmp_path / "out") == contents(place)
    assert [one["path"] for one in json.loads((tmp_path / "out.json").read_bytes())] == sorted(contents(place))


@pytest.mark.parametrize("path", ["../out.md", "/etc/x.md", ".git/hooks/x.md", "x.txt", "", 7, None])
def test_json_writes_only_memories_inside_the_vault(path, tmp_path):
    record = {
        "id": ID,
        "path": path,
        "label": "E",
        "summary": "",
        "detail": "# Evil\n",
        "meta": {"a": ["b", {"c": "d"}]},
    }
    write(tmp_path, "e.json", json.dumps([record, record | {"path": "ok.md", "meta": 5}, record | {"path": "ok.md"}]))
    target = new_vault(tmp_path / "inner" / "target")
    done = atlas("import", str(tmp_path / "e.json"), "--json", cwd=target).json
    assert done["imported"] == 1
    assert contents(target) == {"ok.md": b"---\na: [b, {c: d}]\n---\n# Evil\n"}
    assert len(done["skipped"]) == 2


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t"), max_size=30)
META = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8),
    WORDS | st.lists(WORDS, max_size=3) | st.dictionaries(st.text("abc", min_size=1), WORDS, max_size=2),
    max_size=4,
)


@given(metas=st.lists(META, max_size=3), bodies=st.lists(WORDS, min_size=3, max_size=3))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_memory_comes_back_from_json(tmp_path_factory, metas, bodies):
    """A record gives back the memory as the file it was, and one whose metadata was changed says what it says now."""
    items = []
    for n, (meta, body) in enumerate(zip(metas, bodies, strict=False)):
        head = "\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in meta.items())
        items.append(Item(f"{n}.md", "", f"---\n{head}\n---\n{body}".encode() if head else body.encode()))
    place = tmp_path_factory.getbasetemp() / "any.json"
    with place.open("wb") as stream:
        exports.write_json(items, stream)
    with opened(place) as one:
        assert not items or importers.detected(one) == "json"
        found = list(importers.reader("json").read(one))
    assert all(isinstance(file, File) for file in found)
    texts = [[markdown.decode(one.data).text for one in some] for some in (found, items)]
    assert texts[0] == texts[1]


PRINTED = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)
MADE = st.lists(st.tuples(PRINTED, st.lists(st.sampled_from(["a", "b/c", "été"]), max_size=2)), min_size=1, max_size=5)


@pytest.mark.parametrize("form", ["json", "bundle"])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=MADE)
def test_out_and_in_again_gives_the_same_memories(tmp_path_factory, form, made):
    """Whatever is remembered, carried to another vault and back, is there as it was, and once."""
    folder = tmp_path_factory.mktemp("round")
    rows = [{"id": n, "text": text, "tags": tags} for n, (text, tags) in enumerate(made)]
    write(folder, "rows.json", json.dumps(rows))
    places = [new_vault(folder / name) for name in ("one", "two")]
    with MemoryEngine(places[0]) as one, MemoryEngine(places[1]) as two:
        first = one.import_memories(folder / "rows.json", source="jsonl")
        one.export_memories(folder / "out", format=form)
        assert two.import_memories(folder / "out").imported == first.imported
        two.export_memories(folder / "back", format=form)
        again = one.import_memories(folder / "back")
    assert (again.imported, again.report.here) == (0, first.imported)
    assert contents(places[0]) == contents(places[1])


def test_what_another_program_changed_in_a_record_counts(tmp_path):
    item = Item("a.md", ID, f"---\nid: {ID}\ntags: [a] # mine\n---\n# A\n".encode())
    record = exports.record(item)
    record["meta"]["tags"] = ["a", "b"]
    write(tmp_path, "r.json", json.dumps([record]))
    target = new_vault(tmp_path / "target")
    assert atlas("import", str(tmp_path / "r.json"), "--json", cwd=target).json["imported"] == 1
    assert contents(target) == {"a.md": f"---\nid: {ID}\ntags: [a, b]\n---\n# A\n".encode()}
