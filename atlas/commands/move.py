"""Commands that rearrange notes, links included: mv, join, split."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, outcome

if TYPE_CHECKING:
    from atlas.curating import Relinked


_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would be done.")
_reason = click.option("--reason", default="", help="Why; it stands in the commit.")


@click.command()
@click.argument("id", required=False)
@click.argument("path", required=False)
@click.option("--title", help="Give the memory this title instead of another path.")
@click.option("--rename-file", is_flag=True, help="With --title: name the file after it too.")
@click.option("--repair", is_flag=True, help="Mend the links to notes that were renamed outside Atlas.")
@_dry_run
@_reason
@json_option
@click.pass_obj
def mv(
    door: Door,
    id: str | None,
    path: str | None,
    title: str | None,
    rename_file: bool,
    repair: bool,
    dry_run: bool,
    reason: str,
    as_json: bool,
) -> int:
    """Move or rename a memory; every link to it follows.

    PATH is the new place, from the top of the vault, or from the current folder if ID is a file named from there; a
    folder if it ends in /. All is one commit, which `atlas undo` takes back. If a link cannot follow, nothing is done.
    """
    wrong = _misused(id, path, title, rename_file=rename_file, repair=repair)
    if wrong:
        raise click.UsageError(wrong)
    with door.engine() as engine:
        if repair:
            return _told(door, engine.repair_links(dry_run=dry_run, reason=reason), dry_run=dry_run, as_json=as_json)
        name = door.place(engine.config.root, str(id))
        if title is not None:
            done = engine.retitle(name, title, rename_file=rename_file, dry_run=dry_run, reason=reason)
        else:
            target = _target(engine.config.root, name != id, str(path))
            done = engine.move(name, target, dry_run=dry_run, reason=reason)
    return _told(door, done, dry_run=dry_run, as_json=as_json)


@click.command()
@click.argument("keep")
@click.argument("others", nargs=-1, required=True)
@_dry_run
@_reason
@json_option
@click.pass_obj
def join(door: Door, keep: str, others: tuple[str, ...], dry_run: bool, reason: str, as_json: bool) -> int:
    """Join memories into one; every link to them follows.

    The others become sections of KEEP and their files go; their bytes stay in history. Lists of the metadata are
    united, their titles become aliases, what else differs stands in their section. What cannot stand in one note (two
    blocks of one name, metadata that does not read) is refused, and nothing is done.
    """
    with door.engine() as engine:
        kept, *rest = (door.place(engine.config.root, name) for name in (keep, *others))
        done = engine.join(kept, rest, dry_run=dry_run, reason=reason)
    return _told(door, done, dry_run=dry_run, as_json=as_json)


@click.command()
@click.argument("id")
@click.argument("heading")
@click.option(
    "--to", "path", default="", metavar="PATH", help="Where the new memory goes; beside the old if not given."
)
@_dry_run
@_reason
@json_option
@click.pass_obj
def split(door: Door, id: str, heading: str, path: str, dry_run: bool, reason: str, as_json: bool) -> int:
    """Take a section out into a memory of its own; every link to it follows.

    A link is left in its place. The new memory says where it comes from (`derived_from`).
    """
    with door.engine() as engine:
        name = door.place(engine.config.root, id)
        done = engine.split(name, heading, path, dry_run=dry_run, reason=reason)
    return _told(door, done, dry_run=dry_run, as_json=as_json)


def _misused(id: str | None, path: str | None, title: str | None, *, rename_file: bool, repair: bool) -> str:
    """What is wrong with these words, "" if nothing is."""
    if repair:
        return "--repair takes neither ID, PATH nor --title" if id or path or title is not None else ""
    if id is None or (path is None) == (title is None):
        return "Give ID and PATH, or ID and --title, or --repair"
    return "--rename-file goes with --title" if rename_file and title is None else ""


def _target(root: Path, from_here: bool, path: str) -> str:
    """The vault's spelling of the new place."""
    if not (from_here or Path(path).is_absolute()):
        return path
    place = Path(os.path.normpath(Path.cwd() / path))
    spelled = place.relative_to(root).as_posix() if place.is_relative_to(root) else path
    return spelled + "/" if path.endswith("/") else spelled


def _told(door: Door, done: Relinked, *, dry_run: bool, as_json: bool) -> int:
    """Say what was moved and which links followed."""
    for finding in done.left:
        door.warn(f"{view.printable(finding.path)}:{finding.line}: left alone: {view.printable(finding.message)}")
    if as_json:
        emit(_report(done) | {"dry_run": dry_run})
    else:
        for old in done.joined or ([done.old] if done.new else []):
            click.echo(f"{view.printable(old)} → {view.printable(done.new)}")
        for link in done.links:
            click.echo(view.printable(f"{link.path}:{link.line}: {link.old} → {link.new}"))
        door.say(f"{view.counted(len(done.links), 'link')} {'would follow' if dry_run else 'followed'}.")
    return outcome(door, done.applied, as_json=as_json)


def _report(done: Relinked) -> dict[str, Any]:
    return {
        "moved": {"from": done.old, "to": done.new},
        "links": [{"path": link.path, "line": link.line, "from": link.old, "to": link.new} for link in done.links],
        "joined": done.joined,
        "left": done.left,
        "commit": done.applied.commit,
        "committed": done.applied.committed,
        "note": done.applied.note,
    }
