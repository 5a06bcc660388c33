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


# ------------------------------------------------------------------------- forgetting


def test_a_table_of_numbers_goes_over_its_defaults(tmp_path):
    found = load(tmp_path, "[forget]\nhalf_life = { episode = 7, recipe = 12.5 }\n[forget.budgets]\nworking = 2000\n")
    assert found.forget_half_life == {**config.Config(tmp_path).forget_half_life, "episode": 7, "recipe": 12.5}
    assert found.forget_budgets == {"working": 2000, "long_term": 0, "user": 0}
    assert found.forget_thresholds == {}
    assert config.strangers(tmp_path) == []


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('half_life = "long"', "forget.half_life is a table of numbers, such as `half_life = { fact = 1 }`"),
        ("half_life = { fact = 0 }", "forget.half_life.fact cannot be 0; it is a number from 0.01 on"),
        ("half_life = { fact = true }", "forget.half_life.fact cannot be True"),
        ("half_life = { fact = inf }", "forget.half_life.fact cannot be inf"),
        ("thresholds = { L2 = 1 }", "forget.thresholds.L2 is no setting; forget.thresholds takes L1, L0, tombstone"),
        ("thresholds = { L0 = nan }", "forget.thresholds.L0 cannot be nan"),
        ("budgets = { hot = 1 }", "forget.budgets.hot is no setting; forget.budgets takes working, long_term, user"),
        ("budgets = { user = -1 }", "forget.budgets.user cannot be -1; it is a number from 0 on"),
        ("tiers = [1, 2]", "forget.tiers is a table of numbers, such as `tiers = { working = 1 }`"),
        ('policy = "sm2"', "forget.policy cannot be 'sm2'"),
        ("enabled = 1", "forget.enabled cannot be 1"),
        ("most_share = 1.5", "forget.most_share cannot be 1.5"),
        ("idle_days = -1", "forget.idle_days cannot be -1"),
        ("new_days = inf", "forget.new_days cannot be inf"),
        ('folders = "inbox/"', "forget.folders cannot be 'inbox/'"),
        ('folders = ["../other"]', "forget.folders cannot be"),
        ('folders = ["/inbox"]', "forget.folders cannot be"),
    ],
)
def test_a_setting_of_forgetting_that_cannot_be_meant_is_named(tmp_path, setting, said):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, f"[forget]\n{setting}\n")
    assert said in str(caught.value)


def test_folders_that_may_be_forgotten_are_prefixes(tmp_path):
    found = load(tmp_path, '[forget]\nfolders = ["inbox", "./chats/old/", "."]\n')
    assert found.forget_folders == ("inbox/", "chats/old/", "")
