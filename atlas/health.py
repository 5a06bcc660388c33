"""How the vault is: numbers, state, and what is wrong with which note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from atlas import derive, git, identity, vault
from atlas.config import MARKER
from atlas.credentials import find_secrets
from atlas.errors import NotFound, NotText
from atlas.memory import Finding

if TYPE_CHECKING:
    from atlas.catalog import Card, Catalog
    from atlas.config import Config
    from atlas.snapshot import Index

#: Findings that make a commit hook refuse; the others are said by `status` only.
BLOCKING = frozenset({"frontmatter", "stacked-frontmatter", "conflict-markers", "secret", "duplicate-id", "oversized",
                      "binary"})  # fmt: skip


def status(config: Config, catalog: Catalog, index: Index, waiting: Sequence[str]) -> dict[str, Any]:
    """The whole health report."""
    cards = catalog.cards()
    repository, reason = git.look(config.root)
    findings = [*catalog.findings(), *index.skipped(), *clashes(cards)]
    uncommitted: tuple[str, ...] = ()
    if repository is not None:
        uncommitted = repository.uncommitted()
        findings += _missing(config, repository)
    return {
        "vault": str(config.root),
        "memories": len(cards),
        "index": {"fresh": True, "generation": index.generation(), "embedding": config.embedding},
        "git": {
            "repository": str(repository.top) if repository else "",
            "blocked": repository.blocked() if repository else reason or "the vault is not under Git",
        },
        "uncommitted": list(uncommitted),
        "waiting": list(waiting),
        "hooks": {"installed": []},
        "watcher": {"running": False},
        "merge_driver": {"installed": False},
        "findings": sorted(set(findings), key=lambda f: (f.path, f.line, f.kind)),
    }


def clashes(cards: Iterable[Card]) -> list[Finding]:
    """Two files with one id, and two spellings of one name."""
    found = list(cards)
    written = {card.path: card.written_id for card in found}
    owners = identity.resolve(written, {c.path: c.blob for c in found}, identity.Lineage()).clashes
    ids = [
        Finding(path, 1, "duplicate-id", f"has the id of {owner}, which keeps it; remove the `id:` line here")
        for path, owner in owners.items()
    ]
    names = [
        Finding(path, 0, "name-collision", f"is the same name as {other!r} in another Unicode form")
        for path, other in identity.spelling_clashes(written).items()
    ]
    return ids + names


def _missing(config: Config, repository: git.Repository) -> list[Finding]:
    """Notes Git tracks that are not on disk: perhaps deleted, perhaps a folder that is not mounted."""
    have = vault.survey(config).files
    return [
        Finding(path, 0, "missing", "Git has it, the folder does not: commit its deletion, or `git restore` it")
        for path in repository.tracked()
        if path not in have and path != MARKER and git.is_kept(path) and not (config.root / path).exists()
    ]


def validate(config: Config, paths: Sequence[str], repository: git.Repository | None) -> list[Finding]:
    """What a commit hook would refuse in these files (all notes, if none are named), or in what is staged."""
    contents = dict(_staged(repository) if repository else _files(config, paths))
    findings = [f for path, data in contents.items() for f in check(path, data, config.max_note_bytes)]
    ids: dict[str, str] = {}
    for path, data in contents.items():
        id = _id(data)
        if id and ids.setdefault(id, path) != path:
            findings.append(Finding(path, 1, "duplicate-id", f"has the id of {ids[id]}; remove the `id:` line here"))
    return sorted(findings, key=lambda f: (f.path, f.line, f.kind))


def check(path: str, data: bytes, most: int) -> list[Finding]:
    """What is wrong with one note's bytes."""
    if len(data) > most:
        return [Finding(path, 0, "oversized", f"{len(data) / 1e6:.1f} MB, over the limit of {most / 1e6:g} MB")]
    try:
        note, found = derive.read(data, path)
    except NotText as err:
        return [Finding(path, 0, "binary", err.reason)]
    named = [Finding(path, f.line, f.kind, f.message) for f in found if f.kind in BLOCKING]
    secrets = [
        Finding(path, line, "secret", f"looks like a credential ({kind})") for line, kind in find_secrets(note.text)
    ]
    return named + secrets


def _files(config: Config, paths: Sequence[str]) -> Iterable[tuple[str, bytes]]:
    for path in paths or sorted(vault.survey(config).files):
        data = vault.read_listed(config, path) if not paths else vault.read(config, path)
        if data is None:
            raise NotFound("memory file", path)
        yield path, data


def _staged(repository: git.Repository) -> Iterable[tuple[str, bytes]]:
    """The staged content of the notes, as Git has it; what lies on disk may be another text."""
    blobs = {path: blob for path, blob in repository.staged().items() if blob and git.is_kept(path)}
    held = dict(repository.blobs(blobs.values()))
    return [(path, held[blob]) for path, blob in blobs.items() if blob in held and path.lower().endswith(".md")]


def _id(data: bytes) -> str:
    try:
        note, _ = derive.read(data, "")
    except NotText:
        return ""
    id = note.meta.get("id", "")
    return id if isinstance(id, str) else ""

