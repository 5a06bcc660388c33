"""The export of ChatGPT: `conversations.json`, also cut into `conversations-000.json` and so on, also in its archive.

A conversation is a tree: `mapping` has each node with its message, its parent and its children, and `current_node` is
where it stands. What the person saw is the way from there up to the root; edited questions and other answers hang
beside it. Content comes in types: `text` and `multimodal_text` have `parts`, some of them pictures; `code` and
`execution_output` have a `text`; thoughts, browsing and custom instructions have keys of their own. What ChatGPT itself
chose to remember is what an assistant says to the tool `bio`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.importers import Found, Skipped, Talk
from atlas.importers.given import Given
from atlas.importers.jsons import clean, first, moment, objects
from atlas.ingest import Request
from atlas.markdown import text_key
from atlas.messages import ASSISTANT, SYSTEM, TOOL, USER, Call, Message

NAME = "chatgpt"

_FILES = re.compile(r"(?:.*/)?conversations(?:[-_]\d+)?\.json", re.IGNORECASE)
#: Marks of where an answer was cited from; they lead nowhere outside.
_CITED = re.compile("\ue200.*?\ue201|【\\d+†[^】]*】")
_INSTRUCTIONS = {"about_user_message": "About me", "about_model_message": "How answers should be"}
_THOUGHTS = frozenset({"thoughts", "reasoning_recap"})
#: The tool that keeps memories.
_KEEPER = "bio"
_ROLES = frozenset({USER, ASSISTANT, TOOL})


def detect(given: Given) -> bool:
    """Whether a record has a tree of messages."""
    return any("mapping" in first(given, name) for name in files(given))


def files(given: Given) -> list[str]:
    """The files that may hold conversations: those of the name, or the one that was given."""
    return list(given.files) if given.is_file else [name for name in given.files if _FILES.fullmatch(name)]


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every conversation as it was seen last, and the custom instructions once."""
    told: set[str] = set()
    for name in files(given):
        for record in objects(given, name, "conversations"):
            if isinstance(record, Skipped):
                yield record
            elif not isinstance(record.get("mapping"), dict):
                yield Skipped(f"{name}: {_title(record)}", "it has no messages (`mapping`)")
            else:
                yield from _conversation(record, told)


def _conversation(record: Mapping[str, Any], told: set[str]) -> Iterator[Found | Skipped]:
    mapping = record["mapping"]
    path = _seen(mapping, record.get("current_node"))
    id = record.get("conversation_id") or record.get("id") or (path[0] if path else "")
    if record.get("is_do_not_remember") is True:
        yield Skipped(_title(record), "it is marked there as not to be remembered")
        return
    nodes = [mapping[node].get("message") for node in path]
    messages = [message for message in nodes if isinstance(message, dict)]
    yield from _instructions(messages, record, told)
    yield from _kept(messages, record)
    said: list[Message] = []
    left: dict[str, int] = {}
    for place, message in enumerate(messages):
        _message(message, f"{id}-{place}", said, left)
    began = moment(record.get("create_time"))
    dated = [one if one.time else replace(one, time=began) for one in said]
    if dated:
        yield Talk(f"{NAME}/{id}", tuple(dated))
    else:
        yield Skipped(_title(record), "nothing was said in it")
    beside = sum(1 for node, value in mapping.items() if node not in set(path) and _is_said(value))
    if beside:
        left["answers and questions that were replaced by others"] = beside
    for reason, count in left.items():
        yield Skipped(_title(record), reason, count, kept=True)


def _seen(mapping: Mapping[str, Any], current: Any) -> list[str]:
    """The nodes from the root to where the conversation stands; the newest leaf where that is not said."""
    node = current if isinstance(current, str) and current in mapping else _newest(mapping)
    path: list[str] = []
    met: set[str] = set()
    while isinstance(node, str) and isinstance(mapping.get(node), dict) and node not in met:
        met.add(node)
        path.append(node)
        node = mapping[node].get("parent")
    return path[::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    """The leaf whose message is the latest, the last of those."""
    leaves = [name for name, node in mapping.items() if isinstance(node, dict) and not node.get("children")]

    def age(name: str) -> float:
        message = mapping[name].get("message")
        time = moment(message.get("create_time")) if isinstance(message, dict) else None
        return time.timestamp() if time else 0.0

    return max(reversed(leaves), key=age, default=None)


def _is_said(node: Any) -> bool:
    """Whether a node holds words of the conversation."""
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict) or _role(message) not in (USER, ASSISTANT) or _hidden(message):
        return False
    return bool(_words(_content(message), {}).strip())


def _message(message: Mapping[str, Any], id: str, said: list[Message], left: dict[str, int]) -> None:
    """Add what a message says; what of it has no words is counted in `left`."""
    role, content = _role(message), _content(message)
    kind = content.get("content_type")
    if role not in _ROLES or _hidden(message) or kind in ("user_editable_context", "model_editable_context"):
        return
    if _KEEPER in (message.get("recipient"), _author(message).get("name")):
        return
    if kind in _THOUGHTS:
        left["thoughts of the model"] = left.get("thoughts of the model", 0) + 1
        return
    text = clean(_CITED.sub("", _words(content, left))).strip()
    recipient = message.get("recipient")
    time = moment(message.get("create_time"))
    id = str(message.get("id") or id)
    if role == ASSISTANT and isinstance(recipient, str) and recipient not in ("all", ""):
        said.append(Message(role, "", time, id=id, calls=(Call(recipient, text, id),)))
    elif role == TOOL:
        name = str(_author(message).get("name") or "")
        said.append(Message(role, text, time, id=id, tool=name, failed=kind == "system_error"))
    elif text:
        said.append(Message(role, text, time, id=id))


def _words(content: Mapping[str, Any], left: dict[str, int]) -> str:
    """The words of a content, whatever its type."""
    kind = str(content.get("content_type") or "text")
    if kind == "tether_quote":
        return "\n".join(str(content[key]) for key in ("title", "url", "text") if content.get(key))
    parts = content.get("parts")
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        return "\n".join(filter(None, (_part(part, left) for part in parts)))
    return next((v for key in ("text", "result", "content") if isinstance(v := content.get(key), str) and v), "")


def _part(part: Any, left: dict[str, int]) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if isinstance(text, str) and text:  # what was spoken, written down
        return text
    kind = str(part.get("content_type") or "")
    what = (
        "pictures" if "image" in kind else "recordings" if "audio" in kind or "video" in kind else "parts of no words"
    )
    left[what] = left.get(what, 0) + 1
    return ""


def _instructions(
    messages: Sequence[Mapping[str, Any]], record: Mapping[str, Any], told: set[str]
) -> Iterator[Found | Skipped]:
    """What the person had asked for in all conversations, each wording once."""
    for message in messages:
        given = _metadata(message).get("user_context_message_data")
        for key, heading in _INSTRUCTIONS.items():
            text = clean(given.get(key) or "").strip() if isinstance(given, dict) else ""
            if text and text not in told:
                told.add(text)
                created = moment(message.get("create_time")) or moment(record.get("create_time"))
                yield Request(f"{heading}: {text}", kind="preference", label=f"{heading} (ChatGPT)", created=created,
                              source=f"{NAME}/instructions#{text_key(text)[:12]}", whole=True)  # fmt: skip


def _kept(messages: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> Iterator[Request]:
    """The memories ChatGPT made on the way."""
    for message in messages:
        text = clean(_words(_content(message), {})).strip()
        if message.get("recipient") == _KEEPER and _role(message) == ASSISTANT and text and message.get("id"):
            created = moment(message.get("create_time")) or moment(record.get("create_time"))
            yield Request(text, created=created, source=f"{NAME}/memory#{message['id']}", whole=True)


def _title(record: Mapping[str, Any]) -> str:
    return clean(str(record.get("title") or record.get("conversation_id") or record.get("id") or "a conversation"))


def _content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    return content if isinstance(content, dict) else {"text": content if isinstance(content, str) else ""}


def _author(message: Mapping[str, Any]) -> Mapping[str, Any]:
    author = message.get("author")
    return author if isinstance(author, dict) else {}


def _metadata(message: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _role(message: Mapping[str, Any]) -> str:
    return str(_author(message).get("role") or SYSTEM)


def _hidden(message: Mapping[str, Any]) -> bool:
    return _metadata(message).get("is_visually_hidden_from_conversation") is True
