"""Write docs/cli.md from the commands' own help, and the figures of README.md from benchmarks/results.

    python docs/generate.py

`make docs` runs it; tests/test_docs.py fails while either is stale.
"""

# ruff: noqa: INP001 - a script

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from atlas.commands import COMMANDS, atlas  # noqa: E402 - a checkout need not be installed

CLI, README, RESULTS = ROOT / "docs" / "cli.md", ROOT / "README.md", ROOT / "benchmarks" / "results"
WIDTH = 100
_FIGURES = re.compile(r"(<!-- figures -->\n).*?(<!-- /figures -->)", re.DOTALL)
_HEAD = """# The command line

<!-- Written by docs/generate.py from `atlas COMMAND --help`. Change the commands, then run `make docs`. -->

`memory-atlas` is the same program under another name. Results go to stdout, talk to stderr; `--json` makes stdout one
JSON object and nothing else. Exit codes:

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | refused, or problems were found |
| 2 | wrong usage |
| 3 | saved, but not committed |
| 4 | the index or a lock is not available |
| 130 | interrupted |
"""


def main() -> None:
    """Write both files."""
    CLI.write_text(cli(), encoding="utf-8")
    if README.exists():
        README.write_text(with_figures(README.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


# ------------------------------------------------------------------ commands


def cli() -> str:
    """The text of docs/cli.md: one section for Atlas and one for each command."""
    top = _context(atlas, "atlas")
    parts = [_HEAD, _section(top)]
    for name in COMMANDS:
        command = atlas.get_command(top, name)
        assert command is not None
        parts.append(_section(_context(command, name, top)))
    return "\n".join(parts)


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _section(context: click.Context) -> str:
    return f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"


# ------------------------------------------------------------------- figures


def with_figures(readme: str, results: Path) -> str:
    """The README with what stands between its figure marks replaced; unchanged if it has no marks."""
    tables = "\n".join(figures(results))
    return _FIGURES.sub(lambda mark: f"{mark[1]}{tables}{mark[2]}", readme)


def figures(results: Path) -> Iterator[str]:
    """A table for each result file that is there."""
    for name, table in (("locomo", _recall), ("vault", _speed)):
        file = results / f"{name}.json"
        if file.exists():
            result = json.loads(file.read_text(encoding="utf-8"))
            yield f"\n{table(result['figures'])}\n{_measured(result)}\n"


def _recall(found: Mapping[str, Any]) -> str:
    """Recall of evidence by category, and the times beside it."""
    rows = {name: row for name, row in found.items() if "questions" in row}
    shares = [key for key in next(iter(rows.values()), {}) if key.startswith("recall@")]
    table = _table(
        ["LoCoMo", *shares, "questions"],
        [[name, *(f"{100 * row[k]:.1f} %" for k in shares), f"{row['questions']:,}"] for name, row in rows.items()],
    )
    stored, search = found["ingest"], found["search seconds"]
    return (
        f"{table}\n{stored['turns']:,} turns stored in {_seconds(stored['seconds'])}; "
        f"a search takes {_seconds(search['median'])} (median of {search['runs']:,}).\n"
    )


def _speed(found: Mapping[str, Any]) -> str:
    """Every figure that is a spread of times, in the order it was measured."""
    rows = [
        [f"{name}, {row['notes']:,} notes" if "notes" in row else name, _seconds(row["median"]),
         f"{_seconds(row['least'])} to {_seconds(row['most'])}", str(row["runs"])]
        for name, row in found.items() if isinstance(row, dict) and "median" in row
    ]  # fmt: skip
    memories = found["adopted"]["memories"]
    return _table([f"A vault of {memories:,} notes", "median", "range", "runs"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _seconds(value: float) -> str:
    """A duration with two or three digits that mean something."""
    if value >= 1:
        return f"{value:,.0f} s" if value >= 100 else f"{value:.2g} s" if value >= 10 else f"{value:.2f} s"
    return f"{1000 * value:.0f} ms" if value >= 0.01 else f"{1000 * value:.1f} ms"


def _measured(result: Mapping[str, Any]) -> str:
    """Where the figures come from."""
    machine = result["machine"]
    commit, changed, _ = result["commit"].partition("+")
    data = f"{result['data']} (SHA-256 {result['sha256'][:12]}…)" if "sha256" in result else result["data"]
    where = f"{commit[:9]}{' with changes' if changed else ''}"
    return (
        f"Measured {result['date']} at {where} by `benchmarks/{result['benchmark']}.py` on {data}; "
        f"{machine['cores']} cores of {machine['cpu']}, {machine['system']}, Python {machine['python']}."
    )


if __name__ == "__main__":
    main()
