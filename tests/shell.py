"""Running the command line: in this process for most, in one of its own where the process is the point."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atlas.commands import main

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended: its exit code, and what it printed where."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one strict JSON object that is all of stdout."""
        assert self.code in {0, 1, 3}, self.err
        assert self.out.count("\n") == 1, self.out
        assert self.out.isascii()
        found = json.loads(self.out, parse_constant=_refuse)
        assert isinstance(found, dict)
        return found

    @property
    def sentence(self) -> str:
        """The one line of an error: nothing on stdout, no traceback."""
        assert self.out == ""
        assert self.err.startswith("atlas: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert "did not foresee" not in self.err
        return self.err.strip()


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def atlas(*words: str, cwd: Path, stdin: bytes = b"", **env: str) -> Said:
    """Run a command here, through the same `main` as the console script."""
    streams = {"stdout": io.BytesIO(), "stderr": io.BytesIO()}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        patch.setattr(sys, "excepthook", sys.excepthook)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        for name, stream in streams.items():
            patch.setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", write_through=True))
        for name, value in env.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(words)
        code = ended.value.code
        out, err = (stream.getvalue().decode() for stream in streams.values())
    assert isinstance(code, int)
    return Said(code, out, err)


def spawn(*words: str, cwd: Path, stdin: bytes | None = b"", **env: str) -> Said:
    """Run a command in a process of its own."""
    done = subprocess.run(
        command(*words), cwd=cwd, input=stdin, capture_output=True, env=environment(**env), check=False
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def command(*words: str) -> list[str]:
    """The words that start Atlas without its being installed."""
    return [sys.executable, "-m", "atlas", *words]


def environment(**more: str) -> dict[str, str]:
    """The environment of a child that finds Atlas from any folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def new_vault(folder: Path) -> Path:
    """A vault of its own repository, on branch main, with an identity and the template committed."""
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=folder, check=True)
    with (folder / ".git" / "config").open("a") as config:
        config.write("[user]\n\tname = Ada Example\n\temail = ada@example.test\n")
    assert atlas("init", cwd=folder).code == 0
    return folder
