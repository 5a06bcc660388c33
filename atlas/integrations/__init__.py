"""Doors for agent frameworks, one file each; a framework is imported by its own file alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(framework: str, extra: str) -> Iterator[None]:
    """Around the imports of a framework: where it is not installed, the ImportError says which extra brings it."""
    try:
        yield
    except ImportError as err:
        told = f"{framework} is not installed, or not in a version Atlas knows ({err})"
        raise ImportError(f"{told}: run `pip install 'memory-atlas[{extra}]'`.", name=err.name) from err
