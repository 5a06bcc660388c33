"""Commands for notes that two people, or two machines, changed: merge, and the driver Git calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from atlas.commands._door import Door, emit, json_option, outcome

if TYPE_CHECKING:
    from atlas.reconcile import Reconciled

#: Above 128, Git takes the driver for broken, gives the merge up and leaves the files as they were.
EXIT_BROKEN = 129


@click.command("merge")
@click.argument("paths", nargs=-1)
@click.option("--repair", is_flag=True, help="Rebuild both sides of marks that stand in notes, and merge them again.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@json_option
@click.pass_obj
def merge(door: Door, paths: tuple[str, ...], repair: bool, dry_run: bool, as_json: bool) -> int:
    """Merge notes that Git left in conflict, or repair marks that slipped in.

    PATHS name the notes; without them, it is all. During a merge, a rebase or a cherry-pick, notes that merge cleanly
    are staged; a note that somebody has begun to resolve is left alone. --repair commits. Exits 1 while a conflict is
    left.
    """
    with door.engine() as engine:
        named = [door.place(engine.config.root, path) for path in paths]
        done = engine.repair(named, dry_run=dry_run) if repair else engine.merge(named, dry_run=dry_run)
    if as_json:
        emit(
            {
                "merged": done.merged,
                "conflicts": done.conflicts,
                "left": done.left,
                "commit": done.applied.commit,
                "committed": done.applied.committed,
                "note": done.applied.note,
                "dry_run": dry_run,
            }
        )
    else:
        _show(door, done, dry_run=dry_run)
    code = outcome(door, done.applied, as_json=as_json) if repair else 0
    return code or (1 if done.conflicts or done.left else 0)


def _show(door: Door, done: Reconciled, *, dry_run: bool) -> None:
    from atlas import view

    for path in done.merged:
        click.echo(f"{path}: {'would be merged' if dry_run else 'merged'}")
    if done.conflicts:
        click.echo(view.findings(done.conflicts))
    for finding in done.left:
        door.warn(f"{finding.path}: left alone: {finding.message}")
    if not (done.merged or done.conflicts or done.left):
        door.say("No note is in conflict.")


# A note may be called `-x.md` or `-h.md`: nothing here is an option.
@click.command("merge-driver", hidden=True, add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("path")
@click.pass_obj
def merge_driver(door: Door, base: Path, ours: Path, theirs: Path, path: str) -> int:
    """Merge three files for Git, which names them %O %A %B %P; the result stands in %A.

    Exits 1 if there is a conflict. Needs no vault and no settings.
    """
    from atlas.merge import merge as merged
    from atlas.vault import write_elsewhere

    try:
        made = merged(base.read_bytes(), ours.read_bytes(), theirs.read_bytes(), path)
        write_elsewhere(ours, made.data)
    except OSError as err:
        door.warn(f"atlas: {path} is not merged: {err.strerror or err}.")
        return EXIT_BROKEN
    for finding in made.conflicts:
        door.say(f"atlas: {path}:{finding.line}: {finding.message}")
    return 1 if made.conflicts else 0
