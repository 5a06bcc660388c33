"""The backend of Claude's memory tool (`memory_20250818`): its files are memories of a vault.

    with MemoryEngine("./memory") as engine:
        runner = client.beta.messages.tool_runner(tools=[ClaudeMemoryTool(engine)], …)

What the commands do is `memoryfiles`; this file binds it to the classes of the package anthropic.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from atlas.engine import MemoryEngine
from atlas.errors import AtlasError, Unavailable
from atlas.memoryfiles import MemoryFiles

#: The folder of the vault, below the engine's scope, that is `/memories`.
FOLDER = "memories/agent"
#: What each command takes, and what of it may be left out.
_COMMANDS = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
_METHODS = {"str_replace": "replace"}
_NUMBERS = ("insert_line",)
_EMPTY = ("new_str",)

try:
    _memory = import_module("anthropic.tools.memory")
    _error = import_module("anthropic.lib.tools").ToolError
except (ImportError, AttributeError) as err:
    raise Unavailable(f"Claude's memory tool needs a package ({err}): pip install 'memory-atlas[claude]'.") from None


class ClaudeMemoryTool(_memory.BetaAbstractMemoryTool):  # type: ignore[name-defined]
    """The tool for `client.beta.messages.tool_runner` of a client that is not asynchronous."""

    def __init__(self, engine: MemoryEngine, *, folder: str = FOLDER, **options: Any) -> None:
        super().__init__(**options)
        self.files = engine.files(folder)

    def execute(self, command: Any) -> str:
        """Run one command; raises the library's ToolError with one sentence for the model."""
        return _run(self.files, command)

    def clear_all_memory(self) -> str:
        """Remove all files; Git keeps them."""
        return _told(self.files.clear)

    view = create = str_replace = insert = delete = rename = execute


class AsyncClaudeMemoryTool(_memory.BetaAsyncAbstractMemoryTool):  # type: ignore[name-defined]
    """The same for an asynchronous client; the vault is asked in threads."""

    def __init__(self, engine: MemoryEngine, *, folder: str = FOLDER, **options: Any) -> None:
        super().__init__(**options)
        self.files = engine.files(folder)

    async def execute(self, command: Any) -> str:
        """Run one command; raises the library's ToolError with one sentence for the model."""
        return await asyncio.to_thread(_run, self.files, command)

    async def clear_all_memory(self) -> str:
        """Remove all files; Git keeps them."""
        return await asyncio.to_thread(_told, self.files.clear)

    view = create = str_replace = insert = delete = rename = execute


def _run(files: MemoryFiles, command: Any) -> str:
    name = str(getattr(command, "command", ""))
    if name not in _COMMANDS:
        raise _error(f"Unknown command: {name}. It is one of {', '.join(_COMMANDS)}.")
    arguments = [_argument(command, name, key) for key in _COMMANDS[name]]
    if name == "view":
        arguments.append(_range(command))
    return _told(getattr(files, _METHODS.get(name, name)), *arguments)


def _argument(command: Any, name: str, key: str) -> Any:
    """One argument of its type; a model may leave it out, and the library does not look."""
    value = getattr(command, key, None)
    if value is None and key in _EMPTY:
        return ""
    wanted = int if key in _NUMBERS else str
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise _error(f"`{name}` wants `{key}`, {'a number' if wanted is int else 'a text'}.")
    return value


def _range(command: Any) -> Any:
    given = getattr(command, "view_range", None)
    if given is None or (isinstance(given, list) and all(type(number) is int for number in given)):
        return given
    raise _error("`view` wants `view_range` to be two numbers.")


def _told(call: Any, *arguments: Any) -> str:
    """What a command replies, or the library's error; where the vault lies is not the model's business."""
    try:
        return str(call(*arguments))
    except AtlasError as err:
        raise _error(str(err)) from err
    except OSError as err:
        raise _error(f"The memory folder cannot be used now: {err.strerror or 'it cannot be read'}.") from err
