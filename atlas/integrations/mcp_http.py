"""The MCP server over HTTP, on this machine alone.

It listens on the loopback address only. A web page in a browser on this machine can send requests there, too, so every
request has to name a loopback host (which a rebound DNS name does not), come from no foreign page, and bear a token.
Each token has a server of its own with the engine of its scope: a session made with one is not there for another.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from atlas.engine import MemoryEngine
from atlas.errors import Unavailable
from atlas.integrations.mcp import AtlasServer, server
from atlas.integrations.mcp_tokens import Credential, allowed

HOST = "127.0.0.1"
PATH = "/mcp"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_BEARER = "bearer "

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]


class Gate:
    """What every request passes: an ASGI application in front of one for each credential."""

    def __init__(self, apps: Mapping[Credential, Any]) -> None:
        self._apps = apps

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, or live through the server's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            await receive()
            for app in self._apps.values():
                await stack.enter_async_context(app.router.lifespan_context(app))
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not is_local(f"//{headers.get('host', '')}"):
            await _refuse(send, 421, "This server answers to its loopback address only.")
        elif headers.get("origin") and not is_local(headers["origin"]):
            await _refuse(send, 403, "Pages from elsewhere have no access.")
        else:
            found = allowed(_token(headers), tuple(self._apps))
            if found is None:
                await _refuse(send, 401, "A bearer token is wanted; `atlas mcp --http` prints one.")
            else:
                await self._apps[found](scope, receive, send)


def is_local(address: str) -> bool:
    """Whether an origin, or `//` and a host, is this machine's loopback.

    >>> [is_local(a) for a in ("http://localhost:7", "//[::1]:7", "//127.0.0.1.evil.test", "null", "//")]
    [True, True, False, False, False]
    """
    try:
        found = urlsplit(address)
    except ValueError:
        return False
    return found.hostname in _LOOPBACK and found.scheme in ("", "http", "https") and found.username is None


def _token(headers: Mapping[str, str]) -> str:
    given = headers.get("authorization", "")
    return given[len(_BEARER) :].strip() if given.lower().startswith(_BEARER) else ""


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"error": why}).encode()})


def application(engines: Iterable[tuple[Credential, MemoryEngine]], *, session: str = "mcp") -> Gate:
    """The application for these credentials, each with the engine of its scope."""
    return Gate(
        {who: _app(server(engine, session=f"{session}-{who.name}", read_only=who.read_only)) for who, engine in engines}
    )


def _app(made: AtlasServer) -> Any:
    """The library's own application. It looks at Host and Origin as well, by the library's defaults for loopback."""
    return made.streamable_http_app()


def listen(port: int) -> socket.socket:
    """The socket to serve on; port 0 takes any free one. Raises Unavailable."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(128)  # whoever reads the address connects at once, and waits until the server is up
    except OSError as err:
        found.close()
        raise Unavailable(f"Port {port} cannot be had ({err.strerror}): name another with --port.") from None
    return found


def run(gate: Gate, listening: socket.socket) -> None:
    """Serve until interrupted."""
    uvicorn = import_module("uvicorn")
    config = uvicorn.Config(gate, log_level="warning", lifespan="on", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listening])
