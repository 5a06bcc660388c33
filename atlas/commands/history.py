"""Commands about history: log, why, changed, undo, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atlas.memory import Applied, Entry


def _show(door: Door, entries: Sequence[Entry], as_json: bool) -> int:
    if as_json:
        emit({"entries": entries})
    elif entries:
        click.echo(view.entries(entries))
    else:
        door.say("No commit touched a memory.")
    return 0


@click.command()
@click.argument("id", required=False)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="At most this many entries.")
@json_option
@click.pass_obj
def log(door: Door, id: str | None, limit: int, as_json: bool) -> int:
    """Show the history of the vault or of one memory, newest first.

    ID may be an id or its first or last letters, a path, a title or an alias; the memory may be gone by now.
    """
    with door.engine() as engine:
        name = id and door.place(engine.config.root, id)
        return _show(door, engine.history(name, limit=limit), as_json)


@click.command()
@click.argument("id")
@json_option
@click.pass_obj
def why(door: Door, id: str, as_json: bool) -> int:
    """Show why a memory is as it is: the commits that made it so.

    Each with its time, reason, actor and policy, newest first.
    """
    with door.engine() as engine:
        return _show(door, engine.history(door.place(engine.config.root, id), limit=1000), as_json)


@click.command()
@click.option("--since", required=True, metavar="WHEN", help="A date, '2 weeks ago', or a commit.")
@json_option
@click.pass_obj
def changed(door: Door, since: str, as_json: bool) -> int:
    """Show what changed since a date or a commit."""
    with door.engine() as engine:
        return _show(door, engine.changed(since), as_json)


def _outcome(door: Door, applied: Applied, restored: Sequence[str], as_json: bool) -> int:
    if as_json:
        emit({"commit": applied.commit, "restored": restored, "committed": applied.committed, "note": applied.note})
    else:
        for path in applied.paths:
            click.echo(path)
    return outcome(door, applied, as_json=as_json)


@click.command()
@click.argument("commit", required=False)
@click.option("--only", multiple=True, metavar="ID", help="Only what it did to this memory; can be given again.")
@json_option
@click.pass_obj
def undo(door: Door, commit: str | None, only: tuple[str, ...], as_json: bool) -> int:
    """Revert a commit of Atlas by a new commit.

    Without COMMIT, it is the last one that is not undone yet. Lines changed since are kept; if both touch the same
    ones, nothing is done and Git says where.
    """
    with door.engine() as engine:
        applied, restored = engine.undo(commit, only=only)
    return _outcome(door, applied, restored, as_json)


@click.command()
@click.argument("id")
@json_option
@click.pass_obj
def restore(door: Door, id: str, as_json: bool) -> int:
    """Bring a memory, or its detail, back from history.

    A memory that is gone comes back as it last was, or, if it was forgotten, with all it ever held; one that is here
    gets the fullest text it ever had, and what was edited since is kept.
    """
    with door.engine() as engine:
        applied, restored = engine.restore(id)
    return _outcome(door, applied, restored, as_json)
