"""Everything that is read but searches: one consistent snapshot each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from engram.core.observation import Draft, Observation, Version
from engram.core.ports import Counts, Filters, Matches, Revision
from engram.core.project import Project, ProjectCount
from engram.core.query import Query
from engram.core.session import Prompt, Session, SessionCard
from engram.storage.sqlite import rows, search

# SQLite holds no larger number; one that is larger is no id.
LARGEST_ID = 2**63 - 1

_OBSERVATION = f"SELECT {rows.OBSERVATION} FROM observation AS o"

_LIVE_TOPIC = f"""{_OBSERVATION}
     WHERE o.project = :project AND o.scope = :scope AND o.topic_key = :topic_key
       AND o.deleted_at IS NULL
"""

_REVISION = "SELECT id, sync_id, updated_at, revision_count, content_hash, deleted_at FROM observation"

_TOPIC_HOLDER = f"""{_REVISION}
     WHERE project = :project AND scope = :scope AND topic_key = :topic_key
       AND deleted_at IS NULL
"""

# A twin under another topic is no twin: its key must not be lost.
# The index is named, or the planner walks a busy project's latest rows instead of the few with this hash.
_BY_HASH = f"{_OBSERVATION} INDEXED BY observation_live_hash"

_RECENT_TWIN = f"""{_BY_HASH}
     WHERE o.content_hash = :content_hash AND o.project = :project AND o.deleted_at IS NULL
       AND o.scope = :scope AND o.type = :type AND o.title = :title
       AND o.last_seen_at >= :since
       AND (:topic_key IS NULL OR o.topic_key IS NULL OR o.topic_key = :topic_key)
  ORDER BY o.last_seen_at DESC, o.id DESC
     LIMIT 1
"""

_SAME_CONTENT = f"""{_BY_HASH}
     WHERE o.content_hash = :content_hash AND o.project = :project AND o.deleted_at IS NULL
  ORDER BY o.id
     LIMIT 1
"""

_BEFORE = f"""{_OBSERVATION}
     WHERE o.session_id = :session AND (o.created_at, o.id) < (:created_at, :id) AND o.deleted_at IS NULL
  ORDER BY o.created_at DESC, o.id DESC
     LIMIT :limit
"""

_AFTER = f"""{_OBSERVATION}
     WHERE o.session_id = :session AND (o.created_at, o.id) > (:created_at, :id) AND o.deleted_at IS NULL
  ORDER BY o.created_at, o.id
     LIMIT :limit
"""

_VERSIONS = """
    SELECT version, type, title, content, session_id, replaced_at
      FROM observation_version
     WHERE observation_id = :id
  ORDER BY version
"""

_SESSION = "SELECT id, project, directory, started_at, ended_at, summary, started_by FROM session"

_OPEN_SESSION = f"""{_SESSION}
     WHERE project = :project AND ended_at IS NULL
       AND started_by <> '' AND id NOT LIKE 'manual-save-%'  -- imported or for loose saves: nobody's running session
       AND (started_by = :started_by OR (:directory <> '' AND directory = :directory))
  ORDER BY started_by = :started_by DESC, started_at DESC, id DESC
     LIMIT 1
"""

# A session's latest summary is what it was ended with, else its last session_summary observation.
_SESSION_CARDS = """
    SELECT s.id, s.project, s.started_at, s.ended_at,
           max(s.started_at,
               coalesce((SELECT max(o.last_seen_at) FROM observation AS o
                          WHERE o.session_id = s.id AND o.deleted_at IS NULL), s.started_at)) AS active_at,
           coalesce((SELECT o.content FROM observation AS o
                      WHERE o.session_id = s.id AND o.type = 'session_summary' AND o.deleted_at IS NULL
                   ORDER BY o.created_at DESC, o.id DESC LIMIT 1), s.summary),
           (SELECT count(*) FROM observation AS o WHERE o.session_id = s.id AND o.deleted_at IS NULL)
      FROM session AS s
"""

_PROMPT = "SELECT id, sync_id, session_id, project, content, created_at FROM prompt"

_PROJECT = "SELECT key, name FROM project WHERE key = :key"
_PROJECT_BY_ALIAS = """
    SELECT p.key, p.name FROM project_alias AS a JOIN project AS p ON p.key = a.project WHERE a.alias = :key
"""

_PROJECTS = """
    SELECT p.key, p.name,
           (SELECT count(*) FROM observation AS o WHERE o.project = p.key AND o.deleted_at IS NULL),
           (SELECT count(*) FROM session AS s WHERE s.project = p.key),
           (SELECT count(*) FROM prompt AS q WHERE q.project = p.key),
           (SELECT json_group_array(a.name ORDER BY a.name) FROM project_alias AS a WHERE a.project = p.key),
           (SELECT max(o.last_seen_at) FROM observation AS o WHERE o.project = p.key AND o.deleted_at IS NULL) AS active
      FROM project AS p
  ORDER BY active IS NULL, active DESC, p.key
"""

# A session that is only known by its newest rows: enough of them to find `limit` sessions, without a scan of all.
_ACTIVE_SESSIONS = """
    SELECT session_id, max(last_seen_at) AS at
      FROM (SELECT session_id, last_seen_at FROM observation
             WHERE deleted_at IS NULL AND (:project IS NULL OR project = :project)
               AND (:besides IS NULL OR project <> :besides)
          ORDER BY last_seen_at DESC, id DESC LIMIT 500)
  GROUP BY session_id
"""


class SqliteReader:
    """Reads inside one transaction of `connection`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def _all(self, sql: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(sql, values or {}))

    def _one(self, sql: str, values: dict[str, Any]) -> tuple[Any, ...] | None:
        return next(iter(self._all(sql, values)), None)

    def observation(self, id: int, *, deleted: bool = False) -> Observation | None:
        row = self._one(f"{_OBSERVATION} WHERE o.id = :id", {"id": id}) if abs(id) <= LARGEST_ID else None
        if row is None:
            return None
        found = rows.observation(row)
        return found if deleted or found.deleted_at is None else None

    def observations(self, ids: Sequence[int]) -> list[Observation]:
        found = (self.observation(id) for id in ids)
        return [row for row in found if row is not None]

    def observation_by_sync_id(self, sync_id: str) -> Observation | None:
        row = self._one(f"{_OBSERVATION} WHERE o.sync_id = :sync_id", {"sync_id": sync_id})
        return rows.observation(row) if row else None

    def revision(self, sync_id: str) -> Revision | None:
        row = self._one(f"{_REVISION} WHERE sync_id = :sync_id", {"sync_id": sync_id})
        return rows.revision(row) if row else None

    def topic_holder(self, project: str, scope: str, topic_key: str) -> Revision | None:
        row = self._one(_TOPIC_HOLDER, {"project": project, "scope": scope, "topic_key": topic_key})
        return rows.revision(row) if row else None

    def has_prompt(self, sync_id: str) -> bool:
        return self._one("SELECT 1 FROM prompt WHERE sync_id = :sync_id", {"sync_id": sync_id}) is not None

    def live_topic(self, project: str, scope: str, topic_key: str) -> Observation | None:
        row = self._one(_LIVE_TOPIC, {"project": project, "scope": scope, "topic_key": topic_key})
        return rows.observation(row) if row else None

    def recent_twin(self, draft: Draft, *, since: str) -> Observation | None:
        row = self._one(
            _RECENT_TWIN,
            {
                "content_hash": draft.content_hash,
                "project": draft.project,
                "scope": draft.scope,
                "type": draft.type,
                "title": draft.title,
                "topic_key": draft.topic_key,
                "since": since,
            },
        )
        return rows.observation(row) if row else None

    def same_content(self, project: str, content_hash: str) -> Observation | None:
        row = self._one(_SAME_CONTENT, {"project": project, "content_hash": content_hash})
        return rows.observation(row) if row else None

    def versions(self, id: int) -> list[Version]:
        return [rows.version(row) for row in self._all(_VERSIONS, {"id": id})]

    def recent_observations(
        self, filters: Filters, *, limit: int, besides: str | None = None, without_type: str | None = None
    ) -> list[Observation]:
        conditions, values = search.conditions(filters, besides)
        if without_type is not None:
            conditions, values = f"{conditions} AND o.type <> :without_type", {**values, "without_type": without_type}
        sql = f"""{_OBSERVATION}
             WHERE o.deleted_at IS NULL {conditions}
          ORDER BY o.last_seen_at DESC, o.id DESC
             LIMIT :limit"""
        return [rows.observation(row) for row in self._all(sql, {**values, "limit": limit})]

    def neighbours(self, focus: Observation, *, before: int, after: int) -> tuple[list[Observation], list[Observation]]:
        place = {"session": focus.session_id, "created_at": focus.created_at, "id": focus.id}
        earlier = self._all(_BEFORE, {**place, "limit": before})
        later = self._all(_AFTER, {**place, "limit": after})
        return [rows.observation(row) for row in reversed(earlier)], [rows.observation(row) for row in later]

    def session_size(self, session_id: str) -> int:
        row = self._one(
            "SELECT count(*) FROM observation WHERE session_id = :id AND deleted_at IS NULL",
            {"id": session_id},
        )
        return int(row[0]) if row else 0

    def session(self, id: str) -> Session | None:
        row = self._one(f"{_SESSION} WHERE id = :id", {"id": id})
        return rows.session(row) if row else None

    def open_session(self, project: str, *, started_by: str, directory: str) -> Session | None:
        row = self._one(_OPEN_SESSION, {"project": project, "started_by": started_by, "directory": directory})
        return rows.session(row) if row else None

    def recent_sessions(self, project: str | None, *, limit: int, besides: str | None = None) -> list[SessionCard]:
        chosen = {"project": project, "besides": besides}
        ids = {row[0] for row in self._all(_ACTIVE_SESSIONS, chosen)}
        newest = f"""SELECT id FROM session
             WHERE (:project IS NULL OR project = :project) AND (:besides IS NULL OR project <> :besides)
          ORDER BY started_at DESC, id DESC LIMIT {limit:d}"""
        ids.update(row[0] for row in self._all(newest, chosen))
        cards = [
            rows.session_card(row) for id in ids for row in self._all(f"{_SESSION_CARDS} WHERE s.id = :id", {"id": id})
        ]
        cards.sort(key=lambda card: (card.active_at, card.id), reverse=True)
        return cards[:limit]

    def recent_prompts(self, project: str | None, *, limit: int, besides: str | None = None) -> list[Prompt]:
        where = "project = :project" if project is not None else "(:besides IS NULL OR project <> :besides)"
        sql = f"{_PROMPT} WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit"
        values = {"project": project, "besides": besides, "limit": limit}
        return [rows.prompt(row) for row in self._all(sql, values)]

    def project(self, key: str) -> Project | None:
        row = self._one(_PROJECT, {"key": key}) or self._one(_PROJECT_BY_ALIAS, {"key": key})
        return Project(key=row[0], name=row[1]) if row else None

    def projects(self) -> list[ProjectCount]:
        import json

        return [
            ProjectCount(
                key=row[0],
                name=row[1],
                observations=row[2],
                sessions=row[3],
                prompts=row[4],
                aliases=tuple(json.loads(row[5])),
                active_at=row[6],
            )
            for row in self._all(_PROJECTS)
        ]

    def project_keys(self) -> list[str]:
        return [row[0] for row in self._all("SELECT key FROM project ORDER BY id")]

    def counts(self) -> Counts:
        row = self._all(
            """SELECT (SELECT count(*) FROM session),
                      (SELECT count(*) FROM observation WHERE deleted_at IS NULL),
                      (SELECT count(*) FROM prompt),
                      (SELECT count(*) FROM observation WHERE deleted_at IS NOT NULL)"""
        )[0]
        return Counts(sessions=row[0], observations=row[1], prompts=row[2], deleted=row[3])

    def search(self, query: Query, filters: Filters, *, pool: int) -> Matches:
        return search.search(self._connection, query, filters, pool=pool)

    def all_sessions(self) -> Iterator[Session]:
        for row in self._connection.execute(f"{_SESSION} ORDER BY started_at, id"):
            yield rows.session(row)

    def all_observations(self, *, deleted: bool, newest_first: bool = False) -> Iterator[Observation]:
        where = "" if deleted else "WHERE o.deleted_at IS NULL"
        order = "o.id DESC" if newest_first else "o.id"
        for row in self._connection.execute(f"{_OBSERVATION} {where} ORDER BY {order}"):
            yield rows.observation(row)

    def all_prompts(self) -> Iterator[Prompt]:
        for row in self._connection.execute(f"{_PROMPT} ORDER BY id"):
            yield rows.prompt(row)

    def tombstone(self, sync_id: str) -> str | None:
        row = self._one("SELECT deleted_at FROM tombstone WHERE sync_id = :id", {"id": sync_id})
        return row[0] if row else None
