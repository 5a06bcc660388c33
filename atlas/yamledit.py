"""Metadata changed in place: one key's characters are replaced, every other line stays as it was typed.

python-frontmatter's dump loses comments, order, quotes, list style and blank lines (measured), and a history of such
rewrites is noise. Every edit is read back before it is handed over: the key must have its new value and every other
key its old one, else Unparsable is raised and nothing has happened.

Texts here are metadata without fences. Line numbers in errors count from the opening fence, as in the file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from atlas import splice
from atlas.scalars import spelled
from atlas.splice import Site, Value
from atlas.yamltext import Problem, Tree, read, words

#: Keys that hold tags: written with or without `#`, in any case, apart by commas or spaces.
TAG_KEYS = ("tags", "tag")


def set_keys(text: str, changes: Mapping[str, Value | None], *, newline: str = "\n", path: str = "note") -> str:
    """The metadata with keys set, new ones at its end, or (None) removed. Raises Unparsable."""
    for key, value in changes.items():
        site = _site(text, newline, path)
        entry = site.block.entry(key)
        if value is None:
            after = splice.removed(site, entry) if entry else text
        elif entry and entry.value == _meant(value):
            after = text
        else:
            after = splice.replaced(site, entry, value) if entry else splice.added(site, key, value)
        if _others_kept(site, after, key).get(key) != _meant(value):
            raise site.refusal(entry.key_start if entry else 0, f"{key!r} cannot be set to this value")
        text = after
    return text


def add_items(text: str, key: str, items: Sequence[str], *, newline: str = "\n", path: str = "note") -> str:
    """The metadata with items added to a list, in the style the list is written in; items already there stay.

    A flow list, a block list, a comma string and (tags) a spaced string each grow; a single value becomes a flow
    list. Raises Unparsable.
    """
    site = _site(text, newline, path)
    entry, meta = site.block.entry(key), site.block.meta
    names = TAG_KEYS if key in TAG_KEYS else (key,)
    known = {same(key, word) for name in names for word in members(name, meta.get(name))}
    fresh: dict[str, str] = {}
    for item in items:
        fresh.setdefault(same(key, item), item)
    new = [item for name, item in fresh.items() if name not in known]
    if not new:
        return text
    if entry is None:
        after = splice.added(site, key, new)
    elif entry.value in ("", []):
        after = splice.replaced(site, entry, new)
    elif entry.style in {"flow", "block"}:
        after = splice.grown(site, entry, new)
    elif isinstance(entry.value, str):
        after = splice.joined(site, entry, new, spaces=key in TAG_KEYS)
    else:
        raise site.refusal(entry.key_start, f"{key!r} is not a list")
    return _list_checked(site, after, key, [*members(key, meta.get(key)), *new])


def remove_items(text: str, key: str, items: Sequence[str], *, newline: str = "\n", path: str = "note") -> str:
    """The metadata with items taken out of a list, in any of its spellings; an emptied list becomes `[]`."""
    site = _site(text, newline, path)
    entry = site.block.entry(key)
    gone = {same(key, item) for item in items}
    old = members(key, entry.value) if entry else ()
    left = [word for word in old if same(key, word) not in gone]
    if entry is None or len(left) == len(old):
        return text
    if entry.style in {"flow", "block"}:
        keep = [not (isinstance(item.value, str) and same(key, item.value.strip()) in gone) for item in entry.items]
        after = splice.thinned(site, entry, keep)
    else:
        glue = ", " if "," in entry.value else " "
        after = splice.replaced(site, entry, glue.join(left) if left else [])
    return _list_checked(site, after, key, left)


def members(key: str, value: Tree | None) -> tuple[str, ...]:
    """The items of a list in any spelling; only tags are cut at spaces."""
    return words(value, spaces=key in TAG_KEYS)


def same(key: str, word: str) -> str:
    """What two spellings of one item have in common: for tags, neither `#` nor case nor Unicode form matters."""
    if key not in TAG_KEYS:
        return word
    return unicodedata.normalize("NFC", word).casefold().strip().lstrip("#").strip("/")


def reason_of(problem: Problem) -> str:
    """The problem and what to do about it, as one clause."""
    return f"{problem.reason} ({problem.hint})" if problem.hint else problem.reason


def _site(text: str, newline: str, path: str) -> Site:
    """The metadata, if it can be edited without guessing."""
    site = Site(read(text), newline, path)
    block = site.block
    for problem in (block.problem, *block.repeated):
        if problem:
            raise site.refusal(problem.index, reason_of(problem))
    if block.kind == "other":
        raise site.refusal(0, "this is not metadata")
    if block.inline:
        raise site.refusal(0, "all metadata stands in one {…}, which is not edited: put each key on a line of its own")
    return site


def _others_kept(site: Site, after: str, key: str) -> dict[str, Tree]:
    """The metadata after an edit, once every key but one is seen to be as before."""
    new = read(after)
    old, meta = site.block.meta, new.meta
    if new.problem or new.repeated:
        raise site.refusal(0, f"{key!r} cannot be written like this: {reason_of(new.problem or new.repeated[0])}")
    same_keys = [k for k in meta if k != key] == [k for k in old if k != key]
    if not same_keys or any(meta[k] != old[k] for k in meta if k != key):
        raise site.refusal(0, f"changing {key!r} here would change other keys")
    return meta


def _list_checked(site: Site, after: str, key: str, want: Sequence[str]) -> str:
    got = members(key, _others_kept(site, after, key).get(key))
    if list(got) != [word.strip() for word in want]:
        raise site.refusal(0, f"the list {key!r} cannot be changed this way")
    return after


def _meant(value: Value | None) -> Tree | None:
    """What a reader must get back."""
    if value is None:
        return None
    return spelled(value) if isinstance(value, splice.SCALARS) else [spelled(item) for item in value]
