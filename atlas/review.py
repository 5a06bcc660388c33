"""What waits for a person to look at it, and what becomes of it: plans only.

    a skill that nobody has approved, or that changed since      nothing brings it before an agent until then
    a memory that is contested                                   what it says and what is said against it both stand
    a memory with the tag `review`                               somebody asks: what is untrusted is promoted only so

An approval is of the very words that were shown, by their digest (`approval`): what changes later is a candidate again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from atlas import approval, derive, markdown
from atlas.errors import AtlasError, Unparsable
from atlas.memory import SKILL, SKILL_FILE, Change, Rung, Trust
from atlas.profiles import Profile
from atlas.source import decode, encode
from atlas.survey import blob_id

#: The tag that asks for a look.
TAG = "review"
_DECIDED = frozenset({Trust.VERIFIED, Trust.REJECTED})
#: So many digits of a digest are enough to say which text is meant.
_FEWEST_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory to be looked at: why, the file's text, and the digest that stands for it in an approval."""

    id: str
    path: str
    label: str
    kind: str
    trust: str
    why: str
    digest: str
    text: str


def queue(profiles: Iterable[Profile], read: Callable[[str], bytes | None]) -> Iterator[Waiting]:
    """All that waits, by path; skills first."""
    found = [(why, one) for one in profiles if (why := _why(one))]
    for why, one in sorted(found, key=lambda pair: (not _is_skill(pair[1]), pair[1].path)):
        data = read(one.path)
        if data is not None:
            yield waiting(one, data, why)


def waiting(one: Profile, data: bytes, why: str = "") -> Waiting:
    """One memory as it is shown to whoever decides. Raises NotText."""
    return Waiting(one.id, one.path, one.label, one.kind, one.trust, why or _why(one), digest(data), decode(data).text)


def digest(data: bytes) -> str:
    """What stands for the text of a file in an approval, reckoned as the index does. Raises NotText."""
    return approval.digest(derive.read(data.replace(b"\r\n", b"\n"), "", mask=True)[0])


def approved(one: Profile, data: bytes, shown: str) -> Change:
    """The memory, verified as it was shown; raises AtlasError if that is not what stands there, Unparsable, NotText."""
    now = digest(data)
    if len(shown) < _FEWEST_DIGITS or not now.startswith(shown.casefold()):
        raise AtlasError(
            f"{one.path} is not the text that was shown ({shown or 'no digest'}): nothing was approved; "
            f"look at it again with `atlas review {one.id}`."
        )
    change = _edited(one, data, {"trust": Trust.VERIFIED.value, approval.KEY: now})
    if change.data is None or digest(change.data) != now:
        raise Unparsable(one.path, 1, "its metadata cannot hold an approval")
    return change


def rejected(one: Profile, data: bytes) -> Change:
    """The memory, rejected: it stays where it is, and no view shows it. Raises Unparsable, NotText."""
    return _edited(one, data, {"trust": Trust.REJECTED.value, approval.KEY: None})


def _edited(one: Profile, data: bytes, keys: dict[str, str | None]) -> Change:
    source = decode(data)
    text = markdown.edit(source.text, keys, path=one.path)
    return Change(one.path, encode(source, text), blob_id(data), one.id, one.label)


def _why(one: Profile) -> str:
    """Why a memory waits; "" if it does not."""
    over = one.valid_to is not None or one.meta.get("superseded_by") or one.rung == Rung.L0
    if over or one.trust in _DECIDED or not one.readable:
        return ""
    if _is_skill(one):
        return "a skill that changed since it was approved" if approval.KEY in one.meta else "a skill not approved yet"
    if one.trust == Trust.CONTESTED:
        return "contested: something is said against it"
    return "asks for a look" if TAG in one.tags else ""


def _is_skill(one: Profile) -> bool:
    return one.kind == SKILL or PurePosixPath(one.path).name == SKILL_FILE
