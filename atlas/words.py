"""Words: how text becomes the terms that BM25 counts. One tokenizer serves the index and the query.

A text is cut into *atoms*, what a person would point at as one thing: `ADR-016`, `foo_bar.baz`, `C++`, `--dry-run`.
An atom gives its literal form as one term, then the forms inside it, down to stemmed words; scripts written without
spaces give overlapping pairs of characters. Both sides see the same cuts, so a literal always meets itself, and no
character is an operator.

    ADR-016        adr-016 adr 016
    it's           it's it
    foo_bar.baz    foo_bar.baz foo_bar foo bar baz
    HTTPServer     httpserver http server
    Zürich         zurich
    src/words.py   src/words.py src words.py word py
    备份计划       备 份 计 划 备份 份计 计划 (a query of several characters uses the pairs alone)
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import islice, pairwise

import Stemmer

#: Names these rules; part of the fingerprint of the index, so a change of rules rebuilds it.
#: Most distinct terms one query may have; the rest of a pasted page adds time and no precision.
QUERY_TERMS = 64

#: What a piece of a literal is worth beside the literal.
PART = 0.3

#: Longest term in characters: encoded blobs must not fill the vocabulary with giants.
_LONGEST = 64
#: Literal forms longer than this (long addresses and paths) are left to their segments.
_LONGEST_LITERAL = 48
#: A query is read no further than this, in characters.
_LONGEST_QUERY = 20_000

# Combining marks are no letters for `\w`, which would cut Hindi, Thai or pointed Hebrew words at every vowel.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0955-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd"
    "\u0a01-\u0a03\u0a3c-\u0a4d\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd"
    "\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u102b-\u103e\u1056-\u1059\u17b4-\u17d3\u3099\u309a"
)
# Thai, Lao, Burmese, Khmer, Han, Hiragana, Katakana, Hangul: no spaces between words, or endings glued to them.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u309a\u309d-\u30fa\u30fc-\u30ff"
    "\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_PICTURES = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_OPERATORS = r"->|=>|<-|<=|>=|!==?|===?|&&|\|\||\|>|::|:=|\?\?|\+=|-="


def _atoms(word: str, pictures: str) -> re.Pattern[str]:
    """The pattern of atoms for one class of word characters; linear in the text."""
    return re.compile(
        rf"(?:(?<!{word})(?:--?|[.#@$]))?{word}+(?:(?:::|[-./:@'&+]){word}+)*(?:\+\+|[+#%](?!{word}))?"
        rf"|{pictures}(?<!\S)(?:{_OPERATORS})(?!\S)"
    )


_ASCII_ATOMS = _atoms(r"[A-Za-z0-9_]", "")
_ANY_ATOMS = _atoms(rf"[\w{_MARKS}]", f"[{_PICTURES}]|")
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_UNSPACED_OR_NOT = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_SIGNS = re.compile(r"^[-.#@$]*(.*?)(\+\+|[+#%]|)$", re.DOTALL)
_OUTER = re.compile(r"::|[/:@&+]")
_INNER = re.compile(r"[-._']+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_VERSION = re.compile(r"v\d[\w.]*\.\w")
_SHORT_FORMS = re.compile(r"(?<=\w)'(?:s|t|d|m|re|ll|ve)$")
_STRIPPED_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]+")

# Typographic apostrophes and hyphens become the typed ones; invisible characters inside words go.
_TYPED = str.maketrans("’‘ʼ‐‑", "'''--", "\u00ad\ufeff\u200c\u200d")
# Letters with a stroke, which have no decomposition.
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"})

_FUNCTION_WORDS = """
a an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it its
me my of on or our she should so some than that the their them then there these they this those to us was we were what
when where which who whom whose why will with would you your
"""

_stemmer = Stemmer.Stemmer("english")
# One stemmer keeps one C buffer; two threads in it at once would mix their words.
_stemming = threading.Lock()
_STOPWORDS = frozenset(_stemmer.stemWords(_FUNCTION_WORDS.split()))


def terms(text: str) -> list[str]:
    """The terms of a text, in reading order, repeats kept."""
    found: list[str] = []
    for atom in _cut(text):
        found += _known(atom) if len(atom) <= _LONGEST else _forms(atom)
    return found


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query, at most `QUERY_TERMS`; English function words go unless nothing else is left.

    >>> query_terms("what is the ADR-016?"), query_terms("to be or not"), query_terms("'")
    (['adr-016', 'adr', '016'], ['not'], [])
    """
    return list(query_weights(text))


def query_weights(text: str) -> dict[str, float]:
    """The same terms with what each is worth: 1, or `PART` for a piece of a literal that was asked for whole.

    >>> query_weights("a GB/s chart")
    {'gb/s': 1.0, 'gb': 0.3, 's': 0.3, 'chart': 1.0}
    """
    every: dict[str, float] = {}
    telling: dict[str, float] = {}
    for atom in _cut(text[:_LONGEST_QUERY]):
        # `IT` and `WHO` in capitals are names, not function words.
        named = len(atom) > 1 and atom.isupper()
        for term, worth in _worths(atom).items():
            every[term] = max(worth, every.get(term, 0))
            if named or term not in _STOPWORDS:
                telling[term] = every[term]
        if len(telling) >= QUERY_TERMS:
            break
    return dict(islice((telling or every).items(), QUERY_TERMS))


def _worths(atom: str) -> dict[str, float]:
    """The terms of one atom of a query. Without the discount many pieces outweigh the one literal they came from."""
    forms = _forms(atom, alone=False)
    if _UNSPACED_RUN.search(atom):
        return dict.fromkeys(forms, 1.0)
    # Of `Ann's` the word is the thing, its ending the accident.
    whole = forms[-1:] if _SHORT_FORMS.search(atom) else forms[:1]
    return {term: 1.0 if term in whole else PART for term in forms}


def _cut(text: str) -> list[str]:
    """The atoms of a text, compatibility forms unified, case kept for the humps of camelCase."""
    if "%20" in text:
        text = text.replace("%20", " ")
    if text.isascii():
        return _ASCII_ATOMS.findall(text)
    return _ANY_ATOMS.findall(unicodedata.normalize("NFKC", text).translate(_TYPED))


def _forms(atom: str, *, alone: bool = True) -> tuple[str, ...]:
    """The terms of one atom. `alone`: characters of unspaced scripts stand alone too, as the index needs."""
    if atom.isascii():
        return tuple(_spaced(atom))
    if not _UNSPACED_RUN.search(atom):
        return tuple(_spaced(atom))
    found: list[str] = []
    for run in _UNSPACED_OR_NOT.findall(atom):
        found += _unspaced(run, alone=alone) if _UNSPACED_RUN.match(run) else _spaced(run.strip("-./:@'&"))
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _known(atom: str) -> tuple[str, ...]:
    """`_forms`, remembered: a vault repeats its words."""
    return _forms(atom)


def _unspaced(run: str, *, alone: bool) -> list[str]:
    """Characters and pairs of a run without spaces; a query of one character meets the former."""
    pairs = [a + b for a, b in pairwise(run)]
    return [*run, *pairs] if alone or not pairs else pairs


def _spaced(atom: str) -> list[str]:
    """The literal of an atom, then its segments, then their words, each once."""
    if not atom:
        return []
    if atom.isalpha() and (atom.islower() or atom.istitle()):
        return [_stem(fold(atom))]
    literal = fold(atom).strip("_")
    found: dict[str, None] = {}
    if literal and not literal.isalnum() and len(literal) <= _LONGEST_LITERAL:
        found[literal] = None
    if any(map(str.isalnum, atom)):
        body, sign = _SIGNS.findall(atom)[0]
        *segments, last = _OUTER.split(body)
        for segment in segments:
            found.update(dict.fromkeys(_segment(segment)))
        found.update(dict.fromkeys(_signed(last, sign)))
    return list(found)


def _signed(segment: str, sign: str) -> list[str]:
    """A segment with `+`, `#` or `%` behind it: `C++` is not `C`, while a longer name is found without its sign."""
    if not sign:
        return _segment(segment)
    whole = fold(segment) + sign
    return [whole] if len(segment) == 1 and sign != "%" else [whole, *_segment(segment)]


def _segment(segment: str) -> list[str]:
    """A part between slashes and colons: itself if it is a compound, its dotted parts, its words."""
    folded = fold(segment).strip("_")
    found = [folded] if not folded.isalnum() and len(folded) <= _LONGEST_LITERAL else []
    if _VERSION.match(folded):
        found.append(folded[1:])
    for part in _SHORT_FORMS.sub("", segment).split("."):
        name = fold(part).strip("_")
        if not name.isalnum() and len(name) <= _LONGEST_LITERAL:
            found.append(name)
        for word in _INNER.split(part):
            found += _word(word)
    return [term for term in found if term]


def _word(word: str) -> list[str]:
    """A word as one term, then the parts of camelCase."""
    humps = _HUMPS.split(word) if not word.islower() and len(word) <= _LONGEST else []
    return [_stem(fold(part)) for part in ([word, *humps] if len(humps) > 1 else [word])]


def fold(word: str) -> str:
    """Case and accents removed; the marks of kana and of Indic scripts are letters there and stay."""
    if word.isascii():
        return word.lower()
    bare = _STRIPPED_MARKS.sub("", unicodedata.normalize("NFD", word.casefold()))
    return unicodedata.normalize("NFC", bare).translate(_STROKES)


def _stem(word: str) -> str:
    """The stem by Porter's second English algorithm (Snowball `english`); other languages pass nearly unchanged."""
    if not word.isascii() or len(word) > _LONGEST:
        return word[:_LONGEST]
    with _stemming:
        stem: str = _stemmer.stemWord(word)
    return stem
