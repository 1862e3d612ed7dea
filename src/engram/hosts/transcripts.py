"""Read an agent program's own transcript: the last thing that the assistant said, found from the end of the file.

Formats, each as the program writes it:
- Claude Code: JSON lines `{"type": "assistant", "message": {"id", "content": [{"type": "text", …}]}}`, with
  `isSidechain` for sub-agents; one message may be spread over several lines of one id.
- Codex: JSON lines `{"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": […]}}` and
  `{"type": "event_msg", "payload": {"type": "agent_message", "message": …}}`.
- Cursor: JSON lines `{"role": "assistant", "message": {"content": […]}}`.
- Windsurf: JSON lines `{"type": "planner_response", "planner_response": {"response": …}}`.
- Gemini CLI: one JSON document `{"messages": [{"type": "gemini", "content": …}]}`, or the same messages as JSON lines.
- Qwen Code: as Claude Code, with `message.parts`.
- Copilot CLI: JSON lines `{"type": "assistant.message", "data": {"content": …}}`, with `agentId` for sub-agents.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Any

# Of a transcript of lines only the end is read; a document must be read whole.
MOST_TAIL = 4 * 1024 * 1024
MOST_DOCUMENT = 32 * 1024 * 1024
_LOOK_BACK = 400  # lines


def last_assistant_message(path: str, *, of_subagent: bool = False) -> str:
    """What the assistant said last, "" when the file tells nothing of the kind. In a file of the whole session, what
    sub-agents said does not count; `of_subagent` is for the file of one. Raises `OSError`."""
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        return ""
    with open(path, "rb") as file:
        start = file.read(1)
        if start == b"{" and state.st_size <= MOST_DOCUMENT and not _is_lines(file):
            file.seek(0)
            return _of_document(file.read(MOST_DOCUMENT))
        file.seek(max(0, state.st_size - MOST_TAIL))
        tail = file.read(MOST_TAIL)
    lines = tail.split(b"\n")
    if state.st_size > MOST_TAIL:
        lines = lines[1:]  # begins within a line
    return _of_lines(lines, of_subagent=of_subagent)


def _is_lines(file: Any) -> bool:
    """Whether the first line is JSON of its own."""
    file.seek(0)
    line = file.readline(MOST_TAIL)
    found = _parsed(line)
    return isinstance(found, dict) and "messages" not in found


def _of_document(raw: bytes) -> str:
    found = _parsed(raw)
    messages = found.get("messages") if isinstance(found, dict) else None
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and (text := _said(message)[1].strip()):
            return text
    return ""


def _of_lines(lines: list[bytes], *, of_subagent: bool) -> str:
    """The texts of the last assistant message, which may be spread over lines of one id."""
    texts: list[str] = []
    owner = ""
    for line in _newest_first(lines):
        if not of_subagent and (line.get("isSidechain") is True or line.get("agentId")):
            continue
        id, text = _said(line)
        if texts and (not id or id != owner):
            break
        if text.strip():
            texts.append(text)
            owner = id
            if not id:
                break
    return "\n".join(reversed(texts)).strip()


def _newest_first(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    looked_at = 0
    for raw in reversed(lines):
        if not raw.strip():
            continue
        looked_at += 1
        if looked_at > _LOOK_BACK:
            return
        found = _parsed(raw)
        if isinstance(found, dict):
            yield found


def _said(line: dict[str, Any]) -> tuple[str, str]:
    """(id of the message, text) of a line that the assistant said; two blanks for any other line."""
    kind, payload, message = line.get("type"), line.get("payload"), line.get("message")
    if kind == "response_item" and isinstance(payload, dict):
        is_said = payload.get("type") == "message" and payload.get("role") == "assistant"
        return "", _text(payload.get("content")) if is_said else ""
    if kind == "event_msg" and isinstance(payload, dict):
        return "", _text(payload.get("message")) if payload.get("type") == "agent_message" else ""
    if kind == "planner_response" and isinstance(line.get("planner_response"), dict):
        return "", _text(line["planner_response"].get("response"))
    if kind == "assistant.message" and isinstance(line.get("data"), dict):
        return "", _text(line["data"].get("content"))
    if kind == "gemini":
        return "", _text(line.get("content"))
    if (kind or line.get("role")) == "assistant" and isinstance(message, dict):
        return str(message.get("id") or ""), _text(message.get("content", message.get("parts")))
    if line.get("role") == "assistant":
        return "", _text(line.get("content"))
    return "", ""


def _text(content: Any) -> str:
    """The text of a message's content: a text, or a list of parts of which those that are said count."""
    if isinstance(content, str):
        return content
    parts = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and part.get("type", "text") in ("text", "output_text") and not part.get("thought"):
            parts.append(str(part.get("text") or ""))
    return "\n".join(part for part in parts if part)


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
