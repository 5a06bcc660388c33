"""What every command shares: which vault, how to print, when to exit with what."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from atlas.engine import MemoryEngine
    from atlas.memory import Applied
    from atlas.reading import ReadingEngine

F = TypeVar("F", bound=Callable[..., Any])

EXIT_NOT_COMMITTED = 3


@dataclass(frozen=True, slots=True)
class Door:
    """The global options of one run."""

    vault: str | None = None
    quiet: bool = False

    def say(self, text: str) -> None:
        """Talk: one line on stderr."""
        if text and not self.quiet:
            click.echo(text, err=True)

    def warn(self, text: str) -> None:
        """What must be heard even when talk is not wanted."""
        click.echo(text, err=True)

    @contextmanager
    def reading(self) -> Iterator[ReadingEngine]:
        """The opened vault for reading only: quicker to load than `engine`."""
        from atlas import config
        from atlas.reading import ReadingEngine

        engine = ReadingEngine(config.choose_vault(self.vault), resident=False)
        yield engine
        self._pass_on(engine)

    @staticmethod
    def place(root: Path, name: str) -> str:
        """The vault's spelling of a file named from the current folder, as shells do; any other name as it is."""
        file = Path(name).parent.resolve() / Path(name).name
        return file.relative_to(root).as_posix() if file.is_file() and file.is_relative_to(root) else name

    def _pass_on(self, engine: ReadingEngine) -> None:
        for line in engine.said():
            self.say(line)

    @contextmanager
    def engine(self, **options: Any) -> Iterator[MemoryEngine]:
        """The opened vault; what it repaired on the way is said at the end."""
        from atlas.config import choose_vault
        from atlas.engine import MemoryEngine

        with MemoryEngine(choose_vault(self.vault), create=False, resident=False, **options) as engine:
            yield engine
            self._pass_on(engine)


def outcome(door: Door, applied: Applied, *, as_json: bool) -> int:
    """Say what became of a write; the exit code of it."""
    if applied.paths and not applied.committed:
        door.warn(f"Saved, not committed: {applied.note}")
        return EXIT_NOT_COMMITTED
    if applied.committed and not as_json:
        door.say(f"Committed {applied.commit[:9]}.")
    door.say(applied.note)
    return 0


def json_option(command: F) -> F:
    """Add `--json`: one JSON object on stdout and nothing else there."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(command)


_FILTERS = (
    click.option("--kind", multiple=True, help="Only memories of this kind (repeatable)."),
    click.option("--tag", multiple=True, help="Only memories with this tag or one below it (repeatable)."),
    click.option("--cluster", multiple=True, help="Only members of this cluster (repeatable)."),
    click.option("--scope", help="Only below this folder of the vault."),
    click.option("--as-of", metavar="REV", help="Rank against the vault as it was at this revision, tag or date."),
    click.option("--valid-at", metavar="DATE", help="Only what was valid at this date."),
)


def filter_options(command: F) -> F:
    """Add what a search may be narrowed by."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def emit(value: Any) -> None:
    """Print one strict JSON object. Everything outside ASCII is escaped, so no terminal or locale can break it."""
    click.echo(json.dumps(plain(value), allow_nan=False))


def plain(value: Any) -> Any:
    """Dataclasses, tuples and mappings as what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return {plain(str(k)): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, str | Path):  # a name that is not UTF-8 holds lone surrogates, which strict readers refuse
        return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def read_text(argument: str | None, file: str | None) -> str:
    """The text a command was given: an argument, `--file`, or stdin for "-"; raises click.UsageError."""
    given = [x for x in (argument, file) if x is not None]
    if len(given) != 1:
        raise click.UsageError("Give the text as one argument, as --file F, or as - to read stdin.")
    if file not in (None, "-"):
        return _decoded(Path(str(file)).read_bytes())
    if "-" not in given:
        return str(argument)
    if sys.stdin is None:
        raise click.UsageError("stdin is closed, so there is no text to read.")
    return _decoded(sys.stdin.buffer.read())


def _decoded(data: bytes) -> str:
    from atlas.markdown import decode

    return decode(data).text


@contextmanager
def progress(door: Door, what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr for work that can take long; None without a terminal."""
    if door.quiet or not sys.stderr.isatty():
        yield None
        return
    from atlas.view import bar

    with bar(what) as update:
        yield update
