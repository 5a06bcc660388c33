"""Settings: what each key of `atlas.toml` takes, and what it refuses with its name."""

from __future__ import annotations

import pytest

from atlas import MemoryEngine, config, models
from atlas.errors import NotAVault, UsageError
from atlas.template import create


def load(tmp_path, text="", **given):
    (tmp_path / "atlas.toml").write_text(text)
    return config.load(tmp_path, **given)


def test_nothing_written_means_the_defaults(tmp_path):
    assert load(tmp_path) == config.Config(tmp_path)
    assert models.choice(load(tmp_path)) == models.Choice()


@pytest.mark.parametrize("embedding", config.EMBEDDINGS)
def test_every_embedding_can_be_chosen_in_the_file_and_by_argument(tmp_path, embedding):
    assert load(tmp_path, f'[search]\nembedding = "{embedding}"\n').embedding == embedding
    assert load(tmp_path, '[search]\nembedding = "none"\n', embedding=embedding).embedding == embedding


def test_the_settings_of_a_model_reach_its_choice(tmp_path):
    text = '[search]\nembedding = "remote"\nmodel = " openai/x "\napi_base = "http://127.0.0.1:1/v1"\ndownload = true\n'
    assert models.choice(load(tmp_path, text)) == models.Choice("remote", "openai/x", "http://127.0.0.1:1/v1", True)


def test_a_folder_of_the_vault_is_a_model_for_the_local_embedder_only(tmp_path):
    (tmp_path / "mine").mkdir()
    for embedding, wanted in (("local", str(tmp_path / "mine")), ("remote", "mine")):
        found = load(tmp_path, f'[search]\nembedding = "{embedding}"\nmodel = "mine"\n')
        assert models.choice(found).model == wanted


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("embedding", '"bert"'),
        ("embedding", "true"),
        ("model", "3"),
        ("api_base", "[]"),
        ("api_base", '"https://ada:secret@example.test"'),
        ("download", '"yes"'),
        ("download", "1"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(tmp_path, key, value):
    with pytest.raises(UsageError, match=rf"search\.{key} cannot be"):
        load(tmp_path, f"[search]\n{key} = {value}\n")


def test_an_argument_is_checked_as_the_file_is(tmp_path):
    with pytest.raises(UsageError, match="static, local, remote, none"):
        load(tmp_path, embedding="bert")


def test_without_the_file_it_is_no_vault(tmp_path):
    with pytest.raises(NotAVault):
        config.load(tmp_path)


def test_a_misspelt_setting_is_named_with_its_line(tmp_path):
    load(tmp_path, '[search]\n# embeding\nembeding = "none"\n[git]\nembeding = 1\n[later]\nanything = 1\n')
    one, two = config.strangers(tmp_path)
    assert (one.path, one.line, one.kind) == ("atlas.toml", 3, "setting")
    assert "`search.embeding`" in one.message
    assert "did you mean `embedding`?" in one.message
    assert (two.line, "takes commit, timeout_seconds" in two.message) == (5, True)


def test_settings_as_they_should_be_are_not_named(tmp_path):
    load(tmp_path, '[search]\nembedding = "none"\n[llm]\nmodel = ""\n')
    assert config.strangers(tmp_path) == []
    (tmp_path / "atlas.toml").write_bytes(b"\xef\xbb\xbfsearch.modle = 1\r\n")
    assert [f.line for f in config.strangers(tmp_path)] == [1]


def test_status_and_validate_name_a_misspelt_setting(repo):
    create(repo)
    (repo / "a.md").write_text("The heron stands.\n")
    with MemoryEngine(repo) as engine:
        assert engine.status()["findings"] == engine.validate() == []
    (repo / "atlas.toml").write_text('[search]\nembeding = "none"\n')
    with MemoryEngine(repo) as engine:
        assert [f.kind for f in engine.status()["findings"]] == ["setting"]
        assert [f.kind for f in engine.validate()] == ["setting"]
        assert engine.validate(["a.md"]) == []
