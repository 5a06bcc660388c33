"""Tokens: what a file of them may say, that others cannot read it, and that only the right one opens."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import spawn

from atlas.errors import UsageError
from atlas.integrations import mcp_tokens

ADA = 'token = "a-token-of-ada-012"\n'


@pytest.fixture
def load(tmp_path, root):
    def read(text: str, name: str = "tokens.toml", mode: int = 0o600):
        file = tmp_path / name
        file.write_text(text)
        file.chmod(mode)
        return mcp_tokens.load(file, root)

    return read


def test_a_file_says_who_may_what(load):
    hashed = hashlib.sha256(b"a-token-of-bo-01234").hexdigest()
    ada, bo = load(f'[ada]\n{ADA}scope = "team"\nread_only = true\n[bo]\nsha256 = "{hashed}"\nactor = "Bo"\n')
    assert (ada.name, ada.scope, ada.actor, ada.read_only) == ("ada", "team/", "ada", True)
    assert (bo.name, bo.scope, bo.actor, bo.read_only) == ("bo", "", "Bo", False)
    assert mcp_tokens.allowed("a-token-of-ada-012", (ada, bo)) == ada
    assert mcp_tokens.allowed("a-token-of-bo-01234", (ada, bo)) == bo
    assert mcp_tokens.allowed(hashed, (ada, bo)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a table for each"),
        ("token = 3", "is a table"),
        ("[ada]\ntoken = 'short'\n", "16 characters"),
        ("[ada]\n", "16 characters"),
        (f"[ada]\n{ADA}sha256 = '{'0' * 64}'\n", "not both"),
        ("[ada]\nsha256 = 'zz'\n", "wants a token"),
        (f"[ada]\nsha256 = '{'z' * 64}'\n", "wants a token"),
        (f"[ada]\n{ADA}scope = 3\n", "are texts"),
        (f"[ada]\n{ADA}read_only = 'yes'\n", "true or false"),
        (f"[ada]\n{ADA}readonly = true\n", "takes actor"),
        (f"[ada]\n{ADA}[bo]\n{ADA}", "a token of its own"),
        ("[ada", "not valid TOML"),
    ],
)
def test_what_a_file_cannot_say(load, text, said):
    with pytest.raises(UsageError, match=said) as refused:
        load(text)
    assert "a-token-of-ada" not in str(refused.value)


def test_a_file_that_others_can_reach_is_refused(load, root):
    with pytest.raises(UsageError, match="chmod 600"):
        load(f"[ada]\n{ADA}", mode=0o644)
    with pytest.raises(UsageError, match="outside"):
        load(f"[ada]\n{ADA}", name=f"{root.name}/tokens.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        mcp_tokens.load(root / ".." / "none.toml", root)


def test_a_fresh_token_opens_and_no_other_does():
    token, once = mcp_tokens.fresh(scope="team/", actor="", read_only=True)
    other, _ = mcp_tokens.fresh()
    assert (once.scope, once.read_only) == ("team/", True)
    assert mcp_tokens.allowed(token, (once,)) == once
    assert mcp_tokens.allowed(other, (once,)) is None
    assert token not in repr(once)


@given(st.text())
def test_no_text_opens_but_the_token(text):
    token, once = mcp_tokens.fresh()
    assert (mcp_tokens.allowed(text, (once,)) is None) == (text != token)


def test_the_command_takes_rights_from_one_place(root, tmp_path):
    said = spawn("mcp", "--http", "--tokens", str(tmp_path / "t"), "--scope", "team/", cwd=root)
    assert said.code in {2, 4}  # 4 where the library is not installed
    assert said.err.count("\n") == 1
