"""One frozen Config from `atlas.toml`, the environment and arguments, read once at a door; and the clock."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from atlas.errors import NotAVault, UsageError
from atlas.memory import WHOLE_VAULT, Finding, Scope

MARKER = "atlas.toml"
STATE = ".atlas"

#: Folders of other programs; their Markdown is not memory. Every folder whose name starts with a dot is left out too.
IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "lost+found"})
#: The same, as paths below the vault.
IGNORED_PATHS = frozenset({"logseq/bak", "logseq/version-files"})
#: How the lock files of office programs begin: `~$note.md` lies beside a note while it is open, and is none.
DEBRIS = "~$"
#: Endings that make a file a memory, in lower case.
ENDINGS = (".md", ".markdown")

#: Who writes the summary of many memories: rules, or the language model of `llm.model`.
SUMMARIES = ("offline", "llm")
#: How it is reckoned whether a memory is used enough to be kept for long.
HEATS = ("normalised", "heat")
EMBEDDINGS = ("static", "local", "remote", "none")
#: How memories may fade; see `decay`.
FORGET_POLICIES = ("activity", "fsrs")

#: Settings that are one of these words.
_WORDS = {
    "embedding": EMBEDDINGS,
    "forget_policy": FORGET_POLICIES,
    "upkeep_summaries": SUMMARIES,
    "consolidate_policy": HEATS,
}
#: Settings that are tables of numbers: their defaults, which keys they take (() is any), and the least of a number.
_TABLES: Mapping[str, tuple[Mapping[str, float], tuple[str, ...], float]] = {
    "forget_half_life": (
        {"episode": 60, "fact": 45, "note": 45, "decision": 365, "preference": 365, "skill": 365, "tool": 365},
        (),
        0.01,
    ),
    "forget_tiers": ({"working": 0.75, "long_term": 1, "user": 4}, ("working", "long_term", "user"), 0.01),
    "forget_thresholds": ({}, ("L1", "L0", "tombstone"), 0),
    "forget_budgets": ({"working": 0, "long_term": 0, "user": 0}, ("working", "long_term", "user"), 0),
}


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one opened vault. Durations are seconds, sizes are bytes."""

    root: Path
    scope: Scope = WHOLE_VAULT
    ignore: tuple[str, ...] = ()
    max_note_bytes: int = 5_000_000
    embedding: str = "static"
    model: str = ""
    api_base: str = ""
    download: bool = False
    reranker: str = ""
    llm_model: str = ""
    llm_api_base: str = ""
    llm_seconds: float = 15.0
    llm_retries: int = 1
    llm_max_calls: int = 500
    llm_max_tokens: int = 2_000_000
    writer: Any = field(default=None, compare=False)  # the model that a program gave its engine
    lock_seconds: float = 30.0
    git_seconds: float = 8.0
    commit: bool = True
    upkeep_on_merge: bool = True
    upkeep_on_watch: bool = True
    upkeep_seconds: float = 30.0
    upkeep_summaries: str = "offline"
    consolidate_policy: str = "normalised"
    consolidate_threshold: float = 0.0
    hooks_seconds: float = 5.0
    private: tuple[str, ...] = ("private/",)
    view_tokens: int = 2000
    warm_tokens: int = 100_000
    always_share: float = 0.15
    tokenizer: str = ""
    foresee: bool = False
    ingest_model_calls: int = 20
    actor: str = ""
    forget_enabled: bool = True
    forget_policy: str = "activity"
    forget_folders: tuple[str, ...] = ()
    forget_new_days: float = 14.0
    forget_most_share: float = 0.25
    forget_idle_days: float = 90.0
    forget_half_life: Mapping[str, float] = field(default_factory=lambda: _TABLES["forget_half_life"][0])
    forget_tiers: Mapping[str, float] = field(default_factory=lambda: _TABLES["forget_tiers"][0])
    forget_thresholds: Mapping[str, float] = field(default_factory=lambda: _TABLES["forget_thresholds"][0])
    forget_budgets: Mapping[str, float] = field(default_factory=lambda: _TABLES["forget_budgets"][0])

    @property
    def state(self) -> Path:
        """The folder of everything derived, ignored by Git."""
        return self.root / STATE


#: Settings that are whole numbers, and the least each may be.
_LEAST = {
    "max_note_bytes": 1,
    "view_tokens": 0,
    "warm_tokens": 0,
    "ingest_model_calls": 0,
    "llm_retries": 0,
    "llm_max_calls": 0,
    "llm_max_tokens": 0,
}

#: Settings that are on or off.
_SWITCHES = frozenset({"commit", "download", "upkeep_on_merge", "upkeep_on_watch", "foresee", "forget_enabled"})

#: Names of settings that hold a credential, and texts that are one or hold one, as addresses may.
_CREDENTIAL = re.compile(r"(?i)(?:^|_)(?:(?:api_?)?key|secret|password|token)$")
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|rk)-[\w-]{16,}|[?&](?:api[-_]?key|key|token)=", re.IGNORECASE)

#: Where each setting of `atlas.toml` goes: section, key → field of Config.
_KEYS: Mapping[str, Mapping[str, str]] = {
    "vault": {"ignore": "ignore", "max_note_bytes": "max_note_bytes"},
    "search": {
        "embedding": "embedding",
        "model": "model",
        "api_base": "api_base",
        "download": "download",
        "reranker": "reranker",
    },
    "llm": {
        "model": "llm_model",
        "api_base": "llm_api_base",
        "timeout_seconds": "llm_seconds",
        "retries": "llm_retries",
        "max_calls": "llm_max_calls",
        "max_tokens": "llm_max_tokens",
    },
    "git": {"commit": "commit", "timeout_seconds": "git_seconds"},
    "upkeep": {
        "on_merge": "upkeep_on_merge",
        "on_watch": "upkeep_on_watch",
        "timeout_seconds": "upkeep_seconds",
        "summaries": "upkeep_summaries",
    },
    "consolidate": {"policy": "consolidate_policy", "threshold": "consolidate_threshold"},
    "hooks": {"seconds": "hooks_seconds"},
    "share": {"private": "private"},
    "index": {"lock_seconds": "lock_seconds"},
    "scene": {
        "budget": "view_tokens",
        "warm_tokens": "warm_tokens",
        "always_share": "always_share",
        "tokenizer": "tokenizer",
        "foresee": "foresee",
    },
    "ingest": {"max_model_calls": "ingest_model_calls"},
    "forget": {
        "enabled": "forget_enabled",
        "policy": "forget_policy",
        "folders": "forget_folders",
        "new_days": "forget_new_days",
        "most_share": "forget_most_share",
        "idle_days": "forget_idle_days",
        "half_life": "forget_half_life",
        "tiers": "forget_tiers",
        "thresholds": "forget_thresholds",
        "budgets": "forget_budgets",
    },
}


def now() -> datetime:
    """The current time, UTC. `ATLAS_NOW` (ISO 8601; no zone means UTC) fixes it for tests and simulations."""
    fixed = os.environ.get("ATLAS_NOW")
    if not fixed:
        return datetime.now(UTC)
    try:
        parsed = datetime.fromisoformat(fixed)
    except ValueError:
        raise UsageError(
            f"ATLAS_NOW is {fixed!r}, which is not an ISO 8601 time such as 2026-01-31T09:00:00Z."
        ) from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def find_vault(start: Path) -> Path:
    """The nearest folder, from `start` upwards, that holds an `atlas.toml`; raises NotAVault."""
    here = start.resolve()
    for folder in (here, *here.parents):
        if (folder / MARKER).is_file():
            return folder
    raise NotAVault(str(start))


def choose_vault(given: str | os.PathLike[str] | None) -> Path:
    """The vault a command means: `--vault`, else `ATLAS_VAULT`, else the nearest parent with an `atlas.toml`."""
    named = given or os.environ.get("ATLAS_VAULT")
    if not named:
        return find_vault(Path.cwd())
    folder = Path(named).resolve()
    if not (folder / MARKER).is_file():
        raise NotAVault(str(folder))
    return folder


def load(root: Path, **overrides: Any) -> Config:
    """The settings of the vault at `root`. Overrides that are None are left to the file; raises UsageError."""
    file = root / MARKER
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise NotAVault(str(root)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise UsageError(f"{file} is not valid TOML ({err}): repair that line and run the command again.") from None
    if overrides.get("embedding") not in {None, *EMBEDDINGS}:
        raise UsageError(f"The embedding model is one of {', '.join(EMBEDDINGS)}, not {overrides['embedding']!r}.")
    config = replace(Config(root=root), **_settings(file, data))
    return replace(config, **{k: v for k, v in overrides.items() if v is not None})


def _settings(file: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Config that the file sets. A section Atlas does not know is left to newer versions."""
    _refuse_keys(file, data)
    fields: dict[str, Any] = {}
    for section, keys in _KEYS.items():
        table = data.get(section, {})
        if not isinstance(table, dict):
            raise UsageError(f"{file}: [{section}] must be a table, such as `[{section}]` on a line of its own.")
        for key, name in keys.items():
            if key in table:
                check = _table if name in _TABLES else _checked
                fields[name] = check(file, f"{section}.{key}", name, table[key])
    return fields


def _refuse_keys(file: Path, data: Mapping[str, Any]) -> None:
    """No credential in a file that Git keeps: under no name, and not as a part of an address. Raises UsageError."""
    for section, table in data.items():
        for key, value in table.items() if isinstance(table, dict) else ():
            if isinstance(value, str) and value.strip() and (_CREDENTIAL.search(key) or _KEY_SHAPE.search(value)):
                raise UsageError(
                    f"{file}: {section}.{key} holds a key, and Git would keep it: take it out, change it if it was "
                    "committed, and set the environment variable of its provider, such as OPENAI_API_KEY."
                )


def strangers(root: Path) -> list[Finding]:
    """Keys in the sections Atlas knows that it does not know: most are misspelt, and do nothing. Raises UsageError."""
    load(root)
    text = (root / MARKER).read_text(encoding="utf-8-sig")
    found = []
    for section, table in tomllib.loads(text).items():
        known = _KEYS.get(section, {})
        for key in table if known else ():
            if key not in known:
                near = import_module("difflib").get_close_matches(key, known, n=1)
                meant = f"did you mean `{near[0]}`?" if near else f"[{section}] takes {', '.join(known)}"
                said = f"`{section}.{key}` is no setting and does nothing; {meant}"
                found.append(Finding(MARKER, _line(text, section, key), "setting", said))
    return found


def _line(text: str, section: str, key: str) -> int:
    """The line of a key, as people write it; 0 where it is written otherwise."""
    here = ""
    for number, line in enumerate(text.splitlines(), 1):
        word = line.partition("=")[0].strip().strip("\"'")
        if line.lstrip().startswith("["):
            here = line.partition("]")[0].strip(" \t[")
        if word in {key, f"{section}.{key}"} and "=" in line and here in {section, ""}:
            return number
    return 0


def _checked(file: Path, where: str, name: str, value: Any) -> Any:
    """The value in the field's own type, or UsageError naming the setting."""
    if name in _LISTS and isinstance(value, list) and all(map(_LISTS[name], value)):
        return tuple(_folder(v) for v in value) if name == "forget_folders" else tuple(value)
    if value in _WORDS.get(name, ()):
        return value
    if (
        name in {"model", "api_base", "reranker", "llm_model", "llm_api_base", "tokenizer"}
        and isinstance(value, str)
        and "@" not in value
    ):  # no passwords in a file
        return value.strip()
    if name in _SWITCHES and isinstance(value, bool):
        return value
    if type(value) is int and value >= _LEAST.get(name, value + 1):
        return value
    if type(value) in {int, float} and (
        (name.endswith("_share") and 0 <= value <= 1)
        or (name.endswith("_seconds") and value > 0)
        or (name.endswith("_days") and 0 <= value < math.inf)
        or (name == "consolidate_threshold" and 0 <= value < math.inf)
    ):
        return float(value)
    raise UsageError(f"{file}: {where} cannot be {value!r}; docs/settings.md lists what it takes.")


def _table(file: Path, where: str, name: str, value: Any) -> Mapping[str, float]:
    """A table of numbers, over its defaults; or UsageError naming the entry."""
    defaults, known, least = _TABLES[name]
    if not isinstance(value, dict):
        key = where.rpartition(".")[2]
        raise UsageError(
            f"{file}: {where} is a table of numbers, such as `{key} = {{ {(known or ('fact',))[0]} = 1 }}`."
        )
    for key, number in value.items():
        if known and key not in known:
            raise UsageError(f"{file}: {where}.{key} is no setting; {where} takes {', '.join(known)}.")
        if type(number) not in {int, float} or not least <= number < math.inf:
            raise UsageError(f"{file}: {where}.{key} cannot be {number!r}; it is a number from {least:g} on.")
    return {**defaults, **value}


def _folder(path: str) -> str:
    """A folder of the vault as a prefix of paths; "." is the whole vault."""
    return Scope("" if path.strip() == "." else path.strip().removeprefix("./")).prefix


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_folder(value: Any) -> bool:
    """Whether this names a folder of the vault."""
    return isinstance(value, str) and not value.startswith("/") and ".." not in value.replace("\\", "/").split("/")


#: Settings that are lists, and what each of their members has to be.
_LISTS: Mapping[str, Callable[[Any], bool]] = {"ignore": _is_text, "private": _is_text, "forget_folders": _is_folder}
