"""The vault's own checks: what a search must find, and what it must never return."""

from __future__ import annotations

import pytest
from shell import atlas
from support import write

from atlas import evals
from atlas.errors import UsageError


@pytest.fixture
def vault(engine, root):
    for text in ("Ana sits on floor 5, by the window.", "The heron valve leaks when it is cold."):
        engine.ingest(text)
    return root


def verdicts(engine, root, case: str):
    write(root, "evals/a.toml", f"[[case]]\n{case}\n")
    return [v.failures for v in engine.evaluate()]


def test_what_must_be_found_is_looked_for(engine, vault):
    path = engine.retrieve("heron valve")[0].path
    assert verdicts(engine, vault, f'query = "heron valve"\nexpect = ["{path}"]') == [()]
    assert verdicts(engine, vault, 'query = "heron valve"\nexpect = "gone-note"') == [
        ("No memory is called 'gone-note'. `atlas search` finds memories by their words.",)
    ]
    found = verdicts(engine, vault, f'query = "Ana floor"\nexpect = ["{path}"]\nk = 1')
    assert found == [(f"{path} is not among the first 1",)]


def test_what_must_never_be_found(engine, vault):
    path = engine.retrieve("Ana floor")[0].path
    assert verdicts(engine, vault, f'query = "Ana floor"\nnever = ["{path}", "no-such-note"]') == [
        (f"{path} was found",)
    ]
    assert verdicts(engine, vault, 'query = "Ana floor"\nnever_text = ["FLOOR 5"]') == [(f"{path} holds 'FLOOR 5'",)]
    assert verdicts(engine, vault, 'query = "Ana floor"\nnever_text = ["floor 2"]') == [()]


def test_nothing(engine, vault):
    assert verdicts(engine, vault, 'query = "xylophone quartet"\nnothing = true') == [()]
    (failures,) = verdicts(engine, vault, 'query = "heron valve"\nnothing = true')
    assert "where nothing is to be found" in failures[0]


def test_a_scope_narrows_a_case(engine, vault):
    assert verdicts(engine, vault, 'query = "heron valve"\nscope = "elsewhere/"\nnothing = true') == [()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[case]\n", "is not valid TOML"),
        ("[[case]]\nexpect = ['a']\n", "case 1: it needs a query"),
        ("[[case]]\nquery = 'a'\nexpects = ['b']\n", "`expects` is unknown"),
        ("[[case]]\nquery = 'a'\nk = 0\n", "`k` cannot be 0"),
        ("[[case]]\nquery = 'a'\nnever = [1]\n", "`never` cannot be [1]"),
        ("case = 3\n", "begin with [[case]]"),
    ],
)
def test_what_cannot_be_meant_is_named(root, text, said):
    write(root, "evals/a.toml", text)
    with pytest.raises(UsageError) as caught:
        evals.load(root)
    assert said in str(caught.value)
    assert "evals/a.toml" in str(caught.value)


def test_a_file_that_is_not_there(root):
    with pytest.raises(UsageError, match="no file evals/b"):
        evals.load(root, ["evals/b.toml"])


def test_the_command_exits_1_when_a_case_fails(vault):
    write(vault, "evals/a.toml", '[[case]]\nquery = "heron valve"\nnothing = true\n[[case]]\nquery = "heron valve"\n')
    ran = atlas("eval", "--json", cwd=vault)
    assert ran.code == 1
    assert (ran.json["passed"], ran.json["failed"]) == (1, 1)
    ran = atlas("eval", "evals/a.toml", cwd=vault)
    assert ran.code == 1
    assert ran.out.startswith("evals/a.toml, case 1 (heron valve): found ")
