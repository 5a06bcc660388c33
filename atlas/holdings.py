"""What a conversation is compared with: which of it the vault holds already, in one scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from atlas.catalog import Catalog
from atlas.keys import term_hash
from atlas.memory import Scope
from atlas.words import terms

if TYPE_CHECKING:
    from atlas.search import Reader

#: So many lines are looked up at a time, and so many memories compared: a log may hold thousands of pieces of views.
_MOST_LINES, _MOST_NOTES = 400, 200


class Holdings:
    """Look-ups through one reader of the index. It is used while that is open."""

    def __init__(self, reader: Reader, scope: Scope) -> None:
        self._rows, self._catalog = reader.rows, Catalog(reader.con, scope)

    def sources(self, conversation: str) -> Sequence[str]:
        """The sources of the memories that come from a conversation."""
        return self._catalog.sources(conversation)

    def with_text(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Which of these texts are stored: text key → id."""
        return self._catalog.with_text(keys)

    def saying(self, lines: Iterable[str]) -> Sequence[str]:
        """The texts of memories that hold all words of one of these lines; of a line that may be cut, those inside."""
        wanted = islice(filter(None, map(str.split, lines)), _MOST_LINES)
        cut = (part for words in wanted for part in (words, words[1:], words[:-1], words[1:-1]))
        asked = [hashes for words in cut if (hashes := {term_hash(term) for term in terms(" ".join(words))})]
        if not asked:
            return []
        every = sorted(set().union(*asked))
        passages = self._catalog.passages()
        holding = {
            term: {passages[chunk] for chunk in chunks.tolist() if chunk in passages}
            for term, (chunks, _) in zip(every, self._rows.postings(every), strict=True)
        }
        found = set().union(*(set.intersection(*(holding[term] for term in line)) for line in asked))
        return list(self._rows.texts(sorted(found)[:_MOST_NOTES]).values())
