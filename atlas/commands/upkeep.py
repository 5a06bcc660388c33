"""Commands that keep a vault in order: maintain, eval."""

from __future__ import annotations

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be changed, and change nothing.")
@click.option("--all", "all_tasks", is_flag=True, help="Ask every task, also those that had nothing to do.")
@click.option("--yes", is_flag=True, help="Also do what would stop and ask.")
@json_option
@click.pass_obj
def maintain(door: Door, dry_run: bool, all_tasks: bool, yes: bool, as_json: bool) -> int:
    """Run the upkeep that is due, each task as a commit.

    Hub notes: every cluster of three memories or more has a page of links, clusters/NAME.md. A commit of upkeep is
    undone like any other, by `atlas undo COMMIT`.
    """
    with door.engine(actor="upkeep") as engine:
        ran = engine.maintain(dry_run=dry_run, all_tasks=all_tasks, yes=yes)
    if as_json:
        emit({"ran": [{"task": r.task, "commit": r.commit, "changed": r.changed, "note": r.note} for r in ran]})
        return 0
    for task in ran:
        for path in task.changed:
            click.echo(f"{task.task}: {view.printable(path)}")
        door.say(
            f"{task.task}: {task.note or (f'committed {task.commit[:9]}' if task.commit else 'nothing changed yet')}"
        )
    if not ran:
        door.say("Nothing is due.")
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
