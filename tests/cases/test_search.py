"""S: scripts without spaces, literal queries, the end of a long note, and an embedder that is not there."""

from __future__ import annotations

import random
import socket

import pytest

from atlas import chunks
from atlas.engine import MemoryEngine

SCRIPTS = {
    "list.md": "设备清单与备份计划\n",
    "fix.md": "サンドボックスの修正\n",
    "minutes.md": "한국어 회의록\n",
    "greeting.md": "Grüße aus Zürich\n",
}
ASKED = {"备份": "list.md", "サンドボックス": "fix.md", "회의록": "minutes.md", "zurich": "greeting.md"}


def test_s1_scripts_without_spaces_and_accents(vault):
    """Each is found by a word of it, and the English note keeps its place before and after."""
    vault.put("control.md", "backup plan for the shed\n")
    assert vault.first("backup") == "control.md"
    assert not set(vault.paths("backup", k=100)) & set(SCRIPTS)
    for path, text in SCRIPTS.items():
        vault.put(path, text)
    assert {query: vault.first(query) for query in ASKED} == ASKED
    assert vault.first("backup") == "control.md"
    found = vault.cli("search", "회의록", "-k", "1")
    assert (found.code, "한국어 회의록" in found.out) == (0, True)
    vault.holds(queries=(*ASKED, "backup"))


LITERALS = {
    "ADR-016": "The choice is written down in ADR-016 since the spring.\n",
    "C++": "The engine is written in C++ and nothing else.\n",
    "GB/s": "The disk reads 3 GB/s on a good day.\n",
    "foo_bar.baz": "Call foo_bar.baz before the loop begins.\n",
    "--dry-run": "With --dry-run it only says what it would do.\n",
    "it's": "They say it's a matter of taste.\n",
    "100%": "The humidity reached 100% in the cellar.\n",
    "x:y": "The ratio x:y stays the same.\n",
}
NEAR = "ADR-017, ADR-061, C, C#, GB, MB/s, foo, bar, baz, dry, run, its, 10%, 100, x, y.\n"


def test_s2_identifiers_are_searched_literally(vault):
    """Every literal ranks its note first, above one that holds its look-alikes; `--` ends the options."""
    for n, text in enumerate(LITERALS.values()):
        vault.put(f"literal/{n}.md", text)
    vault.put("literal/near.md", NEAR)
    assert [vault.first(literal) for literal in LITERALS] == [f"literal/{n}.md" for n in range(len(LITERALS))]
    found = vault.cli("search", "--json", "--", "--dry-run").json["hits"]
    assert found[0]["path"] == "literal/4.md"
    vault.holds(queries=LITERALS)


@pytest.mark.parametrize("mode", ["static", "none"])
def test_s2_no_query_is_a_syntax_error(vault, mode):
    """Quotes, SQL, nothing at all and 10,000 characters: answers or none, never an error, and every table stays."""
    odd = ("'", '"', "'; drop table notes; --", "", " ", "*", "(", "a AND NOT", "\\", "%", "\0", "\udce9", "x" * 10_000)
    with MemoryEngine(vault.root, create=False, embedding_model=mode) as engine:
        for query in (*odd, "kettle " * 1_500):
            assert all(hit.path in vault.left for hit in engine.search(query).hits)
        assert engine.search("kettle -vinegar").hits[0].path == "kettle.md"
    vault.holds()


def garden(words: int) -> str:
    """So many words about gardening, in paragraphs under headings."""
    choose = random.Random(3)
    nouns = [
        "soil",
        "compost",
        "seedling",
        "trellis",
        "mulch",
        "hedge",
        "bulb",
        "border",
        "frost",
        "spade",
        "lawn",
        "pond",
        "root",
        "leaf",
        "bed",
    ]
    verbs = ["feeds", "shades", "covers", "needs", "crowds", "follows", "shelters", "waters", "lifts", "divides"]
    lines, count = [], 0
    while count < words:
        if not len(lines) % 12:
            lines.append(f"\n## Month {len(lines) // 12}\n")
        sentence = f"The {choose.choice(nouns)} {choose.choice(verbs)} the {choose.choice(nouns)} in week {count % 52}."
        lines.append(sentence + ("\n" if choose.random() < 0.3 else ""))
        count += len(sentence.split())
    return "\n".join(lines)


MNEMONIC = "The gate mnemonic is “heron over slate”."


def test_s3_the_end_of_a_long_note_is_found_with_its_place(vault):
    """The last paragraph of 6,000 words answers, with its line and heading."""
    text = f"# Gardening\n{garden(6_000)}\n\n{MNEMONIC}\n"
    vault.put("gardening.md", text)
    hit = vault.hits("how do I remember the gate?")[0]
    assert (hit.path, MNEMONIC in hit.text) == ("gardening.md", True)
    lines = text.splitlines()
    last = lines.index(MNEMONIC) + 1
    assert lines[hit.line - 1] == hit.text.splitlines()[0]
    assert hit.line <= last < hit.line + 40
    assert hit.heading.startswith("Month ")
    shown = vault.cli("search", "how do I remember the gate?", "-k", "1")
    assert f"gardening.md:{hit.line}" in shown.out
    assert _longest(vault) <= chunks.MAX_CHARS
    vault.holds(queries=("gate",))


def test_s3_one_endless_line_and_a_long_table(vault):
    """40,000 characters without a line break, and 300 rows: no piece is too long, and the last word is found."""
    words = [f"w{n:05}" for n in range(5_700)]
    vault.put("line.md", " ".join(words) + " zymurgy\n")
    vault.put("solid.md", "q" * 40_000 + "\n")
    rows = [f"| part {n} | shelf {n % 17} | {'spare ' * (n % 5)}|" for n in range(299)]
    vault.put(
        "table.md", "| name | place | note |\n|---|---|---|\n" + "\n".join(rows) + "\n| gasket | loft | brass |\n"
    )
    assert len((vault.root / "line.md").read_text()) > 39_000
    assert vault.first("zymurgy") == "line.md"
    hit = vault.hits("where is the brass gasket")[0]
    assert (hit.path, "| gasket | loft | brass |" in hit.text) == ("table.md", True)
    assert hit.line <= 302 <= hit.line + hit.text.count("\n")
    assert _longest(vault) <= chunks.MAX_CHARS
    vault.b5_bounded()
    vault.holds(queries=("zymurgy", "w00003"))


def _longest(vault):
    """The longest passage in the index, in characters."""
    with vault.engine._index.reader() as reader:
        return max(len(text) for (text,) in reader.con.execute("SELECT text FROM chunks").fetchall())


def _vectors(engine):
    """How many passages have a vector, and how many passages and vectors there are."""
    with engine._index.reader() as reader:
        vectors = 0 if reader.matrix is None else len(reader.matrix)
        ((having, passages),) = reader.con.execute(
            f"SELECT count(*) FILTER (vec < {vectors}), count(*) FROM chunks"
        ).fetchall()
        return having, passages, vectors


def _choose(vault, embedding):
    vault.put("atlas.toml", f'[search]\nembedding = "{embedding}"\n')


def test_s4_words_alone_are_enough(vault):
    """`embedding = "none"`: no model is loaded, no vector kept, and search, storing and status work."""
    _choose(vault, "none")
    stored = vault.cli("ingest", "The spare key hangs behind the boiler.", "--json")
    assert stored.code == 0
    found = vault.cli("search", "spare key", "--json", "--explain").json["hits"]
    assert found[0]["id"] == stored.json["memories"][0]["id"]
    with MemoryEngine(vault.root, create=False) as engine:
        having, passages, vectors = _vectors(engine)
        assert (having, vectors) == (0, 0)
        assert passages > 0
        assert engine.status()["index"]["embedding"] == "none"
    vault.holds(queries=("spare key",))


def test_s4_another_embedding_derives_again_and_mixes_nothing(vault):
    """Switched to and fro in atlas.toml: each time all passages have a vector of this model, or none has one."""
    for embedding in ("static", "none", "static"):
        _choose(vault, embedding)
        with MemoryEngine(vault.root, create=False) as engine:
            assert engine.search("descale with vinegar").hits[0].path == "kettle.md"
            having, passages, vectors = _vectors(engine)
            assert (having, vectors) == ((passages, passages) if embedding == "static" else (0, 0))
    vault.holds()


def test_s4_two_embeddings_at_once_keep_apart(vault):
    """Two engines of different embedding on one vault, in turns: both answer, neither by the other's vectors."""
    with MemoryEngine(vault.root, create=False, embedding_model="none") as plain:
        for n in range(3):
            vault.put(f"turn/{n}.md", f"Turn number{n} of the wheel.\n")
            assert plain.search(f"number{n}").hits[0].path == f"turn/{n}.md"
            assert _vectors(plain)[::2] == (0, 0)
            assert vault.first(f"number{n}") == f"turn/{n}.md"
            having, passages, vectors = _vectors(vault.engine)
            assert having == passages == vectors
    vault.holds()


NO_NETWORK = """
import socket, sys
def refuse(*_):
    print("network", file=sys.stderr)
    raise SystemExit(99)
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
sys.addaudithook(lambda event, args: refuse() if event in ("socket.connect", "socket.getaddrinfo") else None)
from atlas.commands import main
for words in (["index", "--rebuild"], ["ingest", "A heron stands on the slate roof."], ["search", "bird on a roof"]):
    try:
        main(words)
    except SystemExit as end:
        assert end.code == 0, words
"""


def test_s4_nothing_waits_for_the_network(vault):
    """With every way out closed, the default model indexes, stores and finds; not one connection is tried."""
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{dead.getsockname()[1]}"
        closed = dict.fromkeys(
            ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), proxy
        )
    done = vault.script(NO_NETWORK, env=closed)
    assert done.code == 0, done.err
    assert "heron" in done.out
    vault.holds()
