"""Commands about Git hooks: hooks install, uninstall, status; and the hidden one that a hook calls."""

from __future__ import annotations

import sys

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option


@click.command()
@click.argument("action", type=click.Choice(["install", "uninstall", "status"]))
@click.option("--into-hooks-path", is_flag=True, help="Write hooks to the folder that core.hooksPath names, too.")
@json_option
@click.pass_obj
def hooks(door: Door, action: str, into_hooks_path: bool, as_json: bool) -> int:
    """Put Git hooks and the merge driver in, take them out, or say how they are.

    Exits 1 if the hooks do not run, and says why. docs/hooks.md tells what each of them does.
    """
    from atlas import config, git
    from atlas import hooks as room
    from atlas.errors import UsageError

    repository = git.find(config.choose_vault(door.vault))
    if repository is None:
        raise UsageError("This vault is not under Git, so it has no hooks: run `git init` in it.")
    said: tuple[str, ...] = ()
    if action == "install":
        found, said = room.install(repository, into_hooks_path=into_hooks_path)
    elif action == "uninstall":
        found, said = room.uninstall(repository)
    else:
        found = room.state(repository)
    for line in said:
        door.warn(line)
    if as_json:
        emit(found)
    else:
        names = ("installed", "chained", "missing", "vaults", "folder", "command")
        facts = {name: view.listed(getattr(found, name)) for name in names}
        click.echo(view.facts({**facts, "merge driver": found.merge_driver.inactive_reason or "active"}))
    if action == "uninstall" or not found.inactive_reason:
        return 0
    door.warn(f"The hooks are inactive: {found.inactive_reason}.")
    return 1


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.option("--stub", is_flag=True, help="Called by a stub, which knows the exit code 97 for a refusal.")
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def hook(door: Door, stub: bool, name: str, words: tuple[str, ...]) -> int:
    """Do what a Git hook is for: `atlas hook pre-commit "$@"` in a hook of your own."""
    from atlas import hook as room

    said = room.run(name, words, sys.stdin.buffer.read)
    if said.findings:
        door.warn(view.findings(said.findings))
    for line in said.lines:
        door.warn(f"atlas: {line}")
    refused = room.REFUSED if stub else 1
    return refused if said.refused else 0
