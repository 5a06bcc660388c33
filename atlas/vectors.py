"""The matrix of vectors beside the database: one row per distinct passage text, appended, mapped, never rewritten."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def append(file: Path, first_row: int, vectors: NDArray[np.float32]) -> None:
    """Write `vectors` (n, dim) as rows `first_row`… and force them to disk.

    The database learns of the rows afterwards, so a kill in between leaves rows nobody names; the next append
    starts at the same place and covers them.
    """
    mode = "r+b" if file.exists() else "w+b"
    with file.open(mode) as stream:
        stream.seek(first_row * vectors.shape[1] * 4)
        stream.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
        stream.flush()
        os.fsync(stream.fileno())


def mapped(file: Path, rows: int, dim: int) -> NDArray[np.float32]:
    """The first `rows` rows, mapped into memory, shape (rows, dim).

    Raises ValueError when the file is shorter than that: it does not belong to this database.
    """
    if rows == 0:
        return np.zeros((0, dim), dtype=np.float32)
    if not file.exists() or file.stat().st_size < rows * dim * 4:
        raise ValueError(f"{file.name} holds fewer than {rows} rows")
    return np.memmap(file, dtype="<f4", mode="r", shape=(rows, dim)).view(np.ndarray)
