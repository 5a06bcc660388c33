"""How the vault is: numbers, state, and what is wrong with which note."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from atlas import git, hooks, identity, markdown, precommit, reconcile, standing, strays, survey, vault
from atlas.checks import FOREIGN, check
from atlas.config import MARKER, strangers
from atlas.errors import NotFound
from atlas.memory import Finding
from atlas.results import original

if TYPE_CHECKING:
    from atlas.catalog import Card, Catalog
    from atlas.config import Config
    from atlas.snapshot import Index

#: Where the id of a note stands, as bytes: what most notes have not need not be parsed.
_ID_LINE = re.compile(rb"""^id:[ \t]*["']?([0-9A-Za-z]{26})""", re.MULTILINE)


def status(config: Config, catalog: Catalog, index: Index, waiting: Sequence[str]) -> dict[str, Any]:
    """The whole health report."""
    cards = catalog.cards()
    repository, reason = git.look(config.root)
    findings = [*catalog.findings(), *index.skipped(), *clashes(cards), *copies(cards), *strangers(config.root)]
    uncommitted: tuple[str, ...] = ()
    if repository is not None:
        uncommitted = repository.uncommitted()
        findings += [*_missing(config, repository), *reconcile.findings(repository)]
        findings += strays.find(catalog, repository).findings(lambda path: vault.read(config, path))
    hooked = asdict(hooks.state(repository))
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
        "hooks": hooked,
        "watcher": standing.state(config),
        "merge_driver": hooked.pop("merge_driver"),
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


def copies(cards: Iterable[Card]) -> list[Finding]:
    """Copies that a sync program left beside a note, by their name; one that is numbered only if it has the same id."""
    written = {card.path: card.written_id for card in cards}
    found = []
    for path, id in written.items():
        source, sure = original(path)
        if source in written and (sure or (id and id == written[source])):
            command = f"git diff --no-index -- {shlex.quote(source)} {shlex.quote(path)}"
            said = f"is a copy of {source} that a sync program left: compare them (`{command}`), then delete one"
            found.append(Finding(path, 0, "conflict-copy", said))
    return found


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
    """What a commit hook would say of these files (all notes, if none are named), or of what is staged."""
    if repository is not None:
        return precommit.findings(config, repository)
    contents = dict(_files(config, paths))
    findings = [f for path, data in contents.items() for f in check(path, data, config.max_note_bytes).findings]
    if sum(finding.kind == FOREIGN for finding in findings) > 1:  # that is how this vault numbers its notes
        findings = [finding for finding in findings if finding.kind != FOREIGN]
    if not paths:
        findings += strangers(config.root)
    twice = _used_twice(contents, _unnamed(config, contents))
    return sorted([*findings, *twice], key=lambda f: (f.path, f.line, f.kind))


def _used_twice(contents: Mapping[str, bytes], rest: Iterable[tuple[str, bytes]]) -> list[Finding]:
    """Ids that another of these files, or of the rest, has too. An editor's "duplicate this note" copies the id."""
    ids = {path: id for path, data in contents.items() if (id := markdown.written_id(data))}
    wanted = {id.encode() for id in ids.values()}
    owners: dict[str, str] = {}
    for path, data in rest if ids else ():
        match = _ID_LINE.search(data)
        if match and match.group(1) in wanted and (id := markdown.written_id(data)):
            owners.setdefault(id, path)
    return [
        Finding(path, 1, "duplicate-id", f"has the id of {owner}; remove the `id:` line here")
        for path, id in ids.items()
        if (owner := owners.setdefault(id, path)) != path
    ]


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
