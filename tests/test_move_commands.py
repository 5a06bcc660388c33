"""`atlas mv`, `join` and `split`: words, what they print, exit codes."""

from __future__ import annotations

import json

import pytest
from shell import atlas, new_vault
from support import write


@pytest.fixture
def vault(tmp_path, git):
    """A vault with a note, one that links to it, and a folder to stand in."""
    root = new_vault(tmp_path / "v")
    write(root, "boiler.md", "# Boiler\n\n## Valve\n\nx\n")
    write(root, "sub/n.md", "x\n[[boiler|it]]\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "notes")
    return root


def test_a_move_prints_what_moved_and_which_links_followed(vault):
    said = atlas("mv", "boiler.md", "heat/", cwd=vault)
    assert (said.code, said.out) == (0, "boiler.md → heat/boiler.md\n")
    assert said.err.startswith("0 links followed.\nCommitted ")
    said = atlas("mv", "Boiler", "Furnace", "--reason", "renamed", cwd=vault)
    assert said.out == "heat/boiler.md → Furnace.md\nsub/n.md:2: boiler → Furnace\n"
    assert said.err.startswith("1 link followed.\nCommitted ")
    assert atlas("why", "Furnace", "--json", cwd=vault).json["entries"][0]["reason"] == "renamed"


def test_a_dry_run_and_json(vault, git):
    said = atlas("mv", "Boiler", "Furnace", "--dry-run", "--json", cwd=vault).json
    assert said == {
        "moved": {"from": "boiler.md", "to": "Furnace.md"},
        "links": [{"path": "sub/n.md", "line": 2, "from": "boiler", "to": "Furnace"}],
        "joined": [],
        "left": [],
        "commit": "",
        "committed": False,
        "note": "",
        "dry_run": True,
    }
    assert atlas("mv", "Boiler", "Furnace", "--dry-run", cwd=vault).err == "1 link would follow.\n"
    assert git(vault, "status", "--porcelain") == ""


def test_paths_are_read_from_the_current_folder_if_the_note_is_named_from_there(vault):
    assert atlas("mv", "n.md", "m.md", cwd=vault / "sub").out == "sub/n.md → sub/m.md\n"
    assert atlas("mv", "m.md", "../k", cwd=vault / "sub").out == "sub/m.md → k.md\n"
    assert atlas("mv", "Boiler", "x.md", cwd=vault / "sub").out.startswith("boiler.md → x.md\n")
    assert atlas("mv", "k.md", str(vault / "sub") + "/", cwd=vault).out == "k.md → sub/k.md\n"
    assert atlas("mv", "k.md", "../../out.md", cwd=vault / "sub").code == 1


@pytest.mark.parametrize(
    "words",
    [
        ("mv",),
        ("mv", "a"),
        ("mv", "a", "b", "--title", "c"),
        ("mv", "a", "b", "--rename-file"),
        ("mv", "a", "--repair"),
        ("join", "a"),
        ("split", "a"),
    ],
)
def test_wrong_words(vault, words):
    said = atlas(*words, cwd=vault)
    assert said.code == 2
    assert said.sentence.endswith("--help`.")


def test_a_title_with_the_file(vault):
    said = atlas("mv", "boiler.md", "--title", "Big furnace", "--rename-file", cwd=vault)
    assert said.out == "boiler.md → big-furnace.md\nsub/n.md:2: boiler → big-furnace\n"


def test_join_and_split(vault):
    write(vault, "tap.md", "# Tap\n")
    assert atlas("split", "Boiler", "Valve", "--to", "parts/", cwd=vault).out == "boiler.md → parts/valve.md\n"
    said = atlas("join", "boiler.md", "tap.md", "parts/valve.md", cwd=vault)
    assert said.out.startswith("tap.md → boiler.md\nparts/valve.md → boiler.md\n")
    assert not (vault / "tap.md").exists()
    joined = atlas("join", "boiler.md", "sub/n.md", "--dry-run", "--json", cwd=vault).json
    assert joined["joined"] == ["sub/n.md"]
    assert joined["moved"] == {"from": "boiler.md", "to": "boiler.md"}


def test_repair(vault, git):
    assert atlas("mv", "--repair", cwd=vault).sentence.endswith("nothing to repair.")
    git(vault, "mv", "boiler.md", "furnace.md")
    said = atlas("mv", "--repair", cwd=vault)
    assert (said.code, said.out) == (0, "sub/n.md:2: boiler → furnace\n")
    assert json.loads(atlas("status", "--json", cwd=vault).out)["findings"] == []


def test_a_link_that_is_left_is_said(vault):
    write(vault, "odd.md", '---\nup: "[[b\\u006filer]]"\n---\n')
    said = atlas("mv", "boiler.md", "x.md", cwd=vault)
    assert said.code == 0
    assert said.err.startswith("odd.md:2: left alone: ")


def test_not_committed_is_said(vault, git):
    git(vault, "checkout", "-q", "--detach")
    said = atlas("mv", "boiler.md", "x.md", cwd=vault)
    assert said.code == 3
    assert "Saved, not committed" in said.err
    assert (vault / "x.md").exists()
    git(vault, "switch", "-q", "main")
    assert atlas("tag", "n.md", "later", cwd=vault / "sub").code == 0
    assert git(vault, "status", "--porcelain") == ""
