"""A chat engine of LlamaIndex with a scripted model and a vault's block of memory: `run_llamaindex.py VAULT TURN…`."""

from __future__ import annotations

import json
import sys
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.memory import Memory
from oracle import reply
from pydantic import Field

from atlas.integrations.llamaindex import MemoryAtlasBlock
from atlas.models.static import tokenizer


class Oracle(CustomLLM):
    """A model that answers from its prompt, and keeps what it was given."""

    seen: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        self.seen.append(prompt)
        said = prompt.rpartition("user: ")[2].rpartition("</memory>")[2]
        return CompletionResponse(text=reply(said, prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:
        raise NotImplementedError


def memory_of(block: MemoryAtlasBlock, session: str, **options: Any) -> Memory:
    """A memory with this block that counts with Atlas's tokens, since the default of the framework is a download."""
    return Memory.from_defaults(session_id=session, memory_blocks=[block], tokenizer_fn=count, **options)


def count(text: str) -> list[int]:
    """The tokens of a text."""
    return list(tokenizer().encode(text, add_special_tokens=False).ids)


def main(root: str, *turns: str) -> None:
    block = MemoryAtlasBlock(root)
    memory = memory_of(block, f"about {turns[0]}")
    engine = SimpleChatEngine.from_defaults(llm=Oracle(), memory=memory)
    answers = [str(engine.chat(turn)) for turn in turns]
    block.flush(memory)
    block.companion.close()
    print(json.dumps({"answers": answers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
