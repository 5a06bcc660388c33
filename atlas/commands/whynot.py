"""The command that asks a search back: why-not."""

from __future__ import annotations

from typing import Any

import click

from atlas import view
from atlas.commands._door import Door, emit, filter_options, json_option


@click.command("why-not")
@click.argument("query")
@click.argument("id")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 1000), help="The hits that were asked for.")
@filter_options
@json_option
@click.pass_obj
def why_not(
    door: Door,
    /,
    query: str,
    id: str,
    k: int,
    as_json: bool,
    **filters: Any,
) -> int:
    """Say why a search does not return a memory.

    Gone, not indexed, filtered out, a copy of a hit, outranked (by which, and in which ranker), or too weak to be an
    answer. Give the options of that search. ID may be an id or its first or last letters, a path, a title or an alias.
    """
    with door.engine() as engine:
        name = door.place(engine.config.root, id)
        found = engine.why_not(query, name, k=k, **filters)
    if as_json:
        emit(found)
    else:
        click.echo(view.why_not(found))
    return 0
