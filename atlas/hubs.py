"""Hub notes: `clusters/<slug>.md`, a page of links to the members of a cluster. A planner: it returns changes.

Only the block between the two marks is Atlas's. A person may write around it, and whatever else lies at that path is a
person's own note and is left alone. A hub that a person deleted is not made again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from atlas import markdown
from atlas.catalog import Card
from atlas.errors import NotText
from atlas.memory import HUB, Change
from atlas.paths import check_path
from atlas.source import decode, encode
from atlas.survey import blob_id

FOLDER = "clusters"
#: A cluster of fewer memories gets no page.
FEWEST = 3

_BEGIN, _END = "<!-- atlas:members -->", "<!-- /atlas:members -->"
_BLOCK = re.compile(rf"{re.escape(_BEGIN)}[\r\n].*?{re.escape(_END)}", re.DOTALL)
#: What would end a link, or the comment that ends the block.
_UNLINKED = re.compile(r"[\[\]|<>\r\n]+")


def plan(
    cards: Iterable[Card],
    read: Callable[[str], bytes | None],
    *,
    removed: Callable[[str], bool],
    busy: Callable[[str], bool],
) -> list[Change]:
    """The hub notes to be made or brought up to date.

    `read` gives a file as it is, None if there is none; `removed` tells whether Git's history holds a note of this path
    that is gone; a file that is `busy` (edited, and not committed) is left for the next time.
    """
    found = _members(cards)
    return [change for slug in sorted(found) if (change := _change(slug, found[slug], read, removed, busy)) is not None]


def path_of(slug: str) -> str:
    """Where the hub of a cluster lies."""
    return f"{FOLDER}/{slug}.md"


def _members(cards: Iterable[Card]) -> dict[str, list[Card]]:
    members: dict[str, list[Card]] = defaultdict(list)
    for card in cards:
        for slug in card.clusters if card.kind != HUB else ():
            members[slug].append(card)
    return members


def _change(
    slug: str,
    members: Sequence[Card],
    read: Callable[[str], bytes | None],
    removed: Callable[[str], bool],
    busy: Callable[[str], bool],
) -> Change | None:
    path = check_path(path_of(slug))
    data = read(path)
    if data is None:
        if len(members) < FEWEST or removed(path):
            return None
        return Change(path, _page(slug, members).encode(), label=_title(slug))
    new = _updated(data, members)
    return None if new in (None, data) or busy(path) else Change(path, new, blob_id(data), label=_title(slug))


def _updated(data: bytes, members: Sequence[Card]) -> bytes | None:
    """The page with its block brought up to date; None if there is no one block, or if it is no text."""
    try:
        source = decode(data)
    except NotText:
        return None
    found = list(_BLOCK.finditer(source.text))
    if len(found) != 1:
        return None
    start, end = found[0].span()
    newline = "\r\n" if "\r\n" in found[0].group() else "\n"
    block = newline.join(_block(members))
    return encode(source, source.text[:start] + block + source.text[end:])


def _page(slug: str, members: Sequence[Card]) -> str:
    title = _title(slug)
    return markdown.compose(
        meta={"kind": HUB},
        label=title,
        summary=f"The memories of the cluster {title}.",
        detail="\n".join(_block(members)),
    )


def _block(members: Sequence[Card]) -> Iterator[str]:
    yield _BEGIN
    for card in sorted(members, key=lambda card: card.path):
        target = card.path.removesuffix(".md")
        yield f"- [[{target}|{' '.join(_UNLINKED.sub(' ', card.label).split()) or target}]]"
    yield _END


def _title(slug: str) -> str:
    words = slug.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
