r"""A block of lines that is ours in a file that is somebody else's, between two marks.

>>> text = put("# Mine\n", "words of Atlas", "<!--", "-->")
>>> text.splitlines()
['# Mine', '', '<!-- atlas:begin -->', 'words of Atlas', '<!-- atlas:end -->']
>>> taken(text, "<!--", "-->")
'# Mine\n'
"""

from __future__ import annotations

import re

from atlas.errors import UsageError


def put(text: str, block: str, opens: str, closes: str = "") -> str:
    """The text with the block in its place, or at the end; the rest of it is not touched."""
    newline = "\r\n" if "\r\n" in text else "\n"
    begin, end = _marks(opens, closes)
    ours = newline.join([begin, *block.strip("\n").split("\n"), end])
    found = _found(text, begin, end)
    if found:
        return text[: found.start(2)] + ours + text[found.end(2) :]
    gap = newline if text else ""  # a blank line behind a last line that is whole, else the line's own end
    return f"{text}{gap}{ours}{newline}"


def taken(text: str, opens: str, closes: str = "") -> str:
    """The text without the block, as it was before `put`."""
    found = _found(text, *_marks(opens, closes))
    return text[: found.start()] + text[found.end() :] if found else text


def _marks(opens: str, closes: str) -> tuple[str, str]:
    begin, end = (f"{opens} atlas:{word} {closes}".rstrip() for word in ("begin", "end"))
    return begin, end


def _found(text: str, begin: str, end: str) -> re.Match[str] | None:
    """The block with the line end before it (1), itself (2), and the line end behind it; raises UsageError for half."""
    pattern = rf"(\r?\n|\A)(^{re.escape(begin)}[ \t]*\r?\n(?:.*\n)*?{re.escape(end)})[ \t]*(?:\r?\n|\Z)"
    found = re.search(pattern, text, re.MULTILINE)
    marks = [re.search(rf"^{re.escape(mark)}[ \t]*\r?$", text, re.MULTILINE) for mark in (begin, end)]
    if not found and any(marks):
        raise UsageError(f"`{begin}` and `{end}` do not stand around one block: repair the file by hand.")
    return found
