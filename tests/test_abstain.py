"""Answering nothing: when there is nothing, when there is something after all, and from what alone it is decided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import MemoryEngine
from atlas.abstain import Evidence
from atlas.template import create

NOTES = {
    "talk/heron.md": "The heron stands in the shallow water and waits for a fish.\n",
    "talk/token.md": "JWT refresh token has a race condition. Decided to use sliding window strategy.\n",
    "talk/plan.md": "设备清单与备份计划\n",
    "talk/choice.md": "The choice is written down in ADR-016 since the spring.\n",
    "talk/port.md": "The staging database listens on port 5433.\n",
}
ABSENT = ("What is the capital of Mongolia?", "boiling point of ethanol", "who signed the treaty", "E1043", "温度")


@pytest.fixture
def engine(repo):
    create(repo)
    for path, text in NOTES.items():
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / path).write_text(text, encoding="utf-8")
    with MemoryEngine(repo) as opened:
        yield opened


@pytest.mark.parametrize("query", ABSENT)
def test_what_is_not_there_is_answered_with_nothing(engine, query):
    found = engine.search(query)
    assert (found.hits, found.abstained, found.enough) == ((), True, False)
    shown = engine.search(query, abstain=False)
    assert len(shown.hits) == len(NOTES)
    assert not shown.abstained
    assert shown.confidence == found.confidence < 0.0025


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("token expiration issue", "token"),
        ("a bird hunting by the river", "heron"),
        ("5433", "port"),
        ("who approved ADR-016, and when was that meeting of the whole board?", "choice"),
        ("备份什么时候做？", "plan"),
        ("Which of the many animals in the large zoo is the heron?", "heron"),
    ],
)
def test_what_is_there_is_answered(engine, query, path):
    found = engine.search(query)
    assert (found.hits[0].path, found.abstained) == (f"talk/{path}.md", False)


def test_what_is_asked_for_by_its_name_is_never_too_weak(engine):
    """An id stands in no passage, and its vector means nothing."""
    hit = engine.search("5433").hits[0]
    found = engine.search(hit.id)
    assert (found.enough, found.hits[0].id) == (False, hit.id)


def test_it_is_decided_by_the_scope_alone(engine):
    """The same question, and what it is about in another scope: neither the answer nor the figures change."""
    before = [engine.search(query, scope="talk") for query in ABSENT]
    root = engine.config.root
    (root / "other").mkdir()
    for n, query in enumerate(ABSENT * 9):
        (root / "other" / f"{n}.md").write_text(f"{query} Ulaanbaatar, and number {n}.\n", encoding="utf-8")
    after = [engine.search(query, scope="talk") for query in ABSENT]
    for one, other in zip(before, after, strict=True):
        assert (other.hits, other.abstained) == ((), True)
        assert (other.evidence.found, other.evidence.held, other.evidence.passages) == (
            one.evidence.found, one.evidence.held, one.evidence.passages
        )  # fmt: skip
        assert other.confidence == pytest.approx(one.confidence, rel=1e-4)
    assert engine.search(ABSENT[0], scope="other").hits


def test_words_alone_and_no_words_say_nothing_of_it(engine):
    with MemoryEngine(engine.config.root, embedding_model="none") as plain:
        found = plain.search("the heron of Mongolia")
        assert (found.evidence, found.confidence, found.enough) == (None, None, True)
        assert found.hits[0].path == "talk/heron.md"
        assert plain.search("Mongolia").abstained
    assert engine.search("").abstained


shares = st.floats(0, 1)


@given(shares, shares, st.floats(-1, 1), st.integers(1, 10**6), shares)
def test_more_of_the_question_is_never_less_sure(found, held, cosine, passages, more):
    here = Evidence(found, held, cosine, passages)
    assert 0 <= here.confidence <= 1
    for there in (
        Evidence(min(found + more, 1), held, cosine, passages),
        Evidence(found, min(held + more, 1), cosine, passages),
        Evidence(found, held, cosine + more, passages),
        Evidence(found, held, cosine, max(passages // 2, 1)),
        Evidence(found, held, cosine, passages, literal=True),
    ):
        assert there.confidence >= here.confidence
        assert there.enough >= here.enough


SAME = (
    ("cleaning limescale", "Descale the kettle with vinegar every month."),
    ("how do I get into the building", "The gate code is 4711, front door key is under the mat."),
    ("favourite food", "I love pizza with olives"),
    ("who is my dentist", "Dr. Miller treats my teeth"),
    ("car repair", "The garage fixed the brakes of the Volvo"),
    ("authentication bug", "login fails with 401 after refresh"),
    ("pet", "Ana has a dog called Rex"),
)
OTHER = (
    ("quokka", "heron"),
    ("Which moon of Neptune is the largest?", "Decided to use Postgres for the billing service."),
    ("what is the capital of France", "The heron stands in the river"),
    ("recipe for bread", "The deploy script runs on Fridays"),
)


@pytest.mark.parametrize(("query", "text", "answered"), [(*p, True) for p in SAME] + [(*p, False) for p in OTHER])
def test_in_a_small_vault_a_paraphrase_is_answered_and_another_subject_is_not(repo, query, text, answered):
    create(repo)
    (repo / "n.md").write_text(text + "\n", encoding="utf-8")
    with MemoryEngine(repo) as engine:
        assert bool(engine.search(query).hits) is answered
