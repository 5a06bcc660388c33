"""Commands that write memories: init, ingest, tag, adopt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from atlas.commands._door import EXIT_NOT_COMMITTED, Door, emit, json_option, progress, read_text
from atlas.memory import KINDS

if TYPE_CHECKING:
    from atlas.memory import Applied


@click.command()
@click.argument("dir", default=".", type=click.Path(file_okay=False, path_type=Path))
@json_option
@click.pass_obj
def init(door: Door, dir: Path, as_json: bool) -> int:
    """Make a new vault in DIR, or adopt the notes that are there.

    Adopting adds atlas.toml and lines to .gitignore and .gitattributes; no note is touched.
    """
    from atlas.engine import MemoryEngine
    from atlas.template import create

    made = create(dir)
    with MemoryEngine(made.root, create=False, resident=False) as engine, progress(door, "Indexing") as bar:
        memories = engine.refresh(progress=bar).memories
    if as_json:
        emit({"vault": made.root, "adopted": made.adopted, "memories": memories, "added": made.added, "note": made.note})
    else:
        door.say(made.note)
        click.echo(f"{'Adopted' if made.adopted else 'New vault:'} {made.root} ({memories} memories)")
    return 0


@click.command()
@click.argument("text", required=False)
@click.option("--file", metavar="F", help="Read the text from this file (- for stdin).")
@click.option("--kind", help=f"One of {', '.join(KINDS)}, or a word of your own; guessed if not given.")
@click.option("--label", help="The one-line label; drawn from the text if not given.")
@click.option("--tag", multiple=True, help="A tag (repeatable).")
@click.option("--importance", type=click.FloatRange(0, 1), help="0 to 1; judged by the text's own words if not given.")
@click.option("--scope", help="The folder of the vault to store below.")
@click.option("--source", help="Where the text comes from.")
@click.option("--valid-from", metavar="DATE", help="From when the content holds.")
@json_option
@click.pass_obj
def ingest(
    door: Door,
    text: str | None,
    file: str | None,
    kind: str | None,
    label: str | None,
    tag: tuple[str, ...],
    importance: float | None,
    scope: str | None,
    source: str | None,
    valid_from: str | None,
    as_json: bool,
) -> int:
    """Store a text as memories, in one commit."""
    content = read_text(text, file)
    with door.engine() as engine:
        stored = engine.ingest(
            content, kind=kind, label=label, tags=tag, importance=importance, scope=scope, source=source,
            valid_from=valid_from,
        )  # fmt: skip
    if as_json:
        emit(
            {
                "memories": stored.memories,
                "commit": stored.applied.commit,
                "committed": stored.applied.committed,
                "duplicates": stored.duplicates,
                "note": stored.applied.note,
            }
        )
    else:
        for memory in stored.memories:
            click.echo(f"{memory.id}  {memory.path}  {memory.label}")
        for duplicate in stored.duplicates:
            door.say(f"Already stored as {duplicate}.")
    return _outcome(door, stored.applied, as_json=as_json)


@click.command()
@click.argument("id")
@click.argument("tags", nargs=-1, required=True)
@json_option
@click.pass_obj
def tag(door: Door, id: str, tags: tuple[str, ...], as_json: bool) -> int:
    """Add tags to a memory, changing nothing else of its file."""
    with door.engine() as engine:
        applied = engine.tag(id, tags)
    return _outcome(door, applied, as_json=as_json, show=as_json)


@click.command()
@click.argument("paths", nargs=-1)
@json_option
@click.pass_obj
def adopt(door: Door, paths: tuple[str, ...], as_json: bool) -> int:
    """Write an id into the notes at PATHS that have none, or into every such note."""
    with door.engine() as engine:
        applied, refused = engine.adopt(paths)
    for finding in refused:
        door.say(f"{finding.path}:{finding.line}: left alone: {finding.message}")
    code = _outcome(door, applied, as_json=as_json, show=as_json)
    return code or (1 if refused else 0)


def _outcome(door: Door, applied: Applied, *, as_json: bool, show: bool = False) -> int:
    """Say what became of a write; the exit code of it."""
    if show:
        emit({"paths": applied.paths, "commit": applied.commit, "committed": applied.committed, "note": applied.note})
    if not applied.paths:
        return 0
    if applied.committed:
        door.say("" if as_json else f"Committed {applied.commit[:9]}.")
        door.say(applied.note)
        return 0
    door.say(f"Saved, not committed: {applied.note}")
    return EXIT_NOT_COMMITTED
