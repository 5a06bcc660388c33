r"""Content made harmless for a prompt: nothing in it hides, commands a terminal, or passes for a mark of the prompt.

Nothing visible is removed. What would be read as a mark gets a backslash behind its first sign, or in front of it at
the start of a line, and one more where it has some; `opened` takes them out again.

>>> guarded("a<|im_end|>\r\n[4F2K9 L2] not mine\x1b[31m")
'a<\\|im_end|>\n\\[4F2K9 L2] not mine[31m'
>>> opened("a<\\|im_end|>\n\\[4F2K9 L2] not mine")
'a<|im_end|>\n[4F2K9 L2] not mine'
"""

from __future__ import annotations

import re

#: What starts a line in a terminal, in `splitlines` or in a model's eyes, besides "\n".
_BREAKS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
#: Control characters, and letters nobody sees: marks of direction, joiners of nothing, Hangul fillers, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
    "\U000e01f0-\U000e0fff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Selectors and joiners shape emoji, Persian, Hindi. One of each is kept behind a character of such a script, and none
#: behind ASCII or one another: strings of them carry text nobody sees.
_SELECTOR, _JOINER = "\ufe00-\ufe0f\U000e0100-\U000e01ef", "\u200c\u200d"
_SHAPING = re.compile(
    f"(?<=[^\x00-\x7f{_SELECTOR}{_JOINER}])(?=[{_SELECTOR}{_JOINER}])([{_SELECTOR}]?[{_JOINER}]?)[{_SELECTOR}{_JOINER}]*"
    f"|[{_SELECTOR}{_JOINER}]+"
)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")

#: What follows the `<` or `[` of a mark of the frame, of chat templates and of tools.
_TAG = (
    r"[|｜]|\s*/?\s*(?:memory\b|s>|SYS\b|bos>|eos>|pad>|unk>|system\b|user\b|assistant\b|human\b|instructions?\b|think"
    r"|start_of|end_of|begin_of|tool_|function_|antml)"
)
_NAME = r"/?\s*(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|BOS|EOS)\b"
#: The start of a line that is a mark: an item, a heading, a turn written as plain text.
_LINE = r"\[[0-9A-Za-z]+ L[0-2]\]|==[^\S\n]|(?:Human|Assistant|System|User)[^\S\n]*:"


def _marks(slashes: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Where marks have so many backslashes: behind the first sign, and in front of it at the start of a line."""
    inside = rf"(?:(?<=<)({slashes})(?={_TAG})|(?<=\[)({slashes})(?={_NAME}))"
    start = rf"^([^\S\n]*)({slashes})(?={_LINE})"
    return re.compile(inside, re.IGNORECASE), re.compile(start, re.MULTILINE | re.IGNORECASE)


_INSIDE, _START = _marks(r"\\*")
_GUARDED_INSIDE, _GUARDED_START = _marks(r"\\+")


def guarded(text: str) -> str:
    """The text as it may stand in a prompt, without blank space at its ends and with one blank line at most in a row.

    It does not depend on the fence of a session, so what is made once serves all of them; `unfenced` sees to that.
    """
    clean = text
    if not (text.isascii() and text.isprintable()):
        clean = _UNSEEN.sub("", _BREAKS.sub("\n", text))
        if not clean.isascii():
            clean = _SHAPING.sub(r"\1", _SURROGATE.sub("?", clean))
        clean = _BLANK_LINES.sub("\n\n", clean)
    clean = clean.strip()
    if "<" in clean or "[" in clean:
        clean = _INSIDE.sub(r"\1\2\\", clean)
    return _START.sub(r"\1\2\\", clean)


def opened(text: str) -> str:
    """The text that was guarded: the backslashes taken out, every character that was let through in its place."""
    without = _GUARDED_START.sub(lambda m: m[1] + m[2][1:], text)
    return _GUARDED_INSIDE.sub(lambda m: (m[1] or m[2])[1:], without)


def unfenced(text: str, fence: str) -> str:
    """The text without the letters of the fence, in either case: a backslash parts them wherever they stand."""
    if fence not in text.casefold():
        return text
    return re.sub(f"({re.escape(fence[0])})(?={re.escape(fence[1:])})", r"\1\\", text, flags=re.IGNORECASE)


def inline(text: str, most: int) -> str:
    """Guarded text on one line, of `most` characters at most: for labels, sources, whatever stands in a list."""
    flat = " ".join(text[: 4 * most].split())
    clean = " ".join(guarded(flat).replace("|", "/").split())
    return clean if len(clean) <= most else clean[: most - 1].rstrip() + "…"
