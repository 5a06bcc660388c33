"""Claude's memory tool over a vault: the same replies as the reference, and real runs of the package's own loop."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from importlib import import_module

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from shell import environment, new_vault

from atlas import MemoryEngine

agents = pytest.mark.agents


def _command(word, **arguments):
    return {"command": word, **arguments}


def _view(path="/memories", **more):
    return _command("view", path=path, **more)


def _create(path, text):
    return _command("create", path=path, file_text=text)


def _put(path, old, new):
    return _command("str_replace", path=path, old_str=old, new_str=new)


def _insert(path, line, text):
    return _command("insert", path=path, insert_line=line, insert_text=text)


def _delete(path):
    return _command("delete", path=path)


def _rename(old, new):
    return _command("rename", old_path=old, new_path=new)


SCRIPT = [
    _view(), _create("/memories/notes.txt", "one\ntwo\nthree\n"), _view(), _view("/memories/notes.txt"),
    _view("/memories/notes.txt", view_range=[2, 3]), _view("/memories/notes.txt", view_range=[2, -1]),
    _view("/memories/notes.txt", view_range=[0, 99]), _view("/memories/notes.txt", view_range=[3, 1]),
    _create("/memories/notes.txt", "again\n"), _put("/memories/notes.txt", "two", "zwei"),
    _put("/memories/notes.txt", "absent", "x"), _put("/memories/notes.txt", "e", "x"),
    _put("/memories/notes.txt", "one\nzwei", "eins\nzwei"), _put("/memories/none.txt", "a", "b"),
    _put("/memories", "a", "b"), _insert("/memories/notes.txt", 0, "null\n"),
    _insert("/memories/notes.txt", 4, "vier"), _insert("/memories/notes.txt", 99, "x"),
    _insert("/memories/notes.txt", -1, "x"), _insert("/memories/no.txt", 0, "x"),
    _insert("/memories/notes.txt", 2, "a\nb\n\n"), _view("/memories/notes.txt"),
    _create("/memories/empty.md", ""), _view("/memories/empty.md"), _insert("/memories/empty.md", 0, "first"),
    _view("/memories/empty.md"), _create("/memories/a/b/c/deep.md", "deep\n"),
    _create("/memories/a/x.xml", "<a>\n" + "x" * 3000 + "</a>"), _view(), _view("/memories/a"),
    _view("/memories/a/b"), _view("/memories/a/b/c"), _view("/memories/none"), _view("/memories/"),
    _view("/memories//notes.txt"), _create("/memories/a", "x"), _rename("/memories/a", "/memories/z"),
    _rename("/memories/none", "/memories/other"), _rename("/memories/notes.txt", "/memories/empty.md"),
    _rename("/memories/notes.txt", "/memories/new/notes.md"), _view("/memories/new/notes.md"), _view(),
     _delete("/memories"), _delete("/memories/none"),
    _delete("/memories/new/notes.md"), _view("/memories/new"), _delete("/memories/z"), _view(),
    _create("/memories/crlf.txt", "a\r\nb\r\n"), _insert("/memories/crlf.txt", 1, "x"),
    _view("/memories/crlf.txt"), _put("/memories/crlf.txt", "a\r\n", "\r\n"),
    _create("/memories/日本.txt", "猫\n"), _view("/memories/日本.txt"), _view(), _put("/memories/日本.txt", "猫", ""),
    _create("/memories/no-newline", "x"), _put("/memories/no-newline", "x", "y"), _view("/memories/no-newline"),
    _put("/memories/no-newline", "", "z"), _view("/elsewhere"), _create("/memories/../x", "x"),
    _delete("/memories/a.b/c"),
]  # fmt: skip


def _kept(commands):
    """Those of the commands that the installed reference answers: early versions lose carriage returns."""
    reference = import_module("anthropic.lib.tools._beta_builtin_memory_tool")
    keeps = hasattr(reference, "_split_lines_keeping_cr")
    return [
        dict(one)
        for one in commands
        if keeps or not ("\r" in "".join(map(str, one.values())) or "crlf" in "".join(map(str, one.values())))
    ]


def _reply(tool, command):
    """What a model would read, and whether as an error."""
    error = import_module("anthropic.lib.tools").ToolError
    try:
        return False, tool.call(command)
    except error as err:
        return True, str(err)


@pytest.fixture
def both(tmp_path, root):
    """Ours, and the reference in a folder of its own."""
    memory = import_module("anthropic.tools.memory")
    ours = import_module("atlas.integrations.claude_memory")
    with MemoryEngine(root) as engine:
        yield ours.ClaudeMemoryTool(engine), memory.BetaLocalFilesystemMemoryTool(str(tmp_path / "reference"))


@agents
def test_replies_are_those_of_the_reference(both):
    ours, reference = both
    assert len(SCRIPT) >= 60
    for number, command in enumerate(_kept(SCRIPT)):
        assert _reply(ours, dict(command)) == _reply(reference, dict(command)), (number, command)


_NAMES = st.sampled_from(["a.md", "b.txt", "c", "d/e.md", "d/f.xml", "d/g/h", "d", "i/j"])
_PATHS = _NAMES.map(lambda name: f"/memories/{name}")
_WORDS = st.text(st.sampled_from("ab\n\r é猫"), max_size=12)
_COMMANDS = st.one_of(
    st.builds(_view, st.just("/memories") | _PATHS),
    st.builds(_create, _PATHS, _WORDS),
    st.builds(_create, _PATHS, _WORDS),
    st.builds(_put, _PATHS, _WORDS, _WORDS),
    st.builds(_insert, _PATHS, st.integers(-1, 4), _WORDS),
    st.builds(_delete, _PATHS),
    st.builds(_rename, _PATHS, _PATHS),
)


@agents
@settings(max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(_COMMANDS, min_size=5, max_size=12))
def test_any_sequence_has_the_replies_of_the_reference(both, commands):
    ours, reference = both
    for tool in both:
        tool.clear_all_memory()
    for command in _kept(commands):
        if command["command"] == "rename" and _reply(reference, _view(command["old_path"]))[0]:
            continue  # the reference makes a folder for a file that it then does not find
        try:
            expected = _reply(reference, dict(command))
        except OSError:  # a file where a folder is wanted: raw in the reference, a sentence here
            assert _reply(ours, dict(command))[0]
            continue
        assert _reply(ours, dict(command)) == expected, command


@agents
def test_the_asynchronous_tool_says_the_same(root, tmp_path):
    memory = import_module("anthropic.tools.memory")
    reference = memory.BetaLocalFilesystemMemoryTool(str(tmp_path / "reference"))
    error = import_module("anthropic.lib.tools").ToolError

    async def go(tool):
        for command in SCRIPT[:20]:
            try:
                found = False, await tool.call(dict(command))
            except error as err:
                found = True, str(err)
            assert found == _reply(reference, dict(command)), command
        assert await tool.clear_all_memory() == "All memory cleared"

    with MemoryEngine(root) as engine:
        asyncio.run(go(import_module("atlas.integrations.claude_memory").AsyncClaudeMemoryTool(engine)))


@agents
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({"command": "shout", "path": "/memories"}, "Unknown command"),
        ({}, "Unknown command"),
        ({"command": "create", "path": "/memories/a"}, "`file_text`"),
        ({"command": "create", "path": None, "file_text": "x"}, "`path`"),
        ({"command": "insert", "path": "/memories/a", "insert_line": "top", "insert_text": "x"}, "a number"),
        ({"command": "view", "path": "/memories", "view_range": ["a", 2]}, "two numbers"),
        ({"command": "view", "path": "/memories/.git/config"}, "hidden"),
        ({"command": "create", "path": "/memories/nul\0", "file_text": "x"}, "control|NUL"),
    ],
)
def test_what_the_library_lets_through_is_refused_in_a_sentence(both, command, said):
    failed, text = _reply(both[0], command)
    assert failed
    assert re.search(said, text), text
    assert "\n" not in text


@agents
def test_no_error_names_a_place_on_the_machine(both, root):
    (root / "memories").write_text("a file where the folder is to be\n")
    for command in (_view(), _create("/memories/a", "x"), _delete("/memories/a")):
        failed, text = _reply(both[0], command)
        assert failed
        assert str(root) not in text


# ------------------------------------------------------------------- real runs

RUN = '''
import json, sys
from importlib import import_module
import anthropic
from atlas import MemoryEngine
from atlas.integrations.claude_memory import ClaudeMemoryTool

vault, turns, question = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
web = import_module("httpx2" if hasattr(import_module("anthropic._base_client"), "httpx2") else "httpx")
asked, results = [], {}

def model(request):
    """A scripted model: each turn is a command for the memory tool; then it says what the tool answered."""
    body = json.loads(request.content)
    asked.append(body)
    blocks = [b for message in body["messages"] if isinstance(message["content"], list) for b in message["content"]]
    results.update((b["tool_use_id"], b) for b in blocks if b["type"] == "tool_result")
    turn = len(asked) - 1  # newer versions send what is new alone, so the messages cannot be counted
    if turn < len(turns):
        content = [{"type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": turns[turn]}]
    else:
        content = [{"type": "text", "text": json.dumps(list(results.values()))}]
    return web.Response(200, json={
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content,
        "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1}})

with MemoryEngine(vault, create=False, actor="claude") as engine:
    http = web.Client(transport=web.MockTransport(model))
    client = anthropic.Anthropic(api_key="none", max_retries=0, http_client=http)
    runner = client.beta.messages.tool_runner(
        model="claude", max_tokens=100, tools=[ClaudeMemoryTool(engine)],
        messages=[{"role": "user", "content": question}])
    last = runner.until_done()
assert {"type": "memory_20250818", "name": "memory"} in asked[0]["tools"]
print(last.content[0].text)
'''


def _run(vault, question, *turns):
    """The tool results of a run of the package's own loop, in a process of its own."""
    words = [sys.executable, "-W", "error", "-c", RUN, str(vault), json.dumps(turns), question]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [(block.get("is_error", False), _words(block["content"])) for block in json.loads(done.stdout)]


def _words(content):
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@agents
def test_what_one_run_remembers_the_next_one_uses(tmp_path, git):
    vault = new_vault(tmp_path / "vault")
    first = _run(
        vault, "My cat is called Minka.", _view(), _create("/memories/pets.txt", "The cat is called Minka.\n"),
        _insert("/memories/pets.txt", 1, "She is grey."), _view("/memories/../../etc/passwd"),
    )  # fmt: skip
    assert [failed for failed, _ in first] == [False, False, False, True]
    assert "/etc" not in git(vault, "log", "-p")
    second = _run(vault, "What is my cat called?", _view(), _view("/memories/pets.txt"))
    assert "/memories/pets.txt" in second[0][1]
    assert "The cat is called Minka." in second[1][1]
    assert "She is grey." in second[1][1]
    with MemoryEngine(vault) as engine:
        assert "Minka" in engine.view("what is the cat called").text
        assert [entry.actor for entry in engine.history(limit=2)] == ["claude"] * 2


def test_without_the_package_one_sentence():
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from atlas.errors import Unavailable\n"
        "try: import atlas.integrations.claude_memory\n"
        "except Unavailable as err: print(err)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert "pip install 'memory-atlas[claude]'" in done.stdout
    assert done.stdout.count("\n") == 1
