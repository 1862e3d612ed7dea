"""The `mem_*` tools as data: what a client lists, and which profile each belongs to.

Every word here is read by a model in every session, so descriptions are short and the first sentence stands
alone. `engram mcp --cost` counts the tokens; a test holds the budget.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENT, ADMIN = "agent", "admin"

_TEXT: dict[str, Any] = {"type": "string"}
_ID: dict[str, Any] = {"type": "integer"}
_SCOPE: dict[str, Any] = {"enum": ["project", "personal"]}


def _hints(*, reads: bool = False, destroys: bool = False, repeatable: bool = False) -> dict[str, bool]:
    return {
        "readOnlyHint": reads,
        "destructiveHint": destroys,
        "idempotentHint": repeatable,
        "openWorldHint": False,
    }


def _tool(
    profile: str,
    name: str,
    title: str,
    description: str,
    properties: dict[str, Any],
    required: list[str],
    hints: dict[str, bool],
    gives: list[str],
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if not properties:
        schema = {"type": "object", "additionalProperties": False}
    return {
        "profile": profile,
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "outputSchema": {"type": "object", "required": gives},
        "annotations": hints,
    }


_READS = _hints(reads=True, repeatable=True)
_WRITES = _hints()
_REPEATABLE = _hints(repeatable=True)
_SAVED = ["id", "sync_id", "outcome", "project"]

TOOLS: tuple[dict[str, Any], ...] = (
    _tool(
        AGENT,
        "mem_save",
        "Save Memory",
        "Save what was learned. Call after each bug fix, decision, discovery, convention, config change or user "
        "preference. The same topic_key revises; the old text is kept.",
        {
            "title": {"type": "string", "description": "Short, searchable"},
            "content": {"type": "string", "description": "**What**, **Why**, **Where**, **Learned**"},
            "type": {
                "type": "string",
                "description": "decision, architecture, bugfix, pattern, config, discovery, learning, manual",
            },
            "session_id": _TEXT,
            "project": _TEXT,
            "scope": _SCOPE,
            "topic_key": {"type": "string", "description": "e.g. architecture/auth-model"},
        },
        ["title", "content"],
        _WRITES,
        _SAVED,
    ),
    _tool(
        AGENT,
        "mem_search",
        "Search Memory",
        "Search past work by words, names, paths or a question. Gives ids and previews; mem_get_observation has "
        "the whole text.",
        {
            "query": _TEXT,
            "type": _TEXT,
            "project": _TEXT,
            "scope": _SCOPE,
            "limit": {"type": "integer", "maximum": 20, "default": 10},
        },
        ["query"],
        _READS,
        ["results"],
    ),
    _tool(
        AGENT,
        "mem_context",
        "Recent Context",
        "Recent sessions, prompts and observations. Call at session start and after compaction.",
        {
            "project": {"type": "string", "description": "Omit for all"},
            "scope": _SCOPE,
            "limit": {"type": "integer", "default": 20},
        },
        [],
        _READS,
        ["lines"],
    ),
    _tool(
        AGENT,
        "mem_session_summary",
        "Save Session Summary",
        "Save the summary of this session. Call before saying done; not from sub-agents.",
        {
            "content": {
                "type": "string",
                "description": "## Goal, ## Instructions, ## Discoveries, ## Accomplished, ## Relevant Files",
            },
            "project": _TEXT,
            "session_id": _TEXT,
        },
        ["content", "project"],
        _WRITES,
        _SAVED,
    ),
    _tool(
        AGENT,
        "mem_session_start",
        "Start Session",
        "Register the start of a session.",
        {"id": _TEXT, "project": _TEXT, "directory": _TEXT},
        ["id", "project"],
        _REPEATABLE,
        ["id", "outcome", "project"],
    ),
    _tool(
        AGENT,
        "mem_session_end",
        "End Session",
        "Mark a session as completed.",
        {"id": _TEXT, "summary": _TEXT},
        ["id"],
        _REPEATABLE,
        ["id", "outcome", "project"],
    ),
    _tool(
        AGENT,
        "mem_get_observation",
        "Get Observation",
        "One observation in full.",
        {"id": _ID},
        ["id"],
        _READS,
        ["id", "title", "content"],
    ),
    _tool(
        AGENT,
        "mem_suggest_topic_key",
        "Suggest Topic Key",
        "A stable topic_key for an evolving topic, before mem_save.",
        {"type": _TEXT, "title": _TEXT, "content": _TEXT},
        [],
        _READS,
        ["topic_key"],
    ),
    _tool(
        AGENT,
        "mem_capture_passive",
        "Capture Learnings",
        "Save each item of a `## Key Learnings:` list in a text; known ones are skipped.",
        {"content": _TEXT, "session_id": _TEXT, "project": _TEXT, "source": _TEXT},
        ["content"],
        _REPEATABLE,
        ["extracted", "saved", "duplicates"],
    ),
    _tool(
        AGENT,
        "mem_save_prompt",
        "Save User Prompt",
        "Keep what the user asked, for later sessions.",
        {"content": _TEXT, "session_id": _TEXT, "project": _TEXT},
        ["content"],
        _WRITES,
        ["id", "project"],
    ),
    _tool(
        AGENT,
        "mem_update",
        "Update Memory",
        "Correct fields of one observation; the old text is kept as a version.",
        {
            "id": _ID,
            "title": _TEXT,
            "content": _TEXT,
            "type": _TEXT,
            "project": _TEXT,
            "scope": _SCOPE,
            "topic_key": _TEXT,
        },
        ["id"],
        _WRITES,
        _SAVED,
    ),
    _tool(
        ADMIN,
        "mem_delete",
        "Delete Memory",
        "Hide an observation, or remove it for good.",
        {"id": _ID, "hard_delete": {"type": "boolean", "default": False}},
        ["id"],
        _hints(destroys=True),
        ["id", "outcome"],
    ),
    _tool(
        ADMIN,
        "mem_stats",
        "Memory Stats",
        "Totals and projects.",
        {},
        [],
        _READS,
        ["sessions", "observations", "prompts", "projects"],
    ),
    _tool(
        ADMIN,
        "mem_timeline",
        "Memory Timeline",
        "What was saved around one observation in its session.",
        {
            "observation_id": _ID,
            "before": {"type": "integer", "default": 5},
            "after": {"type": "integer", "default": 5},
        },
        ["observation_id"],
        _READS,
        ["focus", "before", "after", "total"],
    ),
)
