"""Models: embedders and the offline language tools, one file each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """What every embedder offers. `name` changes whenever its vectors do."""

    name: str
    dim: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dim), float32, each of length 1, or 0 for a text without content."""
        ...


#: Every embedder by the name `atlas.toml` uses: module and class, loaded when first asked for.
EMBEDDERS = {"static": ("atlas.models.static", "StaticEmbedder")}


_loading = threading.Lock()


def load(name: str) -> Embedder | None:
    """The embedder of that name, or None for "none"; raises KeyError for any other word.

    All engines of a process share it: an embedder keeps nothing of what it is given, and takes 0.1 s to load.
    """
    with _loading:
        return _load(name)


def load_ahead(name: str) -> None:
    """Begin to load it beside what comes next. A one-shot search opens the index meanwhile, and saves 40 ms."""
    threading.Thread(target=load, args=(name,), daemon=True).start()


@cache
def _load(name: str) -> Embedder | None:
    if name == "none":
        return None
    module, cls = EMBEDDERS[name]
    return cast("Embedder", getattr(import_module(module), cls)())
