"""Commands about what is put in front of an agent: view."""

from __future__ import annotations

from typing import Any

import click

from atlas.commands._door import Door, emit, filter_options, json_option


@click.command()
@click.argument("query")
@click.option("--budget", type=click.IntRange(0), metavar="TOKENS",
              help="Never more tokens than this; else `scene.budget` of atlas.toml, 2000 unless set.")  # fmt: skip
@click.option("--session", default="main", show_default=True, metavar="NAME",
              help="Go on with the conversation of this name: its order is kept, what it used is ready.")  # fmt: skip
@click.option("--order", type=click.Choice(["stable", "relevance"]), default="stable", show_default=True,
              help="stable repeats the beginning of the last view, which prompt caches charge little for.")  # fmt: skip
@filter_options
@json_option
@click.pass_obj
def view(door: Door, /, query: str, budget: int | None, session: str, order: str, as_json: bool, **filters: Any) -> int:
    """Print the memories an agent would get for a question, within a budget of tokens.

    Each memory is shown at the level that is worth its tokens: label (L0), summary (L1), the passages that answer or
    everything (L2). Pinned memories and preferences come first. The text is fenced: no memory can pass for an
    instruction around it.
    """
    with door.reading() as engine:
        found = engine.view(query, budget=budget, session=session, order=order, **filters)
        if as_json:
            emit(found)
        else:
            click.echo(found.text)
            door.say(
                f"{found.tokens:,} of {found.budget:,} tokens; {len(found.items)} memories shown, "
                f"{len(found.omitted)} left out."
            )
        engine.close()
    return 0
