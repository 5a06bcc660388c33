"""Commands about the vault's health: index, status, validate."""

from __future__ import annotations

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, progress


@click.command()
@click.option("--full", is_flag=True, help="Read every file, whatever its size and time say.")
@click.option("--rebuild", is_flag=True, help="Throw the index away and derive it anew.")
@json_option
@click.pass_obj
def index(door: Door, full: bool, rebuild: bool, as_json: bool) -> int:
    """Bring the index up to date."""
    with door.reading() as engine, progress(door, "Indexing") as bar:
        report = engine.refresh(full=full, rebuild=rebuild, progress=bar)
    skipped = [{"path": f.path, "line": f.line, "reason": f.message} for f in report.skipped]
    if as_json:
        emit(
            {
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
                "unchanged": report.unchanged,
                "skipped": skipped,
                "seconds": round(report.seconds, 4),
                "memories": report.memories,
                "derived": report.derived,
                "embedded": report.embedded,
            }
        )
    else:
        door.say(view.findings(report.skipped))
        click.echo(
            f"{view.counted(report.memories, 'memory')}: {report.added} added, {report.changed} changed, "
            f"{report.removed} removed, {report.unchanged} unchanged in {report.seconds:.2f} s; "
            f"{len(skipped)} with problems"
        )
    return 0


@click.command()
@json_option
@click.pass_obj
def status(door: Door, as_json: bool) -> int:
    """Say how the vault is: index, Git, and every file with a problem."""
    with door.engine() as engine:
        report = engine.status()
    if as_json:
        emit(report)
    else:
        head = {k: v for k, v in report.items() if k != "findings"}
        click.echo(view.facts({name: view.listed(value) for name, value in head.items()}))
        if report["findings"]:
            click.echo("\n" + view.findings(report["findings"]))
    return 0


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--staged", is_flag=True, help="Check the staged content instead of the files.")
@json_option
@click.pass_obj
def validate(door: Door, paths: tuple[str, ...], staged: bool, as_json: bool) -> int:
    """Check notes as the commit hook does.

    PATHS name the notes; without them, it is all. Exits 1 if anything is wrong: metadata that cannot be read, an id
    used twice or that is none, conflict markers, a credential, a file too large or not text. A summary that stayed
    while its text became another is a warning, and only looked for in what is staged.
    """
    from atlas.checks import WARNINGS

    with door.engine() as engine:
        findings = engine.validate([door.place(engine.config.root, path) for path in paths], staged=staged)
    if as_json:
        emit({"findings": findings})
    elif findings:
        click.echo(view.findings(findings))
    return 1 if any(finding.kind not in WARNINGS for finding in findings) else 0
