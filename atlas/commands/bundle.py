"""Commands that carry memories in and out: export, import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, outcome

if TYPE_CHECKING:
    from atlas.memory import Finding


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--scope", help="Only below this folder of the vault.")
@json_option
@click.pass_obj
def export(door: Door, file: Path, scope: str | None, as_json: bool) -> int:
    """Write memories to a JSON bundle.

    FILE gets every memory byte for byte, with its id and path; a file that is there is replaced.
    """
    if not file.absolute().parent.is_dir():
        raise click.UsageError(f"There is no folder {file.parent} to write {file.name} into")
    with door.engine() as engine:
        count = engine.export_memories(file, scope=scope)
    if as_json:
        emit({"exported": count, "file": file})
    else:
        click.echo(f"{view.counted(count, 'memory')} written to {file}")
    return 0


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(["merge", "overwrite"]),
    default="merge",
    show_default=True,
    help="merge leaves what is here alone; overwrite replaces memories of the same id or path.",
)
@click.option("--from", "source", type=click.Choice(["bundle"]), default="bundle", show_default=True,
              expose_value=False, help="The format.")  # fmt: skip
@json_option
@click.pass_obj
def import_(door: Door, file: Path, mode: str, as_json: bool) -> int:
    """Read memories from a JSON bundle.

    All in one commit, byte for byte, to the paths they had. What is here already is skipped; nothing is ever deleted.
    """
    with door.engine() as engine:
        done = engine.import_memories(file, mode=mode)
    if as_json:
        skipped = [{"path": f.path, "line": f.line, "reason": f.message} for f in done.skipped]
        emit({"imported": done.imported, "skipped": skipped, "commit": done.applied.commit})
    else:
        _say_skipped(door, done.skipped)
        click.echo(f"{view.counted(done.imported, 'memory')} imported, {len(done.skipped)} skipped")
    return outcome(door, done.applied, as_json=as_json)


def _say_skipped(door: Door, skipped: Sequence[Finding]) -> None:
    """What was left out and why, the memories that are here already as a number: they may be thousands."""
    from atlas.bundle import HERE

    known = sum(1 for f in skipped if f.message == HERE)
    door.say(f"{view.counted(known, 'memory')} here already." if known else "")
    for finding in skipped:
        if finding.message != HERE:
            door.warn(f"{finding.path}: skipped: {finding.message}")
