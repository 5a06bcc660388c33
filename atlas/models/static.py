"""The default embedder: a static table of token vectors from a small wheel. No network, no torch.

The weights are wordllama's 256-dimensional table (MIT). They are read in place: importing wordllama itself costs
0.27 s and its loader looks for a download, while mapping the table and loading the tokenizer costs 0.06 s.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from atlas.errors import Unavailable
from atlas.models import STATIC, Choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH = 256
_FEW = 64


class StaticEmbedder:
    """Mean of the token vectors, scaled to length 1. A text without tokens has the zero vector."""

    name = STATIC
    fast = True
    batch = _BATCH
    dim = 256

    def __init__(self, _wanted: Choice | None = None) -> None:
        self._tokenizer = tokenizer()
        self._table = _map_table(_folder() / _WEIGHTS)

    @cached_property
    def _floats(self) -> NDArray[np.float32]:
        return self._table.astype(np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of the texts, shape (len(texts), 256), float32, each of length 1 (or 0)."""
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        # Half floats are summed ten times slower than floats; many texts are worth the 32 MB of a converted table.
        table = self._floats if len(texts) > _FEW else self._table
        for start in range(0, len(texts), _BATCH):
            # Half of a surrogate pair, as a name that is not UTF-8 decodes to, is no text to the tokenizer.
            said = [text.encode("utf-8", "replace").decode() for text in texts[start : start + _BATCH]]
            batch = self._tokenizer.encode_batch_fast(said, add_special_tokens=False)
            for row, encoded in enumerate(batch, start):
                if encoded.ids:
                    out[row] = table[encoded.ids].mean(axis=0, dtype=np.float32)
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        np.divide(out, norms, out=out, where=norms > 0)
        return out

    def ask(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (256,)."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of the table, loaded once in a process: it also counts the tokens of views."""
    loaded = Tokenizer.from_file(str(_folder() / _TOKENIZER))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def _folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable("The package wordllama is missing: run `pip install memory-atlas` again.")
    return Path(spec.submodule_search_locations[0])


def _map_table(file: Path) -> NDArray[np.float16]:
    """The token table of a safetensors file with one tensor, mapped, not read. Shape (32000, 256), float16."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    (tensor,) = (value for key, value in header.items() if key != "__metadata__")
    offset = 8 + length + tensor["data_offsets"][0]
    return np.memmap(file, dtype=np.float16, mode="r", offset=offset, shape=tuple(tensor["shape"]))
