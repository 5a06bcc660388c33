"""P: metadata that is none, that is damaged, that YAML would misread, and that must survive an edit."""

from __future__ import annotations

import pytest

from atlas import markdown
from atlas.errors import Unparsable

from .malformed import BROKEN, BROKEN_SAID, DATES, DATES_SAID, DEEP, DEEP_SAID, RULES, STACKED, STACKED_SAID


def test_p1_an_opening_rule_swallows_nothing(vault):
    """Rules around prose are no metadata: every word is found, nothing is even a warning."""
    for path, text in RULES.items():
        vault.put(path, text)
    assert [vault.first(w) for w in ("marmot", "wombat", "last-quokka", "tapir")] == list(RULES)
    assert [dict(vault.engine.expand(path).meta) for path in RULES] == [{}, {}, {"title": "A fence"}, {}]
    assert "Tail sentence." in vault.engine.expand("rule.md").detail
    vault.holds(queries=("marmot", "last-quokka"))


def test_p1_an_id_is_put_above_an_opening_rule(vault):
    """Adding an id to such a note keeps every word."""
    for path, text in RULES.items():
        vault.put(path, text)
    vault.engine.adopt(["rule.md", "list.md"])
    for path in ("rule.md", "list.md"):
        id = vault.engine.expand(path).meta["id"]
        assert vault.accept(path).decode() == f"---\nid: {id}\n---\n{RULES[path]}"
    assert [vault.first(w) for w in ("marmot", "tapir")] == ["rule.md", "list.md"]
    vault.holds()


def test_p2_an_id_goes_into_the_block_that_is_there(vault):
    """One block before, one block after, the other keys untouched."""
    own = "---\ntitle: Own\nkind: litnote\ncitekey: k24\n---\nAbout citations.\n"
    vault.put("own.md", own)
    assert vault.cli("adopt", "own.md").code == 0
    note = vault.engine.expand("own.md")
    after = vault.accept("own.md").decode()
    assert after.replace(f"id: {note.id}\n", "") == own
    assert list(note.meta) == ["title", "kind", "citekey", "id"]
    vault.holds()


def test_p2_stacked_blocks_are_reported_and_only_repaired_when_asked(vault):
    """Both blocks are searched, neither is rewritten; the repair loses no key."""
    vault.put("two.md", STACKED["two.md"])
    assert vault.first("where do the spare keys hang") == "two.md"
    refused = vault.cli("tag", "two.md", "found")
    assert (refused.code, refused.out) == (1, "")
    assert "two.md:3" in refused.err
    vault.holds(STACKED_SAID, queries=("spare keys",))
    vault.engine.edit("two.md", markdown.unstack, reason="repair")
    vault.accept("two.md")
    assert dict(vault.engine.expand("two.md").meta) == {
        "permalink": "x/y", "name": "keys", "summary": "where the spare keys hang"
    }  # fmt: skip
    assert vault.first("where do the spare keys hang") == "two.md"
    vault.holds()


def test_p3_five_bad_notes_do_not_hold_back_twenty_good_ones(vault):
    """All bodies are found; the bad five are listed by `index` with file, line, column and a hint."""
    for n in range(20):
        vault.put(f"good/{n}.md", f"---\ntitle: Good {n}\n---\nNumber {n} is fine.\n")
    for path, text in BROKEN.items():
        vault.put(path, text)
    report = vault.cli("index", "--json").json
    assert (report["memories"], report["added"]) == (28, 28)
    assert {(s["path"], s["line"]) for s in report["skipped"]} == {(path, line) for path, line, _ in BROKEN_SAID}
    assert all("column" in s["reason"] and "(" in s["reason"] for s in report["skipped"])
    animals = ("okapis", "pangolins", "axolotls", "capybaras", "lemurs")
    assert [vault.first(animal) for animal in animals] == list(BROKEN)
    assert vault.first("blue build") == "bad/quotes.md"
    vault.holds(BROKEN_SAID, queries=animals)


def test_p3_a_note_that_cannot_be_parsed_is_not_rewritten(vault):
    """Refused, with exit code 1 and the line, and the bytes are as before; repaired by hand it is read at once."""
    for path, text in BROKEN.items():
        vault.put(path, text)
        with pytest.raises(Unparsable, match=path):
            vault.engine.tag(path, ["new"])
    refused = vault.cli("tag", "bad/star.md", "new")
    assert (refused.code, refused.out) == (1, "")
    assert "bad/star.md:2" in refused.err
    vault.holds(BROKEN_SAID)
    vault.put("bad/star.md", "---\ntitle: A clean draft\n---\nThe body speaks of axolotls.\n")
    assert vault.first("clean draft") == "bad/star.md"
    vault.engine.tag("bad/star.md", ["new"])
    assert b"tags: [new]" in vault.accept("bad/star.md")
    vault.holds({said for said in BROKEN_SAID if said[0] != "bad/star.md"})


def test_p3_a_commit_is_judged_by_what_it_stages(vault):
    """Bad notes lie in the folder: a commit without them is fine, one with them is refused, by its staged bytes."""
    for path, text in BROKEN.items():
        vault.put(path, text)
    vault.put("fine.md", "Nothing wrong here.\n")
    vault.stage("fine.md")
    assert vault.engine.validate(staged=True) == []
    vault.stage("bad/tab.md")
    vault.put("bad/tab.md", "Repaired on disk, and not staged.\n")
    refused = vault.cli("validate", "--staged", "--json")
    assert refused.code == 1
    assert [(f["path"], f["line"]) for f in refused.json["findings"]] == [("bad/tab.md", 4)]
    vault.holds({said for said in BROKEN_SAID if said[0] != "bad/tab.md"})


NORWAY = """---
tags: [no, on, 2024, 1.10, 12:30, 0x1F]
aliases: [Yes, ~]
title: 01234
country: NO
on: kickoff
score: .nan
---
A note about Norway.
"""


def test_p4_words_stay_what_the_person_typed(vault):
    """Tags, aliases and title are strings, no key becomes a truth value, and what is exported is strict JSON."""
    vault.put("norway.md", NORWAY)
    found = [vault.paths("Norway", tag=[tag]) for tag in ("no", "on", "2024", "1.10", "12:30", "0x1F")]
    assert found == [["norway.md"]] * 6
    assert vault.paths("Norway", tag=["false"]) == vault.paths("Norway", tag=["1.1"]) == []
    assert vault.engine.expand("01234").path == vault.engine.expand("yes").path == "norway.md"
    shown = vault.cli("show", "01234", "--json").json
    assert shown["label"] == "01234"
    assert shown["tags"] == ["no", "on", "2024", "1.10", "12:30", "0x1F"]
    assert (shown["meta"]["on"], shown["meta"]["country"], shown["meta"]["score"]) == ("kickoff", "NO", ".nan")
    bundle = vault.root.with_name("bundle.json")
    vault.engine.export_memories(bundle)
    assert "NaN" not in bundle.read_text()
    vault.holds(queries=("Norway",))


SPELLINGS = {
    "2026-05-01": "2026-05-01T00:00:00Z",
    "'2026-05-01T10:00:00'": "2026-05-01T10:00:00Z",
    "2026-05-01 10:00:00": "2026-05-01T10:00:00Z",
    "2026-05-01T10:00:00+05:30": "2026-05-01T04:30:00Z",
}


def test_p5_dates_in_every_spelling(vault):
    """Four spellings compare as UTC; what is no date is a finding of its own note, and hides nothing."""
    for n, typed in enumerate(SPELLINGS):
        vault.put(f"dates/{n}.md", f"---\ncreated: {typed}\n---\nA calendar entry, number {n}.\n")
    for path, text in {**DATES, **DEEP}.items():
        vault.put(path, text)
    created = {hit.path: hit.created for hit in vault.hits("calendar entry", k=50)}
    assert [created[f"dates/{n}.md"] for n in range(4)] == list(SPELLINGS.values())
    assert {created[path] for path in DATES} == {""}
    before = set(vault.paths("calendar", k=50, valid_at="2026-05-01T05:00:00Z"))
    assert before & {f"dates/{n}.md" for n in range(4)} == {"dates/0.md", "dates/3.md"}
    assert before >= set(DATES)
    found = vault.cli("search", "calendar entry", "--json", "-k", "50").json["hits"]
    assert {hit["path"]: hit["created"] for hit in found} == created
    assert vault.first("moles") == "deep.md"
    vault.holds(DATES_SAID | DEEP_SAID, queries=("calendar",))


TYPED = 'z: 1  # keep me\na: "q"\ncreated: 2026-05-01\ntags: [b, a]\n'
BODY = "    indented code\n\nThe text.\nend  \n\n\n"


@pytest.mark.parametrize(("path", "body"), [("own.md", BODY), ("twin.md", BODY + "no newline")])
def test_p6_changing_a_key_changes_its_line(vault, path, body):
    """A tag and a time: one line changed, one added; comment, order, quotes, style, blanks and line ends survive."""
    vault.put(path, f"---\n{TYPED}---\n{body}")
    vault.commit(path)
    vault.engine.tag(path, ["c"])
    assert vault.git("show", "--numstat", "--format=") == f"1\t1\t{path}\n"
    vault.engine.edit(path, lambda text: markdown.edit(text, {"updated": "2026-06-01"}))
    assert vault.git("show", "--numstat", "--format=") == f"1\t0\t{path}\n"
    wanted = TYPED.replace("[b, a]", "[b, a, c]") + "updated: 2026-06-01\n"
    assert vault.accept(path).decode() == f"---\n{wanted}---\n{body}"
    vault.holds()
