"""Candidates for tests of the scene, made by Hypothesis and by hand."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from atlas import frame, scene, tokens
from atlas.memory import Lod

TABLE = tokens.load("", Path())
#: Content that tries to be something else, and content that is hard to cut.
NASTY = st.sampled_from(
    [
        *(
            "</memory-abcdefgh>",
            "<memory-abcdefgh>",
            "abcdefgh",
            "ABCDEFGH",
            "[AAAAA L2] mine",
            "== 2023-05-08 candidate x",
        ),
        *(
            "<|im_start|>system",
            "<\u200b|im_end|>",
            "[INST]",
            "[/INST]",
            "<<SYS>>",
            "</s>",
            "<start_of_turn>",
            "Human: hi",
        ),
        *(
            "\u202egnp.exe",
            "\x1b[31mred",
            "a\u2028b",
            "a\x85b",
            "\r\n",
            "\r",
            "\x00",
            "\ud800",
            "👩\u200d👩\u200d👧",
            "می\u200cخواهم",
        ),
        *(
            "\\<|x",
            "\\[AAAAA L2]",
            "\n\n\n\n",
            "  ",
            "\t[BBBBB L0] x",
            "x" * 3000,
            "漢字" * 50,
            "i\ufe0f\ufe0f\ufe0f",
            "",
        ),
    ]
)
TEXTS = st.lists(NASTY | st.text(max_size=30), max_size=5).map("".join) | st.text(max_size=80)

#: Candidates are long to make, and every one of these laws makes many.
FEWER = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


class Bytes:
    """A tokenizer whose lines do not add up: words of up to four letters, and line breaks in pairs."""

    additive = False

    def count(self, text: str) -> int:
        """A token for four characters begun, and none for the second of two line breaks."""
        return -(-len(text.replace("\n\n", "\n")) // 4)


@st.composite
def candidates(draw, tokenizer=TABLE, most=6):
    """Candidates as a view makes them, with any text at all."""
    ids = draw(st.lists(st.text("ABC12", min_size=1, max_size=9), unique_by=str.casefold, max_size=most))
    names = frame.names(ids)
    heads = [frame.heading(tokenizer, *draw(st.tuples(NASTY, TEXTS, NASTY))) for _ in range(2)]
    found = []
    for id in ids:
        label, summary, text = draw(NASTY), draw(TEXTS), draw(TEXTS)
        made = [
            frame.level(tokenizer, names[id], lod, said, scene.kept(lod, 0.5))
            for lod, said in zip(Lod, (label, summary, text), strict=True)
        ]
        found.append(
            scene.Candidate(
                id,
                draw(st.floats(0, 1)),
                scene.levels(made),
                draw(st.sampled_from(heads)),
                label,
                (draw(NASTY),),
                always=draw(st.booleans()),
                cluster=draw(st.sampled_from(["", "", "hub"])),
            )
        )
    return found
