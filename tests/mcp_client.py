"""The official client of MCP, on either major version of its library, talking to a server in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from shell import command, environment


@asynccontextmanager
async def over_stdio(vault: Path, *words: str, client: str = "tester") -> AsyncIterator[Any]:
    """A session with `atlas mcp` on its stdin and stdout."""
    mcp, stdio, types = (import_module(name) for name in ("mcp", "mcp.client.stdio", "mcp.types"))
    program, *rest = command("--vault", str(vault), "mcp", *words)
    asked = mcp.StdioServerParameters(command=program, args=rest, env=environment())
    who = types.Implementation(name=client, version="1")
    async with stdio.stdio_client(asked) as streams, mcp.ClientSession(*streams, client_info=who) as session:
        await session.initialize()
        yield session


@dataclass(frozen=True)
class Served:
    """An HTTP server: where it listens, the token it printed, "" where it was given some."""

    url: str
    token: str


@contextmanager
def http_server(vault: Path, *words: str) -> Iterator[Served]:
    """`atlas mcp --http` on a free port."""
    started = command("--vault", str(vault), "mcp", "--http", "--port", "0", *words)
    process = subprocess.Popen(started, env=environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        url = process.stderr.readline().split()[-1]
        yield Served(url, "" if "--tokens" in words else process.stderr.readline().split()[-1])
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


def web() -> Any:
    """The HTTP library that the client of this version takes."""
    source = import_module("mcp.client.streamable_http")
    return import_module("httpx2" if hasattr(source, "httpx2") else "httpx")


@asynccontextmanager
async def over_http(url: str, token: str) -> AsyncIterator[Any]:
    """A session with a server over streamable HTTP."""
    mcp, streaming = import_module("mcp"), import_module("mcp.client.streamable_http")
    async with (
        web().AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
        streaming.streamable_http_client(url, http_client=client) as streams,
        mcp.ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        yield session


def failed(result: Any) -> bool:
    """Whether a result is a tool error."""
    return bool(getattr(result, "is_error", getattr(result, "isError", None)))


def said(result: Any) -> str:
    """The text of a result: exactly one content."""
    (content,) = result.content
    return str(content.text)


def answer(result: Any) -> dict[str, Any]:
    """The structured answer of a call that went well; its text says the same."""
    assert not failed(result), said(result)
    found = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    assert json.loads(said(result)) == found
    return found


def plain(model: Any) -> dict[str, Any]:
    """A value of the protocol as it travels."""
    return dict(model.model_dump(mode="json", by_alias=True, exclude_none=True))


def run_child(script: str, *arguments: str) -> str:
    """What a script prints that runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
