"""Command that forgets: forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, outcome
from atlas.config import FORGET_POLICIES

if TYPE_CHECKING:
    from atlas.judging import Forgotten
    from atlas.planning import Row

_COLUMNS = ("memory", "from", "to", "activity", "importance", "days", "reads", "half-life", "reason")


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--policy", type=click.Choice(FORGET_POLICIES), help="How memories fade; else what atlas.toml says.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many, the least active first.")
@click.option("--dry-run", is_flag=True, help="Print the plan and what it was reckoned from, and change nothing.")
@click.option("--yes", is_flag=True, help="Go on where a run would stop and ask.")
@json_option
@click.pass_obj
def forget(
    door: Door, ids: tuple[str, ...], policy: str | None, limit: int | None, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Let the least active memories, or those named, step down one rung, in one commit.

    The rungs: everything, label and summary, the label (in archive/), a tombstone. What is new, pinned or has no date
    stays, what others link to keeps its summary, and what a person wrote is left alone unless forget.folders opts its
    folder in. Memories that are named step down however active they are. `atlas undo` takes a run back.
    """
    if ids and limit:
        raise click.UsageError("--limit goes without ID")
    with door.engine(actor=None if ids else "upkeep") as engine:
        names = [door.place(engine.config.root, name) for name in ids]
        done = engine.forget(names, policy=policy, limit=limit, dry_run=dry_run, yes=yes)
    return _told(door, done, dry_run=dry_run, as_json=as_json)


def _told(door: Door, done: Forgotten, *, dry_run: bool, as_json: bool) -> int:
    """Say what was forgotten, or would be, and why a run stopped."""
    if as_json:
        emit(_report(done))
    elif done.plan:
        click.echo(view.table(_COLUMNS, map(_cells, done.plan)))
    for path in done.left:
        door.warn(f"{view.printable(path)}: left alone, edited meanwhile")
    for note in done.notes:
        door.say(note)
    if done.stops:
        door.warn(done.stops)
        return 0 if dry_run else 1
    if not done.plan:
        door.say("Nothing is to be forgotten now.")
    elif dry_run:
        door.say(f"{view.counted(len(done.plan), 'memory')} would step down.")
    return outcome(door, done.applied, as_json=as_json)


def _cells(row: Row) -> tuple[Any, ...]:
    found = row.inputs
    numbers = (f"{float(found[key]):.{places}f}" for key, places in (("activity", 3), ("importance", 2), ("days", 0)))
    return (view.printable(row.path), row.was, row.to, *numbers, found["accesses"], found["half_life"], row.reason)


def _report(done: Forgotten) -> dict[str, Any]:
    rows = [
        {"id": r.id, "path": r.path, "from": r.was, "to": r.to, "reason": r.reason, **r.inputs} for r in done.plan
    ]  # fmt: skip
    return {
        "plan": rows,
        "commit": done.applied.commit,
        "committed": done.applied.committed,
        "note": done.applied.note,
        "stops": done.stops,
        "left": done.left,
        "notes": done.notes,
    }
