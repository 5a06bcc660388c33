"""The environments of these tests have every framework, in the versions that the extras allow."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest
from oracle import FRAMEWORKS
from shell import environment

import atlas.integrations as doors

NEEDED = sorted(set(FRAMEWORKS.values()) - {"crewai"})
EXTRAS = {
    "langchain": ("LangChain", "langchain"),
    "llamaindex": ("LlamaIndex", "llama_index"),
    "openai_agents": ("OpenAI Agents", "agents"),
    "pydantic_ai": ("Pydantic AI", "pydantic_ai"),
    "crewai": ("CrewAI", "crewai"),
}


@pytest.mark.agents
@pytest.mark.parametrize("module", [*NEEDED, "mcp", "anthropic"])
def test_every_framework_is_here(module):
    assert find_spec(module)


@pytest.mark.crewai
def test_crewai_is_here():
    assert find_spec("crewai")


@pytest.mark.parametrize("name", EXTRAS)
def test_a_door_without_its_framework_names_the_extra(name):
    """Also where the framework is installed: an import of it that fails is told in one sentence."""
    framework, module = EXTRAS[name]
    code = f"import sys; sys.modules[{module!r}] = None\nimport atlas.integrations.{name}"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith(f"ImportError: {framework} is not installed")
    assert said.endswith(f": run `pip install 'memory-atlas[{name.replace('_', '-')}]'`.")


def test_an_import_that_works_is_left_alone():
    with doors.needing("Nothing", "none"):
        found = 1
    assert found == 1
