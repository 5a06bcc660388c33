"""What is done, beside writing them, when new memories are stored: others closed, others counted. Plans.

It goes into the commit of the new memories, so that no search between two runs of upkeep takes what was for what is.
Most new memories change nothing that is there, and nothing is looked up for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from importlib import import_module

from atlas import config, markdown, newcomers, tools
from atlas.catalog import Catalog
from atlas.ingest import Draft, Plan, Request
from atlas.kinds import PREFERENCE
from atlas.memory import Change, Trust
from atlas.planning import View
from atlas.survey import blob_id
from atlas.tools import Lesson

#: The vault without the new memories, looked up when it is wanted; None where it is not under Git.
Look = Callable[[], View | None]


def settled(
    changes: Sequence[Change], requests: Sequence[Request], plan: Plan, catalog: Catalog, look: Look
) -> list[Change]:
    """The changes of an ingest, with all that follows from it for the memories that are there."""
    found = _ended(list(changes), plan.drafts, catalog, look)
    found = _overruled(found, plan.drafts, catalog, look)
    return _counted(found, requests, plan, catalog, look)


def subject(plan: Plan) -> str:
    """The first line of the commit: what is new, or that something known was told once more."""
    return plan.subject if plan.drafts else "Count what was told of tools again"


def _ended(changes: list[Change], drafts: Sequence[Draft], catalog: Catalog, look: Look) -> list[Change]:
    """What new statements put an end to, closed."""
    said = newcomers.subjects(drafts)
    cards = [card for subject in said for card in catalog.cards("contains(lower(n.label), ?)", [subject])]
    ids = newcomers.concerned(said, cards)
    view = look() if ids else None
    return changes if view is None else newcomers.closed(changes, drafts, view, ids)


def _overruled(changes: list[Change], drafts: Sequence[Draft], catalog: Catalog, look: Look) -> list[Change]:
    """What new preferences overrule, closed; two that are stored together too."""
    new = [draft for draft in drafts if draft.kind == PREFERENCE]
    if not new:
        return changes
    preferences = import_module("atlas.preferences")
    ids = preferences.concerned(new, catalog.cards("n.kind = ?", [PREFERENCE]))
    if not ids and len(new) < 2:
        return changes
    view = look() if ids else None
    known = [one for one in view.profiles() if one.id in ids] if view else []
    return list(preferences.overruled(changes, new, known, view))


def _counted(
    changes: list[Change], requests: Sequence[Request], plan: Plan, catalog: Catalog, look: Look
) -> list[Change]:
    """What was told of tools once more, counted in the memory that has it."""
    again = list(_again(requests, plan))
    if not again:
        return changes
    stored = {card.id: card.path for card in catalog.cards("list_contains(?, l.ident)", [list(plan.duplicates)])}
    places = stored | {draft.id: draft.path for draft in plan.drafts}
    view = look() if stored else None
    written = {change.path: change for change in changes}
    for id, lesson, request in again:
        path = places[id]
        change = written.get(path)
        before = change.data if change else _own(view, path)
        made = None if before is None else _with_use(before, lesson, request)
        if before is not None and made is not None:
            written[path] = (
                replace(change, data=made) if change else Change(path, made, blob_id(before), id, lesson.label)
            )
    return list(written.values())


def _again(requests: Sequence[Request], plan: Plan) -> Iterator[tuple[str, Lesson, Request]]:
    """The uses of tools beyond the one that a new memory is stored with, each with the memory that has the lesson."""
    new = {draft.id for draft in plan.drafts}
    for request, id in zip(requests, plan.per_text, strict=True):
        lesson = tools.read(request.text) if request.kind == tools.KIND else None
        if lesson is None:
            continue
        if id in new:
            new.remove(id)
            continue
        yield id, lesson, request


def _own(view: View | None, path: str) -> bytes | None:
    """The file, if it is Atlas's alone: what a person wrote or is editing is not counted in."""
    return view.read(path) if view is not None and view.mine(path) and not view.busy(path) else None


def _with_use(data: bytes, lesson: Lesson, request: Request) -> bytes | None:
    """The file with one more use; what is not trusted makes nothing that is look better proven."""
    trust = markdown.parse(markdown.decode(data).text, "").meta.get("trust")
    if request.trust == Trust.UNTRUSTED and trust != Trust.UNTRUSTED:
        return None
    given = request.created
    moment = given if isinstance(given, datetime) else markdown.when(given) if given else None
    return tools.counted(data, lesson, request.source, moment or config.now())
