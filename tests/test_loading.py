"""A cluster loaded and unloaded as a unit: ready for the next view, held until it is let go, never beyond its room."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell import atlas
from support import write

from atlas import MemoryEngine, cast
from atlas.cache import Held, Tiers
from atlas.errors import NotFound
from atlas.memory import Tier

SIZE = 6


@pytest.fixture
def bundled(engine, root, git):
    """Two clusters, a note that a page names, and notes that belong to none."""
    for topic, where in (("boiler", ""), ("heron", "team/")):
        for n in range(SIZE):
            text = f"The {topic} number {n} is described here, with all that is known about it.\n"
            write(
                root,
                f"{where}notes/{topic}{n}.md",
                f"---\ntags: [cluster/{topic}]\n---\n# {topic.title()} {n}\n\n{text}",
            )
    for n in range(SIZE):
        write(root, f"other/{n}.md", f"# Other {n}\n\nNothing of the kind, number {n}.\n")
    write(root, "mine/pump.md", "# The pump\n\nThe pump of the boiler, in my own words.\n")
    part = "<!-- atlas:members -->\n<!-- /atlas:members -->\n\n"
    part += "<!-- atlas:notes -->\n- [[mine/pump]]\n<!-- /atlas:notes -->\n"
    write(root, "clusters/boiler.md", f"---\nkind: hub\n---\n# Boiler\n\n{part}")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    return root


def tiers(view) -> dict[str, Tier]:
    return {item.path: item.tier for item in view.items}


def ask(engine, **options):
    return tiers(engine.view("boiler number described pump", budget=4000, **options))


def test_a_view_after_loading_finds_all_of_it_warm(engine, bundled):
    done = engine.load("boiler")
    assert (done.cluster, done.memories, done.left) == ("boiler", SIZE + 1, 0)
    assert done.tokens > 0
    found = ask(engine)
    members = [f"notes/boiler{n}.md" for n in range(SIZE)] + ["mine/pump.md"]
    assert {found[path] for path in members} == {Tier.WARM}
    assert {tier for path, tier in found.items() if path not in members} <= {Tier.COLD}


def test_its_texts_are_made_at_every_level_before_they_are_asked_for(engine, bundled, monkeypatch):
    engine.load("boiler")
    session = engine.session()
    with engine._catalog() as catalog:
        card = catalog.find("notes/boiler1.md")
    made = session._tiers.get(card.id, card.blob)
    assert isinstance(made, cast.Prepared)
    assert made.made[()].tokens > made.label.tokens
    assert made.texts
    monkeypatch.setattr(cast.Cast, "_prepared", lambda *_: pytest.fail("made again"))
    assert engine.view("boiler number 1", budget=4000, kind=["note"], cluster=["boiler"]).items


def test_unloading_lets_all_of_it_go(engine, bundled):
    loaded = engine.load("boiler")
    done = engine.unload("boiler")
    assert (done.memories, done.tokens) == (loaded.memories, loaded.tokens)
    assert set(ask(engine).values()) == {Tier.COLD}
    assert engine.unload("boiler").memories == 0


def test_what_is_in_front_of_the_agent_stays_until_it_moves_on(engine, bundled):
    engine.load("boiler")
    ask(engine)
    engine.session().settle()
    engine.unload("boiler")
    assert Tier.HOT in ask(engine).values()


def test_another_process_finds_it_loaded(bundled):
    done = atlas("clusters", "cluster/boiler", "--load", "--json", cwd=bundled).json["loaded"]
    assert (done["cluster"], done["memories"]) == ("boiler", SIZE + 1)
    assert "ready" in atlas("clusters", "heron", "--load", cwd=bundled).err
    view = atlas("view", "boiler number described pump", "--json", cwd=bundled).json
    assert {i["tier"] for i in view["items"] if i["path"].startswith(("notes/boiler", "mine"))} == {"warm"}
    view = atlas("view", "boiler number described pump", "--session", "two", "--json", cwd=bundled).json
    assert {i["tier"] for i in view["items"]} == {"cold"}
    assert "let go" in atlas("clusters", "heron", "--unload", cwd=bundled).err


def test_a_cluster_nobody_knows(engine, bundled):
    for verb in (engine.load, engine.unload):
        with pytest.raises(NotFound, match="atlas clusters"):
            verb("nothing")
    ran = atlas("clusters", "--load", cwd=bundled)
    assert ran.code == 2
    assert "Name the cluster" in ran.err


def test_a_cluster_that_is_gone_can_be_unloaded(engine, bundled, git):
    engine.load("heron")
    for n in range(SIZE):
        (bundled / f"team/notes/heron{n}.md").unlink()
    git(bundled, "commit", "-qam", "gone")
    assert engine.unload("heron").memories == SIZE


def test_a_session_of_a_scope_loads_its_own_alone(bundled):
    with MemoryEngine(bundled, scope="team/") as part:
        assert part.load("heron").memories == SIZE
        with pytest.raises(NotFound):
            part.load("boiler")
    write(bundled, "notes/heron9.md", "---\ntags: [cluster/heron]\n---\n# Heron 9\n\nNot of the team.\n")
    with MemoryEngine(bundled, scope="team/") as part:
        assert part.load("heron").memories == SIZE
        assert all(path.startswith("team/") for path in tiers(part.view("heron")))


def test_what_was_rejected_is_not_loaded(engine, bundled):
    write(bundled, "notes/boiler1.md", "---\ntags: [cluster/boiler]\ntrust: rejected\n---\n# Boiler 1\n\nNo.\n")
    assert engine.load("boiler").memories == SIZE


def test_the_worthiest_come_first_and_the_room_is_kept(engine, bundled):
    for n, importance in enumerate((0.1, 0.9, 0.2, 0.8, 0.3, 0.7)):
        head = f"---\ntags: [cluster/boiler]\nimportance: {importance}\n---\n"
        write(bundled, f"notes/boiler{n}.md", head + f"# Boiler {n}\n\n{'It is described at length. ' * 20}\n")
    write(bundled, "atlas.toml", "[scene]\nwarm_tokens = 400\n")
    with MemoryEngine(bundled) as small:
        done = small.load("boiler")
        assert 0 < done.tokens <= 400
        assert done.memories + done.left == SIZE + 1
        warm = {path for path, tier in ask(small).items() if tier == Tier.WARM}
        assert "notes/boiler1.md" in warm
        assert "notes/boiler0.md" not in warm


def test_a_memory_of_two_loaded_clusters_goes_with_the_last(engine, bundled):
    write(bundled, "notes/both.md", "---\ntags: [cluster/boiler, cluster/heron]\n---\n# Boiler and heron\n\nBoth.\n")
    engine.load("boiler")
    engine.load("heron")
    engine.unload("heron")
    assert ask(engine)["notes/both.md"] == Tier.WARM
    engine.unload("boiler")
    engine.session().forget()
    assert ask(engine)["notes/both.md"] == Tier.COLD


def test_a_changed_member_is_never_served_from_before(engine, bundled):
    engine.load("boiler")
    write(bundled, "notes/boiler1.md", "---\ntags: [cluster/boiler]\n---\n# Boiler 1\n\nTurquoise by now.\n")
    view = engine.view("boiler turquoise", budget=4000)
    assert "Turquoise by now." in view.text
    engine.session().settle()
    with engine._catalog() as catalog:
        card = catalog.find("notes/boiler1.md")
    assert engine.session()._tiers.get(card.id, card.blob) is not None


# -------------------------------------------------------------------- the tiers


moves = st.lists(
    st.tuples(st.sampled_from(["load", "unload", "turn", "admit"]), st.sets(st.integers(0, 9), max_size=6)), max_size=20
)


@settings(max_examples=300)
@given(moves, st.integers(0, 12), st.integers(0, 12))
def test_what_is_loaded_is_held_until_it_is_let_go(steps, hot, warm):
    """Whatever else is shown, admitted and loaded meanwhile; and never beyond the room there is."""
    kept = Tiers(hot, warm)
    loaded: set[str] = set()
    for what, numbers in steps:
        held = {str(n): Held("b", 1 + n % 4) for n in sorted(numbers)}
        if what == "load":
            loaded = loaded - held.keys() | set(kept.load(held))
        elif what == "unload":
            kept.unload(held)
            loaded -= held.keys()
        elif what == "turn":
            kept.turn(held)
        else:
            for id, one in held.items():
                kept.admit(id, one.blob, one.size, 1.0)
        assert all(id in kept for id in loaded)
        assert kept.tokens(map(str, range(10))) <= hot + warm
        assert kept.tokens(loaded) <= warm
        again = Tiers.restored(kept.state(), hot, warm)
        assert again.state() == kept.state()
        kept = again


def test_a_state_of_an_earlier_version_has_nothing_loaded():
    state = Tiers(10, 10).state()
    del state["loaded"]
    assert Tiers.restored(state, 10, 10).load({"a": Held("b", 1)}) == ("a",)
