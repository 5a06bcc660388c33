"""Skills: how something is done, as a folder with a SKILL.md, the form agents read. Pure.

    skills/deploy-the-app/SKILL.md      name, description, when, kind: skill; the steps are the body

A skill is never executed here, and nothing brings it before an agent until a person has approved the very words it has
(`approval`): a conversation that smuggles one in has written a file that a search finds, marked as a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slugify import slugify

from atlas import markdown
from atlas.errors import UsageError
from atlas.memory import SKILL, SKILL_FILE
from atlas.models import offline
from atlas.paths import RESERVED

KIND, FOLDER = SKILL, "skills"
#: What the format allows, in characters.
NAME_CHARS, DESCRIPTION_CHARS = 64, 1024
_MOST_NUMBERS = 1000
#: Keys of the format that are kept of a skill that is given as one; whatever else it says of itself is not believed.
_KEPT = ("license", "compatibility", "allowed-tools")

_WHEN = re.compile(
    r"(?:^|(?<=[.!\n] )|(?<=\n))\W{0,3}(?:use (?:this|it)(?: skill)? )?"
    r"(?P<when>(?:when(?:ever)?|before|after|if) [^\n.,:;]{3,160})",
    re.IGNORECASE,
)
_HOW = re.compile(r"(?:how to|to|steps (?:for|to)|(?:the )?procedure for) (?P<what>[^\n.:;]{3,120})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. `body` is its steps, without the title; `more` are further keys of the format."""

    name: str
    title: str
    description: str
    when: str
    body: str
    more: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Title and steps as they stand in the file."""
        return f"# {self.title}\n\n{self.body}\n"


def read(text: str, label: str = "") -> Skill:
    """The skill a text describes: a SKILL.md as it is, else the whole text as the steps. Raises UsageError."""
    note = markdown.parse(text, "")
    said = note.meta if note.readable else {}
    bare = note.body if note.readable else text
    named = next((h for h in note.headings if h.level == 1), None)
    opens = named is not None and note.readable and not note.body[: named.start].strip()
    title = label or (named.text if named and opens else "") or _line(said.get("title")) or offline.label(bare)
    body = (note.body[named.end :] if named and opens else bare).strip("\r\n").rstrip()
    if not body.strip() or not title:
        raise UsageError("A skill needs steps: say how it is done, beside its name.")
    when = _line(said.get("when")) or _when(title, body)
    description = _line(said.get("description")) or f"{title.rstrip('.')}. Use it {when[0].lower()}{when[1:]}."
    more = {key: said[key] for key in _KEPT if isinstance(said.get(key), str | list)}
    name = slug(_line(said.get("name")) or title)
    return Skill(name, " ".join(title.split()), description[:DESCRIPTION_CHARS].rstrip(), when, body, more)


def key(text: str) -> str:
    """What tells that the same skill is stored already, whatever it is called."""
    return markdown.text_key(markdown.original(markdown.parse(read(text).text, "")))


def slug(title: str) -> str:
    """A name as the format wants it: small letters, digits, single hyphens, none of them at an end.

    >>> slug("Deploy the App -- to Production!"), slug("备份")
    ('deploy-the-app-to-production', 'bei-fen')
    """
    found = slugify(re.sub("['’]", "", title), max_length=NAME_CHARS, word_boundary=True, save_order=True).strip("-")
    return f"skill-{found}".strip("-") if not found or found in RESERVED else found


def free_name(prefix: str, name: str, taken: Callable[[str], bool]) -> str:
    """The name, numbered where another skill has it: the format wants it to be that of the folder."""
    for number in range(1, _MOST_NUMBERS):
        ending = f"-{number}" if number > 1 else ""
        tried = f"{name[: NAME_CHARS - len(ending)].rstrip('-')}{ending}"
        if not taken(place(prefix, tried)):
            return tried
    raise UsageError(f"No free name is left for the skill {name!r}: give it another label.")


def place(prefix: str, name: str) -> str:
    """Where a skill of this name lies below a scope."""
    return f"{prefix}{FOLDER}/{name}/{SKILL_FILE}"


def composed(meta: Mapping[str, Any], title: str, body: str) -> str:
    """The file. Raises Unparsable when the metadata cannot be written."""
    head = markdown.compose(meta=meta, label=title, summary="", detail="")
    return f"{head.rstrip()}\n\n{body}\n"


def _when(title: str, body: str) -> str:
    """The occasion for it, as the text names it; else the task itself."""
    found = _WHEN.search(body)
    if found:
        return _line(found["when"])
    how = _HOW.match(title) or _HOW.match(body.lstrip("#*- "))
    return f"to {_line(how['what'])}" if how else f"when the task is: {title.rstrip('.')}"


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
