"""Digests of what a text says: found again in whatever form it stands, and in nothing else."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.traces import RUN, Traces, readings

TEXT = "The violet lighthouse opens at midnight, says Ottokar.\n\nPIN: 4711-0815\n\n灯台は真夜中に開く。\n"
HIDING = {
    "as it is": lambda t: t.encode(),
    "other line ends": lambda t: t.replace("\n", "\r\n").encode(),
    "one line": lambda t: " ".join(t.split()).encode(),
    "capitals": lambda t: t.upper().encode(),
    "markup": lambda t: t.replace("violet", "**violet**").replace("midnight", "`midnight`").encode(),
    "quoted": lambda t: "".join(f"> {line}\n" for line in t.splitlines()).encode(),
    "UTF-16": lambda t: t.encode("utf-16"),
    "UTF-16, big, odd": lambda t: b"x" + t.encode("utf-16-be"),
    "JSON": lambda t: json.dumps({"a": t}).encode(),
    "JSON, not ASCII": lambda t: json.dumps({"a": t}, ensure_ascii=False).encode(),
    "URL": lambda t: quote(t).encode(),
    "base64": lambda t: b'{"data": "' + base64.b64encode(t.encode()) + b'"}',
    "base64 in lines": lambda t: base64.encodebytes(t.encode() * 3),
    "base64 of a URL": lambda t: base64.urlsafe_b64encode(t.encode()).rstrip(b"="),
    "amid bytes": lambda t: bytes(range(256)) + b"\0" + t.encode() + b"\0\xff",
}


@pytest.mark.parametrize("form", HIDING)
def test_every_run_is_found_in_every_form(form):
    traces = Traces.gather([TEXT])
    wanted = {digest for some in traces.runs.values() for digest in some.tolist()}
    assert wanted <= traces.found(HIDING[form](TEXT))
    assert len(traces) == len(wanted) > 3


@pytest.mark.parametrize(
    "other",
    ["", "The violet lighthouse.", "opens at midnight says", "PIN", "4711", "灯台", "The lighthouse opens at midnight"],
)
def test_less_than_a_run_is_nothing(other):
    assert Traces.gather([TEXT]).found(other.encode()) == frozenset()


def test_short_lines_count_if_they_tell_something():
    traces = Traces.gather(["# Yes\n\nok\n\nxylophone9\n\nan old umbrella stand\n"])
    assert [
        traces.found(text) != frozenset() for text in (b"yes", b"ok", b"(xylophone9)", b"An old umbrella-stand.")
    ] == [
        *(False, False),
        *(True, True),
    ]
    assert Traces.gather(["Yes"], telling=False).said("well, yes")


words = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "12", "34"]), min_size=1, max_size=30)


@given(words, words, words)
def test_a_run_is_found_exactly_where_it_stands(text, before, after):
    traces = Traces.gather([" ".join(text)])
    around = [*before, *text, *after]
    assert traces.found(" ".join(around).encode()) >= traces.found(" ".join(text).encode())
    other = [f"{word}x" for word in around]
    assert traces.found(" ".join(other).encode()) == frozenset()
    if len(text) >= RUN:
        assert len(traces.said(" ".join(text))) == len({tuple(text[n : n + RUN]) for n in range(len(text) - RUN + 1)})


def test_what_is_kept_says_nothing_and_finds_the_same():
    traces = Traces.gather([TEXT])
    state = json.dumps(traces.state())
    assert "lighthouse" not in state
    again = Traces.restored(json.loads(state))
    assert again.found(TEXT.encode()) == traces.found(TEXT.encode()) != frozenset()
    assert Traces.gather([TEXT]).found(TEXT.encode()).isdisjoint(again.found(TEXT.encode())), "a key of its own"


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(data):
    assert all(isinstance(text, str) for text in readings(data))
