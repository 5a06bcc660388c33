"""What an agent calls its files, and what they are called in the vault.

    /memories/notes.txt                  in the words of the agent
    memories/agent/notes.txt.plain.md    in the vault

The vault holds Markdown alone, so a file that an agent calls otherwise gets `.plain.md` behind its name: it is
searched, undone and shown in an editor like any other memory.
"""

from __future__ import annotations

from atlas.config import ENDINGS
from atlas.errors import OutsideVault, UsageError
from atlas.paths import check_path

#: What an agent calls the folder.
ROOT = "/memories"
#: What follows the name of a file that is no Markdown to the agent.
PLAIN = ".plain.md"


def stored_name(name: str) -> str:
    """What a file that an agent calls `name` is called in the vault. No two have the same.

    >>> [stored_name(name) for name in ("a.md", "a.txt", "a", "a.plain.md")]
    ['a.md', 'a.txt.plain.md', 'a.plain.md', 'a.plain.md.plain.md']
    """
    folded = name.lower()
    return name if folded.endswith(ENDINGS) and not folded.endswith(PLAIN) else name + PLAIN


def shown_name(stored: str) -> str | None:
    """What an agent calls a file of the vault, None if it can have no such name. The inverse of `stored_name`.

    >>> [shown_name(name) for name in ("a.md", "a.txt.plain.md", "a.txt", "a.md.plain.md")]
    ['a.md', 'a.txt', None, None]
    """
    if stored.endswith(PLAIN):
        name = stored[: -len(PLAIN)]
        return name if name and stored_name(name) == stored else None
    return stored if stored_name(stored) == stored else None


def parts(path: str) -> list[str]:
    """The names on the way to a path of an agent's, [] for the folder itself; raises UsageError.

    Judged by its spelling alone: nothing that could mean another place on any system, however it is read.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise UsageError(f"Path must start with {ROOT}, got: {path}")
    found = [part for part in path.removeprefix(ROOT).split("/") if part]
    if ".." in found:
        raise UsageError(f"Path {path} would escape {ROOT} directory")
    if "\\" in path:
        raise UsageError(f"Path {path} is not allowed: it holds a backslash")
    for part in found:
        if part.startswith("."):
            raise UsageError(f"Path {path} is not allowed: {part!r} is hidden")
    try:
        # With a letter in front: what the folder itself is called in the vault has been checked before.
        check_path("/".join(["m", *found]), endings=())
    except OutsideVault as err:
        raise UsageError(f"Path {path} is not allowed: {err.reason}") from None
    return found
