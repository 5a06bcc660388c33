"""N: encodings, bytes that are no text, awkward file names, one name in two Unicode forms."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from atlas.errors import Ambiguous, NotFound, NotText

from .conftest import PROJECT
from .malformed import BYTES, BYTES_SAID, NAMES

MARK = b"\xef\xbb\xbf"


def test_n1_saved_on_windows(vault):
    """A byte-order mark and CRLF hide no title, and an edit keeps both; there is one block as before."""
    vault.put("bom.md", BYTES["bom.md"])
    assert vault.engine.expand("Boiler").path == vault.first("valve 7") == "bom.md"
    vault.engine.tag("Boiler", ["heat"])
    assert vault.accept("bom.md") == MARK + b"---\r\ntitle: Boiler\r\ntags: [heat]\r\n---\r\nValve 7\r\n"
    vault.holds()


def test_n1_utf_16_is_read_and_edited_as_such(vault):
    """Decoded, never indexed as junk; an edit keeps the encoding, the mark and CRLF."""
    vault.put("wide.md", BYTES["wide.md"])
    assert vault.engine.expand("Furnace").path == vault.first("valve 9") == "wide.md"
    vault.engine.tag("wide.md", ["heat"])
    assert vault.accept("wide.md") == "---\r\ntitle: Furnace\r\ntags: [heat]\r\n---\r\nValve 9\r\n".encode("utf-16")
    vault.holds(queries=("valve",))


@pytest.mark.parametrize("setting", ["true", "input"])
def test_n1_line_ends_changed_by_git_are_no_news(vault, setting):
    """A re-checkout under `core.autocrlf` derives, embeds and commits nothing, and every id stays."""
    vault.put("bom.md", BYTES["bom.md"])
    vault.commit("bom.md")
    before = _ids(vault)
    head = vault.git("rev-parse", "HEAD")
    vault.git("config", "core.autocrlf", setting)
    for path in before:
        (vault.root / path).unlink()
    vault.git("checkout", "--", *before)
    crlf = b"\r\n" in (vault.root / "kettle.md").read_bytes()
    assert crlf is (setting == "true")
    for path in before:
        vault.accept(path)
    report = vault.engine.refresh()
    assert (report.added, report.changed, report.removed, report.derived, report.embedded) == (0, 0, 0, 0, 0)
    assert _ids(vault) == before
    assert vault.git("rev-parse", "HEAD") == head
    vault.holds()


def _ids(vault):
    return {hit.path: hit.id for hit in vault.hits("note", k=100, abstain=False)}


def test_n2_what_is_not_quite_text(vault):
    """Undecodable, random and NUL bytes stop nothing; each file is named, and what can be read is found."""
    for path in ("latin.md", "blob.md", "nul.md"):
        vault.put(path, BYTES[path])
    giant = vault.put("giant.md", b"a long note " * 5_000_000)
    assert giant.stat().st_size == 60_000_000
    assert [vault.first(word) for word in ("café invoice", "secretword")] == ["latin.md", "nul.md"]
    assert "blob.md" not in vault.paths("invoice", k=100)
    reasons = {f.path: f.message for f in vault.findings()}
    assert "60.0 MB" in reasons["giant.md"]
    assert "binary" in reasons["blob.md"]
    vault.b5_bounded()
    vault.holds(BYTES_SAID | {("giant.md", 0, "oversized")}, queries=("secretword", "invoice"))


def test_n2_an_edit_keeps_the_encoding_or_is_refused(vault):
    """Latin-1 is edited in Latin-1; a word it cannot hold is refused, and no byte is replaced."""
    latin = BYTES["latin.md"]
    vault.put("latin.md", latin)
    vault.put("blob.md", BYTES["blob.md"])
    with pytest.raises(NotText):
        vault.engine.append("latin.md", "日本")
    refused = vault.cli("tag", "latin.md", "日本")
    assert (refused.code, refused.out) == (1, "")
    assert "cp1252" in refused.err
    vault.engine.tag("latin.md", ["paid"])
    assert vault.accept("latin.md") == b"---\ntags: [paid]\n---\n" + latin
    with pytest.raises(NotFound):
        vault.engine.tag("blob.md", ["paid"])
    vault.holds({("latin.md", 0, "encoding"), ("blob.md", 0, "binary")})


def test_n3_names_that_shells_stumble_over(vault):
    """Each is indexed under its own name and can be asked for by it; a link to one resolves."""
    for n, path in enumerate(NAMES):
        vault.put(path, f"Word number{n} stands here.\n")
    vault.put("elsewhere.md", "Coffee as in [[日本 café]].\n")
    assert [vault.first(f"number{n}") for n in range(len(NAMES))] == list(NAMES)
    assert [vault.engine.expand(path).path for path in NAMES] == list(NAMES)
    (link,) = vault.engine.expand("elsewhere").links
    assert vault.engine.expand(link.target).path == NAMES[0]
    assert vault.cli("tag", "--", "-rf.md", "odd").code == 0
    assert vault.accept("-rf.md").startswith(b"---\ntags: [odd]\n---\n")
    assert not list(vault.root.rglob("pwned"))
    vault.holds(queries=("number3",))


def test_n3_names_through_a_hook(vault):
    """Exactly the staged files are judged, the bad one is named on one line, and nothing in a name is run."""
    for path in NAMES:
        vault.put(path, "Fine.\n")
    bad = "two\nlines.md"
    vault.put(bad, "---\ntitle: *Draft*\n---\nNot fine.\n")
    vault.put("unstaged.md", "---\ntitle: *Draft*\n---\nNot fine, and not staged.\n")
    hook = vault.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nPYTHONPATH="{PROJECT}" exec "{sys.executable}" -P -m atlas validate --staged >&2\n')
    hook.chmod(0o755)
    vault.git("add", "-N", "--", *NAMES)
    said = vault.commits(*NAMES)
    assert said.startswith("two\\nlines.md:2: frontmatter: ")
    assert said.count("\n") == 1
    assert vault.git("log", "--oneline", "--", *NAMES) == ""
    vault.put(bad, "Fine.\n")
    assert vault.commits(*NAMES) == ""
    assert vault.git("log", "--format=%s", "--", bad) == "by hand\n"
    assert not list(vault.root.rglob("pwned"))
    vault.holds({("unstaged.md", 2, "frontmatter")})


COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))


def test_n4_one_name_in_two_unicode_forms(vault):
    """The flip that a sync between systems makes is no change of memory: same id, working link, same answer."""
    text = "The corner table is the quiet one.\n"
    vault.put(DECOMPOSED, text)
    vault.put("links.md", f"We met at the [[{COMPOSED.removesuffix('.md')}]].\n")
    vault.commit(DECOMPOSED, "links.md")
    (link,) = vault.engine.expand("links").links
    before = vault.engine.expand(link.target)
    assert (before.path, vault.first("quiet corner")) == (DECOMPOSED, DECOMPOSED)
    vault.drop(DECOMPOSED)
    vault.put(COMPOSED, text)
    after = vault.engine.expand(link.target)
    assert (after.path, after.id) == (COMPOSED, before.id)
    assert vault.paths("quiet corner").count(COMPOSED) == 1
    assert DECOMPOSED not in vault.paths("quiet corner")
    vault.git("add", "-A", "--", COMPOSED, DECOMPOSED)
    vault.git("commit", "-qm", "synced", "--", COMPOSED, DECOMPOSED)
    assert vault.engine.expand(link.target).id == before.id
    vault.holds()


def test_n4_both_forms_at_once_are_a_collision(vault):
    """Two files are two memories with two ids; `status` names the pair, and neither is overwritten."""
    vault.put(COMPOSED, "The composed one.\n")
    vault.put(DECOMPOSED, "The decomposed one.\n")
    assert (vault.first("composed one"), vault.first("decomposed one")) == (COMPOSED, DECOMPOSED)
    assert vault.engine.expand(COMPOSED).id != vault.engine.expand(DECOMPOSED).id
    with pytest.raises(Ambiguous):
        vault.engine.tag("Café", ["seen"])
    vault.holds({(COMPOSED, 0, "name-collision")})
