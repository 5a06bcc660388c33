"""A model that writes, as everything here asks it: what it offers, and the budget it is held to.

One behind an address (`remote`) and one that a program passes to its engine are asked through the same `Budgeted`: a
loop that asks by mistake is stopped here, before the bill tells of it.
"""

from __future__ import annotations

import inspect
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from atlas.errors import Unavailable, UsageError

#: One message as a model is told it: its role, and its words.
Told = Mapping[str, str]

#: What a budget is for, in seconds, and how many characters stand for one token: no two models count them alike.
HOUR = 3600.0
_TOKEN_CHARS = 4


class Writer(Protocol):
    """What a model that writes offers; each raises Unavailable. Safe to use from threads."""

    def complete(self, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """The answer to a prompt: JSON of this schema, where one is given and the model can be held to it."""
        ...

    def chat(self, messages: Sequence[Told]) -> str:
        """The next message of a conversation."""
        ...

    def stream(self, messages: Sequence[Told]) -> Iterator[str]:
        """The same, piece by piece."""
        ...


class Budget:
    """So many calls and tokens within an hour that goes along; 0 is no limit. Safe to use from threads."""

    def __init__(self, calls: int = 0, tokens: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._calls, self._tokens, self._clock = calls, tokens, clock
        self._lock = threading.Lock()
        self._spent: deque[tuple[float, int, int]] = deque()

    def take(self, text: str) -> None:
        """One call with this text; raises Unavailable where the hour has no room for it."""
        with self._lock:
            now = self._clock()
            while self._spent and now - self._spent[0][0] >= HOUR:
                self._spent.popleft()
            calls, tokens = (sum(spent[at] for spent in self._spent) for at in (1, 2))
            if self._calls and calls >= self._calls:
                raise Unavailable(self._sentence(f"asked {calls:,} times", "llm.max_calls", now))
            if self._tokens and tokens and tokens + tokens_of(text) > self._tokens:
                raise Unavailable(self._sentence(f"given {tokens:,} tokens", "llm.max_tokens", now))
            self._spent.append((now, 1, tokens_of(text)))

    def add(self, text: str) -> None:
        """What was answered counts too, with the last call: a stream has a thousand pieces."""
        with self._lock:
            then, calls, tokens = self._spent.pop() if self._spent else (self._clock(), 0, 0)
            self._spent.append((then, calls, tokens + tokens_of(text)))

    def _sentence(self, spent: str, setting: str, now: float) -> str:
        minutes = max(1, round((HOUR - (now - self._spent[0][0])) / 60))
        allowed = f"which is all `{setting}` allows: wait {minutes} minutes, or raise it"
        return f"The model was {spent} in an hour, {allowed}."


class Budgeted:
    """A model within a budget. One that has no more than `complete(prompt)` is asked by that alone."""

    def __init__(self, model: Any, budget: Budget) -> None:
        if not callable(getattr(model, "complete", None)):
            raise UsageError("A model that is passed as `llm` needs a method complete(prompt) that returns text.")
        self._model, self._budget = model, budget
        self._takes_schema = _takes(model.complete, "schema")

    def complete(self, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """The answer to a prompt; raises Unavailable."""
        self._budget.take(prompt)
        if schema is None:
            answer = self._model.complete(prompt)
        elif self._takes_schema:
            answer = self._model.complete(prompt, schema=schema)
        else:
            answer = self._model.complete(f"{prompt}\n\nAnswer with JSON of this schema alone:\n{json.dumps(schema)}")
        return self._counted(answer)

    def chat(self, messages: Sequence[Told]) -> str:
        """The next message of a conversation; raises Unavailable."""
        self._budget.take(transcript(messages))
        own = getattr(self._model, "chat", None)
        return self._counted(own(messages) if callable(own) else self._model.complete(transcript(messages)))

    def stream(self, messages: Sequence[Told]) -> Iterator[str]:
        """The same, piece by piece; in one piece from a model that has no pieces."""
        own = getattr(self._model, "stream", None)
        if not callable(own):
            yield self.chat(messages)
            return
        self._budget.take(transcript(messages))
        for piece in own(messages):
            yield self._counted(piece)

    def _counted(self, answer: object) -> str:
        if not isinstance(answer, str):
            raise Unavailable(f"The model answered with a {type(answer).__name__}, not with text: see that it writes.")
        self._budget.add(answer)
        return answer


def transcript(messages: Sequence[Told]) -> str:
    r"""A conversation as one text, for a model that takes nothing else.

    >>> transcript([{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"}])
    'system: Be short.\n\nuser: Hello\n\nassistant:'
    """
    return "\n\n".join([*(f"{one['role']}: {one['content']}" for one in messages), "assistant:"])


def tokens_of(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text) // _TOKEN_CHARS)


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function takes an argument of this name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # one written in C has none to show
        return False
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
