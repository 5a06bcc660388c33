"""The command that erases a memory: purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option

if TYPE_CHECKING:
    from atlas.receipt import Receipt


@click.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do it. Without this, say what would be done, and exit with 1.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and exit with 0.")
@click.option(
    "--with-derived", is_flag=True, help="Purge what was derived from it too, such as summaries that quote it."
)
@json_option
@click.pass_obj
def purge(door: Door, id: str, yes: bool, dry_run: bool, with_derived: bool, as_json: bool) -> int:
    """Erase a memory from the folder, from all of history and from every cache, and prove it.

    ID may also name a memory that is archived or in history alone. Commits that held it, and those after them, get new
    ids. No `undo` brings it back. A receipt names every place as gone, found or not proven. Exits 1 if a place that was
    looked at still holds it.
    """
    from atlas.receipt import plain

    with door.engine() as engine:
        name = door.place(engine.config.root, id)
        made = engine.purge(name, yes=yes, dry_run=dry_run, with_derived=with_derived)
    if as_json:
        emit(plain(made))
    else:
        _show(door, made)
    return 0 if made.clean or dry_run else 1


def _show(door: Door, made: Receipt) -> None:
    for path in made.paths:
        click.echo(f"purge: {view.printable(path)}")
    moved = [
        f"{view.counted(made.count(prefix), noun)}"
        for prefix, noun in (("refs/heads/", "branch"), ("refs/tags/", "tag"), ("refs/remotes/", "remote branch"))
        if made.count(prefix)
    ]
    parts = [
        view.counted(made.commits, "commit"),
        *moved,
        *([view.counted(made.stashes, "stash")] if made.stashes else []),
    ]
    verb = "were" if made.done else "would be"
    door.say(f"{view.counted(len(made.blobs), 'version')} in history; rewritten {verb} {', '.join(parts)}.")
    if made.signatures:
        door.say(f"{view.counted(made.signatures, 'signature')} {verb} lost, of commits and tags that are rewritten.")
    for quote in made.quoted:
        advice = "derived from it: purge or edit that one too, or use --with-derived" if quote.derived else "stays"
        door.say(f"Also said by {view.printable(quote.path)} ({view.counted(quote.runs, 'run')} of words; {advice}).")
    if not made.done:
        door.say("Nothing was done: add --yes to do it. No undo brings it back.")
        return
    click.echo(
        view.table(("place", "state", "what"), [(p.name, p.state, view.printable(p.detail)) for p in made.places])
    )
    door.say(f"Receipt: {made.file}")
