"""The command that talks: chat."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, read_text

if TYPE_CHECKING:
    from atlas.chat import Answer
    from atlas.engine import MemoryEngine

_LEAVING = frozenset({"exit", "quit", "/exit", "/quit"})
_NAMED = 5


@click.command()
@click.argument("message", required=False)
@click.option("--session", default="main", show_default=True, metavar="NAME",
              help="Go on with the conversation of this name.")  # fmt: skip
@click.option("--model", metavar="NAME", help="The language model; else `llm.model` of atlas.toml.")
@click.option("--context", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True),
              help="Text from outside to talk about (- for stdin): not stored, and not trusted.")  # fmt: skip
@click.option("--budget", type=click.IntRange(0), metavar="TOKENS", help="Tokens of memories; else `scene.budget`.")
@click.option("--no-remember", is_flag=True, help="Remember nothing of it.")
@json_option
@click.pass_obj
def chat(
    door: Door,
    message: str | None,
    session: str,
    model: str | None,
    context: str | None,
    budget: int | None,
    no_remember: bool,
    as_json: bool,
) -> int:
    """Talk with a language model that has this memory.

    With MESSAGE (- for stdin), one answer. Without, on a terminal, a conversation, until `exit` or the end of input.
    What is said is remembered; the memories an answer used are named on stderr. What the model makes of --context is
    stored as untrusted.
    """
    if message == "-" and context == "-":
        raise click.UsageError("Only one of the two can be read from stdin")
    if message is None and (as_json or not (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("Give a message, or run it on a terminal")
    outside = read_text(None, context) if context else ""
    options: dict[str, Any] = {"session": session, "budget": budget, "remember": not no_remember}
    with door.engine(llm=model) as engine:
        if message is None:
            return _conversation(door, engine, outside, options)
        text = read_text(message, None)
        answer = engine.chat(text, context=outside, hear=None if as_json else _printed, **options)
    if as_json:
        used = [{"id": one.id, "path": one.path, "label": one.label, "lod": one.lod, "trust": one.trust}
                for one in answer.used]  # fmt: skip
        emit({"text": answer.text, "session": answer.session, "used": used, "stored": answer.stored,
              "doubtful": answer.doubtful, "notes": answer.notes})  # fmt: skip
    else:
        _told(door, answer)
    return 0


def _conversation(door: Door, engine: MemoryEngine, outside: str, options: dict[str, Any]) -> int:
    """Turn after turn; what goes wrong with one is said, and the next is asked for."""
    from atlas.errors import Unavailable

    while True:
        try:
            text = click.prompt("you", prompt_suffix="> ", err=True).strip()
        except click.Abort:
            click.echo(err=True)
            return 0
        if text.casefold() in _LEAVING:
            return 0
        try:
            _told(door, engine.chat(text, context=outside, hear=_printed, **options))
        except Unavailable as err:
            click.echo()
            door.warn(f"atlas: {err}")
        outside = ""  # it was read; what was made of it is in the conversation


def _printed(piece: str) -> None:
    """A piece of an answer as it comes; what would command the terminal is shown instead."""
    click.echo("\n".join(map(view.printable, piece.split("\n"))), nl=False)


def _told(door: Door, answer: Answer) -> None:
    """The end of an answer, and what it stood on."""
    click.echo()
    shown = ", ".join(f"{view.printable(one.label)} ({one.id[-5:]})" for one in answer.used[:_NAMED])
    more = f" and {len(answer.used) - _NAMED} more" if len(answer.used) > _NAMED else ""
    door.say(f"Used: {shown}{more}." if shown else "")
    door.say("Stored as untrusted: it comes from text that is not to be trusted." if answer.doubtful else "")
    for note in answer.notes:
        door.warn(note)
