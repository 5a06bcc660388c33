"""The command line: one file per group of commands. Each command is parse, call, show."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from atlas import __version__
from atlas.commands._door import Door
from atlas.errors import AtlasError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

#: Every command: its module and its line in `atlas --help`, the first line of its own help too. A module is imported
#: when its command is used.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("write", "Make a new vault, or adopt a folder of notes without touching one."),
    "ingest": ("write", "Store a text, or a conversation, as memories, in one commit."),
    "tag": ("write", "Add tags to a memory, changing nothing else of its file."),
    "adopt": ("write", "Write an id into notes that have none."),
    "feedback": ("write", "Say of a memory that it was of use, or that it is wrong."),
    "review": ("review", "Say what waits for a person, or approve or reject it."),
    "mv": ("move", "Move or rename a memory; every link to it follows."),
    "join": ("move", "Join memories into one; every link to them follows."),
    "split": ("move", "Take a section out into a memory of its own; every link to it follows."),
    "export": ("bundle", "Write memories to a bundle, to plain JSON or to Markdown files."),
    "import": ("bundle", "Read memories from a bundle, a chat export, another tool or a folder."),
    "search": ("read", "Find memories by their words and their meaning."),
    "view": ("scene", "Print the memories an agent would get for a question, within a budget of tokens."),
    "chat": ("chat", "Talk with a language model that has this memory."),
    "why-not": ("whynot", "Say why a search does not return a memory."),
    "show": ("read", "Show one memory at a level of detail."),
    "clusters": ("read", "List the clusters, or the memories of one."),
    "stats": ("read", "Count what is there, and say how well views are served."),
    "index": ("health", "Bring the index up to date."),
    "watch": ("watch", "Keep the index up to date while others edit; one line per refresh."),
    "status": ("health", "Say how the vault is: index, Git, and every file with a problem."),
    "validate": ("health", "Check notes as the commit hook does."),
    "hooks": ("hooks", "Put Git hooks and the merge driver in, take them out, or say how they are."),
    "log": ("history", "Show the history of the vault or of one memory, newest first."),
    "why": ("history", "Show why a memory is as it is: the commits that made it so."),
    "changed": ("history", "Show what changed since a date or a commit."),
    "undo": ("history", "Revert a commit of Atlas by a new commit."),
    "restore": ("history", "Bring a memory, or its detail, back from history."),
    "forget": ("forget", "Let the least active memories, or those named, step down one rung, in one commit."),
    "maintain": ("upkeep", "Run the upkeep that is due, each task as a commit."),
    "purge": ("purge", "Erase a memory from the folder, from all of history and from every cache, and prove it."),
    "duplicates": ("upkeep", "Name pairs of memories that say nearly the same; nothing is merged."),
    "eval": ("upkeep", "Run the vault's own checks in evals/."),
    "merge": ("merge", "Merge notes that Git left in conflict, or repair marks that slipped in."),
    "mcp": ("mcp", "Serve the memory to agents by the Model Context Protocol."),
    "demo": ("demo", "Run the main job on a temporary vault, start to finish."),
    "completion": ("demo", "Print the line that turns on completion in your shell."),
}

#: Commands that only Git, its hooks and those of agents call, left out of `atlas --help`: their modules.
HIDDEN = {"hook": "hooks", "merge-driver": "merge", "agent-hook": "kit"}

EXIT_INTERRUPTED = 130


@contextmanager
def _to_whoever_reads() -> Iterator[None]:
    """A reader that has seen enough (`atlas log | head -1`) is no error of ours; click would make it one."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(_unheard()) from None


class _Lazy(click.Group):
    """A group that knows its commands' names and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        name = COMMANDS[cmd_name][0] if cmd_name in COMMANDS else HIDDEN.get(cmd_name)
        if name is None:
            return None
        module = importlib.import_module(f"atlas.commands.{name}")
        command = getattr(module, {"import": "import_", "eval": "eval_"}.get(cmd_name, cmd_name.replace("-", "_")))
        assert isinstance(command, click.Command)
        return command

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Parse the words; `--help` prints here already."""
        with _to_whoever_reads():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _to_whoever_reads():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--vault", metavar="DIR", help="The vault; else ATLAS_VAULT, else the nearest folder with atlas.toml.")
@click.option("--quiet", "-q", is_flag=True, help="No talk on stderr, only errors.")
@click.version_option(__version__, prog_name="atlas")
@click.pass_context
def atlas(ctx: click.Context, vault: str | None, quiet: bool) -> None:
    """Atlas: an agent's memory as a Git repository of Markdown files.

    Results go to stdout, talk to stderr. Most commands take --json. Exit codes: 0 done, 1 refused or found problems,
    2 wrong usage, 3 saved but not committed, 4 index or lock unavailable, 130 interrupted.
    """
    ctx.obj = Door(vault=vault, quiet=quiet)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Every error is one sentence; `ATLAS_DEBUG=1` shows where it came from."""
    sys.excepthook = _unforeseen
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(_run(args))


def run() -> None:
    """The console script. It ends the process at once: taking DuckDB and NumPy down in order costs a search 40 ms.

    By then the output is flushed, the index detached and every lock released.
    """
    # A process that asks one question gains nothing from a pool of threads for matrices, and waits for its start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        main()
    except SystemExit as end:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                if stream:
                    stream.flush()
        os._exit(end.code if isinstance(end.code, int) else 1)


def _run(args: Sequence[str] | None) -> int:
    try:
        code = atlas.main(args, prog_name="atlas", standalone_mode=False)
        if sys.stdout:  # None when the caller closed it
            sys.stdout.flush()
    except click.UsageError as err:
        return _misused(err)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return _unheard()
    except (AtlasError, OSError, UnicodeError) as err:
        return _say(err)
    return code if isinstance(code, int) else 0


def _unheard() -> int:
    """Nobody reads stdout any more: what is still buffered goes nowhere, so that the interpreter's end is quiet too."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _misused(err: click.UsageError) -> int:
    """One sentence for wrong words; the whole help for no words at all, which click raises as the message."""
    text, where = err.format_message(), err.ctx.command_path if err.ctx else "atlas"
    click.echo(text if "\n" in text else f"atlas: {text.rstrip('.')}: see `{where} --help`.", err=True)
    return err.exit_code


def _say(err: AtlasError | OSError | UnicodeError) -> int:
    if os.environ.get("ATLAS_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    click.echo(f"atlas: {_sentence(err)}", err=True)
    return err.exit_code if isinstance(err, AtlasError) else 1


def _sentence(err: AtlasError | OSError | UnicodeError) -> str:
    if isinstance(err, AtlasError):
        return str(err)
    if isinstance(err, UnicodeError):
        return f"This is not UTF-8 text ({err}): save it as UTF-8 and try again."
    what = "the disk is full" if err.errno == errno.ENOSPC else err.strerror or str(err) or type(err).__name__
    return f"{what}{f': {err.filename}' if err.filename else ''}. Nothing more was done."


def _unforeseen(kind: type[BaseException], err: BaseException, trace: TracebackType | None) -> None:
    """What Python calls, before it exits with 1, for an error nothing above knows."""
    if os.environ.get("ATLAS_DEBUG") == "1":
        import traceback

        traceback.print_exception(kind, err, trace)
    click.echo(
        f"atlas: an error Atlas did not foresee ({kind.__name__}: {err}). "
        "Run it again with ATLAS_DEBUG=1 and report what it prints.",
        err=True,
    )
