"""Hub notes: `clusters/<slug>.md`, a page for a cluster: what it is about, and links to its members. A planner.

Three parts of the page are Atlas's, each between two marks: what sums the cluster up, the links to its members, and the
links to notes that belong there and that a person wrote. All around them is a person's own. A part whose marks are gone
is not put back, whatever lies at that path without marks is a person's own note, and a hub that a person deleted is not
made again.

The marks are HTML comments: no Markdown reader shows them, and a list right below one is still a list. Obsidian's own
comments, between two `%%`, stand as plain text in every other reader.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from atlas import markdown
from atlas.errors import NotText, OutsideVault, Unparsable
from atlas.memory import HUB, Change, Record, Rung
from atlas.models import offline
from atlas.models.entities import entities, slug_of
from atlas.paths import check_path
from atlas.planning import Plan, View
from atlas.profiles import Profile
from atlas.source import decode, encode
from atlas.survey import blob_id, ignorer

FOLDER = "clusters"
#: A cluster of fewer memories gets no page.
FEWEST = 3

SUMMARY, MEMBERS, NOTES = "summary", "members", "notes"
_LEAD = "Notes that belong here:"
_LINK = re.compile(r"^- \[\[([^\[\]|\r\n]+)(?:\||\]\])", re.MULTILINE)
#: What no link can hold in the name of a note.
_UNLINKED = re.compile(r"[\[\]|#^<>\r\n]")
#: What would end a link or a part, or be read as more than words: links, HTML, comments, formulas, code.
_ACTING = re.compile(r"[\[\]|<>`\x00-\x1f\x7f]+|%%+|\$\$+")
_TAG = re.compile(r"(?<!\w)#+(?=\S)")
_SUMMARY_CHARS, _NAMES = 240, 3
#: So many members are listed, those stored last.
_LISTED = 20
_STOPS = re.compile(r"[.!?…:。！？]+(?=\s)")
_EDGES = " \t.,;:!?…–—-"


@dataclass(frozen=True, slots=True)
class Member:
    """A memory as its cluster's page knows it.

    `sums_up`: it is a summary of others; `archived`: its label alone is left.
    """

    id: str
    path: str
    label: str
    summary: str = ""
    entities: tuple[str, ...] = ()
    sums_up: bool = False
    archived: bool = False


def path_of(slug: str) -> str:
    """Where the hub of a cluster lies."""
    return f"{FOLDER}/{slug}.md"


def slug_at(path: str) -> str:
    """The cluster whose hub lies at this path, "" if that is no place of one."""
    inside = path.startswith(f"{FOLDER}/") and path.endswith(".md")
    return path[len(FOLDER) + 1 : -len(".md")] if inside else ""


def title(slug: str) -> str:
    """What a cluster is called."""
    words = slug.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


# -------------------------------------------------------------------- planning


def plan(view: View) -> Plan:
    """The hub notes to be made or brought up to date.

    A file that has uncommitted edits is left for the next time.
    """
    pages = [card.path for card in view.cards if card.kind == HUB and slug_at(card.path)]
    if not pages and not any(card.clusters for card in view.cards):
        return Plan()
    out = hidden(view)
    notes = {profile.path: member(profile) for profile in view.profiles() if not out(profile)}
    groups = grouped(one for one in view.profiles() if not out(one))
    slugs = sorted({*groups, *map(slug_at, pages)})
    changes = [change for slug in slugs if (change := _change(view, slug, groups.get(slug, ()), notes)) is not None]
    made = sum(change.before is None for change in changes)
    subject = f"Bring {len(changes)} hub notes up to date" if made < len(changes) else f"Add {made} hub notes"
    record = Record("clusters", subject.replace(" 1 hub notes", " 1 hub note"), "membership changed")
    return Plan(tuple(changes), record) if changes else Plan()


def grouped(profiles: Iterable[Profile]) -> dict[str, list[Profile]]:
    """The memories of each cluster, by path."""
    found: dict[str, list[Profile]] = defaultdict(list)
    for profile in profiles:
        for slug in profile.clusters if profile.kind != HUB else ():
            found[slug].append(profile)
    return found


def hidden(view: View) -> Callable[[Profile], bool]:
    """Whether a memory is private, or kept from Git: a page is shared, so not even its label may stand there."""
    private, ignored = ignorer(view.config.private), view.ignored()
    return lambda one: private(one.path) or one.meta.get("scope") == "private" or one.path in ignored


def member(profile: Profile) -> Member:
    """A memory as its cluster's page knows it. What its summary says is passed over where that is behind its text."""
    return Member(
        profile.id,
        profile.path,
        profile.label,
        "" if profile.stale else profile.summary,
        profile.entities,
        sums_up=bool(profile.meta.get("derived_from")),
        archived=profile.rung == Rung.L0,
    )


def allowed(slug: str) -> bool:
    """Whether a hub of this name may lie in a vault."""
    try:
        return check_path(path_of(slug)) == path_of(slug)
    except OutsideVault:
        return False


def _change(view: View, slug: str, profiles: Sequence[Profile], notes: Mapping[str, Member]) -> Change | None:
    if not allowed(slug):
        return None
    path = path_of(slug)
    members = [notes[profile.path] for profile in profiles]
    data = view.read(path)
    if data is None:
        living = sum(not one.archived for one in members)
        made = living >= FEWEST and not view.removed(path)
        return Change(path, page(slug, members), label=title(slug)) if made else None
    tagged = {one.path for one in members}
    beside = [notes[name] for name in guests(data) if name in notes and name not in tagged]
    new = updated(data, slug, members, beside)
    return None if new == data or view.busy(path) else Change(path, new, blob_id(data), label=title(slug))


# --------------------------------------------------------------------- reading


def guests(data: bytes | None) -> tuple[str, ...]:
    """The paths of the notes in the part of a page for notes that a person wrote; none where there is no such part."""
    text = _text(data)
    part = _part(text, NOTES) if text is not None else None
    return tuple(f"{target.strip()}.md" for target in _LINK.findall(part[0])) if part else ()


def linkable(path: str) -> bool:
    """Whether a wikilink can name this path."""
    return path.endswith(".md") and not _UNLINKED.search(path)


def is_hub(data: bytes | None) -> bool:
    """Whether a part of this page is Atlas's."""
    text = _text(data)
    return text is not None and any(_part(text, name) for name in (MEMBERS, NOTES))


# --------------------------------------------------------------------- writing


def page(slug: str, members: Sequence[Member], notes: Sequence[Member] = ()) -> bytes:
    """A new page."""
    parts = [_marked(MEMBERS, _links(members), "\n")]
    if notes:
        parts.append(_marked(NOTES, _notes(notes), "\n"))
    text = markdown.compose(
        meta={"kind": HUB},
        label=title(slug),
        summary=_marked(SUMMARY, [summary(slug, [*members, *notes])], "\n"),
        detail="\n\n".join(parts),
    )
    return text.encode()


def updated(data: bytes, slug: str, members: Sequence[Member], notes: Sequence[Member]) -> bytes:
    """The page with the parts that are Atlas's brought up to date, every other byte as it is.

    Notes get a part of their own, right below that of the members, only if there is one of members.
    """
    try:
        source = decode(data)
    except NotText:
        return data
    text = source.text
    if not any(_part(text, name) for name in (MEMBERS, NOTES)):
        return data
    if notes:
        text = _with_notes(text)
    shown = [*members, *(notes if _part(text, NOTES) else ())]
    text = _replaced(_upgraded(text, slug), SUMMARY, [summary(slug, shown)])
    text = _replaced(text, MEMBERS, list(_links(members)))
    return encode(source, _replaced(text, NOTES, list(_notes(notes))))


def summary(slug: str, members: Sequence[Member]) -> str:
    """What a cluster is about: how many memories, the names most of them share, what the most central ones say.

    It is made of the members alone and always the same for the same ones.
    """
    if not members:
        return "No memories are left here."
    many = f"{len(members)} memories" if len(members) > 1 else "1 memory"
    names = _names(slug, members)
    about = f" about {', '.join(names)}" if names else ""
    ordered = sorted(members, key=lambda one: (not one.sums_up, one.path))
    # A label is one thing said, whatever stands in it.
    labels = dict.fromkeys(_STOPS.sub(",", _plain(one.label)) for one in ordered)
    said = offline.summary("\n".join(f"- {label}" for label in labels if label), limit=_SUMMARY_CHARS)
    return _plain(f"{many}{about}. {said}")


# ---------------------------------------------------------------------- within


def _names(slug: str, members: Iterable[Member]) -> list[str]:
    """The names that two members or more share, the commonest first; not the one the cluster is called by."""
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for one in members:
        # A person's note seldom says what it is about but in its title.
        for key, name in {slug_of(name): name for name in one.entities or entities(one.label)}.items():
            counts[key] += 1
            spelled[key] = min(name, spelled.get(key, name))
    shared = [key for key, n in counts.items() if n > 1 and key != slug_of(slug)]
    return [_plain(spelled[key]) for key in sorted(shared, key=lambda key: (-counts[key], key))[:_NAMES]]


def _links(members: Sequence[Member]) -> Iterator[str]:
    """A line for each member, summaries of others first; of most of a large cluster, and of the archive, how many.

    A memory is in three clusters at most, and a link has as many tokens as a short memory: with all of them, the pages
    had a third of the words of a vault.
    """
    there = sorted((one for one in members if not one.archived), key=lambda one: (not one.sums_up, one.path))
    summaries = [one for one in there if one.sums_up]
    others = there[len(summaries) :]
    shown = [*summaries[:_LISTED], *others[max(len(others) - max(_LISTED - len(summaries), 0), 0) :]]
    yield from map(_link, shown)
    for count, kind in ((len(there) - len(shown), "more"), (len(members) - len(there), "archived")):
        if count:
            yield f"- and {count} {kind}"


def _notes(notes: Sequence[Member]) -> Iterator[str]:
    if notes:
        yield _LEAD
        yield ""
    yield from (_link(one) for one in sorted(notes, key=lambda one: one.path))


def _link(one: Member) -> str:
    target = one.path.removesuffix(".md")
    label = _plain(one.label) or _plain(target)
    return f"- [[{target}|{label}]]" if linkable(one.path) else f"- {label}"


def _plain(text: str) -> str:
    """A text on one line in which nothing acts."""
    return " ".join(_TAG.sub("", _ACTING.sub(" ", text)).split())


# ----------------------------------------------------------------------- parts


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else decode(data).text
    except NotText:
        return None


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- atlas:{name} -->", f"<!-- /atlas:{name} -->"


def _marked(name: str, lines: Iterable[str], newline: str) -> str:
    opening, closing = _marks(name)
    return newline.join([opening, *lines, closing])


def _part(text: str, name: str) -> re.Match[str] | None:
    """The part of this name, marks included, if there is exactly one."""
    opening, closing = map(re.escape, _marks(name))
    found = list(re.finditer(rf"{opening}[\r\n].*?{closing}", text, re.DOTALL))
    return found[0] if len(found) == 1 else None


def _replaced(text: str, name: str, lines: Sequence[str]) -> str:
    part = _part(text, name)
    if part is None:
        return text
    return text[: part.start()] + _marked(name, lines, _newline(part.group())) + text[part.end() :]


def _with_notes(text: str) -> str:
    """The text with a part for notes below that of the members, unless there is one, or what a person left of one."""
    part = _part(text, MEMBERS)
    if part is None or any(mark in text for mark in _marks(NOTES)):
        return text
    newline = _newline(part.group())
    return text[: part.end()] + newline * 2 + _marked(NOTES, [""], newline) + text[part.end() :]


def _upgraded(text: str, slug: str) -> str:
    """A page of an earlier version, whose summary was one sentence without marks; changed by a person, it stays."""
    old = f"The memories of the cluster {title(slug)}."
    if f"atlas:{SUMMARY} -->" in text or old not in text or markdown.parse(text, "").summary != old:
        return text
    try:
        return markdown.replace_section(text, "Summary", _marked(SUMMARY, [""], "\n"))
    except Unparsable:
        return text


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
