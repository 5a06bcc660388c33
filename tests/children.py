"""Processes of their own: they race each other, and die where they are told to, without a chance to tidy up."""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parent
#: Each child is a copy of one process that has loaded everything, so starting one takes 20 ms instead of 700.
_context = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Child:
    """A process that runs one function."""

    process: BaseProcess
    answer: Connection

    def result(self, seconds: float = 60) -> Any:
        """What the function returned; fails the test with the child's own traceback if it raised or was killed."""
        assert self.answer.poll(seconds), "the child has not answered in time"
        try:
            well, value = self.answer.recv()
        except EOFError:
            self.process.join()
            raise AssertionError(f"the child died: {self.process.exitcode}") from None
        self.process.join(seconds)
        assert well, value
        return value

    def killed(self, seconds: float = 60) -> bool:
        """Whether it died by SIGKILL; waits until it is over. Whatever else went wrong in it fails the test."""
        self.process.join(seconds)
        if self.process.exitcode == -signal.SIGKILL:
            return True
        self.result()
        return False

    def kill(self) -> None:
        """End it now, in the middle of whatever it does."""
        self.process.kill()
        self.process.join()


def start(function: Callable[..., Any], *args: Any, dies: str = "", env: dict[str, str] | None = None) -> Child:
    """Run a function of a test module in a process of its own.

    `dies` is where it kills itself, such as "before atlas.commits:commit" or "after atlas.store:Store.publish".
    """
    _prepare()
    here, there = _context.Pipe(duplex=False)
    process = _context.Process(target=_run, args=(there, function, args, dies, env or {}), daemon=True)
    process.start()
    there.close()
    return Child(process, here)


def _prepare() -> None:
    """Start the process all children are copies of; it finds the project where this one did."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_TESTS.parent), str(_TESTS), before)))
    try:
        _context.set_forkserver_preload(["atlas.engine", "atlas.lineage", "children"])
        ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _run(answer: Connection, function: Callable[..., Any], args: Any, dies: str, env: dict[str, str]) -> None:
    os.environ.update(env)
    try:
        if dies:
            _arm(dies)
        answer.send((True, function(*args)))
    except BaseException:  # noqa: BLE001 - the parent raises it again
        answer.send((False, traceback.format_exc()))


def _arm(dies: str) -> None:
    moment, place = dies.split()
    owner, name = place.rsplit("." if "." in place.partition(":")[2] else ":", 1)
    target = pkgutil.resolve_name(owner)
    real = getattr(target, name)

    def deadly(*args: Any, **options: Any) -> Any:
        if moment == "after":
            real(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(target, name, deadly)
