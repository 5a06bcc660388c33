"""What a session keeps from one process to the next, in `.atlas/cache`: a file for each scope and name.

It is derived from the journal and from use, and may be deleted: a session without it starts anew. It holds the last
view, so that the next one can begin as that did; what has changed since is known by its blob id and never shown.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas import frame, vault
from atlas.cache import Tiers
from atlas.focus import Focus
from atlas.order import Standing
from atlas.prefetch import Prefetcher

if TYPE_CHECKING:
    from atlas.config import Config

FOLDER = "cache"
_VERSION = 1
_LISTED = 12
#: This file names the time since the last purge: what a session knew before is not to be written again.
_ERA = "purged"
#: So many sessions are kept, those used last.
_FILES = 200
#: What reading a state raises that is none.
_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError)
_SHARES = ("hit_rate", "prefetch_accuracy", "prefetch_coverage", "prefix_reuse", "regret")


@dataclass(slots=True)
class Counts:
    """Sums over the turns.

    `tokens` of views, `same` of them an identical beginning; `best` hits that a view made anew would show among the
    first ten, `hidden` of them not in the view served; topic `shifts`.
    """

    turns: int = 0
    tokens: int = 0
    same: int = 0
    best: int = 0
    hidden: int = 0
    shifts: int = 0


@dataclass(slots=True)
class Kept:
    """The state of a session.

    `text` is the last view, `previous` are its items in order; `shown` has their paths and blob ids, `names` what each
    is called there; `loaded` has the memories of each cluster that was loaded. `asked` is when the last view was, in
    seconds since 1970; `era` see `renew`.
    """

    name: str
    scope: str
    fence: str
    tiers: Tiers
    prefetcher: Prefetcher
    focus: Focus = field(default_factory=Focus)
    asked: float = 0.0
    previous: tuple[Standing, ...] = ()
    shown: dict[str, tuple[str, str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    text: str = ""
    loaded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    era: str = ""


def load(config: Config, name: str) -> Kept:
    """What the session of this name in the scope of `config` kept; a new one where that is nothing or damaged."""
    with suppress(*_DAMAGED):
        state = json.loads(place(config, name).read_bytes())
        if (state["version"], state["name"], state["scope"]) == (_VERSION, name, config.scope.prefix):
            return _restored(config, state)
    return Kept(name, config.scope.prefix, frame.fence(), Tiers(*_room(config)), Prefetcher(), era=_era(config))


def save(config: Config, kept: Kept) -> None:
    """Write it, whole or not at all; nothing of before a purge is written after it."""
    if is_past(config, kept):
        return
    file = place(config, kept.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "version": _VERSION,
        "name": kept.name,
        "scope": kept.scope,
        "fence": kept.fence,
        "counts": {name: getattr(kept.counts, name) for name in Counts.__slots__},
        "text": kept.text,
        "previous": [[one.id, one.text, one.heading, one.worth] for one in kept.previous],
        "shown": kept.shown,
        "names": kept.names,
        "loaded": kept.loaded,
        "tiers": kept.tiers.state(),
        "prefetch": kept.prefetcher.state(),
        "focus": kept.focus.state(),
        "asked": kept.asked,
    }
    vault.write_elsewhere(file, json.dumps(state, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    for old in _by_use(config)[_FILES:]:
        old.unlink(missing_ok=True)


def forget(config: Config, name: str) -> None:
    """Remove what a session kept."""
    place(config, name).unlink(missing_ok=True)


def renew(config: Config) -> None:
    """Let every session begin anew, in other processes too: a memory is purged, and no copy may come back."""
    vault.write_elsewhere(config.state / _ERA, secrets.token_hex(8).encode())
    for file in _by_use(config):
        file.unlink(missing_ok=True)


def is_past(config: Config, kept: Kept) -> bool:
    """Whether a memory was purged since this state began."""
    return kept.era != _era(config)


def _era(config: Config) -> str:
    try:
        return (config.state / _ERA).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def place(config: Config, name: str) -> Path:
    """Where a session's state lies. Names are anybody's, file names are not."""
    key = hashlib.blake2b(f"{config.scope.prefix}\0{name}".encode("utf-8", "surrogatepass"), digest_size=12)
    return config.state / FOLDER / f"{key.hexdigest()}.json"


def told(config: Config, live: Mapping[str, str]) -> list[dict[str, Any]]:
    """The numbers of every session below the scope of `config`, the one used last first.

    `live` has the blob id of every memory by its id: of what has other content by now, or none, nothing is told.
    """
    found = []
    for file in _by_use(config):
        with suppress(*_DAMAGED):
            state = json.loads(file.read_bytes())
            one = _restored(config, state)
            if state["version"] == _VERSION and one.scope.startswith(config.scope.prefix):
                hot = {id for id, (_, blob) in one.shown.items() if live.get(id) == blob}
                warm = {id for id, (blob, _) in state["tiers"]["held"].items() if live.get(id) == blob}
                found.append({**numbers(one), "view": _view(one, hot), "ids": {"hot": hot, "warm": warm}})
    return found


def _by_use(config: Config) -> list[Path]:
    """The files of all sessions, the one used last first."""
    found = []
    for file in (config.state / FOLDER).glob("*.json"):
        with suppress(OSError):  # another process may have removed it
            found.append((-file.stat().st_mtime_ns, file))
    return [file for _, file in sorted(found)]


def summary(config: Config, live: Mapping[str, str], frozen: int = 0) -> dict[str, Any]:
    """All sessions of the scope as one: shares weighed by turns, and how many of the memories are in which tier.

    A memory is as near as its nearest session has it; `live` has their blob ids by their ids, `frozen` is how many
    history alone has.
    """
    sessions = told(config, live)
    turns = sum(one["turns"] for one in sessions)
    shares: dict[str, float | None] = {}
    for name in _SHARES:
        pairs = [(one[name], one["turns"]) for one in sessions if one[name] is not None and one["turns"]]
        shares[name] = round(sum(s * n for s, n in pairs) / sum(n for _, n in pairs), 4) if pairs else None
    hot = {id for one in sessions for id in one["ids"]["hot"]}
    warm = {id for one in sessions for id in one["ids"]["warm"]} - hot
    tiers = {"hot": len(hot), "warm": len(warm), "cold": len(live) - len(hot) - len(warm)}
    tiers["frozen"] = frozen
    return {**shares, "turns": turns, "tiers": tiers, "sessions": [_without_ids(one) for one in sessions]}


def _without_ids(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name != "ids"}


def numbers(kept: Kept) -> dict[str, Any]:
    """How well it does: shares from 0 to 1, None where nothing has happened yet."""
    counts, tiers, issued = kept.counts, kept.tiers.numbers(), kept.prefetcher.numbers()
    return {
        "session": kept.name,
        "scope": kept.scope,
        "turns": counts.turns,
        "hit_rate": tiers["hit_rate"] if tiers["needed"] else None,
        "regret": _share(counts.hidden, counts.best),
        "prefix_reuse": _share(counts.same, counts.tokens),
        "prefetch_accuracy": issued.precision,
        "prefetch_coverage": issued.coverage,
        "prefetched": issued.issued,
        "topic_shifts": counts.shifts,
        "tiers": {
            "hot": {"memories": tiers["hot_memories"], "tokens": tiers["hot_tokens"], "room": kept.tiers.hot_tokens},
            "warm": {
                "memories": tiers["warm_memories"],
                "tokens": tiers["warm_tokens"],
                "room": kept.tiers.warm_tokens,
            },
        },
    }


def _view(one: Kept, live: Collection[str]) -> list[dict[str, str]]:
    """The items of the last view that still are what they were, by the first words each is shown with."""
    shown = [item for item in one.previous if item.id in live][:_LISTED]
    return [{"id": item.id, "text": item.text.partition("\n")[0][:120]} for item in shown]


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _room(config: Config) -> tuple[int, int]:
    return config.view_tokens, config.warm_tokens


def _restored(config: Config, state: Mapping[str, Any]) -> Kept:
    fence = str(state["fence"])
    if not frame.FENCE.fullmatch(fence):
        raise ValueError
    return Kept(
        name=str(state["name"]),
        scope=str(state["scope"]),
        fence=fence,
        tiers=Tiers.restored(state["tiers"], *_room(config)),
        prefetcher=Prefetcher.restored(state["prefetch"]),
        focus=Focus.restored(state["focus"]),
        asked=float(state["asked"]),
        previous=tuple(Standing(str(i), str(t), str(h), float(w)) for i, t, h, w in state["previous"]),
        shown={str(id): (str(path), str(blob)) for id, (path, blob) in state["shown"].items()},
        text=str(state["text"]),
        names={str(id): str(name) for id, name in state["names"].items()},
        loaded={str(name): tuple(map(str, ids)) for name, ids in state.get("loaded", {}).items()},
        counts=Counts(**{name: int(state["counts"][name]) for name in Counts.__slots__}),
        era=_era(config),
    )
