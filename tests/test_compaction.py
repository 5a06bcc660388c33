"""Summaries of sessions: no fact lost, nothing mixed that is not to be trusted, nothing touched that is a person's."""

from __future__ import annotations

import os
import random
import sys
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest
from support import write

from atlas import compaction, markdown
from atlas.digest import Said, digest, forgotten
from atlas.errors import Unavailable
from atlas.ingest import Request
from atlas.memory import Use
from atlas.retell import summariser

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
planted = import_module("_planted")

#: A thousand take three minutes: `python benchmarks/compaction.py` does them too.
COMPACTIONS = int(os.environ.get("ATLAS_TEST_COMPACTIONS", "60"))
SMALL_TALK = "It is such a pleasure to sit together and talk about all of this with good friends all day. Thanks a lot!"


def turns(count=8):
    return [
        planted.Turn(f"Ana: {SMALL_TALK} Box {n} holds {n * 17 + 3} screws. {SMALL_TALK}", ()) for n in range(count)
    ]


def planned(view, **changed):
    """The plan over these memories, some fields of each changed."""
    profiles = tuple(replace(one, **changed) for one in view.profiles())
    return compaction.plan(replace(view, profiles=lambda: profiles))


def summary_of(plan):
    (made,) = [change for change in plan.changes if change.data and b"derived_from" in change.data]
    return markdown.parse(made.data.decode(), made.path)


@pytest.mark.parametrize("part", range(4))
def test_generated_compactions_lose_nothing(part):
    made = 0
    for seed in range(part, COMPACTIONS, 4):
        said, _, after, plan = planted.compacted(seed)
        made += bool(plan.changes)
        assert planted.lost(said, after) == [], f"seed {seed}"
    assert made > COMPACTIONS // 8


def test_the_oracle_sees_what_is_missing():
    said, files, _, _ = planted.compacted(0)
    assert any(turn.planted for turn in said)
    emptied = {path: data.replace(b"\n# ", b"\n#\n").split(b"\n#\n")[0] + b"\n# Gone\n" for path, data in files.items()}
    assert planted.lost(said, files) == []
    assert len(planted.lost(said, emptied)) == sum(len(turn.planted) for turn in said)


def test_a_summary_says_where_it_comes_from():
    files, view = planted.vault(turns())
    plan = planned(view, tags=("garden", "cluster/screws"))
    note = summary_of(plan)
    profiles = view.profiles()
    assert note.meta["derived_from"] == [one.id for one in profiles]
    assert (note.meta["kind"], note.meta["source"], note.meta["importance"]) == ("episode", "talk/1", "0.3")
    assert note.meta["created"] == "2026-04-02T00:07:00Z", "that of the newest source"
    assert note.meta["tags"] == ["garden", "cluster/screws"]
    assert "trust" not in note.meta
    assert note.title.endswith(", 2026-04-02")
    assert "Box 7 holds 122 screws." in note.detail
    assert note.detail.count("such a pleasure") <= 1, "a repetition"
    assert "Thanks" not in note.detail
    assert plan.groups == (tuple(range(len(plan.changes))),)
    assert plan.record.op == "compact"
    after = planted.applied(files, plan.changes)
    assert sum(map(len, after.values())) < sum(map(len, files.values())) * 1.2, "metadata included"


@pytest.mark.parametrize(
    "changed",
    [
        {"pinned": True}, {"linked": True}, {"kind": "decision"}, {"created": None}, {"trust": "contested"},
        {"readable": False}, {"valid_to": 1}, {"meta": {"superseded_by": "x"}}, {"meta": {"derived_from": ["x"]}},
        {"meta": {"rung": "L0"}}, {"meta": {"forgotten": "2026-05-31"}}, {"source": ""},
        {"created": int(planted.NOW.timestamp() * 1e6)},
    ],
)  # fmt: skip
def test_what_is_never_summarised(changed):
    _, view = planted.vault(turns())
    assert planned(view).changes
    assert planned(view, **changed).changes == ()


def test_a_persons_notes_and_notes_being_edited_stay():
    _, view = planted.vault(turns())
    assert compaction.plan(replace(view, ours=tuple)).changes == ()
    assert compaction.plan(replace(view, busy=lambda _: True)).changes == ()
    one = view.profiles()[0].path
    plan = compaction.plan(replace(view, busy=one.__eq__))
    assert plan.changes
    assert one not in {change.path for change in plan.changes}


def test_a_session_that_goes_on_is_left():
    _, view = planted.vault(turns())
    last = int((view.now - timedelta(days=1)).timestamp() * 1e6)
    old, new = view.profiles()[:-1], view.profiles()[-1]
    assert compaction.plan(replace(view, profiles=lambda: (*old, replace(new, created=last)))).changes == ()


def test_what_is_not_trusted_is_summarised_alone():
    _, view = planted.vault(turns(12))
    profiles = view.profiles()
    mixed = tuple(replace(one, trust="untrusted") if n % 2 else one for n, one in enumerate(profiles))
    plan = compaction.plan(replace(view, profiles=lambda: mixed))
    made = [change for change in plan.changes if change.data and b"derived_from" in change.data]
    by_trust = {}
    for change in made:
        meta = markdown.parse(change.data.decode(), change.path).meta
        by_trust[meta.get("trust")] = set(meta["derived_from"])
    assert by_trust == {
        None: {one.id for one in mixed if one.trust != "untrusted"},
        "untrusted": {one.id for one in mixed if one.trust == "untrusted"},
    }


def test_long_sessions_become_several_summaries():
    _, view = planted.vault(turns(90))
    plan = compaction.plan(view)
    assert len(plan.groups) == 3
    assert sorted(place for group in plan.groups for place in group) == list(range(len(plan.changes)))


def test_a_cluster_stands_in_for_a_session():
    _, view = planted.vault(turns())
    plan = planned(view, source="notes", tags=("cluster/screws",))
    assert summary_of(plan).meta["source"] == "notes"


def test_what_cannot_get_smaller_stays():
    _, view = planted.vault([planted.Turn(f"Box {n} holds {n * 17 + 3} screws.", ()) for n in range(9)])
    assert compaction.plan(view).changes == ()


def test_a_source_whose_fact_is_lost_keeps_its_level():
    files, view = planted.vault(turns())
    plan = compaction.plan(view, lambda said, room: digest(said, room).replace("Box 3 holds 54 screws.", ""))
    lost = next(one for one in view.profiles() if b"Box 3 holds 54" in files[one.path])
    assert plan.changes
    assert lost.path not in {change.path for change in plan.changes}
    assert lost.id not in summary_of(plan).meta["derived_from"]


def test_what_a_summary_invents_is_refused_whole():
    _, view = planted.vault(turns())
    for invention in ("Box 3 holds 55 screws.", "Zelda came too.", "Never open box 3."):
        assert compaction.plan(view, lambda said, room, more=invention: f"{digest(said, room)}\n- {more}").changes == ()


def test_a_model_that_cannot_be_asked_changes_nothing():
    def silent(prompt):
        raise Unavailable("The model does not answer: see that it runs.")

    _, view = planted.vault(turns())
    plan = compaction.plan(view, summariser(silent))
    assert plan.changes == ()
    assert "does not answer" in plan.notes[0]


def test_a_model_that_keeps_to_the_facts_is_believed():
    def model(prompt):
        assert "never an instruction" in prompt
        return "\n".join(f"{n + 1}. Ana: Box {n} holds {n * 17 + 3} screws." for n in range(8))

    _, view = planted.vault(turns())
    note = summary_of(compaction.plan(view, summariser(model)))
    assert len(note.meta["derived_from"]) == 8


def test_each_day_stands_above_what_was_said_on_it():
    said = [Said("Ana: I moved yesterday.", "2026-01-09"), Said("Ana: Ben left yesterday.", "2026-01-20")]
    text = digest(said, 0)
    assert text == "2026-01-09:\n\n- Ana: I moved yesterday.\n\n2026-01-20:\n\n- Ana: Ben left yesterday."
    assert forgotten(said, text) == {}
    assert list(forgotten(said, text.replace("2026-01-20", "2026-01-21"))) == [1]


def test_a_moment_in_the_text_becomes_the_line_above():
    said = [
        Said(f"{who} (1:56 pm on 8 May, 2023): I have {n} cats.", "2023-05-08")
        for n, who in enumerate(("Ana", "Ben"), 2)
    ]
    assert digest(said, 0) == ("2023-05-08, 1:56 pm on 8 May, 2023:\n\n- Ana: I have 2 cats.\n- Ben: I have 3 cats.")
    assert forgotten(said, digest(said, 0)) == {}


def test_a_sentence_is_not_torn_from_what_it_points_to():
    text = digest([Said("The printer in the hall is broken. It costs 500 euros. Bye!", "2026-01-01")], 0)
    assert text.endswith("- The printer in the hall is broken. It costs 500 euros.")
    asked = [Said("Ana: How many children do you have?", "2026-01-01"), Said("Ben: Three.", "2026-01-01")]
    assert "How many children" in digest(asked, 0)


def test_a_label_of_ones_own_is_kept_too(engine, root):
    for n in range(6):
        text = f"{SMALL_TALK} Nothing else was said. {SMALL_TALK}"
        asked = Request(
            f"{n} {text}", kind="episode", label=f"Decision {n + 40} of Zelda", source=f"talk#{n}", created="2026-01-01"
        )
        engine.ingest_many([asked])
    engine.maintain()
    with engine._catalog() as catalog:
        made = [card for card in catalog.cards() if card.kind == "episode"]
    told = "".join(engine.expand(card.path).detail for card in made)
    assert all(f"Decision {n + 40} of Zelda" in told for n in range(6))


def test_a_hand_written_episode_is_not_touched(engine, root, git):
    for n in range(6):
        head = f"---\nkind: episode\ncreated: 2026-01-0{n + 1}\nsource: talk#{n}\n---\n"
        write(root, f"notes/{n}.md", f"{head}# Turn {n}\n\n{SMALL_TALK} Box {n} holds {n + 70} screws. {SMALL_TALK}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    assert [ran for ran in engine.maintain() if ran.task == "compact"] == []


def test_the_generator_is_the_same_each_time():
    assert planted.talk(random.Random(7)) == planted.talk(random.Random(7))


def test_what_is_still_used_stays_whole():
    """In a year in which age alone decided, a fifth of what was asked for again was found no more."""
    _, view = planted.vault(turns())
    used = {one.id for one in view.profiles()[:3]}
    read = replace(view, usage=lambda: {id: Use(9, (f"{view.now - timedelta(days=1):%Y-%m-%d}",)) for id in used})
    assert not used & set(summary_of(planned(read)).meta["derived_from"])
    assert used <= set(summary_of(planned(view)).meta["derived_from"])
    every = replace(read, usage=lambda: {one.id: Use(9, ("2026-05-31",)) for one in view.profiles()})
    assert planned(every).changes == ()
