"""Language work without a model: sentences, labels, summaries, importance, kind, and what a text is about."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.memory import KINDS
from atlas.models.entities import MOST, entities, slug_of
from atlas.models.offline import LABEL_CHARS, SUMMARY_CHARS, importance, kind, label, sentences, summary

JWT = "JWT refresh token has a race condition. Decided to use sliding window strategy."

LONG = """# Token refresh

The mobile client refreshed its token twice when two calls failed at once. The second refresh used a token that the
first had already spent. The server then closed the session and the person had to log in again.

We looked at a lock in the client, at a queue, and at a sliding window on the server. The lock was simple, but it does
not help when two devices share a session. Decided to use a sliding window: the server accepts the previous refresh
token for thirty seconds. The window must never be longer than a minute, because a stolen token would live as long.

```python
window = timedelta(seconds=30)  # a comment that is no sentence.
```

Nobody has asked about the web client yet. The weather was good that day.
"""

texts = st.text(st.sampled_from("ab C.!? \n#-`*[]|'é。、中1_/:"), max_size=200) | st.text(max_size=100)


# Sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Lee walked 3.5 km, e.g. in Rome. Done.", ["Dr. Lee walked 3.5 km, e.g. in Rome.", "Done."]),
        ("Use foo.py and v1.2.3. See www.example.test/a.b.", ["Use foo.py and v1.2.3.", "See www.example.test/a.b."]),
        ("We moved to the U.S. It was cold.", ["We moved to the U.S.", "It was cold."]),
        ("J. Smith called. Restart node A. Then wait.", ["J. Smith called.", "Restart node A.", "Then wait."]),
        ("Wait... what? No… Yes.", ["Wait... what?", "No…", "Yes."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("备份完成。重启服务器！好吗？是", ["备份完成。", "重启服务器！", "好吗？", "是"]),
        ("彼は「行く。」と言った。終わり。", ["彼は「行く。」", "と言った。", "終わり。"]),
        ("# Head\nLine one\nline two.\n- a\n- b\n\n1. Step", ["# Head", "Line one line two.", "- a", "- b", "1. Step"]),
        ("It took 3 ms. Ms. Lee said no. See No. 5.", ["It took 3 ms.", "Ms. Lee said no.", "See No. 5."]),
        ("---\n\n***\n", []),
        ("", []),
    ],
)  # fmt: skip
def test_sentences(text, expected):
    assert sentences(text) == expected


@given(texts)
def test_sentences_lose_no_letter_and_hold_no_line_break(text):
    def letters(s):
        return [c for c in s if c.isalnum()]

    cut = sentences(text)
    assert letters(text) == letters("".join(cut))
    assert all(s == " ".join(s.split()) and s for s in cut)


# Labels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("JWT token expiration bug", "JWT token expiration bug"),
        (JWT, "JWT refresh token has a race condition"),
        ("Ana's desk is on floor 2.", "Ana's desk is on floor 2"),
        ("Is it C++ or C#?", "Is it C++ or C#"),
        (LONG, "Token refresh"),
        ("---\ntitle: 'Boiler'\ntags: [a]\n---\nValve 7", "Boiler"),
        ("Hey Ana! The boiler is fixed.", "The boiler is fixed"),
        ("Hey Ana!", "Hey Ana"),
        ("- **Buy** [milk](https://x.test) at [[Corner Shop|the shop]]", "Buy milk at the shop"),
        ("`foo_bar` fails", "foo_bar fails"),
        ("设备清单与备份计划。明天开始。", "设备清单与备份计划"),
        ("```\ncode only\n```", "code only"),
        ("!!!", "!!!"),
    ],
)
def test_labels(text, expected):
    assert label(text) == expected


def test_a_long_sentence_is_cut_at_a_clause_else_at_a_word():
    clause = (
        "The reporting database was moved to the second cluster in Frankfurt, because the first ran out of disk space"
    )
    assert label(clause) == "The reporting database was moved to the second cluster in Frankfurt"
    plain = "The reporting database was moved to the second cluster in Frankfurt after it ran out of the space"
    assert label(plain) == "The reporting database was moved to the second cluster in Frankfurt after it ran"
    assert len(label("x" * 500)) == LABEL_CHARS


@given(texts)
def test_a_label_is_one_short_line_and_never_a_heading_mark(text):
    line = label(text)
    assert len(line) <= LABEL_CHARS
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert bool(line) == bool(text.split())


# Summaries


def test_a_short_text_is_its_own_summary():
    assert summary(JWT) == JWT
    assert summary("  Ana's desk  is on floor 2\n") == "Ana's desk is on floor 2"


def test_the_summary_of_a_long_text_holds_what_it_turns_on():
    short = summary(LONG)
    assert len(short) <= SUMMARY_CHARS
    assert "sliding window" in short
    assert "weather" not in short
    assert "comment" not in short
    for sentence in sentences(short):
        assert sentence in " ".join(LONG.split())


def test_a_giant_sentence_is_cut_at_a_word():
    short = summary("word " * 200, limit=50)
    assert short == "word word word word word word word word word word"[:49].rsplit(" ", 1)[0] + "…"


@given(texts, st.integers(40, 300))
def test_a_summary_is_one_line_within_its_limit(text, limit):
    short = summary(text, limit)
    assert len(short) <= limit
    assert short == " ".join(short.split())
    assert bool(short) == bool(text.split())


# Importance


@pytest.mark.parametrize("text", [JWT, LONG, "Ana likes tea", "Never restart node A without asking Ben", "好", "ok"])
@pytest.mark.parametrize("glue", ["", " ", "\n", "\n\n", ". "])
def test_saying_it_three_times_adds_nothing(text, glue):
    assert importance(glue.join([text] * 3), "fact") == importance(text, "fact")


def test_importance_follows_what_is_said():
    plain = importance("The sky was grey over the harbour", "fact")
    assert importance("Hey Ana, nice!", "fact") < plain
    assert importance("You must never restart node A", "fact") > plain
    assert importance("Decided to use Postgres", "decision") > importance("Postgres was used", "fact")
    assert importance("Remember: the deadline is 4 May", "fact") > plain
    assert importance("The sky was grey", "decision") > importance("The sky was grey", "note")


def test_importance_does_not_grow_with_length():
    filler = " ".join(f"The {w} was grey over the harbour." for w in ("sky", "sea", "wall", "boat", "house"))
    assert importance(filler, "fact") == importance("The sky was grey over the harbour.", "fact")
    assert importance(f"You must never restart node A. {filler}", "fact") < importance(
        "You must never restart node A.", "fact"
    )


@given(texts, st.sampled_from([*KINDS, "recipe"]))
def test_importance_is_a_share_with_two_decimals(text, word):
    value = importance(text, word)
    assert 0 < value <= 1
    assert value == round(value, 2)


# Kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JWT, "decision"),
        ("We agreed to ship on Friday", "decision"),
        ("Decision: keep DuckDB", "decision"),
        ("We're going with Postgres", "decision"),
        ("Not decided yet", "fact"),
        ("They haven't decided", "fact"),
        ("undecided voters", "fact"),
        ("I prefer tabs to spaces", "preference"),
        ("Always use UTC in logs", "preference"),
        ("Ana's favourite colour is green", "preference"),
        ("Decided to always use tabs", "decision"),
        ("The sky is blue", "fact"),
        ("", "fact"),
    ],
)
def test_kinds(text, expected):
    assert kind(text) == expected


# Entities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana moved to floor 5 yesterday", ("Ana",)),
        ("Ben's desk is on floor 2", ("Ben",)),
        ("Run 41: recall 0.812", ()),
        ("The end. Decided it. It's over. Let's go on Monday.", ()),
        ("DO NOT RESTART THIS NODE", ()),
        ("I met Charlotte Brontë in New York on Monday, May 5", ("Charlotte Brontë", "New York")),
        ("We called the Bank of England", ("Bank of England",)),
        ("C++ is fast but C# is safe", ("C++", "C#")),
        ("K8s and S3 and JWTs", ("K8s", "S3", "JWT")),
        ("see https://example.test/Foo_Bar?x=SECRET or mail ana.lee@example.test", ()),
        ("commit 3f2a9c1b8d7e6f5a and 01JDXK3Q8ZV5T9W2M4N6P8R0S1", ()),
        ("サンドボックスの修正", ("サンドボックス",)),
        ("linked to [[people/Ana Lee|Ana]] there", ("Ana Lee", "Ana")),
        ("Postgres is slow, and postgres is old", ()),
        ("", ()),
    ],
)
def test_what_a_sentence_is_about(text, expected):
    assert entities(text) == expected


@pytest.mark.parametrize(
    "name",
    ["ADR-016", "foo_bar.baz", "src/atlas/words.py", "DuckDB", "camelCase", "os.environ", "--dry-run", ".NET", "utf8"],
)
def test_code_names(name):
    tail = "['x']" if name == "os.environ" else ""
    assert name in entities(f"it was in {name}{tail} all along")


def test_phrases_of_short_texts():
    assert "billing service" in entities("The billing service fails at night")
    assert "billing service" in entities("Decided to move both billing services to Frankfurt")
    assert entities("we really should stay safe and help people") == ()


def test_long_texts_have_their_key_phrases_and_no_filler():
    found = entities(LONG * 2)
    assert len(found) <= MOST
    assert {"refresh token", "sliding window"} & set(found)
    assert not {f.lower() for f in found} & {"the", "decided", "nobody", "we"}


def test_the_most_named_comes_first():
    assert entities("Ana asked about the JWT. The JWT expired. A new JWT came.")[0] == "JWT"


def test_spellings_of_one_entity_meet():
    assert slug_of("Refresh Token") == slug_of("refresh-token") == slug_of("refresh_token")
    assert slug_of("Cafe\u0301") == slug_of("café")
    assert len({slug_of("C"), slug_of("C++"), slug_of("C#")}) == 3
    assert slug_of("हिन्दी") == "हिन्दी"


@given(texts)
def test_entities_are_few_short_distinct_lines(text):
    found = entities(text)
    slugs = [slug_of(e) for e in found]
    assert len(found) <= MOST
    assert len(set(slugs)) == len(slugs)
    assert all(slugs)
    assert all(e == e.strip() and "\n" not in e for e in found)


def test_the_same_text_gives_the_same_answer_in_any_process():
    code = (
        "import sys; from atlas.models.entities import entities; from atlas.models.offline import summary;"
        "text = sys.stdin.read(); print(entities(text), summary(text))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=LONG * 2,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1


def test_a_sentence_does_not_load_yake():
    code = f"import sys; from atlas.models.entities import entities; entities({JWT!r}); sys.exit('yake' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("rule", ["---", "* * *", "| --- | :-: |", "==", "|:---", "_" * 400])
def test_a_rule_is_no_sentence_and_nearly_one_takes_no_time(rule):
    assert sentences(f"Before.\n{rule}\nAfter.") == ["Before.", "After."]
    assert sentences("-" * 5000 + "x") == ["-" * 5000 + "x"]
    assert sentences("a|-") == ["a|-"]
