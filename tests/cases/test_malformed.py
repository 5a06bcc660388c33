"""One vault with every malformed note of the P, N, S and O cases at once."""

from __future__ import annotations

import unicodedata

from .malformed import (
    BROKEN,
    BROKEN_SAID,
    BYTES,
    BYTES_SAID,
    DATES,
    DATES_SAID,
    DEEP,
    DEEP_SAID,
    NAMES,
    RULES,
    STACKED,
    STACKED_SAID,
)  # fmt: skip

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
OTHERS = {
    "giant.md": b"gigantic " * 700_000,
    "line.md": "endless " * 5_000 + "zymurgy\n",
    "comment.md": "---\ntags: #daily\n---\nThe tag is lost.\n",
    COMPOSED: "The composed spelling.\n",
    DECOMPOSED: "The decomposed spelling.\n",
    "norway.md": "---\ntags: [no, 1.10, 12:30]\ntitle: 01234\nscore: .nan\n---\nA note about Norway.\n",
    "surrogate.md": b'---\ntitle: "half \\ud83d pair"\n---\nA lonely half.\n',
    "empty.md": b"",
    "blank.md": "\n\n\n",
    "only.md": "---\n---\n",
}
OTHERS_SAID = {
    ("giant.md", 0, "oversized"),
    ("comment.md", 2, "tag"),
    ("surrogate.md", 2, "frontmatter"),
    (COMPOSED, 0, "name-collision"),
}
SAID = STACKED_SAID | BROKEN_SAID | DATES_SAID | DEEP_SAID | BYTES_SAID | OTHERS_SAID
FOUND = {
    "marmot": "rule.md", "wombat": "open.md", "last-quokka": "fence.md", "tapir": "list.md", "spare keys": "two.md",
    "okapis": "bad/quotes.md", "pangolins": "bad/backtick.md", "axolotls": "bad/star.md", "capybaras": "bad/links.md",
    "lemurs": "bad/tab.md", "thirtieth of February": "dates/never.md", "spoken of lightly": "dates/spoken.md",
    "the year nought": "dates/zero.md", "moles": "deep.md", "Boiler": "bom.md", "Furnace": "wide.md",
    "café invoice": "latin.md", "secretword": "nul.md", "zymurgy": "line.md", "the tag is lost": "comment.md",
    "composed spelling": COMPOSED, "decomposed": DECOMPOSED, "Norway": "norway.md", "lonely half": "surrogate.md",
}  # fmt: skip


def test_a_vault_of_every_malformed_note(vault):
    """Nothing stops, nothing shrinks silently: what can be read is found, and `status` names the rest by line."""
    notes = {**RULES, **STACKED, **BROKEN, **DATES, **DEEP, **BYTES, **OTHERS}
    notes |= {path: f"Oddly named, number{n}.\n" for n, path in enumerate(NAMES)}
    for path, data in notes.items():
        vault.put(path, data)
    unread = {path for path, _, kind in SAID if kind in {"binary", "oversized"}}
    report = vault.cli("index", "--json").json
    assert report["memories"] == report["added"] - len(unread) == len(notes) + 3 - len(unread)
    asked = FOUND | {f"number{n}": path for n, path in enumerate(NAMES)}
    assert {query: vault.first(query) for query in asked} == asked
    shown = vault.cli("status")
    assert shown.code == 0
    listed = shown.out.partition("\n\n")[2].splitlines()
    assert len(listed) == len(SAID), shown.out
    assert all(any(line.startswith(f"{p}:{n or 1}: {kind}: ") for line in listed) for p, n, kind in SAID)
    blocked = {(f.path, f.kind) for f in vault.engine.validate()}
    assert {(path, kind) for path, _, kind in BROKEN_SAID | STACKED_SAID | DEEP_SAID} <= blocked
    vault.b5_bounded()
    vault.holds(SAID, queries=FOUND)
    for path in notes:
        vault.drop(path)
    assert vault.engine.refresh().memories == 3
    vault.holds()
