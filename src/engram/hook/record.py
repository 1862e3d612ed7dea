"""What went on in a project lately, and in this very session, as cards out of the store of observations."""

from __future__ import annotations

import os

from engram import paths
from engram.hook import sql
from engram.hook.lean_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

_SUMMARY = "session_summary"
_SCHEMA = 1  # the first one; tables that it has are in every later one, too

_PROJECT = """
    SELECT coalesce((SELECT key FROM project WHERE key = :key), (SELECT project FROM project_alias WHERE alias = :key))
"""
# Bounded: in a project without any summary, nobody shall look through all of its rows for one.
_LATEST_SUMMARY = """
    SELECT session_id, content, last_seen_at FROM (
        SELECT session_id, content, last_seen_at, type, id FROM observation
         WHERE project = :project AND deleted_at IS NULL
      ORDER BY last_seen_at DESC, id DESC LIMIT 400)
     WHERE type = 'session_summary' ORDER BY last_seen_at DESC, id DESC LIMIT 1
"""
_LATEST_ENDED = """
    SELECT id, summary, coalesce(ended_at, started_at) FROM (
        SELECT id, summary, ended_at, started_at FROM session
         WHERE project = :project ORDER BY started_at DESC LIMIT 100)
     WHERE summary IS NOT NULL ORDER BY 3 DESC LIMIT 1
"""
_NEWEST = """
    SELECT id, type, title, substr(content, 1, 600), last_seen_at FROM observation
     WHERE project = :project AND deleted_at IS NULL AND scope = 'project' AND type <> 'session_summary'
  ORDER BY last_seen_at DESC, id DESC
     LIMIT :limit
"""
_OF_SESSION = """
    SELECT id, type, title, substr(content, 1, 600), last_seen_at FROM observation
     WHERE session_id = :session AND deleted_at IS NULL AND type <> 'session_summary'
  ORDER BY created_at DESC, id DESC
     LIMIT :limit
"""
_SUMMARY_OF_SESSION = """
    SELECT session_id, content, last_seen_at FROM observation
     WHERE session_id = :session AND deleted_at IS NULL AND type = 'session_summary'
  ORDER BY created_at DESC, id DESC LIMIT 1
"""
_END_OF_SESSION = (
    "SELECT id, summary, coalesce(ended_at, started_at) FROM session WHERE id = :session AND summary <> ''"
)
_PROMPTS = """
    SELECT id, substr(content, 1, 400), created_at FROM prompt WHERE session_id = :session ORDER BY id DESC LIMIT :limit
"""
MOST_PROMPTS, MOST_OBSERVATIONS = 8, 12


def database_file(data_folder: str) -> str:
    """The store's file; "" for a store that is none."""
    url = os.environ.get("ENGRAM_DATABASE_URL", "").strip()
    if not url:
        return paths.database_file(data_folder)
    return os.path.abspath(os.path.expanduser(url.removeprefix("sqlite://"))) if url.startswith("sqlite://") else ""


def has_store(data_folder: str) -> bool:
    """Whether there is a store, of whatever kind; the hook never makes one."""
    path = database_file(data_folder)
    return os.path.isfile(path) if path else True


def opened(data_folder: str) -> apsw.Connection | None:
    """The store, to be read; None when there is none, or none of ours."""
    path = database_file(data_folder)
    connection = sql.opened(path) if path else None
    if connection is None:
        return None
    if int(connection.pragma("user_version") or 0) < _SCHEMA:
        connection.close()
        return None
    return connection


def project_in(connection: apsw.Connection, key: str) -> str:
    """The key that rows of a project are kept under, aliases followed; "" for one that the store does not know."""
    return str(connection.execute(_PROJECT, {"key": key}).get or "")


def knows_session(connection: apsw.Connection, session: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM session WHERE id = ?", (session,)).get)


def is_open(connection: apsw.Connection, session: str) -> bool:
    """Whether a session is known and was not ended."""
    return bool(connection.execute("SELECT 1 FROM session WHERE id = ? AND ended_at IS NULL", (session,)).get)


def lately(connection: apsw.Connection, project: str) -> list[str]:
    """A line for the latest summary and for each of the newest observations of a project."""
    values = {"project": project}
    found = [*connection.execute(_LATEST_SUMMARY, values), *connection.execute(_LATEST_ENDED, values)]
    found.sort(key=lambda row: str(row[2]), reverse=True)
    lines = [_summary_line("last session", *row) for row in found[:1]]
    rows = connection.execute(_NEWEST, {**values, "limit": MOST_OBSERVATIONS})
    return lines + [_observation_line(*row) for row in rows]


def of_session(connection: apsw.Connection, session: str) -> list[str]:
    """A line for this session's summary, and for each of its latest prompts and observations."""
    values = {"session": session}
    found = [*connection.execute(_SUMMARY_OF_SESSION, values), *connection.execute(_END_OF_SESSION, values)]
    lines = [_summary_line("this session so far", *row) for row in found[:1]]
    prompts = list(connection.execute(_PROMPTS, {**values, "limit": MOST_PROMPTS}))
    for id, content, at in reversed(prompts):
        lines.append(f"- prompt {id} ({str(at)[:10]}): {one_line(content, 200)}")
    rows = connection.execute(_OF_SESSION, {**values, "limit": MOST_OBSERVATIONS})
    return lines + [_observation_line(*row) for row in rows]


def _summary_line(what: str, session: str, text: str, at: str) -> str:
    return f"- {what} {one_line(session, 60)} ({str(at)[:10]}): {one_line(text, 700)}"


def _observation_line(id: int, kind: str, title: str, content: str, at: str) -> str:
    return f"- #{id} [{one_line(kind, 30)}] {one_line(title, 100)} ({str(at)[:10]}): {one_line(content, 180)}"
