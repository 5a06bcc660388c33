"""The MCP server, asked by the official client, over stdio and over HTTP, and what keeps strangers out."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
from mcp_client import answer, failed, http_server, over_http, over_stdio, plain, said, web
from shell import command, environment, new_vault

from atlas import MemoryEngine, tokens

agents = pytest.mark.agents
PORT = "The staging database listens on port 5433."
TOOLS = {"search", "view", "show", "expand", "fetch", "why", "changed", "review", "remember", "correct", "forget"}


@pytest.fixture
def vault(tmp_path):
    return new_vault(tmp_path / "vault")


@pytest.fixture(params=["stdio", "http"])
def connect(request, vault):
    """A client of a server in a process of its own, once for each transport."""
    if request.param == "stdio":
        yield lambda: over_stdio(vault)
        return
    with http_server(vault) as served:
        yield lambda: over_http(served.url, served.token)


@agents
def test_every_tool_round_trip(connect, vault):
    async def go():
        async with connect() as session:
            listed = {tool.name: plain(tool) for tool in (await session.list_tools()).tools}
            assert listed.keys() == TOOLS

            async def call(name, **arguments):
                return answer(await session.call_tool(name, arguments))

            (stored,) = (await call("remember", text=PORT, kind="fact"))["stored"]
            id = stored["id"]
            (hit,) = (await call("search", query="which port does staging use"))["results"]
            assert {"id", "title", "url"} <= hit.keys()
            assert hit["id"] == id
            assert (await call("fetch", id=hit["id"])).keys() == {"id", "title", "text", "url", "metadata"}
            assert "5433" in (await call("view", query="staging port", budget="400"))["text"]
            shown = await call("show", id=id)
            assert "5433" in (await call("expand", ids=[id]))["text"]
            assert [entry["op"] for entry in (await call("why", id=id))["entries"]] == ["ingest"]
            right = await call(
                "correct", id=id, correction="The staging database listens on port 5434.",
                expected_version=shown["version"],
            )  # fmt: skip
            refused = await session.call_tool("correct", {"id": id, "expected_version": shown["version"]})
            now = (await call("show", id=id))["version"]
            assert failed(refused)
            assert now in said(refused)
            steps = (await call("forget", ids=[right["corrected_by"]], dry_run=True))["steps"]
            assert steps[0]["from"] == "L2"
            assert (await call("forget", ids=[right["corrected_by"]]))["commit"]
            assert {e["op"] for e in (await call("changed", since="1 hour ago"))["entries"]} >= {"ingest", "feedback"}
            assert "5433" in (await call("show", id=id, as_of="now"))["text"]
            assert (await call("review"))["waiting"] == []
            await call("remember", text='["what the kestrel", "eats"]')
            assert '["what the kestrel"' in (await call("search", query="what the kestrel eats"))["results"][0]["text"]

    asyncio.run(go())
    with MemoryEngine(vault) as engine:
        assert engine.history(limit=1)[0].actor == "mcp"


@agents
def test_errors_are_tool_errors_of_one_sentence(connect):
    asked = [
        ("show", {"id": "nothing-of-it"}, "No memory is called"),
        ("show", {}, "wants 'id'"),
        ("search", {"query": "x", "k": 1000}, "from 1 to 50"),
        ("search", {"query": 5}, "to be text"),
        ("search", {"query": "x", "as_of": "the day before the flood"}, "No revision"),
        ("remember", {}, "either a text or messages"),
        ("remember", {"text": "aws_secret_access_key = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'"}, "secret"),
        ("correct", {"id": "x", "expected_versoin": "y"}, "has no argument 'expected_versoin'"),
        ("expand", {"ids": ["../../etc/passwd"]}, "No memory"),
        ("no-such-tool", {}, "no-such-tool"),
    ]

    async def go():
        async with connect() as session:
            for name, arguments, sentence in asked:
                result = await session.call_tool(name, arguments)
                assert failed(result), name
                assert sentence in said(result), said(result)
                assert "Traceback" not in said(result)
                assert "\n" not in said(result).strip()
            assert not failed(await session.call_tool("search", {"query": "still there"}))

    asyncio.run(go())


@agents
def test_a_hundred_calls_at_once(connect, vault):
    async def go():
        async with connect() as session:
            calls = [
                session.call_tool("remember", {"text": f"Valve number {n} was replaced in June."})
                if n % 5 == 0
                else session.call_tool("search", {"query": f"valve number {n}"})
                for n in range(100)
            ]
            return await asyncio.gather(*calls)

    results = asyncio.run(go())
    stored = [answer(result)["stored"][0]["id"] for result in results[::5]]
    assert not [said(result) for result in results if failed(result)]
    with MemoryEngine(vault) as engine:
        assert {engine.expand(id).id for id in stored} == set(stored)
        assert len(engine.history(limit=200)) == 20 + 1


@agents
def test_what_one_process_remembers_the_next_one_finds(vault):
    async def remember():
        async with over_stdio(vault) as session:
            return answer(await session.call_tool("remember", {"text": PORT}))["stored"][0]["id"]

    async def find(id):
        async with over_stdio(vault) as session:
            hits = answer(await session.call_tool("search", {"query": "port of the staging database"}))["results"]
            resources = [str(one.uri) for one in (await session.list_resources()).resources]
            (content,) = (await session.read_resource(resources[0])).contents
            templates = plain(await session.list_resource_templates())["resourceTemplates"]
            recall = (await session.get_prompt("recall", {"question": "Which port?"})).messages[0].content.text
            names = [prompt.name for prompt in (await session.list_prompts()).prompts]
            assert hits[0]["id"] == id
            assert resources == [f"memory://{id}"]
            assert "5433" in content.text
            assert content.text.startswith("<memory-")
            assert [template["uriTemplate"] for template in templates] == ["memory://{id}"]
            assert recall.startswith("Which port?")
            assert "5433" in recall
            assert names == ["recall", "remember_decisions"]

    asyncio.run(find(asyncio.run(remember())))


@agents
def test_a_reader_sees_no_tool_that_writes_and_a_scope_holds(vault):
    with MemoryEngine(vault) as engine:
        engine.ingest("The heron is in the other team's vault.", scope="other/")
        kept = engine.ingest("The team meets on Mondays.", scope="team/")[0]
        other = engine.recent(kind=["fact", "note", "episode"])

    async def go():
        async with over_stdio(vault, "--scope", "team/", "--read-only") as session:
            assert {tool.name for tool in (await session.list_tools()).tools} == TOOLS - {
                "remember", "correct", "forget"}  # fmt: skip
            assert [prompt.name for prompt in (await session.list_prompts()).prompts] == ["recall"]
            assert [str(one.uri) for one in (await session.list_resources()).resources] == [f"memory://{kept}"]
            assert answer(await session.call_tool("search", {"query": "heron"}))["results"] == []
            for one in other:
                reached = await session.call_tool("fetch", {"id": one.id})
                assert failed(reached) == (one.id != kept)
            assert failed(await session.call_tool("remember", {"text": PORT}))

    asyncio.run(go())


@agents
def test_each_client_has_views_of_its_own(vault):
    with MemoryEngine(vault) as engine:
        engine.ingest(PORT)

    async def go():
        for name in ("one", "two"):
            async with over_stdio(vault, client=name) as session:
                answer(await session.call_tool("view", {"query": "staging"}))

    asyncio.run(go())
    with MemoryEngine(vault) as engine:
        assert {"mcp-one", "mcp-two"} <= {one["session"] for one in engine.stats()["cache"]["sessions"]}


# ------------------------------------------------------------------- the token


@agents
def test_over_http_only_a_token_gets_in(vault):
    async def go(served):
        async with web().AsyncClient(timeout=30) as client:

            async def status(**headers):
                sent = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
                return (await client.post(served.url, headers=sent, content=json.dumps(_hello()))).status_code

            well = {"authorization": f"Bearer {served.token}"}
            assert await status(**well) == 200
            assert await status(authorization=f"bearer  {served.token}") == 200
            assert await status() == 401
            # Before anything else, and whether or not the library looks as well.
            assert await status(host="evil.test") == 421
            assert await status(origin="http://evil.test") == 403
            for wrong in ("Bearer", f"Bearer {served.token}x", f"Basic {served.token}", served.token):
                assert await status(authorization=wrong) == 401
            assert await status(**well, host="evil.test") == 421
            assert await status(**well, host="127.0.0.1.evil.test") == 421
            for page in ("http://evil.test", "null", "http://localhost.evil.test", "http://localhost@evil.test"):
                assert await status(**well, origin=page) == 403
            port = served.url.split(":")[2].split("/")[0]
            assert await status(**well, origin=f"http://localhost:{port}", host=f"localhost:{port}") == 200

    with http_server(vault) as served:
        assert served.url.startswith("http://127.0.0.1:")
        asyncio.run(go(served))


def _hello():
    return {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip


@agents
def test_each_token_has_its_scope_and_its_sessions(vault, tmp_path):
    file = tmp_path / "tokens.toml"
    file.write_text(
        '[ada]\ntoken = "ada-ada-ada-ada-ada"\nscope = "team/"\n'
        '[bo]\ntoken = "bo-bo-bo-bo-bo-bo-bo"\nread_only = true\n'
    )
    file.chmod(0o600)

    async def go(url):
        async with over_http(url, "ada-ada-ada-ada-ada") as ada, over_http(url, "bo-bo-bo-bo-bo-bo-bo") as bo:
            (stored,) = answer(await ada.call_tool("remember", {"text": PORT}))["stored"]
            assert stored["path"].startswith("team/")
            assert answer(await bo.call_tool("fetch", {"id": stored["id"]}))["id"] == stored["id"]
            assert failed(await bo.call_tool("remember", {"text": "Bo writes."}))
        async with web().AsyncClient(timeout=30) as client:
            sent = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            mine = sent | {"authorization": "Bearer ada-ada-ada-ada-ada"}
            begun = await client.post(url, headers=mine, content=json.dumps(_hello()))
            session = {"mcp-session-id": begun.headers["mcp-session-id"]}
            listing = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
            theirs = sent | {"authorization": "Bearer bo-bo-bo-bo-bo-bo-bo"} | session
            assert (await client.post(url, headers=theirs, content=listing)).status_code in {400, 404}
            assert (await client.post(url, headers=mine | session, content=listing)).status_code == 200

    with http_server(vault, "--tokens", str(file)) as served:
        asyncio.run(go(served.url))
    with MemoryEngine(vault) as engine:
        assert engine.history(limit=1)[0].actor == "ada"


# ------------------------------------------------------------------- the shape


@agents
def test_tools_and_descriptions_are_short(engine, root):
    from atlas.integrations import mcp

    async def listed():
        made = mcp.server(engine)
        return [plain(tool) for tool in await made.list_tools()], made.instructions

    tools, instructions = asyncio.run(listed())
    text = json.dumps({"tools": tools}, ensure_ascii=False, separators=(",", ":"))
    tokenizer = tokens.load("", root)
    assert tokenizer.count(text) < 2000
    assert tokenizer.count(instructions) < 250
    hints = {tool["name"]: tool["annotations"] for tool in tools}
    assert {name for name, one in hints.items() if not one["readOnlyHint"]} == {"remember", "correct", "forget"}
    assert {name for name, one in hints.items() if one["destructiveHint"]} == {"correct", "forget"}
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)
    assert tools[0]["inputSchema"]["required"] == ["query"]


@agents
def test_stdout_carries_the_protocol_alone(vault):
    lines = [
        _hello(),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "remember", "arguments": {"text": PORT}},
        },
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "show", "arguments": {"id": "none"}}},
        "no JSON at all",
    ]
    sent = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    started = command("--vault", str(vault), "mcp")
    with subprocess.Popen(started, env=environment(), stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(sent)
        process.stdin.flush()
        answered: set[object] = set()
        while not {1, 2, 3} <= answered:
            found = json.loads(process.stdout.readline())
            assert found["jsonrpc"] == "2.0"
            answered.add(found.get("id"))
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "did not foresee" not in err


def test_without_the_library_one_sentence(vault):
    code = "import sys; sys.modules['mcp'] = None; from atlas.commands import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "--vault", str(vault), "mcp"],
        env=environment(), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "pip install 'memory-atlas[mcp]'" in done.stderr
