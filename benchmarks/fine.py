"""The fine mode beside the fast one, and the weight of the tree: known items of a vault, and dialogues.

    python benchmarks/fine.py VAULT.tar.xz [locomo10.json] [weight …]

Known items: notes of the vault in the order of a hash of their paths, each asked for in three ways by words of its own
that stand in no other note: a sentence from the middle without every third word; every third word and the name of the
folder; the middle heading and the name of the folder. LoCoMo is laid out with each session a folder and each turn a
note. Half A is what the weight was chosen on (notes by another bit of the hash, dialogues 1 to 5), half B the rest.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import _common
import locomo
from _recall import DataSet, Group, Question, Tally, engine_answer, stored

from atlas import MemoryEngine, rank

NOTES = 300
_WORD = re.compile(r"\w[\w'’-]*")
_FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_NO_PROSE = re.compile(r"```.*?```|<[^>]+>|\]\([^)]*\)|https?://\S+|%%.*?%%", re.DOTALL)
_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")

Often = Callable[[str], int]


def main(archive: Path, dialogues: Path | None, weights: list[float]) -> None:
    """Measure both modes on all data; with weights, the fine mode with each."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temp:
        vault = _common.unpack(archive, Path(temp) / "vault")
        places = [("known items", vault, list(known_items(vault)))]
        _common.git(vault, "init", "--quiet", "--initial-branch=main")
        _common.atlas("init", cwd=vault)
        if dialogues:
            places.append(("locomo", *by_session(Path(temp) / "locomo", dialogues)))
        for name, root, questions in places:
            key = "path" if name == "known items" else "id"
            figures[name] = {"fast": measured(root, questions, key, "fast")}
            for weight in weights or [rank.DEFAULT.tree]:
                rank.DEFAULT = replace(rank.DEFAULT, tree=weight)
                figures[name][f"fine, tree {weight:g}"] = measured(root, questions, key, "fine")
    _common.keep("fine", figures, data=archive.name, sha256=_common.sha256(archive))


def measured(root: Path, questions: list[Question], key: str, mode: str) -> dict[str, Any]:
    """Recall of one mode by category and half, and its times."""
    with MemoryEngine(root) as engine:

        def by_path(question: Question, k: int) -> list[str]:
            return [hit.path for hit in engine.retrieve(question.text, k=k, mode=mode)]

        tally = Tally(questions, by_path if key == "path" else engine_answer(engine, mode=mode), ks=(1, 5, 10))
    kinds = sorted({q.category for q in questions})
    rows = tally.rows(Group(f"{kind}, {half}", frozenset({kind}), half) for kind in kinds for half in "AB")
    return {**rows, "search seconds": _common.spread(tally.seconds)}


# ------------------------------------------------------------------ known items


def known_items(vault: Path) -> Iterator[Question]:
    """The questions, each with the path of the note it is made of."""
    files = [f for f in vault.rglob("*.md") if not any(p.startswith(".") for p in f.relative_to(vault).parts)]
    texts = {f.relative_to(vault).as_posix(): f.read_text("utf-8", "replace") for f in files}
    count = Counter(line for text in texts.values() for line in {words(part) for part in parts(text)})
    for kind, ask in (("sentence", sentence), ("place", place), ("heading", heading)):
        asked = 0
        for path in sorted(texts, key=digest):
            question = ask(texts[path], path, lambda part: count[words(part)])
            if question and asked < NOTES:
                asked += 1
                yield Question(question, "", frozenset([path]), kind, "BA"[digest(path)[0] & 1])


def digest(path: str) -> bytes:
    """What orders the notes, and parts them into halves, the same way everywhere."""
    return hashlib.blake2b(path.encode(), digest_size=8).digest()[::-1]


def sentence(text: str, path: str, often: Often) -> str:
    """The words of the middle sentence without every third."""
    del path
    return " ".join(word for n, word in enumerate(middle(text, often)) if n % 3 != 2)


def place(text: str, path: str, often: Often) -> str:
    """Every third word of the middle sentence, and the name of the folder."""
    found = middle(text, often)[::3]
    return " ".join([*found, folder(path)]) if found and folder(path) else ""


def heading(text: str, path: str, often: Often) -> str:
    """The middle heading, and the name of the folder."""
    marks = [m[1] for m in re.finditer(r"^#{1,6}\s+(.+)$", _FRONTMATTER.sub("", text), re.MULTILINE)]
    found = [words(m) for m in marks if words(m) and often(m) == 1]
    return f"{found[len(found) // 2]} {folder(path)}" if found and folder(path) else ""


def middle(text: str, often: Often) -> list[str]:
    """The words of the middle sentence of those that are long enough and stand in no other note, at most 30."""
    found = [
        part
        for part in parts(text)
        if len(_WORD.findall(part)) >= 9 and not part.lstrip().startswith(("#", "|")) and often(part) == 1
    ]
    return _WORD.findall(found[len(found) // 2])[:30] if found else []


def parts(text: str) -> list[str]:
    """Lines and sentences of the body, without code, markup and addresses."""
    return _ENDS.split(_NO_PROSE.sub(" ", _FRONTMATTER.sub("", text)))


def words(text: str) -> str:
    """The text without marks."""
    return " ".join(_WORD.findall(text))


def folder(path: str) -> str:
    """The words of the name of the folder a note lies in."""
    return words(re.sub(r"[\d.]+", " ", Path(path).parent.name))


# -------------------------------------------------------------------- dialogues


def by_session(root: Path, file: Path) -> tuple[Path, list[Question]]:
    """LoCoMo with each session a folder; the questions of all dialogues."""
    data = locomo.turns(file)
    texts = {
        key: replace(r, scope=f"{r.scope}/{str(r.source).partition('#')[0].partition('/')[2]}")
        for key, r in data.texts.items()
    }
    with MemoryEngine(root):
        _common.identify(root)
    _, questions = stored(root, DataSet(texts, data.questions))
    return root, [replace(q, category="adversarial" if q.category == "5" else "categories 1-4") for q in questions]


if __name__ == "__main__":
    files = [Path(word) for word in sys.argv[1:] if not re.fullmatch(r"[\d.]+", word)]
    if not files:
        sys.exit(__doc__)
    main(files[0], files[1] if len(files) > 1 else None, [float(w) for w in sys.argv[1:] if re.fullmatch(r"[\d.]+", w)])
