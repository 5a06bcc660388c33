"""Commands to try and to set up: demo, completion."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option
from atlas.errors import NotCommitted, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from atlas.engine import MemoryEngine

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


#: Git's settings in the demo's own repository, so that it works where nobody has set up Git, and asks no passphrase.
_SETTINGS = {"user.name": "Atlas demo", "user.email": "demo@example.invalid", "commit.gpgsign": "false"}


@click.command()
@click.option("--keep", metavar="DIR", help="Keep the vault in this new folder instead of a temporary one.")
@json_option
@click.pass_obj
def demo(door: Door, keep: str | None, as_json: bool) -> int:
    """Run the main job on a temporary vault, start to finish.

    It remembers, finds, explains and undoes, with real Git and no network.
    """
    from atlas.engine import MemoryEngine
    from atlas.template import create

    began = time.perf_counter()
    folder = _new(Path(keep)) if keep else _throwaway()
    try:
        made = create(folder)
        with MemoryEngine(made.root, create=False) as engine:
            report = _play(engine, (lambda _: None) if as_json else click.echo)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    report["seconds"] = round(time.perf_counter() - began, 2)
    if as_json:
        emit({**report, "vault": folder if keep else None})
    else:
        click.echo(f"Done in {report['seconds']} s.")
        door.say(f"The vault stays in {folder}." if keep else "The vault was temporary and is gone.")
    return 0


def _new(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already: name a new folder to keep the demo's vault in.")
    return folder


def _throwaway() -> Path:
    """A temporary folder with a repository of its own, wherever temporary folders lie."""
    from atlas.process import call

    folder = Path(tempfile.mkdtemp(prefix="atlas-demo-"))
    if call(folder, "init", "--quiet", "--initial-branch=main").code == 0:
        for name, value in _SETTINGS.items():
            call(folder, "config", "--local", name, value)
    return folder


def _play(engine: MemoryEngine, tell: Callable[[str], None]) -> dict[str, Any]:
    """The main job, told as it happens; raises NotCommitted where Git cannot commit."""
    duplicate = _remember(engine, tell)
    answers = {question: _ask(engine, question, tell) for question in _QUESTIONS}
    clusters = [c.name for c in engine.clusters()]
    tell(f"\nClusters found on the way: {', '.join(clusters)}")
    tell("\nThe history is Git's:\n" + view.entries(engine.history(limit=3)))
    undone, _ = engine.undo()
    tell(f"\nThe last one undone: {undone.commit[:9]}, {view.counted(engine.stats()['memories'], 'memory')} left.")
    return {
        "stored": len(_TEXTS),
        "duplicate": duplicate,
        "answers": answers,
        "clusters": clusters,
        "undone": undone.committed,
    }


def _remember(engine: MemoryEngine, tell: Callable[[str], None]) -> bool:
    """Store the texts; whether the first one, told again, was known."""
    tell("Remembering, one commit each:")
    for text in _TEXTS:
        stored = engine.ingest(text)
        if not stored.applied.committed:
            raise NotCommitted(stored.applied.note, stored.applied.paths)
        tell(f"  {stored.applied.commit[:9]}  {stored.memories[0].label}")
    again = engine.ingest(_TEXTS[0])
    tell(f"The first one again: {'a duplicate, nothing stored' if again.duplicates else 'stored twice'}.")
    return bool(again.duplicates)


def _ask(engine: MemoryEngine, question: str, tell: Callable[[str], None]) -> str:
    hit = next(iter(engine.retrieve(question, k=1)), None)
    tell(f"\n? {question}\n" + (f"  {hit.label}\n  {hit.path}" if hit else "  Nothing found."))
    return hit.label if hit else ""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the line that turns on completion in your shell.

    Put it in the shell's start-up file, such as ~/.bashrc.
    """
    lines = {
        "bash": 'eval "$(_ATLAS_COMPLETE=bash_source atlas)"',
        "zsh": 'eval "$(_ATLAS_COMPLETE=zsh_source atlas)"',
        "fish": "_ATLAS_COMPLETE=fish_source atlas | source",
    }
    click.echo(lines[shell])
    return 0
