"""O2, N2, N4, W3, A4: links over a rename, made by Atlas or behind its back."""

from __future__ import annotations

import unicodedata

import pytest

from atlas.errors import AtlasError, OutsideVault

from .test_obsidian import BENT

BOILER = "# Boiler\n\n## Valve\n\nSeven turns. ^v7\n"
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD"))


def test_o2_a_rename_takes_every_real_link_along(vault):
    """Pipe, heading, block, embed, ending, table and callout stay as typed; code is not touched; one commit."""
    vault.put("folder/Boiler.md", BOILER)
    vault.put("heating.md", BENT + "\n[it](folder/Boiler.md#valve)\n")
    vault.commit("folder/Boiler.md", "heating.md")
    said = vault.cli("mv", "Boiler", "folder/Furnace.md", "--json").json
    assert said["moved"] == {"from": "folder/Boiler.md", "to": "folder/Furnace.md"}
    assert {(link["path"], link["from"], link["to"]) for link in said["links"]} == {
        ("heating.md", "Boiler", "Furnace"),
        ("heating.md", "Boiler#Valve", "Furnace#Valve"),
        ("heating.md", "Boiler#^v7", "Furnace#^v7"),
        ("heating.md", "folder/Boiler.md", "folder/Furnace.md"),
        ("heating.md", "folder/Boiler.md#valve", "folder/Furnace.md#valve"),
    }
    assert [link["line"] for link in said["links"]] == [5, 7, 7, 7, 7, 9, 19, 23]
    wanted = BENT.replace("folder/Boiler.md", "folder/Furnace.md").replace("[[Boiler", "[[Furnace")
    assert vault.accept("heating.md").decode() == wanted + "\n[it](folder/Furnace.md#valve)\n"
    del vault.left["folder/Boiler.md"]
    assert vault.accept("folder/Furnace.md").decode() == BOILER
    assert vault.git("log", "-1", "--format=%H").strip() == said["commit"]
    assert vault.git("show", "--format=", "--name-status", "-M").split("\n")[:2] == [
        "R100\tfolder/Boiler.md\tfolder/Furnace.md",
        "M\theating.md",
    ]
    note = vault.engine.expand("Heating")
    assert {vault.engine.expand(link.target).path for link in note.links} == {"folder/Furnace.md"}
    vault.holds(queries=("boiler",))


def test_o2_undo_brings_all_back(vault):
    vault.put("folder/Boiler.md", BOILER)
    vault.put("heating.md", BENT)
    vault.commit("folder/Boiler.md", "heating.md")
    assert vault.cli("mv", "Boiler", "Furnace.md").code == 0
    assert vault.cli("undo").code == 0
    assert vault.engine.expand("Boiler").path == "folder/Boiler.md"
    vault.holds()


def test_o2_another_title_takes_the_links_by_title_along(vault):
    """`[[Kettle]]` of the harbour walk is the file of that name; `[[Garden plan]]` is a title."""
    vault.put("plan.md", "See [[Garden plan|the garden]] and `[[Garden plan]]`.\n")
    vault.commit("plan.md")
    said = vault.cli("mv", "garden.md", "--title", "Beans and peas", "--json").json
    assert [(link["path"], link["from"], link["to"]) for link in said["links"]] == [
        ("plan.md", "Garden plan", "Beans and peas")
    ]
    assert vault.accept("plan.md") == b"See [[Beans and peas|the garden]] and `[[Garden plan]]`.\n"
    assert vault.accept("garden.md").startswith(b"---\ntitle: Beans and peas\ntags: [garden]\n---\n")
    vault.holds()


def test_n2_a_rename_is_all_or_nothing(vault):
    """A note that links here and cannot hold the new name stops it all; one that can is edited in its encoding."""
    vault.put("Invoice.md", "Paid.\n")
    vault.put("latin.md", b"caf\xe9 [[Invoice]]\n")
    vault.put("other.md", "[[Invoice]]\n")
    vault.commit("Invoice.md", "latin.md", "other.md")
    head = vault.git("rev-parse", "HEAD")
    refused = vault.cli("mv", "Invoice", "請求書.md")
    assert (refused.code, refused.out) == (1, "")
    assert "latin.md" in refused.err
    assert refused.err.count("\n") == 1
    assert vault.git("rev-parse", "HEAD") == head
    vault.b1_files_are_as_they_were_left()
    assert vault.cli("mv", "Invoice", "Reçu.md").code == 0
    del vault.left["Invoice.md"]
    vault.accept("Reçu.md")
    assert vault.accept("latin.md") == b"caf\xe9 [[Re\xe7u]]\n"
    assert vault.accept("other.md") == "[[Reçu]]\n".encode()
    vault.holds({("latin.md", 0, "encoding")})


def test_n2_metadata_that_does_not_read_stops_a_rename(vault):
    vault.put("Invoice.md", "Paid.\n")
    vault.put("broken.md", "---\ntitle: [broken\n---\n[[Invoice]]\n")
    vault.commit("Invoice.md", "broken.md")
    refused = vault.cli("mv", "Invoice", "Bill.md")
    assert refused.code == 1
    assert "broken.md:2" in refused.err
    vault.holds({("broken.md", 2, "frontmatter")})


def test_n4_a_link_in_the_other_unicode_form_follows(vault):
    """The file decomposed, the link composed: one name, and it follows; the taken name is taken in either form."""
    vault.put(f"{DECOMPOSED}.md", "The corner table.\n")
    vault.put("links.md", f"We met at the [[{COMPOSED}]], [there]({COMPOSED}.md).\n")
    vault.commit(f"{DECOMPOSED}.md", "links.md")
    with pytest.raises(AtlasError, match="there already"):
        vault.engine.move("kettle.md", f"{COMPOSED}.md")
    before = vault.engine.expand(f"{DECOMPOSED}.md").id
    vault.engine.move(f"{DECOMPOSED}.md", "Tea room.md")
    del vault.left[f"{DECOMPOSED}.md"]
    vault.accept("Tea room.md")
    assert vault.accept("links.md") == b"We met at the [[Tea room]], [there](Tea%20room.md).\n"
    assert vault.engine.expand("Tea room").id == before
    vault.holds()


def test_n4_from_one_form_to_the_other(vault):
    vault.put(f"{DECOMPOSED}.md", "The corner table.\n")
    vault.put("links.md", f"We met at the [[{COMPOSED}]].\n")
    vault.commit(f"{DECOMPOSED}.md", "links.md")
    before = vault.engine.expand(f"{DECOMPOSED}.md").id
    assert vault.engine.move(f"{DECOMPOSED}.md", f"{COMPOSED}.md").links == ()
    del vault.left[f"{DECOMPOSED}.md"]
    vault.accept(f"{COMPOSED}.md")
    assert vault.engine.expand("Café").id == before
    vault.holds()


def test_w3_links_into_a_folder_that_moves_break_and_heal(vault):
    """Moved away the notes are gone, back they are there with the same ids; under another name the links are mended."""
    vault.put("area/one.md", "The first.\n")
    vault.put("area/two.md", "---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\n---\nThe second.\n")
    text = "[[area/one]] [two](area/two.md) [[one]]\n"
    vault.put("map.md", text)
    vault.commit("area/one.md", "area/two.md", "map.md")
    ids = {path: vault.engine.expand(path).id for path in ("area/one.md", "area/two.md")}
    away = vault.root.parent / "away"
    (vault.root / "area").rename(away)
    assert {("area/one.md", 0, "missing"), ("area/two.md", 0, "missing")} == vault.named()
    away.rename(vault.root / "area")
    assert vault.named() == set()
    assert {path: vault.engine.expand(path).id for path in ids} == ids

    (vault.root / "area").rename(vault.root / "area2")
    missing = {("area/one.md", 0, "missing"), ("area/two.md", 0, "missing")}
    assert vault.named() == missing | {("map.md", 1, "moved")}
    assert {path: vault.engine.expand(path.replace("area", "area2")).id for path in ids} == ids
    head = vault.git("rev-parse", "HEAD")
    said = vault.cli("mv", "--repair", "--json").json
    assert [(link["from"], link["to"]) for link in said["links"]] == [
        ("area/one", "area2/one"),
        ("area/two.md", "area2/two.md"),
    ]
    assert vault.accept("map.md") == b"[[area2/one]] [two](area2/two.md) [[one]]\n"
    assert vault.git("rev-parse", "HEAD^") == head
    for path in ids:
        vault.left[path.replace("area", "area2")] = vault.left.pop(path)
    assert vault.named() == missing
    vault.git("add", "-A", "--", "area", "area2")
    vault.git("commit", "-qm", "moved", "--", "area", "area2")
    vault.holds()


@pytest.mark.parametrize(
    "path",
    ["../escape", "/outside/escape.md", "~/x.md", "a/../../b", "%2e%2e/x", ".git/hooks/pre-commit", "C:evil", "a\0b"],
)
def test_a4_no_note_is_moved_out_of_the_vault(vault, path):
    with pytest.raises(OutsideVault):
        vault.engine.move("kettle.md", path)
    vault.holds()


def test_a4_nor_through_a_link_that_leads_out(vault):
    outside = vault.root.parent / "outside"
    outside.mkdir()
    (vault.root / "out").symlink_to(outside)
    for path in ("out/", "out/kettle.md"):
        with pytest.raises(OutsideVault):
            vault.engine.move("kettle.md", path)
    assert list(outside.iterdir()) == []
    vault.holds({("out", 0, "link")})
