"""Which paths may hold a memory: nothing a model or a stranger spells leaves the vault (case A4)."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.errors import OutsideVault
from atlas.paths import LONGEST_NAME, LONGEST_PATH, check_path, inside

ESCAPES = [
    "../escape",
    "..\\..\\escape",
    "/outside/escape",
    "\\outside\\escape",
    "~/.bashrc",
    "~user/x",
    "a/../../b",
    "a/..",
    "%2e%2e/x",
    "%2E%2e%2fx",
    "%252e%252e/x",
    "a/%2e%2e/%2e%2e/b",
    "．．/x",
    "‥/x",
    "..／x",
    ".. /x",
    "a/.../b",
    ".git/hooks/pre-commit",
    ".GIT/config",
    "a/.git/x",
    "%2egit/x",
    ".g\u200cit/x",
    "\u200c.git/x",
    "git~1/x",
    "GIT~1/x",
    "git~1./x",
    "OBSIDI~1/x",
    ".atlas/index",
    ".obsidian/app",
    "C:evil",
    "c:\\evil",
    "a/C:evil",
    "\\\\server\\share\\x",
    "a\0b",
    "a%00b",
    "",
    ".",
    "./",
    "/",
]

UNPORTABLE = [
    "two\nlines",
    "bell\x07",
    "next\x85line",
    "sep\u2028arator",
    "a./b",
    "a /b",
    "con",
    "AUX",
    "a/nul",
    "com1.x",
    "LPT9 .x",
    "com¹",
    "lone\udc80",
    "x" * LONGEST_NAME,
    "é" * 130,
    "/".join(["part"] * (LONGEST_PATH // 5 + 1)),
]


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("ending", ["", ".md"])
def test_every_spelling_of_a_way_out_is_refused(path, ending):
    with pytest.raises(OutsideVault):
        check_path(path + ending, endings=())


@pytest.mark.parametrize("path", UNPORTABLE)
def test_names_that_some_system_cannot_hold_are_not_made(path):
    with pytest.raises(OutsideVault):
        check_path(path + ".md")


def test_an_error_shows_path_and_reason_in_one_line():
    with pytest.raises(OutsideVault) as caught:
        check_path("../two\nlines.md")
    assert caught.value.path == "../two\nlines.md"
    assert "leaves the vault" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("a.md", "a.md"),
        ("./a//b/./c.md", "a/b/c.md"),
        ("notes\\a.md", "notes/a.md"),
        ("📥 inbox/日本 café.md", "📥 inbox/日本 café.md"),
        ("👩‍💻 work/a.md", "👩‍💻 work/a.md"),
        ('has "quote".md', 'has "quote".md'),
        ("-rf.md", "-rf.md"),
        (" lead and trail .md", " lead and trail .md"),
        ("semi;$(touch pwned).md", "semi;$(touch pwned).md"),
        ("100%.md", "100%.md"),
        ("50%25 of it.md", "50%25 of it.md"),
        ("…and then.md", "…and then.md"),
        ("a..b.md", "a..b.md"),
        ("v1.2.md", "v1.2.md"),
        ("console.md", "console.md"),
        ("n~.md", "n~.md"),
        ("Themes/RedShift: OLED.md", "Themes/RedShift: OLED.md"),
        ("UPPER.MD", "UPPER.MD"),
        ("a.markdown", "a.markdown"),
    ],
)
def test_ordinary_names_pass_as_they_are(path, clean):
    assert check_path(path) == clean


def test_only_markdown_unless_asked():
    for path in ("a.txt", "a", "a.md.exe", "md"):
        with pytest.raises(OutsideVault, match=r"must end in \.md"):
            check_path(path)
    assert check_path("ledger/2026-11/a.jsonl", endings=(".jsonl",)) == "ledger/2026-11/a.jsonl"
    assert check_path("usage/a", endings=()) == "usage/a"


@pytest.mark.parametrize(
    "path", ["two\nlines.md", "aux.md", "a./b.md", "back\\slash.md", "Q: why.md", "~draft.md", "%2e%2e/x.md"]
)
def test_a_file_that_is_there_only_has_to_be_safe(path):
    assert check_path(path, existing=True) == path


@pytest.mark.parametrize("path", ["../a.md", "..\\a.md", "/a.md", ".git/a.md", "a/.GIT/b.md", "a\0.md", ".. /a.md"])
def test_being_there_opens_no_way_out(path):
    with pytest.raises(OutsideVault):
        check_path(path, existing=True)


DOTTED = st.text(st.sampled_from("./\\~% aZ2eE:\0\n．‥…／\u200cé1g"), max_size=12)


@given(st.one_of(st.text(max_size=30), DOTTED), st.booleans())
def test_whatever_passes_stays_inside(path, existing):
    try:
        clean = check_path(path, endings=(), existing=existing)
    except OutsideVault:
        return
    root = os.path.normpath("/vault")
    place = os.path.normpath(f"{root}/{clean}")
    assert place.startswith(root + os.sep)
    assert not any(part.startswith(".") for part in clean.split("/"))
    assert "\0" not in clean


@given(st.one_of(st.text(max_size=30), DOTTED))
def test_cleaning_twice_is_cleaning_once(path):
    try:
        clean = check_path(path, endings=())
    except OutsideVault:
        return
    assert check_path(clean, endings=()) == clean


@given(st.sampled_from(["../x", "a/../../x", ".git/x", "/x"]), st.integers(1, 3))
def test_percent_signs_hide_nothing(path, times):
    hidden = "".join(f"%{ord(c):02x}" for c in path)
    for _ in range(times - 1):
        hidden = quote(hidden)
    with pytest.raises(OutsideVault):
        check_path(hidden, endings=())


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20))
def test_letters_and_digits_always_pass_unless_a_device(name):
    path = f"notes/{name}-.md"
    assert check_path(path) == path


@pytest.fixture
def vault(tmp_path):
    root = tmp_path / "vault"
    (root / "notes").mkdir(parents=True)
    (root / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    return root


def test_a_plain_place(vault):
    assert inside(vault, "notes/new.md") == vault / "notes" / "new.md"
    assert inside(vault, "not/yet/there.md") == vault / "not" / "yet" / "there.md"
    assert not (vault / "not").exists()


def test_links_that_lead_out_are_refused(vault):
    (vault / "out").symlink_to(vault.parent / "outside")
    (vault / "up").symlink_to("..")
    (vault / "note.md").symlink_to(vault.parent / "outside" / "secret.md")
    (vault / "sibling").symlink_to(vault.parent / "vault2")
    (vault.parent / "vault2").mkdir()
    for path in (
        "out/a.md",
        "up/a.md",
        "up/outside/a.md",
        "note.md",
        "sibling/a.md",
        "out",
        "notes/../../a.md",
        "a\0b",
    ):
        with pytest.raises(OutsideVault):
            inside(vault, path)
    assert list((vault.parent / "outside").iterdir()) == []


def test_links_into_closed_folders_are_refused(vault):
    (vault / "hooks").symlink_to(".git/hooks")
    with pytest.raises(OutsideVault, match="closed folder"):
        inside(vault, "hooks/pre-commit.md")


def test_a_loop_ends(vault):
    (vault / "loop").symlink_to("loop")
    (vault / "one").symlink_to("two")
    (vault / "two").symlink_to("one")
    for path in ("loop", "one"):
        with pytest.raises(OutsideVault, match="loop"):
            inside(vault, path)
    (vault / "here").symlink_to(".")
    assert inside(vault, "here/here/notes/a.md") == vault / "here/here/notes/a.md"


def test_links_that_stay_inside_are_fine_and_so_is_a_linked_vault(vault, tmp_path):
    (vault / "alias").symlink_to("notes")
    assert inside(vault, "alias/a.md") == vault / "alias" / "a.md"
    door = tmp_path / "door"
    door.symlink_to(vault)
    assert inside(door, "notes/a.md") == door / "notes" / "a.md"
    with pytest.raises(OutsideVault):
        inside(door, "../outside/a.md")


def test_the_root_of_the_disk_can_be_a_vault():
    root = Path(Path.cwd().anchor)
    assert inside(root, "notes/a.md") == root / "notes" / "a.md"
