"""Models behind an address, asked through litellm: an embedder, and one that writes. Keys come from the environment.

litellm is imported when the first text is sent and not before: it takes three seconds, and fetches a price list
unless it is told not to.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.errors import Unavailable
from atlas.models import Choice

_LEAST, _BELOW = (1, 84, 0), (2,)
#: Published by a thief of credentials in March 2026; they must not even be imported.
_STOLEN = frozenset({(1, 82, 7), (1, 82, 8)})

#: Texts of one request.
_BATCH = 64
#: Seconds for the vector of a question, which a person waits for, and for a batch of passages.
_ASK_SECONDS, _EMBED_SECONDS = 10.0, 60.0
#: Seconds for an answer in words, which a person waits for too, and the most tokens it may have: a few sentences, what
#: fills a form, a message of a conversation.
COMPLETE_SECONDS = 15.0
_COMPLETE_TOKENS, _FORMED_TOKENS, _CHAT_TOKENS = 500, 2000, 1000
#: Seconds before an answer in words is asked for again: at first, and at most.
_FIRST, _LONGEST = 0.5, 8.0
#: Seconds before each further try of a batch; a question has none.
_PAUSES = (1.0, 4.0)
#: Seconds for which a server that failed is not asked again, so that every search does not wait for it.
_REST = 30.0


def signature(wanted: Choice) -> str:
    """Model and address: the server cannot be asked whether its weights are still the same."""
    return f"remote {wanted.model} {wanted.api_base}".rstrip()


class RemoteEmbedder:
    """A model that litellm knows, such as `openai/text-embedding-3-small` or `ollama/nomic-embed-text`."""

    fast = False
    batch = _BATCH

    def __init__(self, wanted: Choice) -> None:
        if not wanted.model:
            raise Unavailable('A remote embedder needs `search.model`, such as "openai/text-embedding-3-small".')
        self.name = signature(wanted)
        self._wanted = wanted
        self._failed = ""
        self._rests_until = 0.0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages, shape (len(texts), dim), float32, each of length 1; raises Unavailable."""
        batches = [texts[start : start + self.batch] for start in range(0, len(texts), self.batch)]
        found = [self._asked(batch, _EMBED_SECONDS, _PAUSES) for batch in batches]
        return np.concatenate(found) if found else np.zeros((0, 0), dtype=np.float32)

    def ask(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (dim,), float32, of length 1; raises Unavailable."""
        vector: NDArray[np.float32] = self._asked([text], _ASK_SECONDS, ())[0]
        return vector

    def _asked(self, texts: Sequence[str], seconds: float, pauses: Sequence[float]) -> NDArray[np.float32]:
        if time.monotonic() < self._rests_until:
            raise Unavailable(self._failed)
        try:
            return _checked(self._answer(texts, seconds, pauses), len(texts), self._wanted.model)
        except Unavailable as err:
            self._failed, self._rests_until = str(err), time.monotonic() + _REST
            raise

    def _answer(self, texts: Sequence[str], seconds: float, pauses: Sequence[float]) -> Any:
        """What the server says, tried again after each pause if it may help."""
        litellm = _litellm()
        for pause in (*pauses, None):
            try:
                return litellm.embedding(
                    model=self._wanted.model,
                    input=[_sayable(text) for text in texts],
                    api_base=self._wanted.api_base or None,
                    timeout=seconds,
                    max_retries=1,  # it takes 0 for 2
                    encoding_format="float",
                    drop_params=True,
                )
            except _passing(litellm) as err:
                if pause is None:
                    raise Unavailable(_sentence(self._wanted, err)) from None
                time.sleep(pause)
            except import_module("openai").OpenAIError as err:
                raise Unavailable(_sentence(self._wanted, err)) from None
        raise AssertionError("the last try either answers or raises")


class RemoteModel:
    """A model that writes (`writing.Writer`), by the name litellm has for it. Safe to use from threads.

    After a failure no prompt is sent to it for a while, so that every search does not wait for it; a person who talks
    to it has perhaps just started it. `seconds` is the time of one try, `retries` how often what fails in passing is
    tried again.
    """

    def __init__(self, model: str, api_base: str = "", *, seconds: float = COMPLETE_SECONDS, retries: int = 1) -> None:
        self._wanted = Choice("remote", model, api_base)
        self._seconds, self._retries = seconds, retries
        self._failed = ""
        self._rests_until = 0.0
        self._no_schema = False

    def complete(self, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """What the model answers to a prompt; raises Unavailable. `schema` is sent where the server takes it."""
        if time.monotonic() < self._rests_until:
            raise Unavailable(self._failed)
        messages = [{"role": "user", "content": prompt}]
        if schema is None:
            return self._words(self._asked(messages, max_tokens=_COMPLETE_TOKENS))
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}
        more = {} if self._no_schema else {"response_format": form}
        return self._words(self._asked(messages, max_tokens=_FORMED_TOKENS, **more))

    def chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The next message of a conversation; raises Unavailable."""
        return self._words(self._asked(messages, max_tokens=_CHAT_TOKENS))

    def stream(self, messages: Sequence[Mapping[str, str]]) -> Iterator[str]:
        """The same, piece by piece; what failed before its first piece is tried again, and nothing after it."""
        pieces = self._asked(messages, max_tokens=_CHAT_TOKENS, stream=True)
        said = False
        try:
            for chunk in pieces:
                for choice in chunk.choices[:1]:
                    if choice.delta.content:
                        said = True
                        yield choice.delta.content
        except import_module("openai").OpenAIError as err:
            raise self._resting(_sentence(self._wanted, err, "llm.model")) from None
        if not said:
            raise Unavailable(self._wordless())

    def _asked(self, messages: Sequence[Mapping[str, str]], **options: Any) -> Any:
        """What the server says, tried again where that may help."""
        litellm = _litellm()
        told = [{"role": one["role"], "content": _sayable(one["content"])} for one in messages]
        for pause in (*(_pause(n) for n in range(self._retries)), None):
            try:
                return self._completion(litellm, told, options)
            except _passing(litellm) as err:
                if pause is None:
                    raise self._resting(_sentence(self._wanted, err, "llm.model")) from None
                time.sleep(pause)
            except import_module("openai").OpenAIError as err:
                raise self._resting(_sentence(self._wanted, err, "llm.model")) from None
        raise AssertionError("the last try either answers or raises")

    def _completion(self, litellm: Any, told: Sequence[Mapping[str, str]], options: dict[str, Any]) -> Any:
        """One try; once more without the schema where the server takes none, which is then remembered."""
        asked = {
            "model": self._wanted.model,
            "messages": told,
            "api_base": self._wanted.api_base or None,
            "timeout": self._seconds,
            "max_retries": 0,
            "temperature": 0,
            "drop_params": True,
        }
        try:
            return litellm.completion(**asked, **options)
        except litellm.BadRequestError:
            if options.pop("response_format", None) is None:
                raise
            self._no_schema = True
            return litellm.completion(**asked, **options)

    def _words(self, answer: Any) -> str:
        try:
            text = answer.choices[0].message.content
        except (AttributeError, IndexError):
            text = None
        if not isinstance(text, str):
            raise Unavailable(self._wordless())
        return text

    def _wordless(self) -> str:
        return f"The model {self._wanted.model} did not answer with words: choose one that chats."

    def _resting(self, sentence: str) -> Unavailable:
        """The error, and no further call for a while."""
        self._failed, self._rests_until = sentence, time.monotonic() + _REST
        return Unavailable(sentence)


def _pause(number: int) -> float:
    """Seconds before the next try, twice as many each time."""
    return min(_LONGEST, _FIRST * 2.0**number)


def _passing(litellm: Any) -> tuple[type[Exception], ...]:
    """The errors that may be gone the next time."""
    return (litellm.Timeout, litellm.APIConnectionError, litellm.RateLimitError,
            litellm.InternalServerError, litellm.ServiceUnavailableError)  # fmt: skip


@cache
def _litellm() -> Any:
    """The library, of a version that may be imported, and told not to use the network for itself or to print."""
    try:
        version = metadata.version("litellm")
    except metadata.PackageNotFoundError:
        raise Unavailable("Remote models need litellm: run `pip install 'memory-atlas[llm]'`.") from None
    number = _number(version)
    if number in _STOLEN:
        raise Unavailable(
            f"litellm {version} was published by a thief of credentials: uninstall it and change your keys."
        )
    if not _LEAST <= number < _BELOW:
        raise Unavailable(
            f"litellm {version} does not fit: run `pip install 'memory-atlas[llm]'`, which brings one that does."
        )
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # Said by pydantic of a type of litellm's own, at the first completion; nobody who searches can act on it.
    warnings.filterwarnings("ignore", message=r"Items? .*`ReadOnly` qualifier", category=UserWarning)
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    return litellm


def _number(version: str) -> tuple[int, ...]:
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")[:3])


def _checked(answer: Any, count: int, model: str) -> NDArray[np.float32]:
    """The vectors of an answer in the order asked, scaled to length 1; raises Unavailable if they are no vectors."""
    try:
        rows = [item["embedding"] for item in sorted(answer.data, key=lambda item: int(item["index"]))]
        vectors = np.array(rows, dtype=np.float32)
    except (AttributeError, KeyError, TypeError, ValueError):
        vectors = np.zeros((0, 0), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1] or not np.isfinite(vectors).all():
        raise Unavailable(f"The model {model} did not answer with one vector for each text: choose an embedding model.")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return scaled


def _sentence(wanted: Choice, err: Exception, setting: str = "search.model") -> str:
    """One sentence with the next step. What the server says about a key is left out: it may repeat it."""
    place = wanted.api_base or "its provider"
    kind = type(err).__name__
    if kind in {"AuthenticationError", "PermissionDeniedError"} or "api_key" in str(err):
        return (
            f"The model {wanted.model} at {place} wants a valid key: set its environment variable, as OPENAI_API_KEY."
        )
    if kind in {"Timeout", "APIConnectionError", "InternalServerError", "ServiceUnavailableError"}:
        return f"The model {wanted.model} at {place} does not answer ({kind}): see that it runs and can be reached."
    said = (str(err).strip() or kind).splitlines()[0][:200].rstrip(".")
    return f"The model {wanted.model} at {place} cannot be used ({_without_keys(said)}): see `{setting}`."


def _without_keys(text: str) -> str:
    """The text with the values of variables that hold keys blotted out."""
    for name, value in os.environ.items():
        if len(value) >= 8 and name.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD")):
            text = text.replace(value, "***")
    return text


def _sayable(text: str) -> str:
    """Text a server takes: no half of a surrogate pair, and never empty."""
    return text.encode("utf-8", "replace").decode() or " "
