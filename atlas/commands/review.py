"""The command of whoever reviews."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from atlas import view
from atlas.commands._door import Door, emit, json_option, outcome

if TYPE_CHECKING:
    from atlas.engine import MemoryEngine
    from atlas.memory import Applied
    from atlas.review import Waiting


@click.command()
@click.argument("id", required=False)
@click.option("--approve", "verdict", flag_value="approve", help="Verify it as it was shown.")
@click.option("--reject", "verdict", flag_value="reject", help="Reject it: it stays, and no view shows it.")
@click.option("--digest", metavar="HASH", help="Which text is approved: the digest that was shown with it.")
@click.option("--reason", default="", help="Why it is rejected.")
@json_option
@click.pass_obj
def review(door: Door, id: str | None, verdict: str | None, digest: str | None, reason: str, as_json: bool) -> int:
    """Say what waits for a person, or approve or reject it.

    Without ID, all that waits: skills not approved, contested memories, those tagged `review`. With ID, its text and
    the digest of it. An approval is of that text: it is refused if the file changed meanwhile, and ends when it does.
    On a terminal, --approve shows the text and asks; elsewhere it wants --digest.
    """
    if verdict and not id:
        raise click.UsageError("Say which memory, by its id")
    with door.engine() as engine:
        name = door.place(engine.config.root, id) if id else None
        found = engine.queue(name)
        if verdict is None:
            _show(door, found, whole=name is not None, as_json=as_json)
            return 0
        (one,) = found
        applied = _decided(engine, one, verdict, digest, reason)
    if applied is None:
        door.say("Nothing was done.")
        return 1
    if as_json:
        emit({"id": one.id, "path": one.path, "verdict": verdict, "digest": one.digest, "commit": applied.commit,
              "committed": applied.committed, "note": applied.note})  # fmt: skip
    else:
        click.echo(view.printable(one.path))
        door.say("" if applied.paths else "That was decided before; nothing changed.")
    return outcome(door, applied, as_json=as_json)


def _decided(engine: MemoryEngine, one: Waiting, verdict: str, digest: str | None, reason: str) -> Applied | None:
    """What became of it; None if the person said no after all."""
    if verdict == "reject":
        return engine.reject(one.id, reason)
    if digest is None:
        if not (sys.stdin and sys.stdin.isatty()):
            raise click.UsageError(
                f"Say which text is approved: `atlas review {one.id} --approve --digest {one.digest}` is what stands "
                "there now"
            )
        click.echo(_whole(one), err=True)
        if not click.confirm(f"Approve {one.path} as it stands there ({one.digest})?", err=True):
            return None
    return engine.approve(one.id, digest or one.digest)


def _show(door: Door, found: tuple[Waiting, ...], *, whole: bool, as_json: bool) -> None:
    if as_json:
        listed = [{"id": w.id, "path": w.path, "label": w.label, "kind": w.kind, "trust": w.trust, "why": w.why,
                   "digest": w.digest, **({"text": w.text} if whole else {})} for w in found]  # fmt: skip
        emit({"waiting": listed})
    elif whole:
        click.echo("\n".join(map(_whole, found)))
    elif found:
        rows = [(w.id, view.printable(w.path), w.why, w.digest) for w in found]
        click.echo(view.table(("id", "path", "why", "digest"), rows))
        door.say("See one with `atlas review ID`, then add --approve --digest HASH, or --reject.")
    else:
        door.say("Nothing waits.")


def _whole(one: Waiting) -> str:
    text = "\n".join(view.printable(line) for line in one.text.splitlines())
    head = f"{view.printable(one.path)}  {one.id}\n{one.kind}, {one.trust}{f': {one.why}' if one.why else ''}"
    return f"{head}\ndigest: {one.digest}\n\n{text}"
