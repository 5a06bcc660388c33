"""What becomes of what an import found: new, here already, or refused, and why. Planning only.

A record is known by its `source`, which holds the id it has in the other tool: so an export that is read again brings
only what is new, and a memory that was edited here stays as it was edited. A file is known by its place and its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from atlas import markdown
from atlas.bundle import HERE
from atlas.catalog import Card
from atlas.credentials import find_secrets
from atlas.errors import (
    AtlasError,
    Conflict,
    DuplicateId,
    GitRefused,
    NotCommitted,
    NotText,
    OutsideVault,
    SecretFound,
    Unavailable,
    Unparsable,
)
from atlas.importers import File, Found, Skipped, Talk
from atlas.ingest import Request, checked, plan_batch
from atlas.memory import Applied, Change, Finding
from atlas.paths import check_path
from atlas.survey import blob_id, text_id

#: Records and files that are planned, written and committed together; of messages twice as many.
BATCH = 500
#: Bytes of files that are held at once.
MOST_HELD = 32_000_000
#: How many of one reason the report names.
NAMED = 3

DIFFERS = "another text of it is here: `--mode overwrite` replaces that"
EMPTY = "nothing in it is worth keeping: greetings and thanks alone"
TOO_LARGE = "it is larger than `vault.max_note_bytes`"
TWICE = "it stands in the export twice"
#: What says that the vault cannot be written to, not that one record is bad.
FATAL = (Conflict, GitRefused, NotCommitted, Unavailable)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some things were left out: how many, and the first few. `kept`: the rest of each was imported."""

    reason: str
    count: int
    named: tuple[str, ...]
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What an import met: the format, the conversations, records and files found, those here already, the others."""

    source: str
    found: int
    here: int
    left_out: tuple[Reason, ...]


@dataclass
class Tally:
    """What is counted while an import runs."""

    source: str
    found: int = 0
    imported: int = 0
    findings: list[Finding] = field(default_factory=list)
    remarks: list[Skipped] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)
    seen: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def leave(self, what: str, reason: str, kind: str = "skipped") -> None:
        """Count one thing that is left out."""
        self.findings.append(Finding(what, 0, kind, reason))

    def remark(self, skipped: Skipped) -> None:
        """Count what a reader left out."""
        if skipped.kept:
            self.remarks.append(skipped)
        else:
            self.findings += [Finding(skipped.what, 0, "skipped", skipped.reason)]
            self.remarks.append(skipped)

    def hear(self, said: Iterable[str]) -> None:
        """Count what storing conversations has to say; that nothing was new is told of each by itself."""
        for line in said:
            if not line.startswith("Nothing was stored"):
                self.remarks.append(Skipped(self.source, line.rstrip("."), kept=True))

    def report(self) -> Report:
        """What was met, reasons with the most things first."""
        grouped: dict[tuple[str, bool], list[Skipped]] = {}
        counted = {(skipped.what, skipped.reason) for skipped in self.remarks if not skipped.kept}
        plain = (Skipped(f.path, f.message) for f in self.findings if (f.path, f.message) not in counted)
        for skipped in (*self.remarks, *plain):
            if skipped.reason != HERE:
                grouped.setdefault((skipped.reason, skipped.kept), []).append(skipped)
        reasons = [
            Reason(reason, sum(s.count for s in group), tuple(s.what for s in group[:NAMED]), kept)
            for (reason, kept), group in grouped.items()
        ]
        here = sum(finding.message == HERE for finding in self.findings)
        return Report(self.source, self.found, here, tuple(sorted(reasons, key=lambda r: (r.kept, -r.count))))

    def outcome(self) -> Applied:
        """All batches as one: every path, the last commit, and the first reason why something was not committed."""
        paths = tuple(path for one in self.applied for path in one.paths)
        if not paths:
            return Applied(())
        done = [one for one in self.applied if one.paths]
        last = ([one for one in done if not one.committed] or done)[-1]
        return Applied(paths, last.commit, last.note)


def batches(found: Iterable[Found | Skipped], tally: Tally) -> Iterator[list[Found]]:
    """What was found in lists of one sort, as many as are worth a commit; what was left out goes to the tally."""
    waiting: dict[type, list[Found]] = {}
    weights: dict[type, int] = {}
    for one in found:
        if isinstance(one, Skipped):
            tally.remark(one)
            continue
        tally.found += 1
        sort = type(one)
        waiting.setdefault(sort, []).append(one)
        weights[sort] = weights.get(sort, 0) + _weight(one)
        if weights[sort] >= 1_000_000 or len(waiting[sort]) >= BATCH:
            yield waiting.pop(sort)
            weights[sort] = 0
    yield from (group for group in waiting.values() if group)


def _weight(one: Found) -> int:
    """In millionths of a batch."""
    if isinstance(one, Talk):
        return len(one.messages) * (500_000 // BATCH)
    size = len(one.data) if isinstance(one, File) else len(one.text)
    return size * 1_000_000 // MOST_HELD


# ------------------------------------------------------------------- records


def told_apart(
    requests: Sequence[Request], known: Mapping[str, Sequence[Card]], tally: Tally, *, overwrite: bool, most: int
) -> tuple[list[Request], list[tuple[Request, Card]]]:
    """The records that are new, and those that replace the memory they once became; the others go to the tally.

    `most` is how many bytes a note may have.
    """
    fresh, changed = [], []
    for request in requests:
        name = name_of(request)
        if len(request.text) > most:
            tally.leave(name, TOO_LARGE)
            continue
        try:
            keys = checked(request)
        except AtlasError as err:
            tally.leave(name, reason_of(err), "refused")
            continue
        if request.source and tally.seen.setdefault(request.source, keys) is not keys:
            tally.leave(name, TWICE)
            continue
        cards = known.get(request.source or "", ())
        if not cards:
            fresh.append(request)
        elif set(keys) <= {card.text_key for card in cards}:
            tally.leave(name, HERE, "here")
        elif overwrite and len(cards) == len(keys) == 1 and cards[0].written_id:
            changed.append((request, cards[0]))
        else:
            tally.leave(name, DIFFERS, "here")
    return fresh, changed


def name_of(request: Request) -> str:
    """What a record is called in the report."""
    return request.source or request.text[:40]


def replacing(request: Request, card: Card, data: bytes, now: datetime) -> Change:
    """The file of a memory, made anew of the text its record has now; its id and its place stay."""
    plan = plan_batch([request], now=now, new_id=lambda: card.id, taken=lambda _: False, stored=lambda _: {},
                      related=lambda _: [], total=0)  # fmt: skip
    draft = plan.drafts[0]
    return Change(card.path, draft.data, blob_id(data), card.id, draft.label)


# --------------------------------------------------------------------- files


@dataclass(frozen=True, slots=True)
class Ground:
    """The vault as files are to be put into it.

    `read` gives a path's bytes or None, `taken` whether a name is in use in any spelling, `owner` the path of an id or
    "", `lying` where contents lie by blob id; `expected` are the paths of all files of the import.
    """

    read: Callable[[str], bytes | None]
    taken: Callable[[str], bool]
    owner: Callable[[str], str]
    lying: Mapping[str, Sequence[str]]
    expected: frozenset[str]
    most: int


def placed(files: Sequence[File], ground: Ground, tally: Tally, *, overwrite: bool) -> list[Change]:
    """The files that are to be written; those that are here, cannot be or must not be go to the tally."""
    changes: dict[str, Change] = {}
    claimed: set[str] = set()
    for file in sorted(
        files, key=lambda one: (len(one.path), one.path)
    ):  # of two with one id, the copy's name is longer
        try:
            change, reason, id = _placed(file, ground, overwrite=overwrite)
            if change and id in claimed:
                raise DuplicateId(id, [])
        except AtlasError as err:
            tally.leave(file.path, reason_of(err), "refused")
            continue
        claimed |= {id} - {""}
        if change is None or change.path in changes:
            tally.leave(file.path, reason or TWICE, "here" if reason in (HERE, DIFFERS) else "skipped")
        else:
            changes[change.path] = change
    return list(changes.values())


def _placed(file: File, ground: Ground, *, overwrite: bool) -> tuple[Change | None, str, str]:
    """The change for one file, or None and why not; and the id that is written in it."""
    if len(file.data) > ground.most:
        return None, TOO_LARGE, ""
    there = ground.read(file.path)
    if there == file.data:
        return None, HERE, ""
    check_path(file.path, existing=there is not None)
    text = markdown.decode(file.data).text
    for line, kind in find_secrets(text):
        raise SecretFound(file.path, line, kind)
    written = markdown.parse(text, file.path).meta.get("id")
    id = written if isinstance(written, str) else ""
    change, reason = _into(ground, file, (ground.owner(id) if id else "") or file.path, overwrite=overwrite)
    return change, reason, id


def _into(ground: Ground, file: File, path: str, *, overwrite: bool) -> tuple[Change | None, str]:
    there = ground.read(path)
    if there == file.data:
        return None, HERE
    if there is None:
        moved = [p for p in ground.lying.get(text_id(file.data), ()) if p not in ground.expected]
        if moved and file.data.strip():
            return None, HERE
        reason = "a file of that name in another spelling is here" if ground.taken(path) else ""
        return (None, reason) if reason else (Change(path, file.data), "")
    return (Change(path, file.data, blob_id(there)), "") if overwrite else (None, DIFFERS)


def distrusted(file: File) -> File | Skipped:
    """The file marked as untrusted, and no longer pinned, whatever it says of itself."""
    try:
        source = markdown.decode(file.data)
        changes: dict[str, Any] = {"trust": "untrusted"}
        if "pinned" in markdown.parse(source.text, file.path).meta:
            changes["pinned"] = None
        text = markdown.edit(source.text, changes, path=file.path)
        return replace(file, data=markdown.encode(source, text))
    except AtlasError as err:
        return Skipped(file.path, reason_of(err))


def reason_of(err: AtlasError) -> str:
    """Why something was refused, in words that are the same for all that were refused for the same reason."""
    if isinstance(err, SecretFound):
        return f"it holds what looks like a credential ({err.kind})"
    if isinstance(err, NotText):
        return f"it is not text: {err.reason}"
    if isinstance(err, OutsideVault):
        return f"its path is not one for a memory: {err.reason}"
    if isinstance(err, Unparsable):
        return f"its metadata cannot be read: {err.reason}"
    if isinstance(err, DuplicateId):
        return "its id is used by another memory"
    return str(err)
