"""What a memory says, as digests of runs of words, and where else it is said. Pure, apart from a random key.

    gather(texts) ──► Traces ──► found(bytes)      which of its runs these bytes hold, in whatever form

A run is eight words one after the other, or a whole shorter line or sentence. Words are what stands between spaces,
punctuation and markup, in one case of letters, so a line break, a quote mark or `**` hides nothing. Digests are keyed
with a key of their own for every purge: what is kept of a memory that is to be gone says nothing of it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

Digests = NDArray[np.uint64]

#: Words of a run. Eight in a row are hardly ever chance; fewer, quoted out of a longer line, go unnoticed.
RUN = 8
#: So many words are remembered by their number.
_KNOWN = 2_000_000
#: So many answers about texts of at most so many characters are kept.
_KNOWN_LINES, _LINE = 200_000, 300
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
#: Where a sentence or a line ends.
_END = re.compile(r"[\r\n\u2028\u2029。！？]+|[.!?]+(?=\s|$)|[|]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrtbf\"\\/]))")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/_-]{4}[\r\n]*){6,}[A-Za-z0-9+/_-]{0,3}={0,2}")
_NONE: Digests = np.zeros(0, np.uint64)


class Traces:
    """The runs of a text by their digests: `runs` has, for each length in words, the sorted digests."""

    def __init__(self, key: bytes, runs: Mapping[int, Digests]) -> None:
        self.key, self.runs = key, dict(runs)
        self._base = np.uint64(int.from_bytes(_hashed(key, "base"), "big") | 1)
        self._numbers: dict[str, int] = {}
        self._lines: dict[str, frozenset[int]] = {}

    @classmethod
    def gather(cls, texts: Iterable[str], *, telling: bool = True) -> Traces:
        """The runs of these texts; short ones only if they are `telling` ("yes" stands in every other file)."""
        traces = cls(secrets.token_bytes(16), {})
        found: dict[int, set[int]] = {}
        for text in texts:
            found.setdefault(RUN, set()).update(traces._digests(traces._words(text), RUN).tolist())
            for line in _END.split(text):
                words = _WORD.findall(line.casefold())
                if 0 < len(words) < RUN and (not telling or _telling(words)):
                    numbers = traces._words(line)
                    found.setdefault(len(words), set()).update(traces._digests(numbers, len(words)).tolist())
        traces.runs = {n: np.array(sorted(some), np.uint64) for n, some in sorted(found.items()) if some}
        return traces

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Traces:
        """What `state` kept; raises KeyError, ValueError, TypeError for anything else."""
        runs = {int(n): np.array([int(x, 16) for x in some], np.uint64) for n, some in state["runs"].items()}
        return cls(bytes.fromhex(state["key"]), runs)

    def state(self) -> dict[str, Any]:
        """All there is to it, for a file: digests and their key, no word."""
        return {
            "key": self.key.hex(),
            "runs": {str(n): [f"{x:x}" for x in some.tolist()] for n, some in self.runs.items()},
        }

    def __len__(self) -> int:
        return sum(map(len, self.runs.values()))

    def found(self, data: bytes) -> frozenset[int]:
        """The digests of the runs that these bytes hold, in any form `readings` knows."""
        return frozenset().union(*(self.said(text) for text in readings(data)))

    def said(self, text: str) -> frozenset[int]:
        """The digests of the runs that this text holds, as it stands."""
        if len(text) > _LINE:
            return self._said(text)
        known = self._lines.get(text)  # every version of a list has nearly the same lines
        if known is None:
            if len(self._lines) > _KNOWN_LINES:
                self._lines.clear()
            known = self._lines[text] = self._said(text)
        return known

    def _said(self, text: str) -> frozenset[int]:
        if not self.runs:
            return frozenset()
        words = self._words(text)
        hits: set[int] = set()
        for length, wanted in self.runs.items():
            here = self._digests(words, length)
            if len(here):
                place = np.minimum(np.searchsorted(wanted, here), len(wanted) - 1)
                hits.update(here[wanted[place] == here].tolist())
        return frozenset(hits)

    def _words(self, text: str) -> Digests:
        """A number for each word."""
        known = self._numbers
        if len(known) > _KNOWN:
            known.clear()
        words = _WORD.findall(text.casefold())
        for word in words:
            if word not in known:
                known[word] = int.from_bytes(_hashed(self.key, word), "big")
        return np.array([known[word] for word in words], np.uint64)

    def _digests(self, words: Digests, length: int) -> Digests:
        """A number for each run of that many words: a polynomial of theirs, modulo 2^64."""
        count = len(words) - length + 1
        if count <= 0:
            return _NONE
        sums = np.full(count, length, np.uint64)
        for place in range(length):
            sums = sums * self._base + words[place : place + count]
        return sums


def readings(data: bytes, *, depth: int = 1) -> Iterator[str]:
    """The texts that bytes may stand for: UTF-8, UTF-16, what JSON or a URL escaped, what base64 wraps.

    Compressed and encrypted bytes are not among them.
    """
    text = data.decode("utf-8", "replace")
    yield text
    if b"\0" in data:
        yield from (data[at:].decode(f"utf-16-{order}", "replace") for order in ("le", "be") for at in (0, 1))
    if "\\" in text:
        yield _unescaped(text)
    if _PERCENT.search(text):
        yield unquote(text)
    for match in _BASE64.finditer(data) if depth else ():
        wrapped = re.sub(rb"[\r\n=]", b"", match.group()).translate(bytes.maketrans(b"-_", b"+/"))
        try:
            inner = base64.b64decode(wrapped + b"=" * (-len(wrapped) % 4))
        except binascii.Error:
            continue
        yield from readings(inner, depth=depth - 1)


def _unescaped(text: str) -> str:
    """What a JSON string says; whatever is no escape stays."""

    def plain(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}.get(match[2], match[2])

    # Half pairs become whole characters on the way through UTF-16.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _telling(words: list[str]) -> bool:
    """Whether so few words say something of their own: enough letters, or a word with a digit."""
    size = sum(2 if re.fullmatch(f"[{_CJK}]", word) else len(word) for word in words)
    if any(any(map(str.isdigit, word)) for word in words):
        return size >= 6
    return size >= (20 if len(words) == 1 else 12)


def _hashed(key: bytes, word: str) -> bytes:
    return hashlib.blake2b(word.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
