"""A file's bytes and its text, lossless both ways: what cannot be written back is not decoded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atlas.errors import NotText

#: Byte-order marks, longest first: the UTF-32 mark begins with the UTF-16 one.
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
#: What a file that is not UTF-8 is read as: cp1252, and where that has no character, Latin-1, which knows every byte.
_LEGACY = ("cp1252", "latin-1")
#: Control bytes that ordinary text may hold: backspace to carriage return, and escape.
_CONTROLS = bytes(set(range(32)) - set(range(8, 14)) - {27}) + b"\x7f"
#: Bytes looked at when guessing UTF-16 without a mark.
_SAMPLE = 4096
#: The newlines of a file; form feeds and Unicode separators are text.
NEWLINE = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Source:
    """One decoded file. `text` has no byte-order mark and keeps its newlines; `encode(s, s.text)` is the file."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    @property
    def legacy(self) -> bool:
        """Whether the encoding is a guess: the bytes are kept, the words may be misread."""
        return self.encoding in _LEGACY


def decode(data: bytes) -> Source:
    """The text of a file: by its mark, as UTF-8, as unmarked UTF-16, else in an 8-bit encoding that gives it back.

    A few NUL characters in ordinary UTF-8 are text (`markdown.parse` reports them). Raises NotText for binary data.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, encoding)
    guess = _unmarked_utf16(data)
    if guess:
        return Source(data.decode(guess), guess)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _eight_bit(data, b"")
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls > 8 and controls * 10 > len(data):
        raise NotText("most of it is control characters")
    return Source(text)


def encode(source: Source, text: str) -> bytes:
    """The bytes of `text` in the encoding, and with the mark, of `source`.

    Raises NotText when a character has no place there, or when the bytes would be read back as another text:
    a character is never replaced.
    """
    try:
        data = source.bom + text.encode(source.encoding)
    except UnicodeEncodeError as error:
        where = text.count("\n", 0, error.start) + 1
        wrong = text[error.start : error.start + 1]
        raise NotText(f"line {where} holds {wrong!r}, which {source.encoding} cannot write") from error
    if decode(data).text != text:
        raise NotText(f"written as {source.encoding}, it would be read back as a different text")
    return data


def newline_of(text: str) -> str:
    r"""The newline a text uses: that of its first line, or `\n`."""
    found = NEWLINE.search(text)
    return found.group() if found else "\n"


def _marked(data: bytes, mark: bytes, encoding: str) -> Source:
    rest = data[len(mark) :]
    try:
        return Source(rest.decode(encoding), encoding, mark)
    except UnicodeDecodeError as error:
        if encoding == "utf-8":
            return _eight_bit(rest, mark)
        raise NotText(f"its first bytes promise {encoding}, the rest does not keep to it") from error


def _eight_bit(data: bytes, mark: bytes) -> Source:
    """Legacy text. Stricter than UTF-8: random bytes decode in any 8-bit encoding, and hold a tenth of controls."""
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if b"\0" in data or controls * 50 > len(data):
        raise NotText("it is binary")
    try:
        return Source(data.decode("cp1252"), "cp1252", mark)
    except UnicodeDecodeError:
        return Source(data.decode("latin-1"), "latin-1", mark)


def _unmarked_utf16(data: bytes) -> str:
    """The byte order of UTF-16 without a mark: mostly Western text has a zero in every other byte."""
    sample = data[:_SAMPLE]
    low, high = sample[::2].count(0), sample[1::2].count(0)
    if len(data) % 2 or min(low, high) or (low + high) * 10 < len(sample) * 3 or not sample:
        return ""
    encoding = "utf-16-be" if low else "utf-16-le"
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return ""
    return encoding
