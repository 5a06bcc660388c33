"""Transcripts: what goes in comes out, item for item, whatever happens between."""

from __future__ import annotations

import json
import threading

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from atlas import config, transcripts
from atlas.config import Config
from atlas.errors import Unavailable
from atlas.memory import Scope
from atlas.transcripts import ERASED, Transcript

TEXTS = st.text(alphabet=st.characters(codec=None), max_size=12)
ITEMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
STEPS = st.lists(
    st.tuples(st.just("add"), st.lists(ITEMS, max_size=3))
    | st.tuples(st.just("keep"), st.integers(0, 6))
    | st.tuples(st.sampled_from(["pop", "clear"]), st.none()),
    max_size=12,
)


@given(STEPS)
def test_it_is_a_list(tmp_path_factory, steps):
    """Each step by a transcript opened anew, as a process of its own would."""
    settings = Config(tmp_path_factory.mktemp("vault"))
    wanted: list[object] = []
    kept = 0
    for step, value in steps:
        transcript = Transcript(settings, "ana")
        if step == "add":
            transcript.add(value)
            wanted += value
        elif step == "keep":
            transcript.keep(value)
            kept = min(max(kept, value), len(wanted))
        elif step == "pop":
            assert transcript.pop() == (wanted.pop() if wanted else None)
            kept = min(kept, len(wanted))
        else:
            transcript.clear()
            wanted, kept = [], 0
        told = Transcript(settings, "ana").read()
        assert (told.items, told.kept, told.new) == (wanted, kept, wanted[kept:])


def test_names_and_scopes_are_apart(tmp_path):
    names = ["ana", "ben", "../ana", "ana\0", ""]
    for name in names:
        Transcript(Config(tmp_path), name).add([name])
    Transcript(Config(tmp_path, scope=Scope("team")), "ana").add(["team"])
    assert [Transcript(Config(tmp_path), name).read().items for name in names] == [[name] for name in names]
    assert {file.parent for file in tmp_path.rglob("*.jsonl")} == {tmp_path / ".atlas" / "conversations"}


def test_a_line_cut_short_takes_no_other_with_it(tmp_path):
    transcript = Transcript(Config(tmp_path), "ana")
    transcript.add(["one", "two"])
    transcript.file.write_bytes(transcript.file.read_bytes()[:-4])
    transcript.add(["three"])
    assert transcript.read().items == ["one", "three"]
    with transcript.file.open("ab") as file:
        file.write(b'[1]\n"text"\n{"kept": "many"}\n\xff\n{"other": 1}\n')
    assert transcript.read().items == ["one", "three"]


def test_what_is_no_json_is_refused_whole(tmp_path):
    transcript = Transcript(Config(tmp_path), "ana")
    with pytest.raises(TypeError):
        transcript.add(["one", object()])
    assert transcript.read().items == []


def test_an_item_is_taken_back_once(tmp_path):
    settings = Config(tmp_path)
    Transcript(settings, "ana").add(list(range(40)))
    popped: list[object] = []

    def take() -> None:
        popped.extend(Transcript(settings, "ana").pop() for _ in range(10))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(popped) == list(range(40))


def test_a_transcript_that_others_hold_is_told(tmp_path):
    transcript = Transcript(Config(tmp_path, lock_seconds=0.05), "ana")
    transcript.add(["one"])
    with FileLock(transcript.file.with_suffix(".lock")), pytest.raises(Unavailable, match="another process"):
        transcript.pop()
    assert transcript.read().items == ["one"]


def test_words_are_taken_out_and_the_rest_stays(tmp_path):
    transcript = Transcript(Config(tmp_path), "ana")
    call = {"type": "function_call", "arguments": '{"code": "walrus"}', "tags": ["walrus", "kept"], "n": 1}
    transcript.add([{"role": "user", "content": "the walrus code"}, call, "after"])
    transcript.keep(2)
    other = Transcript(Config(tmp_path), "ben")
    other.add(["nothing of it"])
    before = other.file.read_bytes()
    transcripts.erase(Config(tmp_path), lambda data: b"walrus" in data)
    told = transcript.read()
    assert told.items == [
        {"role": "user", "content": ERASED},
        {"type": "function_call", "arguments": ERASED, "tags": [ERASED, "kept"], "n": 1},
        "after",
    ]
    assert told.kept == 2
    assert other.file.read_bytes() == before


def test_words_that_only_the_whole_file_holds_cost_the_file(tmp_path):
    transcript = Transcript(Config(tmp_path), "ana")
    transcript.add(["one", "two"])
    transcripts.erase(Config(tmp_path), lambda data: b"one" in data and b"two" in data)
    assert not transcript.file.exists()


def test_a_purge_takes_its_words_out_of_transcripts(engine, root):
    secret = "The walrus of the northern harbour answers to the name of Bertram Longtooth."
    (id,) = engine.ingest(secret)
    transcript = Transcript(config.load(root), "ana")
    transcript.add([{"role": "user", "content": secret}, {"role": "assistant", "content": "Noted."}])
    receipt = engine.purge(id, yes=True)
    assert receipt.done
    assert transcript.read().items == [{"role": "user", "content": ERASED}, {"role": "assistant", "content": "Noted."}]
    assert "Bertram" not in transcript.file.read_text()
    assert json.loads(transcript.file.read_text().splitlines()[0])
