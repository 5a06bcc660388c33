"""The documents say what the code does: generated ones are fresh, examples run, nothing public is left out."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import click
import pytest
from shell import ROOT, environment
from support import script, write

import atlas
from atlas import MemoryEngine, config
from atlas.commands import COMMANDS
from atlas.commands import atlas as program

DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
EXAMPLES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("python", "settings", "view", "forgetting", "conversations", "kinds")),
    ROOT / "docs" / "chat.md",
]
SETTINGS = (ROOT / "docs" / "settings.md").read_text("utf-8")
PYTHON = (ROOT / "docs" / "python.md").read_text("utf-8")
#: Lines of examples that set up a machine rather than use Atlas.
SETUP = re.compile(r"(python3? -m )?pip |pipx |uv |git clone |make ")


def _generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _generate()


# ------------------------------------------------------------------- generated


def test_the_command_page_is_fresh():
    assert generate.CLI.read_text("utf-8") == generate.cli(), "stale: run `make docs`"


def test_the_command_page_does_not_depend_on_the_terminal(monkeypatch):
    fresh = generate.cli()
    monkeypatch.setenv("COLUMNS", "40")
    assert generate.cli() == fresh
    assert max(map(len, fresh.splitlines())) <= 120


def test_the_figures_are_fresh():
    text = generate.README.read_text("utf-8")
    assert text.count("<!-- figures -->") == text.count("<!-- /figures -->") == 1
    assert generate.written(text) == text, "stale: run `make docs`"


def test_figures_become_tables_and_absent_ones_are_left_out(tmp_path):
    spread = {"median": 0.2104, "least": 0.2, "most": 1.25, "runs": 9}
    facts = {"date": "2026-11-30", "commit": "0123456789abcdef+changes", "machine": {
        "cores": 2, "cpu": "A CPU", "system": "Linux 6", "python": "3.11.7"}}  # fmt: skip
    readme = "a\n<!-- figures -->\nold\n<!-- /figures -->\nb\n"
    assert generate.with_figures(readme, tmp_path) == "a\n<!-- figures -->\n<!-- /figures -->\nb\n"
    assert generate.with_figures("no marks", tmp_path) == "no marks"

    speed = {
        "adopted": {"memories": 3879},
        "first index": spread,
        "peak memory MB": 300,
        "branch switch": spread | {"notes": 500},
    }
    write(
        tmp_path,
        "vault.json",
        json.dumps(facts | {"benchmark": "vault", "data": "v.tar", "sha256": "f" * 64, "figures": speed}),
    )
    text = generate.with_figures(readme, tmp_path)
    assert "| A vault of 3,879 notes | median | range | runs |" in text
    assert "| first index | 210 ms | 200 ms to 1.25 s | 9 |" in text
    assert "| branch switch, 500 notes |" in text
    assert "012345678 with changes" in text
    assert "LoCoMo" not in text

    rows = {name: {"recall@5": 0.627, "recall@10": 0.71, "questions": 1540} for name in ("categories 1-4", "half B")}
    figures = {"ingest": {"memories": 5882, "seconds": 80.14}, "search seconds": spread}
    for name, model in (("locomo", "words-256"), ("locomo-local", "local Sentences 0123")):
        recall = {"BM25": rows, "vectors alone": rows, "Atlas": rows}
        result = facts | {"benchmark": "locomo", "data": "l.json", "halves": "B: the rest", "config": {"model": model}}
        write(tmp_path, f"{name}.json", json.dumps(result | {"figures": figures | {"recall": recall}}))
    text = generate.with_figures(text, tmp_path)
    assert text.count("62.7 % | 71.0 % | 62.7 % | 71.0 % |") == 5
    assert text.index("| Atlas (words-256) |") < text.index("| Atlas (Sentences) |") < text.index("| BM25 |")
    assert "| vectors alone (Sentences) |" in text
    assert "1,540 questions (categories 1-4); 5,882 memories stored in 80 s" in text
    assert generate.with_figures(text, tmp_path) == text
    assert text.startswith("a\n<!-- figures -->\n\n|")
    assert text.endswith(".\n<!-- /figures -->\nb\n")


# -------------------------------------------------------------------- commands


def commands() -> dict[str, click.Command]:
    context = click.Context(program)
    found = {name: program.get_command(context, name) for name in COMMANDS}
    return {"": program, **{name: command for name, command in found.items() if command}}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_one_line_of_help_in_both_places(name):
    first = inspect.cleandoc(commands()[name].help or "").partition("\n\n")[0].replace("\n", " ")
    assert first == COMMANDS[name][1]
    assert first.endswith(".")


def test_every_option_is_explained():
    bare = [
        f"{name} {param.opts[0]}"
        for name, command in commands().items()
        for param in command.get_params(click.Context(command, **program.context_settings))
        if isinstance(param, click.Option) and not param.help
    ]
    assert bare == []


def test_every_command_and_option_is_on_the_command_page():
    page = generate.CLI.read_text("utf-8")
    sections = dict(re.findall(r"^## atlas ?([a-z-]*)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert sections.keys() == commands().keys()
    for name, command in commands().items():
        for param in command.params:
            words = param.opts if isinstance(param, click.Option) else [param.make_metavar(click.Context(command))]
            assert all(word in sections[name] for word in words), (name, words)


# ---------------------------------------------------------------- public names


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted((ROOT / "atlas").rglob("*.py")):
        yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text("utf-8"))


def test_every_module_and_public_name_has_a_docstring():
    bare = []
    for name, module in modules():
        if not ast.get_docstring(module):
            bare.append(name)
        bare += [
            f"{name}:{node.lineno} {node.name}"
            for node in module.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if not ast.get_docstring(node)
        ]
    assert bare == []


def public_methods() -> list[str]:
    return [name for name, _ in inspect.getmembers(MemoryEngine, inspect.isfunction) if not name.startswith("_")]


def test_the_public_names_are_there_and_explained():
    for name in atlas.__all__:
        value = getattr(atlas, name)
        assert name == "__version__" or inspect.getdoc(value), name
    assert [name for name in public_methods() if not inspect.getdoc(getattr(MemoryEngine, name))] == []
    assert dir(atlas) == atlas.__all__


def test_the_python_page_names_every_method_and_argument():
    missing = [name for name in public_methods() if not re.search(rf"\b{name}\(", PYTHON)]
    assert missing == []
    rows = dict(re.findall(r"`(\w+)\(([^)]*(?:\(\)[^)]*)*)\)`", PYTHON))
    for name in public_methods():
        wanted = [p for p in inspect.signature(getattr(MemoryEngine, name)).parameters if p != "self"]
        assert [w for w in wanted if w not in rows[name]] == [], name
    opening = re.search(r"`MemoryEngine\((.*?)\)` opens", PYTHON, re.DOTALL)
    assert opening
    for param in inspect.signature(MemoryEngine).parameters.values():
        default = "" if param.default is param.empty else f"={param.default!r}"
        assert f"{param.name}{default}" in opening[1]


def test_the_version_is_one(capsys):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == atlas.__version__
    with pytest.raises(SystemExit):
        program(["--version"])
    assert capsys.readouterr().out.split()[-1] == atlas.__version__


# -------------------------------------------------------------------- settings


def rows() -> dict[str, list[str]]:
    """The cells behind each name of the tables in docs/settings.md, without their backticks."""
    lines = re.findall(r"^\| `([^`]+)` \|(.+)\|$", SETTINGS, re.MULTILINE)
    return {name: [cell.strip().strip("`") for cell in rest.split("|")] for name, rest in lines}


def test_every_setting_is_documented_with_its_default():
    defaults = asdict(config.Config(ROOT))
    known = {f"{section}.{key}": name for section, keys in config._KEYS.items() for key, name in keys.items()}
    assert {name for name in rows() if "." in name} == set(known)
    for setting, name in known.items():
        default, example, meaning = rows()[setting]
        value = tomllib.loads(f"x = {default}")["x"]
        assert (tuple(value) if isinstance(value, list) else value) == defaults[name], setting
        given = tomllib.loads(f"x = {example}")["x"]
        check = config._table if name in config._TABLES else config._checked
        assert check(Path("atlas.toml"), setting, name, given) != defaults[name], setting
        assert meaning.endswith(".")


def test_the_example_file_is_what_the_template_says(tmp_path):
    example = re.search(r"```toml\n(.*?)```", SETTINGS, re.DOTALL)
    assert example
    template = (ROOT / "vault-template" / "atlas.toml").read_text("utf-8")
    uncommented = re.sub(r"^# (?=\w+ = )", "", template, flags=re.MULTILINE)
    for text in (example[1], uncommented):
        write(tmp_path, "atlas.toml", text)
        assert config.load(tmp_path).max_note_bytes == config.Config(tmp_path).max_note_bytes
        assert tomllib.loads(text)["git"] == {"commit": True, "timeout_seconds": 8}
    write(tmp_path, "atlas.toml", template)
    assert config.load(tmp_path) == config.Config(tmp_path)
    assert tomllib.loads(example[1]).keys() == config._KEYS.keys()


def test_every_variable_of_the_environment_is_documented():
    used = {
        node.value
        for _, module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"ATLAS_[A-Z]+", node.value)
    }
    assert used == {name for name in rows() if name.startswith("ATLAS_")}


# -------------------------------------------------------------------- examples


@pytest.fixture
def person(tmp_path) -> tuple[Path, dict[str, str]]:
    """An empty folder, and the environment of somebody who has Atlas and Git set up, and some notes."""
    home, bin_ = tmp_path / "home", tmp_path / "bin"
    for name in ("atlas", "memory-atlas"):
        write(bin_, name, "")
        script(bin_ / name, f'exec "{sys.executable}" -m atlas "$@"\n')
    write(home, "notes/One.md", "# One\n")
    write(home, ".gitconfig", "[user]\n\tname = Ada Example\n\temail = ada@example.test\n")
    work = tmp_path / "work"
    work.mkdir()
    env = environment(HOME=str(home), GIT_CONFIG_GLOBAL=str(home / ".gitconfig"), PATH=f"{bin_}:{os.environ['PATH']}")
    return work, env


def blocks(file: Path, *languages: str) -> list[str]:
    """The fenced examples of a document in these languages."""
    found = re.findall(rf"^```({'|'.join(languages)})\n(.*?)^```", file.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [text for _, text in found]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_shell_examples_run(file, person):
    work, env = person
    for text in blocks(file, "sh", "bash", "shell", "console"):
        lines = [line.removeprefix("$ ") for line in text.splitlines()]
        for line in lines:
            if line.startswith("make "):
                assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), line
        steps = "\n".join(line for line in lines if not SETUP.match(line))
        done = subprocess.run(
            ["sh", "-eu"], input=steps, cwd=work, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{steps}\n{done.stdout}\n{done.stderr}"
        assert "Saved, not committed" not in done.stderr


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_python_examples_run(file, person):
    work, env = person
    code = "\n".join(blocks(file, "python"))  # `py` needs a framework: tests/doors/test_examples.py runs such
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, cwd=work, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert bool(code) == bool(done.stdout), "an example that prints nothing shows nothing"


def test_the_examples_are_found():
    assert sum(len(blocks(file, "python")) for file in EXAMPLES) >= 7
    assert sum(len(blocks(file, "sh")) for file in EXAMPLES) >= 4


@pytest.mark.parametrize("file", DOCS, ids=lambda file: file.name)
def test_links_between_documents_lead_somewhere(file):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", file.read_text("utf-8"))
    assert [target for target in targets if not (file.parent / target).exists()] == []
