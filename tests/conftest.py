"""What every test stands on: no real home, no Git settings of the machine, a repository to work in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atlas import MemoryEngine
from atlas.template import create

#: The home of the person who runs the tests, read before it is taken away.
_REAL_HOME = os.path.realpath(Path.home())
_HAS_HOME = Path(_REAL_HOME) != Path(_REAL_HOME).parent
#: What lies below it and may be opened all the same: the interpreter, its packages, this project, temporary files.
_ALLOWED = tuple(
    os.path.realpath(place)
    for place in (*sys.path, sys.prefix, sys.base_prefix, tempfile.gettempdir(), str(Path(__file__).parents[1]))
    if place and os.path.realpath(place) != _REAL_HOME
)
_TOUCHING = frozenset({"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rmdir", "os.rename"})
_guarding: list[bool] = []


def _forbid_home(event: str, args: tuple[object, ...]) -> None:
    """Raise when this process opens anything in the real home. Children have `HOME` set to a temporary folder."""
    if not _guarding or event not in _TOUCHING or not args or not isinstance(args[0], str | bytes):
        return
    place = Path(os.path.normpath(Path(os.fsdecode(args[0])).absolute()))
    if _HAS_HOME and place.is_relative_to(_REAL_HOME) and not any(map(place.is_relative_to, _ALLOWED)):
        raise PermissionError(f"A test touched the real home: {event} {place}")


sys.addaudithook(_forbid_home)


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory) -> Iterator[Path]:
    """An empty home for the whole run, and no settings from outside: neither Git's nor Atlas's."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("GIT_", "ATLAS_", "XDG_")) or name in {"EMAIL", "SUDO_UID"}:
                patch.delenv(name)
        patch.setenv("HOME", str(folder))
        patch.setenv("USERPROFILE", str(folder))
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
        _guarding.append(True)
        yield folder
        _guarding.clear()


Runner = Callable[..., str]


@pytest.fixture
def git() -> Runner:
    """`git(folder, *words)`: run Git as a person would; its output as text. Fails the test when Git fails."""

    def run(folder: Path, *words: str, data: str | None = None) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            input=data,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def make_repo(git) -> Callable[[Path], Path]:
    """`make_repo(folder)`: a repository there, on branch main, with an identity and no commit."""

    def make(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet", "--initial-branch=main")
        with (folder / ".git" / "config").open("a") as config:
            config.write("[user]\n\tname = Ada Example\n\temail = ada@example.test\n")
        return folder

    return make


@pytest.fixture
def repo(tmp_path, make_repo) -> Path:
    """A repository at `tmp_path/vault`, on branch main, with an identity and no commit."""
    return make_repo(tmp_path / "vault")


@pytest.fixture
def root(repo) -> Path:
    """A new vault in that repository."""
    create(repo)
    return repo


@pytest.fixture
def engine(root) -> Iterator[MemoryEngine]:
    """That vault, open."""
    with MemoryEngine(root) as opened:
        yield opened


@pytest.fixture
def notes(root, git, engine) -> Callable[[dict[str, str | bytes]], None]:
    """`notes({path: text})`: write them into the vault and commit."""

    def make(files: dict[str, str | bytes]) -> None:
        for path, text in files.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text if isinstance(text, bytes) else text.encode())
        git(root, "add", "-A")
        git(root, "commit", "-qm", "notes")

    return make


@pytest.fixture
def text(root) -> Callable[[str], str]:
    """`text(path)`: what lies there."""
    return lambda path: (root / path).read_bytes().decode()


@pytest.fixture
def first(repo, git) -> Path:
    """The repository with one commit: a.md, b.md and an executable c.md, seven lines each."""
    for name in ("a.md", "b.md", "c.md"):
        lines = "".join(f"line {n}\n" for n in range(2, 8))
        (repo / name).write_bytes(f"{name}\n{lines}".encode())
    (repo / "c.md").chmod(0o755)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    return repo


@pytest.fixture
def sound(git) -> Callable[[Path], None]:
    """`sound(repo)`: the repository is whole, and no lock and no private index is left."""

    def check(repo: Path) -> None:
        assert "error" not in git(repo, "fsck", "--strict", "--no-dangling")
        places = (repo / ".git").rglob("*")
        assert [place for place in places if place.suffix == ".lock" or place.name.startswith("index-")] == []

    return check


@pytest.fixture
def ended() -> Callable[[int], bool]:
    """`ended(pid)`: whether that process is over; one that is just being killed has five seconds."""

    def over(pid: int) -> bool:
        for _ in range(500):
            try:
                os.kill(pid, 0)
                # A killed orphan stays a zombie until its new parent looks.
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    return True
            except (ProcessLookupError, FileNotFoundError):
                return True
            time.sleep(0.01)
        return False

    return over
