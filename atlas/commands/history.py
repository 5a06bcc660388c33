"""Commands about history: log, why, changed, undo, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from atlas import view
from atlas.commands._door import EXIT_NOT_COMMITTED, Door, emit, json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atlas.memory import Applied, Entry


def _show(entries: Sequence[Entry], as_json: bool) -> int:
    if as_json:
        emit({"entries": entries})
    elif entries:
        click.echo(view.entries(entries))
    return 0


@click.command()
@click.argument("id", required=False)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="At most this many entries.")
@json_option
@click.pass_obj
def log(door: Door, id: str | None, limit: int, as_json: bool) -> int:
    """Show the history of the vault or of one memory, newest first."""
    with door.engine() as engine:
        return _show(engine.history(id, limit=limit), as_json)


@click.command()
@click.argument("id")
@json_option
@click.pass_obj
def why(door: Door, id: str, as_json: bool) -> int:
    """Show why a memory is as it is: the commits that made it so, with reason, actor and policy."""
    with door.engine() as engine:
        return _show(engine.history(id, limit=1000), as_json)


@click.command()
@click.option("--since", required=True, metavar="WHEN", help="A date, '2 weeks ago', or a commit.")
@json_option
@click.pass_obj
def changed(door: Door, since: str, as_json: bool) -> int:
    """Show what changed since a date or a commit."""
    with door.engine() as engine:
        return _show(engine.changed(since), as_json)


def _outcome(door: Door, applied: Applied, restored: Sequence[str], as_json: bool) -> int:
    if as_json:
        emit({"commit": applied.commit, "restored": restored, "committed": applied.committed, "note": applied.note})
    else:
        for path in applied.paths:
            click.echo(path)
        door.say(applied.note)
    return 0 if applied.committed or not applied.paths else EXIT_NOT_COMMITTED


@click.command()
@click.argument("commit", required=False)
@json_option
@click.pass_obj
def undo(door: Door, commit: str | None, as_json: bool) -> int:
    """Revert a commit of Atlas (the last one, if none is named) by a new commit."""
    with door.engine() as engine:
        applied, restored = engine.undo(commit)
    return _outcome(door, applied, restored, as_json)


@click.command()
@click.argument("id")
@json_option
@click.pass_obj
def restore(door: Door, id: str, as_json: bool) -> int:
    """Bring a memory, or the detail it has lost, back from history."""
    with door.engine() as engine:
        applied, restored = engine.restore(id)
    return _outcome(door, applied, restored, as_json)
