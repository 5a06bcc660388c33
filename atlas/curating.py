"""The verbs that rearrange notes: move, retitle, join, split, and links repaired after a rename outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from atlas import edits, joining, moving, splitting, vault
from atlas.catalog import Card, Catalog
from atlas.config import now
from atlas.errors import AtlasError, OutsideVault, UsageError
from atlas.memory import WHOLE_VAULT, Applied, Change, Finding, Record
from atlas.opened import OpenedVault, new_id
from atlas.paths import inside
from atlas.relink import Plan, Rewritten, Room
from atlas.resolver import Known, Names
from atlas.strays import find
from atlas.survey import blob_id


@dataclass(frozen=True, slots=True)
class Relinked:
    """What rearranging notes did, or would do: a path before and after, every link that followed, and those `left`.

    `joined` are the notes that became sections of another, which is `old` and `new`.
    """

    old: str
    new: str
    links: tuple[Rewritten, ...]
    left: tuple[Finding, ...]
    applied: Applied
    joined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Desk:
    """The vault as it is while a change is planned."""

    room: Room
    names: Names
    mine: Catalog


class CuratingEngine(OpenedVault):
    """The part of the façade that rearranges notes. Each verb is one commit, the links that follow included."""

    def move(self, name: str, path: str, *, dry_run: bool = False, reason: str = "") -> Relinked:
        """Move a memory to a path, or into a folder if that ends in `/`; every link to it follows."""

        def plan(desk: Desk) -> tuple[Plan, Record, str, str]:
            card = desk.mine.find(name)
            is_folder = desk.room.exists(path + "/") if path.strip("/.") else False
            new = moving.target(card.path, path, is_folder=is_folder)
            return self._moved(desk, card, new, Record("move", f"Move {card.path} to {new}", reason))

        return self._rearranged(plan, dry_run=dry_run)

    def retitle(
        self, name: str, title: str, *, rename_file: bool = False, dry_run: bool = False, reason: str = ""
    ) -> Relinked:
        """Give a memory another title; links by the old one follow. `rename_file` names the file after it too."""
        title = moving.clean_title(title)

        def plan(desk: Desk) -> tuple[Plan, Record, str, str]:
            card = desk.mine.find(name)
            new = moving.file_name(desk.names.notes[card.path], title) if rename_file else card.path
            record = Record("retitle", f"Retitle {card.label} to {title}", reason)
            return self._moved(desk, card, new, record, title)

        return self._rearranged(plan, dry_run=dry_run)

    def join(self, keep: str, others: Sequence[str], *, dry_run: bool = False, reason: str = "") -> Relinked:
        """Append memories to the one that is kept, as sections; their files go, their bytes stay in history."""
        joined: list[str] = []

        def plan(desk: Desk) -> tuple[Plan, Record, str, str]:
            kept, *gone = [desk.mine.find(name) for name in (keep, *others)]
            paths = [card.path for card in (kept, *gone)]
            if not gone or len(set(paths)) < len(paths):
                raise UsageError("Joining takes a memory to keep and others, each named once.")
            joined[:] = paths[1:]
            made = joining.join(desk.room, desk.names, *_first(desk.names.notes[path] for path in paths))
            subject = f"Join {', '.join(joined)} into {kept.path}"
            record = Record("join", subject, reason, memories=tuple(card.id for card in (kept, *gone)))
            return made, record, kept.path, kept.path

        return replace(self._rearranged(plan, dry_run=dry_run), joined=tuple(joined))

    def split(self, name: str, heading: str, path: str = "", *, dry_run: bool = False, reason: str = "") -> Relinked:
        """Take a section out into a memory of its own, a link left in its place; `path` is where, if not beside it."""
        id = new_id()

        def plan(desk: Desk) -> tuple[Plan, Record, str, str]:
            card = desk.mine.find(name)
            note = desk.names.notes[card.path]
            part = joining.Part.read(note, desk.room.read(card.path))
            cut = splitting.section(part, heading)
            beside = moving.file_name(note, cut.heading.text)
            is_folder = desk.room.exists(path + "/") if path.strip("/.") else False
            new = moving.target(beside, path, is_folder=is_folder) if path else beside
            self._refuse(desk, "", new)
            made = splitting.split(desk.room, desk.names, part, cut, splitting.Newcomer(new, id, now()))
            record = Record("split", f"Split {cut.heading.text} from {card.label}", reason, memories=(card.id, id))
            return made, record, card.path, new

        return self._rearranged(plan, dry_run=dry_run)

    def remove(self, names: Sequence[str], *, reason: str = "") -> Applied:
        """Take memories out of the vault, in one commit. Git keeps them, and `restore` brings each back.

        It is what a program does that keeps memories of its own here; `forget` lets them fade. Raises NotFound.
        """

        def attempt() -> Applied:
            with self._hand.lock():
                with self._catalog() as catalog:
                    cards = list({card.path: card for card in map(catalog.find, names)}.values())
                gone = [Change(c.path, None, blob_id(self._read_bytes(c.path)), c.id, c.label) for c in cards]
                ids = tuple(card.id for card in cards)
                subject = f"Remove {cards[0].label}" if len(cards) == 1 else f"Remove {len(cards)} memories"
                record = Record("remove", subject, reason, self.config.actor, memories=ids)
                return self._hand.apply(gone, record) if gone else Applied(())

        return edits.retried(attempt)

    def repair_links(self, *, dry_run: bool = False, reason: str = "") -> Relinked:
        """Mend the links to notes that were renamed outside Atlas, as far as Git or their ids tell where they are."""

        def plan(desk: Desk) -> tuple[Plan, Record, str, str]:
            strays = find(desk.mine, self._repository())
            made = strays.plan(desk.room)
            record = Record("relink", f"Mend {len(made.links)} links to renamed notes", reason)
            return made, record, "", ""

        return self._rearranged(plan, dry_run=dry_run)

    def _moved(
        self, desk: Desk, card: Card, new: str, record: Record, title: str = ""
    ) -> tuple[Plan, Record, str, str]:
        if new != card.path:
            self._refuse(desk, card.path, new)
        note = desk.names.notes[card.path]
        plan = moving.move(desk.room, desk.names, note, new, written_id=bool(card.written_id), retitled=title)
        return plan, replace(record, memories=(card.id,)), card.path, new

    def _refuse(self, desk: Desk, old: str, new: str) -> None:
        """Raise OutsideVault or AtlasError if no note may come to lie there."""
        if not self.config.scope.contains(new):
            raise OutsideVault(new, f"this engine may only write below {self.config.scope.prefix}")
        moving.refuse_taken(old, new, desk.names, vault.names_taken(self.config))

    def _rearranged(self, plan: Callable[[Desk], tuple[Plan, Record, str, str]], *, dry_run: bool) -> Relinked:
        """Plan and apply, again on the newer files if somebody changes one meanwhile."""
        seen: list[Relinked] = []

        def attempt() -> Applied:
            with self._hand.lock():
                with self._desk() as desk:
                    made, record, old, new = plan(desk)
                record = replace(record, actor=self.config.actor)
                applied = self._hand.apply(made.changes, record) if made.changes and not dry_run else Applied(())
            seen.append(Relinked(old, new, made.links, made.left, applied))
            return applied

        edits.retried(attempt)
        return seen[-1]

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        with self._index.reader() as reader:
            whole = Catalog(reader.con, WHOLE_VAULT)
            room = Room(whole, self._read_bytes, self._lies, self.config.scope)
            yield Desk(room, Names(whole.known()), Catalog(reader.con, self.config.scope))

    def _lies(self, path: str) -> bool:
        """Whether anything lies at a path of the vault; with a `/` at its end, a folder."""
        try:
            place = inside(self.config.root, path)
        except AtlasError:
            return False
        return place.is_dir() if path.endswith("/") else place.exists()


def _first(notes: Iterable[Known]) -> tuple[Known, list[Known]]:
    first, *rest = notes
    return first, rest
