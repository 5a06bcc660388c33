"""Links that follow a note: how each is spelled, what is refused, what a scope allows."""

from __future__ import annotations

import pytest
from support import write

from atlas import MemoryEngine, moving
from atlas.errors import AtlasError, NotFound, OutsideVault, Unparsable, UsageError
from atlas.identity import derived_id
from atlas.resolver import ALIAS, ID, TITLE, Known, Names
from atlas.spots import exchanged, spots

# ------------------------------------------------------------------------- where links stand


def test_every_kind_of_link_and_its_place():
    text = (
        "---\r\nup: \"[[Boiler]]\"\r\nlist: ['[[a/B.md#V|it''s]]', x]\r\nsuperseded_by: Boiler\r\n---\r\n"
        "[[ B #V]] ![[B]] [[B#^v\\|x]] [t](<c d.md>) ![](e%20f.png) [[#Own]]\r\n"
        "`[[Ghost]]` [w](https://x.test/a.md) [m](mailto:a@x.test) \\[[no]]\r\n```\r\n[[Ghost]]\r\n```\r\n"
        "%% [[B]] %%\r\n"
    )
    found = [(s.manner, s.target, s.typed, s.anchor, s.line) for s in spots(text)]
    assert found == [
        ("value", "Boiler", "Boiler", "", 2),
        ("value", "a/B", "a/B.md", "#V", 3),
        ("bare", "Boiler", "Boiler", "", 4),
        ("wiki", "B", "B ", "#V", 6),
        ("wiki", "B", "B", "", 6),
        ("wiki", "B", "B", "#^v", 6),
        ("address", "c d", "c d.md", "", 6),
        ("address", "e f.png", "e%20f.png", "", 6),
        ("wiki", "", "", "#Own", 6),
        ("wiki", "B", "B", "", 11),
    ]
    assert all(text[s.start : s.stop] == s.shown for s in spots(text))
    assert exchanged(text, [(s, s.shown) for s in spots(text)]) == text


def test_a_value_that_is_not_written_letter_by_letter_is_not_edited():
    (found,) = spots('---\nup: "[[Caf\\u00e9]]"\n---\n')
    assert found.fixed


# ------------------------------------------------------------------------ where links lead

NAMES = Names(
    [
        Known("Boiler.md", "Boiler", (), "01A"),
        Known("a/Valve.md", "Main valve", ("tap",), "01B"),
        Known("b/Valve.md", "Boiler", (), "01C"),
        Known("b/c/Room.md"),
        Known("Cafe\u0301.md"),
        Known("cafe.md"),
    ]
)


@pytest.mark.parametrize(
    ("target", "source", "path", "clear"),
    [
        ("Boiler", "a/x.md", "Boiler.md", True),  # a file's name stands before a title
        ("boiler", "x.md", "Boiler.md", True),
        ("Valve", "b/x.md", "b/Valve.md", False),  # the same folder first
        ("Valve", "x.md", "a/Valve.md", False),
        ("a/Valve", "b/x.md", "a/Valve.md", True),
        ("c/Room", "x.md", "b/c/Room.md", True),
        ("../Boiler", "a/x.md", "Boiler.md", True),
        ("Café", "x.md", "Cafe\u0301.md", True),
        ("CAFE", "x.md", "cafe.md", True),
        ("", "x.md", "x.md", True),
    ],
)
def test_where_a_link_leads(target, source, path, clear):
    found = NAMES.find(target, source)
    assert found
    assert (found.path, found.clear) == (path, clear)


def test_a_title_an_alias_and_an_id_lead_somewhere_too():
    assert [NAMES.find(name, "x.md").rank for name in ("main valve", "Tap", "01B")] == [TITLE, ALIAS, ID]
    assert NAMES.find("Nothing", "x.md") is None


def test_an_address_begins_in_its_own_folder():
    assert NAMES.find("Valve", "b/x.md", address=True).path == "b/Valve.md"
    assert NAMES.find("Valve", "x.md", address=True).near is False
    assert NAMES.find("../Boiler", "b/x.md", address=True).near is True


# ------------------------------------------------------------------------------ moving


def test_a_move_is_one_commit_with_every_link_and_undo_takes_it_back(notes, engine, root, git, text):
    notes({"boiler.md": "Hot.\n", "a/n.md": "[[boiler]] [x](../boiler.md)\n", "unrelated.md": "[[Other]]\n"})
    head = git(root, "rev-parse", "HEAD")
    before = engine.expand("boiler").id
    done = engine.move("boiler", "heat/Furnace", reason="tidied")
    assert (done.old, done.new, done.applied.committed) == ("boiler.md", "heat/Furnace.md", True)
    assert [(link.path, link.line, link.old, link.new) for link in done.links] == [
        ("a/n.md", 1, "boiler", "Furnace"),
        ("a/n.md", 1, "../boiler.md", "../heat/Furnace.md"),
    ]
    assert text("a/n.md") == "[[Furnace]] [x](../heat/Furnace.md)\n"
    assert git(root, "show", "--format=", "--name-status", "-M", "HEAD").split() == [
        *("M", "a/n.md", "R100", "boiler.md", "heat/Furnace.md")
    ]
    assert git(root, "rev-parse", "HEAD^") == head
    assert engine.expand("Furnace").id == before
    assert engine.history("Furnace")[0].op == "move"
    assert engine.history("Furnace")[0].reason == "tidied"
    engine.undo()
    assert git(root, "diff", "--stat", head.strip()) == ""
    assert engine.expand("boiler").id == before


def test_a_dry_run_changes_nothing(notes, engine, root, git):
    notes({"boiler.md": "Hot.\n", "n.md": "[[boiler]]\n"})
    head = git(root, "rev-parse", "HEAD")
    done = engine.move("boiler", "x/", dry_run=True)
    assert (done.new, len(done.links), done.applied.paths) == ("x/boiler.md", 0, ())
    assert git(root, "rev-parse", "HEAD") == head
    assert git(root, "status", "--porcelain") == ""


def test_a_note_that_moves_and_changes_at_once_keeps_its_identity(notes, engine, text, root, git):
    notes({"boiler.md": "[x](pic.png) [y](n.md) [z](gone.png)\n", "n.md": "N\n", "pic.png": "image"})
    id = engine.expand("boiler").id
    engine.move("boiler", "a/b/")
    assert text("a/b/boiler.md") == f"---\nid: {id}\n---\n[x](../../pic.png) [y](../../n.md) [z](gone.png)\n"
    assert engine.expand("boiler").id == id == derived_id("boiler.md")
    git(root, "commit", "-q", "--allow-empty", "-m", "later")
    assert next(entry.op for entry in engine.history(id)) == "move"
    engine.undo()
    assert engine.expand("boiler.md").id == id


def test_a_note_with_an_id_gives_it_to_the_file_it_becomes(notes, engine, text):
    notes({"a.md": "---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\n---\nA\n"})
    engine.move("a.md", "b/c.md")
    assert engine.expand("01JDXK3Q8ZV5T9W2M4N6P8R0S1").path == "b/c.md"
    engine.undo()
    assert engine.expand("01JDXK3Q8ZV5T9W2M4N6P8R0S1").path == "a.md"


def test_a_link_to_another_note_of_the_name_stays(notes, engine, text):
    notes({"a/Valve.md": "A", "b/Valve.md": "B", "b/n.md": "[[Valve]]", "a/n2.md": "[[Valve]]"})
    engine.move("a/Valve.md", "a/Tap.md")
    assert text("b/n.md") == "[[Valve]]"
    assert text("a/n2.md") == "[[Tap]]"


def test_a_name_that_would_capture_links_makes_them_explicit(notes, engine, text):
    notes({"far/Valve.md": "A", "tap.md": "T", "n.md": "[[Valve]] [[tap]]", "m.md": "[[far/Valve]]"})
    engine.move("tap.md", "Valve.md")
    assert text("n.md") == "[[far/Valve]] [[Valve]]"
    assert text("m.md") == "[[far/Valve]]"


def test_a_link_by_title_is_captured_by_no_file_name(notes, engine, text):
    notes({"x.md": "# Boiler\n", "tap.md": "T", "n.md": "[[Boiler]]"})
    engine.move("tap.md", "Boiler.md")
    assert text("n.md") == "[[x]]"


def test_a_bare_name_that_two_notes_have_afterwards_gets_a_path(notes, engine, text):
    notes({"a/Valve.md": "A", "b/Tap.md": "B", "n.md": "[[Tap]]"})
    engine.move("b/Tap.md", "b/Valve.md")
    assert text("n.md") == "[[b/Valve]]"


def test_nor_is_it_left_to_be_guessed_where_nearness_would_decide(notes, engine, text):
    notes({"a/Valve.md": "A", "b/Tap.md": "B", "b/n.md": "[[Tap]]"})
    engine.move("b/Tap.md", "b/Valve.md")
    assert text("b/n.md") == "[[b/Valve]]"


def test_an_address_leads_from_its_folder_and_not_by_name_only(notes, engine, text):
    notes({"boiler.md": "B", "n.md": "[x](boiler.md) [[boiler]] [y](./boiler.md)"})
    engine.move("boiler.md", "a/")
    assert text("n.md") == "[x](a/boiler.md) [[boiler]] [y](./a/boiler.md)"


def test_what_a_memory_comes_from_follows_too(notes, engine, text):
    notes({"Boiler.md": "B", "n.md": "---\nderived_from: Boiler\n---\n"})
    engine.move("Boiler", "Furnace")
    assert text("n.md") == "---\nderived_from: Furnace\n---\n"


def test_the_new_file_is_there_before_the_old_one_goes(notes, engine):
    """Killed in between, there are two; where both names are one file, it has to go first."""
    notes({"a.md": "A", "n.md": "[[a]]"})
    for path, order in (("b.md", ["b.md", "n.md", "a.md"]), ("A.md", ["a.md", "A.md"])):
        with engine._desk() as desk:
            note = desk.names.notes["a.md"]
            changes = moving.move(desk.room, desk.names, note, path, written_id=False).changes
        assert [change.path for change in changes if change.path != "n.md" or path == "b.md"] == order


def test_values_of_the_metadata_keep_quotes_and_style(notes, engine, text):
    head = (
        '---\nup: "[[Boiler]]" # why\nlist: [\'[[Boiler|it]]\', x]\nmore:\n  - "[[Boiler#V]]"\n'
        'superseded_by: Boiler\nsupersedes: [Boiler, other]\nnested:\n  a: "[[Boiler]]"\n---\n'
    )
    notes({"Boiler.md": "B", "n.md": head})
    engine.move("Boiler", 'It\'s "new".md'.replace('"', ""))
    assert text("n.md") == head.replace("[[Boiler|", "[[It''s new|").replace('a: "[[Boiler', 'a: "[[X').replace(
        "Boiler", "It's new"
    ).replace("[[X", "[[Boiler")


def test_a_value_that_cannot_be_edited_in_place_is_left_and_named(notes, engine, text):
    head = '---\nup: "[[B\\u006filer]]"\nplain: see [[Boiler]]\n---\n'
    notes({"Boiler.md": "B", "n.md": head + "[[Boiler]]\n"})
    done = engine.move("Boiler", "aa: bb.md")
    assert text("n.md") == head + "[[aa: bb]]\n"
    assert [(f.path, f.line, f.kind) for f in done.left] == [("n.md", 2, "link"), ("n.md", 3, "link")]


def test_links_keep_line_ends_marks_and_encodings(notes, engine, root):
    notes({
        "Boiler.md": "B", "crlf.md": b"\xef\xbb\xbf[[Boiler]]\r\nend", "latin.md": b"caf\xe9 [[Boiler]]\n",
        "wide.md": "[[Boiler]]\r\n".encode("utf-16"),
    })  # fmt: skip
    engine.move("Boiler", "Tür.md")
    assert (root / "crlf.md").read_bytes() == b"\xef\xbb\xbf[[T\xc3\xbcr]]\r\nend"
    assert (root / "latin.md").read_bytes() == b"caf\xe9 [[T\xfcr]]\n"
    assert (root / "wide.md").read_bytes() == "[[Tür]]\r\n".encode("utf-16")


@pytest.mark.parametrize(
    ("path", "text_of", "error"),
    [
        ("latin.md", b"caf\xe9 [[Boiler]]\n", AtlasError),
        ("broken.md", b"---\ntitle: [broken\n---\n[[Boiler]]\n", Unparsable),
    ],
)
def test_one_note_that_cannot_be_edited_refuses_it_all(notes, engine, root, git, path, text_of, error):
    notes({"Boiler.md": "B", "a.md": "[[Boiler]]", path: text_of})
    with pytest.raises(error, match=path):
        engine.move("Boiler", "日本.md")
    assert git(root, "status", "--porcelain") == ""
    assert engine.expand("Boiler").path == "Boiler.md"


def test_a_name_that_no_wikilink_can_hold_is_refused_if_one_leads_there(notes, engine, root, git):
    notes({"Boiler.md": "B", "a.md": "[[Boiler]]", "free.md": "F"})
    with pytest.raises(AtlasError, match=r"a\.md:1"):
        engine.move("Boiler", "C# notes.md")
    assert git(root, "status", "--porcelain") == ""
    assert engine.move("free", "C# notes.md").applied.committed


@pytest.mark.parametrize("path", ["N.md", "n.MD", "plan.txt.md", "cafe\u0301.md"])
def test_a_taken_path_is_refused(notes, engine, root, git, path):
    notes({"a.md": "A", "n.md": "N", "Plan.txt.md": "P", "café.md": "C"})
    with pytest.raises(AtlasError, match="there already"):
        engine.move("a.md", path)
    assert git(root, "status", "--porcelain") == ""


def test_another_case_of_the_same_name_is_a_move(notes, engine, text):
    notes({"a.md": "A", "n.md": "[[a]] [x](a.md)"})
    engine.move("a.md", "A.md")
    assert engine.expand("A").path == "A.md"
    assert text("n.md").endswith("[x](a.md)") or text("n.md").endswith("[x](A.md)")


@pytest.mark.parametrize("path", ["../x.md", "/etc/x.md", ".git/x.md", "a/.hidden.md", "con.md", "C:x.md"])
def test_no_move_leaves_the_vault(notes, engine, root, git, path):
    notes({"a.md": "A"})
    with pytest.raises(OutsideVault):
        engine.move("a.md", path)
    assert git(root, "status", "--porcelain") == ""


def test_words_that_cannot_be_meant(notes, engine):
    notes({"a.md": "A"})
    with pytest.raises(UsageError):
        engine.move("a.md", "a.md")
    with pytest.raises(NotFound):
        engine.move("nobody", "b.md")


# ------------------------------------------------------------------------------- scope


def test_a_scoped_engine_moves_within_its_scope_only(notes, engine, root, git):
    notes({"team/a.md": "A", "team/n.md": "[[a]] [[b]]", "team/b.md": "B", "out.md": "[[b]]"})
    with MemoryEngine(root, scope="team") as scoped:
        with pytest.raises(OutsideVault):
            scoped.move("a", "a.md")
        with pytest.raises(AtlasError, match="1 note outside team/") as refused:
            scoped.move("b", "team/c.md")
        assert "out.md" not in str(refused.value)
        with pytest.raises(NotFound):
            scoped.move("out", "team/x.md")
        assert git(root, "status", "--porcelain") == ""
        assert [link.path for link in scoped.move("a", "team/z.md").links] == ["team/n.md"]


# ------------------------------------------------------------------------------ titles


def test_a_title_changes_where_it_is_written_and_links_by_it_follow(notes, engine, text):
    notes({
        "a.md": "---\ntitle: Old  # mine\n---\n# Old\n", "b.md": "Setext *old*\n===\n\nText\n",
        "n.md": "[[Old]] [[Setext *old*|it]] [[a]]\n",
    })  # fmt: skip
    assert [link.new for link in engine.retitle("a.md", "New: one").links] == ["New: one"]
    assert text("a.md") == '---\ntitle: "New: one"  # mine\n---\n# Old\n'
    engine.retitle("b.md", "Other")
    assert text("b.md") == "Other\n===\n\nText\n"
    assert text("n.md") == "[[New: one]] [[Other|it]] [[a]]\n"
    assert engine.expand("Other").path == "b.md"


def test_a_note_named_by_its_file_gets_a_title(notes, engine, text):
    notes({"a.md": "Text\n", "n.md": "[[a]]\n"})
    assert engine.retitle("a.md", "Named").links == ()
    assert text("a.md") == "---\ntitle: Named\n---\nText\n"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [("old-thing.md", "Old thing", "new-name.md"), ("d/Old thing.md", "Old thing", "d/New name.md")],
)
def test_the_file_can_be_named_after_the_title(notes, engine, text, path, old, new):
    notes({path: f"# {old}\n", "n.md": f"[[{old}]] [x]({path.replace(' ', '%20')})\n"})
    done = engine.retitle(old, "New name", rename_file=True)
    assert done.new == new
    assert text(new).endswith("\n---\n# New name\n")
    assert text("n.md") == f"[[New name]] [x]({new.replace(' ', '%20')})\n"


def test_a_title_that_cannot_be_one(notes, engine):
    notes({"a.md": "# A\n", "b.md": "---\ntitle: [x\n---\n"})
    with pytest.raises(UsageError):
        engine.retitle("a.md", "  \n ")
    with pytest.raises(UsageError):
        engine.retitle("a.md", "???", rename_file=True)
    with pytest.raises(Unparsable):
        engine.retitle("b.md", "B")
    with pytest.raises(UsageError):
        engine.retitle("a.md", "Closed #")
    assert engine.retitle("a.md", "Two\nlines").applied.committed
    assert engine.expand("a.md").label == "Two lines"


# ------------------------------------------------------------------------ renamed outside


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("head", ["", "---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\n---\n"])
def test_a_rename_outside_is_recognised_and_mended(notes, engine, root, git, text, committed, head):
    notes({"a/Boiler.md": head + "Hot.\n", "n.md": "x\n[[Boiler|it]] [[Never]]\n", "m.md": "[b](a/Boiler.md#v)\n"})
    assert engine.status()["findings"] == []
    (root / "b").mkdir()
    (root / "a/Boiler.md").rename(root / "b/Furnace.md")
    if head:
        write(root, "b/Furnace.md", head + "Very hot.\n")
    if committed:
        git(root, "add", "-A")
        git(root, "commit", "-qm", "renamed")
    moved = [(f.path, f.line, f.message) for f in engine.status()["findings"] if f.kind == "moved"]
    assert moved == [
        ("m.md", 1, "'a/Boiler.md#v' now lives at b/Furnace.md: run `atlas mv --repair`"),
        ("n.md", 2, "'Boiler' now lives at b/Furnace.md: run `atlas mv --repair`"),
    ]
    assert len(engine.repair_links(dry_run=True).links) == 2
    assert text("m.md") == "[b](a/Boiler.md#v)\n"
    done = engine.repair_links()
    assert done.applied.committed
    assert text("n.md") == "x\n[[Furnace|it]] [[Never]]\n"
    assert text("m.md") == "[b](b/Furnace.md#v)\n"
    assert [f for f in engine.status()["findings"] if f.kind == "moved"] == []
    with pytest.raises(UsageError):
        engine.repair_links()


def test_links_to_what_was_deleted_or_could_be_two_are_left(notes, engine, root, git):
    notes({"a/Boiler.md": "One.\n", "b/Boiler.md": "Two.\n", "Gone.md": "G\n", "n.md": "[[Boiler]] [[Gone]]\n"})
    (root / "Gone.md").unlink()
    (root / "a/Boiler.md").rename(root / "a/X.md")
    (root / "b/Boiler.md").rename(root / "b/Y.md")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "renamed")
    assert [f for f in engine.status()["findings"] if f.kind == "moved"] == []


def test_over_a_chain_of_renames(notes, engine, root, git, text):
    notes({"a.md": "The one.\n", "n.md": "[[a]] [[b]]\n"})
    for old, new in (("a", "b"), ("b", "c"), ("c", "d")):
        git(root, "mv", f"{old}.md", f"{new}.md")
        git(root, "commit", "-qm", "renamed")
    write(root, "d.md", "The one, edited since.\n")
    engine.repair_links()
    assert text("n.md") == "[[d]] [[d]]\n"


def test_the_last_rename_need_not_be_committed(notes, engine, root, git, text):
    notes({"a.md": "The one.\n", "n.md": "[[a]] [[b]]\n"})
    git(root, "mv", "a.md", "b.md")
    git(root, "commit", "-qm", "renamed")
    (root / "b.md").rename(root / "c.md")
    engine.repair_links()
    assert text("n.md") == "[[c]] [[c]]\n"


def test_without_git_nothing_is_known_of_renames(tmp_path):
    with MemoryEngine(tmp_path / "v") as engine:
        write(tmp_path / "v", "n.md", "[[Boiler]]\n")
        assert [f for f in engine.status()["findings"] if f.kind == "moved"] == []
