"""The scene: never over budget, near the best there is, and worth what it says."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import scene
from atlas.memory import Lod, Trust
from atlas.scene import Candidate, Heading, Level, Placed

NO_HEADING = Heading()


def level(lod: str, tokens: int, kept: float = 1.0, text: str = "") -> Level:
    return Level(Lod(lod), text or f"{lod} {tokens} {kept}", tokens, kept)


def one(id: str, value: float, *levels: Level, **more) -> Candidate:
    return Candidate(id, value, levels or (level("L2", 10),), **more)


def shown(found: scene.Scene) -> dict[str, str]:
    return {placed.candidate.id: str(placed.level.lod) for placed in found.chosen}


@st.composite
def few(draw, heads=(NO_HEADING,)):
    number = draw(st.integers(0, 6))
    found = []
    for n in range(number):
        steps = draw(st.lists(st.tuples(st.integers(1, 12), st.floats(0, 1)), min_size=1, max_size=3))
        tokens, kept, made = 0, 0.0, []
        for lod, (more, share) in zip(Lod, steps, strict=False):
            tokens, kept = tokens + more, kept + (1 - kept) * share
            made.append(Level(lod, f"{n}{lod}", tokens, kept))
        value = draw(st.floats(0, 1))
        found.append(Candidate(str(n), value, tuple(made), draw(st.sampled_from(heads)), always=draw(st.booleans())))
    return found


def optimum(found: list[Candidate], budget: int) -> float:
    """The best value there is, by dynamic programming over tokens."""
    best = np.zeros(max(budget, 0) + 1)
    for candidate in found:
        after = best.copy()
        for step in candidate.levels:
            if step.tokens <= budget:
                gained = best[: budget + 1 - step.tokens] + candidate.value * step.kept
                after[step.tokens :] = np.maximum(after[step.tokens :], gained)
        best = after
    return float(best[-1])


def exhaustive(found: list[Candidate], budget: int) -> float:
    best = 0.0
    for levels in product(*[[None, *one.levels] for one in found]):
        placed = [Placed(one, step) for one, step in zip(found, levels, strict=True) if step]
        if scene.cost(placed) <= budget:
            best = max(best, sum(p.value for p in placed))
    return best


@given(few(), st.integers(-3, 60))
def test_it_is_never_worse_than_the_best_by_more_than_one_step(found, budget):
    made = scene.compose(found, budget, share=0)
    assert made.tokens <= max(budget, 0)
    step = max((one.value * level.kept for one in found for level in one.levels), default=0)
    assert made.value >= optimum(found, budget) - step - 1e-9


def test_on_average_it_is_nearly_the_best():
    draw = np.random.default_rng(3)
    reached = []
    for _ in range(60):
        found = [
            one(
                str(n),
                float(v),
                level("L0", int(t) // 4 + 1, 0.15),
                level("L1", int(t) // 2 + 2, 0.5),
                level("L2", int(t) + 3),
            )
            for n, (v, t) in enumerate(zip(draw.exponential(1, 12), draw.integers(8, 60, 12), strict=True))
        ]
        budget = int(draw.integers(20, 300))
        reached.append(scene.compose(found, budget).value / max(optimum(found, budget), 1e-9))
    assert np.mean(reached) > 0.97
    assert min(reached) > 0.75


@given(few(heads=(Heading("a", 3), Heading("b", 9), NO_HEADING)), st.integers(-5, 80), st.floats(0, 1))
def test_headings_are_paid_once_and_the_budget_holds(found, budget, share):
    made = scene.compose(found, budget, share=share)
    assert made.tokens <= max(budget, 0)
    assert {p.candidate.id for p in made.chosen} | {c.id for c in made.omitted} == {c.id for c in found}
    assert len(made.chosen) + len(made.omitted) == len(found)
    assert [c.value for c in made.omitted] == sorted((c.value for c in made.omitted), reverse=True)
    if share == 0 and len(found) <= 4:
        assert made.value <= exhaustive(found, budget) + 1e-9


@given(few(heads=(Heading("a", 3), NO_HEADING)), st.integers(0, 80))
def test_a_scene_is_the_same_each_time_and_leaves_nothing_that_would_fit(found, budget):
    made = scene.compose(found, budget)
    assert made == scene.compose(found, budget)
    left = budget - made.tokens
    for candidate in made.omitted:
        for step in candidate.levels:
            assert candidate.value * step.kept == 0 or step.tokens + candidate.heading.tokens > left


def test_members_of_a_heading_that_is_there_are_cheaper():
    long, other = Heading("meeting", 30), Heading("other", 30)
    found = [one("a", 1.0, heading=long), one("c", 0.41, heading=other)]
    assert list(shown(scene.compose(found, 80))) == ["a", "c"]
    found += [one("b", 0.4, heading=long), one("d", 0.39, heading=long)]
    assert list(shown(scene.compose(found, 80))) == ["a", "b", "d"]


def test_detail_goes_where_it_brings_most():
    def three(id: str, value: float) -> Candidate:
        return one(id, value, level("L0", 5, 0.2), level("L1", 15, 0.5), level("L2", 40))

    found = [three("a", 1.0), three("b", 0.3), three("c", 0.1)]
    assert shown(scene.compose(found, 1000)) == {"a": "L2", "b": "L2", "c": "L2"}
    assert shown(scene.compose(found, 50)) == {"a": "L2", "b": "L0", "c": "L0"}
    assert shown(scene.compose(found, 4)) == {}
    assert shown(scene.compose([one("big", 9.0, level("L2", 99)), three("a", 0.1)], 50)) == {"a": "L2"}


@pytest.mark.parametrize("budget", [-5, 0, 1, 10**9])
def test_odd_budgets(budget):
    assert scene.compose([], budget) == scene.Scene()
    assert len(scene.compose([one("a", 1.0)], budget).chosen) == (budget > 9)


# -------------------------------------------------------------------- always on


def test_the_always_on_have_their_share_and_leave_what_they_do_not_need():
    rest = [one(f"r{n}", 1.0) for n in range(20)]
    always = [one(f"a{n}", 0.01, always=True) for n in range(3)]
    found = scene.compose([*rest, *always], 100, share=0.2)
    assert list(shown(found))[:2] == ["a0", "a1"]
    assert sum(not p.candidate.always for p in found.chosen) == 8
    found = scene.compose([*rest, always[0]], 100, share=0.5)
    assert len(found.chosen) == 10
    assert found.chosen[0].candidate.id == "a0"


def test_one_that_matters_more_competes_beyond_its_share():
    found = scene.compose([one("r", 0.1), one("a", 1.0, always=True), one("b", 0.9, always=True)], 20, share=0.1)
    assert list(shown(found)) == ["a", "b"]


# -------------------------------------------------------------------- clusters


def test_a_page_stands_in_for_the_members_that_are_left_out():
    members = [one(f"m{n}", 0.3, level("L2", 40), clusters=("jwt",)) for n in range(8)]
    page = one("page", 0.0, level("L0", 6, 0.3), level("L2", 60, 0.6), cluster="jwt")
    assert shown(scene.compose([*members, page], 50)) == {"m0": "L2", "page": "L0"}
    assert "page" not in shown(scene.compose([*members, page], 1000))
    assert "page" not in shown(scene.compose([*members[:1], page], 46))
    other = one("other", 0.0, level("L0", 6, 0.3), cluster="tea")
    assert "other" not in shown(scene.compose([*members, other], 50))


# ----------------------------------------------------------------------- values


def test_likelihood_falls_with_rank_and_rises_with_score():
    by_rank = [scene.probability(0.5, rank, 0.6) for rank in range(1, 200)]
    assert by_rank == sorted(by_rank, reverse=True)
    by_score = [scene.probability(score, 5, 0.9) for score in np.linspace(-9, 9)]
    assert by_score == sorted(by_score)
    assert 0 <= by_score[0] <= by_score[-1] <= 1
    assert scene.probability(-1e9, 1, 1e9) < 1e-9
    by_length = [scene.probability(0.5, 5, 0.9, length) for length in (0, 1, 40, 400, 9000)]
    assert by_length == sorted(by_length)
    assert by_length[-1] == by_length[-2]


def test_trust_comes_before_importance_and_newness():
    assert scene.worth(0.5, trust=Trust.REJECTED) == 0
    trusted = [scene.worth(0.5, trust=t, importance=0.5) for t in ("verified", "candidate", "contested", "untrusted")]
    assert trusted == sorted(trusted, reverse=True)
    assert scene.worth(0.5, importance=9) / scene.worth(0.5, importance=-9) == pytest.approx(11 / 9)
    ages = [scene.worth(0.5, days=days) for days in (-3, 0, 30, 3000, None)]
    assert ages == sorted(ages, reverse=True)
    assert ages[0] <= 1.1 * ages[-1] + 1e-9
    assert scene.worth(0.5, trust="untrusted", importance=1, days=0) < scene.worth(0.5, importance=0)


def test_levels_with_one_text_are_one_and_none_costs_more_for_less():
    said = [
        level("L0", 4, 0.2, "[A L0] tea"),
        level("L1", 4, 0.5, "[A L1] tea"),
        level("L2", 4, 1.0, "[A L2] tea"),
    ]
    assert scene.levels(said) == (said[2],)
    worse = level("L1", 9, 0.1, "[A L1] longer and empty")
    assert scene.levels([level("L0", 4, 0.2, "[A L0] x"), worse]) == (level("L0", 4, 0.2, "[A L0] x"),)
    assert scene.kept(Lod.L2) == 1
    assert scene.kept(Lod.L0, 1) < scene.kept(Lod.L1, 1) < 1
