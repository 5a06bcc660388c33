"""The shape of the package: imports point one way, costs are paid where they are due."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "atlas"
SQL = re.compile(r"\b(SELECT .* FROM|INSERT INTO|DELETE FROM|CREATE TABLE|UPDATE \w+ SET)\b")
SQL_ROOMS = {
    *("store", "embedding", "shelf", "listing", "index", "moments"),
    *("links", "names", "times", "voices", "live", "search", "rows", "resident", "fine", "snapshot", "catalog"),
    *("stage", "profiles", "frozen"),
}


def modules() -> dict[str, Path]:
    """Every module by its name below `atlas`; commands count as one."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__":
            found["commands" if name.startswith("commands") else name] = file
    return found


def road() -> list[str]:
    return re.findall(r"^\|[^|]*\| `([\w.]+)` \|", (ROOT / "docs" / "road.md").read_text("utf-8"), re.MULTILINE)


def own_imports(file: Path) -> set[str]:
    """The modules of the package a file imports, those for type checking left out."""
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "atlas":
            base = (node.module or "").removeprefix("atlas").strip(".")
            found |= {f"{base}.{a.name}".strip(".") for a in node.names} if not base else {base}
            found |= {f"{base}.{a.name}" for a in node.names if f"{base}.{a.name}" in modules()}
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("atlas.") for a in node.names if a.name.startswith("atlas.")}
    return {"commands" if name.startswith("commands") else name for name in found}


def test_the_road_lists_every_module():
    assert sorted(road()) == sorted(modules())


def test_imports_point_one_way():
    place = {name: n for n, name in enumerate(road())}
    wrong = [
        f"{name} imports {other}"
        for name, file in modules().items()
        if name != "commands"
        for other in own_imports(file)
        if place[other] >= place[name]
    ]
    assert wrong == []


def test_own_imports_stand_at_the_top():
    wrong = []
    for name, file in modules().items():
        if name == "commands":  # each command loads what it needs, so that --help stays quick
            continue
        for function in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                wrong += [
                    f"{name}:{n.lineno}"
                    for n in ast.walk(function)
                    if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("atlas")
                ]
    assert wrong == []


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        (r"^\s*(import|from) (rich|click)\b", {"view", "commands"}),
        (r"^\s*(import|from) git\b", {"process"}),
        (r"^\s*print\(", set()),
        (r"\bsubprocess\.(run|Popen)", {"store"}),
        (r"^\s*(import|from) duckdb\b", SQL_ROOMS),
    ],
)
def test_each_thing_is_done_in_one_room(pattern, allowed):
    found = {
        "commands" if "commands" in file.parts else name
        for name, file in modules().items()
        if re.search(pattern, file.read_text("utf-8"), re.MULTILINE)
    }
    assert found <= allowed


def test_sql_lives_in_few_rooms():
    found = {name for name, file in modules().items() if SQL.search(file.read_text("utf-8"))}
    assert found <= SQL_ROOMS


def test_only_the_vault_writes_memory_files():
    writing = re.compile(r"\.write_bytes\(|\.write_text\(|open\([^)]*[\"'][wax]")
    found = {name for name, file in modules().items() if writing.search(file.read_text("utf-8"))}
    # Derived files, intentions and Git's own files are not memories; the template writes only what it adds.
    assert found <= {
        "vault",
        "store",
        "vectors",
        "pending",
        "journal",
        "staging",
        "commits",
        "history",
        "template",
        "stubs",
        "hooks",
    }


def loaded_by(*words: str) -> set[str]:
    code = "import sys\ntry: main()\nexcept SystemExit: pass\nsys.stderr.write(' '.join(sys.modules))"
    code = f"import sys; sys.argv = ['atlas', *{list(words)!r}]\nfrom atlas.commands import main\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_costs_nothing(words):
    heavy = {"duckdb", "numpy", "git", "rich", "litellm", "torch", "tokenizers", "yake", "detect_secrets", "watchdog"}
    assert not loaded_by(*words) & heavy


def test_importing_the_package_costs_nothing():
    code = "import sys, importlib, typing; before = set(sys.modules); import atlas; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"atlas", "__future__"}


@pytest.mark.parametrize("command", ["search", "view"])
def test_what_is_asked_loads_no_parser_and_no_git(tmp_path, command):
    """What a search does not need must not cost it 0.2 s: it is a process of its own each time."""
    root = str(tmp_path / "vault")
    loaded_by("init", root)
    loaded_by("--vault", root, command, "anything")
    wanted = loaded_by("--vault", root, command, "anything")
    assert "duckdb" in wanted
    assert not wanted & {"git", "frontmatter", "yaml", "yake", "slugify", "ulid", "rich", "detect_secrets"}


def test_files_stay_readable():
    long = {name: n for name, file in modules().items() if (n := len(file.read_text("utf-8").splitlines())) > 400}
    assert long == {}
