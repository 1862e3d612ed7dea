"""The `engram_*` tools as data: governed memory, which agents read freely and write only through a person."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GOVERNED = "governed"

# Memories as resources.
INDEX = "engram://index"
ABOUT_INDEX = "One line for each memory"
ONE_MEMORY = "engram://memory/{id}"
MARKDOWN = "text/markdown"

_TEXT: dict[str, Any] = {"type": "string"}
_SCOPES: dict[str, Any] = {"enum": ["workspace", "global", "both"]}
_TYPES: dict[str, Any] = {"enum": ["rule", "skill", "knowledge"]}

_READS = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_PROPOSES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
_COMMITS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}
_SETS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_NOTES = {"readOnlyHint": False, "openWorldHint": False}


def _tool(
    name: str,
    title: str,
    description: str,
    properties: dict[str, Any],
    required: list[str],
    hints: dict[str, bool],
    *,
    interactive: bool = False,
    meta: dict[str, Any] | None = None,
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if not properties:
        schema = {"type": "object"}
    row = {
        "profile": GOVERNED,
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": hints,
        "interactive": interactive,
    }
    return row | {"_meta": meta} if meta else row


TOOLS: tuple[dict[str, Any], ...] = (
    _tool(
        "engram_load",
        "Load Memories",
        "Recall the project's approved rules, skills and knowledge for a task. Call before work, with the task as "
        "query; without one the always-on rules come. Cards name what id fetches whole.",
        {
            "query": _TEXT,
            "id": {"type": "string", "description": "One id, or several with commas"},
            "budget_tokens": {"type": "integer", "minimum": 200, "maximum": 16000, "default": 1600},
            "disclosure": {"enum": ["auto", "cards", "bodies"]},
            "full": {"type": "boolean", "description": "Broad, no budget"},
            "explain": {"type": "boolean", "description": "Why each is in or out"},
        },
        [],
        _READS,
    ),
    _tool(
        "engram_route",
        "Route Task",
        "Classify a task and list the memories it routes to.",
        {"query": _TEXT, "task": {"type": "string", "description": "Same as query"}},
        [],
        _READS,
    ),
    _tool(
        "engram_search",
        "Search Memories",
        "Search approved memories by words or a question.",
        {"query": _TEXT, "type": _TYPES, "limit": {"type": "integer", "maximum": 100, "default": 20}},
        ["query"],
        _READS,
    ),
    _tool(
        "engram_verify",
        "Verify Memories",
        "Check that memory files are as a person approved them.",
        {"scope": {"enum": ["workspace", "global", "all"]}},
        [],
        _READS,
    ),
    _tool("engram_status", "Memory Status", "Report health and counts of memories and observations.", {}, [], _READS),
    _tool(
        "engram_save",
        "Propose Memory",
        "Propose one lasting rule, skill or fact of the project. Nothing is saved until the human approves: show the "
        "text in chat first, unedited.",
        {
            "text": {"type": "string", "description": "The text as it shall stand, or a TYPE: … | TEXT: … line"},
            "type": _TYPES,
            "scope": _SCOPES,
            "role": {"type": "string", "description": "Only for these roles"},
        },
        ["text"],
        _PROPOSES,
        interactive=True,
    ),
    _tool(
        "engram_save_session",
        "Propose Memories",
        "Propose up to 8 memories from this session. Show the candidates in chat first; nothing is saved until the "
        "human approves.",
        {
            "text": {
                "type": "string",
                "description": "A line each: TYPE: rule|skill|knowledge | TEXT: … | TRIGGERS: … | DEPENDS_ON: id | "
                "UPDATE: id; also TITLE, SUPERSEDES, KEEP: both, ALWAYS: yes",
            },
            "scope": _SCOPES,
            "role": _TEXT,
        },
        ["text"],
        _PROPOSES,
        interactive=True,
    ),
    _tool(
        "engram_commit",
        "Commit Approved Memories",
        "Write an approved proposal. Never call it before the human has approved the displayed candidates.",
        {
            "approval_token": _TEXT,
            "approve": {
                "anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "integer"}}],
                "description": '"all" or candidate numbers',
            },
        },
        ["approval_token", "approve"],
        _COMMITS,
        meta={"anthropic/requiresUserInteraction": True},
    ),
    _tool(
        "engram_set_role",
        "Set Roles",
        "Show only memories for these roles; without a value tells which are set.",
        {
            "role": {"type": "string", "description": "Names with commas; none clears"},
            "roles": {"type": "array", "items": _TEXT},
        },
        [],
        _SETS,
    ),
    _tool(
        "engram_set_rule_variant",
        "Set Rule Variant",
        "Choose the wording in which rules are shown.",
        {"variant": {"enum": ["off", "light", "balanced", "strict", "status"]}},
        ["variant"],
        _SETS,
    ),
    _tool(
        "engram_note",
        "Save Working Note",
        "Save a short task note that expires; the human answers once. engram promote makes it last.",
        {
            "text": _TEXT,
            "objective": {"type": "string", "description": "The task it belongs to"},
            "type": _TYPES,
            "scope": {"enum": ["workspace", "global"]},
        },
        ["text"],
        _NOTES,
        interactive=True,
    ),
)
