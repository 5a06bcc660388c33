"""Forgetting: what steps down, what stays, budgets, and the way back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import forgetting, markdown, tombstones
from atlas.config import Config
from atlas.errors import Protected, UsageError
from atlas.memory import HUB, Rung, Use
from atlas.planning import View
from atlas.profiles import Profile
from atlas.source import decode
from atlas.survey import blob_id, text_id

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = 86_400e6

LONG = (
    "The heron nests in the reeds by the old mill since April. Its eggs are pale blue and there are four of them. "
    "The warden counted the nests along the whole river and wrote every one of them down in the green book. "
    "Nobody is to go nearer than fifty metres, not even to take photographs, until the young can fly in July. "
    "The path along the bank is closed on that account and a sign on the gate says which way to walk instead."
)


# ------------------------------------------------------------------- a vault in memory


def text(number: int, *, detail: str = LONG, **meta: str) -> bytes:
    known = {"id": f"01J{number:023d}", "kind": "fact", "importance": "0.35", **meta}
    known = {key: value for key, value in known.items() if value}
    summary = "A heron nests by the mill." if detail else LONG
    return markdown.compose(meta=known, label=f"Heron {number}", summary=summary, detail=detail).encode()


def body(data: bytes) -> int:
    return len(markdown.parse(data.decode(), "").body)


def profile(number: int, data: bytes, *, age: float = 200, **known: object) -> Profile:
    """The row of such a memory, stored so many days ago."""
    meta = dict(markdown.parse(decode(data).text, "").meta)
    created = int((NOW.timestamp() * 1e6) - age * DAY)
    row = Profile(
        path=f"memories/2026/01/heron-{number}.md", id=f"01J{number:023d}", blob=text_id(data), label=f"Heron {number}",
        kind=str(meta.get("kind", "note")), tags=(), entities=(), created=created,
        importance=float(meta.get("importance", 0.5)), pinned=False, trust="candidate", source="", valid_from=None,
        valid_to=None, meta=meta, readable=True, words=60, linked=False,
    )  # fmt: skip
    return replace(row, **known)


def view(
    rows: list[tuple[Profile, bytes]],
    *,
    usage: dict[str, Use] | None = None,
    theirs: frozenset[str] = frozenset(),
    busy: frozenset[str] = frozenset(),
    files: dict[str, bytes] | None = None,
    **settings: object,
) -> View:
    """The vault of these memories; `theirs` are a person's own. It was used every day: its clock is the calendar."""
    there = {**{p.path: data for p, data in rows}, **(files or {})}
    every = tuple(str((NOW - timedelta(days=n)).date()) for n in range(400))
    return View(
        config=Config(Path("/vault"), **settings),
        cards=(),
        profiles=lambda: tuple(p for p, _ in rows),
        read=there.get,
        removed=lambda _: False,
        busy=busy.__contains__,
        now=NOW,
        usage=lambda: {"other": Use(400, every), **(usage or {})},
        ours=lambda: frozenset(p.path for p, _ in rows) - theirs,
        vectors=lambda paths: np.zeros((len(paths), 0), np.float32),
    )


def memory(number: int, *, detail: str = LONG, age: float = 200, meta: dict[str, str] | None = None, **known: object):
    data = text(number, detail=detail, **(meta or {}))
    return profile(number, data, age=age, **known), data


def steps(plan) -> dict[str, tuple[str, str]]:
    return {Path(row.path).stem: (row.was, row.to) for row in plan.rows}


# -------------------------------------------------------------------------- the ladder


def test_a_memory_goes_down_one_rung_a_run_to_a_line_that_says_it_was_here():
    row, data = memory(1)
    seen = [row.path]
    for was, to in (("L2", "L1"), ("L1", "L0"), ("L0", "tombstone")):
        found = forgetting.plan(view([(row, data)]))
        assert steps(found) == {"heron-1": (was, to)}
        assert found.record.op == "forget"
        assert found.record.memories == (row.id,)
        kept = [change for change in found.changes if change.data is not None]
        assert [c.before for c in found.changes if c.path == row.path] == [blob_id(data)]
        if to == "tombstone":
            break
        (written,) = kept
        assert len(written.data) < len(data)
        seen.append(written.path)
        meta = markdown.parse(written.data.decode(), "").meta
        assert (meta["rung"], meta["forgotten"], meta["full"]) == (to, "2026-06-01", blob_id(text(1)))
        # Weeks go by before the next step.
        aged = {**meta, "forgotten": "2026-01-01"}
        data = written.data.replace(b"forgotten: 2026-06-01", b"forgotten: 2026-01-01")
        row = replace(row, path=written.path, blob=text_id(data), meta=aged)
    assert seen == [
        "memories/2026/01/heron-1.md",
        "memories/2026/01/heron-1.md",
        "archive/2026/01/heron-1.md",
    ]
    (stone,) = tombstones.read(kept[0].data)
    assert kept[0].path.startswith("archive/tombstones/2026-06-01-")
    assert (stone.id, stone.path, stone.full) == (row.id, row.path, blob_id(text(1)))
    assert found.groups == ((0, 1),)


def test_a_short_memory_becomes_its_label_at_once():
    row, data = memory(1, detail="")
    found = forgetting.plan(view([(row, data)]))
    assert steps(found) == {"heron-1": ("L2", "L0")}
    gone, came = found.changes
    assert (gone.path, gone.data, came.path, came.before) == (row.path, None, "archive/2026/01/heron-1.md", None)
    assert found.groups == ((0, 1),)
    assert markdown.parse(came.data.decode(), "").summary == ""


def test_a_title_alone_is_no_shorter_as_a_label_and_waits_for_the_tombstone():
    data = markdown.compose(meta={"id": "01J" + "7" * 23}, label="Tea at four", summary="", detail="").encode()
    row = profile(1, data, importance=0.35, kind="fact")
    assert forgetting.plan(view([(replace(row, created=row.created + int(110 * DAY)), data)])).rows == ()
    assert steps(forgetting.plan(view([(row, data)]))) == {"heron-1": ("L2", "tombstone")}
    short = markdown.compose(meta={"id": "01J" + "7" * 23}, label="Tea at four", summary="Tea at four.", detail="")
    row = profile(1, short.encode(), importance=0.35, kind="fact")
    assert steps(forgetting.plan(view([(row, short.encode())]))) == {"heron-1": ("L2", "L0")}


def test_the_thresholds_say_how_far():
    """Of an importance of 0.35 and a half-life of 45 days: ln 2 × 0.35 = 0.2426 at the beginning."""
    for age, wanted in ((35, 0), (36, 1)):  # of 0.5: 0.2022, 0.1991: L1 is 0.2
        assert len(forgetting.plan(view([memory(1, age=age, importance=0.5)])).rows) == wanted
    for age, wanted in ((40, 0), (41, 1)):  # 0.1310, 0.1290: L0 is 0.13
        assert len(forgetting.plan(view([memory(1, age=age, detail="")])).rows) == wanted
    (row,) = forgetting.plan(view([memory(1, age=60)])).rows
    assert row.inputs == {"importance": 0.35, "days": 60.0, "accesses": 0, "half_life": 45, "activity": 0.0963}
    assert row.reason == "activity 0.096 is below 0.2"


def test_use_kind_tier_and_importance_keep_a_memory():
    read = {"01J" + "0" * 22 + "1": Use(9, ("2026-05-10",))}
    assert forgetting.plan(view([memory(1, age=40)])).rows
    assert not forgetting.plan(view([memory(1, age=40)], usage=read)).rows
    assert not forgetting.plan(view([memory(1, age=40, meta={"kind": "decision"})])).rows
    assert not forgetting.plan(view([memory(1, age=40, meta={"tier": "user"})])).rows
    assert not forgetting.plan(view([memory(1, age=40, meta={"importance": "0.9"})])).rows


def test_each_day_of_reading_lengthens_the_half_life():
    id, days = "01J" + "0" * 22 + "1", [f"2026-03-{day:02}" for day in range(1, 7)]
    for read, half_life in ((0, 45), (1, 90), (2, 135), (4, 225), (6, 225)):
        used = {id: Use(read, tuple(days[:read]))} if read else {}
        (row,) = forgetting.plan(view([memory(1, age=400)], usage=used), names=["memories/2026/01/heron-1.md"]).rows
        assert row.inputs["half_life"] == half_life


def test_fsrs_forgets_what_was_corrected_before_what_was_used():
    one, other = memory(1, age=120), memory(2, age=120)
    days = ("2026-02-10", "2026-02-20")
    usage = {one[0].id: Use(2, days), other[0].id: Use(2, days, ("2026-02-21",))}
    found = forgetting.plan(view([one, other], usage=usage), policy="fsrs")
    assert steps(found) == {"heron-2": ("L2", "L1")}
    assert found.record.policy.startswith("fsrs ")


def test_the_least_active_comes_first_and_the_limit_holds():
    rows = [memory(n, age=age) for n, age in enumerate((60, 200, 120))]
    assert list(steps(forgetting.plan(view(rows)))) == ["heron-1", "heron-2", "heron-0"]
    assert list(steps(forgetting.plan(view(rows), limit=2))) == ["heron-1", "heron-2"]


def test_the_archive_never_overwrites():
    row, data = memory(1, detail="")
    there = {"archive/2026/01/heron-1.md": b"mine"}
    assert forgetting.plan(view([(row, data)], files=there)).changes[1].path == "archive/2026/01/heron-1-000001.md"
    there["archive/2026/01/heron-1-000001.md"] = b"mine too"
    (change,) = forgetting.plan(view([(row, data)], files=there)).changes
    assert (change.path, change.before) == (row.path, blob_id(data))


def test_a_note_without_an_id_keeps_its_place():
    row, data = memory(1, detail="", meta={"id": ""})
    (change,) = forgetting.plan(view([(row, data)])).changes
    assert (change.path, change.data is None) == (row.path, False)


def test_all_tombstones_of_a_run_stand_in_one_file():
    rows = [memory(n, detail="", age=300, meta={"rung": "L0", "full": f"{n:040d}"}) for n in range(3)]
    found = forgetting.plan(view(rows))
    (kept,) = [change for change in found.changes if change.data is not None]
    assert [stone.full for stone in tombstones.read(kept.data)] == [f"{n:040d}" for n in range(3)]
    assert found.groups == ((0, 1, 2, 3),)
    again = forgetting.plan(view(rows, files={kept.path: kept.data}))
    assert [change.data for change in again.changes] == [None] * 3


# ---------------------------------------------------------------------------- protected


@pytest.mark.parametrize(
    "known",
    [
        {"pinned": True},
        {"readable": False},
        {"created": None},
        {"kind": HUB},
        {"age": 13},
        {"blob": "0" * 40},
        {"meta": {"forgotten": "2026-05-25"}},
        {"meta": {"rung": "L1"}, "detail": "", "linked": True},
    ],
)
def test_what_is_protected_stays(known):
    row, data = memory(1, **known)
    assert forgetting.plan(view([(row, data)], forget_thresholds={"L1": 9.0, "L0": 9.0, "tombstone": 9.0})).rows == ()


def test_what_a_person_wrote_or_is_editing_stays_unless_its_folder_is_opted_in():
    row, data = memory(1)
    mine = frozenset({row.path})
    assert forgetting.plan(view([(row, data)], theirs=mine)).rows == ()
    assert forgetting.plan(view([(row, data)], busy=mine)).rows == ()
    assert forgetting.plan(view([(row, data)], theirs=mine, forget_folders=("memories/",))).rows


def test_what_is_linked_to_and_preferences_keep_their_summary():
    for known in ({"linked": True}, {"meta": {"kind": "preference", "importance": "0.05"}, "age": 390}):
        assert steps(forgetting.plan(view([memory(1, **known)]))) == {"heron-1": ("L2", "L1")}
        assert forgetting.plan(view([memory(1, detail="", **known)])).rows == ()


def test_what_was_read_or_stored_lately_rests_on_the_vaults_own_clock():
    row, data = memory(1, age=60)
    assert forgetting.plan(view([(row, data)], forget_new_days=61.0)).rows == ()
    late = {row.id: Use(1, ("2026-05-20",))}
    low = {"forget_thresholds": {"L1": 9.0}}
    assert forgetting.plan(view([(row, data)], usage=late, **low)).rows == ()
    assert forgetting.plan(view([(row, data)], usage=late, forget_new_days=10.0, **low)).rows


def test_what_was_said_long_ago_and_stored_today_is_new():
    row, data = memory(1, meta={"recorded_at": "2026-05-25T10:00:00Z"})
    assert forgetting.plan(view([(row, data)])).rows == ()
    row, data = memory(1, meta={"recorded_at": "2026-04-01"})
    (found,) = forgetting.plan(view([(row, data)])).rows
    assert found.inputs["days"] == 61.5
    row, data = memory(1, age=60, meta={"recorded_at": "2019-04-01"})
    assert forgetting.plan(view([(row, data)])).rows[0].inputs["days"] == 60


def test_a_pause_is_no_age():
    """Nothing stored or read for a year: only `idle_days` of it count."""
    rows = [memory(n, age=366 + n, detail="") for n in range(5)]
    idle = replace(view(rows, forget_idle_days=14.0), usage=dict)
    assert forgetting.plan(idle).rows == ()
    assert len(forgetting.plan(replace(idle, now=NOW.replace(year=2099))).rows) == 0
    long = view(rows, forget_idle_days=100.0)
    assert len(forgetting.plan(replace(long, usage=dict)).rows) == 5


def test_a_run_that_touches_too_large_a_share_stops_and_asks():
    old, young = [memory(n) for n in range(21)], [memory(n, age=5) for n in range(21, 100)]
    assert forgetting.plan(view(old + young)).stops == ""
    assert forgetting.plan(view(old[:5])).stops == ""
    assert forgetting.plan(view(old[:6])).stops
    stopped = forgetting.plan(view(old + young[:40]))
    assert len(stopped.rows) == 21
    assert "21 of 61 memories" in stopped.stops
    assert "25%" in stopped.stops
    assert "`atlas forget --yes`" in stopped.stops
    assert forgetting.plan(view(old + young[:40]), limit=15).stops == ""
    pinned = [(replace(p, pinned=True), data) for p, data in young]
    assert "21 of 21" in forgetting.plan(view(old + pinned)).stops


# -------------------------------------------------------------------------- asked for


def test_what_is_asked_for_steps_down_however_active_it_is():
    row, data = memory(1, age=1, linked=True, created=None)
    found = forgetting.plan(view([(row, data)]), names=[row.path])
    assert steps(found) == {"heron-1": ("L2", "L1")}
    assert found.rows[0].reason == "asked for"
    assert found.record.reason == "1 to the summary: asked for"


@pytest.mark.parametrize(
    ("known", "where", "said"),
    [
        ({"pinned": True}, {}, "it is pinned; remove its `pinned:` line first"),
        ({}, {"theirs": 1}, "a person wrote it; name its folder in `forget.folders`"),
        ({}, {"busy": 1}, "edits that are not committed; commit them first"),
        ({"kind": HUB}, {}, "a cluster's page"),
        ({"linked": True, "detail": ""}, {}, "other notes link to it"),
    ],
)
def test_what_must_stay_is_refused_in_a_sentence_that_says_how(known, where, said):
    row, data = memory(1, **known)
    with pytest.raises(Protected, match=said) as caught:
        forgetting.plan(view([(row, data)], **{key: frozenset({row.path}) for key in where}), names=[row.path])
    assert str(caught.value).startswith(f"{row.path} is not forgotten: ")


def test_a_policy_nobody_knows_is_refused():
    with pytest.raises(UsageError, match="activity, fsrs"):
        forgetting.plan(view([]), policy="sm2")


def test_upkeep_forgets_only_where_it_may():
    rows = [memory(1)]
    assert forgetting.upkeep(view(rows)).rows
    assert forgetting.upkeep(view(rows, forget_enabled=False)).rows == ()


# ---------------------------------------------------------------------------- budgets


def words(text: str) -> int:
    return len(text.split())


def test_a_tier_over_its_budget_forgets_its_least_active():
    rows = [memory(n, age=20 + n, meta={"importance": "0.9"}) for n in range(10)]
    one = words(rows[0][1].decode().partition("---\n# ")[2])
    fits = {"forget_budgets": {"long_term": one * 10 + 20}}
    assert forgetting.plan(view(rows, **fits), count=words).rows == ()
    tight = {"forget_budgets": {"long_term": one * 9}}
    found = forgetting.plan(view(rows, **tight), count=words)
    assert steps(found) == {f"heron-{n}": ("L2", "L1") for n in (9, 8)}
    assert found.rows[0].reason.startswith("the tier long_term is over its budget of")
    assert found.notes == ()
    other = {"forget_budgets": {"working": 1}}
    assert forgetting.plan(view(rows, **other), count=words).rows == ()
    assert len(forgetting.plan(view(rows, **tight), count=words, limit=1).rows) == 1


def test_a_budget_protects_what_is_protected_and_says_when_that_alone_is_too_much():
    rows = [memory(1, pinned=True), memory(2, age=3), memory(3, linked=True, meta={"importance": "1"}, age=20)]
    found = forgetting.plan(view(rows, forget_budgets={"long_term": 10}), count=words)
    assert steps(found) == {"heron-3": ("L2", "L1")}
    assert "raise `forget.budgets.long_term`" in found.notes[0]


def test_budgets_count_with_the_vaults_tokenizer():
    rows = [memory(n, age=20, meta={"importance": "0.9"}) for n in range(3)]
    assert len(forgetting.plan(view(rows, forget_budgets={"long_term": 200})).rows) == 2
    assert len(forgetting.plan(view(rows, forget_budgets={"long_term": 2000})).rows) == 0


# ------------------------------------------------------------------------------- laws

TEXTS = st.text("ab .:#-`\né日", max_size=300)
MEMORIES = st.fixed_dictionaries(
    {
        "age": st.floats(0, 380),
        "detail": st.sampled_from(["", LONG]) | TEXTS,
        "pinned": st.booleans(),
        "linked": st.booleans(),
        "readable": st.booleans(),
        "kind": st.sampled_from(["fact", "preference", HUB, "note"]),
        "importance": st.floats(0, 1),
        "dated": st.booleans(),
        "mine": st.booleans(),
        "busy": st.booleans(),
        "rung": st.sampled_from(["", "L1", "L0"]),
        "reads": st.lists(st.integers(0, 380), max_size=4),
    }
)


@given(st.lists(MEMORIES, max_size=8), st.sampled_from(["activity", "fsrs"]), st.sampled_from([0, 30]))
def test_a_plan_never_holds_what_is_protected_and_every_step_makes_a_text_shorter(drawn, policy, budget):
    rows, usage, theirs, busy = [], {}, set(), set()
    for number, one in enumerate(drawn):
        meta = {"rung": one["rung"]} if one["rung"] else {}
        row, data = memory(number, detail=one["detail"], age=one["age"], meta=meta)
        known = {key: one[key] for key in ("pinned", "linked", "readable", "kind", "importance")}
        row = replace(row, **known, created=row.created if one["dated"] else None)
        rows.append((row, data))
        usage[row.id] = Use(len(one["reads"]), tuple(sorted(str((NOW - timedelta(d)).date()) for d in one["reads"])))
        theirs |= set() if one["mine"] else {row.path}
        busy |= {row.path} if one["busy"] else set()
    seen = view(
        rows, usage=usage, theirs=frozenset(theirs), busy=frozenset(busy),
        forget_budgets={"long_term": budget, "user": budget},
    )  # fmt: skip
    found = forgetting.plan(seen, policy=policy, count=words)
    by_path = {row.path: (row, data, one) for (row, data), one in zip(rows, drawn, strict=True)}
    assert len({row.path for row in found.rows}) == len(found.rows)
    for step in found.rows:
        row, data, one = by_path[step.path]
        assert row.readable
        assert one["dated"]
        assert not row.pinned
        assert row.kind != HUB
        assert row.path not in theirs | busy
        assert min([one["age"], *one["reads"]]) >= 13
        assert step.to == Rung.L1 or not (row.linked or row.kind == "preference")
    for change in found.changes:
        if change.path in by_path:
            assert change.before == blob_id(by_path[change.path][1])
    before = {change.memory: body(by_path[change.path][1]) for change in found.changes if change.path in by_path}
    for change in found.changes:
        if change.memory and change.data is not None:
            assert body(change.data) < before[change.memory]
