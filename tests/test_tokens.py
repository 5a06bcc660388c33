"""Counting tokens: the same as the tokenizer itself, additive where it says so, clear where there is none."""

from __future__ import annotations

import hashlib
import json
import sys

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from scenes import TABLE, TEXTS

from atlas import config, models, tokens
from atlas.errors import Unavailable, UsageError
from atlas.models import static

anything = st.text(st.characters(), max_size=60) | TEXTS | st.text("▁ a\n<s/>{.", max_size=40)


@given(anything)
def test_words_one_by_one_are_as_many_as_the_whole(text):
    said = text.encode("utf-8", "replace").decode()
    whole = static.tokenizer().model.tokenize("▁" + said.replace(" ", "▁")) if said else []
    assert TABLE.count(text) == len(whole)


@given(anything, anything)
def test_lines_add_up(one, other):
    joined = TABLE.count(f"{one}\n{other}")
    assert joined == (TABLE.count(one) or 1) + tokens.added(TABLE, other)
    assert tokens.added(TABLE, f"{one}\n{other}") == tokens.added(TABLE, one) + tokens.added(TABLE, other)


def test_the_vocabulary_has_no_piece_that_crosses_a_word_or_a_line():
    odd = [piece for piece in static.tokenizer().get_vocab() if "\n" in piece or "▁" in piece.lstrip("▁")]
    assert odd == []


def test_known_counts():
    counts = {"": 0, "hello": 1, "\n": 2, "hello\nhello": 3, "2023-05-08": 11, "</s>": 3}
    assert {text: TABLE.count(text) for text in counts} == counts


def test_a_process_loads_the_vocabulary_once():
    models.load(models.Choice())
    assert tokens.load("", "anywhere") is TABLE
    assert static.tokenizer() is static.tokenizer()


# ---------------------------------------------------------------------- others


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    whole = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")]))
    whole.enable_truncation(2)
    whole.enable_padding(length=9)
    whole.save(str(folder / "mine.json"))
    return folder


def test_a_tokenizer_of_the_vault_counts_whole_texts(root):
    mine = tokens.load("mine.json", root)
    assert mine.count("ababb\ud800") == 3
    assert not mine.additive
    assert tokens.load("./mine.json", root) is mine


def test_a_tokenizer_elsewhere_or_none_at_all_is_refused(root, tmp_path):
    (tmp_path / "out.json").write_bytes((root / "mine.json").read_bytes())
    with pytest.raises(UsageError, match="outside the vault"):
        tokens.load("../out.json", root)
    with pytest.raises(Unavailable, match="no tokenizer at"):
        tokens.load("absent.json", root)
    (root / "bad.json").write_text(json.dumps({"model": 1}))
    with pytest.raises(Unavailable, match=r"no tokenizer\.json"):
        tokens.load("bad.json", root)
    (root / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Unavailable, match=r"no tokenizer\.json"):
        tokens.load("bytes.json", root)


def test_tiktoken_is_asked_only_where_its_vocabulary_is(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="o200k_base"):
        tokens.load("tiktoken:gpt-9", tmp_path)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(Unavailable, match="pip install tiktoken"):
        tokens.load("tiktoken:o200k_base", tmp_path)
    (tmp_path / "tiktoken.py").write_text(
        "class E:\n    def encode_ordinary(self, t): return t.split()\ndef get_encoding(name): return E()\n"
    )
    monkeypatch.delitem(sys.modules, "tiktoken")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(Unavailable, match="not on this machine: fetch https"):
        tokens.load("tiktoken:cl100k_base", tmp_path)
    address = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    (tmp_path / hashlib.sha1(address.encode()).hexdigest()).touch()
    assert tokens.load("tiktoken:cl100k_base", tmp_path).count("a b c") == 3
    sys.modules.pop("tiktoken")
    tokens._named.cache_clear()


def test_the_setting_is_read(tmp_path):
    (tmp_path / "atlas.toml").write_text('[scene]\ntokenizer = " tiktoken:o200k_base "\n')
    assert config.load(tmp_path).tokenizer == "tiktoken:o200k_base"
    (tmp_path / "atlas.toml").write_text("[scene]\ntokenizer = 3\n")
    with pytest.raises(UsageError, match=r"scene\.tokenizer"):
        config.load(tmp_path)
