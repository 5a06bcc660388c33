"""Remote models: without litellm one sentence; with it, a real server on loopback that speaks the protocol."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import embedders
import numpy as np
import pytest
from loopback import KEY, Server, serving

from atlas import models
from atlas.engine import MemoryEngine
from atlas.errors import Unavailable
from atlas.memory import Tier
from atlas.models import Choice, remote
from atlas.template import create


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing remembered of litellm or of earlier servers, and no waiting between tries."""
    remote._litellm.cache_clear()
    monkeypatch.setattr(remote, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(remote, "_FIRST", 0.0)
    models.release()


# ------------------------------------------------------------- without litellm


def test_without_litellm_it_says_what_to_install(repo):
    assert find_spec("litellm") is None, "this test is for an environment without it"
    create(repo)
    (repo / "atlas.toml").write_text('[search]\nembedding = "remote"\nmodel = "openai/some-model"\n')
    (repo / "a.md").write_text("A heron.\n")
    with MemoryEngine(repo, create=False) as engine:
        assert engine.search("heron").hits[0].path == "a.md"
        said = engine.said()
        assert engine.refresh().memories == 1
    wanted = "Remote models need litellm: run `pip install 'memory-atlas[llm]'`."
    assert said[0] == wanted
    assert all(line.isprintable() for line in said)


@pytest.mark.parametrize(
    ("version", "says"),
    [("1.82.7", "thief"), ("1.82.8", "thief"), ("1.83.9", "does not fit"), ("2.0.0", "does not fit")],
)
def test_a_version_that_must_not_run_is_not_even_imported(version, says, tmp_path, monkeypatch):
    info = tmp_path / f"litellm-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: litellm\nVersion: {version}\n")
    (tmp_path / "litellm.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(Unavailable) as refused:
        models.load(Choice("remote", "openai/some-model")).ask("heron")
    assert version in str(refused.value)
    assert says in str(refused.value)


def test_a_model_has_to_be_named():
    with pytest.raises(Unavailable, match=r"search\.model"):
        models.load(Choice("remote"))


def test_the_address_belongs_to_the_name():
    one, two = (models.load(Choice("remote", "m", base)) for base in ("http://one", "http://two"))
    assert one.name != two.name
    assert models.signature(Choice("remote", "m")) == "remote m"


# ---------------------------------------------------------------- with litellm


@pytest.fixture
def server(monkeypatch, tmp_path) -> Iterator[Server]:
    """A model server on loopback, and the key for it in the environment."""
    (tmp_path / "model").write_text("32 served")
    model = embedders.HashedEmbedder(Choice("local", str(tmp_path / "model")))
    with serving(monkeypatch, model.embed) as state:
        yield state


def chosen(server: Server) -> Choice:
    return Choice("remote", "openai/served", server.address)


@pytest.mark.llm
def test_vectors_come_in_the_order_asked_and_of_length_one(server, tmp_path):
    texts = [f"heron {n}" for n in range(70)] + ["", "\udce9 odd"]
    made = models.load(chosen(server)).embed(texts)
    (tmp_path / "model").write_text("32 served")
    wanted = embedders.HashedEmbedder(Choice("local", str(tmp_path / "model"))).embed(texts)
    assert np.allclose(made, wanted, atol=1e-6)
    assert made.dtype == np.float32
    assert [len(asked["input"]) for asked in server.asked] == [64, 8]
    assert server.asked[0]["path"] == "/v1/embeddings"
    assert server.asked[0]["model"] == "served"
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert np.allclose(models.load(chosen(server)).ask("heron 5"), made[5], atol=1e-6)


@pytest.mark.llm
def test_what_passes_is_tried_again(server):
    server.failures = [500, 429, 503]
    assert models.load(chosen(server)).embed(["heron"]).shape == (1, 32)
    assert len(server.asked) == 4
    server.failures = [500] * 99
    with pytest.raises(Unavailable):
        models.load(chosen(server)).embed(["heron"])
    assert len(server.asked) == 4 + 6


@pytest.mark.llm
def test_a_server_that_failed_is_left_alone_for_a_while(server):
    server.failures = [500] * 9
    for _ in range(3):
        with pytest.raises(Unavailable) as refused:
            models.load(chosen(server)).ask("heron")
    assert len(server.asked) <= 2
    assert KEY not in str(refused.value)


@pytest.mark.llm
@pytest.mark.parametrize(("code", "says"), [(401, "OPENAI_API_KEY"), (404, "cannot be used"), (400, "cannot be used")])
def test_a_refusal_is_one_sentence_without_the_key(server, code, says):
    server.failures = [code]
    with pytest.raises(Unavailable, match=says) as refused:
        models.load(chosen(server)).embed(["heron"])
    assert len(server.asked) == 1
    assert KEY not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.llm
def test_an_answer_that_is_no_embedding_is_refused(server):
    server.lose = 1
    with pytest.raises(Unavailable, match="one vector for each text"):
        models.load(chosen(server)).embed(["heron", "wombat"])


@pytest.mark.llm
def test_no_key_is_one_sentence(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(Unavailable, match="OPENAI_API_KEY"):
        models.load(chosen(server)).ask("heron")
    assert server.asked == []


@pytest.mark.llm
def test_nobody_there_is_one_sentence(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(Unavailable, match="does not answer"):
        models.load(Choice("remote", "openai/served", "http://127.0.0.1:9/v1")).ask("heron")


def write_toml(root: Path, server: Server) -> None:
    text = f'[search]\nembedding = "remote"\nmodel = "openai/served"\napi_base = "{server.address}"\n'
    (root / "atlas.toml").write_text(text)


@pytest.mark.llm
def test_a_vault_ranks_by_it_and_writes_no_key(server, repo):
    create(repo)
    write_toml(repo, server)
    for n in range(9):
        (repo / f"n{n}.md").write_text(f"# n {n}\n\nThe heron number{n} stands by the pond.\n")
    with MemoryEngine(repo, create=False) as engine:
        hit = engine.search("heron number5").hits[0]
        assert (hit.path, hit.why["vector"]["rank"]) == ("n5.md", 1)
        assert engine.said() == []
        server.failures = [500] * 9
        assert engine.search("heron number6").hits[0].path == "n6.md"
        (said,) = engine.said()
        assert "words alone rank" in said
    held = [place for place in repo.rglob("*") if place.is_file() and KEY.encode() in place.read_bytes()]
    assert held == []


# ------------------------------------------------------------ a model that writes


def guided(root: Path, server: Server) -> None:
    """A vault of three folders whose notes hold the same words, and a model to choose among them."""
    create(root)
    (root / "atlas.toml").write_text(f'[llm]\nmodel = "openai/served"\napi_base = "{server.address}"\n')
    for folder in ("ducks", "geese", "herons"):
        (root / folder).mkdir()
        for n in range(3):
            (root / folder / f"{n}.md").write_text(f"# Entry {n} of {folder}\n\nWhere birds stand in water, {n}.\n")


@pytest.mark.llm
def test_a_model_goes_through_the_tree_in_fine_mode_only(server, repo):
    guided(repo, server)
    server.answers = ["2", "1, 3"]
    with MemoryEngine(repo, create=False) as engine:
        assert engine.search("birds in water").hits
        assert server.asked == []
        hits = engine.search("birds in water", mode="fine").hits
        assert engine.said() == []
        assert len(server.asked) == 2
        listed = re.findall(r'note "(Entry \d of geese)"', server.asked[1]["messages"][0]["content"])
        assert len(listed) == 3
        assert {hit.label for hit in hits[:2]} == {listed[0], listed[2]}
        assert [hit.why["tree"]["rank"] for hit in hits[:2]] == [1, 1]
        server.answers = ["1"]
        scoped = engine.search("birds in water", mode="fine", scope="herons").hits
        assert {hit.path for hit in scoped} == {f"herons/{n}.md" for n in range(3)}
    shown = server.asked[-1]["messages"][0]["content"]
    assert "Entry 0 of herons" in shown
    assert "geese" not in shown
    assert "stand in water, 0" not in shown


@pytest.mark.llm
@pytest.mark.parametrize("answers", [["I like birds."], ["1", "1, 99"], []])
def test_where_a_model_fails_the_beam_answers(server, repo, answers):
    guided(repo, server)
    server.answers, server.failures = list(answers), [] if answers else [500] * 9
    with MemoryEngine(repo, create=False) as engine:
        got = engine.search("birds in water", mode="fine").hits
        (said,) = engine.said()
        assert said.endswith("no model goes through the tree.")
        assert KEY not in said
    (repo / "atlas.toml").write_text("")
    with MemoryEngine(repo, create=False) as engine:
        wanted = engine.search("birds in water", mode="fine").hits
    assert [(h.path, h.score, h.why) for h in got] == [(h.path, h.score, h.why) for h in wanted]


ALONE = """
import os, sys
def guard(event, args):
    place = args[1][0] if event == "socket.connect" else args[0] if event == "socket.getaddrinfo" else "127.0.0.1"
    if place != "127.0.0.1":
        os.write(2, f"network: {event} {args[1:]}".encode())
        os._exit(99)
sys.addaudithook(guard)
from atlas import models
print(models.load(models.Choice("remote", "openai/served", sys.argv[1])).ask("heron").shape)
print(models.remote.RemoteModel("openai/served", sys.argv[1]).complete("which?"))
"""


@pytest.mark.llm
def test_nothing_but_the_server_is_called_and_nothing_is_printed(server):
    server.answers = ["1"]
    words = [sys.executable, "-c", ALONE, server.address]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[1]
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "(32,)\n1\n", "")


# ------------------------------------------------------ a model that looks ahead


@pytest.mark.llm
def test_what_a_model_expects_next_is_made_ready(server, repo):
    guided(repo, server)
    for n in range(3, 9):  # the first ten hits of a view count as needed, whatever they are
        (repo / "herons" / f"{n}.md").write_text(f"# Entry {n} of herons\n\nWhere birds stand in water, {n}.\n")
    (repo / "quiet.md").write_text("# Kettle\n\nThe kettle wants vinegar every month.\n")
    asked = {"order": "relevance", "budget": 60}
    with MemoryEngine(repo, create=False) as engine:
        engine.view("birds in water", **asked)
        engine.session().settle()
        assert server.asked == []
    toml = repo / "atlas.toml"
    toml.write_text(toml.read_text() + "[scene]\nforesee = true\n")
    server.answers = ["- vinegar for the kettle", "- vinegar for the kettle"]
    with MemoryEngine(repo, create=False) as engine:
        for _ in range(2):
            engine.view("birds in water", session="ahead", **asked)
            engine.session("ahead").settle()
        assert engine.session("ahead").said() == []
        told = server.asked[-1]["messages"][0]["content"]
        assert told.count('"birds in water"') == 2
        assert "stand in water," not in told
        id = engine.expand("quiet.md").id
        assert engine.session("ahead")._tiers.tier(id) == Tier.WARM


@pytest.mark.llm
def test_a_view_is_given_whatever_the_model_says_after_it(server, repo):
    guided(repo, server)
    toml = repo / "atlas.toml"
    toml.write_text(toml.read_text() + "[scene]\nforesee = true\n")
    server.failures = [500] * 9
    with MemoryEngine(repo, create=False) as engine:
        assert engine.view("birds in water").items
        engine.session().settle()
        (said,) = engine.said()
        assert "does not answer" in said
        assert KEY not in said
        assert engine.session().stats()["turns"] == 1
