"""The local embedder: a sentence-transformers model in a folder or in the hub's cache. Offline unless told otherwise.

A folder with an ONNX file is run by onnxruntime where that is installed, without torch: MiniLM-L6 loads in 0.4 s
instead of 4.2, takes 190 MB instead of 490, and its vectors are the same to six digits. Any other is run by
sentence-transformers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from atlas.errors import Unavailable
from atlas.models import Choice

#: What `model` means when nothing is written there.
DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"

#: Texts that go through the model together: more are no faster on a CPU, and cost memory.
_BATCH = 16
_WEIGHTS = ("onnx/model.onnx", "model.onnx", "model.safetensors", "pytorch_model.bin")
_SETTINGS = ("config.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json",
             "tokenizer.json", "tokenizer_config.json", "vocab.txt", "1_Pooling/config.json")  # fmt: skip
#: Modules of a model that the ONNX way knows; with any other, only sentence-transformers does it justice.
_PLAIN = frozenset({"Transformer", "Pooling", "Normalize"})
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_QUIET = ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "DO_NOT_TRACK")


class _Backend(Protocol):
    """A loaded model: its tokenizer, how many tokens it takes at once, and texts of at most so many to vectors."""

    tokenizer: Tokenizer
    window: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def signature(wanted: Choice) -> str:
    """Changes whenever a file of the model does, by place, size or time; costs some looks at the disk."""
    folder = _found(wanted.model or DEFAULT, download=wanted.download)
    stats = [(file.name, stat.st_size, stat.st_mtime_ns) for file in _files(folder) for stat in [file.stat()]]
    return f"local {folder} {hashlib.blake2b(repr(stats).encode(), digest_size=8).hexdigest()}"


class LocalEmbedder:
    """A model on this machine. Nothing of a text is left out.

    A text longer than the model's window is cut in halves until each fits, and their vectors are averaged by their
    tokens. Making one looks at the folder only; `name` reads the weights once, and the first text loads them.
    """

    fast = False
    batch = _BATCH

    def __init__(self, wanted: Choice) -> None:
        self.folder = _found(wanted.model or DEFAULT, download=wanted.download)
        self._files = _files(self.folder)
        self._download = wanted.download
        self._made_from = signature(wanted)
        self._wanted = wanted
        self._one_at_a_time = threading.Lock()

    @cached_property
    def name(self) -> str:
        """The folder's name and a hash of all that makes the vectors: settings, tokenizer, weights (90 MB: 0.15 s)."""
        digest = hashlib.blake2b(digest_size=8)
        for file in self._files:
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "blake2b").digest())
        return f"local {_title(self.folder)} {digest.hexdigest()}"

    @cached_property
    def dim(self) -> int:
        """How long its vectors are."""
        return len(self.ask(""))

    @cached_property
    def window(self) -> int:
        """How many tokens it takes at once, its own marks included."""
        return self._backend.window

    @cached_property
    def _backend(self) -> _Backend:
        if signature(self._wanted) != self._made_from:  # or its vectors would go by the name of the old ones
            raise Unavailable(f"The model in {self.folder} has changed: open the vault again.")
        onnx = next((file for file in self._files if file.suffix == ".onnx"), None)
        if onnx is not None:
            return _Onnx(self.folder, onnx)
        return _Torch(self.folder, offline=not self._download)

    @cached_property
    def _prompts(self) -> dict[str, str]:
        """What some models want before a question or a passage."""
        prompts = _json(self.folder / "config_sentence_transformers.json").get("prompts") or {}
        return {"query": prompts.get("query", ""), "document": prompts.get("document", prompts.get("passage", ""))}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages, shape (len(texts), dim), float32, each of length 1."""
        with self._one_at_a_time:
            return self._embed([self._prompts["document"] + _sayable(text) for text in texts])

    def ask(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (dim,), float32, of length 1."""
        with self._one_at_a_time:
            vector: NDArray[np.float32] = self._embed([self._prompts["query"] + _sayable(text)])[0]
            return vector

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        parts = [(place, part, size) for place, text in enumerate(texts) for part, size in self._windows(text)]
        # By length, so that a batch is padded little; the order of a batch does not change what comes out of it.
        parts.sort(key=lambda part: (part[2], part[1]))
        out: NDArray[np.float32] | None = None
        for start in range(0, len(parts), _BATCH):
            batch = parts[start : start + _BATCH]
            vectors = _unit(self._backend.encode([part for _, part, _ in batch]))
            if out is None:
                out = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
            for (place, _, size), vector in zip(batch, vectors, strict=True):
                out[place] += np.float32(size) * vector
        return _unit(out) if out is not None else np.zeros((0, self.dim), dtype=np.float32)

    def _windows(self, text: str) -> Iterator[tuple[str, int]]:
        """The text in pieces the model takes whole, each with its number of tokens."""
        encoded = self._backend.tokenizer.encode(text)
        size = len(encoded.ids)
        if size <= self._backend.window:
            yield text, size
            return
        middle = _cut(text)
        yield from self._windows(text[:middle])
        yield from self._windows(text[middle:])


class _Onnx:
    """The model as an ONNX file, run by onnxruntime."""

    def __init__(self, folder: Path, file: Path) -> None:
        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        # Threads that wait by spinning take the time of everything else on the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except _errors(runtime) as err:
            raise Unavailable(f"The model {file} cannot be read ({_first_line(err)}): fetch it again.") from None
        self.tokenizer, self.window = _tokenizer(folder / "tokenizer.json"), _window(folder)
        self._inputs = {put.name for put in self._session.get_inputs()}
        if not self._inputs <= _INPUTS:
            odd = ", ".join(sorted(self._inputs - _INPUTS))
            raise Unavailable(f"The model {file} wants inputs a text does not have ({odd}): choose another model.")
        self._outputs = [put.name for put in self._session.get_outputs()]
        self._pooling = _pooling(folder)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts that fit the window."""
        encoded = [e.ids for e in self.tokenizer.encode_batch(list(texts))]
        longest = max(map(len, encoded))
        assert longest <= self.window, f"{longest} tokens, over the window of {self.window}"
        ids = np.zeros((len(texts), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, found in enumerate(encoded):
            ids[row, : len(found)], mask[row, : len(found)] = found, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        given = {name: value for name, value in given.items() if name in self._inputs}
        if "sentence_embedding" in self._outputs:
            pooled: NDArray[np.float32] = self._session.run(["sentence_embedding"], given)[0]
            return pooled
        return _pooled(self._session.run(self._outputs[:1], given)[0], mask, self._pooling)


class _Torch:
    """The model as sentence-transformers runs it."""

    def __init__(self, folder: Path, *, offline: bool) -> None:
        library = _sentence_transformers(offline=offline)
        logging = import_module("transformers.utils.logging")
        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            self._model = library.SentenceTransformer(str(folder), device="cpu", local_files_only=offline)
        except (OSError, ValueError, RuntimeError, KeyError) as err:
            raise Unavailable(f"The model in {folder} cannot be loaded ({_first_line(err)}): fetch it again.") from None
        finally:
            if shown:
                logging.enable_progress_bar()
        self.tokenizer = _free(Tokenizer.from_str(self._model.tokenizer.backend_tokenizer.to_str()))
        self.window = int(self._model.max_seq_length or _window(folder))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts that fit the window."""
        longest = max(len(e.ids) for e in self.tokenizer.encode_batch(list(texts)))
        assert longest <= self.window, f"{longest} tokens, over the window of {self.window}"
        vectors = self._model.encode(
            list(texts), batch_size=_BATCH, prompt="", show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(vectors, dtype=np.float32)


def _errors(runtime: Any) -> tuple[type[Exception], ...]:
    """What onnxruntime raises: one class for each of its status codes, of no common base."""
    found = vars(runtime.capi.onnxruntime_pybind11_state).values()
    return tuple(value for value in found if isinstance(value, type) and issubclass(value, Exception))


def _sentence_transformers(*, offline: bool) -> Any:
    """The library, told before it is imported to leave the network alone; raises Unavailable."""
    for name in (*_OFFLINE, *_QUIET) if offline else _QUIET:
        os.environ.setdefault(name, "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        return import_module("sentence_transformers")
    except ImportError as err:
        raise Unavailable(
            f"Local models need more packages ({_first_line(err)}): run `pip install 'memory-atlas[local]'`."
        ) from None


# ------------------------------------------------------------------ finding


def _found(model: str, *, download: bool) -> Path:
    """The folder of a model: a path, or a name in the hub's cache; raises Unavailable with the next step."""
    given = Path(model).expanduser()
    if given.is_dir():
        if not (given / "config.json").is_file():
            raise Unavailable(f"The folder {given} holds no model: `search.model` wants one with a config.json.")
        return given.resolve()
    folder = _cached(model)
    if folder is None and download:
        _fetch(model)
        folder = _cached(model)
    if folder is None:
        raise Unavailable(
            f"The model {model} is not on this machine: set `search.model` to its folder, or `search.download = true`."
        )
    return folder


def _cached(model: str) -> Path | None:
    """The newest state of a model in the hub's cache, found by the layout of its folders; None without one."""
    names = [model] if "/" in model else [model, f"sentence-transformers/{model}"]
    for name in names:
        for root in _caches():
            folder = root / f"models--{name.replace('/', '--')}"
            ref = folder / "refs" / "main"
            states = [folder / "snapshots" / ref.read_text("ascii").strip()] if ref.is_file() else []
            states += sorted((folder / "snapshots").glob("*"))
            for state in states:
                if (state / "config.json").is_file() and _weights(state) is not None:
                    return state
    return None


def _caches() -> list[Path]:
    """Where the hub and sentence-transformers keep what they fetched."""
    say = os.environ.get
    home = Path(say("HF_HOME") or Path(say("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface")
    named = [say("SENTENCE_TRANSFORMERS_HOME"), say("HF_HUB_CACHE"), home / "hub"]
    return [Path(place).expanduser() for place in named if place]


def _fetch(model: str) -> None:
    """Fetch a model into the hub's cache, as the setting allows; raises Unavailable."""
    library = _sentence_transformers(offline=False)
    try:
        library.SentenceTransformer(model, device="cpu")
    except (OSError, ValueError, RuntimeError) as err:
        raise Unavailable(f"The model {model} could not be fetched ({_first_line(err)}): try again later.") from None


def _files(folder: Path) -> tuple[Path, ...]:
    """The files that decide what the vectors are: settings, tokenizer, and the weights that would be loaded."""
    weights = _weights(folder)
    if weights is None:
        raise Unavailable(f"The folder {folder} holds no weights (such as model.safetensors): fetch the model again.")
    settings = [folder / name for name in _SETTINGS if (folder / name).is_file()]
    shards = sorted(folder.glob("model-*-of-*.safetensors")) if weights.name.endswith(".index.json") else []
    beside = [file for file in (weights.with_name(weights.name + "_data"),) if file.is_file()]
    return (*settings, weights, *shards, *beside)


def _weights(folder: Path) -> Path | None:
    """The weights to use: those as ONNX where they can be run, else those for torch; None without any."""
    for name in (*_WEIGHTS, "model.safetensors.index.json"):
        if (folder / name).is_file() and (not name.endswith(".onnx") or _runs_onnx(folder)):
            return folder / name
    return None


def _runs_onnx(folder: Path) -> bool:
    """Whether onnxruntime is there, and nothing stands behind the transformer but pooling."""
    return (
        importlib.util.find_spec("onnxruntime") is not None
        and (folder / "tokenizer.json").is_file()
        and {module.rpartition(".")[2] for module in _modules(folder)} <= _PLAIN
        and _pooling(folder) in {"mean", "cls"}
    )


def _modules(folder: Path) -> list[str]:
    file = folder / "modules.json"
    return [module["type"] for module in json.loads(file.read_text("utf-8"))] if file.is_file() else []


def _pooling(folder: Path) -> str:
    """How token vectors become one: "mean" unless the model says something else. Two spellings are in use."""
    said = _json(folder / "1_Pooling" / "config.json")
    modes = {"cls_token": "cls", "mean_tokens": "mean"}
    old = [modes.get(key[13:], key[13:]) for key, on in said.items() if key.startswith("pooling_mode_") and on is True]
    return str(said.get("pooling_mode") or "+".join(old) or "mean")


def _window(folder: Path) -> int:
    """How many tokens the model takes: what it was trained with, else what its tokenizer or its weights allow."""
    trained = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    allowed = [
        _json(folder / "tokenizer_config.json").get("model_max_length"),
        _json(folder / "config.json").get("max_position_embeddings"),
    ]
    known = [int(size) for size in ([trained] if trained else allowed) if size and size < 1_000_000]
    return min(known, default=512)


def _json(file: Path) -> dict[str, Any]:
    """A settings file; {} where there is none."""
    found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found if isinstance(found, dict) else {}


def _title(folder: Path) -> str:
    """A model folder's name: in the hub's cache, the one above its states says it."""
    if folder.parent.name != "snapshots":
        return folder.name
    return folder.parents[1].name.removeprefix("models--").replace("--", "/")


# --------------------------------------------------------------------- text


def _tokenizer(file: Path) -> Tokenizer:
    return _free(Tokenizer.from_file(str(file)))


def _free(tokenizer: Tokenizer) -> Tokenizer:
    """Neither cutting nor padding, whatever its file says: models were saved with both set to 128."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _cut(text: str) -> int:
    """Near the middle, between two words if there are any."""
    middle = len(text) // 2
    space = text.find(" ", middle)
    return space if 0 < space < len(text) * 3 // 4 else middle


def _pooled(tokens: NDArray[np.float32], mask: NDArray[np.int64], how: str) -> NDArray[np.float32]:
    """Token vectors (n, tokens, dim) to text vectors (n, dim)."""
    if how == "cls":
        return tokens[:, 0]
    share = mask[..., None].astype(np.float32)
    mean: NDArray[np.float32] = (tokens * share).sum(axis=1) / share.sum(axis=1)
    return mean


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row scaled to length 1; zero stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return scaled


def _sayable(text: str) -> str:
    """Half of a surrogate pair is no text to a tokenizer."""
    return text.encode("utf-8", "replace").decode()


def _first_line(err: BaseException) -> str:
    return (str(err).strip() or type(err).__name__).splitlines()[0].rstrip(".:")
