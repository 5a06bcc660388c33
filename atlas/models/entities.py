"""What a text is about, without a language model: code names, proper nouns, key phrases.

    "JWT refresh token has a race condition. Ana moved it to auth_service.py."
    code     JWT, auth_service.py      by shape
    names    Ana                       by capitals, where a sentence does not explain them
    phrases  race condition, …         by YAKE in long texts, by word lists in short ones

Two memories that share one of these belong together, so a missed name costs less than a common word taken for one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from atlas.models.lexicon import (
    AUXILIARIES,
    BREAKERS,
    NAMING,
    NOT_ACRONYMS,
    OPENERS,
    PERSON_VERBS,
    STOPWORDS,
    TIME,
)
from atlas.models.offline import prose

#: Most entities of one memory, most phrases among them, and the longest entity in characters.
MOST, MOST_PHRASES, LONGEST = 10, 3, 48

#: Words from which YAKE is worth its import (0.2 s), and how many it reads, in about 15 ms: a sentence has no
#: frequencies to rank by, and a text names its subjects early.
YAKE_FROM, YAKE_WORDS = 80, 250

_ENDINGS = (
    "py|md|js|ts|tsx|jsx|json|jsonl|toml|ya?ml|ini|cfg|env|txt|csv|tsv|sql|sh|bash|ps1|rs|go|java|kt|rb|php|c|h|cc|cpp"
    "|hpp|cs|swift|html?|css|scss|xml|lock|log|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|ipynb|parquet|duckdb|db|zip|gz|whl"
)
_ADDRESS = re.compile(r"(?:https?|ftp|file)://\S+|\bwww\.\S+|[\w.+-]+@[\w-]+\.\w[\w.-]*")
_CODE = re.compile(
    rf"""
      `(?P<span>[^`\n]{{2,{LONGEST}}})`
    | (?<!\w)(?P<code>
        [A-Z][A-Z0-9]{{1,9}}-\d{{1,6}}(?![\w-])                        # ADR-016
      | --[a-z][\w-]+                                                  # --dry-run
      | (?:[\w.-]+/)*[\w-][\w.-]*\.(?:{_ENDINGS})(?![\w/])             # src/words.py
      | [A-Za-z_]\w*(?:\.\w+)+(?=[(\[])                                # os.environ[
      | [A-Za-z]\w*_\w+(?:\.\w+)*                                      # foo_bar.baz
      | [A-Za-z]*[a-z][A-Z][A-Za-z0-9]*                                # DuckDB, camelCase
      | C\+\+|[CF]\#|\.NET\b
      | [A-Z]\d+[a-z][A-Za-z0-9]*|[A-Za-z]+[a-z]\d+[A-Za-z0-9]*        # K8s, utf8
      | [A-Z][A-Z0-9]{{1,9}}(?=s?(?!\w))                               # JWT, S3, JWTs
    )
    """,
    re.VERBOSE | re.ASCII,
)
_HEX = re.compile(r"[0-9a-fA-F]{6,}|[0-9A-HJKMNP-TV-Z]{26}")
_KATAKANA = re.compile("[\u30a1-\u30fa][\u30a1-\u30fa\u30fc]{2,}")
_LINKED = re.compile(r"\[\[([^\]|#\n]+)")
_WORD = re.compile(r"[^\W\d_](?:[\w&]|['’-](?=\w))*")
_JOINING = frozenset({"of", "de", "del", "da", "van", "von", "der", "den", "la", "le", "the", "&"})
_EDGES, _DULL, _LOUD = STOPWORDS | TIME | _JOINING, STOPWORDS | OPENERS, STOPWORDS | NOT_ACRONYMS
_OPENING = re.compile(r"[.!?:;…。！？\n—–•|>*#\"“«(-]")
_VERBAL = re.compile(r".{2,}(?:ed|ing|ly)")
_SIBILANT, _PLURAL = re.compile(r"(?:ss|x|ch|sh|zz)es$"), re.compile(r"\w{2}(?<![sui])(?<!ie)s$")
_NO_PLURALS = frozenset({"news", "kubernetes", "postgres", "aws", "sales", "always"})
_NOT_A_NAME = re.compile(r".{3,}(?:ed|ing|ly|tions?|ments?|ness|ities|ity|able|ible|ful|less|ous)")


@dataclass(frozen=True, slots=True)
class _Token:
    """One word. `opens`: it stands where a capital says nothing; `near`: one space from the word before."""

    text: str
    opens: bool
    near: bool

    @property
    def word(self) -> str:
        """In lower case, without the ending of a possessive."""
        return self.text.removesuffix("'s").removesuffix("’s").lower()

    @property
    def capital(self) -> bool:
        """Whether it is written like a name; `S3-based` is not."""
        return self.text[0].isupper() and not self.text.rpartition("-")[2][:1].islower()


def entities(text: str) -> tuple[str, ...]:
    """At most `MOST` entities, the most important first; order and spelling depend on the text alone.

    >>> entities("JWT token expiration bug")[0], entities("Decided it. The end.")
    ('JWT', ())
    """
    body = _ADDRESS.sub(" ", prose(text))
    tokens = list(_tokens(body))
    names = [*_linked(body), *_names(tokens)]
    found: dict[str, list[str | int]] = {}
    for weight, group in ((4, _code(body)), (3, names), (1, _phrases(tokens, body))):
        for name in group:
            if (slug := slug_of(name)) and len(name) <= LONGEST:
                entry = found.setdefault(slug, [name, weight, 0])
                entry[2] = min(int(entry[2]) + 1, 4)
    ranked = sorted(found.values(), key=lambda e: -int(e[1]) - int(e[2]))
    return tuple(str(name) for name, *_ in ranked[:MOST])


@cache
def _signs() -> dict[int, str]:
    return str.maketrans({"+": "plus", "#": "sharp"})


def slug_of(entity: str) -> str:
    """The form under which spellings of one entity meet: NFC, case folded, words joined by hyphens.

    >>> slug_of("Refresh Token"), slug_of("refresh_token"), slug_of("C++"), slug_of("Zürich")
    ('refresh-token', 'refresh-token', 'cplusplus', 'zürich')
    """
    folded = unicodedata.normalize("NFC", entity.casefold()).translate(_signs())
    kept = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    return "-".join("".join(kept).split())


def _tokens(body: str) -> Iterator[_Token]:
    last = 0
    for match in _WORD.finditer(body):
        gap = body[last : match.start()]
        yield _Token(match[0], last == 0 or bool(_OPENING.search(gap)), gap == " ")
        last = match.end()


def _code(body: str) -> Iterator[str]:
    """Names by their shape."""
    for match in _CODE.finditer(body):
        if span := match["span"]:
            name = span.strip().removesuffix("()")
            if 0 < len(name.split()) <= 3 and name.lower() not in _DULL:
                yield name
        elif not _mere(match["code"]) and not _shouted(body, match):
            yield match["code"]


def _mere(name: str) -> bool:
    """Whether it is a digest, a quarter, an emphasis."""
    return bool(_HEX.fullmatch(name) and any(map(str.isdigit, name))) or name.lower() in NOT_ACRONYMS


def _shouted(body: str, match: re.Match[str]) -> bool:
    """Whether capitals stand amid capitals of common words: `DO NOT RESTART THIS NODE`."""
    if not match["code"].isupper() or not match["code"].isalpha():
        return False
    around = (
        body[max(0, match.start() - 24) : match.start()].split()[-1:],
        body[match.end() : match.end() + 24].split()[:1],
    )
    return any(w.isupper() and len(w) > 1 and w.lower() in _LOUD for side in around for w in side)


def _linked(body: str) -> Iterator[str]:
    """Notes that a person linked to, and words in Katakana, which are names or terms."""
    for match in _LINKED.finditer(body):
        yield match[1].strip().rpartition("/")[2]
    yield from _KATAKANA.findall(body)


def _names(tokens: list[_Token]) -> Iterator[str]:
    """Runs of capitalised words that no rule of writing explains."""
    small = {t.text for t in tokens if not t.capital}
    sure = {t.word for t in tokens if t.capital and not t.opens}
    for at, run in _runs(tokens):
        following = tokens[at].word if at < len(tokens) and tokens[at].near and not tokens[at].opens else ""
        kept = _trimmed(run)
        if len(kept) == 1 and _is_name(kept[0], following, small, sure):
            yield kept[0].text.removesuffix("'s").removesuffix("’s")
        elif 1 < len(kept) <= 4 and not all(t.text.isupper() for t in kept):
            yield " ".join(t.text for t in kept).removesuffix("'s").removesuffix("’s")


def _runs(tokens: list[_Token]) -> Iterator[tuple[int, list[_Token]]]:
    """(index after it, capitalised words one space apart); `of` and the like may stand inside."""
    at = 0
    while at < len(tokens):
        run = [tokens[at]] if tokens[at].capital else []
        at += 1
        while run and (step := _continues(run[-1], tokens[at : at + 2])):
            run += tokens[at : at + step]
            at += step
        if run:
            yield at, run


def _continues(last: _Token, two: list[_Token]) -> int:
    """How many of the next two words belong to the same name: `Ana` + `Lopez`, `Bank` + `of England`; no possessive."""
    if not two or not two[0].near or "'" in last.text or "’" in last.text:
        return 0
    if two[0].capital:
        return 1
    return 2 if two[0].text in _JOINING and len(two) > 1 and two[1].near and two[1].capital else 0


def _trimmed(run: list[_Token]) -> list[_Token]:
    """The run without common words at its ends."""
    first, last = 0, len(run)
    while first < last and _common(run[first]) and not _naming(run[first : first + 2]):
        first += 1
    while last > first and run[last - 1].word in _EDGES:
        last -= 1
    return run[first:last]


def _naming(two: list[_Token]) -> bool:
    """Whether it opens a name such as `New York`; at the start of a sentence that cannot be told."""
    return len(two) > 1 and two[0].word in NAMING and not two[0].opens


def _common(token: _Token) -> bool:
    word = token.word.partition("'")[0].partition("’")[0]
    if word in STOPWORDS or word in TIME:
        return True
    return token.opens and (word in OPENERS or bool(_NOT_A_NAME.fullmatch(word)))


def _is_name(token: _Token, following: str, small: set[str], sure: set[str]) -> bool:
    """Whether one capitalised word is a name: not common, and either inside a sentence or doing what people do."""
    if len(token.word) < 2 or token.text.removesuffix("s").isupper() or token.word in small or token.word in OPENERS:
        return False
    if not token.opens or token.word in sure or token.text.endswith(("'s", "’s")):
        return True
    return following in PERSON_VERBS or following in AUXILIARIES


def _phrases(tokens: list[_Token], body: str) -> list[str]:
    """Up to `MOST_PHRASES` phrases of common words."""
    found = _by_yake(body) if len(tokens) >= YAKE_FROM else _by_lists(tokens)
    return list(dict.fromkeys(found))[:MOST_PHRASES]


def _by_lists(tokens: list[_Token]) -> Iterator[str]:
    """Pairs of neighbouring words, both likely nouns or what qualifies nouns."""
    for one, two in pairwise(tokens):
        if two.near and not two.opens and _telling(one) and _telling(two) and not _VERBAL.fullmatch(two.word):
            yield f"{one.word} {_singular(two.word)}"


def _telling(token: _Token) -> bool:
    word = token.text.lower()
    common = word in STOPWORDS or word in TIME or word in BREAKERS or word in PERSON_VERBS
    return (
        not common
        and (token.opens or not token.capital)
        and len(word) > 2
        and word.isalpha()
        and not word.endswith("ly")
        and not token.text.isupper()
    )


def _by_yake(body: str) -> Iterator[str]:
    """Pairs of common words ranked by YAKE (Campos et al., 2020); pairs, as in short texts, so that the two meet."""
    import yake  # noqa: PLC0415 - 0.2 s that short texts need not pay

    # A new extractor each time: its caches are neither bounded nor safe to share between threads.
    extractor = yake.KeywordExtractor(lan="en", n=2, top=6 * MOST_PHRASES, stopwords=_EDGES)
    for phrase, _ in extractor.extract_keywords(" ".join(body.split(maxsplit=YAKE_WORDS)[:YAKE_WORDS])):
        words = [_Token(word, opens=False, near=True) for word in phrase.split()]
        if len(words) > 1 and all(map(_telling, words)) and not _VERBAL.fullmatch(words[1].word):
            yield f"{words[0].word} {_singular(words[1].word)}"


def _singular(word: str) -> str:
    """A plural without its `s`, so that `video games` meets `video game`; words in `ies` stay (`movies`, `series`)."""
    if _SIBILANT.search(word):
        return word[:-2]
    return word[:-1] if _PLURAL.search(word) and word not in _NO_PLURALS else word
