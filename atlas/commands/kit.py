"""The kit for coding agents: put in by `init --agent`, and the hidden command that their hooks call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atlas.commands._door import Door, read_text
from atlas.errors import AtlasError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atlas.kit import FileEdit, Program


def install(
    door: Door, vault: Path, agents: Sequence[str], project: Path, *, dry_run: bool, remove: bool
) -> list[FileEdit]:
    """Put the kit for these agents into a project, or take it out; what happens to each file.

    All files are planned first, so that one that cannot be read stops everything before anything is written.
    """
    from atlas import kit

    if not project.is_dir():
        raise UsageError(f"{project} is no folder: name the one that the agent works in with --project.")
    program = _program(vault)
    planned = [edit for agent in agents for edit in kit.plan(agent, project.resolve(), program, remove=remove)]
    edits = list({edit.path.resolve(): edit for edit in planned}.values())  # CLAUDE.md may be a link to AGENTS.md
    for edit in edits:
        if not dry_run:
            _write(edit)
        door.say("" if edit.what == "unchanged" else f"{'Would be ' * dry_run}{edit.what}: {edit.path}")
    return edits


def preview(edits: Sequence[FileEdit]) -> str:
    """The files that would be written, each with what it would hold then."""
    changed = [edit for edit in edits if edit.what != "unchanged"]
    parts = [f"--- {edit.path} ({edit.what})\n{(edit.after or b'').decode('utf-8')}".rstrip("\n") for edit in changed]
    return "\n".join(parts)


def _write(edit: FileEdit) -> None:
    """Make one edit, unless somebody saved the file since it was read."""
    from atlas.vault import write_elsewhere

    if edit.what == "unchanged":
        return
    place = edit.path.resolve()  # a CLAUDE.md may be a link to AGENTS.md, and is to stay one
    now = place.read_bytes() if place.exists() else None
    if now != edit.before:
        raise UsageError(f"{edit.path} was changed meanwhile: run the command again.")
    if edit.after is None:
        place.unlink()
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    write_elsewhere(place, edit.after)


def _program(vault: Path) -> Program:
    """How to start this very Atlas: other programs are called atlas, too."""
    from atlas.kit import Program

    started = Path(sys.argv[0]).resolve()
    installed = started.name.removesuffix(".exe") in {"atlas", "memory-atlas"} and started.is_file()
    return Program((str(started),) if installed else (sys.executable, "-m", "atlas"), vault)


@click.command(hidden=True)
@click.argument("event", type=click.Choice(["session-start", "session-end"]))
@click.option("--agent", default="claude-code", help="Which agent calls.")
@click.pass_obj
def agent_hook(door: Door, event: str, agent: str) -> int:
    """Answer a hook of a coding agent. It never stops the agent: what goes wrong is a line on stderr and exit code 1.

    Exit code 2, which is ours for wrong usage, would be an order to the agent.
    """
    from atlas import agenthook

    try:
        said = agenthook.given(read_text(None, "-"))
        with door.engine(actor=agent) as engine:
            if event == "session-start":
                text = agenthook.started(engine, agent, said)
                click.echo(text, nl=bool(text))
            else:
                done = agenthook.ended(engine, agent, said)
                door.say(f"Remembered {len(done)} things of this session." if done else "")
    except (AtlasError, OSError) as err:
        door.warn(f"atlas: {err}")
        return 1
    return 0
