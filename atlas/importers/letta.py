"""The memory of a Letta agent (MemFS): a Git repository of Markdown blocks.

A block has a `description`, and may have a `limit` and `read_only`. In the older form `system/` holds what the agent
always sees; in the newer one that is every file at the top, and each folder has a `MEMORY.md` that lists it. The label
of a block is its path. `skills/` are instructions, and come as such.
"""

from __future__ import annotations

from collections.abc import Iterator

from atlas import markdown
from atlas.importers import File, Found, Skipped
from atlas.importers.given import Given
from atlas.importers.notes import SAMPLE, files, keyed, names, word

NAME = "letta"

#: Kept by Letta itself: a drawing of the tree.
_GENERATED = frozenset({"memory_filesystem.md", "system/memory_filesystem.md"})
_INDEX, _CONFIG = "MEMORY.md", ".memfs.config.json"


def detect(given: Given) -> bool:
    """Whether blocks with a description lie in `system/`, or at the top beside its index."""
    if given.is_file or ".obsidian" in given.hidden:
        return False
    root = _root(given)
    blocks = [name for name in names(given) if name.startswith(f"{root}system/") and name not in _GENERATED]
    if not blocks and root + _INDEX in given.files and (_CONFIG in given.hidden or _described(given, root + _INDEX)):
        blocks = [name for name in names(given) if "/" not in name.removeprefix(root)]
    described = [name for name in blocks[:SAMPLE] if _described(given, name)]
    return bool(described) and len(described) * 2 >= len(blocks[:SAMPLE])


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every block as a note, its description as the summary it is in Atlas too."""
    root, newer = _root(given), _root(given) + _INDEX in given.files
    for found in files(given):
        if isinstance(found, Skipped):
            yield found
        elif found.path.removeprefix(root) in _GENERATED:
            yield Skipped(found.path, "it is a list that Letta keeps itself")
        else:
            yield from _block(found, found.path.removeprefix(root), newer=newer)


def _described(given: Given, name: str) -> bool:
    return bool(word(markdown.parse(given.head(name), name).meta.get("description")))


def _root(given: Given) -> str:
    """Where the repository lies within what was given: an agent's folder has it in `memory/`."""
    inner = any(name.startswith("memory/system/") for name in given.files) or f"memory/{_INDEX}" in given.files
    return "memory/" if inner else ""


def _block(file: File, path: str, *, newer: bool) -> Iterator[File | Skipped]:
    label = path.removesuffix(".md").removeprefix("system/")
    changes = {"source": f"{NAME}:{label}"}
    if path.startswith("skills/"):
        changes["kind"] = "skill"
    elif path.startswith("system/") or (newer and "/" not in path):
        changes["tier"] = "user"  # what the agent always has before it fades last
    yield from keyed(file, changes)
