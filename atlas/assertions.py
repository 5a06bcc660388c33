"""A sentence taken apart: the numbers, dates, names and denials in it. Pure; rules and word lists only."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache

from atlas.dates import when
from atlas.models.languages import (
    DENIALS,
    ENDED,
    FUNCTION_WORDS,
    GLUED_DENIALS,
    MONTHS,
    NUMERALS,
    RELATIVE,
    WEEKDAYS,
)
from atlas.models.lexicon import AUXILIARIES, BREAKERS, NOT_ACRONYMS, OPENERS, PERSON_VERBS, STOPWORDS, TIME
from atlas.models.offline import sentences


class Kind(StrEnum):
    """What a fact is."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    DENIAL = "denial"
    WORD = "word"


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """One fact. `key` is the same for every spelling; `near` are the words it must stand with; `said` is as typed."""

    kind: Kind
    key: str
    near: frozenset[str] = field(default=frozenset(), compare=True)
    said: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence taken apart. `line` is its words, folded, with a space around each; `words` are those that tell."""

    facts: tuple[Fact, ...]
    line: str
    words: frozenset[str]

    @property
    def denials(self) -> tuple[Fact, ...]:
        """What it denies."""
        return tuple(fact for fact in self.facts if fact.kind == Kind.DENIAL)

    def has(self, words: Iterable[str]) -> bool:
        """Whether all these words, or runs of words, stand in it."""
        return all(f" {word} " in self.line for word in words)


@dataclass(frozen=True, slots=True)
class _Token:
    """One word, number or code name. `opens`: a capital says nothing there."""

    text: str
    start: int
    opens: bool
    clause: int

    @property
    def word(self) -> str:
        """As it is compared."""
        return folded(self.text)

    def follows(self, other: _Token) -> bool:
        """Whether it stands one space behind the other."""
        return self.start == other.start + len(other.text) + 1


# Han and kana run on without spaces; whatever has no capitals gives no names away, so its words themselves are kept.
_GLUED = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNCASED = re.compile(f"[{_GLUED}\u0590-\u109f\u1100-\u11ff\u1780-\u17ff\uac00-\ud7ff]+")
_TOKEN = re.compile(
    rf"""
      (?:https?|ftp|file)://[^\s<>"')\]]*[^\s<>"')\].,;:!?] | [\w.+-]+@[\w-]+\.\w[\w.-]*      # addresses
    | (?<![\w/])(?:~|\.{{1,2}})?/[\w./-]*\w | \w[\w.-]*(?:/[\w.-]*\w)+       # paths
    | (?<!\w)--[a-z][\w-]+
    | (?:(?<![\w)])[-\u2212+])?[$€£¥]?\d+(?:[.,:/]\d+)*(?:\s?[%‰°€£¥]|[A-Za-zµ]\w*)?
    | [^\W\d_{_GLUED}](?:[^\W{_GLUED}]|[.'’_-](?=[^\W{_GLUED}]))*(?:\+\+|\#)?
    | [{_GLUED}]+
    """,
    re.VERBOSE,
)
_OPENING = re.compile(r"[:\"“«„(\[*•–—>|]\s*$")
_CLAUSE = re.compile(r"[,;:()–—、，；：]|\b(?:but|while|whereas|although|aber|mais|pero)\b", re.IGNORECASE)
_CODE = re.compile(r"\d|_|[a-z][A-Z]|[/@#+]|^--|\w\.\w")
_NUMBER = re.compile(r"([-\u2212+]?)([$€£¥]?)(\d[\d.,:/]*)\s?(.*)", re.DOTALL)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NOT_A_NAME = re.compile(r".{3,}(?:ed|ing|ly|tions?|ments?|ness|ities|ity|able|ible|ful|less|ous)")
_COMMON = STOPWORDS | OPENERS | TIME | PERSON_VERBS | AUXILIARIES | BREAKERS
_MARKS = "\u0300-\u036f"

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.)?"
_COUNT = r"a|an|the|one|two|three|four|five|six|seven|eight|nine|ten|a\s+few|a\s+couple\s+of|\d+"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<iso>\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)(?![\d-])",
        r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})日)?",
        r"(?P<month>\d{1,2})月(?P<day>\d{1,2})日",
        r"(?<![\d.])(?P<day>[0-3]?\d)\.\s?(?P<month>[01]?\d)\.\s?(?P<year>\d{4})(?!\d)",
        rf"(?<![\w.]){_DAY}(?:\s+(?:of|de))?\s+(?P<month>{_MONTH})\b\.?,?(?:\s+(?:of\s+|de\s+|del\s+)?(?P<year>\d{{4}})\b)?",
        rf"\b(?P<month>{_MONTH})\.?\s+{_DAY}(?![\d:%])\b(?:,?\s+(?P<year>\d{{4}})\b)?",
        rf"\b(?P<month>{_MONTH})\.?,?\s+(?:of\s+|de\s+)?(?P<year>\d{{4}})\b",
        rf"\b(?:in|since|until|till|by|last|next|this|during|seit|im|bis|en|depuis|desde)\s+(?P<month>{_MONTH})\b",
        r"(?<![\d:.])(?P<hour>[0-2]?\d):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<half>[ap])\.?m\b\.?)?",
        r"(?<![\d:.])(?P<hour>[01]?\d)\s?(?P<half>[ap])\.?m\b\.?",
        r"\b(?P<relative>(?:last|past|previous|this|next)\s+(?:week|weekend|month|year|spring|summer|autumn|fall|winter))\b",
        rf"\b(?P<relative>(?:{_COUNT})\s+(?:day|week|fortnight|month|year)s?\s+ago)\b",
        rf"(?:\b(?P<which>last|next|this)\s+)?(?<![{_GLUED}])\b(?P<weekday>{'|'.join(WEEKDAYS)})\b",
        rf"(?P<relative>{'|'.join(r for r in RELATIVE if not r.isascii() and _UNCASED.match(r))})",
        rf"\b(?P<relative>{'|'.join(r for r in RELATIVE if not _UNCASED.match(r))})\b",
    )
)


def folded(text: str) -> str:
    """A word as it is compared: compatibility forms unified, case and the ending of a possessive removed."""
    word = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return word.removesuffix("'s").removesuffix("'")


@lru_cache(maxsize=512)
def parted(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text, each with its facts."""
    small = frozenset(re.findall(r"(?<![^\W\d_])[a-zß-ÿ][^\W\d_]+", text))
    return tuple(_sentence(said, small) for said in sentences(text))


def _sentence(said: str, small: frozenset[str]) -> Sentence:
    """One sentence: its names first, since numbers and dates belong to them."""
    every = list(_tokens(said))
    spans = list(_dates(said))
    rest = [t for t in every if not any(a <= t.start < b for a, b, _ in spans)]
    names = list(_names(rest, small))
    near = frozenset(fact.key for fact in names)
    denied = (replace(fact, near=fact.near | near) for fact in _denials(every))
    found = [*names, *denied, *_glued_denials(said)]
    found += [Fact(Kind.NUMBER, key, near - {key}, text) for key, text in _numbers(rest)]
    found += [Fact(Kind.DATE, key, near, said[a:b].strip()) for a, b, key in spans]
    line = f" {' '.join(t.word for t in every)} "
    words = frozenset(t.word for t in every if t.word not in FUNCTION_WORDS or _letter(t))
    return Sentence(tuple(dict.fromkeys(found)), line, words)


def _tokens(said: str) -> Iterator[_Token]:
    last, clause, opens = 0, 0, True
    for match in _TOKEN.finditer(said):
        gap = said[last : match.start()]
        clause += bool(_CLAUSE.search(gap)) or bool(_CLAUSE.fullmatch(match[0]))
        opens = not any(map(str.isalnum, said[: match.start()])) or bool(_OPENING.search(gap))
        yield _Token(match[0], match.start(), opens, clause)
        last = match.end()


def _dates(said: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, key) of each date and time, none inside another."""
    taken: list[tuple[int, int]] = []
    for form in _DATES:
        for match in form.finditer(said):
            start, end = match.span()
            key = "" if any(start < b and a < end for a, b in taken) else _date(match.groupdict())
            if key:
                taken.append((start, end))
                yield start, end, key


def _date(words: Mapping[str, str | None]) -> str:
    """The form under which spellings of one date meet; "" if it is none."""
    if words.get("iso"):
        moment = when(words["iso"] or "")
        return "" if moment is None else moment.isoformat()[: 10 if len(words["iso"] or "") <= 10 else 16]
    if words.get("relative"):
        return " ".join(folded(words["relative"] or "").split())
    if words.get("weekday"):
        return f"{(words.get('which') or '').lower()} weekday {WEEKDAYS[folded(words['weekday'] or '')]}".strip()
    if words.get("hour"):
        half = (words.get("half") or "").lower()
        hour = int(words["hour"] or 0) % 12 + 12 * (half == "p") if half else int(words["hour"] or 0)
        return f"{hour:02}:{words.get('minute') or '00'}"
    month = words.get("month") or ""
    number = int(month) if month.isdigit() else MONTHS[folded(month)]
    day = f"-{int(words['day'] or 0):02}" if words.get("day") else ""
    return f"{words.get('year') or '-'}-{number:02}{day}"


def _names(tokens: Sequence[_Token], small: frozenset[str]) -> Iterator[Fact]:
    """Code names, addresses and paths; runs of capitalised words; every word of a script without capitals."""
    run: list[_Token] = []
    for at, token in enumerate(tokens):
        if run and not (token.follows(run[-1]) and _capital(token, small) and not run[-1].text.endswith(("'s", "’s"))):
            yield _name(run)
            run = []
        if _UNCASED.match(token.text) or _coded(token):
            yield Fact(Kind.NAME, token.word, said=token.text)
        elif _capital(token, small):
            # A letter alone is a word too, once case is gone: it is a name with what it is the letter of, `node A`.
            lettered = not run and _letter(token) and at and token.follows(tokens[at - 1])
            run += [tokens[at - 1], token] if lettered else [token]
    if run:
        yield _name(run)


def _name(run: Sequence[_Token]) -> Fact:
    return Fact(Kind.NAME, " ".join(t.word for t in run), said=" ".join(t.text for t in run))


def _coded(token: _Token) -> bool:
    """Whether it is a name by its shape: `auth_service.py`, `K8s`, `ADR-016`, `--dry-run`; no number with a unit."""
    return not _starts_with_digit(token.text) and bool(_CODE.search(token.text))


def _starts_with_digit(text: str) -> bool:
    return text.lstrip("+-\u2212$€£¥")[:1].isdigit()


def _capital(token: _Token, small: frozenset[str]) -> bool:
    """Whether a word is written as a name and no rule of writing explains it."""
    text, word = token.text, token.word
    if not text[0].isupper() or _coded(token):
        return False
    plain = word.partition("'")[0]
    if plain in STOPWORDS or plain in DENIALS or (text.isupper() and plain in NOT_ACRONYMS):
        return _letter(token)
    if not token.opens or text.endswith(("'s", "’s")):
        return True
    return plain not in small and plain not in _COMMON and not _NOT_A_NAME.fullmatch(plain)


def _numbers(tokens: Sequence[_Token]) -> Iterator[tuple[str, str]]:
    """(key, as said) of each number: the word before it, its value, its unit or the word behind it."""
    for at, token in enumerate(tokens):
        value, unit = _value(token)
        if not value:
            continue
        before = next((t for t in reversed(tokens[:at]) if t.clause == token.clause and _telling(t)), None)
        behind = next((t for t in tokens[at + 1 : at + 2] if t.follows(token) and not unit), None)
        unit = unit or (behind.word if behind and _telling(behind) else "")
        close = tokens[at - 1] if at and token.follows(tokens[at - 1]) else None
        lead = before or close
        said = " ".join(t.text for t in (close, token, behind if unit else None) if t)
        yield f"{lead.word if lead else ''}·{value}·{unit}", said


def _value(token: _Token) -> tuple[str, str]:
    """(value, unit) of a number in digits or words; ("", "") of anything else."""
    if token.word in NUMERALS:
        return NUMERALS[token.word], ""
    match = _NUMBER.fullmatch(token.text)
    if not match or not _starts_with_digit(token.text):
        return "", ""
    sign, currency, digits, unit = match.groups()
    plain = digits.replace(",", "") if _THOUSANDS.fullmatch(digits) else digits
    unit = folded(unit)
    return sign.replace("\u2212", "-").strip("+") + plain, currency + ("" if unit in {"st", "nd", "rd", "th"} else unit)


def _telling(token: _Token) -> bool:
    return (token.word not in STOPWORDS or _letter(token)) and not _value(token)[0]


def _letter(token: _Token) -> bool:
    """Whether it is a letter used as a name: `node A`."""
    return len(token.text) == 1 and token.text.isupper() and token.text != "I" and not token.opens


def _denials(tokens: Sequence[_Token]) -> Iterator[Fact]:
    """Each denial with the telling words of its clause."""
    for at, token in enumerate(tokens):
        sense = _sense(token.word)
        if not sense:
            continue
        clause = [t for t in tokens if t.clause == token.clause]
        behind = tokens[at + 1].word if at + 1 < len(tokens) else ""
        if sense == "not" and (behind in ENDED or any(t.word == "anymore" for t in clause)):
            sense = "no longer"
        others = [t for t in clause if t is not token]
        words = [t for t in others if (t.word not in FUNCTION_WORDS or _letter(t)) and not _sense(t.word)] or others
        yield Fact(Kind.DENIAL, sense, frozenset(t.word for t in words), _span(token, words))


def _sense(word: str) -> str:
    """In which sense a word denies, "" if it does not; `not-so-great` denies as its first part does."""
    first, hyphen, _ = word.partition("-")
    return "not" if word.endswith("n't") else DENIALS.get(first if hyphen else word, "")


def _span(token: _Token, words: Sequence[_Token]) -> str:
    """The denial and what it denies, as said."""
    behind = [t.text for t in words if t.start > token.start]
    return " ".join([token.text, *behind] if behind else [*(t.text for t in words), token.text])


def _glued_denials(said: str) -> Iterator[Fact]:
    """Denials in scripts without spaces, each with its whole run."""
    for run in _UNCASED.findall(said):
        for piece, sense in GLUED_DENIALS.items():
            if piece in run:
                yield Fact(Kind.DENIAL, sense, frozenset({run}), run)
