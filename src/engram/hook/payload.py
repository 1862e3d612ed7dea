"""What a host sends: one JSON object on stdin, of which each host names the same things differently."""

from __future__ import annotations

import os

from engram.hook import sql

# More than any host sends; what is longer is read to its end and not looked at.
MAX_BYTES = 16 * 1024 * 1024
_BLOCK = 1 << 16

# The first of these that holds a text counts.
_PATHS = {
    "event": ("hook_event_name", "hookEventName", "event", "agent_action_name"),
    "cwd": ("cwd", "tool_info.cwd", "workspace_roots[0]", "workspaceFolder", "directory"),
    "session": ("session_id", "sessionId", "conversation_id", "trajectory_id", "sessionID"),
    # Of Qwen, what the person typed; a sub-agent has an empty `prompt` and nothing typed.
    "prompt": ("submitted_prompt", "prompt", "user_prompt", "userPrompt", "tool_info.user_prompt", "input"),
    "turn": ("turn_id", "turnId", "prompt_id", "generation_id", "execution_id"),
    "source": ("source", "trigger"),
    "agent": ("agent_id", "agentId", "parent_session_id"),
    "agent_type": ("agent_type", "agentType", "agentName"),
    "parent": ("parent_agent_id", "parentAgentId", "parent_session_id"),
    "said": ("last_assistant_message", "prompt_response", "tool_info.response", "text", "response"),
    "agent_transcript": ("agent_transcript_path",),
    "transcript": ("transcript_path", "transcriptPath", "tool_info.transcript_path"),
}
_OWN_WORDS = ("<hook_context>", "</hook_context>")
_CWD_VARIABLES = ("CURSOR_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR")


def read() -> bytes | None:
    """What stands on stdin up to its end; None when it is too long."""
    blocks = []
    size = 0
    while block := os.read(0, _BLOCK):
        size += len(block)
        if size <= MAX_BYTES:
            blocks.append(block)
    return b"".join(blocks) if size <= MAX_BYTES else None


def fields(raw: bytes) -> dict[str, str] | None:
    """The fields of a payload, "" for those that it does not have; None when it is no JSON object."""
    document = raw.decode("utf-8", "replace").lstrip("\ufeff")
    if not sql.is_object(document):
        return None
    places = [(name, path) for name, of in _PATHS.items() for path in of]
    found: dict[str, str] = dict.fromkeys(_PATHS, "")
    for (name, _), text in zip(places, sql.texts_of(document, ["$." + path for _, path in places]), strict=True):
        if text and not found[name]:
            found[name] = text
    found["prompt"] = _without_own_words(found["prompt"])
    return found


def _without_own_words(prompt: str) -> str:
    """A prompt without the context that a hook brought at session start: Gemini hands it back before the first one."""
    while prompt.startswith(_OWN_WORDS[0]) and _OWN_WORDS[1] in prompt:
        prompt = prompt.partition(_OWN_WORDS[1])[2].lstrip()
    return prompt


def directory(cwd: str) -> str:
    """The folder that the agent works in, or "" when none of those that are named is one."""
    named = [cwd, *(os.environ.get(name, "") for name in _CWD_VARIABLES)]
    for place in named:
        if place and "\0" not in place and os.path.isabs(place) and os.path.isdir(place):
            return place
    if any(named):
        return ""
    try:
        return os.getcwd()
    except OSError:
        return ""
