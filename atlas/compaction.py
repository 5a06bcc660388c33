"""Compaction: many episodes of one session become one summary, and step down one rung, in the same commit. A planner.

    session or cluster ─► its episodes ─► summary ─► every fact of a source in it?  the source steps down
                                                     no                             it stays as it is

A summary and its sources are one group: if one of them is edited meanwhile, nothing of it is done. A source of which
the summary has lost a fact keeps its level and is not named in `derived_from`.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ulid import ULID

from atlas import forgetting, ladder, markdown, models
from atlas.digest import Said, digest, forgotten
from atlas.errors import NotText, Unavailable
from atlas.facts import Kept, invented
from atlas.ingest import free_path
from atlas.memory import Change, Record, Rung, Trust
from atlas.models import offline
from atlas.models.entities import entities
from atlas.planning import Plan, Row, View
from atlas.profiles import Profile
from atlas.retell import summariser
from atlas.survey import blob_id

#: Fewer memories than this make no summary, and one is made of so many at most.
FEWEST, MOST = 4, 40
#: A summary and what remains of its sources may have this share of their characters; what bears no fact fills
#: a summary up to the lower one.
WORTH, ROOM = 0.7, 0.35
#: Compactions of one run: a commit that a person can still read.
MOST_PLANS = 50

_KINDS = frozenset({"episode", "fact"})
_TRUSTED = frozenset({"", Trust.CANDIDATE, Trust.VERIFIED, Trust.UNTRUSTED})
_SECTIONS = frozenset({"summary", "detail"})
_TAG_SHARE, _NAMED = 0.5, 4

Summarise = Callable[[Sequence[Said], int], str]


@dataclass(frozen=True, slots=True)
class _Source:
    """One memory to be summarised: its bytes, all it says, and what would be left of it."""

    profile: Profile
    data: bytes
    said: Said
    size: int
    to: Rung
    lower: bytes
    left: int

    @property
    def changes(self) -> tuple[Change, ...]:
        """The step down; one rung lower it may lie elsewhere."""
        old, before = self.profile.path, blob_id(self.data)
        new = ladder.archived(old) if self.to == Rung.L0 else old
        if new == old:
            return (Change(old, self.lower, before, self.profile.id, self.profile.label),)
        return (
            Change(old, None, before, self.profile.id, self.profile.label),
            Change(new, self.lower, None, self.profile.id, self.profile.label),
        )


def plan(view: View, summarise: Summarise | None = None) -> Plan:
    """The summaries that are worth it. `summarise` makes one of some texts, with about so many characters of room."""
    summarise = summarise or _summariser(view)
    ends = time.monotonic() + view.config.upkeep_seconds / 2
    plans: list[Plan] = []
    notes: list[str] = []
    taken: set[str] = set()
    for group in _groups(view):
        if len(plans) >= MOST_PLANS or time.monotonic() > ends:
            break
        try:
            found = _compaction(view, group, summarise, lambda path: path in taken or view.read(path) is not None)
        except Unavailable as err:
            notes.append(f"nothing more was summarised: {err}")
            break
        if found:
            plans.append(found)
            taken.update(change.path for change in found.changes)
    return _together(plans, tuple(notes))


def _summariser(view: View) -> Summarise:
    """Rules, or the model that writes where `upkeep.summaries` asks for it."""
    writer = models.writer(view.config) if view.config.upkeep_summaries == "llm" else None
    return summariser(writer.complete) if writer else digest


def _together(plans: Sequence[Plan], notes: tuple[str, ...]) -> Plan:
    """Several compactions as one commit; each is a group of its own."""
    changes = tuple(change for one in plans for change in one.changes)
    groups: list[tuple[int, ...]] = []
    for one in plans:
        start = sum(map(len, groups))
        groups.append(tuple(range(start, start + len(one.changes))))
    rows = tuple(row for one in plans for row in one.rows)
    sources = len(rows) - len(plans)
    subject = f"Summarise {sources} memories in {len(plans)}"
    about = tuple(dict.fromkeys(row.id for row in rows))
    record = Record("compact", subject, "every fact of them is in the summary", memories=about)
    return Plan(changes, record, rows, tuple(groups), notes=notes) if plans else Plan(notes=notes)


# ---------------------------------------------------------------------- which belong together


def _groups(view: View) -> Iterator[list[Profile]]:
    """Memories of one session, or of one cluster, oldest first, in parts of at most `MOST`.

    Each day begins elsewhere, so that groups which are not worth it do not keep the others from their turn for ever.
    """
    # What is still used stays whole: of a year in which episodes were summed up by age alone, a fifth of what was asked
    # for again was found no more.
    fading = forgetting.fading(view)
    newest: dict[tuple[str, ...], int] = {}
    sessions: dict[tuple[str, ...], list[Profile]] = defaultdict(list)
    single: list[Profile] = []
    for one in view.profiles():
        key = _session(one)
        if key and one.created is not None:
            newest[key] = max(newest.get(key, 0), one.created)
        if one.id in fading and _fit(view, one):
            (sessions[key] if key else single).append(one)
    limit = _micro(view.now - timedelta(days=view.config.forget_new_days))
    # A session that still goes on is left until it is over.
    every = [*(group for key, group in sorted(sessions.items()) if newest[key] <= limit), *_bundles(single)]
    parts = [part for group in every if len(group) >= FEWEST for part in _parts(group)]
    start = view.now.toordinal() % len(parts) if parts else 0
    for part in (*parts[start:], *parts[:start]):
        own = [one for one in part if view.mine(one.path) and not view.busy(one.path)]
        if len(own) >= FEWEST:
            yield own


def _session(one: Profile) -> tuple[str, ...]:
    """What the memories of one session share: the source before its `#`, the scope, and whether it can be trusted."""
    session, mark, _ = one.source.partition("#")
    return (session, _scope(one.path), _channel(one)) if mark and session else ()


def _channel(one: Profile) -> str:
    """What came through a channel that is not trusted is never mixed with anything else."""
    return Trust.UNTRUSTED if one.trust == Trust.UNTRUSTED else ""


def _scope(path: str) -> str:
    """The scope a memory lies in, as a prefix."""
    before, found, _ = f"/{path}".rpartition("/memories/")
    return f"{before}/".removeprefix("/") if found else path.rpartition("/")[0] + "/"


def _fit(view: View, one: Profile) -> bool:
    """Whether a memory may go into a summary, as far as the index knows."""
    if one.created is None or one.created > _micro(view.now - timedelta(days=view.config.forget_new_days)):
        return False
    stepped = markdown.when(str(one.meta.get("forgotten") or ""))
    rested = stepped is None or view.now - stepped >= timedelta(days=view.config.forget_new_days)
    current = one.valid_to is None and not one.meta.get("superseded_by") and not one.meta.get("derived_from")
    return (
        one.kind in _KINDS
        and one.rung in (Rung.L2, Rung.L1)
        and one.trust in _TRUSTED
        and one.readable
        and not one.pinned
        and not one.linked
        and rested
        and current
    )


def _bundles(single: Sequence[Profile]) -> list[list[Profile]]:
    """Memories without a session, by the smallest cluster of theirs that is large enough."""
    sizes = Counter(slug for one in single for slug in one.clusters)
    found: dict[tuple[str, ...], list[Profile]] = defaultdict(list)
    for one in single:
        slugs = sorted((sizes[slug], slug) for slug in one.clusters if sizes[slug] >= FEWEST)
        if slugs:
            found[slugs[0][1], _scope(one.path), _channel(one)].append(one)
    return [found[key] for key in sorted(found)]


def _parts(group: Sequence[Profile]) -> Iterator[list[Profile]]:
    """The group, oldest first, in parts that are as even as can be."""
    ordered = sorted(group, key=lambda one: (one.created or 0, one.path))
    count = -(-len(ordered) // MOST)
    for number in range(count):
        yield ordered[len(ordered) * number // count : len(ordered) * (number + 1) // count]


def _micro(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def _moment(micro: int) -> datetime:
    return datetime.fromtimestamp(micro // 1_000_000, UTC)


# ---------------------------------------------------------------------------- one summary


def _compaction(
    view: View, group: Sequence[Profile], summarise: Summarise, taken: Callable[[str], bool]
) -> Plan | None:
    """One summary and its sources one rung lower; None if it is not worth it."""
    day = f"{view.now.astimezone(UTC):%Y-%m-%d}"
    sources = [source for one in group if (source := _source(view, one, day)) is not None]
    if len(sources) < FEWEST or _bound(sources) > WORTH:
        return None
    said = [source.said for source in sources]
    text = summarise(said, int(ROOM * sum(len(one.text) for one in said)))
    if invented([one.plain for one in said] + [one.head for one in said], text):
        return None
    missing = forgotten(said, text)
    kept = [source for number, source in enumerate(sources) if number not in missing]
    if len(kept) < FEWEST or len(text) + sum(s.left for s in kept) > WORTH * sum(s.size for s in kept):
        return None
    made = _summary(kept, text, view.now, taken)
    changes = (made, *(change for source in kept for change in source.changes))
    rows = (Row(made.memory, made.path, "", "L2", f"a summary of {len(kept)} memories"), *_rows(kept, made.label))
    return Plan(changes, rows=rows)


def _bound(sources: Sequence[_Source]) -> float:
    """The share that would be left if the summary had no word: what is above the limit need not be tried."""
    return sum(s.left for s in sources) / (sum(s.size for s in sources) or 1)


def _rows(kept: Iterable[_Source], label: str) -> Iterator[Row]:
    for source in kept:
        one = source.profile
        yield Row(one.id, one.path, str(one.rung), str(source.to), f"summarised in {label!r}")


def _source(view: View, one: Profile, day: str) -> _Source | None:
    """What a memory says and what would be left of it; None for one that no summary does justice to."""
    data = view.read(one.path)
    if data is None or one.created is None:
        return None
    try:
        note = markdown.parse(markdown.decode(data).text, one.path)
        to = ladder.below(data)
    except NotText:
        return None
    text = markdown.original(note).strip()
    own = {heading.text.casefold() for heading in _before_detail(note) if heading.level > 1}
    if not note.readable or own - _SECTIONS or "```" in text or "~~~" in text or to == Rung.TOMBSTONE:
        return None
    if to == Rung.L0 and view.read(ladder.archived(one.path)) is not None:
        return None
    lower = ladder.down(data, to, day)
    left = len(markdown.parse(markdown.decode(lower).text, one.path).body)
    said = Said(_whole(note, text), f"{_moment(one.created):%Y-%m-%d}")
    return _Source(one, data, said, len(note.body), to, lower, left)


def _before_detail(note: markdown.Note) -> Iterator[markdown.Heading]:
    """The headings outside the detail, which may hold any."""
    for heading in note.headings:
        yield heading
        if heading.level == 2 and heading.text.casefold() == "detail":
            return


def _whole(note: markdown.Note, text: str) -> str:
    """The text, and behind it what its label and its summary say beyond it: those go too when a memory steps down."""
    kept = Kept(text)
    more = [x for x in (note.title, note.summary) if _squeezed(x) not in _squeezed(text) and kept.missing(x)]
    return " ".join([text, *(x if x[-1:] in ".!?" else f"{x}." for x in more)])


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())


def _summary(kept: Sequence[_Source], text: str, now: datetime, taken: Callable[[str], bool]) -> Change:
    """The new memory. Its trust is the lowest of its sources', its time and its weight the highest."""
    profiles = [source.profile for source in kept]
    about = entities(text)
    id, created = str(ULID()), _moment(max(one.created or 0 for one in profiles))
    label = _label(about, text, kept[-1].said.day)
    short = offline.summary(text)
    meta = {name: value for name, value in _meta(profiles, created, now, about).items() if value not in ("", [], None)}
    whole = markdown.compose(
        meta={"id": id, **meta}, label=label, summary=text if len(text) <= len(short) else short,
        detail="" if len(text) <= len(short) else text,
    )  # fmt: skip
    path = free_path(f"{_scope(profiles[-1].path)}memories/{created:%Y/%m}/", label, id, taken)
    return Change(path, whole.encode("utf-8"), memory=id, label=label)


def _meta(profiles: Sequence[Profile], created: datetime, now: datetime, about: Sequence[str]) -> Mapping[str, Any]:
    tags = Counter(tag for one in profiles for tag in one.tags)
    sources = dict.fromkeys(one.source.partition("#")[0] for one in profiles if one.source)
    begun = _moment(min(one.created or 0 if one.valid_from is None else one.valid_from for one in profiles))
    trust = {one.trust for one in profiles}
    return {
        "kind": "episode",
        "tags": [tag for tag, count in tags.items() if count > _TAG_SHARE * len(profiles)],
        "created": created,
        "recorded_at": now.astimezone(UTC).replace(microsecond=0),
        "importance": round(max(one.importance for one in profiles), 2),
        "entities": list(about),
        "source": "; ".join(list(sources)[:_NAMED]),
        "valid_from": begun if begun.date() < created.date() else None,
        "trust": str(*trust) if len(trust) == 1 and Trust.CANDIDATE not in trust else None,
        "derived_from": [one.id for one in profiles],
    }


def _label(about: Sequence[str], text: str, day: str) -> str:
    """What it is about, and the day."""
    names: list[str] = []
    for name in about[:_NAMED]:
        if len(", ".join([*names, name])) + len(day) + 2 <= offline.LABEL_CHARS:
            names.append(name)
    lines = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    return f"{', '.join(names) or offline.label(' '.join(lines) or text)}, {day}"
