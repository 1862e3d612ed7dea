"""Files as other programs leave them: the Go program's database and its JSON exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

_TABLES = """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
        started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT
    );
    CREATE TABLE observations (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions (id),
        type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
        scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
        revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1, last_seen_at TEXT,
        created_at TEXT NOT NULL DEFAULT (datetime('now')), updated_at TEXT NOT NULL DEFAULT (datetime('now')),
        deleted_at TEXT
    );
    CREATE TABLE user_prompts (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions (id),
        content TEXT NOT NULL, project TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now'))
    );
    CREATE VIRTUAL TABLE observations_fts USING fts5 (
        title, content, tool_name, type, project, content = 'observations', content_rowid = 'id'
    );
    CREATE TRIGGER obs_fts_insert AFTER INSERT ON observations BEGIN
        INSERT INTO observations_fts (rowid, title, content, tool_name, type, project)
        VALUES (new.id, new.title, new.content, new.tool_name, new.type, new.project);
    END;
"""
# As the first releases had it: no scope, topics, counts or deletion; no prompts.
_OLD_TABLES = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT, directory TEXT, started_at TEXT);
    CREATE TABLE observations (
        id INT, session_id TEXT, type TEXT, title TEXT, content TEXT, project TEXT, created_at TEXT
    );
"""


def session(id: str = "s-1", **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "project": "shop",
        "directory": "/home/ada/shop",
        "started_at": "2026-01-05 09:00:00",
        "ended_at": "2026-01-05 11:00:00",
        **fields,
    }


def observation(number: int = 1, **fields: Any) -> dict[str, Any]:
    at = f"2026-01-05 09:{number % 60:02d}:00"
    return {
        "id": number,
        "session_id": "s-1",
        "type": "decision",
        "title": f"Decision {number}",
        "content": f"We decided number {number}.",
        "project": "shop",
        "scope": "project",
        "revision_count": 1,
        "duplicate_count": 1,
        "created_at": at,
        "updated_at": at,
        **fields,
    }


def prompt(number: int = 1, **fields: Any) -> dict[str, Any]:
    at = f"2026-01-05 10:{number % 60:02d}:00"
    return {
        "id": number,
        "session_id": "s-1",
        "content": f"Please do {number}",
        "project": "shop",
        "created_at": at,
        **fields,
    }


def export(path: Path, *, version: str = "0.1.0", **kinds: Any) -> str:
    """A JSON export with one session, two observations and a prompt, or with what is given in their place."""
    whole = {
        "version": version,
        "exported_at": "2026-01-06 00:00:00",
        "sessions": [session()],
        "observations": [observation(1), observation(2)],
        "prompts": [prompt()],
        **kinds,
    }
    path.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    return str(path)


def database(
    path: Path,
    *,
    sessions: list[dict[str, Any]] | None = None,
    observations: list[dict[str, Any]] | None = None,
    prompts: list[dict[str, Any]] | None = None,
    journal_mode: str = "wal",
    old: bool = False,
) -> str:
    """An `engram.db` with the same rows as `export`, or with those that are given."""
    connection = open_database(path, journal_mode=journal_mode)
    list(connection.execute(_OLD_TABLES if old else _TABLES))
    insert(connection, "sessions", [session()] if sessions is None else sessions)
    insert(connection, "observations", [observation(1), observation(2)] if observations is None else observations)
    if not old:
        insert(connection, "user_prompts", [prompt()] if prompts is None else prompts)
    connection.close()
    return str(path)


def open_database(path: Path, *, journal_mode: str = "wal") -> apsw.Connection:
    connection = apsw.Connection(str(path))
    list(connection.execute(f"PRAGMA journal_mode = {journal_mode}"))
    return connection


def insert(connection: apsw.Connection, table: str, rows: list[dict[str, Any]]) -> None:
    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    for row in rows:
        taken = {name: value for name, value in row.items() if name in columns}
        names, places = ", ".join(taken), ", ".join(f":{name}" for name in taken)
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", taken)
