"""Starting Git: the one place where a process of it begins, bounded in time and in a clean environment.

Where it matters (on Windows, and where its settings name the executable) GitPython finds and launches Git.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from atlas.errors import GitRefused

#: Seconds an ordinary call may take. Calls that may wait for a person (signing) have their own, shorter limit.
SECONDS = 60.0

#: Git's variables that may pass from outside: who, which configuration files, how to reach keys and certificates.
#: A list of what may pass, not of what may not, so that no variable of a later Git can point us elsewhere.
PASSED = frozenset(
    {
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
        "GIT_TEMPLATE_DIR",
        "GIT_DEFAULT_HASH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
    }
)
#: Its tracing and its own tests' switches.
PASSED_PREFIXES = ("GIT_TRACE", "GIT_TEST_")

#: Never a question, a pager, an editor or a translation; reading commands take no lock to refresh the index.
FIXED: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": ":",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}


@dataclass(frozen=True, slots=True)
class Ran:
    """How one call of Git ended. `late` means that it was stopped at its time limit."""

    code: int
    out: bytes
    said: str
    late: bool = False


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a child.

    A hook's GIT_DIR or GIT_INDEX_FILE would send our call to another repository, and its dates would be put on our
    commits. `Git.execute` lays `env=` over `os.environ` and so cannot take a variable away; changing `os.environ`
    would race with the caller's other threads. Hence a complete dict.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in PASSED or name.startswith(PASSED_PREFIXES)
    }
    return {**kept, **FIXED, **(extra or {})}


def call(
    folder: Path,
    *words: str,
    data: bytes | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    literal: bool = True,
) -> Ran:
    """Run Git in `folder` with `data` on its standard input. A failing exit code is an answer, not an error.

    Paths are taken literally unless `literal` is off (for the one command that refuses the option). At the time limit
    the whole process group is ended: the child that hangs is often not Git but the signer it started.
    """
    options = ["--no-pager", *(["--literal-pathspecs"] if literal else [])]
    with ExitStack() as stack:
        source = None
        if data is not None:
            # A file, not a pipe: a child whose parent is killed midway still has the whole list, never half of it.
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(data)
            source.seek(0)
        try:
            program, popen = _launcher()
            process = popen(
                [program, *options, *words],
                cwd=folder,
                env=environment(env),
                stdin=source or DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except OSError as error:
            return Ran(127, b"", _cannot_start(folder, error))
        except ValueError:
            return Ran(127, b"", "a name cannot hold a NUL character")
        with process:
            return _finish(process, seconds)


def refused(words: tuple[str, ...], ran: Ran) -> GitRefused:
    """The error for a call that failed."""
    verb = next((word for word in words if word[0] != "-" and "=" not in word), "git")
    return GitRefused(f"run `{verb}`", ran.said or f"it ended with code {ran.code}")


def _launcher() -> tuple[str, Callable[..., Popen[bytes]]]:
    """The executable and what starts it.

    GitPython's launcher keeps Windows from running a `git.exe` that lies in the vault; elsewhere it is `Popen` itself,
    and importing GitPython for that took 65 ms of every commit's hook. It raises when there is no Git, unless told not
    to: a vault can be read and searched without, so the lack of it is said by `look`.
    """
    if sys.platform != "win32" and "GIT_PYTHON_GIT_EXECUTABLE" not in os.environ:
        return "git", Popen
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    from git.cmd import Git, safer_popen  # noqa: PLC0415

    return Git.GIT_PYTHON_GIT_EXECUTABLE or "git", safer_popen


def _cannot_start(folder: Path, error: OSError) -> str:
    if not folder.is_dir():
        return f"there is no folder {folder}"
    return f"no Git could be started ({error.strerror}); install Git, so that `git` is on PATH"


def _finish(process: Popen[bytes], seconds: float) -> Ran:
    """Wait for the process, no longer than its limit; whatever happens, none of its group outlives this."""
    try:
        out, err = process.communicate(timeout=seconds)
    except TimeoutExpired:
        _stop(process)
        return Ran(-signal.SIGTERM, b"", f"it took longer than {seconds:g} s and was stopped", late=True)
    except BaseException:  # Ctrl-C reaches only our own group, not the child's
        _stop(process)
        raise
    return Ran(process.returncode, out, _sentence(err))


def _stop(process: Popen[bytes]) -> None:
    """End the whole group. Asked first: on SIGTERM Git removes the locks it holds, on SIGKILL it leaves them."""
    if os.name == "nt":
        process.kill()
        return
    _signal(process, signal.SIGTERM)
    with suppress(TimeoutExpired):
        process.wait(timeout=1)
    _signal(process, signal.SIGKILL)


def _signal(process: Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _sentence(err: bytes) -> str:
    """What Git said, without the words that only mark it as an error."""
    lines = err.decode("utf-8", "replace").strip().splitlines()
    return "\n".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in lines)
