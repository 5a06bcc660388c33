"""The stable order: the last view's beginning stays where that costs nothing, and goes where it does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scenes import FEWER, TABLE, candidates

from atlas import frame, order
from atlas.frame import Frame
from atlas.memory import Lod
from atlas.order import FIRST, Standing
from atlas.scene import Candidate, Heading, Level

FRAME = Frame("qhzkwmte", TABLE)


def item(id: str, value: float, tokens: int = 50, head: str = "", **more) -> Candidate:
    made = (Level(Lod.L0, f"{id} label", 10, 0.2), Level(Lod.L2, f"{id} text", tokens, 1.0))
    return Candidate(id, value, made, Heading(head, 20 if head else 0), **more)


def ids(found: order.Arranged) -> list[str]:
    return [one.candidate.id for one in found.placed]


def turn(previous, found, budget=400, **more):
    arranged = order.stable(previous, found, budget, **more)
    return arranged, order.standings(previous, arranged.placed)


def test_relevance_is_strictly_by_value_and_says_headings_again():
    found = [item("a", 0.9, head="x"), item("b", 0.8, head="y"), item("c", 0.7, head="x"), item("d", 0.6, head="y")]
    arranged = order.by_relevance(found, 280)
    assert ids(arranged) == ["a", "b", "c", "d"]
    assert ids(order.by_relevance(found, 279)) == ["a", "b", "c"]
    assert [one.id for one in order.by_relevance(found, 279).omitted] == ["d"]
    assert ids(order.stable((), found, 280)) == ["a", "c", "b", "d"]


def test_the_same_question_again_gives_the_same_view():
    found = [item(str(n), 1 / (n + 1)) for n in range(20)]
    first, standings = turn((), found)
    again, _ = turn(standings, found)
    assert again.placed == first.placed
    assert again.same == len(first.placed)


def test_what_is_slightly_better_does_not_move_what_is_there():
    found = [item(f"{n:02}", 0.05 - n / 10_000, 20) for n in range(40)]
    first, standings = turn((), found)
    now = [item(one.id, one.value + 0.001 * (one.id in {"30", "31"}), 20) for one in found]
    calm, _ = turn(standings, now)
    assert calm.placed[: calm.same] == first.placed[: calm.same]
    assert calm.same >= len(first.placed) - 2
    restless, _ = turn(standings, now, hold=0)
    assert restless.same == 0
    assert ids(restless) == ids(turn((), now)[0])


def test_another_subject_makes_the_view_anew_at_once():
    _, standings = turn((), [item(f"a{n}", 0.5) for n in range(8)])
    both = [*(item(f"b{n}", 0.5 - n / 1000, 300) for n in range(60)), *(item(f"a{n}", 0.001) for n in range(8))]
    arranged, _ = turn(standings, both)
    assert arranged.same == 0
    assert arranged.placed == turn((), both)[0].placed
    patient, _ = turn(standings, both, hold=99)
    assert patient.same > 0


def test_the_best_hits_are_there_however_much_may_be_given_up():
    _, standings = turn((), [item(f"a{n}", 0.5, 10) for n in range(60)], budget=600)
    both = [*(item(f"b{n}", 0.011, 40) for n in range(FIRST)), *(item(f"a{n}", 0.0001, 10) for n in range(60))]
    arranged, _ = turn(standings, both, budget=600, hold=99)
    full = {one.candidate.id for one in arranged.placed if one.level.lod == Lod.L2}
    assert {f"b{n}" for n in range(FIRST)} <= full
    assert arranged.same == 20


def test_what_is_needed_in_full_does_not_stay_a_label():
    poor = [item("a", 0.5, 300), item("b", 0.4, 300)]
    first, standings = turn((), poor, budget=320)
    assert [(one.candidate.id, one.level.lod) for one in first.placed] == [("a", Lod.L2), ("b", Lod.L0)]
    now, _ = turn(standings, [item("a", 0.1, 300), item("b", 0.9, 300)], budget=320, hold=99)
    assert ("b", Lod.L2) in [(one.candidate.id, one.level.lod) for one in now.placed]


def test_what_is_gone_or_changed_or_rejected_is_not_served_again():
    found = [item(str(n), 0.5) for n in range(6)]
    _, standings = turn((), found)
    gone, _ = turn(standings, found[1:], hold=99)
    assert "0" not in ids(gone)
    assert gone.same == 0
    changed = Candidate("2", 0.5, (Level(Lod.L2, "2 new text", 50),))
    now, _ = turn(standings, [*found[:2], changed, *found[3:]], hold=99)
    assert now.same == 2
    assert "2 text" not in [one.level.text for one in now.placed]
    rejected = [item("0", 0.0), *found[1:]]
    assert "0" not in ids(turn(standings, rejected, hold=99)[0])


def test_the_best_hits_come_before_what_is_cheaper():
    """With a beginning that stays, they have the room that is left, though a better use of it could be reckoned."""
    _, standings = turn((), [item(f"a{n}", 0.5, 100) for n in range(3)])
    hits = [item("b", 0.2, 95), *(item(f"c{n}", 0.15, 20) for n in range(14))]
    now, _ = turn(standings, [*hits, *(item(f"a{n}", 0.001, 100) for n in range(3))], hold=99)
    assert now.same == 1
    assert [one.level.lod for one in now.placed if one.candidate.id == "b"] == [Lod.L2]


def test_an_item_under_another_heading_is_another():
    found = [item(str(n), 0.5, head="x") for n in range(4)]
    _, standings = turn((), found)
    moved, _ = turn(standings, [*found[:1], item("1", 0.5, head="y"), *found[2:]], hold=99)
    assert moved.same == 1


def test_standing_fades_and_grows_with_use():
    one = item("a", 1.0)
    _, standings = turn((), [one])
    (first,) = standings
    _, (second,) = turn(standings, [one])
    _, (third,) = turn((second,), [item("a", 0.0001)])
    assert first.worth < second.worth
    assert third.worth < second.worth


def test_always_on_comes_first_in_the_order_it_is_given():
    found = [item("r", 0.9), item("p2", 0.1, always=True), item("p1", 0.3, always=True)]
    assert ids(order.stable((), found, 400)) == ["p2", "p1", "r"]
    assert ids(order.by_relevance(found, 400)) == ["p2", "p1", "r"]


@FEWER
@given(candidates(), candidates(), st.integers(60, 500), st.floats(0, 1))
def test_what_is_said_to_stay_is_the_beginning_byte_for_byte(old, new, budget, hold):
    before = frame.view(FRAME, old, budget, previous=())
    room = budget - FRAME.tokens - frame.reserve(budget)
    arranged = order.stable(before.standings, new, room, hold=hold)
    after = frame.view(FRAME, new, budget, previous=before.standings, hold=hold)
    kept = FRAME.text(arranged.placed[: arranged.same]).removesuffix(f"\n{FRAME.bottom}")
    if after.text and before.text:
        assert after.text.startswith(kept)
        assert before.text.startswith(kept)


@FEWER
@given(
    st.lists(st.builds(Standing, st.text(max_size=3), st.text(max_size=3), st.text(max_size=3)), max_size=4),
    candidates(),
)
def test_any_past_is_survived(previous, found):
    arranged = order.stable(previous, found, 200)
    assert len({one.candidate.id for one in arranged.placed}) == len(arranged.placed)
