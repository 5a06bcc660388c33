"""After a move every link of every note leads where it led, and nothing but link targets changed.

Where a link leads is decided here a second time, by brute force over all notes and without the index.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from urllib.parse import unquote

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from atlas import moving
from atlas.errors import AtlasError
from atlas.memory import Change
from atlas.relink import Room
from atlas.resolver import Known, Names
from atlas.survey import blob_id
from atlas.words import fold

#: More vaults than the suite has time for: `ATLAS_STORIES=5000 pytest tests/laws/test_relink.py`.
EXAMPLES = max(100, int(os.environ.get("ATLAS_STORIES", "0")))

FOLDERS = ("", "a/", "b/", "a/b/", "c d/")
STEMS = ("Boiler", "boiler", "Café", "Cafe\u0301", "cafe", "Room 2", "Valve", "x(1)", "a")
PATHS = st.builds("{}{}.md".format, st.sampled_from(FOLDERS), st.sampled_from(STEMS))
TITLES = st.sampled_from(["", "Boiler", "Old Valve", "room 2", "b/Boiler"])
ANCHORS = st.sampled_from(["", "#Heading", "#^v7", "#A#B"])

#: A link of any kind in the notes made here.
LINK = re.compile(
    r"\[\[([^\]|#\\]*)([^\]|\\]*)(?:\\?\|[^\]]*)?\]\]|\]\((?:<([^>]*)>|([^\s<>()]+(?:\([^\s()]*\)[^\s()]*)*))\)"
)


@st.composite
def links(draw, paths):
    """A link to one of these notes, or to none, in one of the ways people write them."""
    path = draw(st.sampled_from([*paths, "nowhere/Ghost.md"]))
    stem = path.removesuffix(".md")
    parts = stem.split("/")
    name = "/".join(parts[-draw(st.integers(1, len(parts))) :])
    name = draw(st.sampled_from([name, name.lower(), name + ".md"]))
    anchor = draw(ANCHORS)
    from_folder = draw(st.sampled_from(FOLDERS)).rstrip("/")
    near = posixpath.relpath(path, from_folder or ".").replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    return draw(
        st.sampled_from(
            [
                f"[[{name}{anchor}]]",
                f"![[{name}]]",
                f"[[{name}{anchor}|it]]",
                f"| [[{name}{anchor}\\|it]] |",
                f"[it]({near}{anchor.replace('#A#B', '#A').replace(' ', '')})",
                f"[it](<{posixpath.relpath(path, from_folder or '.')}>)",
                f"[[{draw(TITLES) or 'Valve'}]]",
            ]
        )
    )


@st.composite
def vaults(draw):
    """A few notes that link to each other, path → text."""
    paths = draw(st.lists(PATHS, min_size=2, max_size=6, unique=True))
    notes = {}
    for path in paths:
        title = draw(TITLES)
        head = draw(st.sampled_from(["", f"---\nid: {path.encode().hex()[:26]:0>26}\n---\n"]))
        meta = draw(st.sampled_from(["", "---\nup: \"[[Boiler]]\"\nlist: ['[[a/Boiler|b]]', x]\n---\n"]))
        lines = draw(st.lists(links(paths), max_size=5))
        text = (meta or head) + (f"# {title}\n\n" if title else "") + "\n".join(lines)
        notes[path] = text + draw(st.sampled_from(["", "\n", "\n`[[Boiler]]`\n", "\n```\n[[Boiler]]\n```\n"]))
    return notes


class Plain:
    """The index of a vault in memory: every note may link to anything."""

    def __init__(self, notes):
        self.notes = notes

    def known(self):
        return [known(path, text) for path, text in self.notes.items()]

    def linking(self, handles):
        return sorted(self.notes)


def known(path, text):
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    id = re.search(r"^id: (\w+)$", text, re.MULTILINE)
    return Known(path, title[1] if title else "", (), id[1] if id else f"n-{path}")


def leads(notes, source, target, *, address):
    """The note a target means, by looking at every note in turn; "" for none."""
    stems = {path: path.removesuffix(".md") for path in notes}
    target = target.strip().removesuffix(".md")
    if not target:
        return source
    if address or target.startswith(("./", "../")):
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        near = [path for path in notes if same(stems[path], place)]
        if near:
            return min(near, key=lambda path: (nfc(stems[path]) != nfc(place), path))
    name = re.sub(r"^(\.{0,2}/)+", "", target)
    best = []
    for path, text in notes.items():
        title = known(path, text).title
        end = next((e for e in ends(stems[path]) if fold(e) == fold(name)), "")
        for rank, spelled in ((0, end), (1, title)):
            if spelled and fold(spelled) == fold(name):
                whole = rank == 0 and spelled == stems[path]
                elsewhere = posixpath.dirname(path) != posixpath.dirname(source)
                exact = nfc(spelled) == nfc(name)
                best.append((not same(spelled, name), rank, not whole, not exact, elsewhere, len(path), path))
    return min(best)[-1] if best else ""


def ends(stem):
    parts = stem.split("/")
    return ["/".join(parts[n:]) for n in range(len(parts))]


def nfc(text):
    return unicodedata.normalize("NFC", text)


def same(one, two):
    return nfc(one).casefold() == nfc(two).casefold()


def everything(notes):
    """Every link outside code, by note: what it leads to, with its anchor; and each text without its targets."""
    found, rest = {}, {}
    for path, text in notes.items():
        clean = re.sub(r"```.*?```|`[^`\n]*`", lambda m: "\0" * len(m.group()), text, flags=re.DOTALL)
        found[path] = []
        for match in LINK.finditer(clean):
            wiki, anchor, *addressed = match.groups()
            address = next((a for a in addressed if a is not None), None)
            if address is not None:
                wiki, _, anchor = unquote(address).partition("#")
            found[path].append((leads(notes, path, wiki or "", address=address is not None), anchor or ""))
        rest[path] = LINK.sub("•", clean)
    return found, rest


def moved(notes, old, new):
    """The vault after the plan of a move, or the sentence that refuses it."""
    room = Room(Plain(notes), lambda path: notes[path].encode(), lambda path: path in notes)
    names = Names(room.linked.known())
    note = names.notes[old]
    moving.refuse_taken(old, new, names, lambda _: False)
    plan = moving.move(room, names, note, new, written_id="id:" in notes[old])
    after = dict(notes)
    for change in plan.changes:
        if isinstance(change, Change) and change.data is None:
            assert blob_id(after.pop(change.path).encode()) == change.before
        elif change.data is not None:
            assert change.before == (blob_id(after[change.path].encode()) if change.path in after else None)
            after[change.path] = change.data.decode()
    return after, plan


@given(vaults(), st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_every_link_leads_where_it_led(notes, data):
    old = data.draw(st.sampled_from(sorted(notes)))
    new = data.draw(PATHS)
    assume(new != old)
    try:
        after, plan = moved(notes, old, new)
    except AtlasError as refusal:
        assert "is there already" in str(refusal)  # noqa: PT017
        assert any(same(path, new) for path in notes if path != old)
        return
    assert plan.left == ()
    before_links, before_rest = everything(notes)
    after_links, after_rest = everything(after)
    for path, found in before_links.items():
        there = new if path == old else path
        for (target, anchor), (target_after, anchor_after) in zip(found, after_links[there], strict=True):
            assert anchor == anchor_after
            if target:
                assert target_after == (new if target == old else target)
        assert without_id(after_rest[there]) == without_id(before_rest[path])


def without_id(text):
    """The text without an id, which is written when a note moves and changes at once."""
    return re.sub(r"\A---\n---\n", "", re.sub(r"^id: .*\n", "", text, flags=re.MULTILINE))


@st.composite
def tidy_vaults(draw):
    """Notes with an id and a name of their own that link to each other by name, whole path and relative address."""
    stems = draw(st.lists(st.sampled_from(("Boiler", "Café", "Room 2", "Valve", "x(1)")), min_size=2, unique=True))
    paths = [f"{draw(st.sampled_from(FOLDERS))}{stem}.md" for stem in stems]
    notes = {}
    for number, path in enumerate(paths):
        lines = [f'---\nid: {number:026}\nup: "[[{posixpath.basename(paths[0])}]]"\n---\n']
        for target in draw(st.lists(st.sampled_from(paths), max_size=6)):
            near = posixpath.relpath(target, posixpath.dirname(path) or ".")
            quoted = near.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
            bare = target.removesuffix(".md")
            forms = [
                f"[[{bare.split('/')[-1]}|it]]",
                f"![[{target}#^v]]",
                f"[[{bare}]]",
                f"[x]({quoted}#h)",
                f"[](<{near}>)",
            ]
            lines.append(draw(st.sampled_from(forms)))
        notes[path] = "\n".join(lines)
    return notes


@given(tidy_vaults(), st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_there_and_back_gives_the_same_bytes(notes, data):
    old, new = data.draw(st.sampled_from(sorted(notes))), "new/Unique name.md"
    there, _ = moved(notes, old, new)
    assert there.keys() == {*notes, new} - {old}
    back, _ = moved(there, new, old)
    assert back == notes
