"""Counting tokens: what a text costs a language model. Works offline; another tokenizer can be set.

The default is the 32,000-piece vocabulary inside wordllama (byte-pair merges with single bytes for what it lacks). No
piece of it holds a line break, and none a space behind another character. So no merge crosses the beginning of a word,
and a text has exactly as many tokens as its words, spaces and line breaks one by one: words are counted once and
remembered, which takes 0.1 ms for 1,000 characters instead of 0.7.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import tokenizers

from atlas.errors import Unavailable, UsageError
from atlas.models import static

_TIKTOKEN = "tiktoken:"
#: Where tiktoken looks for each vocabulary: file names are the hash of the address it would fetch them from.
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_VOCABULARIES = {"o200k_base": "o200k_base", "o200k_harmony": "o200k_base", "cl100k_base": "cl100k_base"}

_PIECE = re.compile(r"▁*[^▁\n]+|▁+|\n")
#: So many pieces are remembered, none longer than this: a kilobyte of base64 is not seen again.
_REMEMBERED, _LONGEST = 1 << 16, 32


class Tokenizer(Protocol):
    """What counts tokens. An `additive` one gives lines the same number alone as inside any text; see `added`."""

    @property
    def additive(self) -> bool:
        """Whether the tokens of lines add up."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens of a text, without any mark of its beginning or end."""
        ...


class TableTokenizer:
    """The default: the vocabulary of the default embedder."""

    additive = True

    def __init__(self) -> None:
        model = static.tokenizer().model

        # The model itself is asked, past the tokenizer: that would read `</s>` in a text as the end of everything.
        def asked(piece: str) -> int:
            return len(model.tokenize(piece))

        self._asked, self._remembered = asked, lru_cache(_REMEMBERED)(asked)

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        if not text:
            return 0
        pieces = _PIECE.findall(f"▁{_utf8(text)}".replace(" ", "▁"))
        return sum(self._remembered(p) if len(p) <= _LONGEST else self._asked(p) for p in pieces)


class FileTokenizer:
    """A tokenizer of the Hugging Face form, `tokenizer.json`. Its lines need not add up."""

    additive = False

    def __init__(self, file: Path) -> None:
        try:
            loaded = tokenizers.Tokenizer.from_str(file.read_text(encoding="utf-8"))
        except OSError:
            raise Unavailable(
                f"There is no tokenizer at {file}: `scene.tokenizer` names a file below the vault."
            ) from None
        except Exception as err:  # noqa: BLE001 - the library raises nothing more exact
            raise Unavailable(f"{file} is no tokenizer.json ({err}): `scene.tokenizer` names one.") from None
        loaded.no_padding()
        loaded.no_truncation()
        loaded.encode_special_tokens = True
        self._encode = loaded.encode

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        return len(self._encode(_utf8(text), add_special_tokens=False).ids)


class TiktokenTokenizer:
    """One of OpenAI's, through the package tiktoken and a vocabulary that is on this machine already."""

    additive = False

    def __init__(self, name: str) -> None:
        self._encode = _tiktoken(name).encode_ordinary

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        return len(self._encode(_utf8(text)))


def load(setting: str, root: Path) -> Tokenizer:
    """The tokenizer that `scene.tokenizer` names in the vault at `root`; raises UsageError, Unavailable.

    "" is the default, `tiktoken:NAME` one of OpenAI's, anything else the path of a tokenizer.json below the vault.
    All engines of a process share it.
    """
    if not setting:
        return _table()
    if setting.startswith(_TIKTOKEN):
        return _named(setting.removeprefix(_TIKTOKEN))
    file, home = (root / setting).resolve(), root.resolve()
    if home not in file.parents:
        raise UsageError(f"The tokenizer {setting} is outside the vault: `scene.tokenizer` is a path below {home}.")
    return _from_file(file)


def added(tokenizer: Tokenizer, lines: str) -> int:
    """How many tokens these lines add to a text they are put under, with the line break between.

    Exact for an additive tokenizer, close for any other: there the whole has to be counted.
    """
    if tokenizer.additive:
        return tokenizer.count(f"\n{lines}") - tokenizer.count("\n") + 1
    return tokenizer.count(f"\n{lines}")


@cache
def _table() -> TableTokenizer:
    return TableTokenizer()


@cache
def _from_file(file: Path) -> FileTokenizer:
    return FileTokenizer(file)


@cache
def _named(name: str) -> TiktokenTokenizer:
    return TiktokenTokenizer(name)


def _tiktoken(name: str) -> Any:
    """The encoding of this name. tiktoken fetches what it lacks, and waits for ever: so only what is here is asked."""
    if name not in _VOCABULARIES:
        raise UsageError(
            f"tiktoken:{name} is not known; `scene.tokenizer` takes {', '.join(_VOCABULARIES)} of tiktoken's."
        )
    try:
        library = import_module("tiktoken")
    except ImportError:
        raise Unavailable(f"{_TIKTOKEN}{name} needs the package tiktoken: run `pip install tiktoken`.") from None
    address = _ADDRESS.format(_VOCABULARIES[name])
    file = _tiktoken_folder() / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    if not file.is_file():
        raise Unavailable(
            f"The vocabulary {name} of tiktoken is not on this machine: fetch {address}, save it as {file}, "
            "and set TIKTOKEN_CACHE_DIR to that folder if it moves."
        )
    return library.get_encoding(name)


def _tiktoken_folder() -> Path:
    """Where tiktoken keeps what it has fetched."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    return Path(named) if named else Path(tempfile.gettempdir()) / "data-gym-cache"


def _utf8(text: str) -> str:
    """The text as UTF-8 can hold it: half of a surrogate pair becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
