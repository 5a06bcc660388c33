"""The hooks and the merge driver of a repository: put in, taken out, looked at.

    install(repository)     the stubs, what starts Atlas, which vaults there are, the merge driver
    uninstall(repository)   all of that out again; hooks that were there before get their names back
    state(repository)       what is in place, and why it would not run

What they do once Git calls them is in `hook.py`; the files and their owners are in `stubs.py`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from atlas import git, stubs
from atlas.config import ENDINGS, MARKER
from atlas.errors import UsageError
from atlas.hook import NAMES, VAULTS

#: The folder of Atlas's own files in the folder of Git that all working trees share.
_FOLDER = "atlas"
_FILES = ("stub.sh", "merge-driver")
_COMMAND, _DRIVER, _DRIVER_NAME = "atlas.command", "merge.atlas.driver", "merge.atlas.name"
#: Found when a merge runs, so that a repository may be moved; without the file, Git's own merge by lines.
_DRIVER_LINE = (
    'd="$(git rev-parse --git-common-dir)/atlas/merge-driver"; if [ -r "$d" ]; then sh "$d" %O %A %B %P %L; '
    "else git merge-file --marker-size=%L %A %O %B; fi"
)
_ATTRIBUTES_HEAD = "# Atlas: the merge driver of notes"
_INSTALL = "run `atlas hooks install`"


@dataclass(frozen=True, slots=True)
class MergeDriver:
    """Whether this clone has the merge driver, and why it would not be used ("" if it is)."""

    installed: bool
    inactive_reason: str


@dataclass(frozen=True, slots=True)
class State:
    """The hooks of a repository.

    `installed` are those that are in place, `chained` those that run another one first, `missing` the others. Without
    an `inactive_reason` they run. `folder` is where Git looks for hooks, `command` what starts Atlas (a line of shell),
    `vaults` where the vaults lie below the top of the working tree.
    """

    installed: tuple[str, ...] = ()
    chained: tuple[str, ...] = ()
    inactive_reason: str = ""
    missing: tuple[str, ...] = NAMES
    edited: tuple[str, ...] = ()
    folder: str = ""
    command: str = ""
    vaults: tuple[str, ...] = ()
    merge_driver: MergeDriver = MergeDriver(installed=False, inactive_reason="")


@dataclass(frozen=True, slots=True)
class _Settings:
    """What Git's configuration says of all this."""

    hooks_path: str = ""
    hooks_scope: str = ""
    command: str = ""
    driver: str = ""
    vaults: tuple[str, ...] = ()


def state(repository: git.Repository | None) -> State:
    """What is in place, and why it would not run."""
    if repository is None:
        why = "the vault is not under Git"
        return State(inactive_reason=why, merge_driver=MergeDriver(installed=False, inactive_reason=why))
    settings = _settings(repository)
    folder, own = _folder(repository, settings), repository.common_dir / "hooks"
    running = [name for name in NAMES if stubs.runs_atlas(folder, name)]
    installed = running or [name for name in NAMES if stubs.runs_atlas(own, name)]
    return State(
        installed=tuple(installed),
        chained=tuple(name for name in installed if stubs.chained(folder if running else own, name)),
        inactive_reason=_inactive(repository, settings, running),
        missing=tuple(name for name in NAMES if name not in running),
        edited=tuple(name for name in NAMES if stubs.whose(own / name) is stubs.Whose.EDITED),
        folder=str(folder),
        command=settings.command,
        vaults=settings.vaults,
        merge_driver=_merge_driver(repository, settings),
    )


def install(repository: git.Repository, *, into_hooks_path: bool = False) -> tuple[State, tuple[str, ...]]:
    """Put everything in; how it is then, and what a person should know. Doing it twice changes nothing.

    Where `core.hooksPath` leads elsewhere, hooks are written there only if asked (`into_hooks_path`).
    """
    settings, own = _settings(repository), repository.common_dir / "hooks"
    folder = _folder(repository, settings)
    if into_hooks_path:
        _refuse_husky(folder)
    said = [stubs.put(name, repository.common_dir / _FOLDER / name) for name in _FILES]
    if into_hooks_path or _same(folder, own):
        said += [stubs.put(name, folder / name) for name in NAMES]
    said += _record(repository, settings)
    _name_driver(repository)
    return state(repository), tuple(filter(None, said))


def uninstall(repository: git.Repository) -> tuple[State, tuple[str, ...]]:
    """Take everything out; how it is then, and what a person should know."""
    settings = _settings(repository)
    folders = dict.fromkeys((repository.common_dir / "hooks", _folder(repository, settings)))
    said = [stubs.take_out(folder / name) for folder in folders for name in NAMES]
    own = repository.common_dir / _FOLDER
    said += [stubs.take_out(own / name) for name in _FILES]  # without them, a stub that is left does nothing
    if own.is_dir() and not any(own.iterdir()):
        own.rmdir()
    for key in (_COMMAND, VAULTS, _DRIVER, _DRIVER_NAME):
        repository.call("config", "--local", "--unset-all", key)
    _unname_driver(repository, settings)
    return state(repository), tuple(filter(None, said))


# ---------------------------------------------------------------------- hooks


def _inactive(repository: git.Repository, settings: _Settings, running: list[str]) -> str:
    """Why the hooks would not run, or do nothing; "" if they do their work."""
    folder, own = _folder(repository, settings), repository.common_dir / "hooks"
    if not running and not _same(folder, own):
        where = f"{_husky(folder)}/pre-commit" if _husky(folder) else f"the hooks in {folder}"
        return (
            f"core.hooksPath ({settings.hooks_scope}) is {settings.hooks_path!r}, so Git runs the hooks there and not "
            f'those of this repository: add `atlas hook pre-commit "$@"` to {where}, and so for each name, or run '
            "`atlas hooks install --into-hooks-path`"
        )
    if not running:
        return f"not installed: {_INSTALL}"
    if repository.prefix.rstrip("/") not in map(_bare, settings.vaults or (".",)):
        return f"they look for a vault in {', '.join(settings.vaults)} and not here: {_INSTALL}"
    if (
        settings.command
        and not _is_there(settings.command)
        and not (shutil.which("memory-atlas") or shutil.which("atlas"))
    ):
        return f"what started Atlas is gone ({settings.command}): {_INSTALL}"
    return ""


def _folder(repository: git.Repository, settings: _Settings) -> Path:
    """Where Git looks for hooks."""
    named = settings.hooks_path
    return repository.top / Path(named).expanduser() if named else repository.common_dir / "hooks"


def _same(one: Path, two: Path) -> bool:
    return one.resolve() == two.resolve()


def _husky(folder: Path) -> str:
    """The folder of husky's that a person writes hooks in, if this is the one it makes by itself."""
    return str(folder.parent) if folder.name == "_" and folder.parent.name == ".husky" else ""


def _refuse_husky(folder: Path) -> None:
    if _husky(folder):
        raise UsageError(
            f'husky writes {folder} anew each time: add the line `atlas hook pre-commit "$@"` to '
            f"{_husky(folder)}/pre-commit instead, and so for each hook."
        )


def _settings(repository: git.Repository) -> _Settings:
    found: dict[str, str] = {}
    vaults = []
    fields = git.fields(repository.run("config", "--show-scope", "-z", "--list"))
    for scope, line in zip(fields[::2], fields[1::2], strict=True):
        key, _, value = line.partition("\n")
        if key == VAULTS and scope == "local":
            vaults.append(value)
        if key == "core.hookspath":
            found["scope"] = scope
        found[key] = value
    return _Settings(
        found.get("core.hookspath", ""),
        found.get("scope", ""),
        found.get(_COMMAND, ""),
        found.get(_DRIVER, ""),
        tuple(dict.fromkeys(vaults)),
    )


def _bare(name: str) -> str:
    """A recorded vault as a path without a slash at its end, "" for the top itself."""
    return "" if name == "." else name.rstrip("/")


def _record(repository: git.Repository, settings: _Settings) -> Iterator[str]:
    """Write down what starts Atlas, and where the vaults are. What is not there any more is forgotten, and said."""
    here = repository.prefix.rstrip("/") or "."
    kept = [name for name in settings.vaults if (repository.top / name / MARKER).is_file()]
    yield from (f"{name} holds no {MARKER} any more and is no vault of the hooks now" for name in settings.vaults
                if name not in kept)  # fmt: skip
    vaults = [*kept, *([] if here in kept else [here])]
    wanted = {_COMMAND: command(), _DRIVER: _DRIVER_LINE, _DRIVER_NAME: "memories, by key and by section"}
    have = {_COMMAND: settings.command, _DRIVER: settings.driver}
    for key, value in wanted.items():
        if have.get(key) != value:
            repository.run("config", "--local", "--replace-all", key, value)
    if tuple(vaults) != settings.vaults:
        repository.call("config", "--local", "--unset-all", VAULTS)
        for name in vaults:
            repository.run("config", "--local", "--add", VAULTS, name)


def command() -> str:
    """What starts this Atlas again, from any folder and with a bare PATH: a line of shell."""
    program = Path(sys.argv[0]).absolute()
    if program.stem in ("atlas", "memory-atlas") and program.is_file() and os.access(program, os.X_OK):
        return shlex.quote(str(program))
    words = [sys.executable, "-P", "-m", "atlas"]
    checkout, env = Path(__file__).resolve().parents[1], shutil.which("env")
    path = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if env and str(checkout) in map(os.path.realpath, path):
        words = [env, f"PYTHONPATH={checkout}", *words]
    return shlex.join(words)


def _is_there(line: str) -> bool:
    """Whether every absolute path among the words of a command exists, as the stub asks it."""
    return all(Path(word).exists() for word in shlex.split(line) if Path(word).is_absolute())


# --------------------------------------------------------------- merge driver


def _merge_driver(repository: git.Repository, settings: _Settings) -> MergeDriver:
    named = set(_attributes(repository).values())
    there = (repository.common_dir / _FOLDER / "merge-driver").is_file()
    installed = bool(settings.driver) and (there or settings.driver != _DRIVER_LINE)
    if "atlas" in named and not installed:
        why = f"the attributes of notes name it, this clone does not have it, so notes are merged by lines: {_INSTALL}"
    elif not installed:
        why = f"not installed: {_INSTALL}"
    elif named != {"atlas"}:
        others = ", ".join(sorted(named - {"atlas", "unspecified"}))
        why = f"notes have another merge attribute ({others})" if others else f"no attribute names it: {_INSTALL}"
    else:
        why = ""
    return MergeDriver(installed, why)


def _attributes(repository: git.Repository) -> Mapping[str, str]:
    """The merge attribute of notes in this vault, by the ending of their names."""
    paths = [repository.full(f"note{ending}") for ending in ENDINGS]
    fields = git.fields(repository.run("check-attr", "-z", "merge", "--", *paths))
    return dict(zip(ENDINGS, fields[2::3], strict=True))


def _name_driver(repository: git.Repository) -> None:
    """Name the driver for notes in this clone's own attributes, as far as no attribute says anything of them."""
    said = _attributes(repository)
    lines = [line for ending, line in _lines(repository.prefix) if said[ending] == "unspecified"]
    file = repository.common_dir / "info" / "attributes"
    have = file.read_bytes() if file.exists() else b""
    lines = [line for line in lines if line.encode() not in have.splitlines()]
    if lines:
        gap = b"\n" if have and not have.endswith(b"\n") else b""
        head = [] if _ATTRIBUTES_HEAD.encode() in have.splitlines() else [_ATTRIBUTES_HEAD]
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(have + gap + "".join(f"{line}\n" for line in [*head, *lines]).encode())


def _unname_driver(repository: git.Repository, settings: _Settings) -> None:
    """Take exactly those lines out again."""
    file = repository.common_dir / "info" / "attributes"
    prefixes = {repository.prefix, *(_bare(name) and f"{_bare(name)}/" for name in settings.vaults)}
    ours = {_ATTRIBUTES_HEAD.encode(), *(line.encode() for prefix in prefixes for _, line in _lines(prefix))}
    have = file.read_bytes() if file.exists() else b""
    left = b"".join(line for line in have.splitlines(keepends=True) if line.rstrip(b"\r\n") not in ours)
    if left != have:
        file.write_bytes(left)


def _lines(prefix: str) -> Iterator[tuple[str, str]]:
    """The lines that name the driver for the notes of a vault, by ending. A name with blanks or quotes is quoted."""
    for ending in ENDINGS:
        escaped = re.sub(r"([\\*?\[])", r"\\\1", prefix)
        pattern = f"/{escaped}**/*{ending}" if prefix else f"*{ending}"
        if re.search(r'[\s"]', pattern):
            inner = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
            pattern = f'"{inner}"'
        yield ending, f"{pattern} merge=atlas"
