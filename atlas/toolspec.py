"""What a tool of an agent is: a name, a description, its arguments, and a function. Known to no framework.

Every framework has a class of its own for this; each door binds these to it, so what a tool does, how it is described
and which arguments it takes is said once. `schema` is what all of them can read: JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from atlas.errors import UsageError


class Kind(Enum):
    """The types of arguments. A list of texts may be given as one text, a number as its digits: models do both."""

    TEXT = "text"
    NUMBER = "a whole number"
    SWITCH = "true or false"
    TEXTS = "a list of texts"
    OBJECTS = "a list of objects"


_SCHEMAS: Mapping[Kind, Mapping[str, Any]] = {
    Kind.TEXT: {"type": "string"},
    Kind.NUMBER: {"type": "integer"},
    Kind.SWITCH: {"type": "boolean"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.OBJECTS: {"type": "array", "items": {"type": "object"}},
}
_EMPTY: Mapping[Kind, Any] = {Kind.TEXT: "", Kind.NUMBER: 0, Kind.SWITCH: False, Kind.TEXTS: (), Kind.OBJECTS: ()}
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument. Without a `default`, an optional one is empty: "", 0, false, no entries.

    A number is `least` to `most` where they are given, a text one of `choices` where there are some.
    """

    name: str
    about: str = ""
    kind: Kind = Kind.TEXT
    required: bool = False
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def empty(self) -> Any:
        """The value where none is given."""
        return _EMPTY[self.kind] if self.default is None else self.default

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        more = {
            "description": self.about,
            "default": self.default,
            "minimum": self.least,
            "maximum": self.most,
            "enum": list(self.choices),
        }
        return {**_SCHEMAS[self.kind], **{key: value for key, value in more.items() if value not in (None, "", [])}}


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` gets all its arguments, checked, and answers in values that JSON knows; it raises AtlasError.

    `writes`: it changes the vault; `removes`: what it changes may be missed. Everything else only reads.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    run: Callable[..., dict[str, Any]]
    writes: bool = False
    removes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {one.name: one.schema for one in self.parameters},
            "required": [one.name for one in self.parameters if one.required],
            "additionalProperties": False,
        }

    def call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Run it with these arguments; raises UsageError for what they cannot mean."""
        return self.run(**self.checked(given))

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments, those not given among them. A misspelled one is no argument that may be passed over."""
        known = {one.name for one in self.parameters}
        for name in given:
            if name not in known:
                takes = ", ".join(one.name for one in self.parameters)
                raise UsageError(f"`{self.name}` has no argument {name!r}: it takes {takes}.")
        found = {}
        for one in self.parameters:
            value = given.get(one.name)
            if value is None or (one.required and value in ("", [])):
                if one.required:
                    raise UsageError(f"`{self.name}` wants {one.name!r}: {one.about or one.kind.value}.")
                found[one.name] = one.empty
            else:
                found[one.name] = _checked(self.name, one, value)
        return found


def _checked(tool: str, one: Parameter, value: Any) -> Any:
    """The value in the argument's own type; raises UsageError."""
    found = _read(one.kind, value)
    if found is None:
        raise UsageError(f"`{tool}` wants {one.name!r} to be {one.kind.value}, not {value!r}.")
    if one.choices and found and found not in one.choices:
        raise UsageError(f"`{tool}` takes {', '.join(one.choices)} as {one.name!r}, not {value!r}.")
    if one.kind is Kind.NUMBER and not (one.least or 0) <= found <= (found if one.most is None else one.most):
        raise UsageError(f"`{tool}` wants {one.name!r} from {one.least or 0} to {one.most}, not {found}.")
    return found


def _read(kind: Kind, value: Any) -> Any:
    """The value as this kind, None if it is none."""
    if kind is Kind.TEXT:
        return value if isinstance(value, str) else None
    if kind is Kind.SWITCH:
        return value if isinstance(value, bool) else _WORDS.get(str(value).casefold())
    if kind is Kind.NUMBER:
        return _number(value)
    wanted = str if kind is Kind.TEXTS else Mapping
    listed = [value] if isinstance(value, wanted) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(entry, wanted) for entry in listed):
        return None
    return tuple(listed)


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = int(value)
        return found if isinstance(value, str) or found == value else None
    except (ValueError, OverflowError):
        return None
