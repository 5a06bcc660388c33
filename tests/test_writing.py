"""Models that write: the budget, objects of a program's own, and litellm against a server on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import KEY, Server, serving

from atlas import config, models
from atlas.engine import MemoryEngine
from atlas.errors import Unavailable, UsageError
from atlas.models import remote
from atlas.models.remote import RemoteModel
from atlas.models.writing import HOUR, Budget, Budgeted
from atlas.template import create

ASKED = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Where does Ana live?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


# ------------------------------------------------------------------- the budget


def test_a_budget_of_calls_is_for_an_hour_that_goes_along():
    now = [0.0]
    budget = Budget(calls=2, clock=lambda: now[0])
    budget.take("one")
    now[0] = HOUR / 2
    budget.take("two")
    with pytest.raises(Unavailable, match=r"`llm\.max_calls` allows: wait 30 minutes"):
        budget.take("three")
    now[0] = HOUR
    budget.take("three")
    with pytest.raises(Unavailable, match="asked 2 times"):
        budget.take("four")


def test_a_budget_of_tokens_counts_what_is_answered_too():
    budget = Budget(tokens=100)
    budget.take("x" * 100)
    budget.add("x" * 200)
    with pytest.raises(Unavailable, match=r"llm\.max_tokens"):
        budget.take("x" * 200)
    budget.take("short")


@settings(deadline=None)
@given(st.integers(1, 9), st.lists(st.floats(0, HOUR * 2), max_size=40))
def test_no_hour_has_more_calls_than_its_budget(calls, steps):
    now = [0.0]
    budget = Budget(calls=calls, clock=lambda: now[0])
    made: list[float] = []
    for step in steps:
        now[0] += step
        try:
            budget.take("")
        except Unavailable:
            assert sum(now[0] - then < HOUR for then in made) == calls
            continue
        made.append(now[0])
        assert sum(now[0] - then < HOUR for then in made) <= calls


def test_no_limit_is_no_limit():
    budget = Budget()
    for _ in range(2000):
        budget.take("x" * 10_000)


# ------------------------------------------------------- objects of a program's own


class Simple:
    """The least a model can be."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, prompt: str) -> str:
        self.asked.append(prompt)
        return "In Berlin."


def test_an_object_that_completes_is_enough():
    model = Simple()
    writer = Budgeted(model, Budget())
    assert writer.complete("Where?") == "In Berlin."
    assert writer.chat(ASKED) == "In Berlin."
    assert list(writer.stream(ASKED)) == ["In Berlin."]
    assert model.asked[1] == "system: Be short.\n\nuser: Where does Ana live?\n\nassistant:"
    writer.complete("Where?", SCHEMA)
    assert model.asked[-1].endswith(json.dumps(SCHEMA))


def test_an_object_that_streams_and_takes_schemas_is_asked_by_that():
    class Full(Simple):
        def complete(self, prompt, schema=None):
            return json.dumps({"schema": schema})

        def stream(self, messages):
            yield from ("In ", "Berlin.")

    writer = Budgeted(Full(), Budget())
    assert json.loads(writer.complete("Where?", SCHEMA)) == {"schema": SCHEMA}
    assert list(writer.stream(ASKED)) == ["In ", "Berlin."]


def test_what_is_no_model_is_refused(root):
    with pytest.raises(UsageError, match=r"complete\(prompt\)"):
        MemoryEngine(root, llm=object())


def test_long_answers_use_the_budget_up():
    class Long(Simple):
        def complete(self, prompt):
            return "word " * 400

        def stream(self, messages):
            yield from ["word "] * 400

    for ask in (lambda w: w.complete("?"), lambda w: w.chat(ASKED), lambda w: list(w.stream(ASKED))):
        writer = Budgeted(Long(), Budget(tokens=300))
        ask(writer)
        with pytest.raises(Unavailable, match="max_tokens"):
            ask(writer)


def test_an_answer_that_is_no_text_is_refused():
    class Wrong(Simple):
        def complete(self, prompt):
            return 7

    with pytest.raises(Unavailable, match="answered with a int"):
        Budgeted(Wrong(), Budget()).complete("Where?")


def test_an_engine_asks_the_object_it_was_given_and_no_setting(root):
    (root / "atlas.toml").write_text('[llm]\nmodel = "openai/none"\nmax_calls = 1\n[upkeep]\nsummaries = "llm"\n')
    with MemoryEngine(root, llm=Simple()) as engine:
        writer = models.writer(engine.config)
        assert writer is models.writer(engine.config)
        assert writer.complete("Where?") == "In Berlin."
        with pytest.raises(Unavailable, match="max_calls"):
            writer.complete("Where?")
    with MemoryEngine(root, llm="openai/other") as engine:
        assert engine.config.llm_model == "openai/other"
        assert engine.config.writer is None


def test_the_model_of_an_engine_draws_from_conversations_too(root):
    class Drawing(Simple):
        def complete(self, prompt, schema=None):
            self.asked.append(prompt)
            assert schema["required"] == ["memories"]
            return json.dumps(
                {"memories": [{"kind": "fact", "text": "Ana keeps the spare key in the blue box.", "from": [1]}]}
            )

    model = Drawing()
    said = [{"role": "user", "name": "Ana", "content": "I keep the spare key in the blue box.", "id": "a"}]
    with MemoryEngine(root, llm=model) as engine:
        engine.ingest(messages=said, conversation="desk", mode="fine")
        assert "Ana keeps the spare key in the blue box." in [hit.text for hit in engine.search("spare key").hits]
    assert len(model.asked) == 1


def test_one_vault_has_one_budget_in_a_process(root):
    (root / "atlas.toml").write_text('[llm]\nmodel = "openai/none"\n')
    one, two = config.load(root), config.load(root)
    assert models.writer(one) is models.writer(two)
    assert models.writer(config.Config(root)) is None
    models.release()


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "anything"',
        'key = "anything"',
        'openai_api_key = "x"',
        'password = "x"',
        'model = "sk-0123456789abcdef0123"',
        'api_base = "https://example.test/v1?api_key=abc"',
    ],
)
def test_a_key_in_the_settings_is_refused_and_not_repeated(tmp_path, line):
    (tmp_path / "atlas.toml").write_text(f"[llm]\n{line}\n")
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as refused:
        config.load(tmp_path)
    assert "abc" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_names_that_only_look_like_keys_are_no_keys(tmp_path):
    (tmp_path / "atlas.toml").write_text('[llm]\nmodel = "openai/task-keyword-tokenizer-large"\nmax_tokens = 9\n')
    assert config.load(tmp_path).llm_max_tokens == 9


# ------------------------------------------------------------------ with litellm


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    """A model server on loopback, and no waiting between tries."""
    monkeypatch.setattr(remote, "_FIRST", 0.0)
    models.release()
    with serving(monkeypatch, list) as state:
        yield state
    models.release()


def model(server: Server, **options) -> RemoteModel:
    return RemoteModel("openai/served", server.address, **options)


@pytest.mark.llm
def test_a_model_completes_a_prompt(server):
    server.answers = ["1, 2"]
    assert model(server).complete("which?") == "1, 2"
    (asked,) = server.asked
    assert (asked["path"], asked["model"]) == ("/v1/chat/completions", "served")
    assert asked["messages"] == [{"role": "user", "content": "which?"}]
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.llm
def test_a_model_that_fails_is_one_sentence_and_left_alone_for_a_while(server):
    server.failures = [500] * 9
    asked = model(server)
    for _ in range(3):
        with pytest.raises(Unavailable, match="does not answer") as refused:
            asked.complete("which?")
    assert len(server.asked) <= 2
    assert KEY not in str(refused.value)


@pytest.mark.llm
@pytest.mark.parametrize(("code", "says"), [(401, "OPENAI_API_KEY"), (404, r"llm\.model"), (400, r"llm\.model")])
def test_a_refusal_names_the_setting_and_no_key(server, code, says):
    server.failures = [code]
    with pytest.raises(Unavailable, match=says) as refused:
        model(server).complete("which?")
    assert KEY not in str(refused.value)


@pytest.mark.llm
def test_an_answer_without_words_is_refused(server):
    server.answers = [None]
    with pytest.raises(Unavailable, match="did not answer with words"):
        model(server).complete("which?")


@pytest.mark.llm
@pytest.mark.parametrize("retries", [0, 1, 3])
def test_what_fails_in_passing_is_tried_so_often_and_no_more(server, retries):
    server.failures, server.answers = [500, 429, 503][:retries], ["1"]
    assert model(server, retries=retries).complete("which?") == "1"
    assert len(server.asked) == retries + 1
    server.asked.clear()
    server.failures = [429] * 20
    with pytest.raises(Unavailable) as refused:
        model(server, retries=retries).complete("which?")
    assert len(server.asked) == retries + 1
    assert KEY not in str(refused.value)


@pytest.mark.llm
def test_a_schema_is_sent_and_left_out_where_it_is_not_taken(server):
    server.answers = ['{"city": "Berlin"}'] * 3
    asked = model(server)
    assert json.loads(asked.complete("where?", SCHEMA))["city"] == "Berlin"
    assert server.asked[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    server.failures = [400]
    assert asked.complete("where?", SCHEMA)
    assert "response_format" not in server.asked[-1]
    asked.complete("where?", SCHEMA)
    assert len(server.asked) == 4
    assert "response_format" not in server.asked[-1]


@pytest.mark.llm
def test_a_conversation_is_answered_whole_or_in_pieces(server):
    server.answers = ["She lives in Berlin."] * 2
    asked = model(server)
    assert asked.chat(ASKED) == "She lives in Berlin."
    pieces = list(asked.stream(ASKED))
    assert len(pieces) == 4
    assert "".join(pieces) == "She lives in Berlin."
    assert [one["messages"] for one in server.asked] == [ASKED, ASKED]
    assert server.asked[1]["stream"] is True


@pytest.mark.llm
def test_a_stream_that_breaks_is_one_sentence_after_what_came(server):
    server.answers, server.breaks = ["She lives in Berlin."], 2
    pieces = []
    with pytest.raises(Unavailable) as refused:
        pieces.extend(model(server).stream(ASKED))
    assert len(server.asked) == 1
    assert KEY not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.llm
def test_a_stream_that_cannot_begin_is_tried_again(server):
    server.failures, server.answers = [503], ["In Berlin."]
    assert "".join(model(server).stream(ASKED)) == "In Berlin."
    assert len(server.asked) == 2


@pytest.mark.llm
def test_whoever_talks_is_not_told_of_an_older_failure(server):
    asked = model(server, retries=0)
    server.failures, server.answers = [500], ["In Berlin."] * 2
    with pytest.raises(Unavailable):
        asked.complete("where?")
    assert "".join(asked.stream(ASKED)) == asked.chat(ASKED) == "In Berlin."
    with pytest.raises(Unavailable):
        asked.complete("where?")
    assert len(server.asked) == 3


@pytest.mark.llm
def test_an_empty_stream_is_no_answer(server):
    server.answers = [""]
    with pytest.raises(Unavailable, match="did not answer with words"):
        list(model(server).stream(ASKED))


@pytest.mark.llm
@pytest.mark.parametrize(("name", "path"), [("ollama", "/api/generate"), ("ollama_chat", "/api/chat")])
def test_ollama_is_asked_at_its_own_paths_without_a_key(server, name, path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    server.answers = ["In Berlin."] * 2
    asked = RemoteModel(f"{name}/served", server.base)
    assert asked.complete("where?") == "In Berlin."
    assert asked.chat(ASKED) == "In Berlin."
    assert [one["path"] for one in server.asked] == [path, path]
    assert server.keys == ["", ""]


@pytest.mark.llm
def test_what_is_drawn_from_a_conversation_is_asked_for_with_its_schema(server, root):
    text = f'[llm]\nmodel = "openai/served"\napi_base = "{server.address}"\n'
    (root / "atlas.toml").write_text(text)
    told = {"kind": "fact", "text": "Ana keeps the spare key in the blue box.", "from": [1]}
    server.answers = [json.dumps({"memories": [told]})]
    said = [{"role": "user", "name": "Ana", "content": "I keep the spare key in the blue box.", "id": "a"}]
    with MemoryEngine(root) as engine:
        engine.ingest(messages=said, conversation="desk", mode="fine")
        assert "blue box" in engine.search("spare key").hits[0].text
    (asked,) = server.asked
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["memories"]


@pytest.mark.llm
def test_the_time_a_try_may_take_is_a_setting(server, root):
    server.wait, server.answers = 1.0, ["1"]
    text = f'[llm]\nmodel = "openai/served"\napi_base = "{server.address}"\ntimeout_seconds = 0.2\nretries = 0\n'
    (root / "atlas.toml").write_text(text)
    began = time.monotonic()
    with pytest.raises(Unavailable, match="does not answer"):
        models.writer(config.load(root)).complete("which?")
    assert time.monotonic() - began < 1.0 or len(server.asked) == 1


@pytest.mark.llm
def test_beyond_the_budget_nothing_is_sent_and_the_rules_answer(server, repo):
    create(repo)
    text = f'[llm]\nmodel = "openai/served"\napi_base = "{server.address}"\nmax_calls = 1\n'
    Path(repo / "atlas.toml").write_text(text)
    for folder in ("ducks", "herons"):
        (repo / folder).mkdir()
        for n in range(2):
            (repo / folder / f"{n}.md").write_text(f"# Entry {n} of {folder}\n\nWhere birds stand in water, {n}.\n")
    server.answers = ["1"] * 9
    with MemoryEngine(repo, create=False) as engine:
        assert engine.search("birds in water", mode="fine").hits
        (said,) = engine.said()
    assert "llm.max_calls" in said
    assert len(server.asked) == 1
