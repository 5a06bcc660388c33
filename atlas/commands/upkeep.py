"""Commands that keep a vault in order: maintain, duplicates, eval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, plain

if TYPE_CHECKING:
    from atlas.planning import Row
    from atlas.upkeep import Ran


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be changed, and change nothing.")
@click.option("--all", "all_tasks", is_flag=True, help="Ask every task, also those that had nothing to do.")
@click.option("--yes", is_flag=True, help="Also do what would stop and ask.")
@json_option
@click.pass_obj
def maintain(door: Door, dry_run: bool, all_tasks: bool, yes: bool, as_json: bool) -> int:
    """Run the upkeep that is due, each task as a commit.

    Tasks: count what was read, find clusters and keep their pages, rebuild summaries that are behind their texts,
    settle what contradicts itself, sum up old episodes, forget. A task that would touch too much stops and asks
    (exit 1). A commit of upkeep is undone like any other, by `atlas undo COMMIT`.
    """
    with door.engine(actor="upkeep") as engine:
        ran = engine.maintain(dry_run=dry_run, all_tasks=all_tasks, yes=yes)
    waits = any(task.stops for task in ran) and not dry_run
    if as_json:
        emit({"ran": [{**plain(task), "rows": [_row(row) for row in task.rows]} for task in ran]})
        return 1 if waits else 0
    for task in ran:
        _tell(door, task, dry_run=dry_run)
    if not ran:
        door.say("Nothing is due.")
    return 1 if waits else 0


def _tell(door: Door, task: Ran, *, dry_run: bool) -> None:
    """What a task did, or would do: its table on a dry run, else the files."""
    if dry_run and task.rows:
        inputs = list(dict.fromkeys(key for row in task.rows for key in row.inputs))
        cells = ([view.printable(r.path), r.was, r.to, *(r.inputs.get(key, "") for key in inputs), r.reason]
                 for r in task.rows)  # fmt: skip
        click.echo(f"{task.task}:\n{view.table(['memory', 'from', 'to', *inputs, 'reason'], cells)}")
    else:
        for path in task.changed:
            click.echo(f"{task.task}: {view.printable(path)}")
    if task.stops:
        door.warn(f"{task.task}: {task.stops}")
        return
    made = f"committed {task.commit[:9]}" if task.commit else "nothing changed yet"
    door.say(f"{task.task}: {task.note or made}")


def _row(row: Row) -> dict[str, Any]:
    return {"id": row.id, "path": row.path, "from": row.was, "to": row.to, "reason": row.reason, **row.inputs}


@click.command()
@json_option
@click.pass_obj
def duplicates(door: Door, as_json: bool) -> int:
    """Name pairs of memories that say nearly the same; nothing is merged.

    Those in which nothing differs come with the command that joins them. Those that differ in a number, a name, a date
    or a "not" are nearly the same and not the same: both stay.
    """
    with door.engine() as engine:
        pairs = engine.duplicates()
    if as_json:
        emit({"pairs": pairs})
        return 0
    for pair in pairs:
        here, there = view.printable(pair.a), view.printable(pair.b)
        if pair.same:
            click.echo(f"{here} and {there} say nearly the same ({pair.similarity:.2f}): atlas join {here} {there}")
        else:
            click.echo(f"{here} and {there} are not the same: {view.printable('; '.join(pair.differ))}")
    if not pairs:
        door.say("No two memories say nearly the same.")
    return 0


@click.command("eval")
@click.argument("files", nargs=-1)
@json_option
@click.pass_obj
def eval_(door: Door, files: tuple[str, ...], as_json: bool) -> int:
    """Run the vault's own checks in evals/.

    FILES name some of them. Each is a TOML file of cases: a query, and what it must find or must never return. Exits 1
    if any case fails.
    """
    with door.engine() as engine:
        verdicts = engine.evaluate([door.place(engine.config.root, name) for name in files])
    failed = [v for v in verdicts if not v.passed]
    if as_json:
        rows = [
            {"file": v.case.file, "case": v.case.number, "query": v.case.query, "failures": v.failures}
            for v in verdicts
        ]  # fmt: skip
        emit({"passed": len(verdicts) - len(failed), "failed": len(failed), "cases": rows})
    else:
        for v in failed:
            said = "; ".join(map(view.printable, v.failures))
            click.echo(f"{v.case.file}, case {v.case.number} ({view.printable(v.case.query)}): {said}")
        door.say(f"{view.counted(len(verdicts), 'case')}, {len(failed)} failed")
    return 1 if failed else 0
