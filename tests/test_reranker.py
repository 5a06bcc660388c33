"""A cross-encoder in a folder: loaded for real, asked only in fine mode, and one sentence when it cannot be.

None that was trained is at hand, so the real way is walked with a tiny one whose weights are drawn from a fixed seed.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from atlas.engine import MemoryEngine
from atlas.errors import Unavailable
from atlas.models import reranker
from atlas.template import create

needs_packages = pytest.mark.local
NOTES = {f"n{n}.md": f"The heron number {n} stands by the {word}.\n" for n, word in enumerate(["pond", "mill", "gate"])}


@pytest.fixture
def root(repo) -> Path:
    create(repo)
    for path, text in NOTES.items():
        (repo / path).write_text(text)
    return repo


def use(root: Path, folder: str) -> None:
    (root / "atlas.toml").write_text(f"[search]\nreranker = {json.dumps(folder)}\n")


def test_by_default_no_model_is_asked(root):
    with MemoryEngine(root, create=False) as engine:
        assert engine.config.reranker == ""
        hits = engine.search("heron", mode="fine").hits
    assert {hit.path for hit in hits} == set(NOTES)
    assert not any("reranker" in hit.why for hit in hits)


def test_a_folder_without_a_model_is_one_sentence_and_fast_mode_does_not_look(root):
    use(root, ".models/none")
    with MemoryEngine(root, create=False) as engine:
        assert len(engine.search("heron").hits) == len(NOTES)
        with pytest.raises(Unavailable, match=r"holds no model: `search.reranker` wants"):
            engine.search("heron", mode="fine")
        assert engine.search("heron", mode="fine", scope="nowhere").abstained


def test_without_the_packages_it_says_what_to_install(root):
    assert importlib.util.find_spec("sentence_transformers") is None, "this test is for an environment without it"
    (root / ".models").mkdir()
    (root / ".models" / "config.json").write_text("{}")
    use(root, ".models")
    with MemoryEngine(root, create=False) as engine, pytest.raises(Unavailable, match=r"pip install"):
        engine.search("heron", mode="fine")


# ------------------------------------------------------------------ the real way


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """A BERT of one layer that scores a pair, as `save_pretrained` writes any."""
    return made(tmp_path_factory.mktemp("models") / "tiny", labels=1)


def made(folder: Path, labels: int) -> Path:
    torch, transformers = import_module("torch"), import_module("transformers")
    torch.manual_seed(5)
    folder.mkdir()
    words = sorted({w for text in NOTES.values() for w in text.lower().rstrip(".\n").split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        num_labels=labels, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@needs_packages
def test_the_model_decides_the_order_and_says_so(root, tiny):
    shutil.copytree(tiny, root / ".models" / "tiny")
    use(root, ".models/tiny")  # relative to the vault
    with MemoryEngine(root, create=False) as engine:
        fast, fine = engine.search("heron gate").hits, engine.search("heron gate", mode="fine").hits
        first = engine.search("heron gate", mode="fine", k=1).hits
    passages = [hit.text for hit in fast]
    scores = reranker.scored(tiny, "heron gate", passages)
    assert scores.dtype == np.float32
    assert len(set(scores.tolist())) == len(NOTES)
    assert [hit.text for hit in fine] == [passages[n] for n in np.argsort(-scores, kind="stable")]
    assert [hit.why["reranker"]["rank"] for hit in fine] == [1, 2, 3]
    assert [hit.why["reranker"]["score"] for hit in fine] == pytest.approx(
        sorted(scores.tolist(), reverse=True), abs=1e-3
    )
    assert first == fine[:1]  # more than k are read
    assert {hit.path for hit in fine} == {hit.path for hit in fast}


@needs_packages
def test_a_damaged_model_and_one_of_many_labels_are_one_sentence(tiny, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    (broken / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(Unavailable, match="cannot be loaded") as refused:
        reranker.scored(broken, "heron", ["a heron"])
    assert "\n" not in str(refused.value)
    with pytest.raises(Unavailable, match="no single score"):
        reranker.scored(made(tmp_path / "many", labels=3), "heron", ["a heron", "a gate"])
