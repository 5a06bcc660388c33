"""The program: the command line, and a quicker way in for the hooks."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module


def run() -> None:
    """The console script. A hook is not led past click, whose import a commit would wait for."""
    if sys.argv[1:3] == ["hook", "--stub"] and len(sys.argv) > 3:
        sys.excepthook = _unforeseen
        _hook(sys.argv[3], sys.argv[4:])
    import_module("atlas.commands").run()


def _hook(name: str, words: list[str]) -> None:
    """Run one hook for its stub, and end the process: taking modules down in order takes time too."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if name == "pre-commit":
        gc.disable()  # a tenth of the time that a commit waits, for garbage that the end of the process takes anyway
    hook = import_module("atlas.hook")
    said = hook.run(name, words, sys.stdin.buffer.read if sys.stdin else bytes)
    lines = [import_module("atlas.view").findings(said.findings)] if said.findings else []
    lines += [f"atlas: {line}" for line in said.lines]
    if lines and sys.stderr:
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()
    os._exit(hook.REFUSED if said.refused else 0)


def _unforeseen(kind: type[BaseException], err: BaseException, _trace: object) -> None:
    """What Python calls for an error nothing above knows. The exit code is 1, which the stub lets pass."""
    if sys.stderr:
        sys.stderr.write(f"atlas: an error Atlas did not foresee in a hook ({kind.__name__}: {err})\n")


if __name__ == "__main__":
    run()
