"""Command that serves agents: mcp."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atlas.commands._door import Door
from atlas.errors import UsageError

if TYPE_CHECKING:
    from atlas.engine import MemoryEngine

_PORT = 7437


@click.command()
@click.option("--http", is_flag=True, help="Over HTTP on the loopback address, instead of stdin and stdout.")
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True,
              help="The port for --http; 0 takes any free one.")  # fmt: skip
@click.option("--tokens", metavar="FILE", envvar="ATLAS_TOKENS", type=click.Path(dir_okay=False, path_type=Path),
              help="Who may come in over HTTP, and how far; else ATLAS_TOKENS, else a new token.")  # fmt: skip
@click.option(
    "--scope", envvar="ATLAS_SCOPE", default="", help="The one folder of the vault to serve; else ATLAS_SCOPE."
)
@click.option("--actor", envvar="ATLAS_ACTOR", default="mcp", help="Who makes the changes; else ATLAS_ACTOR.")
@click.option("--read-only", is_flag=True, help="No tool that writes.")
@click.option("--session", default="mcp", show_default=True, metavar="NAME", help="The conversation views go on from.")
@click.pass_obj
def mcp(
    door: Door, http: bool, port: int, tokens: Path | None, scope: str, actor: str, read_only: bool, session: str
) -> int:
    """Serve the memory to agents by the Model Context Protocol.

    One client on stdin and stdout, or, with --http, any number that bear a token. The scope is a capability: a client
    finds, reads and writes nothing outside of it.
    """
    rights = {"scope": scope, "actor": actor, "read_only": read_only}
    with ExitStack() as opened:
        if http:
            return _http(door, opened, port, tokens, rights, session)
        serve = import_module("atlas.integrations.mcp").run
        serve(_engine(door, opened, scope, actor), session=session, read_only=read_only)
    return 0


def _http(door: Door, opened: ExitStack, port: int, tokens: Path | None, rights: dict[str, Any], session: str) -> int:
    from atlas.config import choose_vault

    service = import_module("atlas.integrations.mcp_http")
    known = import_module("atlas.integrations.mcp_tokens")
    if tokens and (rights["scope"] or rights["read_only"]):
        raise UsageError("With --tokens, each token has its scope and rights: leave out --scope and --read-only.")
    token = ""
    if tokens:
        credentials = known.load(tokens, choose_vault(door.vault))
    else:
        token, once = known.fresh(**rights)
        credentials = (once,)
    pairs = [(who, _engine(door, opened, who.scope, who.actor)) for who in credentials]
    gate = service.application(pairs, session=session)
    listening = opened.enter_context(service.listen(port))
    door.warn(f"Serving on http://{service.HOST}:{listening.getsockname()[1]}{service.PATH}")
    if token:
        door.warn(f"Authorization: Bearer {token}")
    service.run(gate, listening)
    return 0


def _engine(door: Door, opened: ExitStack, scope: str, actor: str) -> MemoryEngine:
    """A resident engine, closed with the server."""
    from atlas.config import choose_vault
    from atlas.engine import MemoryEngine

    return opened.enter_context(
        MemoryEngine(choose_vault(door.vault), create=False, scope=scope or None, actor=actor or None)
    )
