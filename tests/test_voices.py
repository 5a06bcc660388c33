"""Names, times and links in a ranking: what they lift, what they lower, and what they never let in."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell import atlas
from support import write

from atlas import MemoryEngine
from atlas.template import create

FILLER = "The boiler in the cellar has a valve, and the valve of the boiler leaks.\n"


@pytest.fixture
def root(repo):
    create(repo)
    return repo


@pytest.fixture(params=[True, False], ids=["resident", "one-shot"])
def engine(root, request):
    with MemoryEngine(root, resident=request.param, embedding_model="none") as opened:
        yield opened


def paths(engine, query, **options):
    return [hit.path for hit in engine.retrieve(query, **options)]


# ----------------------------------------------------------------------- names


@pytest.fixture
def named(root):
    for n in range(6):
        write(root, f"other/{n}.md", f"# Boiler valve cafe noir {n}\n\nBoiler valve boiler valve, cafe noir, ledger.\n")
    text = "---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\ntitle: Café Noir\naliases: [Boiler valve]\n---\nSlate and heron.\n"
    write(root, "deep/in/Old ledger.md", text)
    return "deep/in/Old ledger.md"


@pytest.mark.parametrize(
    "query",
    [
        "Café Noir", "  cafe   NOIR ", "“Café Noir”", "'boiler valve'", "[[Café Noir]]", "[[Boiler valve|that one]]",
        "![[cafe noir#Heading]]", "old ledger", "Old ledger.md", "deep/in/Old ledger.md", "deep/in/old ledger",
        "in/Old ledger", "01JDXK3Q8ZV5T9W2M4N6P8R0S1", "[[01jdxk3q8zv5t9w2m4n6p8r0s1]]",
    ],
)  # fmt: skip
def test_a_name_comes_before_all_else(engine, named, query):
    found = engine.search(query)
    assert found.hits[0].path == named
    assert found.hits[0].why["names"]["rank"] == 1
    assert found.ambiguous == ()


@pytest.mark.parametrize(
    "query", ["Café", "Boiler", "ledger", "n/Old ledger", "01JDXK3Q8ZV5T9W2M4N6P8", "Café Noir now"]
)
def test_the_beginning_of_a_name_is_no_name(engine, named, query):
    assert all("names" not in hit.why for hit in engine.search(query).hits)


def test_a_derived_id_is_a_name(engine, root):
    write(root, "a.md", FILLER)
    write(root, "b.md", FILLER + "Again.\n")
    hit = engine.retrieve("boiler", k=2)[1]
    assert paths(engine, hit.id)[0] == hit.path


def test_a_mention_lifts_less_than_a_name(engine, root):
    write(root, "a.md", "# Heron\n\nGrey, and patient by the water.\n")
    write(root, "b.md", "# Birds\n\nHeron, heron, heron and heron.\n")
    assert paths(engine, "who feeds the heron")[0] == "b.md"
    first = engine.retrieve("who feeds the [[Heron]]?")[0]
    assert first.path == "a.md"
    assert 0 < first.why["names"]["score"] < engine.retrieve("Heron")[0].why["names"]["score"] == 1


def test_a_shared_name_is_reported_and_all_are_lifted(engine, root):
    write(root, "a/Boiler.md", "Slate.\n")
    write(root, "b/x.md", "# boiler\n\nHeron.\n")
    write(root, "c/y.md", "---\naliases: [BOILER]\n---\nQuokka.\n")
    write(root, "d.md", "# Boiler boiler\n\n" + FILLER)
    found = engine.search("Boiler")
    assert found.ambiguous == ("a/Boiler.md", "b/x.md", "c/y.md")
    assert {hit.path for hit in found.hits[:3]} == set(found.ambiguous)
    assert engine.search("Boiler", scope="b").ambiguous == ()
    said = atlas("search", "[[Boiler]]", cwd=root)
    assert said.err.strip() == "3 memories share this name: a/Boiler.md, b/x.md, c/y.md."
    assert atlas("search", "Boiler", "--json", cwd=root).json["ambiguous"] == list(found.ambiguous)
    assert atlas("search", "slate", "--json", cwd=root).json["ambiguous"] == []


def test_of_two_that_differ_in_accents_the_one_spelled_so_is_first(engine, root):
    write(root, "Rosé.md", "Heron one.\n")
    write(root, "Rose.md", "Heron two.\n")
    assert paths(engine, "Rosé") == ["Rosé.md", "Rose.md"]
    assert paths(engine, "Rose") == ["Rose.md", "Rosé.md"]
    assert engine.search("ROSE").ambiguous == ("Rose.md", "Rosé.md")


def test_a_name_follows_a_rename_and_a_look_back(engine, root, git):
    write(root, "First name.md", FILLER)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    assert "names" in engine.search("first name").hits[0].why
    git(root, "mv", "First name.md", "Second name.md")
    assert all("names" not in hit.why for hit in engine.search("first name").hits)
    assert "names" in engine.search("second name").hits[0].why
    assert "names" in engine.search("first name", as_of="HEAD").hits[0].why


# ------------------------------------------------------------------------ time


def test_a_time_lifts_what_was_made_then(engine, root, monkeypatch):
    monkeypatch.setenv("ATLAS_NOW", "2026-05-20T12:00:00Z")
    for day in ("2023-03-05", "2026-05-12", "2026-05-19"):
        write(root, f"{day}.md", f"---\ncreated: {day}\n---\nThe boiler was repaired.\n")
    write(root, "0.md", "The boiler was repaired.\n")
    for query, right in {
        "boiler repaired last week": "2026-05-12.md", "boiler yesterday": "2026-05-19.md",
        "boiler in March 2023": "2023-03-05.md", "boiler before 2024": "2023-03-05.md",
    }.items():  # fmt: skip
        first, second, *_ = engine.retrieve(query)
        assert (first.path, "time" in first.why, "time" in second.why) == (right, True, False)
    assert all("time" not in hit.why for hit in engine.retrieve("boiler repaired"))


def test_a_time_lifts_what_held_then(engine, root):
    write(root, "a.md", "---\nvalid_from: 2020-01-01\nvalid_to: 2020-06-01\n---\nThe gate code is red.\n")
    write(root, "b.md", "---\nvalid_from: 2020-06-01\n---\nThe gate code is blue.\n")
    assert "time" in {h.path: h.why for h in engine.retrieve("gate code in May 2020")}["a.md"]
    assert "time" not in {h.path: h.why for h in engine.retrieve("gate code in May 2020")}["b.md"]
    assert "time" in {h.path: h.why for h in engine.retrieve("gate code in July 2021")}["b.md"]


# ----------------------------------------------------------------------- links

LINKS = ("[[Far]]", "![[far#Valve]]", "[[Far|shown]]", "[it](sub/Far.md)", "[it](<../x/sub/Far.md#v>)", "[[sub/Far]]",
         "[[The far one]]", "[[elsewhere called]]", "[it](./Far.md 'a title')")  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
def test_a_link_lifts_in_both_directions(engine, root, link):
    write(root, "near.md", f"The boiler leaks. {link}\n")
    write(root, "x/sub/Far.md", "---\naliases: [elsewhere called]\n---\n# The far one\n\nHeron over slate.\n")
    hits = {hit.path: hit for hit in engine.retrieve("boiler leaks")}
    assert hits["x/sub/Far.md"].why["links"]["rank"] == 1
    assert "near.md" in paths(engine, "heron slate")


@pytest.mark.parametrize(
    "link", ["[[other/Far]]", "[[Fa]]", "`[[Far]]`", "[it](https://x.test/Far.md)", "[it](Far.txt)"]
)
def test_what_is_no_link_lifts_nothing(engine, root, link):
    write(root, "near.md", f"The boiler leaks. {link}\n")
    write(root, "x/sub/Far.md", "Heron over slate.\n")
    assert paths(engine, "boiler leaks") == ["near.md"]


def test_metadata_links_too_and_two_steps_count_half(engine, root):
    write(root, "a.md", '---\nup: "[[b]]"\n---\nThe boiler leaks.\n')
    write(root, "b.md", "Heron. [[c]]\n")
    write(root, "c.md", "Slate. [[d]]\n")
    write(root, "d.md", "Quokka.\n")
    hits = {hit.path: hit for hit in engine.retrieve("boiler leaks")}
    assert list(hits) == ["a.md", "b.md", "c.md"]
    assert hits["b.md"].why["links"]["score"] > hits["c.md"].why["links"]["score"]


def test_a_hub_says_less(engine, root):
    write(root, "a.md", "The boiler leaks. [[few]] [[many]]\n")
    write(root, "few.md", "Heron, few.\n")
    write(root, "many.md", "Heron, many.\n")
    for n in range(12):
        write(root, f"n{n}.md", f"Slate {n}. [[many]]\n")
    hits = {hit.path: hit.why["links"]["score"] for hit in engine.retrieve("boiler leaks") if "links" in hit.why}
    assert hits["few.md"] > 2 * hits["many.md"]


def test_a_link_that_came_later_is_followed(engine, root):
    write(root, "near.md", "The boiler leaks. [[Far]]\n")
    assert paths(engine, "boiler leaks") == ["near.md"]
    write(root, "Far.md", "Heron.\n")
    assert paths(engine, "boiler leaks") == ["near.md", "Far.md"]
    (root / "Far.md").unlink()
    assert paths(engine, "boiler leaks") == ["near.md"]


def test_nothing_is_reached_through_what_the_filters_leave_out(engine, root):
    write(root, "in/a.md", "The boiler leaks. [[between]]\n")
    write(root, "out/between.md", "Heron. [[c]]\n")
    write(root, "in/c.md", "Slate.\n")
    assert paths(engine, "boiler leaks", scope="in") == ["in/a.md"]
    assert set(paths(engine, "boiler leaks")) == {"in/a.md", "out/between.md", "in/c.md"}
    assert all("names" not in hit.why for hit in engine.retrieve("[[between]]", scope="in"))


WORDS = ["heron", "boiler", "[[n0]]", "[[n1]]", "[[in/n2]]", "[[out/n3]]", "[[Same]]", "# Same\n", "superseded"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    inside=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=5),
    outside=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=5),
    query=st.lists(st.sampled_from(["heron", "boiler", "[[Same]]", "Same", "n1", "in 2024"]), min_size=1).map(" ".join),
)
def test_no_voice_lets_in_or_hears_what_is_outside(root, inside, outside, query):
    for place in root.rglob("*.md"):
        place.unlink()
    with MemoryEngine(root, embedding_model="none") as engine:
        for n, words in enumerate(inside):
            write(root, f"in/n{n}.md", _note(n, words))
        alone = engine.search(query, scope="in")
        for n, words in enumerate(outside):
            write(root, f"out/n{n}.md", _note(n, words))
        among = engine.search(query, scope="in")
        assert all(hit.path.startswith("in/") for hit in among.hits)
        assert [(h.path, h.score, h.why) for h in alone.hits] == [(h.path, h.score, h.why) for h in among.hits]
        assert alone.ambiguous == among.ambiguous


def _note(n: int, words: list[str]) -> str:
    head = f"created: 2024-0{n + 1}-01\n" + (f"superseded_by: n{n + 1}\n" if "superseded" in words else "")
    return f"---\n{head}---\n" + " ".join(words) + "\n"


def test_the_page_of_a_cluster_steps_behind_its_members(engine, notes):
    """A page has the name of what it is about and little else: it would be first for every question on that."""
    member = "---\ntags: [cluster/ana]\n---\n# {}\n"
    said = ("Ana is back on floor 2", "Ana moved to floor 5", "Ana likes tea")
    notes({f"{n}.md": member.format(text) for n, text in enumerate(said)})
    engine.maintain()
    assert engine.search("where does Ana sit").hits[0].path != "clusters/ana.md"
    assert engine.search("Ana").hits[0].path == "clusters/ana.md", "by its name it is found first"
    assert "aside" in engine.search("Ana").hits[0].why
    assert [hit.path for hit in engine.search("Ana", kind=["hub"]).hits] == ["clusters/ana.md"]


def test_a_label_whose_text_is_forgotten_steps_behind_what_is_whole(engine, notes):
    head = "---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S{}\n{}---\n"
    notes(
        {
            "archive/a.md": head.format(1, "rung: L0\nforgotten: 2026-01-01\nfull: abc\n") + "# The walrus of Ana\n",
            "b.md": head.format(2, "") + "# The walrus of Ana\n\nIt swims.\n",
        }
    )
    hits = engine.search("which walrus").hits
    assert [hit.path for hit in hits] == ["b.md", "archive/a.md"]
    assert hits[1].why["aside"]["score"] == 0.5
