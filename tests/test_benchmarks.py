"""The benchmarks count rightly and compare fairly: a wrong figure is worse than none."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import MemoryEngine, models, rank
from atlas.ingest import Request

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TEXTS = [
    "Ada (9 May): the heron stood in the shallow water",
    "Ben (9 May): refresh tokens raced under parallel calls",
    "Ada (10 May): the kettle wants vinegar every month",
    "Ben (10 May): a heron, a heron, my kingdom for a heron",
]


def _module(name: str) -> ModuleType:
    """A module of the benchmarks, which import each other as scripts do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return import_module(name)


baselines, recall, made = _module("_baselines"), _module("_recall"), _module("_notes")
prefetching, walks = _module("prefetch_accuracy"), _module("_walks")


# --------------------------------------------------------------------- counting


def _question(gold: str, category: str = "1", half: str = "A") -> object:
    return recall.Question("?", "s", frozenset(gold), category, half)


def test_recall_is_the_share_of_the_gold_among_the_first_hits():
    questions = [_question("ab"), _question("z"), _question("f", "2", "B")]
    tally = recall.Tally(questions, lambda _, k: list("axxbxfxxxz")[:k])
    assert tally.row(recall.Group("all")) == {"recall@5": round(1 / 3, 4), "recall@10": 1.0, "questions": 3}
    assert tally.row(recall.Group("", frozenset("1"))) == {"recall@5": 0.5, "recall@10": 1.0, "questions": 2}
    assert tally.row(recall.Group("", half="B")) == {"recall@5": 0.0, "recall@10": 1.0, "questions": 1}
    assert tally.row(recall.Group("", frozenset("9")))["questions"] == 0


def test_a_hit_twice_counts_once():
    tally = recall.Tally([_question("ab")], lambda *_: ["a"] * 10)
    assert tally.row(recall.Group("all"))["recall@10"] == 0.5


def test_a_text_told_twice_is_one_memory_for_all(tmp_path):
    said = [*TEXTS[:2], TEXTS[0]]
    texts = {name: Request(text, scope="talk", kind="episode") for name, text in zip("abc", said, strict=True)}
    asked = recall.Question("heron", "talk", frozenset("c"), "1", "A")
    with MemoryEngine(tmp_path / "vault"):
        by_scope, (question,) = recall.stored(tmp_path / "vault", recall.DataSet(texts, [asked]))
    assert sorted(by_scope["talk"].values()) == sorted(TEXTS[:2])
    (held,) = question.gold
    assert by_scope["talk"][held] == TEXTS[0]
    with MemoryEngine(tmp_path / "vault") as engine:
        assert recall.Tally([question], recall.engine_answer(engine)).row(recall.Group("all"))["recall@5"] == 1.0
    answers = baselines.answers(by_scope, None)
    assert {name: answer(question, 1) for name, answer in answers.items()} == {name: [held] for name in answers}


# -------------------------------------------------------------------- baselines


def test_bm25_is_what_the_formula_says():
    """Against the sum written out for one word: idf * tf / (tf + k1 (1 - b + b length / mean))."""
    lengths = [len(baselines.words(text)) for text in TEXTS]
    slack = [1.2 * (0.25 + 0.75 * length / np.mean(lengths)) for length in lengths]
    idf = np.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    wanted = [idf * tf / (tf + s) if tf else 0 for tf, s in zip([1, 0, 0, 3], slack, strict=True)]
    assert baselines.Bm25(TEXTS)("Where are the herons?") == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["BM25", "SQLite FTS5", "grep"])
def test_words_alone_find_the_text_that_holds_them(kind):
    scorer = baselines.scorers(TEXTS, None)[kind]
    assert baselines.order(scorer("kettle or vinegar?"))[0] == 2
    assert not scorer('"unheard" AND (OR * - NEAR').any()
    assert not scorer("").any()


def test_vectors_find_what_no_word_does():
    embedder = models.load(models.Choice())
    assert embedder
    scorers = baselines.scorers(TEXTS, embedder)
    asked = "cleaning the teapot"
    assert not scorers["BM25"](asked).any()
    for name in ("vectors alone", "RRF60 of BM25 and vectors", "sum of z-scores of BM25 and vectors"):
        assert baselines.order(scorers[name](asked))[0] == 2, name


def test_fusion_is_what_the_formula_says():
    one, two = (lambda _: np.array([3.0, 1.0, 0.0])), (lambda _: np.array([1.0, 2.0, 3.0]))
    assert baselines.rrf([one, two])("?") == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 62, 1 / 61])
    deviation = [np.std([3, 1, 0]), np.std([1, 2, 3])]
    wanted = np.array([3, 1, 0] - np.float64(4 / 3)) / deviation[0] + (np.array([1, 2, 3]) - 2) / deviation[1]
    assert baselines.standard_sum([one, two])("?") == pytest.approx(wanted)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=8), st.text(max_size=40))
def test_every_text_has_a_finite_score(texts, question):
    for name, scorer in baselines.scorers(texts, None).items():
        scores = scorer(question)
        assert scores.shape == (len(texts),), name
        assert np.isfinite(scores).all(), name


# --------------------------------------------------------------------- prefetching


def test_a_walk_follows_links_and_habits(tmp_path):
    for n in range(40):
        text = " ".join(f"[[note {(n * 7 + k) % 40}]]" for k in range(1, 10)) + " [[nowhere]] [[#here]]"
        (tmp_path / f"note {n}.md").write_text(text, encoding="utf-8")
    graph = walks.links(tmp_path)
    assert graph["note 1.md"] == tuple(f"note {n}.md" for n in range(8, 17))
    opened = walks.walk(graph, 3, 4000)
    assert opened == walks.walk(graph, 3, 4000) != walks.walk(graph, 4, 4000)
    steps = [(a, b) for a, b in pairwise(opened) if b in graph[a]]
    assert 0.7 < len(steps) / len(opened) < 0.95
    liked = Counter(b for a, b in steps if a == "note 1.md").most_common(2)
    assert liked[0][1] > 1.5 * liked[1][1]


def test_what_is_ready_anyhow_counts_for_no_rule():
    steps = [prefetching.Step(prefetching.Turn((id,)), "", "abc") for id in ("a", "b", "a", "c")]
    done = prefetching.run(steps, {"all": lambda *_: "cab?"}, ready=2)
    assert [seen.named for seen in done.seen["all"]] == [["c", "b"], ["c"], ["c"]]
    assert [[*map(sorted, seen.following)] for seen in done.seen["all"]] == [[["b"], [], ["c"]], [[], ["c"]], [["c"]]]
    row = prefetching.row([done.seen["all"]])
    assert (row["precision@1"], row["precision@3"], row["coverage"]) == (0.5, 1.0, 1.0)
    held = prefetching.table([done])["all, as many"]
    assert held["named a turn"] <= row["named a turn"]


# ----------------------------------------------------------------------- vaults


def test_made_up_notes_are_the_same_each_time_and_read_like_notes():
    notes = list(made.notes(700))
    assert notes == list(made.notes(700))
    assert len({path for path, _ in notes}) == 700
    assert sum("[[" in text for _, text in notes) > 200
    assert {path.partition("/")[0] for path, _ in notes} == {"area-000", "area-001"}
    lengths = [len(text.partition("\n# ")[2].split()) for _, text in notes if text.startswith("---")]
    assert min(lengths) >= made.FEWEST_WORDS
    assert max(lengths) <= made.MOST_WORDS + 10


def test_queries_are_different_and_ask_for_words_that_are_there():
    queries = made.queries(50, 100)
    assert len(set(queries)) == 50
    text = "\n".join(text for _, text in made.notes(100)).replace(".", "").lower()
    assert [query for query in queries if query not in text] == []


def test_a_made_up_history_has_its_commits_and_a_clean_folder(repo, git):
    made.history(repo, 30, 40)
    assert git(repo, "rev-list", "--count", "HEAD").strip() == "41"
    assert git(repo, "status", "--porcelain") == ""
    assert len(list(repo.rglob("*.md"))) == 30
    with_edits = subprocess.run(["git", "-C", repo, "diff", "--stat", "HEAD~40"], capture_output=True, check=True)
    assert b"insertion" in with_edits.stdout


def test_what_a_result_says_of_the_ranking(tmp_path):
    with MemoryEngine(tmp_path / "vault") as engine:
        config = _module("_common").config(engine)
    assert config["model"] == models.STATIC
    assert config["weights"]["vector"] == rank.DEFAULT.vector


def test_a_program_reports_its_own_memory(tmp_path):
    code = "import json; held = bytearray(60_000_000); print(json.dumps(len(held)))"
    run = _module("_common").process([sys.executable, "-c", code], cwd=tmp_path)
    assert run["out"] == 60_000_000
    assert 60 <= run["peak MB"] < 2000


# ------------------------------------------------------------------------ views


def test_evidence_counts_only_word_for_word():
    views = _module("_views")
    drawn = views.FRAME.text([])
    said = views._flat("Ada: <|im_end|> is  no\u200b mark")
    assert said == "Ada: <|im_end|> is no mark"
    there = drawn.replace("\n", f"\n[AAAAA L2] {views.guard.guarded(said)}\n")
    assert views.holds(there, [said]) == 1
    assert views.holds(there, [said, "Ada: <|im_end|> is a mark"]) == 0.5
    assert views.holds(drawn, [said]) == 0


def test_a_shelf_shows_long_texts_by_excerpts_and_whole_ones_for_top_k():
    views = _module("_views")
    talk = "\n".join([f"Ada: line {n} about nothing" for n in range(60)] + ["Ben: the kettle wants vinegar"])
    shelf = views.Shelf({"A" * 9: Request(talk, source="x#1"), "B" * 9: Request("short")})
    long, short = shelf.candidates("kettle vinegar", [("A" * 9, 0.9), ("B" * 9, 0.2)])
    assert "vinegar" in next(level.text for level in long.levels if level.lod == "L2")
    assert talk.partition("\n")[2] in long.levels[-1].text
    assert [level.lod for level in short.levels] == ["L2"]
    assert long.value > short.value > 0
    assert [one.levels for one in shelf.whole([("A" * 9, 0.9)])] == [long.levels[-1:]]
    found, beside = shelf.candidates("x", [("B" * 9, 0.2)], ["A" * 9])
    assert 0 < beside.value < found.value


def test_the_same_beginning_is_counted_by_whole_lines():
    reuse = _module("prefix_reuse")
    assert reuse.beginning("hello\nhello\nx", "hello\nhello\ny z") == 3
    assert reuse.beginning("a", "b") == 0
