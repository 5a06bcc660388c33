"""One hook, as Git calls it: `atlas hook NAME`. It judges, or it refreshes; when it cannot, it says so and lets Git go.

Nothing here loads DuckDB before a refresh needs it: a person waits for `pre-commit`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Timer

from atlas import git
from atlas.config import MARKER, Config, load
from atlas.errors import AtlasError, GitRefused, Unavailable, UsageError
from atlas.memory import Finding

#: Tells the stub from every other way to end that Atlas refuses. An interpreter that cannot import Atlas ends with 1.
REFUSED = 97
#: The hooks Atlas has something to do in.
NAMES = ("pre-commit", "post-commit", "post-checkout", "post-merge", "post-rewrite", "pre-push")
#: Set while one of them runs, so that nothing it starts can start another.
GUARD = "ATLAS_HOOK"
#: Set by a person who wants Git to go on all the same.
SKIP = "ATLAS_SKIP"
#: Where the vaults of a repository are written down, in its local configuration: folders below the top.
VAULTS = "atlas.vault"


@dataclass(frozen=True, slots=True)
class Said:
    """What a hook has to say, and whether Git shall stop. Paths are relative to the top of the working tree."""

    refused: bool = False
    findings: tuple[Finding, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The vaults of the repository that a hook was called in, and the recorded ones that are not where they were."""

    vaults: tuple[tuple[Config, git.Repository], ...]
    missing: tuple[git.Repository, ...] = ()


def run(name: str, words: Sequence[str], read: Callable[[], bytes]) -> Said:
    """Do what this hook is for. `words` are the arguments Git gave it, `read` gives its standard input."""
    if os.environ.get(SKIP) or os.environ.get(GUARD):
        return Said()
    os.environ[GUARD] = name
    try:
        return _called(name, words, read)
    except (AtlasError, OSError, UnicodeError) as err:
        return Said(lines=(f"{name} did nothing: {err}",))
    finally:
        del os.environ[GUARD]


def vaults(folder: Path) -> Found:
    """The vaults of the repository at `folder`: those written down at the installation, else the top itself."""
    repository, reason = git.look(folder)
    if repository is None:
        raise GitRefused("find the repository of this hook", reason or f"{folder} is not under Git")
    outer = os.environ.get("GIT_DIR")
    if outer and (folder / outer).resolve() != repository.git_dir.resolve():
        raise GitRefused("find the repository of this hook", f"GIT_DIR is {outer}, and {folder} belongs to another")
    recorded = git.fields(repository.call("config", "--local", "-z", "--get-all", VAULTS).out)
    found, missing = [], []
    for name in dict.fromkeys(recorded or ["."]):
        root = (repository.top / name).resolve()
        if not root.is_relative_to(repository.top):
            raise UsageError(f"{VAULTS} is {name!r}, which lies outside the repository: run `atlas hooks install`.")
        prefix = "".join(f"{part}/" for part in root.relative_to(repository.top).parts)
        vault = replace(repository, folder=root, prefix=prefix)
        if (root / MARKER).is_file():
            found.append((load(root), vault))
        elif recorded:  # else a line in a folder of hooks that all repositories share, and this one has no vault
            missing.append(vault)
    return Found(tuple(found), tuple(missing))


def _called(name: str, words: Sequence[str], read: Callable[[], bytes]) -> Said:
    here = Path.cwd()
    if name == "pre-commit":
        return _before_commit(vaults(here))
    if name == "pre-push":
        return _before_push(vaults(here), words[0] if words else "", read())
    if name not in NAMES:
        raise UsageError(f"Atlas has no hook of this name: there are {', '.join(NAMES)}.")
    if name == "post-checkout" and tuple(words[2:3]) != ("1",):
        return Said()
    found = vaults(here)
    _refresh(found, over=name in ("post-merge", "post-rewrite"))
    return _after_merge(found) if name == "post-merge" else Said()


def _before_commit(found: Found) -> Said:
    judge = import_module("atlas.precommit").findings
    said = _from_top((repository, judge(config, repository)) for config, repository in found.vaults)
    warnings = import_module("atlas.checks").WARNINGS
    lines = [
        f"there is no vault at {vault.prefix or '.'}, so its notes were not checked; where it is now, run "
        "`atlas hooks install`"
        for vault in found.missing
    ]
    stopping = sum(finding.kind not in warnings for finding in said)
    if stopping:
        lines.append(f"not committed: {stopping} to repair; `ATLAS_SKIP=1 git commit` commits all the same")
    return Said(stopping > 0, said, tuple(lines))


def _before_push(found: Found, remote: str, refs: bytes) -> Said:
    judge = import_module("atlas.prepush").findings
    # What is pushed need not be what is checked out: where this branch has no vault, the defaults guard it.
    vaults = [*found.vaults, *((Config(vault.folder), vault) for vault in found.missing)]
    said = _from_top((vault, judge(config, vault, remote, refs)) for config, vault in vaults)
    said += _from_top((vault, _own_checks(config)) for config, vault in found.vaults)
    why = "not pushed: see above; `ATLAS_SKIP=1 git push` pushes all the same"
    return Said(bool(said), said, (why,) if said else ())


def _own_checks(config: Config) -> Iterable[Finding]:
    """What the vault's own checks, in `evals/`, say against a push."""
    if not any((config.root / "evals").glob("*.toml")):
        return
    with import_module("atlas.engine").MemoryEngine(config.root, create=False, resident=False) as engine:
        for verdict in engine.evaluate():
            for failure in verdict.failures:
                case = verdict.case
                yield Finding(case.file, 0, "eval", f"case {case.number} ({case.query}): {failure}")


def _from_top(found: Iterable[tuple[git.Repository, Iterable[Finding]]]) -> tuple[Finding, ...]:
    """The findings under the paths Git knows, each once: a vault may lie in another."""
    named = (replace(finding, path=repository.full(finding.path)) for repository, said in found for finding in said)
    return tuple(dict.fromkeys(named))


def _refresh(found: Found, *, over: bool) -> None:
    """Bring the indexes up to date, no longer than the vaults allow; what is left is done by the next search.

    `over`: Git calls this hook at the end of an operation, while the files that mark it are still there.
    """
    if not found.vaults or (not over and found.vaults[0][1].operation()):
        return
    with _ending(max(config.hooks_seconds for config, _ in found.vaults)):
        for config, _ in found.vaults:
            refresh(config)


def _after_merge(found: Found) -> Said:
    """The upkeep that is due after a merge; what it committed, or why it could not.

    Not ended by force: in the middle of a commit that would leave Git's lock behind, and the person's next commit would
    find it. What it waits for is bounded each: locks, signatures, the beginning of a task.
    """
    due = [config for config, _ in found.vaults if config.upkeep_on_merge and config.commit]
    return Said(lines=tuple(line for config in due for line in upkeep(config)))


def upkeep(config: Config) -> list[str]:
    """Run the upkeep that is due in a vault, unasked; what it did, a line per task. What stops and asks is said."""
    engine = import_module("atlas.engine").MemoryEngine
    try:
        with engine(config.root, create=False, resident=False, actor="upkeep") as opened:
            ran = opened.maintain(unasked=True)
    except (GitRefused, Unavailable):  # an operation is under way, or another upkeep is: it stays due
        return []
    return [f"upkeep, {task.task}: {task.stops or task.note or f'committed {task.commit[:9]}'}" for task in ran]


@contextmanager
def _ending(seconds: float) -> Iterator[None]:
    """End the process after so many seconds.

    A thread of DuckDB's or a lock that somebody holds cannot be interrupted. Ending a refresh can lose nothing: the
    index is written in transactions, and the system frees its lock.
    """
    end = Timer(seconds, os._exit, (0,))
    end.daemon = True
    end.start()
    try:
        yield
    finally:
        end.cancel()


def refresh(config: Config) -> None:
    """Bring the index up to date, unless another hook is at it. Vectors of a slow model are left to a search."""
    filelock = import_module("filelock")
    config.state.mkdir(exist_ok=True)
    with suppress(filelock.Timeout, Unavailable), filelock.FileLock(config.state / "hooks.lock", timeout=0):
        bounded = replace(config, lock_seconds=min(config.lock_seconds, config.hooks_seconds))
        lineage = partial(import_module("atlas.lineage").lineage, config.root)
        import_module("atlas.snapshot").Index(bounded, lineage).refresh()
