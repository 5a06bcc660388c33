"""Models: embedders and the offline language tools, one file each."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atlas.config import Config
    from atlas.models.writing import Budgeted, Writer


@dataclass(frozen=True, slots=True)
class Choice:
    """The embedder that settings name; see docs/settings.md for what each field takes."""

    embedding: str = "static"
    model: str = ""
    api_base: str = ""
    download: bool = False


class Embedder(Protocol):
    """What every embedder offers. It is made from a Choice, loads when it must, and raises Unavailable if it cannot."""

    #: Whether it embeds any number of passages while a search waits.
    fast: bool
    #: How many passages it is best given at a time.
    batch: int

    @property
    def name(self) -> str:
        """Changes whenever its vectors do."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages: shape (len(texts), dim), float32, each of length 1, or 0 for a text without content."""
        ...

    def ask(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (dim,)."""
        ...


#: Every embedder by the name `atlas.toml` uses: module and class, loaded when first asked for.
EMBEDDERS = {
    "static": ("atlas.models.static", "StaticEmbedder"),
    "local": ("atlas.models.local", "LocalEmbedder"),
    "remote": ("atlas.models.remote", "RemoteEmbedder"),
}
#: What of `rank.Weights` is other where these answer: sentence models deserve more of a say than a table of tokens.
#: Chosen with MiniLM-L6 on half of LoCoMo and BEAM, in the middle of a plateau (0.09 to 0.12).
_SENTENCES = MappingProxyType({"vector": 0.1})
MIX: Mapping[str, Mapping[str, Any]] = MappingProxyType({"local": _SENTENCES, "remote": _SENTENCES})
#: The name of the default's vectors, here so that a look that finds nothing new need not load it.
STATIC = "wordllama-l2-256"


_loading = threading.Lock()
#: The writers of a process: they share what their vault may spend, whoever of it asks.
_writers: dict[tuple[Any, ...], Budgeted] = {}


def choice(config: Config) -> Choice:
    """What the settings of a vault choose. A folder may be named relative to the vault."""
    model = config.model
    if config.embedding == "local" and model and (config.root / model).is_dir():
        model = str(config.root / model)
    return Choice(config.embedding, model, config.api_base, config.download)


def signature(wanted: Choice) -> str:
    """What tells whether the model behind a choice is still the same, without loading it; raises Unavailable.

    Two equal signatures mean one name; the same name may have several (a folder that moved).
    """
    if wanted.embedding == "static":
        return STATIC
    found: str = import_module(EMBEDDERS[wanted.embedding][0]).signature(wanted)
    return found


def load(wanted: Choice) -> Embedder | None:
    """The embedder of a choice, or None for "none"; raises Unavailable.

    All engines of a process share it: an embedder keeps nothing of what it is given, and takes 0.1 s to load.
    """
    if wanted.embedding == "none":
        return None
    with _loading:
        return _made(wanted, signature(wanted))


def load_ahead(embedding: str) -> None:
    """Begin to load the default beside what comes next. A one-shot search opens the index meanwhile, and saves 40 ms.

    No other: whether its vectors are ready is not known yet, and some take seconds of both cores.
    """
    if embedding == "static":
        threading.Thread(target=load, args=(Choice(),), daemon=True).start()


def writes(config: Config) -> bool:
    """Whether there is a model that writes; nothing is loaded to know it."""
    return config.writer is not None or bool(config.llm_model)


def writer(config: Config) -> Writer | None:
    """The model that writes for a vault, within its budget: the one its engine was given, else that of `llm.model`.

    None where there is none. Whoever asks for one vault in one process shares one budget.
    """
    if config.writer is not None:
        return cast("Writer", config.writer)
    if not config.llm_model:
        return None
    limits = (config.llm_seconds, config.llm_retries, config.llm_max_calls, config.llm_max_tokens)
    key = (config.root, config.llm_model, config.llm_api_base, *limits)
    with _loading:
        if key not in _writers:
            remote = import_module("atlas.models.remote")
            model = remote.RemoteModel(
                config.llm_model, config.llm_api_base, seconds=config.llm_seconds, retries=config.llm_retries
            )
            _writers[key] = budgeted(config, model)
        return _writers[key]


def budgeted(config: Config, model: Any) -> Budgeted:
    """A model of a program's own as one that writes here, within the budget; raises UsageError if it cannot."""
    writing = import_module("atlas.models.writing")
    made: Budgeted = writing.Budgeted(model, writing.Budget(config.llm_max_calls, config.llm_max_tokens))
    return made


def release() -> None:
    """Let go of all loaded models; the next use loads what it needs again."""
    with _loading:
        _made.cache_clear()
        _writers.clear()


@cache
def _made(wanted: Choice, _signature: str) -> Embedder:
    module, cls = EMBEDDERS[wanted.embedding]
    return cast("Embedder", getattr(import_module(module), cls)(wanted))
