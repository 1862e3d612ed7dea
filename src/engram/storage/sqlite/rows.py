"""Rows of SQLite as values of the core."""

from __future__ import annotations

from typing import Any

from engram.core.observation import Observation, Version
from engram.core.ports import Revision
from engram.core.session import Prompt, Session, SessionCard

OBSERVATION = (
    "o.id, o.sync_id, o.session_id, o.type, o.title, o.content, o.source, o.project, o.scope, o.topic_key, "
    "o.content_hash, o.revision_count, o.duplicate_count, o.pinned, o.created_at, o.updated_at, o.last_seen_at, "
    "o.deleted_at"
)


def observation(row: tuple[Any, ...]) -> Observation:
    """From a row that was selected with `OBSERVATION`."""
    return Observation(
        id=row[0],
        sync_id=row[1],
        session_id=row[2],
        type=row[3],
        title=row[4],
        content=row[5],
        source=row[6],
        project=row[7],
        scope=row[8],
        topic_key=row[9],
        content_hash=row[10],
        revision_count=row[11],
        duplicate_count=row[12],
        pinned=bool(row[13]),
        created_at=row[14],
        updated_at=row[15],
        last_seen_at=row[16],
        deleted_at=row[17],
    )


def revision(row: tuple[Any, ...]) -> Revision:
    return Revision(
        id=row[0],
        sync_id=row[1],
        updated_at=row[2],
        revision_count=row[3],
        content_hash=row[4],
        deleted_at=row[5],
    )


def version(row: tuple[Any, ...]) -> Version:
    return Version(version=row[0], type=row[1], title=row[2], content=row[3], session_id=row[4], replaced_at=row[5])


def session(row: tuple[Any, ...]) -> Session:
    return Session(
        id=row[0],
        project=row[1],
        directory=row[2],
        started_at=row[3],
        ended_at=row[4],
        summary=row[5],
        started_by=row[6],
    )


def session_card(row: tuple[Any, ...]) -> SessionCard:
    return SessionCard(
        id=row[0],
        project=row[1],
        started_at=row[2],
        ended_at=row[3],
        active_at=row[4],
        summary=row[5],
        observations=row[6],
    )


def prompt(row: tuple[Any, ...]) -> Prompt:
    return Prompt(id=row[0], sync_id=row[1], session_id=row[2], project=row[3], content=row[4], created_at=row[5])
