"""Exports of other tools, made in the shapes those write: small, with made-up content."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def write_json(place: Path, value: Any) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return place


def zipped(place: Path, files: Mapping[str, Any]) -> Path:
    """A zip archive; values that are no bytes go in as JSON."""
    place.write_bytes(zip_bytes(files))
    return place


def zip_bytes(files: Mapping[str, Any]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value).encode())
    return held.getvalue()


# --------------------------------------------------------------------- ChatGPT


def gpt_message(id: str, role: str, text: str | None, at: float = 0.0, **more: Any) -> dict[str, Any]:
    """A message as it stands in a node. `content` or `metadata` in `more` replace what is made here."""
    return {
        "id": id,
        "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": NOON + at,
        "update_time": None,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        **more,
    }


def gpt_talk(id: str, nodes: list[tuple[str, str | None, dict[str, Any] | None]], current: str | None, **more: Any):
    """A conversation of nodes (name, parent, message)."""
    mapping = {
        name: {"id": name, "message": message, "parent": parent, "children": []} for name, parent, message in nodes
    }
    for name, parent, _ in nodes:
        if parent in mapping:
            mapping[parent]["children"].append(name)
    return {
        "title": f"About {id}",
        "create_time": NOON,
        "update_time": NOON + 60,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current,
        "conversation_id": id,
        "is_archived": False,
        "default_model_slug": "auto",
        "id": id,
        **more,
    }


def gpt_line(id: str, texts: list[str]) -> dict[str, Any]:
    """A conversation without branches: a person and an assistant by turns."""
    nodes: list[tuple[str, str | None, dict[str, Any] | None]] = [("client-created-root", None, None)]
    for n, text in enumerate(texts):
        name = f"{id}-m{n}"
        nodes.append((name, nodes[-1][0], gpt_message(name, ("user", "assistant")[n % 2], text, n)))
    return gpt_talk(id, nodes, nodes[-1][0])


# ---------------------------------------------------------------------- Claude

ROOT = "00000000-0000-4000-8000-000000000000"


def claude_message(id: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
    stamp = "2026-01-01T12:00:00.123456Z"
    block = {"start_timestamp": stamp, "stop_timestamp": stamp, "type": "text", "text": text, "citations": []}
    return {"uuid": id, "text": text, "content": [block] if text else [], "sender": sender, "created_at": stamp,
            "updated_at": stamp, "attachments": [], "files": [], **more}  # fmt: skip


def claude_talk(id: str, messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    stamp = "2026-01-01T12:00:00.000000Z"
    return {"uuid": id, "name": f"About {id}", "summary": "", "created_at": stamp, "updated_at": stamp,
            "account": {"uuid": "acct"}, "chat_messages": messages, **more}  # fmt: skip


# ------------------------------------------------------------------------ mem0


def mem0_memory(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "memory": text, "user_id": "ana", "agent_id": None, "app_id": None, "run_id": None, "hash": "0f",
            "metadata": {}, "categories": [], "created_at": "2026-01-01T04:00:00.123456-08:00",
            "updated_at": "2026-01-02T04:00:00.123456-08:00", **more}  # fmt: skip
