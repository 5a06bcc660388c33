"""The export of Claude: `conversations.json`, projects and memories, in its archive or unpacked.

A conversation has its `chat_messages` in a row; newer exports name each one's parent, and then what was replaced hangs
beside. A message has blocks in `content` (text, thoughts, tools and their results), the text alone in `text`, and
`attachments`, whose text is in `extracted_content`; the bytes of `files` are not in the export. Projects have
instructions and documents, `memories.json` what Claude keeps of all conversations and of each project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from atlas.importers import Found, Skipped, Talk
from atlas.importers.given import Given
from atlas.importers.jsons import clean, first, moment, objects, text_of
from atlas.ingest import Request
from atlas.messages import ASSISTANT, TOOL, USER, Call, Message, words

NAME = "claude"

_TALKS = re.compile(r"(?:.*/)?conversations(?:[-_]\d+)?\.json", re.IGNORECASE)
_PROJECTS = re.compile(r"(?:.*/)?projects(?:\.json|/[^/]+\.json)", re.IGNORECASE)
_MEMORIES = re.compile(r"(?:.*/)?memories(?:\.json|/[^/]+\.json)", re.IGNORECASE)
_MEMORY_KEYS = ("conversations_memory", "project_memories")
_SENDERS = {"human": USER, "user": USER, "assistant": ASSISTANT}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def detect(given: Given) -> bool:
    """Whether a record has `chat_messages`, is a project with its documents, or one of Claude's own memories."""
    for name in given.files:
        wanted = given.is_file or _TALKS.fullmatch(name) or _PROJECTS.fullmatch(name) or _MEMORIES.fullmatch(name)
        if wanted and name.lower().endswith(".json") and _kind(first(given, name)):
            return True
    return False


def read(given: Given) -> Iterator[Found | Skipped]:
    """Conversations, then the documents and instructions of projects, then memories."""
    names = [name for name in given.files if name.lower().endswith(".json") or given.is_file]
    for name in sorted(names, key=lambda n: (not _TALKS.fullmatch(n), n)):
        if not given.is_file and not any(p.fullmatch(name) for p in (_TALKS, _PROJECTS, _MEMORIES)):
            continue
        for record in objects(given, name):
            if isinstance(record, Skipped):
                yield record
            else:
                yield from _READ.get(_kind(record), _unknown)(record, name)


def _kind(record: Mapping[str, Any]) -> str:
    if "chat_messages" in record:
        return "talk"
    if any(key in record for key in _MEMORY_KEYS):
        return "memory"
    return "project" if "docs" in record or "prompt_template" in record else ""


def _unknown(record: Mapping[str, Any], name: str) -> Iterator[Skipped]:
    yield Skipped(f"{name}: {_title(record)}", "it is neither a conversation, a project nor a memory")


# ------------------------------------------------------------- conversations


def _conversation(record: Mapping[str, Any], name: str) -> Iterator[Found | Skipped]:
    title, id = _title(record), text_of(record.get("uuid"))
    rows = [m for m in _list(record.get("chat_messages")) if isinstance(m, dict)]
    if not id:
        yield Skipped(f"{name}: {title}", "it has no uuid")
        return
    seen = _seen(rows)
    said: list[Message] = []
    left: dict[str, int] = {}
    for row in seen:
        _message(row, said, left)
    if said:
        yield Talk(f"{NAME}/{id}", tuple(said))
    for row in seen:
        yield from _attachments(row, id)
    if not said:
        yield Skipped(title, "nothing was said in it")
    if len(seen) < len(rows):
        left["answers and questions that were replaced by others"] = len(rows) - len(seen)
    for reason, count in left.items():
        yield Skipped(title, reason, count, kept=True)


def _seen(rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The messages on the way to the last one; all of them where parents are not named, or lead nowhere."""
    by_id = {row["uuid"]: row for row in rows if isinstance(row.get("uuid"), str)}
    named = [row["parent_message_uuid"] for row in rows if isinstance(row.get("parent_message_uuid"), str)]
    if not rows or len(named) < len(rows) or len(by_id) < len(rows):
        return rows
    # The first message's parent is a message that is not there; any other that is missing is damage.
    if sum(parent not in by_id for parent in set(named)) != 1:
        return rows
    node: Any = rows[-1]["uuid"]
    path: list[Mapping[str, Any]] = []
    while node in by_id and len(path) < len(rows):
        path.append(by_id[node])
        node = by_id[node]["parent_message_uuid"]
    return path[::-1]


def _message(row: Mapping[str, Any], said: list[Message], left: dict[str, int]) -> None:
    """Add what a message says: its words and the tools it asks for as one, each result of a tool after it."""
    role, id, time = _SENDERS.get(str(row.get("sender"))), text_of(row.get("uuid")), moment(row.get("created_at"))
    files = [f for f in _list(row.get("files")) if isinstance(f, dict)]
    _count(left, "files whose content is not in the export", len(files))
    if role is None:
        _count(left, f"messages of a sender called {row.get('sender')!r}", 1)
        return
    blocks = [block for block in _list(row.get("content")) if isinstance(block, dict)]
    _count(left, "thoughts of the model", sum(block.get("type") in _THOUGHTS for block in blocks))
    texts = [str(b.get("text") or "") for b in blocks if b.get("type") == "text"]
    text = clean("\n".join(filter(None, texts)) or (text_of(row.get("text")) if not texts else "")).strip()
    calls = tuple(_call(block) for block in blocks if block.get("type") == "tool_use")
    if text or calls:
        said.append(Message(role, text, time, id=id, calls=calls))
    names = {call.id: call.name for call in calls}
    for number, block in enumerate(b for b in blocks if b.get("type") == "tool_result"):
        answers = text_of(block.get("tool_use_id"))
        name = text_of(block.get("name")) or names.get(answers, "")
        said.append(Message(TOOL, clean(words(block.get("content"))).strip(), time, id=f"{id}-{number + 1}", tool=name,
                            answers=answers, failed=block.get("is_error") is True))  # fmt: skip


def _call(block: Mapping[str, Any]) -> Call:
    given = block.get("input")
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False) if given else ""
    return Call(text_of(block.get("name")), clean(text), text_of(block.get("id")))


def _attachments(row: Mapping[str, Any], conversation: str) -> Iterator[Found | Skipped]:
    """What was pasted or attached as text, each a memory of its own beside the conversation."""
    for number, one in enumerate(_list(row.get("attachments")), 1):
        if not isinstance(one, dict):
            continue
        name, text = text_of(one.get("file_name")), text_of(one.get("extracted_content"))
        if not text:
            yield Skipped(name or "an attachment", "its text is not in the export", kept=True)
            continue
        source = f"{NAME}/{conversation}#{text_of(row.get('uuid'))}/{name or number}"
        yield Request(text, kind="note", label=name or None, created=moment(row.get("created_at")), source=source,
                      whole=True)  # fmt: skip


# ------------------------------------------------------ projects and memories


def _project(record: Mapping[str, Any], name: str) -> Iterator[Found | Skipped]:
    id, title = text_of(record.get("uuid")), _title(record)
    if not id:
        yield Skipped(f"{name}: {title}", "it has no uuid")
        return
    if record.get("is_starter_project") is True:
        yield Skipped(title, "it is the example Claude comes with")
        return
    made = moment(record.get("created_at"))
    about = "\n\n".join(filter(None, (text_of(record.get(key)) for key in ("description", "prompt_template"))))
    if about:
        yield Request(about, kind="note", label=f"Project {title}", created=made, source=f"{NAME}/project/{id}",
                      whole=True)  # fmt: skip
    for document in _list(record.get("docs")):
        text = text_of(document.get("content")) if isinstance(document, dict) else ""
        if not text:
            yield Skipped(f"{title}: a document", "it has no text", kept=True)
            continue
        file = text_of(document.get("filename"))
        yield Request(text, kind="note", label=file or None, created=moment(document.get("created_at")) or made,
                      source=f"{NAME}/project/{id}#{text_of(document.get('uuid')) or file}", whole=True)  # fmt: skip


def _memory(record: Mapping[str, Any], name: str) -> Iterator[Found | Skipped]:
    """What Claude keeps itself: of all conversations, and of each project."""
    whose = text_of(record.get("account_uuid")) or "account"
    kept = record.get("project_memories")
    texts = {whose: text_of(record.get("conversations_memory"))}
    texts |= {f"project/{id}": text_of(text) for id, text in kept.items()} if isinstance(kept, dict) else {}
    for key, text in texts.items():
        if text:
            label = "What Claude remembers" + (" of a project" if key.startswith("project/") else "")
            yield Request(text, kind="note", label=label, source=f"{NAME}/memory/{key}", whole=True)
    if not any(texts.values()):
        yield Skipped(name, "it holds no memory")


def _title(record: Mapping[str, Any]) -> str:
    return text_of(record.get("name")) or text_of(record.get("uuid")) or "untitled"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(left: dict[str, int], reason: str, number: int) -> None:
    if number:
        left[reason] = left.get(reason, 0) + number


_READ = {"talk": _conversation, "project": _project, "memory": _memory}
