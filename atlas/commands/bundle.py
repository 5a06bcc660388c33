"""Commands that carry memories in and out: export, import."""

from __future__ import annotations

from pathlib import Path

import click

from atlas.commands._door import EXIT_NOT_COMMITTED, Door, emit, json_option


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--scope", help="Only below this folder of the vault.")
@json_option
@click.pass_obj
def export(door: Door, file: Path, scope: str | None, as_json: bool) -> int:
    """Write all memories, byte for byte, to a JSON bundle."""
    with door.engine() as engine:
        count = engine.export_memories(file, scope=scope)
    if as_json:
        emit({"exported": count, "file": file})
    else:
        click.echo(f"{count} memories written to {file}")
    return 0


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--mode", type=click.Choice(["merge", "overwrite"]), default="merge", show_default=True,
              help="merge leaves memories that are here alone; overwrite replaces those of the same id or path.")  # fmt: skip
@click.option("--from", "source", type=click.Choice(["bundle"]), default="bundle", show_default=True, help="The format.")
@json_option
@click.pass_obj
def import_(door: Door, file: Path, mode: str, source: str, as_json: bool) -> int:
    """Read memories from a JSON bundle, in one commit."""
    with door.engine() as engine:
        done = engine.import_memories(file, mode=mode)
    if as_json:
        emit({"imported": done.imported, "skipped": done.skipped, "commit": done.applied.commit})
    else:
        for skipped in done.skipped:
            door.say(f"{skipped.path}: skipped: {skipped.message}")
        click.echo(f"{done.imported} memories imported, {len(done.skipped)} skipped")
    if done.imported and not done.applied.committed:
        door.say(f"Saved, not committed: {done.applied.note}")
        return EXIT_NOT_COMMITTED
    return 0
