"""From a text to the files that would remember it. Planning only: nothing here reads a disk or writes one.

    Request ─► parts ─► Draft (label, summary, entities, importance, path, bytes) ─► Plan (changes, joins, duplicates)

A memory that is short is its own label and summary; a longer one keeps the text, word for word, as its detail.
Memories that share a telling entity form a cluster, in the same commit.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from slugify import slugify

from atlas import drift, kinds, markdown
from atlas.credentials import find_secrets
from atlas.errors import NotText, SecretFound, UsageError
from atlas.membership import Known, plan_clusters
from atlas.memory import CLUSTER_PREFIX, Change, Scope
from atlas.models import offline
from atlas.models.entities import entities
from atlas.parts import split
from atlas.paths import RESERVED
from atlas.statements import happened

#: Longest file name drawn from a label, in ASCII characters without its ending.
SLUG_CHARS = 60

#: What was created so long before it is stored says when it was stored too.
_LATE = timedelta(days=1)
# Names tried with a number behind them before the id decides: a chat says "Thanks" five hundred times.
_NUMBERED = 9


@dataclass(frozen=True, slots=True)
class Request:
    """One text to remember. What is None or empty is drawn from the text; `scope` is a path prefix.

    `whole` keeps a list of statements as one memory. `created` and `valid_from` are ISO 8601; a fact that tells of a
    change on a day ("Ana moved to floor 5 yesterday") is valid from that day where nothing else is given. `meta` is
    further metadata, written behind its own.
    """

    text: str
    kind: str | None = None
    label: str | None = None
    tags: Sequence[str] = ()
    importance: float | None = None
    scope: str | Scope | None = None
    source: str | None = None
    valid_from: str | None = None
    trust: str | None = None
    created: str | datetime | None = None
    whole: bool = False
    entities: Sequence[str] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """One memory as it would be written. `meta` is its metadata in order, `data` the whole file."""

    id: str
    path: str
    label: str
    summary: str
    text: str
    text_key: str
    meta: Mapping[str, Any]
    data: bytes = b""

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.meta["kind"])

    @property
    def importance(self) -> float:
        """0 to 1."""
        return float(self.meta["importance"])

    @property
    def entities(self) -> tuple[str, ...]:
        """What it is about."""
        return tuple(self.meta.get("entities", ()))

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, clusters among them."""
        return tuple(self.meta.get("tags", ()))

    @property
    def clusters(self) -> tuple[str, ...]:
        """The slugs of its clusters."""
        return tuple(t.removeprefix(CLUSTER_PREFIX) for t in self.tags if t.startswith(CLUSTER_PREFIX))

    @property
    def change(self) -> Change:
        """The new file, as the writing hand takes it."""
        return Change(self.path, self.data, memory=self.id, label=self.label)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an ingest would do. `joins`: path of a stored memory → tags it gains; `duplicates`: ids stored already.

    `per_text`: for each request, the id that holds its (first) text.
    """

    drafts: tuple[Draft, ...]
    joins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    duplicates: tuple[str, ...] = ()
    per_text: tuple[str, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """The new files."""
        return [draft.change for draft in self.drafts]

    @property
    def subject(self) -> str:
        """The first line of the commit."""
        if len(self.drafts) == 1:
            return f"Remember {self.drafts[0].label}"
        return f"Remember {len(self.drafts)} memories"


def plan_batch(
    requests: Iterable[Request],
    *,
    now: datetime,
    new_id: Callable[[], str],
    taken: Callable[[str], bool],
    stored: Callable[[Sequence[str]], Mapping[str, str]],
    related: Callable[[Sequence[str]], Sequence[Known]],
    total: int,
) -> Plan:
    """What it takes to remember these texts in a vault of `total` memories.

    `stored` says which text keys are there already (key → id), `related` which memories share one of some entities.
    Raises UsageError, NotText, SecretFound.
    """
    by_request = [_parts(request) for request in requests]
    parts = [part for group in by_request for part in group]
    ids = dict(stored([key for key, _ in parts])) if parts else {}
    drafts: list[Draft] = []
    duplicates: list[str] = []
    used: set[str] = set()
    for key, request in parts:
        if key in ids:
            duplicates.append(ids[key])
            continue
        draft = _draft(request, key, new_id(), now, lambda path: path in used or taken(path))
        ids[key] = draft.id
        used.add(draft.path)
        drafts.append(draft)
    found = related(sorted({e for draft in drafts for e in draft.entities}))
    plan = _clustered(drafts, found, total, tuple(dict.fromkeys(duplicates)))
    return replace(plan, per_text=tuple(ids[group[0][0]] for group in by_request))


def checked(request: Request) -> tuple[str, ...]:
    """The text keys of the memories a request makes; raises what storing it would raise: for one of many."""
    parts = _parts(request)
    clean_tags(request.tags)
    _importance(request.importance, "", "note")
    _created(request.created, datetime.now(UTC))
    _date("valid_from", request.valid_from)
    return tuple(key for key, _ in parts)


def _parts(request: Request) -> list[tuple[str, Request]]:
    """(text key, request) for every memory in the text. A label of the caller's means one thing, not a list."""
    text = request.text.removeprefix("\ufeff")
    _check_text(text)
    _check_secrets(request)
    own = kinds.key(request.kind, text) if text.strip() else None
    if own:
        return [(own, replace(request, text=text))]
    parts = split(text, listed=not (request.whole or request.label))
    if not parts:
        raise UsageError("There is nothing to remember: the text is empty.")
    labels = [request.label] * len(parts)
    if request.label and len(parts) > 1:
        labels = [f"{request.label} ({n}/{len(parts)})" for n in range(1, len(parts) + 1)]
    return [(markdown.text_key(p), replace(request, text=p, label=lb)) for p, lb in zip(parts, labels, strict=True)]


def _check_text(text: str) -> None:
    if "\0" in text:
        raise NotText("it holds a NUL character, which Git would take for a picture; remove it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as err:
        raise NotText(f"character {err.start + 1} is half of a surrogate pair; decode the text again") from None


def _check_secrets(request: Request) -> None:
    """Refuse before a path is drawn from the text: the gate's error names the path, and so would repeat the secret."""
    said = {"text": request.text, "label": request.label, "source": request.source, "tags": "\n".join(request.tags)}
    for name, value in said.items():
        for line, kind in find_secrets(value or ""):
            raise SecretFound(name, line, kind)


def _draft(request: Request, key: str, id: str, now: datetime, taken: Callable[[str], bool]) -> Draft:
    """One memory from one part of a request, its file not yet composed."""
    text = request.text
    kind = (request.kind or "").strip() or offline.kind(text)
    scope = request.scope if isinstance(request.scope, Scope) else Scope(request.scope or "")
    label = " ".join((request.label or "").split())
    form = kinds.form(
        kind, text, label=label, prefix=scope.prefix, source=request.source, trust=request.trust, taken=taken
    )
    created = _created(request.created, now)
    meta = {
        **form.first,
        "id": id,
        "kind": kind,
        "tags": clean_tags(request.tags),
        "created": created,
        # A chat of last year that is imported today is new here: forgetting must not take it tomorrow.
        "recorded_at": _created(now, now) if now - created > _LATE else None,
        "importance": _importance(request.importance, text, kind),
        "entities": list(entities(text) if request.entities is None else request.entities),
        "source": request.source,
        "valid_from": _date("valid_from", request.valid_from) or _since(text, kind, created),
        "trust": form.trust,
        **form.last,
    }
    kept = {name: value for name, value in {**meta, **request.meta, **meta}.items() if value not in (None, "", [])}
    path = form.path or free_path(f"{scope.prefix}memories/{created:%Y/%m}/", form.label, id, taken)
    return Draft(id, path, form.label, form.summary, form.text, key, kept)


def _written(draft: Draft) -> Draft:
    """The draft with its file composed. A text of one line that is its own summary needs no detail."""
    own = kinds.composed(draft.kind, draft.meta, draft.label, draft.summary, draft.text)
    if own is not None:
        return replace(draft, data=own.encode("utf-8"))
    short = draft.summary == draft.text.strip()
    made = {} if short else {drift.KEY: drift.digest(draft.label, draft.summary, draft.text)}
    text = markdown.compose(
        meta={**draft.meta, **made}, label=draft.label, summary=draft.summary, detail="" if short else draft.text
    )
    return replace(draft, data=text.encode("utf-8"))


def _importance(given: float | None, text: str, kind: str) -> float:
    if given is None:
        return offline.importance(text, kind)
    if not 0 <= given <= 1:
        raise UsageError(f"An importance lies between 0 and 1; {given} does not.")
    return float(given)


def clean_tags(given: Sequence[str]) -> list[str]:
    """Tags as they are written, each once; raises UsageError for what can be no tag."""
    if isinstance(given, str):
        raise UsageError(f"Tags are a list of words, not the one text {given!r}.")
    tags = [tag.strip().lstrip("#") for tag in given]
    for tag in tags:
        if not tag or re.search(r"[\s,#\[\]]", tag):
            raise UsageError(f"{tag!r} cannot be a tag: write it without spaces, commas, `#` and brackets.")
    return list(dict.fromkeys(tags))


def _created(given: str | datetime | None, now: datetime) -> datetime:
    """The moment in UTC, to the second; a moment without a zone is UTC."""
    moment = given if isinstance(given, datetime) else now if given is None else _when("created", given)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).replace(microsecond=0)


def _date(name: str, given: str | None) -> str | None:
    """A date as the caller spelled it, once it is known to be one."""
    if given is not None:
        _when(name, given)
    return given


def _since(text: str, kind: str, created: datetime) -> str | None:
    """The day a fact says it has held since: "yesterday" means another day tomorrow. An episode holds at no time."""
    return None if kind == "episode" else happened(text, created)


def _when(name: str, given: str) -> datetime:
    moment = markdown.when(given)
    if moment is None:
        raise UsageError(f"{name} is {given!r}, which is not a date such as 2026-01-31 or 2026-01-31T09:00:00Z.")
    return moment


def free_path(folder: str, label: str, id: str, taken: Callable[[str], bool]) -> str:
    """A free path: the label in ASCII, then with a number, then with the end of the id."""
    slug = slugify(re.sub("['’]", "", label), max_length=SLUG_CHARS, word_boundary=True, save_order=True).strip("-")
    if not slug or slug in RESERVED:
        slug = f"{slug or 'memory'}-{id[-6:].lower()}"
    endings = ["", *(f"-{n}" for n in range(2, _NUMBERED + 1)), *(f"-{id[-n:].lower()}" for n in range(6, len(id) + 1))]
    for ending in endings:
        path = f"{folder}{slug[: SLUG_CHARS - len(ending)].rstrip('-')}{ending}.md"
        if not taken(path):
            return path
    raise UsageError(f"No free file name is left for {label!r}: give it another label.")


def _clustered(drafts: Sequence[Draft], found: Sequence[Known], total: int, duplicates: tuple[str, ...]) -> Plan:
    """The plan, every file composed, with the memberships in its metadata and in `joins`."""
    tags: dict[str, list[str]] = defaultdict(list)
    for membership in plan_clusters(drafts, found, total=total + len(drafts)):
        for id in (*membership.drafts, *membership.known):
            tags[id].append(membership.tag)
    written = tuple(_written(_tagged(draft, tags[draft.id]) if draft.id in tags else draft) for draft in drafts)
    joins = {memory.path: tuple(tags[memory.id]) for memory in found if memory.id in tags}
    return Plan(written, joins, duplicates)


def _tagged(draft: Draft, tags: Sequence[str]) -> Draft:
    """The draft with these tags, behind its kind."""
    told: dict[str, Any] = {}
    for name, value in draft.meta.items():
        told |= {name: value} if name != "tags" else {}
        told |= {"tags": list(dict.fromkeys((*tags, *draft.tags)))} if name == "kind" else {}
    return replace(draft, meta=told)
