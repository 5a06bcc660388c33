"""Whether what a person approved is still what stands there: the digest an approval is bound to. Pure.

    trust: verified
    reviewed: 3f0c9a7e52d0b3aa        of the words that were read, and of the keys that steer

Where the digest does not fit any more, the memory is a candidate again: the index says so and no file is rewritten, so
an edit with any editor takes the approval back. A skill is verified by such an approval alone, since an agent does what
it says; a word in its own metadata is not enough.
"""

from __future__ import annotations

import hashlib
import json

from atlas.memory import SKILL, Trust
from atlas.note import Note

#: The key of the metadata.
KEY = "reviewed"
#: Keys that Atlas itself changes while a memory is used, and that say nothing of what is in it.
_BOOKKEEPING = frozenset(
    {
        KEY,
        "trust",
        "tags",
        "tag",
        "importance",
        "updated",
        "tier",
        "entities",
        "digest",
        "recorded_at",
        "source",
        "pinned",
    }
)


def digest(note: Note) -> str:
    """What stands for a note's words and the keys that steer: 16 hexadecimal digits. Spacing does not count."""
    steering = {key: value for key, value in note.meta.items() if key not in _BOOKKEEPING}
    said = json.dumps([steering, " ".join(note.body.split())], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def trust(note: Note) -> Trust | str:
    """How far a note may be relied on: what its metadata says, as long as the words are those that were approved."""
    said = _text(note.meta.get("trust")) or Trust.CANDIDATE
    bound = KEY in note.meta or _text(note.meta.get("kind")) == SKILL
    if said == Trust.VERIFIED and bound and note.meta.get(KEY) != digest(note):
        return Trust.CANDIDATE
    return said


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
