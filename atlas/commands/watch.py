"""`atlas watch`: the watcher in the foreground."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from atlas import config
from atlas.commands import EXIT_INTERRUPTED
from atlas.commands._door import Door, emit

if TYPE_CHECKING:
    from atlas.watch import Event


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line on stdout.")
@click.pass_obj
def watch(door: Door, as_json: bool) -> int:
    """Keep the index up to date while others edit; one line per refresh.

    Runs until it is interrupted (exit 130) or terminated (exit 0). One watcher serves a vault: a second one exits 4.
    It writes to .atlas alone, never to a note; but once a day, after ten minutes of quiet, it runs the upkeep that is
    due, as commits (upkeep.on_watch in atlas.toml). docs/watch.md says what it ignores and how to run it as a service.
    """
    from atlas.hook import upkeep
    from atlas.watch import Watcher

    root = config.choose_vault(door.vault)
    told = emit if as_json else _told(door)
    watcher = Watcher(config.load(root), told, tend=lambda: upkeep(config.load(root)))
    with _signals(watcher.stop) as received:
        watcher.run()
    return EXIT_INTERRUPTED if signal.SIGINT in received else 0


def _told(door: Door) -> Callable[[Event], None]:
    """Tell a person: refreshes on stdout, all else as talk; what went wrong even when talk is not wanted."""

    def tell(event: Event) -> None:
        if event.event in {"refresh", "start"}:
            head = "watching: " if event.event == "start" else ""
            held = f", {event.held} held" if event.held else ""
            click.echo(
                f"{head}{event.added} added, {event.changed} changed, {event.removed} removed{held} "
                f"in {event.seconds:.2f} s"
            )
        else:
            line = f"{event.event}: {event.message}" if event.message else event.event
            (door.warn if event.event in {"error", "degraded", "root-missing"} else door.say)(line)

    return tell


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[list[int]]:
    """End in order at the first of these signals; the second does what it always does. The list says which came."""
    received: list[int] = []
    wanted = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {number: signal.getsignal(number) for number in wanted}

    def handle(number: int, _frame: Any) -> None:
        received.append(number)
        signal.signal(number, before[number] or signal.SIG_DFL)
        stop()

    for number in wanted:
        signal.signal(number, handle)
    try:
        yield received
    finally:
        for number in wanted:
            signal.signal(number, before[number] or signal.SIG_DFL)
