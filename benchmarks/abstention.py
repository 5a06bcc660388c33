"""When to answer nothing: false answers against lost recall on LoCoMo, through the real engine.

    python benchmarks/abstention.py PATH/locomo10.json

Each turn is a memory, as in locomo.py. The questions of categories 1 to 4 have their answer in their dialogue. Those
without an answer are of three kinds: `other`, the same questions asked of another dialogue of the same half;
`nothing`, 40 questions about nothing that is said anywhere; and `adversarial`, category 5, whose answer is not there as
asked although the turns it names are about the same thing. The rule of `atlas/abstain.py` is fitted on dialogues 1 to 5
and its price is shown on 6 to 10: `lost` is the share of recall@10 that goes with the questions left unanswered,
`false` the share of questions without an answer that get one.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _common
import locomo
import numpy as np
from _recall import Question, stored

from atlas import MemoryEngine, abstain
from atlas.abstain import Evidence

K = 10
BARS = (0.0005, 0.001, 0.0025, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
NOTHING = """
Which port does the staging database listen on? / Why do refresh tokens race under parallel calls?
How is the index rebuilt after a crash? / What is the boiling point of ethanol?
Which flag makes the compiler treat warnings as errors? / Who signed the treaty of Westphalia?
How many moons does Neptune have? / What is the retention period of the audit log?
Which certificate expires in March? / How do we rotate the signing key?
What was decided about the sliding window? / Where does the deployment script keep its logs?
What is the capital of Mongolia? / How long may a lease stay open before it is revoked?
Which kernel version fixed the scheduler bug? / What is the tax rate for imported steel?
How often is the boiler descaled? / Which valve feeds the north tank? / What is the recall of run 42?
Who approved the change to the load balancer? / How is the checksum of a frame calculated?
Which tenant exceeded its quota last week? / What does error code E1043 mean? / When was the transistor invented?
What is the half-life of caesium-137? / Which library parses the configuration file? / How do I restart node A?
Where is the spare key of the server room? / What is the default timeout of the proxy?
Which branch holds the hotfix for the parser? / How thick is the insulation of the roof?
What does the contract say about liability? / Which algorithm orders the queue?
How many replicas does the ledger have? / What is the voltage of the backup battery?
Who maintains the firmware of the gateway? / What is the maximum payload of the drone?
Which regulation covers the storage of solvents? / How are the vectors normalised before the search?
What is the melting point of tungsten?
"""


@dataclass(frozen=True)
class Asked:
    """A question asked of a dialogue: its kind ("own" has an answer), its half, the evidence, recall@10 where known."""

    kind: str
    half: str
    evidence: Evidence
    recall: float = 0.0


def main(path: Path) -> None:
    """Store the dialogues, ask everything, fit the rule, print its price."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        with MemoryEngine(vault):
            _common.identify(vault)
        _, questions = stored(vault, locomo.turns(path))
        with MemoryEngine(vault) as engine:
            engine.refresh()
            asked = list(answers(engine, questions))
            config = _common.config(engine)
    chosen, held = ([a for a in asked if a.half == half] for half in "AB")
    figures: dict[str, Any] = {
        "fitted on dialogues 1-5": fitted(chosen),
        "in use": {"bias": abstain.BIAS, "held": abstain.HELD, "nearness": abstain.NEARNESS, "found": abstain.FOUND},
        "questions": {kind: sum(a.kind == kind for a in held) for kind in ("own", "other", "nothing", "adversarial")},
        "the rule, dialogues 1-5": price(chosen, [a.evidence.enough for a in chosen]),
        "the rule, dialogues 6-10": price(held, [a.evidence.enough for a in held]),
        "no word found and a low cosine, dialogues 6-10": price(held, [_by_cosine(a.evidence) for a in held]),
    }
    for bar in sorted(BARS):
        figures[f"confidence {bar}, dialogues 6-10"] = price(held, [a.evidence.confidence >= bar for a in held])
    _common.keep("abstention", figures, data=path.name, sha256=_common.sha256(path), config=config)


def answers(engine: MemoryEngine, questions: Sequence[Question]) -> Iterator[Asked]:
    """Every question asked of its own dialogue, of another of its half, and those about nothing asked of all."""
    nothing = [text.strip() for text in NOTHING.replace("\n", "/").split("/") if text.strip()]
    halves = dict.fromkeys((q.scope, q.half) for q in questions)
    for place, question in enumerate(questions):
        kind = "adversarial" if question.category == "5" else "own"
        yield ask(engine, question.text, question.scope, kind, question.half, question.gold)
        if kind == "own":
            others = [scope for scope, half in halves if half == question.half and scope != question.scope]
            yield ask(engine, question.text, others[place % len(others)], "other", question.half)
    for scope, half in halves:
        for text in nothing:
            yield ask(engine, text, scope, "nothing", half)


def ask(engine: MemoryEngine, text: str, scope: str, kind: str, half: str, gold: frozenset[str] = frozenset()) -> Asked:
    """One search that is not allowed to answer nothing."""
    found = engine.search(text, k=K, scope=scope, abstain=False)
    assert found.evidence is not None
    recall = len(gold & {hit.id for hit in found.hits}) / len(gold) if gold else 0.0
    return Asked(kind, half, found.evidence, recall)


def price(asked: Sequence[Asked], answered: Sequence[bool]) -> dict[str, float]:
    """Recall lost where nothing is answered, and false answers of each kind."""
    pairs = list(zip(asked, answered, strict=True))
    whole = sum(a.recall for a in asked if a.kind == "own")
    figures = {"lost": round(sum(a.recall for a, said in pairs if a.kind == "own" and not said) / whole, 4)}
    for kind in ("other", "nothing", "adversarial"):
        said = [s for a, s in pairs if a.kind == kind]
        figures[f"false {kind}"] = round(sum(said) / len(said), 4)
    return figures


def _by_cosine(evidence: Evidence) -> bool:
    """The most cautious rule there is, for comparison: silent only without any word and with a vector that is far."""
    return evidence.literal or evidence.found > 0 or evidence.cosine >= 0.35


def fitted(asked: Sequence[Asked]) -> dict[str, float]:
    """Logistic regression of answered against unanswerable, each side weighing the same, by Newton's method."""
    used = [a for a in asked if a.kind in ("other", "nothing") or (a.kind == "own" and a.recall > 0)]
    own = np.array([a.kind == "own" for a in used])
    rows = np.array([[1.0, a.evidence.held, a.evidence.nearness, a.evidence.found] for a in used])
    weight = np.where(own, 1 / own.sum(), 1 / (~own).sum())
    found = np.zeros(4)
    for _ in range(30):
        said = 1 / (1 + np.exp(-rows @ found))
        gradient = rows.T @ (weight * (said - own)) + 1e-5 * found
        curve = (rows * (weight * said * (1 - said))[:, None]).T @ rows + 1e-5 * np.eye(4)
        found -= np.linalg.solve(curve, gradient)
    return dict(zip(("bias", "held", "nearness", "found"), np.round(found, 1).tolist(), strict=True))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
