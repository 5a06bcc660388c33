"""Commands to try and to set up: demo, completion."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option

_TEXTS = (
    "JWT token expiration bug: sessions end after five minutes because the refresh is never sent.",
    "JWT refresh token race condition: two parallel calls each use the old token, and one user is logged out.",
    "We decided on a sliding window strategy for JWT refresh: a token may be used twice within ten seconds.",
    "I prefer short commit messages that say why, not what.",
    "The staging database listens on port 5433; production listens on 5432.",
    "Never restart node A during the nightly backup between 02:00 and 03:00.",
    "设备清单与备份计划: the inventory of devices is kept in the shared folder.",
)
_QUESTIONS = ("why do users get logged out?", "which port does staging use", "备份", "how should I write commits")


@click.command()
@click.option("--keep", metavar="DIR", help="Keep the vault in this new folder instead of a temporary one.")
@json_option
@click.pass_obj
def demo(door: Door, keep: str | None, as_json: bool) -> int:
    """Remember, find, explain, undo: the main job on a new vault, with real Git and no network."""
    from atlas.engine import MemoryEngine
    from atlas.template import create

    folder = Path(keep) if keep else Path(tempfile.mkdtemp(prefix="atlas-demo-"))
    began = time.perf_counter()
    try:
        made = create(folder / "memory" if not keep else folder)
        with MemoryEngine(made.root, create=False) as engine:
            report = _play(engine, as_json=as_json)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    report["seconds"] = round(time.perf_counter() - began, 2)
    if as_json:
        emit(report)
    else:
        click.echo(f"Done in {report['seconds']} s." + (f" The vault stays in {folder}." if keep else ""))
    return 0


def _play(engine, *, as_json: bool) -> dict[str, object]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - MemoryEngine
    def tell(text: str) -> None:
        if not as_json:
            click.echo(text)

    tell("Remembering, one commit each:")
    for text in _TEXTS:
        stored = engine.ingest(text)
        tell(f"  {stored.applied.commit[:9] or stored.applied.note}  {stored.memories[0].label}")
    again = engine.ingest(_TEXTS[0])
    tell(f"The first one again: {'a duplicate, nothing stored' if again.duplicates else 'stored twice'}.")
    answers = {}
    for question in _QUESTIONS:
        hit = engine.retrieve(question, k=1)[0]
        answers[question] = hit.label
        tell(f"\n? {question}\n  {hit.label}\n  {hit.path}")
    clusters = [c.name for c in engine.clusters()]
    tell(f"\nClusters found on the way: {', '.join(clusters)}")
    entries = engine.history(limit=3)
    tell("\nThe history is Git's:\n" + view.entries(entries))
    undone, _ = engine.undo()
    tell(f"\nThe last one undone: {undone.commit[:9] or undone.note}, {engine.stats()['memories']} memories left.")
    return {
        "stored": len(_TEXTS),
        "duplicate": bool(again.duplicates),
        "answers": answers,
        "clusters": clusters,
        "undone": undone.committed,
    }


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the line that turns on completion; put it in your shell's start-up file."""
    lines = {
        "bash": 'eval "$(_ATLAS_COMPLETE=bash_source atlas)"',
        "zsh": 'eval "$(_ATLAS_COMPLETE=zsh_source atlas)"',
        "fish": "_ATLAS_COMPLETE=fish_source atlas | source",
    }
    click.echo(lines[shell])
    return 0
