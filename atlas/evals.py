"""The vault's own checks: what a search must find, and what it must never return. Kept in `evals/*.toml`.

    [[case]]
    query = "where does Ana sit"
    expect = ["ana-desk"]            # each is among the first k hits: an id, a path, a file name or a title
    never = ["old-floor-plan"]       # none of these is
    never_text = ["floor 2"]         # no hit holds this text
    k = 10
    scope = ""
    nothing = false                  # true: the search must find nothing

A person writes one after a wrong answer, as one writes a test after a bug; `atlas eval` and the pre-push hook run them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from atlas.errors import AtlasError, UsageError
from atlas.memory import Hit

FOLDER = "evals"


@dataclass(frozen=True, slots=True)
class Case:
    """One check. `file` and `number` (from 1) say where it stands."""

    file: str
    number: int
    query: str
    expect: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    never_text: tuple[str, ...] = ()
    k: int = 10
    scope: str = ""
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one case: `failures` are sentences, none if it holds."""

    case: Case
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the case holds."""
        return not self.failures


#: A search: query, k, scope → hits. A look-up: a name → the id of the memory it means; raises AtlasError.
Search = Callable[[str, int, str], Sequence[Hit]]
Find = Callable[[str], str]


def load(root: Path, names: Sequence[str] = ()) -> list[Case]:
    """The cases of these files (relative to the vault), or of all; raises UsageError naming what cannot be meant."""
    files = [root / name for name in names] or sorted((root / FOLDER).glob("*.toml"))
    return [case for file in files for case in _cases(file, file.relative_to(root).as_posix())]


def judge(cases: Sequence[Case], search: Search, find: Find) -> list[Verdict]:
    """Run the cases."""
    return [Verdict(case, tuple(_failures(case, search(case.query, case.k, case.scope), find))) for case in cases]


def _failures(case: Case, hits: Sequence[Hit], find: Find) -> list[str]:
    found = {hit.id for hit in hits}
    out = []
    if case.nothing and hits:
        out.append(f"found {hits[0].path}, where nothing is to be found")
    for name in case.expect:
        try:
            if find(name) not in found:
                out.append(f"{name} is not among the first {case.k}")
        except AtlasError as err:
            out.append(str(err))
    for name in case.never:
        try:
            if find(name) in found:
                out.append(f"{name} was found")
        except AtlasError:
            continue  # what is not in the vault cannot be found
    for text in case.never_text:
        out += [f"{hit.path} holds {text!r}" for hit in hits if text.casefold() in hit.text.casefold()][:1]
    return out


def _cases(file: Path, name: str) -> list[Case]:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(f"There is no file {name} in the vault.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise UsageError(f"{name} is not valid TOML ({err}): repair that line.") from None
    rows = data.get("case", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{name}: cases are tables that begin with [[case]].")
    return [_case(name, number, row) for number, row in enumerate(rows, 1)]


def _case(name: str, number: int, row: dict[str, Any]) -> Case:
    known = {field.name for field in fields(Case)} - {"file", "number"}
    for key in row:
        if key not in known:
            raise UsageError(f"{name}, case {number}: `{key}` is unknown; a case takes {', '.join(sorted(known))}.")
    values = {key: _value(name, number, key, value) for key, value in row.items()}
    if not values.get("query"):
        raise UsageError(f"{name}, case {number}: it needs a query.")
    return Case(name, number, **values)


def _value(name: str, number: int, key: str, value: Any) -> Any:
    """The value in the type of its field, or UsageError."""
    if key in {"query", "scope"} and isinstance(value, str):
        return value
    if key == "nothing" and isinstance(value, bool):
        return value
    if key == "k" and isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if key in {"expect", "never", "never_text"}:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) and item for item in items):
            return tuple(items)
    raise UsageError(f"{name}, case {number}: `{key}` cannot be {value!r}.")
