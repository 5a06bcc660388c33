"""Models come and go: vectors are never mixed, nothing is embedded twice, and an older model answers meanwhile."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import children
import duckdb
import embedders
import numpy as np
import pytest
import same

from atlas import embedding, models
from atlas.engine import MemoryEngine
from atlas.errors import Unavailable, UsageError
from atlas.models import Choice
from atlas.template import create

STATIC = models.STATIC


@pytest.fixture(autouse=True)
def hashed(monkeypatch):
    """The slow embedder of the tests in place of the local one."""
    monkeypatch.setitem(models.EMBEDDERS, "local", ("embedders", "HashedEmbedder"))
    monkeypatch.setattr(embedders.HashedEmbedder, "seen", [])
    return embedders.HashedEmbedder.seen


@pytest.fixture
def root(repo, tmp_path):
    create(repo)
    (tmp_path / "model").write_text("24 one")
    return repo


def choose(root, embedding, model=""):
    (root / "atlas.toml").write_text(f'[search]\nembedding = "{embedding}"\nmodel = {json.dumps(str(model))}\n')


def fill(root, count, word="heron"):
    for n in range(count):
        (root / f"{word}{n}.md").write_text(f"# {word} {n}\n\nThe {word} number{n} stands by pond {n * n}.\n")


def opened(root, **options):
    return MemoryEngine(root, create=False, **options)


def search(root, query="heron number7"):
    """A process of its own that searches: paths and what it said."""
    with opened(root, resident=False) as engine:
        return [hit.path for hit in engine.search(query).hits], engine.said()


def kept(root):
    """The models the index has vectors of: name → rows and whether it is ready."""
    with duckdb.connect(str(root / ".atlas" / "index.duckdb"), read_only=True) as con:
        found = con.execute("SELECT name, rows, ready FROM models").fetchall()
    return {name: (rows, ready) for name, rows, ready in found}


def check_vectors(root):
    """The vectors of the model that answers are those it makes of the passages' words."""
    with opened(root, resident=False) as engine, engine._index.reader() as reader:
        rows = reader.con.execute("SELECT context, text, vec FROM chunks").fetchall()
        wanted = engine._index.embedder().embed([f"{c}\n{t}" if c else t for c, t, _ in rows])
        assert reader.matrix.shape[1] == wanted.shape[1]
        assert np.allclose(reader.matrix[[vec for _, _, vec in rows]], wanted, atol=1e-6)


# ------------------------------------------------------------------- changing


def test_the_old_model_answers_until_the_new_is_ready(root, tmp_path, hashed):
    fill(root, 80)
    assert search(root) == (["heron7.md", *search(root)[0][1:]], [])
    choose(root, "local", tmp_path / "model")
    paths, said = search(root)
    assert paths[0] == "heron7.md"
    (line,) = said
    assert line.startswith("hashed 24 one has embedded 0 of 80 passages: until all are, wordllama-l2-256 ranks;")
    assert hashed == []
    steps = []
    with opened(root, resident=False) as engine:
        report = engine.refresh(progress=lambda *step: steps.append(step))
    assert (report.embedded, len(hashed)) == (80, 80)
    assert steps[-1] == (80, 80)
    assert kept(root) == {STATIC: (80, True), "hashed 24 one": (80, True)}
    paths, said = search(root)
    assert (paths[0], said) == ("heron7.md", [])
    check_vectors(root)


def test_going_back_embeds_nothing_again(root, tmp_path, hashed):
    fill(root, 70)
    for kind in ("local", "static", "none", "local"):
        choose(root, kind, tmp_path / "model")
        with opened(root, resident=False) as engine:
            engine.refresh()
            assert engine.search("heron number7").hits[0].path == "heron7.md"
            assert engine.said() == []
    assert len(hashed) == 70
    (root / "new.md").write_text("A wombat came.\n")
    assert search(root, "wombat")[0][0] == "new.md"
    assert len(hashed) == 72  # its text and its name
    check_vectors(root)


def test_a_model_with_other_weights_is_another_model(root, tmp_path, hashed):
    """The same setting, the same width, another content: the old vectors are not asked with the new model's."""
    fill(root, 70)
    choose(root, "local", tmp_path / "model")
    with opened(root, resident=False) as engine:
        engine.refresh()
    (tmp_path / "model").write_text("24 two")
    paths, said = search(root)
    assert paths[0] == "heron7.md"
    assert "words alone rank" in said[0]
    with opened(root, resident=False) as engine:
        assert engine.refresh().embedded == 70
    check_vectors(root)
    same.check(root, queries=["heron number7"])


def test_few_passages_are_embedded_while_a_search_waits(root, tmp_path, hashed):
    fill(root, 5)
    choose(root, "local", tmp_path / "model")
    assert search(root, "heron number3") == (["heron3.md", *search(root, "heron number3")[0][1:]], [])
    assert len(hashed) == 5
    check_vectors(root)
    with opened(root) as engine:
        for n in range(5):
            engine.ingest(f"Wombat {n} dug a hole near the fence.")
        assert engine.search("wombat 3").hits[0].label.startswith("Wombat 3")
        assert engine.said() == []
    made = hashed[10:]  # after those that check_vectors asked for
    assert len(made) == len(set(made)) == kept(root)["hashed 24 one"][0] - 5


def test_many_new_passages_rank_by_words_until_they_are_embedded(root, tmp_path):
    fill(root, 5)
    choose(root, "local", tmp_path / "model")
    search(root)
    fill(root, 90, "wombat")
    paths, said = search(root, "wombat number77")
    assert paths[0] == "wombat77.md"
    assert said == ["90 passages wait for their vectors and rank by words alone: run `atlas index`."]
    with opened(root, resident=False) as engine:
        engine.refresh()
    assert search(root)[1] == []
    check_vectors(root)


def test_no_more_models_are_kept_than_needed(root, tmp_path):
    fill(root, 3)
    for n in range(6):
        (tmp_path / "model").write_text(f"16 word{n}")
        choose(root, "local", tmp_path / "model")
        search(root)
    assert list(kept(root)) == ["hashed 16 word3", "hashed 16 word4", "hashed 16 word5"]
    assert len(list((root / ".atlas").glob("vectors-*"))) == 3
    check_vectors(root)


# ------------------------------------------------------------- what goes wrong


def embed_and_die(root):
    embedders.install()
    with opened(Path(root), resident=False) as engine:
        engine.refresh()
    return embedders.HashedEmbedder.seen


@pytest.mark.parametrize("death", ["after atlas.vectors:append", "before atlas.store:Store.publish"])
def test_a_kill_loses_one_batch(root, tmp_path, death, hashed):
    """Died with the first batch's vectors written and not committed, or with all committed and nobody told."""
    fill(root, 300)
    search(root)
    choose(root, "local", tmp_path / "model")
    search(root)
    assert children.start(embed_and_die, str(root), dies=death).killed()
    rows, ready = kept(root)["hashed 24 one"]
    assert (rows, ready) == ((0, False) if "append" in death else (300, True))
    with opened(root, resident=False) as engine:
        assert engine.refresh().embedded == 300 - rows
    check_vectors(root)


def embed_slowly(root, done):
    """Like a model that takes its time, until it is killed in the middle."""
    embedders.install()
    embed = embedders.HashedEmbedder.embed

    def slow(self, texts):
        if len(self.seen) >= 200:
            Path(done).touch()
            time.sleep(60)
        return embed(self, texts)

    embedders.HashedEmbedder.embed = slow
    embed_and_die(root)


def test_the_index_is_free_while_a_model_works_and_what_was_made_stays(root, tmp_path, hashed):
    fill(root, 300)
    search(root)
    choose(root, "local", tmp_path / "model")
    done = tmp_path / "done"
    child = children.start(embed_slowly, str(root), str(done))
    for _ in range(600):
        if done.exists():
            break
        time.sleep(0.05)
    assert done.exists()
    (root / "new.md").write_text("A wombat came.\n")
    assert search(root, "wombat")[0][0] == "new.md"
    child.kill()
    assert kept(root)["hashed 24 one"] == (128, False)
    with opened(root, resident=False) as engine:
        assert engine.refresh().embedded == 302 - 128
    check_vectors(root)


def test_an_absent_model_is_named_and_words_rank(root, tmp_path):
    fill(root, 4)
    choose(root, "local", tmp_path / "nowhere")
    paths, said = search(root, "heron number3")
    assert paths[0] == "heron3.md"
    assert said == ["The model nowhere is not on this machine: put it there. Until then, words alone rank."]
    with opened(root, resident=False) as engine:
        assert engine.refresh().memories == 4


def test_an_absent_model_leaves_the_old_one_in_place(root, tmp_path):
    fill(root, 4)
    search(root)
    choose(root, "local", tmp_path / "nowhere")
    with opened(root) as engine:
        for _ in range(3):
            assert "vector" in engine.search("heron number3").hits[0].why
        assert engine.said() == [
            "The model nowhere is not on this machine: put it there. Until then, wordllama-l2-256 ranks."
        ]


def test_lost_vectors_are_made_again(root, tmp_path, hashed):
    fill(root, 70)
    choose(root, "local", tmp_path / "model")
    with opened(root, resident=False) as engine:
        engine.refresh()
    for file in (root / ".atlas").glob("vectors-*"):
        file.write_bytes(file.read_bytes()[:1000])
    said = search(root)[1]
    assert "made again" in said[0]
    with opened(root, resident=False) as engine:
        assert engine.refresh().embedded == 70
    check_vectors(root)
    same.check(root, queries=["heron number7"])


def test_a_text_that_was_forgotten_and_comes_back_has_a_vector(root, tmp_path, monkeypatch):
    """Its rows are dropped while one model is away; that model must not take it for one it knows."""
    monkeypatch.setattr("atlas.index._DEAD_FLOOR", 2)
    monkeypatch.setattr("atlas.index._DEAD_FACTOR", 1)
    fill(root, 9)
    search(root)
    for n in range(8):
        (root / f"heron{n}.md").unlink()
    search(root)
    choose(root, "local", tmp_path / "model")
    search(root)
    fill(root, 9)
    search(root)
    check_vectors(root)
    choose(root, "static")
    check_vectors(root)


# ------------------------------------------------------------------ background


def test_a_long_lived_engine_embeds_by_itself(root, tmp_path, hashed):
    fill(root, 200)
    search(root)
    choose(root, "local", tmp_path / "model")
    with opened(root) as engine:
        assert engine.search("heron number7").hits[0].path == "heron7.md"
        engine._index._embedding._worker.join()
        assert engine.search("heron number7").hits[0].path == "heron7.md"
        with engine._index.reader() as reader:
            assert reader.matrix.shape == (200, 24)
        same.check(root, engine, queries=["heron number7"])
    assert len(hashed) >= 200


def test_closing_ends_the_work_and_keeps_what_is_done(root, tmp_path, monkeypatch, hashed):
    fill(root, 300)
    choose(root, "local", tmp_path / "model")
    reached, embed = threading.Event(), embedders.HashedEmbedder.embed

    def watched(self, texts):
        if len(self.seen) >= 150:
            reached.set()
            time.sleep(0.2)
        return embed(self, texts)

    monkeypatch.setattr(embedders.HashedEmbedder, "embed", watched)
    with opened(root) as engine:
        engine.search("heron")
        assert reached.wait(30)
    assert [t for t in threading.enumerate() if t.name == "atlas embedding"] == []
    assert kept(root)["hashed 24 one"] == (128, False)
    assert len(hashed) < 200


ENDS = """
import sys
sys.path[:0] = {paths!r}
import embedders, time
from atlas.engine import MemoryEngine
embedders.install()
embed = embedders.HashedEmbedder.embed
def slow(self, texts):
    time.sleep(0.2)
    return embed(self, texts)
embedders.HashedEmbedder.embed = slow
MemoryEngine({root!r}, create=False).search("heron")
"""


def test_a_program_that_forgets_to_close_still_ends(root, tmp_path):
    import subprocess
    import sys

    fill(root, 2_000)
    choose(root, "local", tmp_path / "model")
    search(root)
    tests = Path(__file__).parent
    code = ENDS.format(paths=[str(tests.parent), str(tests)], root=str(root))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=40, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# ------------------------------------------------------------------- embedders


def test_a_look_that_finds_nothing_new_loads_no_model(root, tmp_path, monkeypatch):
    fill(root, 3)
    choose(root, "local", tmp_path / "model")
    search(root)
    monkeypatch.setattr(models, "load", lambda _: pytest.fail("loaded"))
    with opened(root, resident=False) as engine:
        assert engine.status()["memories"] == 3


@pytest.mark.parametrize("name", ["bert", "Static", ""])
def test_no_other_embedding_can_be_asked_for(root, name):
    with pytest.raises(UsageError):
        opened(root, embedding_model=name)


def test_every_embedder_keeps_the_same_promises():
    """The default's; the others' are tested where their packages are: tests/test_local.py, tests/test_remote.py."""
    embedder = models.load(Choice())
    assert embedder is models.load(Choice())
    made = embedder.embed(["a heron", "", "\udce9 odd", "a heron"])
    assert made.dtype == np.float32
    assert made.shape == (4, embedder.dim)
    assert np.allclose(np.linalg.norm(made, axis=1), [1, 0, 1, 1], atol=1e-6)
    assert (made[0] == made[3]).all()
    assert np.allclose(embedder.ask("a heron"), made[0], atol=1e-6)
    assert embedder.embed([]).shape == (0, embedder.dim)
    assert models.load(Choice("none")) is None


@pytest.mark.parametrize("wanted", [Choice("remote"), Choice("local", "no/such-model")])
def test_what_cannot_be_had_is_one_sentence(wanted):
    models.EMBEDDERS["local"] = ("atlas.models.local", "LocalEmbedder")
    with pytest.raises(Unavailable) as refused:
        models.load(wanted)
    assert "search.model" in str(refused.value)
    assert embedding.WAITS_FOR > 0


def test_status_says_which_model_answers_and_what_waits(root, tmp_path):
    fill(root, embedding.WAITS_FOR + 9)
    with opened(root) as engine:
        state = engine.status()["index"]
        assert (state["embedding"], state["model"], state["waiting"], state["waiting_for"]) == ("static", STATIC, 0, "")
    choose(root, "local", tmp_path / "model")
    with opened(root, resident=False) as engine:
        state = engine.status()["index"]
        assert (state["embedding"], state["model"]) == ("local", STATIC)
        assert state["waiting"] >= embedding.WAITS_FOR + 9
        assert state["waiting_for"] == "hashed 24 one"
        engine.refresh()
        state = engine.status()["index"]
        assert (state["model"], state["waiting"], state["waiting_for"]) == ("hashed 24 one", 0, "")
    choose(root, "none")
    with opened(root, resident=False) as engine:
        state = engine.status()["index"]
        assert (state["embedding"], state["model"], state["waiting"]) == ("none", "", 0)
