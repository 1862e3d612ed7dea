"""Write observations, prompts and their sessions as Engram JSON 0.2.0, a row a line.

Rows carry the column names of the Go program's tables, so that it and its kin can read them; times are RFC 3339.
Two additions that others may ignore: `sync_id` on every row that has one, and `versions`, the earlier texts of an
observation, oldest first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from engram import files
from engram.core.clean import clean
from engram.core.observation import Observation, Version
from engram.core.ports import Reader
from engram.core.session import Prompt, Session
from engram.errors import Conflict, InvalidInput

VERSION = "0.2.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Where it went (`-` for a stream) and how many rows of each kind."""

    path: str
    sessions: int
    observations: int
    prompts: int


def write(
    tx: Reader, out: TextIO, *, path: str, exported_at: str, project: str | None, include_deleted: bool
) -> Exported:
    """Everything of one snapshot, or only what is filed under the project key `project`.

    Every session that a written row belongs to is written, too, last, when all of them are known.
    """
    names: dict[str, str] = {}

    def name(key: str) -> str:
        if key not in names:
            found = tx.project(key)
            names[key] = found.name if found else key
        return names[key]

    needed: set[str] = set()
    observations = prompts = sessions = 0
    out.write(f'{{\n"version": {json.dumps(VERSION)},\n"exported_at": {json.dumps(exported_at)},\n"observations": [')
    for row in tx.all_observations(deleted=include_deleted):
        if project is None or row.project == project:
            _line(out, observations, _observation(row, name(row.project), tx.versions(row.id)))
            needed.add(row.session_id)
            observations += 1
    out.write('\n],\n"prompts": [')
    for prompt in tx.all_prompts():
        if project is None or prompt.project == project:
            _line(out, prompts, _prompt(prompt, name(prompt.project)))
            needed.add(prompt.session_id)
            prompts += 1
    out.write('\n],\n"sessions": [')
    for session in tx.all_sessions():
        if project is None or session.project == project or session.id in needed:
            _line(out, sessions, _session(session, name(session.project)))
            sessions += 1
    out.write("\n]\n}\n")
    return Exported(path=path, sessions=sessions, observations=observations, prompts=prompts)


def _line(out: TextIO, before: int, row: dict[str, Any]) -> None:
    out.write(",\n" if before else "\n")
    out.write(json.dumps({field: value for field, value in row.items() if value is not None}, ensure_ascii=False))


def _observation(row: Observation, project: str, versions: list[Version]) -> dict[str, Any]:
    return {
        "id": row.id,
        "sync_id": row.sync_id,
        "session_id": row.session_id,
        "type": row.type,
        "title": clean(row.title),
        "content": clean(row.content),
        "tool_name": row.source,
        "project": project,
        "scope": row.scope,
        "topic_key": row.topic_key,
        "normalized_hash": row.content_hash,
        "revision_count": row.revision_count,
        "duplicate_count": row.duplicate_count,
        "pinned": row.pinned,
        "last_seen_at": row.last_seen_at,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "deleted_at": row.deleted_at,
        "versions": [_version(version) for version in versions] or None,
    }


def _version(version: Version) -> dict[str, Any]:
    return {
        "version": version.version,
        "type": version.type,
        "title": clean(version.title),
        "content": clean(version.content),
        "session_id": version.session_id,
        "replaced_at": version.replaced_at,
    }


def _prompt(row: Prompt, project: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "sync_id": row.sync_id,
        "session_id": row.session_id,
        "content": clean(row.content),
        "project": project,
        "created_at": row.created_at,
    }


def _session(row: Session, project: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "project": project,
        "directory": clean(row.directory),
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "summary": clean(row.summary) if row.summary is not None else None,
    }


@contextmanager
def new_file(path: str, *, overwrite: bool) -> Iterator[TextIO]:
    """A file for this user only that appears under its name when all of it is on the disk, or not at all.

    Raises `Conflict` when there is one already, unless `overwrite`.
    """
    if os.path.isdir(path):
        raise InvalidInput(f"{path}: is a folder", hint="name a file in it")
    if not overwrite and os.path.lexists(path):
        raise Conflict(f"{path}: exists already; nothing was written", hint="choose another name, or --force")
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        files.sync_folder(os.path.dirname(os.path.abspath(path)))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):  # it has its name by now, or the disk is gone and the first error says more
            os.unlink(beside)
