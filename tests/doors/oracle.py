"""What a scripted model says: it knows nothing but what stands in its prompt. And which tests want which framework."""

from __future__ import annotations

from atlas import MemoryEngine, markdown

#: The test files by the module they cannot do without.
FRAMEWORKS = {
    "test_langchain.py": "langchain",
    "test_llamaindex.py": "llama_index",
    "test_openai_agents.py": "agents",
    "test_pydantic_ai.py": "pydantic_ai",
    "test_crewai.py": "crewai",
}
DESK = "My desk is on floor 5 of the Lisbon office."
STANDUP = "The standup of the search team is at 9:40."
#: A question, and the words that answer it.
FACTS = {"where is my desk": "floor 5", "when is the standup": "9:40"}
#: How a person asks for a memory by the tool.
ORDER = "Remember: "


def reply(said: str, prompt: str) -> str:
    """The answer to what was said last, out of a prompt that holds all the model was given."""
    for question, fact in FACTS.items():
        if question in said.casefold():
            return f"It is {fact}." if fact in prompt else "I do not know."
    return "Noted."


def ordered(said: str) -> dict[str, str] | None:
    """The arguments of the tool `memory_remember`, if that was asked for."""
    return {"text": said.removeprefix(ORDER)} if said.startswith(ORDER) else None


def kept(engine: MemoryEngine) -> list[str]:
    """What the vault keeps of conversations, word for word: the episodes, and not what was drawn from them."""
    episodes = [one for one in engine.memories() if one.meta.get("kind") == "episode"]
    return [markdown.original(markdown.parse(one.detail, one.path)) for one in episodes]
