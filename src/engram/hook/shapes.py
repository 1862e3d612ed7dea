"""What each host calls its events, and the form of the answer that it takes."""

from __future__ import annotations

from engram.hook.sql import quoted

# Kinds of event. A host sends several under one kind; what it sends besides gets the empty answer.
START, PROMPT, STOP, SUBAGENT_STOP, END, COMPACTION = "start", "prompt", "stop", "subagent stop", "end", "compaction"

# Other names of the same program.
_ALIASES = {"cascade": "windsurf", "open-code": "opencode", "claude-code": "claude", "copilot-cli": "copilot"}

_LIKE_CLAUDE = {
    "sessionstart": (START, "SessionStart"),
    "userpromptsubmit": (PROMPT, "UserPromptSubmit"),
    "stop": (STOP, "Stop"),
    "subagentstop": (SUBAGENT_STOP, "SubagentStop"),
    "sessionend": (END, "SessionEnd"),
    "precompact": (COMPACTION, "PreCompact"),
    "postcompact": (COMPACTION, "PostCompact"),
}

# host → event without case, dashes and underscores → (kind, the name as the host writes it)
EVENTS = {
    "claude": _LIKE_CLAUDE,
    "codex": _LIKE_CLAUDE,
    "qwen": _LIKE_CLAUDE,
    "opencode": _LIKE_CLAUDE,
    "vscode": _LIKE_CLAUDE,
    "copilot": {
        "sessionstart": (START, "sessionStart"),
        "userpromptsubmitted": (PROMPT, "userPromptSubmitted"),
        "agentstop": (STOP, "agentStop"),
        "subagentstop": (SUBAGENT_STOP, "subagentStop"),
        "sessionend": (END, "sessionEnd"),
        "precompact": (COMPACTION, "preCompact"),
    },
    "gemini": {
        "sessionstart": (START, "SessionStart"),
        "beforeagent": (PROMPT, "BeforeAgent"),
        "afteragent": (STOP, "AfterAgent"),
        "sessionend": (END, "SessionEnd"),
        # Fires before every request, not only when the history is compressed: see `is_compaction`.
        "precompress": (COMPACTION, "PreCompress"),
    },
    "cursor": {
        "sessionstart": (START, "sessionStart"),
        "beforesubmitprompt": (PROMPT, "beforeSubmitPrompt"),
        "afteragentresponse": (STOP, "afterAgentResponse"),
        "stop": (STOP, "stop"),
        "subagentstop": (SUBAGENT_STOP, "subagentStop"),
        "sessionend": (END, "sessionEnd"),
        "precompact": (COMPACTION, "preCompact"),
    },
    "windsurf": {
        "preuserprompt": (PROMPT, "pre_user_prompt"),
        "postcascaderesponse": (STOP, "post_cascade_response"),
        "postcascaderesponsewithtranscript": (STOP, "post_cascade_response_with_transcript"),
    },
}

# Hosts that drop what they are answered to a prompt: Windsurf takes context from no hook, the others at session start.
_TAKES_NOTHING_AT = {("windsurf", PROMPT), ("cursor", PROMPT), ("copilot", PROMPT)}
# Hosts that look for the context at the top of the answer, and under which name.
_FLAT = {"cursor": "additional_context", "copilot": "additionalContext"}


def host_named(name: str) -> str:
    """The host behind a name or an alias, or ""."""
    plain = name.strip().lower()
    plain = _ALIASES.get(plain, plain)
    return plain if plain in EVENTS else ""


def event_named(host: str, name: str) -> tuple[str, str]:
    """(kind, the host's own spelling) of an event, or two blanks for one that is none of ours."""
    plain = name.strip().lower().replace("-", "").replace("_", "").replace(" ", "")
    return EVENTS[host].get(plain, ("", ""))


def takes_context(host: str, kind: str) -> bool:
    """Whether the host gives its model what it is answered at such an event."""
    return kind in (START, PROMPT) and (host, kind) not in _TAKES_NOTHING_AT


def is_compaction(host: str, trigger: str) -> bool:
    """Whether the event really comes with a compaction of what the model has seen."""
    return host != "gemini" or trigger == "manual"


def with_context(host: str, event: str, text: str) -> str:
    """The answer that brings `text` before the model. `event` as the host writes it."""
    return _answer(host, event, text, action="replace")


def without_context(host: str, kind: str, event: str, *, proof: str = "", clears: bool = False) -> str:
    """The answer when there is nothing new to bring; `proof` is a line that says why, or "". `clears`: what was
    brought before is to go, too."""
    if host == "windsurf" and kind == PROMPT:
        return '{"proof":' + quoted(proof) + "}" if proof else "{}"
    said = proof if takes_context(host, kind) else ""
    return _answer(host, event, said, action="clear" if clears else "retain" if kind in (START, PROMPT) else "")


def _answer(host: str, event: str, text: str, *, action: str) -> str:
    parts = []
    if text and host in _FLAT:
        parts.append('"' + _FLAT[host] + '":' + quoted(text))
    elif text:
        inner = '"hookEventName":' + quoted(event) + ',"additionalContext":' + quoted(text)
        parts += ['"hookSpecificOutput":{' + inner + "}", '"suppressOutput":true']
    if host == "opencode" and action:
        parts.append('"engramHook":{"action":' + quoted(action) + "}")
    return "{" + ",".join(parts) + "}"
