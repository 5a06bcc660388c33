"""LlamaIndex: a retriever over a vault, and a block of its agents' memory.

    engine = RetrieverQueryEngine.from_args(MemoryAtlasRetriever("./memory"))
    memory = Memory.from_defaults(session_id="ana", memory_blocks=[MemoryAtlasBlock("./memory")])

A block is given only what the short-term memory lets go of, so a short chat ends with `block.flush(memory)`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from atlas.companion import Companion, asked, going_on
from atlas.guard import guarded
from atlas.integrations import needing
from atlas.memory import Hit
from atlas.messages import read

with needing("LlamaIndex", "llamaindex"):
    from llama_index.core.async_utils import asyncio_run
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock, Memory
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.storage.chat_store.base_db import MessageStatus
    from pydantic import PrivateAttr

#: So many texts of a block are known for a moment, in case one of them is to be made shorter.
_RECENT = 16
#: Tokens are LlamaIndex's there and Atlas's here: so much more than asked for is taken away.
_MARGIN = 1.25


class MemoryAtlasRetriever(BaseRetriever):
    """The memories that answer a question, as nodes; none, where nothing is likely to answer.

    `k` is how many at most, `search` are further arguments of `engine.search`. `options` are those of `Companion`.
    """

    def __init__(self, vault: Any, *, k: int = 10, search: dict[str, Any] | None = None, **options: Any) -> None:
        self.companion, self.k = Companion(vault, **options), k
        self.search = {**self.companion.filters, **(search or {})}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with going_on("read"):
            found = self.companion.engine.search(query_bundle.query_str, k=self.k, **self.search)
            return [NodeWithScore(node=_node(hit), score=hit.score) for hit in found.hits]
        return []

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class MemoryAtlasBlock(BaseMemoryBlock[str]):
    """A block of memory: what the vault holds on what was said last. `options` are those of `Companion`.

    Where `Memory` has too little room, it is told again in fewer tokens; with `priority=0`, never.
    """

    name: str = "atlas"
    description: str | None = "What is remembered from earlier conversations."
    priority: int = 1
    conversation: str = ""
    _companion: Companion = PrivateAttr()
    _shown: OrderedDict[str, tuple[str, str, int]] = PrivateAttr(default_factory=OrderedDict)

    def __init__(self, vault: Any, *, options: dict[str, Any] | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._companion = Companion(vault, **(options or {}))

    @property
    def companion(self) -> Companion:
        """The vault of this block."""
        return self._companion

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        conversation = self.conversation or str(block_kwargs.get("session_id") or "")
        return await self._told(asked(read(messages or ())), conversation)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The same in fewer tokens; None, where hardly any are left."""
        if content not in self._shown:
            return None
        query, conversation, tokens = self._shown[content]
        left = tokens - int(tokens_to_truncate * _MARGIN)
        return await self._told(query, conversation, left) or None if left > 0 else None

    async def _told(self, query: str, conversation: str, budget: int | None = None) -> str:
        shown = await asyncio.to_thread(self._companion.view, query, conversation, budget)
        if shown is None:
            return ""
        self._shown[shown.text] = (query, conversation, shown.tokens)
        while len(self._shown) > _RECENT:
            self._shown.popitem(last=False)
        return shown.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self._keep(messages, "")

    async def _keep(self, said: list[ChatMessage], session: str) -> None:
        for message in said[:1]:
            session = session or str(message.additional_kwargs.get("session_id") or "")
        if said:
            await self._companion.acapture(said, self.conversation or session)

    # ------------------------------------------------------------ the end of a session

    async def aflush(self, memory: Memory) -> None:
        """Keep what is still in the short-term memory: at the end of a session."""
        await self._keep(await memory.aget_all(status=MessageStatus.ACTIVE), memory.session_id)

    def flush(self, memory: Memory) -> None:
        """The same, from code that is not asynchronous."""
        asyncio_run(self.aflush(memory))


def _node(hit: Hit) -> TextNode:
    facts = {"label": hit.label, "path": hit.path, "kind": hit.kind, "trust": str(hit.trust), "created": hit.created}
    hidden = ["path", "label"]
    return TextNode(
        id_=hit.id,
        text=guarded(hit.display_text),
        metadata=facts,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(facts),
    )
