"""Commands that write memories: init, ingest, tag, adopt."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atlas import view
from atlas.commands import kit
from atlas.commands._door import Door, emit, json_option, outcome, progress, read_text
from atlas.memory import KINDS, Applied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atlas.chatfiles import Chat
    from atlas.remembering import Ingested

#: Those of `agenthook.AGENTS`, which loads more than a command's options may.
AGENTS = ("claude-code", "codex", "cursor")


@click.command()
@click.argument("dir", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--agent", "agents", multiple=True, type=click.Choice(AGENTS),
              help="Make this coding agent use the vault: instructions, MCP server, hooks (repeatable).")  # fmt: skip
@click.option("--project", type=click.Path(file_okay=False, path_type=Path), default=Path(),
              help="The folder the agent works in; else the current one.")  # fmt: skip
@click.option("--remove", is_flag=True, help="With --agent: take exactly that out again.")
@click.option("--dry-run", is_flag=True, help="With --agent: print the files as they would be, and change nothing.")
@json_option
@click.pass_obj
def init(
    door: Door, dir: Path | None, agents: tuple[str, ...], project: Path, remove: bool, dry_run: bool, as_json: bool
) -> int:
    """Make a new vault, or adopt a folder of notes without touching one.

    DIR is made if it is not there; without it, the folder is --vault, else the current one. Adopting adds atlas.toml
    and lines to .gitignore and .gitattributes, and commits nothing.

    With --agent, the vault may be one that is there, and the files go into the project: what is in them already is
    kept, byte for byte.
    """
    from atlas.engine import MemoryEngine
    from atlas.template import create

    if (remove or dry_run) and not agents:
        raise click.UsageError("--remove and --dry-run go with --agent")
    folder = dir or _vault_of(door, agents)
    if remove or dry_run:
        edits = kit.install(door, folder.resolve(), agents, project, dry_run=dry_run, remove=remove)
        files = [{"path": edit.path, "what": edit.what} for edit in edits]
        if as_json:
            emit({"files": files})
        elif dry_run:
            click.echo(kit.preview(edits))
        return 0
    made = create(folder)
    edits = kit.install(door, made.root, agents, project, dry_run=False, remove=False)
    with MemoryEngine(made.root, create=False, resident=False) as engine, progress(door, "Indexing") as bar:
        memories = engine.refresh(progress=bar).memories
    if as_json:
        told = {"files": [{"path": edit.path, "what": edit.what} for edit in edits]} if agents else {}
        said = {"memories": memories, "added": made.added, "note": made.note}
        emit({"vault": made.root, "adopted": made.adopted, **said, **told})
    else:
        word = "Adopted" if made.adopted else "New vault:" if made.new else "A vault already:"
        click.echo(f"{word} {made.root} ({view.counted(memories, 'memory')})")
        door.say(made.note)
    return 0


def _vault_of(door: Door, agents: tuple[str, ...]) -> Path:
    """The folder that `init` means where none is named; an agent's project is no vault where there is one already."""
    from atlas.config import choose_vault
    from atlas.errors import NotAVault

    if agents:
        with suppress(NotAVault):
            return choose_vault(door.vault)
    return Path(door.vault or ".")


@click.command()
@click.argument("text", required=False)
@click.option("--file", metavar="F", type=click.Path(exists=True, dir_okay=False, allow_dash=True),
              help="Read the text from this file (- for stdin).")  # fmt: skip
@click.option("--kind", help=f"One of {', '.join(KINDS)}, or a word of your own; guessed if not given.")
@click.option("--label", help="The one-line label; drawn from the text if not given.")
@click.option("--tag", multiple=True, help="A tag (repeatable).")
@click.option("--importance", type=click.FloatRange(0, 1), help="0 to 1; judged by the text's own words if not given.")
@click.option("--scope", help="The folder of the vault to store below.")
@click.option("--source", help="Where the text comes from.")
@click.option("--valid-from", metavar="DATE", help="From when the content holds.")
@click.option("--messages/--no-messages", default=None, help="The file is a conversation, or is none; seen by itself.")
@click.option("--conversation", metavar="NAME", help="The name of the conversation; the file's if not given.")
@click.option("--mode", type=click.Choice(["fast", "fine"]), default="fast",
              help="Who reads a conversation: rules, or the model of llm.model.")  # fmt: skip
@json_option
@click.pass_obj
def ingest(
    door: Door,
    text: str | None,
    file: str | None,
    kind: str | None,
    label: str | None,
    tag: tuple[str, ...],
    importance: float | None,
    scope: str | None,
    source: str | None,
    valid_from: str | None,
    messages: bool | None,
    conversation: str | None,
    mode: str,
    as_json: bool,
) -> int:
    """Store a text, or a conversation, as memories, in one commit.

    TEXT is stored word for word; - reads it from stdin. A list becomes one memory each for its statements. A text that
    is stored already is a duplicate: nothing is stored, and its id is said.

    A file with messages (JSON lines, a JSON array, or an object with "messages") is a conversation: its turns are
    stored a few at a time, facts, preferences and decisions in them by themselves, and of a conversation that is
    stored already only what is new.
    """
    content = read_text(text, file)
    chat = _chat(content, file or "", messages, given=text is None or text == "-", named=conversation)
    # What nobody said is left to each memory of a conversation.
    told: dict[str, Any] = {
        "kind": kind, "label": label, "tags": tag, "importance": importance, "scope": scope, "source": source,
        "valid_from": valid_from,
    }  # fmt: skip
    with door.engine() as engine:
        if chat:
            name = conversation or (Path(file).stem if file and file != "-" else "")
            told = {key: value for key, value in told.items() if value not in (None, ())}
            stored = engine.ingest(messages=chat.messages, conversation=name, mode=mode, **told)
        else:
            stored = engine.ingest(content, **told)
    said = (*chat.said, *stored.said) if chat else stored.said
    _say_stored(door, stored, said, chat=chat is not None, as_json=as_json)
    return outcome(door, stored.applied, as_json=as_json)


def _say_stored(door: Door, stored: Ingested, said: Sequence[str], *, chat: bool, as_json: bool) -> None:
    """Print what was stored; of a conversation also all there is to know of it."""
    if as_json:
        emit(
            {
                "memories": stored.memories,
                "commit": stored.applied.commit,
                "committed": stored.applied.committed,
                "duplicates": stored.duplicates,
                "said": said,
                "note": stored.applied.note,
            }
        )
    else:
        for memory in stored.memories:
            click.echo(f"{memory.id}  {memory.path}  {memory.label}")
        for duplicate in stored.duplicates if not chat else ():
            door.say(f"Already stored as {duplicate}.")
    for line in said if chat else ():
        door.warn(line)


def _chat(content: str, file: str, wanted: bool | None, *, given: bool, named: str | None) -> Chat | None:
    """The conversation a command was given; None if it is a text. One that is an argument is, unless it is said."""
    if wanted is False or not (given or wanted or named):
        return None
    from atlas.chatfiles import parse

    return parse(content, "" if file == "-" else file, wanted=bool(wanted or named))


@click.command()
@click.argument("id")
@click.argument("tags", nargs=-1, required=True)
@json_option
@click.pass_obj
def tag(door: Door, id: str, tags: tuple[str, ...], as_json: bool) -> int:
    """Add tags to a memory, changing nothing else of its file."""
    with door.engine() as engine:
        applied = engine.tag(door.place(engine.config.root, id), tags)
    return _paths(door, applied, as_json)


@click.command()
@click.argument("paths", nargs=-1)
@json_option
@click.pass_obj
def adopt(door: Door, paths: tuple[str, ...], as_json: bool) -> int:
    """Write an id into notes that have none.

    PATHS name the notes; without them, it is every such note of the vault. Exits 1 if one had to be left alone.
    """
    with door.engine() as engine:
        applied, refused = engine.adopt([door.place(engine.config.root, path) for path in paths])
    for finding in refused:
        door.warn(f"{finding.path}:{finding.line or 1}: left alone: {finding.message}")
    return _paths(door, applied, as_json) or (1 if refused else 0)


def _paths(door: Door, applied: Applied, as_json: bool) -> int:
    """Print the files that were changed."""
    if as_json:
        emit({"paths": applied.paths, "commit": applied.commit, "committed": applied.committed, "note": applied.note})
    else:
        for path in applied.paths:
            click.echo(path)
        door.say("" if applied.paths else "Nothing to change.")
    return outcome(door, applied, as_json=as_json)


@click.command()
@click.argument("id")
@click.argument("correction", required=False, default="")
@click.option("--good", "verdict", flag_value="good", help="It was of use: more important, and counted as read.")
@click.option("--wrong", "verdict", flag_value="wrong", help="It is wrong: less important, and contested.")
@json_option
@click.pass_obj
def feedback(door: Door, id: str, correction: str, verdict: str | None, as_json: bool) -> int:
    """Say of a memory that it was of use, or that it is wrong.

    With --wrong, CORRECTION is what is right: it becomes a memory of its own that takes the place of the other, which
    is kept and no longer valid. Both are one commit, which `atlas undo` takes back.
    """
    if verdict is None:
        raise click.UsageError("Say --good or --wrong.")
    with door.engine() as engine:
        name = door.place(engine.config.root, id)
        judged = engine.feedback(name, good=verdict == "good", correction=correction)
    if as_json:
        applied = judged.applied
        emit({"id": judged.id, "corrected_by": judged.corrected_by, "commit": applied.commit,
              "committed": applied.committed, "note": applied.note})  # fmt: skip
    else:
        for path in judged.applied.paths:
            click.echo(view.printable(path))
    return outcome(door, judged.applied, as_json=as_json)
