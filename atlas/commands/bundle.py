"""Commands that carry memories in and out: export, import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, outcome, progress

if TYPE_CHECKING:
    from atlas.intake import Report

#: The formats of `--from`, as `importers.READERS` has them; a test says when one is missing.
SOURCES = (
    *(
        "auto",
        "bundle",
        "chatgpt",
        "claude",
        "mem0",
        "json",
        "letta",
        "basic-memory",
        "logseq",
        "csv",
        "jsonl",
        "folder",
    ),
)
_NAMED_OF_ONE = 3


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    type=click.Choice(["bundle", "json", "markdown"]),
    default="bundle",
    show_default=True,
    help="bundle: byte for byte, for another vault; json: plain records, for any program; markdown: the files, "
    "in a new folder or a .zip.",
)
@click.option("--scope", help="Only below this folder of the vault.")
@json_option
@click.pass_obj
def export(door: Door, file: Path, format: str, scope: str | None, as_json: bool) -> int:
    """Write memories to a bundle, to plain JSON or to Markdown files.

    FILE gets every memory, with its id and path. A file that is there is replaced; a folder with files in it is not.
    """
    if not file.absolute().parent.is_dir():
        raise click.UsageError(f"There is no folder {file.parent} to write {file.name} into")
    if file.is_dir() and format != "markdown":
        raise click.UsageError(f"{file} is a folder; name a file")
    with door.engine() as engine:
        count = engine.export_memories(file, format=format, scope=scope)
    if as_json:
        emit({"exported": count, "file": file, "format": format})
    else:
        click.echo(f"{view.counted(count, 'memory')} written to {file}")
    return 0


@click.command("import")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--from", "source", type=click.Choice(SOURCES), default="auto", show_default=True,
              help="The format of FILE; told by its content if not said.")  # fmt: skip
@click.option(
    "--mode",
    type=click.Choice(["merge", "overwrite"]),
    default="merge",
    show_default=True,
    help="merge leaves what is here alone; overwrite replaces memories of the same id, source or path.",
)
@click.option("--scope", help="The folder of the vault to store below.")
@click.option("--map", "columns", metavar="FIELD=COLUMN", multiple=True,
              help="Which column of a table or record has the text, label, kind, tags, created, id, source, importance "
              "or valid_from (repeatable).")  # fmt: skip
@click.option("--untrusted", is_flag=True, help="Mark all of it as untrusted, and nothing as pinned.")
@click.option("--dry-run", is_flag=True, help="Only say what would be imported; nothing is written.")
@json_option
@click.pass_obj
def import_(
    door: Door,
    file: Path,
    source: str,
    mode: str,
    scope: str | None,
    columns: tuple[str, ...],
    untrusted: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Read memories from a bundle, a chat export, another tool or a folder.

    FILE is a file, a zip archive or a folder: of another vault, ChatGPT, Claude, mem0, basic-memory, Letta, Obsidian or
    Logseq, or any list in JSON, CSV or TSV. What is here already is skipped, so an export can be imported again when it
    has grown; what is left out is named with the reason. Nothing is ever deleted.
    """
    with door.engine() as engine, progress(door, "Importing") as bar:
        done = engine.import_memories(
            file, mode=mode, source=source, scope=scope, columns=_columns(columns), untrusted=untrusted,
            dry_run=dry_run, progress=bar,
        )  # fmt: skip
    if as_json:
        skipped = [{"path": f.path, "line": f.line, "reason": f.message} for f in done.skipped]
        emit({"imported": done.imported, "skipped": skipped, "commit": done.applied.commit, "report": done.report,
              "dry_run": dry_run})  # fmt: skip
    else:
        _say(door, done.report)
        would = " would be" if dry_run else ""
        click.echo(f"{view.counted(done.imported, 'memory')}{would} imported, {len(done.skipped)} skipped")
    return outcome(door, done.applied, as_json=as_json)


def _columns(given: Sequence[str]) -> dict[str, str]:
    """FIELD=COLUMN pairs; raises click.UsageError for what is none."""
    pairs = [one.partition("=") for one in given]
    wrong = next((one for one, (name, _, column) in zip(given, pairs, strict=True) if not (name and column)), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong!r} is no FIELD=COLUMN, such as text=body")
    return {name: column for name, _, column in pairs}


def _say(door: Door, report: Report) -> None:
    """What was met and what was left out, grouped: there may be thousands."""
    if report.source != "bundle":
        door.say(f"Read as {report.source}: {view.counted(report.found, 'record')}.")
    door.say(f"{view.counted(report.here, 'memory')} here already." if report.here else "")
    for one in report.left_out:
        named = ", ".join(view.printable(name) for name in one.named)
        more = f" and {one.count - len(one.named):,} more" if one.count > len(one.named) else ""
        word = "left out" if one.kept else "skipped"
        door.warn(f"{named}{more}: {word}: {one.reason}")
