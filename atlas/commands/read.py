"""Commands that only read: search, show, clusters, stats."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from atlas import view
from atlas.commands._door import Door, emit, filter_options, json_option
from atlas.errors import UsageError
from atlas.memory import Lod


@click.command()
@click.argument("query")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 1000), help="At most this many hits.")
@click.option("--mode", type=click.Choice(["fast", "fine"]), default="fast", show_default=True,
              help="fine also goes down the tree of folders and clusters, and takes longer.")  # fmt: skip
@filter_options
@click.option("--diversity", default=0.0, show_default=True, type=click.FloatRange(0, 1),
              help="Rather hits unlike each other (1) than the best alone (0).")  # fmt: skip
@click.option("--no-abstain", is_flag=True, help="Show the nearest even if none is likely to be the answer.")
@click.option("--frozen", is_flag=True, help="Look among what was forgotten, as it was when all of it was there.")
@click.option("--explain", is_flag=True, help="Show each ranker's place and score for each hit.")
@json_option
@click.pass_obj
def search(
    door: Door,
    /,
    query: str,
    k: int,
    mode: str,
    diversity: float,
    no_abstain: bool,
    frozen: bool,
    explain: bool,
    as_json: bool,
    **filters: Any,
) -> int:
    """Find memories by their words and their meaning.

    Files changed since the last time, committed or not, are found as they are now. A query that is the whole title,
    alias, file name, path or id of a memory finds that one first. A time in it, such as "last week" or "in May 2023",
    lifts what is of that time.
    """
    with door.reading() as engine:
        found = engine.search(
            query, k=k, mode=mode, diversity=diversity, abstain=not no_abstain, frozen=frozen, **filters
        )
    if as_json:
        index = {"tree": found.tree, "fresh": found.fresh}
        said = {"abstained": found.abstained, "confidence": found.confidence, "ambiguous": found.ambiguous}
        emit({"hits": found.hits, **said, "forgotten": found.forgotten, "index": index})
        return 0
    if found.hits:
        click.echo(view.hits(found.hits, explain=explain))
    else:
        door.say(
            "Nothing found."
            if found.enough
            else "Nothing found that is likely to answer this; --no-abstain shows the nearest."
        )
    door.say(view.ambiguous(found.ambiguous))
    if found.forgotten:
        one = len(found.forgotten) == 1
        match, what = ("memory matches", "it") if one else ("memories match", "them")
        back = "it" if one else "one"
        door.say(
            f"{len(found.forgotten)} forgotten {match}; --frozen shows {what}, `atlas restore ID` brings {back} back."
        )
    if explain and found.evidence:
        door.say(view.evidence(found.evidence))
    return 0


@click.command()
@click.argument("id")
@click.option("--lod", type=click.Choice([lod.value for lod in Lod], case_sensitive=False), default="L2",
              show_default=True, help="Label, summary or everything.")  # fmt: skip
@click.option("--as-of", metavar="REV", help="As it was at this revision or date.")
@json_option
@click.pass_obj
def show(door: Door, id: str, lod: str, as_of: str | None, as_json: bool) -> int:
    """Show one memory at a level of detail.

    ID may be an id or its first or last letters, a path, a title or an alias.
    """
    with door.engine() as engine:
        memory = engine.expand(door.place(engine.config.root, id), as_of=as_of)
    if as_json:
        emit(
            {
                "id": memory.id,
                "path": memory.path,
                "label": memory.label,
                "summary": memory.summary,
                "detail": memory.detail,
                "text": memory.at(Lod(lod)),
                "meta": memory.meta,
                "tags": memory.tags,
            }
        )
    else:
        click.echo(view.memory(memory, memory.at(Lod(lod))))
    return 0


@click.command()
@click.argument("name", required=False)
@click.option("--load", "does", flag_value="load",
              help="Hold all its memories ready for a session's next views, until it is unloaded.")  # fmt: skip
@click.option("--unload", "does", flag_value="unload", help="Let them go again.")
@click.option("--session", default="main", show_default=True, metavar="NAME", help="Which session.")
@json_option
@click.pass_obj
def clusters(door: Door, name: str | None, does: str | None, session: str, as_json: bool) -> int:
    """List the clusters, or the memories of one.

    Notes of your own that belong to a cluster are linked on its page, clusters/NAME.md, and listed too.
    """
    if does:
        return _moved(door, name, session, as_json=as_json, load=does == "load")
    with door.engine() as engine:
        found = engine.clusters(name)
    if as_json:
        emit({"clusters": found})
    elif name:
        click.echo("\n".join(f"{m.id}  {m.label}" for c in found for m in c.members))
    elif found:
        click.echo(view.table(("cluster", "size", "summary"), [(c.name, c.size, c.summary) for c in found]))
    else:
        door.say("No clusters yet: three memories that share a topic form one.")
    return 0


def _moved(door: Door, name: str | None, session: str, *, as_json: bool, load: bool) -> int:
    """Load a cluster, or unload it."""
    if name is None:
        raise UsageError("Name the cluster: `atlas clusters` lists them.")
    with door.engine() as engine:
        done = engine.load(name, session) if load else engine.unload(name, session)
    if as_json:
        emit({"loaded" if load else "unloaded": done})
        return 0
    left = f"; {done.left} have no room (scene.warm_tokens)" if done.left else ""
    door.say(f"{done.memories} memories {'ready' if load else 'let go'}, {done.tokens:,} tokens{left}.")
    return 0


@click.command()
@click.option(
    "--watch",
    is_flag=True,
    help="Go on showing the tiers of every session while agents use them; with --json, a line each time.",
)
@click.option("--seconds", default=1.0, show_default=True, type=click.FloatRange(0.1, 3600), help="How often to look.")
@json_option
@click.pass_obj
def stats(door: Door, watch: bool, seconds: float, as_json: bool) -> int:
    """Count what is there, and say how well views are served.

    The hit rate is the share of memories that were ready before they were needed, prefetch accuracy the share of those
    made ready that the very next view needed, prefix reuse the share of a view that is the beginning of the last one,
    regret the share of the best ten that a view does not show because it goes on from the last one.
    """
    with door.engine() as engine:
        if watch:
            _watch(lambda: engine.stats()["cache"], seconds, as_json=as_json)
        numbers = engine.stats()
    if as_json:
        emit(numbers)
    else:
        plain = {name: view.listed(value) for name, value in numbers.items() if name != "cache"}
        click.echo(view.facts({**plain, **view.cache(numbers["cache"])}))
    return 0


def _watch(count: Callable[[], dict[str, Any]], seconds: float, *, as_json: bool) -> None:
    """Show the sessions until interrupted: drawn, or an object a line."""
    while as_json:
        emit(count())
        time.sleep(seconds)
    view.live(lambda: view.sessions(count()), seconds)
