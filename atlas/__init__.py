"""Atlas: an agent's memory as a Git repository of Markdown files.

>>> from atlas import MemoryEngine
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atlas.engine import MemoryEngine
    from atlas.errors import AtlasError
    from atlas.memory import Hit, Lod, Memory, Scope, Tier, Trust, View

__version__ = "0.1.0"

#: Public names and where they live. Loading them on first use keeps `import atlas` free.
_PUBLIC = {
    "AtlasError": "atlas.errors",
    "Hit": "atlas.memory",
    "Lod": "atlas.memory",
    "Memory": "atlas.memory",
    "MemoryEngine": "atlas.engine",
    "Scope": "atlas.memory",
    "Tier": "atlas.memory",
    "Trust": "atlas.memory",
    "View": "atlas.memory",
}

__all__ = ["AtlasError", "Hit", "Lod", "Memory", "MemoryEngine", "Scope", "Tier", "Trust", "View", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'atlas' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
