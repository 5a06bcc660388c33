"""How one value is spelled in YAML so that every reader gives back what was meant."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

import yaml

#: What a key, or an item of a list, can be set to.
Scalar: TypeAlias = str | int | float | bool | date

_TEXT = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"
_RESOLVER: Any = yaml.resolver.Resolver()
#: Words that YAML 1.1 or 1.2 readers take for numbers or truth, beyond what PyYAML takes for them.
_MISREAD = re.compile(r"[yYnN]|[-+]?(?:\.\d+|\d[\d_]*(?:\.\d*)?)(?:[eE][-+]?\d+)?|0[oxb][\da-fA-F_]+")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:\d\d)?)?")
#: Text that needs no quotes: no indicator first, nothing that ends it early, only printable characters on one line.
_UNSAFE = r"\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff"
_BARE = re.compile(rf"""(?![-?:,\[\]{{}}#&*!|>'"%@`=<~\s])(?!\.\.\.)[^\x00-\x1f{_UNSAFE}]+""")
_ENDS_EARLY = re.compile(r":(?:\s|$)|\s#|\s$")
_FLOW_MARKS = re.compile(r"[,\[\]{}?]|:$|:[,\[\]{}\"']")
_ESCAPED = re.compile(f"[{_UNSAFE}]")


def spelled(value: Scalar) -> str:
    """The text a reader gets back. Times are ISO 8601 in UTC; a time without a zone is UTC."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else str(value)


def written(value: Scalar, *, flow: bool = False) -> str:
    """The value as YAML: bare where every reader agrees on it, else in double quotes. `flow`: inside brackets."""
    text = spelled(value)
    if not isinstance(value, str) or _is_date(text) or _is_bare(text, flow=flow):
        return text
    return quoted(text)


def fitting(value: Scalar, style: str, old: str) -> str:
    """The value in the manner of the one it replaces: its quotes if it had some, and none where it had none.

    A bare `0.5` may become a bare `0.8` though it is given as text: it is read as before.
    """
    text = spelled(value)
    if style == "single" and _printable(text):
        return "'" + text.replace("'", "''") + "'"
    if style in {"single", "double"}:
        return quoted(text)
    same = isinstance(value, str) and style == "plain" and kind_of(text) == kind_of(old)
    return text if same and kind_of(old) not in {_TEXT, _NULL} else written(value)


def quoted(text: str) -> str:
    """The text in double quotes, on one line."""
    return _ESCAPED.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(text, ensure_ascii=False))


def kind_of(text: str) -> str:
    """The YAML 1.1 tag that bare text resolves to, such as `tag:yaml.org,2002:float`."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))


def _is_date(text: str) -> bool:
    """Whether bare text is a date that exists: PyYAML raises a bare ValueError for the 30th of February."""
    if not _STAMP.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_bare(text: str, *, flow: bool) -> bool:
    if not _BARE.fullmatch(text) or _ENDS_EARLY.search(text) or (flow and _FLOW_MARKS.search(text)):
        return False
    return not _MISREAD.fullmatch(text) and kind_of(text) == _TEXT


def _printable(text: str) -> bool:
    return not re.search(r"[\x00-\x1f]", text) and not _ESCAPED.search(text)
