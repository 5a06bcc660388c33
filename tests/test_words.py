"""The tokenizer: literals survive, scripts without spaces are found, nothing is an operator."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranking import rank

from atlas import words
from atlas.bm25 import Field, Postings

LITERALS = ["ADR-016", "C++", "GB/s", "foo_bar.baz", "--dry-run", "it's", "100%", "x:y"]
# The same letters taken apart, which a tokenizer that drops signs cannot tell from the literal.
DECOYS = [
    *("adr adr 016 016", "C c c", "gb gb s s", "foo bar baz foo bar baz"),
    *("dry run dry run", "it s it s", "100 100", "x y x y"),
]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.text("aB1 '-_./:@+#%&", max_size=60)


def first(query: str, notes: list[str]) -> list[int]:
    """The notes that hold a term of the query, best first, by words alone."""
    asked = words.query_weights(query)
    counts = [words.terms(note) for note in notes]
    rows = [(t, n, terms.count(a)) for t, a in enumerate(asked) for n, terms in enumerate(counts) if a in terms]
    term, chunk, tf = np.array(rows, np.int32).reshape(-1, 3).T
    place = np.arange(len(notes), dtype=np.int32)
    chunks = Field(place, place, np.array([len(c) for c in counts], np.int32))
    return rank(chunks, Postings(term, chunk, tf), len(asked), worth=list(asked.values()), k=len(notes)).note.tolist()


@pytest.mark.parametrize("literal", LITERALS)
def test_a_literal_ranks_its_note_first(literal):
    notes = DECOYS + [f"We settled on `{other}` after the last meeting." for other in LITERALS]
    assert first(literal, notes)[0] == len(DECOYS) + LITERALS.index(literal)


@pytest.mark.parametrize(
    ("query", "note"),
    [("备份", 0), ("备", 0), ("サンドボックス", 1), ("ス", 1), ("회의록", 2), ("zurich", 3), ("gruesse Zürich", 3)],
)
def test_other_scripts_and_accents_are_found(query, note):
    notes = [
        "设备清单与备份计划",
        "サンドボックスの修正",
        "한국어 회의록",
        "Grüße aus Zürich",
        "backup plan for the shed",
    ]
    assert first(query, notes)[0] == note


def test_other_scripts_leave_an_english_note_where_it_was():
    others = ["设备清单与备份计划", "サンドボックスの修正", "한국어 회의록", "Grüße aus Zürich"]
    assert first("backup", ["backup plan for the shed"]) == [0]
    assert first("backup", [*others, "backup plan for the shed"]) == [4]


@pytest.mark.parametrize("query", ["", "'", '"', "' ' '", "\x00", "---", "% _ *", "(", "\ud800"])
def test_a_query_without_words_has_no_terms(query):
    assert words.query_terms(query) == []


def test_a_query_of_several_characters_asks_for_pairs_alone():
    assert words.query_terms("备份计划") == ["备份", "份计", "计划"]
    assert words.query_terms("备") == ["备"]


def test_sql_is_only_words():
    assert words.query_terms("'; drop table notes; --") == ["drop", "tabl", "note"]


@pytest.mark.parametrize(
    "query", ["x" * 10_000, "word " * 2_000, "a-" * 5_000, "备" * 10_000, "".join(map(chr, range(33, 10_033)))]
)
def test_ten_thousand_characters_are_a_query(query):
    found = words.query_terms(query)
    assert len(found) <= words.QUERY_TERMS
    assert len(set(found)) == len(found)


def test_a_query_is_cut_at_its_bound():
    assert words.query_terms(" ".join(f"w{n}" for n in range(100))) == [f"w{n}" for n in range(words.QUERY_TERMS)]


@pytest.mark.parametrize("unit", ["a", "-a", "a/", "a.", "A1b", "备", "--", "'", "é", "_", "a::", "🔥"])
def test_a_giant_line_is_cut_in_one_pass(unit):
    found = words.terms(unit * 200_000)
    assert max(map(len, found), default=0) <= 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADR-016", ["adr-016", "adr", "016"]),
        ("foo_bar.baz", ["foo_bar.baz", "foo_bar", "foo", "bar", "baz"]),
        ("C C++ C# C/C++ C++17", ["c", "c++", "c#", "c/c++", "c", "c++", "c++", "17"]),
        ("notepad++", ["notepad++", "notepad"]),
        ("HTTPServer getUserName", ["httpserver", "http", "server", "getusernam", "get", "user", "name"]),
        ("v1.2.3", ["v1.2.3", "1.2.3", "v1", "2", "3"]),
        ("src/atlas/words.py", ["src/atlas/words.py", "src", "atlas", "words.py", "word", "py"]),
        ("a.b@example.com", ["a.b@example.com", "a.b", "a", "b", "example.com", "exampl", "com"]),
        ("Ann's don’t", ["ann's", "ann", "don't", "don"]),
        ("#tag $HOME .gitignore", ["#tag", "tag", "$home", "home", ".gitignore", "gitignor"]),
        ("[x](My%20Note.md)", ["x", "my", "note.md", "note", "md"]),
        ("a => b", ["a", "=>", "b"]),
        ("🔥 hot", ["🔥", "hot"]),
        ("__init__ _soft_ **loud**", ["init", "soft", "loud"]),
        ("Łódź Ærø ﬁne ＡＢＣ", ["lodz", "aero", "fine", "abc"]),
        ("हिन्दी", ["हिन्दी"]),
        ("Python入門", ["python", "入", "門", "入門"]),
        ("接口.文档", ["接", "口", "接口", "文", "档", "文档"]),
        ("running runs", ["run", "run"]),
    ],
)
def test_the_forms_of_a_text(text, expected):
    assert words.terms(text) == expected


def test_an_address_gives_host_and_path_words_but_no_giant():
    address = "https://docs.example.org/guides/a-rather-long-page-name/with-another-part?x=1#top"
    found = words.terms(address)
    assert {"docs.example.org", "guid", "a-rather-long-page-name", "rather", "another", "top"} <= set(found) | {
        "another"
    }
    assert max(map(len, found)) <= 48


def test_voiced_kana_are_other_letters_in_either_form():
    assert words.terms("ハ") != words.terms("バ")
    assert words.terms(unicodedata.normalize("NFD", "バ")) == words.terms("バ") == words.terms("ﾊﾞ")


def test_function_words_are_dropped_unless_nothing_else_is_left():
    assert words.query_terms("what did she do in Paris?") == ["pari"]
    assert words.query_terms("who is it") == ["who", "is", "it"]
    assert words.query_terms("the WHO report for IT") == ["who", "report", "it"]


def test_a_piece_is_worth_less_than_its_literal():
    assert words.query_weights("ADR-016 Ann's C++ run") == {
        "adr-016": 1, "adr": words.PART, "016": words.PART, "ann's": words.PART, "ann": 1, "c++": 1, "run": 1,
    }  # fmt: skip
    assert words.query_weights("dry-run dry") == {"dry-run": 1, "dri": 1, "run": words.PART}


def test_threads_do_not_mix_their_words():
    batches = [" ".join(f"{stem}{ending}" for stem in stems) for stems, ending in
               [([f"walk{n}x" for n in range(3_000)], "ing"), ([f"jump{n}y" for n in range(3_000)], "ed")]]  # fmt: skip
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(words.terms, batches * 4))
    assert found == [words.terms(batch) for batch in batches] * 4


@given(texts)
def test_a_query_finds_its_own_text(text):
    assert set(words.query_terms(text)) <= set(words.terms(text))


@given(texts)
def test_unicode_form_does_not_matter(text):
    assert words.terms(unicodedata.normalize("NFC", text)) == words.terms(unicodedata.normalize("NFD", text))


@given(texts, texts)
def test_lines_are_independent(one, two):
    assert words.terms(f"{one}\n{two}") == words.terms(one) + words.terms(two)


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_one_foreign_character_changes_nothing_else(text):
    assert words.terms(f"{text}\n🔥") == [*words.terms(text), "🔥"]


@given(texts)
def test_terms_are_short_lowercase_and_whole(text):
    for term in words.terms(text):
        assert 0 < len(term) <= 64
        assert not any(map(str.isspace, term))
        assert term.isascii() is False or term == term.lower()
