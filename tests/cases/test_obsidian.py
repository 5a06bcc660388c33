"""O: tags in every spelling, and links where Markdown bends them."""

from __future__ import annotations

import pytest

from atlas import markdown
from atlas.errors import Ambiguous

TAGS = {
    "tags/comma.md": ("tags: book, work", ("book", "work")),
    "tags/space.md": ("tags: book work/deep", ("book", "work/deep")),
    "tags/list.md": ('tags: [book, "#work"]', ("book", "work")),
    "tags/block.md": ('tags:\n  - "#a/b"', ("a/b",)),
    "tags/single.md": ("tag: book", ("book",)),
    "tags/number.md": ("tags: 2024", ("2024",)),
    "tags/comment.md": ("tags: #daily", ()),
}
INLINE = "A line with #work/deep, #été and #123, and more#not-one.\n"


def test_o1_tags_in_every_spelling(vault):
    """The set of each note is what was meant; the one that YAML takes for a comment is named; no file changes."""
    for path, (typed, _) in TAGS.items():
        vault.put(path, f"---\n{typed}\n---\nA tagged page.\n")
    vault.put("tags/inline.md", INLINE)
    found = {path: vault.engine.expand(path).tags for path in TAGS}
    assert found == {path: tags for path, (_, tags) in TAGS.items()}
    assert vault.engine.expand("tags/inline.md").tags == ("work/deep", "été")
    everything = {tag for path in [*TAGS, "tags/inline.md"] for tag in vault.engine.expand(path).tags}
    assert [tag for tag in everything if len(tag) < 2] == []
    vault.holds({("tags/comment.md", 2, "tag")})


def test_o1_a_tag_matches_what_is_nested_below_it(vault):
    """`work` finds `work/deep`, with or without `#`, in metadata and in the text; `wo` and `deep` find nothing."""
    for path, (typed, _) in TAGS.items():
        vault.put(path, f"---\n{typed}\n---\nA tagged page, in {path}.\n")
    vault.put("tags/inline.md", INLINE)
    nested = {"tags/comma.md", "tags/space.md", "tags/list.md", "tags/inline.md"}
    assert set(vault.paths("page", tag=["work"], k=50)) == nested
    assert set(vault.paths("page", tag=["#work/deep"], k=50)) == {"tags/space.md", "tags/inline.md"}
    assert vault.paths("page", tag=["a"]) == ["tags/block.md"]
    assert vault.paths("page", tag=["2024"]) == ["tags/number.md"]
    assert (
        vault.paths("page", tag=["wo"]) == vault.paths("page", tag=["deep"]) == vault.paths("page", tag=["123"]) == []
    )
    found = vault.cli("search", "page", "--tag", "work", "--json").json["hits"]
    assert {hit["path"] for hit in found} == nested
    vault.holds({("tags/comment.md", 2, "tag")})


BENT = r"""# Heating

| part | where |
|---|---|
| [[Boiler\|the boiler]] | cellar |

See [[Boiler|it]], [[Boiler#Valve]], [[Boiler#^v7]] and [[folder/Boiler.md]].

![[Boiler]]

`[[Ghost]]` and `#include`, and also:

```c
#include <x.h>
[[Ghost]] #ff8800
```

> [!note] A callout
> holding [[Boiler]] #warm

rating:: 4
"""


def test_o2_links_where_markdown_bends_them(vault):
    """Every real link leads to the one note, with its heading and alias; code makes neither links nor tags."""
    vault.put("folder/Boiler.md", "# Boiler\n\n## Valve\n\nSeven turns. ^v7\n")
    vault.put("heating.md", BENT)
    note = vault.engine.expand("Heating")
    assert [(link.target, link.heading, link.alias, link.embed) for link in note.links] == [
        ("Boiler", "", "the boiler", False),
        ("Boiler", "", "it", False),
        ("Boiler", "Valve", "", False),
        ("Boiler", "^v7", "", False),
        ("folder/Boiler", "", "", False),
        ("Boiler", "", "", True),
        ("Boiler", "", "", False),
    ]
    assert {vault.engine.expand(link.target).path for link in note.links} == {"folder/Boiler.md"}
    assert note.tags == ("warm",)
    assert "rating:: 4" in note.detail
    assert vault.first("Ghost") == "heating.md"
    assert vault.paths("heating", tag=["include"]) == vault.paths("heating", tag=["ff8800"]) == []
    vault.holds(queries=("boiler",))


def test_o2_retargeted_links_keep_their_form(vault):
    """An edit that points all links at a new name keeps pipe, heading, block, embed and ending, and spares code."""
    vault.put("folder/Boiler.md", "# Boiler\n\n## Valve\n\nSeven turns. ^v7\n")
    vault.put("heating.md", BENT)
    there = vault.engine.expand("Boiler").path

    def choose(link):
        return "Furnace" if vault.engine.expand(link.target).path == there else None

    vault.engine.edit("heating.md", lambda text: markdown.retarget_links(text, choose))
    wanted = BENT.replace("folder/Boiler.md", "Furnace.md").replace("[[Boiler", "[[Furnace")
    assert vault.accept("heating.md").decode() == wanted
    vault.holds()


def test_o2_a_link_that_two_notes_answer_to_is_not_guessed(vault):
    """Two notes of one name: the short link is ambiguous and says so, the long one is not."""
    vault.put("folder/Boiler.md", "The old one.\n")
    vault.put("other/Boiler.md", "The new one.\n")
    with pytest.raises(Ambiguous, match=r"folder/Boiler\.md, other/Boiler\.md"):
        vault.engine.expand("Boiler")
    assert vault.engine.expand("other/Boiler").path == "other/Boiler.md"
    refused = vault.cli("show", "Boiler")
    assert (refused.code, refused.out) == (1, "")
    vault.holds()
