"""The facts of a text, and the loss check: nothing that bears a fact goes unnoticed, in whatever language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.facts import Kept, Kind, differ, facts, invented, lost
from atlas.models.offline import sentences

_SAID = """
the gateway of Ana listens on port 5433 not never without Ben 3 May 12 % floor two K8s auth_service.py and restarts node
A B yesterday at 14:30 . ! , : Zürich 暂存 不 No longer 1,200 ms
"""
WORDS = st.sampled_from(_SAID.split())
TEXTS = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
BEARING = (
    "Ana moved to floor 5.",
    "The ledger holds 1,204 rows.",
    "Do not restart node A.",
    "Recall rose to 0.812.",
    "Carla flew to Oslo on 3 May 2026.",
    "Nobody may delete the archive.",
    "Use it without the cache.",
    "The key lies in src/keys.py.",
    "Ben no longer works in Graz.",
    "Sie darf den Server nicht anhalten.",
    "Il ne faut jamais effacer le cache.",
    "No hay que borrar el registro.",
    "不要重启服务器。",
    "サーバーを再起動しないでください。",
)


def said(text, kind):
    return {fact.said for fact in facts(text) if fact.kind == kind}


@given(TEXTS)
def test_a_text_loses_nothing_against_itself(text):
    assert lost([text], text) == {}
    assert invented([text], text) == ()
    assert differ(text, text) == ()


@given(st.lists(st.sampled_from(BEARING), min_size=1, max_size=8, unique=True), st.data())
def test_any_sentence_with_a_fact_is_missed(chosen, data):
    gone = data.draw(st.sampled_from(chosen))
    rest = " ".join(one for one in chosen if one != gone)
    assert list(lost([gone, rest], rest)) == [0], (gone, rest)


@given(TEXTS, TEXTS)
def test_more_text_loses_no_more(one, two):
    kept, more = Kept(one), Kept(one)
    more.add(two)
    # What is denied somewhere and affirmed nowhere is the one thing that more text can spoil.
    spoilt = {fact for fact in more.missing(one) if fact.key != "affirmed"}
    assert spoilt <= set(kept.missing(one))


@given(TEXTS, TEXTS)
def test_what_differs_differs_both_ways(one, two):
    assert set(differ(one, two)) == set(differ(two, one))


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("Ana is 34, Ben is 36.", "Ana is 36, Ben is 34."),
        ("Ana has 3 cats. Ben has 5 dogs.", "Ana has 5 cats. Ben has 3 dogs."),
        ("Port 5433 is Ana's.", "Port 5433 is Ben's. Ana knows."),
        ("The limit is 12 ms.", "The limit is 12 s."),
        ("The limit is 1,200 ms.", "The limit is 1.200 ms."),
        ("The level is -5.", "The level is 5."),
        ("Do not restart node A.", "Restart node A."),
        ("Do not restart node A but restart node B.", "Restart node A but do not restart node B."),
        ("Never restart it.", "Do not restart it."),
        ("Restart node A.", "Do not restart node A."),
        ("Ana works in Graz.", "Ana no longer works in Graz."),
        ("Deploy without the cache.", "Deploy with the cache."),
        ("All may enter except Ben.", "All may enter, Ben too."),
        ("Only admins delete it.", "Admins delete it."),
        ("We meet on 3 May.", "We meet on 4 May."),
        ("We meet on 3 May.", "We meet in May."),
        ("We meet at 2 pm.", "We meet at 2 am."),
        ("We met yesterday.", "We met today."),
        ("We meet on Monday.", "We meet on Tuesday."),
        ("It has three seats.", "It has four seats."),
        ("Edit src/a.py.", "Edit src/b.py."),
        ("Runs on K8s.", "Runs on K3s."),
        ("Put it on node A.", "Put it on a node."),
        ("Der Port ist 5433, nicht 5434.", "Der Port ist 5433 und 5434."),
        ("服务器监听端口5433。", "服务器监听端口5434。"),
        ("不要重启服务器。", "重启服务器。"),
    ],
)
def test_what_was_changed_is_lost(source, summary):
    assert lost([source], summary), "the summary says something else"


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("We meet on 3 May 2026.", "We meet on 2026-05-03."),
        ("We meet on May 3rd, 2026.", "On 3.5.2026 we meet."),
        ("We meet at 2:30 pm.", "We meet at 14:30."),
        ("It costs 1,200 euros.", "It costs 1200 euros."),
        ("It has three seats.", "It has 3 seats."),
        ("Hey! How are you? Sounds good.", "Nothing."),
        ("Am 3. Mai 2026 kam Ana.", "Am 3. Mai 2026 kam Ana."),
        ("We met on 3 mayo 2026.", "We met on 2026-05-03."),
        ("2026年5月3日", "2026-05-03"),
    ],
)
def test_what_is_spelled_otherwise_is_kept(source, summary):
    assert lost([source], summary) == {}


def test_a_number_has_its_noun_and_its_unit():
    keys = {fact.key for fact in facts("Staging listens on port 5433 within 12 ms.") if fact.kind == Kind.NUMBER}
    assert keys == {"port·5433·", "port·12·ms"}


def test_names_of_all_kinds():
    text = "Yesterday Ana Lopez sent `atlas.toml` and src/words.py to K8s; see ADR-016, --dry-run and https://x.test/a."
    found = said(text, Kind.NAME)
    assert {"Ana Lopez", "src/words.py", "K8s", "ADR-016", "--dry-run", "https://x.test/a"} <= found
    assert said("It was fun. The end.", Kind.NAME) == set()


def test_denials_of_six_languages():
    for text in ("Do not restart node A.", *BEARING[-5:]):
        assert said(text, Kind.DENIAL), text
    assert said("Alles ist gut.", Kind.DENIAL) == set()


def test_what_nobody_said_is_found():
    assert [f.said for f in invented(["Ana left."], "Ana left for Oslo at 14:30.")] == ["14:30", "Oslo"]
    assert invented(["Ana left for Oslo."], "Ana left.") == ()


def test_nearly_the_same():
    pairs = {
        ("Staging listens on port 5433", "Staging listens on port 5434"): ["port 5433", "port 5434"],
        ("Run 41: recall 0.812", "Run 42: recall 0.821"): ["Run 41", "recall 0.812", "Run 42", "recall 0.821"],
        ("Do not restart node A", "Restart node A"): ["not restart node A"],
    }
    for (one, two), wanted in pairs.items():
        assert sorted(fact.said for fact in differ(one, two)) == sorted(wanted)
    assert [f.kind for f in differ("Enable the cache", "Disable the cache")] == [Kind.WORD]


def test_sentences_of_facts_are_those_of_the_text():
    """A fact never spans two sentences: what is left out of a summary goes sentence by sentence."""
    text = "Ana is 34. Ben is 36."
    assert facts(text) == frozenset().union(*(facts(one) for one in sentences(text)))
