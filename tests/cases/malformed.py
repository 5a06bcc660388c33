"""Notes that are not as they should be, by path, and what `status` says of each: (path, line, kind)."""

from __future__ import annotations

import random

#: P1: rules that are no metadata. Nothing is wrong with these.
RULES = {
    "rule.md": "---\nMarmot paragraph, not metadata.\n\n---\n\nTail sentence.\n",
    "open.md": "---\n\nProse after a lone rule that nothing closes: wombat.\n",
    "fence.md": (
        "---\ntitle: A fence\n---\nBefore it.\n\n```yaml\n---\nkey: value\n---\n```\n\n---\n\nThe end is last-quokka.\n"
    ),
    "list.md": "---\n- a tapir\n- another one\n---\nBelow the list.\n",
}
#: P2: two blocks of metadata.
STACKED = {
    "two.md": "---\npermalink: x/y\n---\n\n---\nname: keys\nsummary: where the spare keys hang\n---\nOn the hook.\n",
}
STACKED_SAID = {("two.md", 3, "stacked-frontmatter")}
#: P3: metadata that does not parse.
BROKEN = {
    "bad/quotes.md": '---\ntitle: Build\nsummary: "the "blue" build"\n---\nThe body speaks of okapis.\n',
    "bad/backtick.md": "---\ntitle: Path\nsummary: `D:\\work`\n---\nThe body speaks of pangolins.\n",
    "bad/star.md": "---\ntitle: *Draft*\n---\nThe body speaks of axolotls.\n",
    "bad/links.md": "---\nsource: roof\naliases:\n  - [[Roof]] and gutter\n---\nThe body speaks of capybaras.\n",
    "bad/tab.md": "---\nsource: list\ntags:\n\t- one\n\t- two\n---\nThe body speaks of lemurs.\n",
}
BROKEN_SAID = {
    ("bad/quotes.md", 3, "frontmatter"),
    ("bad/backtick.md", 3, "frontmatter"),
    ("bad/star.md", 2, "frontmatter"),
    ("bad/links.md", 4, "frontmatter"),
    ("bad/tab.md", 4, "frontmatter"),
}
#: P5: dates that are none.
DATES = {
    "dates/never.md": "---\ncreated: 2026-02-30\n---\nThe thirtieth of February.\n",
    "dates/spoken.md": "---\ncreated: last Tuesday\n---\nSpoken of lightly.\n",
    "dates/zero.md": "---\ncreated: 0000-00-00\n---\nThe year nought.\n",
}
DATES_SAID = {(path, 2, "date") for path in DATES}
#: P5: brackets 2,000 deep, which end a careless parser.
DEEP = {"deep.md": "---\ntitle: Deep\nkey: " + "[" * 2000 + "]" * 2000 + "\n---\nThe body speaks of moles.\n"}
DEEP_SAID = {("deep.md", 3, "frontmatter")}
#: N1, N2: bytes that are not plain UTF-8.
BYTES = {
    "bom.md": b"\xef\xbb\xbf---\r\ntitle: Boiler\r\n---\r\nValve 7\r\n",
    "wide.md": "---\r\ntitle: Furnace\r\n---\r\nValve 9\r\n".encode("utf-16"),
    "latin.md": b"caf\xe9 invoice, see [[Kettle]]\n",
    "blob.md": random.Random(7).randbytes(200_000),
    "nul.md": b"a\0b secretword\n",
}
BYTES_SAID = {("latin.md", 0, "encoding"), ("blob.md", 0, "binary"), ("nul.md", 1, "nul")}
#: N3: names that shells and Git's own quoting stumble over.
NAMES = (
    "📥 inbox/日本 café.md",
    'has "quote".md',
    "two\nlines.md",
    "-rf.md",
    " lead and trail .md",
    "semi;$(touch pwned).md",
)
