"""Messages as chat interfaces spell them, and files of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.chatfiles import parse
from atlas.errors import UsageError
from atlas.messages import ASSISTANT, SYSTEM, TOOL, USER, Call, Message, read

NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)


def one(given_message) -> Message:
    (found,) = read([given_message])
    return found


# ------------------------------------------------------------------------ shapes


@pytest.mark.parametrize(
    ("role", "known"),
    [("user", USER), ("Human", USER), ("ai", ASSISTANT), ("model", ASSISTANT), ("developer", SYSTEM), ("tool", TOOL)],
)
def test_roles_have_many_names(role, known):
    assert one({"role": role, "content": "Hello"}).role == known


def test_a_role_that_is_none_is_a_name():
    said = one({"role": "Melanie", "content": "Hello"})
    assert (said.role, said.speaker, said.who) == (USER, "Melanie", "Melanie")
    assert one({"speaker": "Ana", "text": "Hello"}) == Message(USER, "Hello", speaker="Ana")


def test_openai_s_chat():
    asked, answered = read(
        [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ]
    )  # fmt: skip
    assert asked == Message(ASSISTANT, "", calls=(Call("look", '{"at": 1}', "c1"),))
    assert answered == Message(TOOL, "found", answers="c1")


def test_openai_s_responses():
    said = read(
        [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
            {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c1"},
            {"type": "function_call_output", "call_id": "c1", "output": "there"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "There."}]},
        ]
    )
    assert [m.text for m in said] == ["Where?", "", "there", "There."]
    assert said[1].calls == (Call("look", "{}", "c1"),)
    assert (said[2].role, said[2].answers) == (TOOL, "c1")


def test_anthropic_s_blocks():
    said = read(
        [
            {"role": "assistant", "id": "m1", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}}]},
            {"role": "user", "id": "m2", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": True,
                 "content": [{"type": "text", "text": "no"}]},
                {"type": "text", "text": "And now?"}]},
        ]
    )  # fmt: skip
    assert [(m.role, m.text, m.id) for m in said] == [
        (ASSISTANT, "Let me see.", "m1"), (TOOL, "no", "m2/1"), (USER, "And now?", "m2"),
    ]  # fmt: skip
    assert said[0].calls == (Call("look", '{"at": 1}', "t1"),)
    assert (said[1].failed, said[1].answers) == (True, "t1")


def test_langchain_in_the_forms_it_is_written_in():
    calls = [{"name": "look", "args": {"at": 1}, "id": "c1", "type": "tool_call"}]
    blocks = [{"type": "text", "text": "Yes"}, {"type": "tool_use", "name": "look", "input": {"at": 1}, "id": "c1"}]
    objects = [
        SimpleNamespace(type="human", content="Hello", id="h1", name="Ana"),
        SimpleNamespace(type="ai", content=blocks, tool_calls=calls, id="a1"),
        SimpleNamespace(type="tool", content="found", tool_call_id="c1", status="error", name="look"),
        SimpleNamespace(type="AIMessageChunk", content="Done"),
    ]
    expected = [
        Message(USER, "Hello", id="h1", speaker="Ana"),
        Message(ASSISTANT, "Yes", id="a1", calls=(Call("look", '{"at": 1}', "c1"),)),
        Message(TOOL, "found", tool="look", answers="c1", failed=True),
        Message(ASSISTANT, "Done"),
    ]
    assert read(objects) == expected
    assert read([{"type": o.type, "data": vars(o)} for o in objects]) == expected
    names = ("HumanMessage", "AIMessage", "ToolMessage", "AIMessageChunk")
    written = [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": vars(o)}
        for name, o in zip(names, objects, strict=True)
    ]
    assert read(written) == expected


def test_pydantic_ai_s_parts():
    said = read(
        [
            {"kind": "request", "parts": [
                {"part_kind": "system-prompt", "content": "Be brief."}, {"part_kind": "user-prompt", "content": "Hi"}]},
            {"kind": "response", "timestamp": "2023-05-08T12:00:00Z", "parts": [
                {"part_kind": "thinking", "content": "hm"}, {"part_kind": "text", "content": "Yes."},
                {"part_kind": "tool-call", "tool_name": "look", "args": {"at": 1}, "tool_call_id": "c1"}]},
            {"kind": "request", "parts": [
                {"part_kind": "tool-return", "tool_name": "look", "content": "found", "tool_call_id": "c1"}]},
            {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "Be brief."}]},
        ]
    )  # fmt: skip
    assert said == [
        Message(USER, "Hi"),
        Message(ASSISTANT, "Yes.", NOON, calls=(Call("look", '{"at": 1}', "c1"),)),
        Message(TOOL, "found", tool="look", answers="c1"),
        Message(SYSTEM, ""),
    ]


def test_gemini_s_parts():
    said = read(
        [
            {"role": "model", "parts": [{"text": "Yes."}, {"functionCall": {"name": "look", "args": {"at": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"at": "here"}}}]},
        ]
    )
    assert said[0] == Message(ASSISTANT, "Yes.", calls=(Call("look", '{"at": 1}'),))
    assert (said[1].role, said[1].tool, json.loads(said[1].text)) == (TOOL, "look", {"at": "here"})


def test_llamaindex_s_blocks():
    block = SimpleNamespace(block_type="text", text="Hello")
    extra = {"name": "look", "tool_call_id": "c1"}
    said = read(
        [
            SimpleNamespace(role=SimpleNamespace(value="user"), blocks=[block], additional_kwargs={}),
            SimpleNamespace(role=SimpleNamespace(value="tool"), content="found", additional_kwargs=extra),
        ]
    )
    assert said == [Message(USER, "Hello"), Message(TOOL, "found", tool="look", answers="c1")]


def test_a_line_of_an_agent_s_log():
    inner = {"role": "assistant", "id": "msg", "content": [{"type": "text", "text": "Done."}]}
    line = {"type": "assistant", "uuid": "u1", "timestamp": "2023-05-08T12:00:00.000Z", "message": inner}
    assert one(line) == Message(ASSISTANT, "Done.", NOON, id="u1")


# ------------------------------------------------------------------------- times


@pytest.mark.parametrize(
    "value",
    [1683547200, 1683547200.0, 1683547200000, "1683547200", "1683547200.000", "2023-05-08T12:00:00Z", NOON,
     "2023-05-08 12:00", "2023-05-08T14:00:00+02:00", datetime(2023, 5, 8, 12)],  # noqa: DTZ001 - no zone is UTC
)  # fmt: skip
def test_times_as_programs_write_them(value):
    assert one({"role": "user", "content": "x", "created_at": value}).time == NOON


def test_a_day_in_words_is_a_time():
    assert one({"role": "user", "content": "x", "date": "1:56 pm on 8 May, 2023"}).time == datetime(
        2023, 5, 8, tzinfo=UTC
    )


@pytest.mark.parametrize("value", ["soon", 1e300, float("nan"), float("inf"), "32.13.2023"])
def test_a_time_that_cannot_be_read_names_its_message(value):
    with pytest.raises(UsageError, match="Message 2 has the time"):
        read([{"role": "user", "content": "x"}, {"role": "user", "content": "x", "time": value}])


# --------------------------------------------------------------------- bad input


@pytest.mark.parametrize("bad", [{"content": "x"}, 3, None, "text", {}, {"type": "summary", "summary": "x"}, []])
def test_what_is_no_message_is_named(bad):
    with pytest.raises(UsageError, match="Message 2 has no role"):
        read([{"role": "user", "content": "x"}, bad])


@pytest.mark.parametrize("bad", ["text", b"text", {"role": "user", "content": "x"}])
def test_messages_are_a_list(bad):
    with pytest.raises(UsageError, match="list"):
        read(bad)


FIELDS = (
    *("type", "text", "content", "role", "parts", "name", "id", "tool_calls", "function", "input", "message", "data"),
    *("kwargs", "functionCall", "timestamp", "is_error", "output"),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_whatever_is_given_becomes_messages_or_a_sentence(value):
    """No shape of JSON ends in an error that was not foreseen."""
    try:
        said = read([value])
    except UsageError:
        return
    assert all(isinstance(m.text, str) and m.role in {USER, ASSISTANT, SYSTEM, TOOL} for m in said)


# ------------------------------------------------------------------------- files

LINES = '{"role": "user", "content": "One"}\n{"role": "assistant", "content": "Two"}\n'


def texts(chat) -> list[str]:
    assert chat is not None
    return [m.text for m in chat.messages]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (LINES, "chat.jsonl"),
        (LINES, ""),
        ("\ufeff" + LINES, "chat.NDJSON"),
        (f"[{','.join(LINES.splitlines())}]", "chat.json"),
        (json.dumps({"title": "x", "messages": list(map(json.loads, LINES.splitlines()))}, indent=1), ""),
    ],
)
def test_files_of_messages(text, name):
    assert texts(parse(text, name)) == ["One", "Two"]


def test_one_message_alone():
    assert texts(parse('{"role": "user", "content": "One"}', "x.json")) == ["One"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Just a text.",
        "{not json",
        "[1, 2]",
        '{"a": 1}',
        '{"a": 1}\n{"b": 2}\n',
        "[[Link]] to a note",
        '{"messages": 3}',
    ],
)
def test_other_texts_stay_texts(text):
    assert parse(text, "x.md") is None
    assert parse(text, "x.jsonl") is None
    with pytest.raises(UsageError, match="is no conversation"):
        parse(text, "x.md", wanted=True)


def test_a_last_line_that_is_cut_is_left_for_later():
    chat = parse(LINES + '{"role": "us', "chat.jsonl")
    assert texts(chat) == ["One", "Two"]
    assert chat is not None
    assert chat.said == ("Line 3, the last, is cut and was left out: store the file again when it is whole.",)


def test_a_broken_line_is_named_and_nothing_is_taken():
    with pytest.raises(UsageError, match="Line 2 is no JSON"):
        parse('{"role": "user", "content": "One"}\n{"role": "us\n{"role": "user", "content": "Three"}\n', "chat.jsonl")


def test_lines_of_a_log_that_are_no_messages_are_counted():
    chat = parse('{"type": "summary", "summary": "x"}\n' + LINES + '{"type": "file-history"}\n', "log.jsonl")
    assert texts(chat) == ["One", "Two"]
    assert chat is not None
    assert chat.said == ("2 lines are no messages and were left out.",)
