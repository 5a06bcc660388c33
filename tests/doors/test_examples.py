"""The examples of docs/frameworks.md run as they stand, with a scripted model in the place of `model`."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from shell import ROOT

from atlas.template import create

PAGE = (ROOT / "docs" / "frameworks.md").read_text("utf-8")
#: The scripted model of each section.
MODELS = {
    "LangChain": "run_langchain",
    "LlamaIndex": "run_llamaindex",
    "OpenAI Agents": "run_openai_agents",
    "Pydantic AI": "run_pydantic_ai",
    "CrewAI": "run_crewai",
}


def example(section):
    found = re.search(rf"^## {section}\n.*?^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def run(section, model, tmp_path, make_repo, monkeypatch, capsys):
    create(make_repo(tmp_path / "memory"))
    monkeypatch.chdir(tmp_path)
    exec(compile(example(section), section, "exec"), {"model": model, "__name__": "example"})
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "section",
    [pytest.param(one, marks=pytest.mark.crewai if one == "CrewAI" else pytest.mark.agents) for one in MODELS],
)
def test_an_example_runs(section, tmp_path, make_repo, monkeypatch, capsys):
    model = import_module(MODELS[section]).Oracle()
    if section == "Pydantic AI":
        model = import_module("pydantic_ai.models.function").FunctionModel(model.answer)
    if section == "LlamaIndex":  # the default tokenizer of the framework is a download
        set_tokenizer = import_module("llama_index.core").set_global_tokenizer
        set_tokenizer(import_module("run_llamaindex").count)
    assert "floor 5" in run(section, model, tmp_path, make_repo, monkeypatch, capsys)


def test_the_example_without_a_framework_runs(tmp_path, make_repo, monkeypatch, capsys):
    assert "floor 5" in run("Your own loop", None, tmp_path, make_repo, monkeypatch, capsys)


def test_every_section_has_an_example():
    sections = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert sections == ["LangChain", "LlamaIndex", "CrewAI", "OpenAI Agents", "Pydantic AI", "Your own loop"]
    assert {*MODELS, "Your own loop"} == set(sections)
