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
#: Each data set's results, with how its table is headed.
_SETS = {
    "locomo": "LoCoMo, each turn a memory",
    "sessions": "LoCoMo, each session a memory",
    "beam": "BEAM 100K, each message a memory",
}
_FIGURES = re.compile(r"(<!-- figures -->\n).*?(<!-- /figures -->)", re.DOTALL)
_CHAOS = re.compile(r"(<!-- chaos -->).*?(<!-- /chaos -->)", re.DOTALL)
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
        README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")


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


def written(readme: str) -> str:
    """The README with all that is generated in it."""
    return _CHAOS.sub(lambda mark: f"{mark[1]}{chaos()}{mark[2]}", with_figures(readme, RESULTS))


def chaos() -> str:
    """How much of it the tests do each time, read from them; one loss fails them."""
    text = (ROOT / "tests" / "chaos" / "test_chaos.py").read_text(encoding="utf-8")
    numbers = re.findall(r'"ATLAS_STORIES", "(\d+)"|^ROUNDS = (\d+)', text, re.MULTILINE)
    stories, rounds = (int(one or other) for one, other in numbers)
    return f"{stories * rounds} rounds, 0 losses."


def with_figures(readme: str, results: Path) -> str:
    """The README with what stands between its figure marks replaced; unchanged if it has no marks."""
    tables = "\n".join(figures(results))
    return _FIGURES.sub(lambda mark: f"{mark[1]}{tables}{mark[2]}", readme)


def figures(results: Path) -> Iterator[str]:
    """The tables of the result files that are there."""
    for name, title in _SETS.items():
        static, local = _result(results, name), _result(results, f"{name}-local")
        found = [result for result in (static, local) if result]
        if found:
            yield f"\n{_recall(title, found)}\n" + "\n".join(map(_measured, found)) + "\n"
    tables = {
        "token_savings": _views, "cache_hit_rate": _ready, "prefetch_accuracy": _prefetched, "prefix_reuse": _reused,
        "live": _lived, "latency_comparison": _latency, "vault": _speed, "scale": _scale, "watch": _watch,
        "hooks": _hooks, "writers": _writers, "upkeep": _upkeep, "year": _year,
        "ingest": _ingest, "importing": _importing, "middleware": _middleware,
    }  # fmt: skip
    for name, table in tables.items():
        if result := _result(results, name):
            yield f"\n{table(result['figures'])}\n{_measured(result)}\n"


def _result(results: Path, name: str) -> dict[str, Any]:
    """What a benchmark kept; {} if it was not run."""
    file = results / f"{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _recall(title: str, results: Sequence[Mapping[str, Any]]) -> str:
    """Recall of evidence: Atlas and what it is compared with, by each model; all questions, then the unseen half."""
    found = {}
    for result in results:
        for method, rows in result["figures"]["recall"].items():
            modelled = method == "Atlas" or "vectors" in method
            found[f"{method} ({_model(result)})" if modelled else method] = rows
    whole = next(iter(next(iter(found.values()))))
    shares = [key for key in next(iter(found.values()))[whole] if key.startswith("recall@")]
    ordered = sorted(found.items(), key=lambda item: not item[0].startswith("Atlas"))
    table = _table(
        [title, *shares, *(f"half B {share.removeprefix('recall')}" for share in shares)],
        [
            [name, *(f"{100 * rows[group][share]:.1f} %" for group in (whole, "half B") for share in shares)]
            for name, rows in ordered
        ],
    )
    figures = results[0]["figures"]
    ingest, search, questions = figures["ingest"], figures["search seconds"], ordered[0][1][whole]["questions"]
    stored = f" stored in {_seconds(ingest['seconds'])}" if "seconds" in ingest else ""
    return (
        f"{table}\n{questions:,} questions ({whole}); {ingest['memories']:,} memories{stored}; a search takes "
        f"{_seconds(search['median'])} (median of {search['runs']:,}). {results[0]['halves']}.\n"
    )


def _model(result: Mapping[str, Any]) -> str:
    """The short name of the model behind the vectors: without the hash of its files."""
    words = result["config"]["model"].split()
    return str(words[1] if words[0] == "local" else words[0])


def _views(found: Mapping[str, Any]) -> str:
    """Evidence in the text of a view, by its budget, beside whole texts from the same hits."""
    curves = {name: found[name]["curves"] for name in ("turns", "sessions")}
    rows = []
    for budget, point in curves["turns"]["Atlas"].items():
        ways = ("Atlas", "Atlas, a new session", "top k")
        turns, sessions = ([_percent(curve[way][budget]["recall"]) for way in ways] for curve in curves.values())
        rows.append([f"{int(budget):,} tokens", *turns, _percent(point["saved"]), *sessions])
    head = ["Evidence in a view of", "turns: Atlas", "anew", "top k", "saved", "sessions: Atlas", "anew", "top k"]
    return (
        f"{_table(head, rows)}\n{found['turns']['questions']:,} questions of LoCoMo, each turn or session a memory. "
        "*Atlas* asks one after the other in one session, *anew* each out of nothing; "
        "*top k* is the whole text of the same hits, *saved* what the whole history would cost more.\n\n"
        "![Evidence in the text of a view against its tokens](benchmarks/results/token_savings.png)\n"
    )


def _ready(found: Mapping[str, Any]) -> str:
    """How much of what a turn needs is held ready before it asks."""
    names = {
        "LRU": "LRU, filled by what was needed",
        "tiers": "the forecast, filled by the same",
        "LRU, written too": "LRU, and what was just said",
        "tiers, written too": "the forecast, and what was just said",
        "tiers with prefetching": "the forecast, and what is prefetched",
        "Belady without prefetch": "who knows the future (Belady), filled by what was needed",
    }
    parts = ("all", "dialogues 6-10")
    rows = [
        [said, *(_percent(found["hit rate"][name][part]["hit rate"]) for part in parts)] for name, said in names.items()
    ]
    head = ["Ready before it is asked for, of the ten best hits", "all dialogues", "dialogues 6-10"]
    wasted = found["hit rate"]["tiers with prefetching"]
    return (
        f"{_table(head, rows)}\nRoom for 120 memories, every turn of LoCoMo from the 30th a question; "
        f"{wasted['prefetches a turn']} memories are prefetched a turn, {_percent(wasted['wasted'])} of them in vain; "
        f"regret {wasted['regret']:.0f}.\n"
    )


def _prefetched(found: Mapping[str, Any]) -> str:
    """How much of what is made ready the very next turn needs."""
    talk, walk, stored = found["dialogues"]["all"], found["walks, 12 ready"], found["dialogues, as stored"]["all"]
    ways = {
        "Atlas": "Atlas", "Atlas, ten": "Atlas, ten each turn", "most recent": "most recent",
        "next most similar": "next most similar", "neighbours": "neighbours", "random": "random",
    }  # fmt: skip
    rows = [
        [said, *(_percent(part[way]["precision@1"]) if way in part else "" for part in (talk, stored, walk)),
         str(talk[way]["named a turn"])]
        for way, said in ways.items()
    ]  # fmt: skip
    head = [
        "Prefetched, and needed by the very next turn",
        "dialogues",
        "just said ready",
        "walks along links",
        "a turn",
    ]
    return f"{_table(head, rows)}\nAtlas prefetches what is worth it, the rules ten memories a turn.\n"


def _reused(found: Mapping[str, Any]) -> str:
    """The beginning of a view that is that of the last one, in words."""
    now, strict = found["curve"][found["default"]], found["curve"]["by relevance"]
    return (
        f"Of a view's tokens {_percent(now['same'])} are an identical beginning of the last view (by relevance "
        f"{_percent(strict['same'])}). Of a question asked out of a running dialogue the view has "
        f"{_percent(now['evidence'])} of the evidence ({_percent(strict['evidence'])}), and "
        f"{_percent(now['needed'])} ({_percent(strict['needed'])}) of the ten best hits.\n"
    )


def _lived(found: Mapping[str, Any]) -> str:
    """Whole dialogues in sessions of the engine, in words."""
    mean = found["mean"]
    return (
        f"Sessions of the engine that lived through {len(found['dialogues'])} dialogues, with room for some 120 turns: "
        f"{_percent(mean['hit_rate'])} of the ten best hits ready beforehand, {_percent(mean['prefix_reuse'])} of each "
        f"view the beginning of the last, regret {_percent(mean['regret'])}; no view over its budget "
        f"({found['most tokens']:,} of 2,000 tokens at most).\n"
    )


def _latency(found: Mapping[str, Any]) -> str:
    """From cold to hot, a column for each size; then the parts."""
    sizes = found["sizes"].values()
    rows = [
        ["search as a process", *(_quantiles(one["cold process"]["search"]) for one in sizes)],
        ["view as a process", *(_quantiles(one["cold process"]["view"]) for one in sizes)],
        ["search in an open engine", *(_quantiles(one["retrieve"]) for one in sizes)],
        *([f"view, {way}", *(_quantiles(one["view"][way]) for one in sizes)] for way in ("cold tiers", "warm", "hot")),
        ["after the answer", *(_quantiles(one["view"]["after the answer"]) for one in sizes)],
    ]
    head = ["Median, 95th and 99th percentile", *(f"{int(size):,} notes" for size in found["sizes"])]
    looks = ", ".join(f"{one['look-up of a prepared memory, µs']} µs" for one in sizes)
    scene = found["composing"]
    return (
        f"{_table(head, rows)}\nA look-up of a prepared memory takes {looks}; composing a scene out of "
        f"{scene['candidates']} candidates {_seconds(scene['p50'])} (95th percentile {_seconds(scene['p95'])}).\n"
    )


def _quantiles(found: Mapping[str, float]) -> str:
    return " / ".join(_seconds(found[name]) for name in ("p50", "p95", "p99"))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _speed(found: Mapping[str, Any]) -> str:
    """Every figure that is a spread of times, in the order it was measured."""
    rows = [
        [f"{name}, {row['notes']:,} notes" if "notes" in row else name, _seconds(row["median"]),
         f"{_seconds(row['least'])} to {_seconds(row['most'])}", str(row["runs"])]
        for name, row in found.items() if isinstance(row, dict) and "median" in row
    ]  # fmt: skip
    memories = found["adopted"]["memories"]
    return _table([f"A vault of {memories:,} notes", "median", "range", "runs"], rows)


def _scale(found: Mapping[str, Any]) -> str:
    """What grows with the vault, a column for each size; then the look into the past."""
    sizes = found["sizes"]
    rows = {
        "building the index, notes a second": [f"{row['build']['notes a second']:,}" for row in sizes.values()],
        "search in an open engine, median": [_seconds(row["warm"]["search"]["median"]) for row in sizes.values()],
        "the same, 95th percentile": [_seconds(row["warm"]["search"]["p95"]) for row in sizes.values()],
        "search as a process of its own": [_seconds(row["cold search"]["median"]) for row in sizes.values()],
        "an edit until it is found": [_seconds(row["warm"]["edit to found"]["median"]) for row in sizes.values()],
        "memory of an open engine at most": [f"{row['warm']['peak MB']:,} MB" for row in sizes.values()],
        "index on disk": [f"{row['build']['index MB']:,.0f} MB" for row in sizes.values()],
    }
    table = _table(["Notes", *(f"{int(size):,}" for size in sizes)], [[name, *cells] for name, cells in rows.items()])
    past = found["as of"]
    return (
        f"{table}\nA search of {past['notes']:,} notes as they were {past['commits back']:,} commits ago takes "
        f"{_seconds(past['first time'])} the first time and {_seconds(past['later']['median'])} from then on, "
        f"{past['ratio']:.2f} times one of today.\n"
    )


def _watch(found: Mapping[str, Any]) -> str:
    """From a save to the row in the index, for each way editors save; then idleness, and a branch switch."""
    rows = [[name, _seconds(row["median"]), _seconds(row["p95"])] for name, row in found["save to searchable"].items()]
    idle, many = found["idle"], found["checkout of 500 notes"]
    return (
        f"{_table(['Under `atlas watch`, a save until it is in the index', 'median', '95th percentile'], rows)}\n"
        f"Idle for {idle['seconds']} s, the watcher refreshed {idle['refreshes']} times and took "
        f"{idle['CPU percent']:.2f} % of one core and {idle['MB']} MB. A branch switch that brings 500 notes in new "
        f"folders is indexed in {_seconds(many['all in']['median'])} (the first time "
        f"{_seconds(many['all in, first time'])}), one that takes them away in {_seconds(many['all out']['median'])}.\n"
    )


def _hooks(found: Mapping[str, Any]) -> str:
    """What the hooks add to a commit and to a rebase."""
    commit, rebase = found["commit"], found["rebase"]
    rows = [
        ["commit of 10 notes", *(_seconds(commit[name]["median"]) for name in ("bare", "pre-commit", "hooks"))],
        ["rebase of 50 commits", _seconds(rebase["bare"]["median"]), "", _seconds(rebase["hooks"]["median"])],
    ]
    head = ["Git", "without hooks", "with `pre-commit` alone", "with all hooks"]
    after = ", ".join(map(str, rebase["commits after"]))
    return f"{_table(head, rows)}\nThe {rebase['commits before']} commits of the rebase are {after} afterwards.\n"


def _writers(found: Mapping[str, Any]) -> str:
    """Many at once on one vault, in words."""
    wrong = len(found["errors"]) + len(found["uncommitted"]) + len(found["fsck"]) + len(found["locks_left"])
    return (
        f"{found['writers']} processes that each store {found['each']} memories, {found['searchers']} that search, a "
        f"watcher, and a person who committed {found['persons_commits']} times meanwhile: {found['stored']} stored in "
        f"{_seconds(found['seconds'])}, {found['lost']} lost, {wrong} errors, {found['searches']} searches of "
        f"{found['search_ms_median']:.0f} ms.\n"
    )


def _upkeep(found: Mapping[str, Any]) -> str:
    """What a run of upkeep costs: with nothing due, and where thousands of memories are forgotten at once."""
    idle, forgetting = found["nothing due"], found["forgetting"]
    rows = [
        ["`atlas maintain`, nothing due", _seconds(idle["maintain"]["median"]), _seconds(idle["search"]["median"])],
        [f"`atlas forget`, {forgetting['memories']:,} memories", _seconds(forgetting["forget"]["median"]),
         _seconds(forgetting["git alone"]["median"])],
        ["`atlas undo` of that", _seconds(forgetting["undo"]["median"]), ""],
    ]  # fmt: skip
    return _table(["Upkeep", "Atlas", "beside it: a search; Git alone committing those files"], rows)


def _year(found: Mapping[str, Any]) -> str:
    """A year of memories: what is left of it at the end of each quarter, and what that costs."""
    rows = [
        (
            str(one["day"]),
            f"{one['notes']['vault']:,} of {one['notes']['ever']:,}",
            _percent(one["tokens of texts"]["share"]),
            f"{one['recall@10']['vault']:.3f} / {one['recall@10']['twin']:.3f}",
            "" if one["found there when frozen"] is None else _percent(one["found there when frozen"]),
            f"{one['MB of .git']:.1f} MB",
        )
        for one in found["quarters"]
    ]
    head = ("Day of a year", "notes", "tokens, of all ever", "asked again: recall@10 / never forgetting",
            "forgotten: found frozen", "repository")  # fmt: skip
    day, run, undone = found["seconds"]["ingest day"], found["seconds"]["maintain"], found["undone"]
    said = (
        f"A day of ingesting takes {_seconds(day['median'])} (at most {_seconds(day['most'])}), a run of upkeep "
        f"{_seconds(run['median'])} (at most {_seconds(run['most'])}). After undoing all {undone['runs']} runs, "
        f"{undone['differ']} files differ from a store that never forgot.\n"
    )
    return f"{_table(head, rows)}\n{said}"


def _ingest(found: Mapping[str, Any]) -> str:
    """Conversations read by rule, and their turns found through what was made of them."""
    done, beside = found["ingest"], found["each turn a memory"]
    rows = [
        (name, _percent(one["categories 1-4"]["recall@5"]), _percent(one["categories 1-4"]["recall@10"]), f"{tokens:,}")
        for name, one, tokens in (
            ("a hit names the turn as its source", found["recall named"], found["tokens of ten hits"]),
            ("the words of the turn are in a hit", found["recall in words"], found["tokens of ten hits"]),
            ("each turn stored as a memory", beside["recall"], beside["tokens of ten hits"]),
        )
    ]
    head = ("LoCoMo, read as conversations", "recall@5", "recall@10", "tokens of ten hits")
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in done["kinds"].items())
    said = (
        f"All 5,882 turns take {_seconds(done['seconds'])} and {done['commits']} commits ({kinds}); "
        f"{done['lost turns']} turns are lost, {done['without a source']} memories name no source, a second time "
        f"stores {found['again']['memories']}. One session a call: {_seconds(found['one by one']['seconds'])}.\n"
    )
    return f"{_table(head, rows)}\n{said}"


def _importing(found: Mapping[str, Any]) -> str:
    """What other tools export, taken in."""
    names = {
        "mem0": "mem0 records",
        "chatgpt": "messages of ChatGPT",
        "folder": "notes of a folder",
        "table": "CSV rows",
    }
    rows = [
        (f"{found['records']:,} {name}", f"{found[key]['imported']:,}", _seconds(found[key]["seconds"]),
         _seconds(found[key]["again seconds"]), str(found[key]["commits"]))
        for key, name in names.items()
    ]  # fmt: skip
    return _table(("Imported at once", "memories", "time", "again: nothing new", "commits"), rows)


def _middleware(found: Mapping[str, Any]) -> str:
    """What LangChain's middleware adds beside the vault's own work."""
    rows = [
        (name, *(f"{found[f'{mode}, {name}, system'][key]:.2f} ms" for mode in ("sync", "async")
                 for key in ("added ms", "added CPU ms")))
        for name in ("recalled alone", "captured")
    ]  # fmt: skip
    head = ("A run of an agent, beyond view and ingest", "sync", "its CPU", "async", "its CPU")
    return _table(head, rows)


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
    data = (
        f"{result['data']} (SHA-256 {result['sha256'][:12]}…)"
        if "sha256" in result
        else result.get("data", "made-up notes")
    )
    where = f"{commit[:9]}{' with changes' if changed else ''}"
    return (
        f"Measured {result['date']} at {where} by `benchmarks/{result['benchmark']}.py` on {data}; "
        f"{machine['cores']} cores of {machine['cpu']}, {machine['system']}, Python {machine['python']}."
    )


if __name__ == "__main__":
    main()
