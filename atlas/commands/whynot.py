"""The command that asks a search back: why-not."""

from __future__ import annotations

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option


@click.command("why-not")
@click.argument("query")
@click.argument("id")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 1000), help="The hits that were asked for.")
@click.option("--kind", multiple=True, help="Only memories of this kind (repeatable).")
@click.option("--tag", multiple=True, help="Only memories with this tag or one below it (repeatable).")
@click.option("--cluster", multiple=True, help="Only members of this cluster (repeatable).")
@click.option("--scope", help="Only below this folder of the vault.")
@click.option("--as-of", metavar="REV", help="Rank against the vault as it was at this revision, tag or date.")
@click.option("--valid-at", metavar="DATE", help="Only what was valid at this date.")
@json_option
@click.pass_obj
def why_not(
    door: Door,
    query: str,
    id: str,
    k: int,
    kind: tuple[str, ...],
    tag: tuple[str, ...],
    cluster: tuple[str, ...],
    scope: str | None,
    as_of: str | None,
    valid_at: str | None,
    as_json: bool,
) -> int:
    """Say why a search does not return a memory.

    Gone, not indexed, filtered out, a copy of a hit, outranked (by which, and in which ranker), or too weak to be an
    answer. Give the options of that search. ID may be an id or its first letters, a path, a title or an alias.
    """
    with door.engine() as engine:
        name = door.place(engine.config.root, id)
        found = engine.why_not(
            query, name, k=k, kind=kind, tag=tag, cluster=cluster, scope=scope, as_of=as_of, valid_at=valid_at
        )
    if as_json:
        emit(found)
    else:
        click.echo(view.why_not(found))
    return 0
