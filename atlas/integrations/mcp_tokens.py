"""Who may come in over HTTP, and how far: bearer tokens, each with a scope.

A file outside the vault, readable by its owner alone, has a table for each:

    [reviewer]
    token = "…"          # or sha256 = "…", its digest in hexadecimal
    scope = "team/"      # a folder of the vault; without it, the whole vault
    actor = "reviewer"   # who makes the changes; without it, the name of the table
    read_only = true
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas.errors import UsageError
from atlas.memory import Scope

#: A token that can be guessed is none.
SHORTEST = 16
_KEYS = {"token", "sha256", "scope", "actor", "read_only"}
_OTHERS = 0o077
_HEX = 64


@dataclass(frozen=True, slots=True)
class Credential:
    """What one token opens. `digest` is the SHA-256 of the token, which is not kept."""

    name: str
    digest: bytes
    scope: str = ""
    actor: str = ""
    read_only: bool = False


def fresh(**rights: Any) -> tuple[str, Credential]:
    """A new token nobody can guess, and what it opens."""
    token = secrets.token_urlsafe(32)
    return token, Credential("once", digest(token), **rights)


def digest(token: str) -> bytes:
    """What stands for a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def allowed(token: str, credentials: Sequence[Credential]) -> Credential | None:
    """The credential of this token, None if there is none. It takes as long whichever it is."""
    given, found = digest(token), None
    for one in credentials:
        if hmac.compare_digest(one.digest, given):
            found = one
    return found


def load(file: Path, vault: Path) -> tuple[Credential, ...]:
    """The credentials of a file; raises UsageError for one that others can read, or that lies in the vault."""
    place = file.expanduser().resolve()
    if place.is_relative_to(vault.resolve()):
        raise UsageError(f"{file} lies in the vault, where memories are shared: keep tokens outside of it.")
    try:
        text = place.read_text(encoding="utf-8")
        mode = place.stat().st_mode
    except OSError as err:
        raise UsageError(f"{file} cannot be read ({err.strerror}): name the file with the tokens.") from None
    if os.name != "nt" and mode & _OTHERS:
        raise UsageError(f"{file} can be read by others: run `chmod 600` on it.")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise UsageError(f"{file} is not valid TOML ({err}): repair that line.") from None
    found = tuple(_credential(file, name, table) for name, table in tables.items())
    if not found or len({one.digest for one in found}) < len(found):
        raise UsageError(f"{file} must have a table for each token, each with a token of its own.")
    return found


def _credential(file: Path, name: str, table: Any) -> Credential:
    if not isinstance(table, dict) or (set(table) - _KEYS):
        raise UsageError(f"{file}: [{name}] is a table that takes {', '.join(sorted(_KEYS))}.")
    read_only, texts = table.get("read_only", False), [table.get(key, "") for key in ("scope", "actor")]
    if not isinstance(read_only, bool) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{file}: in [{name}], scope and actor are texts, read_only is true or false.")
    return Credential(name, _digest(file, name, table), Scope(texts[0]).prefix, texts[1] or name, read_only)


def _digest(file: Path, name: str, table: dict[str, Any]) -> bytes:
    """The digest of a table's token; what the token is gets into no error."""
    token, hashed = table.get("token"), table.get("sha256")
    if isinstance(token, str) and hashed is None and len(token) >= SHORTEST:
        return digest(token)
    if isinstance(hashed, str) and token is None and len(hashed) == _HEX:
        try:
            return bytes.fromhex(hashed)
        except ValueError:
            pass
    raise UsageError(f"{file}: [{name}] wants a token of {SHORTEST} characters or more, or its sha256, and not both.")
