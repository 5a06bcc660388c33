"""What is other about some kinds when they are stored: their words, their keys, their place. Pure.

    preference     `stated`: explicit or implicit
    skill          a folder of its own with a SKILL.md, a candidate until somebody has approved it
    tool           one memory for each tool and lesson; how often it worked and failed is counted

Everything else is stored as it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from atlas import markdown, skills, tools
from atlas.memory import Trust
from atlas.models import offline

PREFERENCE = "preference"


@dataclass(frozen=True, slots=True)
class Form:
    """How one memory is stored: its words, keys that stand before and behind the common ones.

    `path` is where it goes, "" for the place of all others; `trust` overrules what was asked for.
    """

    label: str
    summary: str
    text: str
    first: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    trust: str | None = None


def key(kind: str | None, text: str) -> str | None:
    """What tells a repeat of a text that is one memory whatever it looks like; None for all others."""
    if kind == skills.KIND:
        return skills.key(text)
    lesson = tools.read(text) if kind == tools.KIND else None
    return lesson.key if lesson else None


def form(
    kind: str,
    text: str,
    *,
    label: str = "",
    prefix: str = "",
    source: str | None = None,
    trust: str | None = None,
    taken: Callable[[str], bool] = lambda _: False,
) -> Form:
    """How a text of a kind is stored below a scope's prefix. Raises UsageError."""
    if kind == skills.KIND:
        return _skill(skills.read(text, label), prefix, trust, taken)
    lesson = tools.read(text) if kind == tools.KIND else None
    if lesson:
        counts = tools.summary(int(lesson.outcome == tools.WORKED), int(lesson.outcome == tools.FAILED))
        return Form(label or lesson.label, counts, lesson.text, last=tools.meta(lesson, source), trust=trust)
    last = _stated(text) if kind == PREFERENCE else {}
    return Form(label or offline.label(text), offline.summary(text), text, last=last, trust=trust)


def _stated(text: str) -> dict[str, str]:
    wishes = import_module("atlas.wishes")  # its patterns take 20 ms to compile, which no other kind need pay
    return {wishes.KEY: wishes.stated(text)}


def composed(kind: str, meta: Mapping[str, Any], label: str, summary: str, text: str) -> str | None:
    """The file of a memory that is laid out in its own way; None for all others. Raises Unparsable."""
    if kind == skills.KIND:
        return skills.composed(meta, label, text)
    if kind == tools.KIND and "tool" in meta:
        return markdown.compose(meta=meta, label=label, summary=summary, detail=text)
    return None


def _skill(skill: skills.Skill, prefix: str, trust: str | None, taken: Callable[[str], bool]) -> Form:
    """A skill as it is told: nobody can store one as approved."""
    name = skills.free_name(prefix, skill.name, taken)
    first = {"name": name, "description": skill.description, "when": skill.when, **skill.more}
    doubt = trust if trust in (Trust.UNTRUSTED, Trust.REJECTED, Trust.CONTESTED) else Trust.CANDIDATE.value
    return Form(skill.title, skill.description, skill.body, first, path=skills.place(prefix, name), trust=doubt)
