"""The tools of an agent over the Model Context Protocol. Works with the library's versions 1.30 and up, and 2.

This file only binds: what the tools do is `toolbox`. An error of Atlas is a tool error with its one sentence; calls run
in threads, so a slow write holds up nobody.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import atlas
from atlas.engine import MemoryEngine
from atlas.errors import AtlasError, Unavailable
from atlas.guard import inline
from atlas.toolbox import INSTRUCTIONS, SCHEME, Toolbox
from atlas.toolspec import Kind, Parameter, Tool

#: How many memories stand in the list of resources.
_LISTED = 20
#: So many clients of one server are told apart by the names they give; the others share a session.
_CLIENTS = 16


def _library() -> tuple[Any, ModuleType, ModuleType, ModuleType, Any]:
    """The server class, its tools, its errors and the protocol's types, and pydantic's; raises Unavailable."""
    try:
        import_module("mcp")
        for home, name in (("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP")):
            try:
                found = import_module(home)
            except ModuleNotFoundError as err:
                if not str(err.name).startswith("mcp.server"):
                    raise
                continue
            tools, errors = (import_module(f"{home}.{part}") for part in ("tools", "exceptions"))
            return getattr(found, name), tools, errors, import_module("mcp.types"), import_module("pydantic")
    except ImportError as err:
        raise Unavailable(f"MCP needs a package that is not here ({err}): pip install 'memory-atlas[mcp]'.") from None
    raise Unavailable("This version of the package mcp is not known: pip install 'memory-atlas[mcp]'.")


_Server, _tools, _errors, _types, _pydantic = _library()


class AtlasServer(_Server):  # type: ignore[valid-type, misc]
    """A server for one opened vault and one credential; the list of resources is what was stored last."""

    atlas_engine: MemoryEngine

    async def list_resources(self) -> list[Any]:
        """The newest memories; any other is read by its id all the same."""
        found = await asyncio.to_thread(self.atlas_engine.recent, _LISTED)
        return [
            _types.Resource(uri=SCHEME + one.id, name=inline(one.label, 80) or one.id, description=one.path)
            for one in found
        ]


def server(engine: MemoryEngine, *, session: str = "mcp", read_only: bool = False) -> AtlasServer:
    """A server for this engine, which stays the caller's to close. The engine's scope is all it can reach."""
    boxes = _Boxes(engine, session, read_only)
    found = AtlasServer(
        "atlas",
        instructions=INSTRUCTIONS,
        tools=[_bound(tool, boxes) for tool in boxes.any.tools],
        log_level="WARNING",
    )
    found.atlas_engine = engine
    _name_version(found)
    _add_resources(found, boxes)
    _add_prompts(found, boxes)
    return found


def run(engine: MemoryEngine, *, session: str = "mcp", read_only: bool = False) -> None:
    """Serve one client on stdin and stdout, until it hangs up."""
    made = server(engine, session=session, read_only=read_only)
    with _streams():
        made.run("stdio")


@contextmanager
def _streams() -> Iterator[None]:
    """Streams for the library to close: one of its versions closes those it serves on, and nobody else could flush."""
    kept = sys.stdin, sys.stdout
    sys.stdin, sys.stdout = (os.fdopen(os.dup(place), mode, encoding="utf-8") for place, mode in ((0, "r"), (1, "w")))
    try:
        yield
    finally:
        sys.stdin, sys.stdout = kept


class _Boxes:
    """A toolbox for each client, so that the views of one do not go on from those of another."""

    def __init__(self, engine: MemoryEngine, session: str, read_only: bool) -> None:
        self._engine, self._session, self._read_only = engine, session, read_only
        self.any = self._made(session)
        self._named: dict[str, Toolbox] = {}
        self._making = threading.Lock()

    def of(self, client: str) -> Toolbox:
        """The toolbox of the client that calls itself so."""
        with self._making:
            if client not in self._named and client and len(self._named) < _CLIENTS:
                self._named[client] = self._made(f"{self._session}-{client}")
            return self._named.get(client, self.any)

    def _made(self, session: str) -> Toolbox:
        return Toolbox(self._engine, session=session, read_only=self._read_only)


# ----------------------------------------------------------------------- tools


def _bound(tool: Tool, boxes: _Boxes) -> Any:
    """The tool as the library knows tools. Its own check of arguments is the only one: it says what is wrong."""

    async def run(ctx: Any, **given: Any) -> dict[str, Any]:
        arguments = {name: value for name, value in given.items() if value is not None}
        return await _answered(boxes.of(_client(ctx)).call, tool.name, arguments)

    context = import_module(_Server.__module__).Context
    types = {"ctx": context, **{one.name: _annotation(one) for one in tool.parameters}, "return": dict[str, Any]}
    named = [inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=context)]
    named += [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, annotation=types[one.name], default=None)
        for one in tool.parameters
    ]
    run.__name__, run.__annotations__ = tool.name, types
    run.__signature__ = inspect.Signature(named, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    hints = _types.ToolAnnotations(
        readOnlyHint=not tool.writes,
        destructiveHint=tool.removes,
        idempotentHint=not tool.removes,
        openWorldHint=False,
    )
    made = _tools.Tool.from_function(run, name=tool.name, description=tool.about, annotations=hints)
    return made.model_copy(update={"parameters": tool.schema, "fn_metadata": _strict(made.fn_metadata)})


def _annotation(one: Parameter) -> Any:
    """A text stays a text: the library would read one that looks like JSON as what it spells."""
    return Annotated[str, _pydantic.PlainValidator(lambda value: value)] if one.kind is Kind.TEXT else Any


def _strict(found: Any) -> Any:
    """The same arguments, any other handed on to be refused: a misspelled `expected_version` must not pass as none."""

    class Given(found.arg_model):  # type: ignore[misc, name-defined, unused-ignore]
        model_config = _pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)

        def model_dump_one_level(self) -> dict[str, Any]:
            return {**super().model_dump_one_level(), **(self.model_extra or {})}

    answers = {"type": "object", "additionalProperties": True}
    return found.model_copy(update={"arg_model": Given, "output_schema": answers})


async def _answered(call: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of a call made in a thread, or a tool error that says in one sentence why there is none."""
    try:
        return await asyncio.to_thread(call, *arguments)
    except (AtlasError, OSError) as err:
        raise _errors.ToolError(_sentence(err)) from err


def _sentence(err: AtlasError | OSError) -> str:
    """What to say of an error; where the vault lies is not the model's business."""
    return str(err) if isinstance(err, AtlasError) else f"The vault cannot be used now: {err.strerror or err}."


def _client(ctx: Any) -> str:
    """The name a client gave when it connected, "" where the protocol's version has none."""
    try:
        told = getattr(ctx.session, "client_params", None)
    except ValueError:  # a tool called from Python, by no client
        return ""
    who = getattr(told, "clientInfo", None) or getattr(told, "client_info", None)
    return inline(str(getattr(who, "name", "") or ""), 40)


# ------------------------------------------------------- resources and prompts


def _add_resources(found: Any, boxes: _Boxes) -> None:
    @found.resource(SCHEME + "{id}", name="memory", description="A memory by its id.", mime_type="text/markdown")  # type: ignore[untyped-decorator, unused-ignore]
    async def memory(id: str) -> str:
        try:
            return str((await asyncio.to_thread(boxes.any.call, "fetch", {"id": id}))["text"])
        except (AtlasError, OSError) as err:
            raise _errors.ResourceError(_sentence(err)) from err


def _add_prompts(found: Any, boxes: _Boxes) -> None:
    @found.prompt(name="recall", description="Look into memory before answering.")  # type: ignore[untyped-decorator, unused-ignore]
    async def recall(question: str) -> str:
        shown = await _answered(boxes.any.call, "view", {"query": question})
        return f"{question}\n\nThis is what memory holds on it; use what applies:\n\n{shown['text'] or 'Nothing.'}"

    if any(tool.name == "remember" for tool in boxes.any.tools):

        @found.prompt(name="remember_decisions", description="Store what was decided and learned here.")  # type: ignore[untyped-decorator, unused-ignore]
        async def remember_decisions(topic: str = "") -> str:
            about = f" about {topic}" if topic else ""
            return (
                f"Go through our conversation{about} and call `remember` once for each decision with its reason, each "
                "preference that was stated, each fact that took effort to find, and each approach that worked or "
                "failed. Search first; `correct` a memory that is outdated instead of adding another. Store nothing "
                "that the code already says, and no secret. Then list what you stored."
            )


def _name_version(found: Any) -> None:
    """Say Atlas's version to clients, where the library would say its own."""
    low: Mapping[str, Any] = vars(found)
    for name in ("_lowlevel_server", "_mcp_server"):
        if name in low and hasattr(low[name], "version"):
            low[name].version = atlas.__version__
