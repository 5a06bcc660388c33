"""How the vault is: numbers, state, and what is wrong with which note."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from atlas import derive, git, identity, survey, vault
from atlas.config import ENDINGS, MARKER, strangers
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

#: Where the id of a note stands, as bytes: what most notes have not need not be parsed.
_ID_LINE = re.compile(rb"""^id:[ \t]*["']?([0-9A-Za-z]{26})""", re.MULTILINE)


def status(config: Config, catalog: Catalog, index: Index, waiting: Sequence[str]) -> dict[str, Any]:
    """The whole health report."""
    cards = catalog.cards()
    repository, reason = git.look(config.root)
    findings = [*catalog.findings(), *index.skipped(), *clashes(cards), *strangers(config.root)]
    uncommitted: tuple[str, ...] = ()
    if repository is not None:
        uncommitted = repository.uncommitted()
        findings += _missing(config, repository)
    return {
        "vault": str(config.root),
        "memories": len(cards),
        "index": {"fresh": True, "generation": index.generation(), **index.model()},
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
    look = survey.survey(config)
    return [
        Finding(path, 0, "missing", "Git has it, the folder does not: commit its deletion, or `git restore` it")
        for path in repository.tracked()
        if path not in look.files and path != MARKER and git.is_kept(path)
        # What lies in a folder that cannot be read is neither there nor missing.
        and not path.startswith(look.unknown) and not (config.root / path).exists()
    ]  # fmt: skip


def validate(config: Config, paths: Sequence[str], repository: git.Repository | None) -> list[Finding]:
    """What a commit hook would refuse in these files (all notes, if none are named), or in what is staged."""
    contents = dict(_staged(config, repository) if repository else _files(config, paths))
    findings = [f for path, data in contents.items() for f in check(path, data, config.max_note_bytes)]
    rest = _committed(repository, contents) if repository else _unnamed(config, contents)
    if not paths and repository is None:
        findings += strangers(config.root)
    return sorted([*findings, *_used_twice(contents, rest)], key=lambda f: (f.path, f.line, f.kind))


def _used_twice(contents: Mapping[str, bytes], rest: Iterable[tuple[str, bytes]]) -> list[Finding]:
    """Ids that another of these files, or of the rest, has too. An editor's "duplicate this note" copies the id."""
    ids = {path: id for path, data in contents.items() if (id := _id(data))}
    wanted = {id.encode() for id in ids.values()}
    owners: dict[str, str] = {}
    for path, data in rest if ids else ():
        match = _ID_LINE.search(data)
        if match and match.group(1) in wanted and (id := _id(data)):
            owners.setdefault(id, path)
    return [
        Finding(path, 1, "duplicate-id", f"has the id of {owner}; remove the `id:` line here")
        for path, id in ids.items()
        if (owner := owners.setdefault(id, path)) != path
    ]


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


def _files(config: Config, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for path in paths or sorted(survey.survey(config).files):
        data = survey.read_listed(config, path) if not paths else vault.read(config, path)
        if data is None:
            raise NotFound("memory file", path)
        yield path, data


def _unnamed(config: Config, named: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """The other notes of the vault."""
    for path in survey.survey(config).files:
        data = survey.read_listed(config, path) if path not in named else None
        if data is not None:
            yield path, data


def _staged(config: Config, repository: git.Repository) -> Iterator[tuple[str, bytes]]:
    """The staged content of the notes, as Git has it; what lies on disk may be another text."""
    memories = survey.survey(config).files
    blobs = {
        path: blob
        for path, blob in repository.staged(_index_of_hook(repository)).items()
        # What is ignored, or in an editor's folder, is no memory; what is staged but gone from disk may be one.
        if blob and path.lower().endswith(ENDINGS) and (path in memories or not (config.root / path).exists())
    }
    held = dict(repository.blobs(blobs.values()))
    return ((path, held[blob]) for path, blob in blobs.items() if blob in held)


def _committed(repository: git.Repository, staged: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """The notes of HEAD that the next commit leaves as they are."""
    changed = {*staged, *repository.staged(_index_of_hook(repository))}
    tree = repository.tree("HEAD", ENDINGS) if repository.head() else {}
    paths = {blob: path for path, blob in tree.items() if path not in changed}
    return ((paths[blob], data) for blob, data in repository.blobs(paths))


def _index_of_hook(repository: git.Repository) -> str:
    """The index a hook is asked about: for `git commit -a` and `git commit PATH` it is not the repository's own.

    Only one that lies in this repository counts: the hook of another one may have started us.
    """
    named = os.environ.get("GIT_INDEX_FILE", "")
    place = (repository.top / named).resolve()
    return str(place) if named and place.is_relative_to(repository.git_dir.resolve()) else ""


def _id(data: bytes) -> str:
    try:
        note, _ = derive.read(data, "")
    except NotText:
        return ""
    id = note.meta.get("id", "")
    return id if isinstance(id, str) else ""
