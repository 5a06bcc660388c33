"""The laws of merging: the same from either side, nothing of one side lost, and metadata that reads.

`ATLAS_MERGE_PAIRS` sets how many pairs of versions each law is tried on.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from versions import WORDS, Writer, file, lines_of, lost, merged_both_ways

from atlas import markers
from atlas.markdown import parse
from atlas.merge import merge
from atlas.yamledit import members, same

PAIRS = int(os.environ.get("ATLAS_MERGE_PAIRS", "500"))
LAW = settings(max_examples=PAIRS, deadline=None, suppress_health_check=list(HealthCheck))
SEEDS = st.integers(0, 2**48)


def parsed(data: bytes):
    return parse(data.decode("utf-8-sig").replace("\r\n", "\n"), "n.md")


@LAW
@given(SEEDS)
def test_any_two_versions_merge_the_same_from_either_side_and_lose_no_line(seed):
    base, one, two = Writer(seed).three()
    merged = merged_both_ways(base, one, two)
    assert lost(base, one, merged) == {}
    assert lost(base, two, merged) == {}


@LAW
@given(SEEDS)
def test_metadata_that_reads_in_both_reads_in_the_merge_and_holds_every_value(seed):
    base, one, two = Writer(seed).three()
    merged = merge(base, one, two, "n.md")
    old, first, second, after = map(parsed, (base, one, two, merged.data))
    if not (old.readable and first.readable and second.readable):
        return
    assert after.readable
    for side, other in ((first, second), (second, first)):
        for key, value in side.meta.items():
            if old.meta.get(key) == value:
                continue
            got = after.meta.get(key)
            if got == value or key == "updated":
                assert key in after.meta
            elif key in ("tags", "aliases") or (isinstance(value, list) and isinstance(got, list)):
                kept = {same(key, word) for word in members(key, got)}
                new = set(members(key, value)) - set(members(key, old.meta.get(key)))
                assert {same(key, word) for word in new} <= kept
            else:
                assert key in other.meta or key not in first.meta or key not in second.meta
                assert any(f.kind == "conflict-value" and key in f.message for f in merged.conflicts)


@LAW
@given(SEEDS)
def test_what_one_side_alone_did_is_taken_to_the_byte(seed):
    base, one, _ = Writer(seed).three()
    for conflict in (merge(base, one, base, "n.md"), merge(base, base, one, "n.md"), merge(base, one, one, "n.md")):
        assert (conflict.data, conflict.conflicts) == (one, ())


@LAW
@given(SEEDS)
def test_edits_that_do_not_overlap_are_both_there_without_a_conflict(seed):
    """Each key and each section belongs to one side; the merge is the note with both sides' edits made."""
    writer = Writer(seed)
    rng = writer.rng
    owners = {
        key: rng.randrange(3) for key in ("title", "importance", "kind", "tags", "updated", "place", "new1", "new2")
    }
    heads = {key: writer.field(key) for key in ("title", "importance", "kind", "tags", "place")}
    sections = {f"Part {n}": [writer.line(), "", *writer.text()] for n in range(rng.randint(2, 6))}
    sections = {
        name: [line for line in text if "=======" not in line and line != "---"] for name, text in sections.items()
    }
    part_owner = {name: rng.randrange(3) for name in sections}
    actions = {name: rng.choice(("edit", "edit", "rename", "remove", "add below")) for name in sections}

    def made(who: set[int]) -> bytes:
        rng2 = Writer(seed + 1)  # the same new values, whoever makes them
        head, body = [], ["# The note", ""]
        for key, text in heads.items():
            new = "".join(f"{key}: fresh {key}\n") if key != "tags" else "tags: [x, y]\n"
            head.append(new if owners[key] in who else text)
        head += [f"{key}: fresh\n" for key in ("new1", "new2") if owners[key] in who][:2]
        for name, text in sections.items():
            line, action, mine = rng2.line(), actions[name], part_owner[name] in who
            if mine and action == "remove":
                continue
            body += ["## " + (name + " renamed" if mine and action == "rename" else name)]
            body += [line, *text[1:]] if mine and action == "edit" else text
            body += [""]
            body += ["## Below " + name, line, ""] if mine and action == "add below" else []
        return file(head, body).encode()

    merged = merge(made(set()), made({1}), made({2}), "n.md")
    assert merged.conflicts == ()
    both = made({1, 2})
    assert lines_of(merged.data) == lines_of(both)
    assert parsed(merged.data).meta == parsed(both).meta
    assert [h.text for h in parsed(merged.data).headings] == [h.text for h in parsed(both).headings]


@LAW
@given(SEEDS)
def test_lines_apart_from_each_other_merge_within_a_section(seed):
    writer = Writer(seed)
    lines = [writer.line() for _ in range(12)]
    one, two, both = list(lines), list(lines), list(lines)
    at, to = writer.rng.sample(range(6), 2)
    for side in (one, both):
        side[2 * at] = "first " + WORDS[at]
    for side in (two, both):
        side[2 * to] = "second " + WORDS[to]
    old, a, b, wanted = (file([], ["# T", *side]).encode() for side in (lines, one, two, both))
    assert merge(old, a, b, "n.md").data == merge(old, b, a, "n.md").data == wanted


@LAW
@given(SEEDS)
def test_every_conflict_is_told_and_can_be_found_again(seed):
    base, one, two = Writer(seed).three()
    merged = merge(base, one, two, "n.md")
    note = parsed(merged.data)
    found = [f.kind for f in note.findings]
    told = [f.kind for f in merged.conflicts]
    assert {*told} <= {*found}
    size = markers.size_for(parsed(data).text for data in (base, one, two))
    opening = markers.openings(note.text, size, head=len(note.head))
    assert len(opening) >= told.count("conflict-markers")
    assert len(markers.comments(note.raw_head)) >= told.count("conflict-value")
