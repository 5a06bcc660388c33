"""The vault as it was: the listing of a commit, so that a search can rank against the past.

A commit's tree gives path → blob; rows are keyed by blob, so only content that was never seen is derived. The listing
of a commit never changes, and is kept for the next question about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from atlas import derive, identity
from atlas.errors import NotText
from atlas.keys import key
from atlas.shelf import Shelf
from atlas.store import FROZEN, get_meta, insert, set_meta, transaction
from atlas.survey import text_id

if TYPE_CHECKING:
    import duckdb

#: So many commits' listings are kept; the one not asked for the longest goes first.
_KEPT = 4
_STORE_EVERY = 500
_COLUMNS = ("moment", "path", "note", "ident", "name_chunk", "path_key")


class Past(Protocol):
    """A commit, and what Git has to say of it."""

    @property
    def commit(self) -> str: ...

    def tree(self) -> Mapping[str, str]:
        """Path → Git's blob id."""
        ...

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of blobs."""
        ...

    def lineage(self) -> identity.Lineage:
        """All renames, newest first."""
        ...


def add(con: duckdb.DuckDBPyConnection, shelf: Shelf, past: Past) -> None:
    """Keep the listing of a commit; files that are no text are left out."""
    tree = past.tree()
    notes = _notes(con, shelf, tree, past)
    listed = {path: notes[blob] for path, blob in tree.items() if blob in notes}
    names = shelf.names(listed)
    written = dict(con.execute("SELECT note, id FROM notes").fetchall())
    ids = identity.resolve({path: written[note] for path, note in listed.items()}, tree, past.lineage()).ids
    rows = [(past.commit, path, note, ids[path], names.get(path), key(path)) for path, note in listed.items()]
    with transaction(con):
        # Other engines copy what is new when the generation moves, and the notes of this moment may be new.
        set_meta(con, {"generation": str(int(get_meta(con)["generation"]) + 1)})
        if rows:
            insert(con, "moments", derive.columns(_COLUMNS, rows))
        frozen = past.commit.startswith(FROZEN)
        con.execute(
            f"DELETE FROM moments WHERE starts_with(moment, '{FROZEN}') = {frozen} AND moment NOT IN (SELECT moment "
            f"FROM moments WHERE starts_with(moment, '{FROZEN}') = {frozen} GROUP BY moment "
            f"ORDER BY max(rowid) DESC LIMIT {1 if frozen else _KEPT})"
        )


def _notes(con: duckdb.DuckDBPyConnection, shelf: Shelf, tree: Mapping[str, str], past: Past) -> dict[str, int]:
    """The note of each of Git's blobs, derived where it was never seen."""
    notes: dict[str, int] = dict(con.execute("SELECT blob, note FROM notes").fetchall())
    notes.update(con.execute("SELECT git, note FROM gitblobs").fetchall())
    wanted = [blob for blob in dict.fromkeys(tree.values()) if blob not in notes]
    fresh = []
    for number, (blob, data) in enumerate(past.blobs(wanted), 1):
        try:
            notes[blob] = shelf.note(text_id(data), data)
        except NotText:
            continue
        if text_id(data) != blob:  # Git holds it with CRLF; the rows are those of its LF form
            fresh.append((blob, notes[blob]))
        if number % _STORE_EVERY == 0:
            shelf.store()
    shelf.store()
    if fresh:
        insert(con, "gitblobs", derive.columns(("git", "note"), fresh))
    return notes
