"""A real embedder without a model: words hashed into a few numbers. It stands for any slow one in the tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atlas import models, words
from atlas.errors import Unavailable
from atlas.models import Choice


def signature(wanted: Choice) -> str:
    """The model's name and, as a folder would have, what lies in its file; `model` is the path of that file."""
    file = Path(wanted.model)
    if not file.is_file():
        raise Unavailable(f"The model {file.name} is not on this machine: put it there.")
    return f"hashed {wanted.model} {file.read_text()}"


class HashedEmbedder:
    """Its file says how long its vectors are, and a word that makes them different from those of another file."""

    fast = False
    batch = 8
    #: Every text any of them embedded, in order.
    seen: list[str] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, wanted: Choice) -> None:
        self.name = f"hashed {Path(wanted.model).read_text()}"
        dim, self._salt = Path(wanted.model).read_text().split()
        self.dim = int(dim)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One number per word's hash, and one that is never 0."""
        self.seen.extend(texts)
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        out[:, 0] = 0.1
        for row, text in enumerate(texts):
            for word in words.terms(text):
                digest = hashlib.blake2b(f"{self._salt} {word}".encode(), digest_size=4).digest()
                out[row, int.from_bytes(digest) % self.dim] += 1
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    def ask(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        self.seen.pop()
        return vector


def install() -> None:
    """From now on `embedding = "local"` means this one, in this process."""
    models.EMBEDDERS["local"] = ("embedders", "HashedEmbedder")
