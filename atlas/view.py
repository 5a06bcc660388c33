"""All that a person sees: results as text, tables and bars. rich is loaded only where a terminal is."""

from __future__ import annotations

import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atlas.abstain import Evidence
    from atlas.memory import Entry, Finding, Hit, Memory
    from atlas.whynot import WhyNot

_WIDTH = 100
_PASSAGE_LINES = 3
_NAMED = 5
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def hits(found: Sequence[Hit], *, explain: bool = False) -> str:
    """Search results: rank, label, place, passage."""
    blocks = []
    for number, hit in enumerate(found, 1):
        heading = f" › {hit.heading}" if hit.heading else ""
        lines = [f"{number:>2}. {hit.label}{heading}", f"    {printable(hit.path)}:{hit.line}  {_kind(hit)}  {hit.id}"]
        lines += _passage(hit.text, hit.label)
        if hit.copies:
            lines.append(f"    copies: {', '.join(map(printable, hit.copies))}")
        if explain:
            lines.append(f"    score {hit.score:.3f}: {_reasons(hit.why)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _kind(hit: Hit) -> str:
    """The kind of a hit; of a skill also whether somebody has approved it, since agents do what skills say."""
    return f"{hit.kind} ({hit.trust})" if hit.kind == "skill" and hit.trust != "verified" else hit.kind


def ambiguous(paths: Sequence[str]) -> str:
    """Which memories share the name that was asked for, on one line; "" if none do."""
    if not paths:
        return ""
    shown = ", ".join(map(printable, paths[:_NAMED]))
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"{counted(len(paths), 'memory')} share this name: {shown}{more}."


def _passage(text: str, label: str) -> list[str]:
    flat = " ".join(text.split())
    if flat == label:
        return []
    return ["    " + line for line in textwrap.wrap(flat, _WIDTH - 4, max_lines=_PASSAGE_LINES, placeholder=" …")]


def _reasons(why: Mapping[str, Any]) -> str:
    ranked = {name: v for name, v in why.items() if isinstance(v, Mapping) and v.get("rank")}
    return ", ".join(f"{name} #{v['rank']} ({v['score']:.3f})" for name, v in ranked.items())


def evidence(found: Evidence) -> str:
    """What speaks for an answer: how likely it is among the hits, and the shares that say so."""
    shares = f"found {found.found:.2f}, held {found.held:.2f}, cosine {found.cosine:.2f}"
    return f"confidence {found.confidence:.3f}: {shares}{', literal' if found.literal else ''}"


def why_not(found: WhyNot) -> str:
    """Why a search does not return a memory: the reason, its place, and what stands before it."""
    lines = [f"{printable(found.path)}  {found.id}", f"{found.reason}: {printable(found.detail)}"]
    if found.rank is not None:
        lines.append(f"rank {found.rank} of {found.of}, score {found.score:.3f}: {_reasons(found.why)}")
    for hit in found.outranked_by:
        lines += [f"{hit.rank:>2}. {hit.label}", f"    {printable(hit.path)}  {hit.id}"]
        lines.append(f"    score {hit.score:.3f}: {_reasons(hit.why)}")
    return "\n".join(lines)


def memory(found: Memory, text: str) -> str:
    """One memory at one level of detail."""
    facts = [f"{key}: {value}" for key, value in found.meta.items() if key != "id" and isinstance(value, str) and value]
    head = [found.label, f"{found.path}  {found.id}", *(["  ".join(facts)] if facts else [])]
    return "\n".join(head) + (f"\n\n{text.strip()}" if text.strip() != found.label else "")


def findings(found: Iterable[Finding]) -> str:
    """Problems, one a line, in the form editors jump to."""
    return "\n".join(f"{printable(f.path)}:{f.line or 1}: {f.kind}: {printable(f.message)}" for f in found)


def printable(text: str) -> str:
    r"""The text on one line: a line break in a file's name is shown as `\n`, and no name commands the terminal."""
    return _CONTROL.sub(lambda m: m.group().encode("unicode_escape").decode(), text)


def entries(found: Sequence[Entry]) -> str:
    """History, newest first: when, what, which commit, why."""
    blocks = []
    for e in found:
        lines = [f"{e.commit[:9]}  {e.time[:16].replace('T', ' ')}  {e.op:<8}  {e.subject}"]
        if e.reason and e.reason != e.subject:
            lines.append(f"           reason: {e.reason}")
        if e.actor or e.policy:
            lines.append("           " + ", ".join(x for x in (f"by {e.actor}" if e.actor else "", e.policy) if x))
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 memory", "1,200 memories"."""
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"


def listed(value: object) -> str:
    """A value of a report on one line: what is empty or not known yet is "none"."""
    if isinstance(value, Mapping):
        parts = [f"{name} {listed(v)}" for name, v in value.items() if v not in ("", None, [], ())]
        return ", ".join(parts) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def facts(pairs: Mapping[str, Any]) -> str:
    """Names and values in two columns."""
    width = max((len(k) for k in pairs), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in pairs.items())


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows under headings: drawn by rich on a terminal, separated by tabs for other programs."""
    if not sys.stdout.isatty():
        return "\n".join("\t".join(map(str, row)) for row in rows)
    from rich.console import Console  # noqa: PLC0415 - 50 ms that a pipe does not pay
    from rich.table import Table  # noqa: PLC0415

    drawn = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        drawn.add_row(*map(str, row))
    console = Console()
    with console.capture() as captured:
        console.print(drawn)
    return captured.get().rstrip()


def share(value: float | None) -> str:
    """A share as a percentage; "-" where nothing has happened yet."""
    return "-" if value is None else f"{100 * value:.1f} %"


def cache(found: Mapping[str, Any]) -> dict[str, str]:
    """How well the sessions do, as facts; {} before there is one."""
    if not found["turns"]:
        return {}
    tiers = ", ".join(f"{name} {count:,}" for name, count in found["tiers"].items())
    shares = ("hit_rate", "prefetch_accuracy", "prefetch_coverage", "prefix_reuse", "regret")
    return {
        "in front": f"{tiers}; {counted(found['turns'], 'view')} in {counted(len(found['sessions']), 'session')}",
        **{name.replace("_", " "): share(found[name]) for name in shares},
    }


def sessions(found: Mapping[str, Any]) -> Any:
    """The tiers of each session and what is in front of its agent, drawn by rich."""
    from rich.console import Group  # noqa: PLC0415 - 50 ms that a pipe does not pay
    from rich.progress_bar import ProgressBar  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    parts: list[Any] = []
    for one in found["sessions"]:
        head = f"{printable(one['session'])} {printable(one['scope'])} · {counted(one['turns'], 'view')}"
        numbers = ("hit_rate", "prefetch_accuracy", "prefix_reuse", "regret")
        told = " · ".join(f"{name.replace('_', ' ')} {share(one[name])}" for name in numbers)
        tiers = Table.grid(padding=(0, 2))
        for name, tier in one["tiers"].items():
            filled = ProgressBar(total=max(tier["room"], 1), completed=tier["tokens"], width=24)
            said = f"{counted(tier['memories'], 'memory')}, {tier['tokens']:,} of {tier['room']:,} tokens"
            tiers.add_row(name, filled, said)
        lines = [f"  {printable(item['text'])}" for item in one["view"]]
        parts += [
            Text(head, style="bold"),
            Text(told),
            tiers,
            Text("\n".join(lines), no_wrap=True, overflow="ellipsis"),
        ]
    cold = f"{counted(found['tiers']['cold'], 'memory')} cold"
    return Group(*(parts or [Text("No session has asked for a view yet: `atlas view QUERY` does.")]), Text(cold))


def live(look: Callable[[], Any], seconds: float) -> None:
    """Draw what `look` returns anew every so many seconds, until interrupted; on a terminal over what was drawn."""
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415

    console = Console()
    while not console.is_terminal:
        console.print(look())
        time.sleep(seconds)
    with Live(look(), console=console, auto_refresh=False) as drawn:
        while True:
            time.sleep(seconds)
            drawn.update(look(), refresh=True)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr; call it with (done, all)."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
