"""Sessions and prompts: one run of an agent, and what the user asked in it."""

from __future__ import annotations

from dataclasses import dataclass

MANUAL_PREFIX = "manual-save-"
MAX_SESSION_ID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Times are RFC 3339 in UTC with milliseconds. `started_by` names the server process, or is empty."""

    id: str
    project: str
    directory: str
    started_at: str
    ended_at: str | None
    summary: str | None
    started_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCard:
    """A session as lists show it: the latest summary known, and how much it holds."""

    id: str
    project: str
    started_at: str
    ended_at: str | None
    active_at: str
    summary: str | None
    observations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    id: int
    sync_id: str
    session_id: str
    project: str
    content: str
    created_at: str


def manual_session_id(project_name: str) -> str:
    """Where saves of a project go that belong to no session."""
    return f"{MANUAL_PREFIX}{project_name}"


def is_manual(session_id: str) -> bool:
    return session_id.startswith(MANUAL_PREFIX)
