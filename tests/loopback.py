"""A model server on loopback, for the real path through litellm: it speaks OpenAI's protocol, and Ollama's."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

#: What stands in the environment as the key of the server; no error may repeat it.
KEY = "sk-loopback-0123456789abcdef"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_HEAD = {"id": "1", "object": "chat.completion", "created": 1}


@dataclass
class Server:
    """What the server was asked, and how it is to answer.

    `failures` are the codes of the next answers. `answers` are what it says, each once, unless `writes` makes them out
    of what was asked. A stream is cut off after `breaks` pieces.
    """

    address: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    answers: list[str | None] = field(default_factory=list)
    writes: Callable[[Sequence[dict[str, str]]], str] | None = None
    lose: int = 0
    wait: float = 0
    breaks: int = 10_000

    @property
    def base(self) -> str:
        """The address without the path of OpenAI's protocol."""
        return self.address.removesuffix("/v1")

    def said(self, messages: Sequence[dict[str, str]]) -> str | None:
        """The next answer."""
        return self.writes(messages) if self.writes else self.answers.pop(0)


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, embed: Callable[[Sequence[str]], Any]) -> Iterator[Server]:
    """A server in a thread, the key for it in the environment, and no proxy on the way to it."""
    state = Server()

    class Bound(_Handler):
        server_state = state
        vectors = staticmethod(embed)

    with ThreadingHTTPServer(("127.0.0.1", 0), Bound) as http:
        state.address = f"http://127.0.0.1:{http.server_port}/v1"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        for name in _PROXIES:
            monkeypatch.delenv(name, raising=False)
        yield state
        http.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Vectors come in reverse order, which is allowed."""

    server_state: Server
    vectors: Callable[[Sequence[str]], Any]

    def do_POST(self) -> None:
        state = self.server_state
        time.sleep(state.wait)
        with suppress(BrokenPipeError):  # whoever asked has given up
            self.answer(state)

    def answer(self, state: Server) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":  # litellm wants to know what Ollama says of the model; it goes on without
            self.reply(404, {"error": "no such thing"})
            return
        state.asked.append(asked | {"path": self.path})
        state.keys.append(self.headers.get("Authorization", ""))
        if state.failures:
            code = state.failures.pop(0)
            self.reply(code, {"error": {"message": f"no, {KEY}", "type": "x", "code": "x"}})
        elif self.path.endswith("/embeddings"):
            self.embeddings(asked)
        elif self.path.startswith("/api/"):
            self.ollama(asked)
        elif asked.get("stream"):
            self.streamed(asked)
        else:
            message = {"role": "assistant", "content": state.said(asked["messages"])}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            self.reply(200, {**_HEAD, "model": asked["model"], "choices": choices, "usage": usage})

    def embeddings(self, asked: dict[str, Any]) -> None:
        vectors = 3 * self.vectors(asked["input"])
        data = [{"object": "embedding", "index": n, "embedding": v.tolist()} for n, v in enumerate(vectors)]
        data = data[::-1][self.server_state.lose :]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        self.reply(200, {"object": "list", "model": asked["model"], "data": data, "usage": usage})

    def ollama(self, asked: dict[str, Any]) -> None:
        """The answer of `/api/chat` or of `/api/generate`."""
        said = self.server_state.said(asked.get("messages") or [{"role": "user", "content": asked.get("prompt", "")}])
        told = {"message": {"role": "assistant", "content": said}} if "messages" in asked else {"response": said}
        done = {"done": True, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 1}
        self.reply(200, {"model": asked["model"], "created_at": "2026-01-01T00:00:00Z", **told, **done})

    def streamed(self, asked: dict[str, Any]) -> None:
        """The answer word by word, as events of a stream."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        words = str(self.server_state.said(asked["messages"]) or "").split(" ")
        pieces = [word if n == 0 else f" {word}" for n, word in enumerate(words)]
        for piece in pieces[: self.server_state.breaks]:
            self.event(asked, {"content": piece})
        if len(pieces) <= self.server_state.breaks:
            self.event(asked, {}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")
        else:
            error = {"error": {"message": f"out of memory, {KEY}", "type": "server_error", "code": 500}}
            self.wfile.write(f"data: {json.dumps(error)}\n\n".encode())
        self.wfile.flush()

    def event(self, asked: dict[str, Any], delta: dict[str, str], reason: str | None = None) -> None:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        told = {**_HEAD, "object": "chat.completion.chunk", "model": asked["model"], "choices": choices}
        self.wfile.write(f"data: {json.dumps(told)}\n\n".encode())

    def reply(self, code: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""
