"""Everything that is written, inside the one write transaction."""

from __future__ import annotations

from engram.core import terms
from engram.core.clean import Clean
from engram.core.observation import Draft, Observation
from engram.core.ports import StoredObservation
from engram.core.project import Project
from engram.core.session import Session
from engram.storage.sqlite.reader import SqliteReader

_ADD_OBSERVATION = """
    INSERT INTO observation (sync_id, session_id, type, title, content, source, project, scope, topic_key,
                             content_hash, created_at, updated_at, last_seen_at, search_terms, search_project)
    VALUES (:sync_id, :session_id, :type, :title, :content, :source, :project, :scope, :topic_key,
            :content_hash, :at, :at, :at, :search_terms,
            (SELECT char(57344) || id FROM project WHERE key = :project))
"""

_KEEP_VERSION = """
    INSERT INTO observation_version (observation_id, version, type, title, content, session_id, replaced_at)
    SELECT :id, 1 + coalesce(max(version), 0), :type, :title, :content, :session_id, :at
      FROM observation_version
     WHERE observation_id = :id
"""

_REVISE = """
    UPDATE observation
       SET type = :type, title = :title, content = :content, content_hash = :content_hash,
           source = coalesce(:source, source), session_id = :session_id,
           revision_count = revision_count + 1, updated_at = :at, last_seen_at = :at, search_terms = :search_terms
     WHERE id = :id
"""

_EDIT = """
    UPDATE observation
       SET type = :type, title = :title, content = :content, content_hash = :content_hash,
           project = :project, scope = :scope, topic_key = :topic_key,
           revision_count = revision_count + :revised, updated_at = :at, last_seen_at = :at,
           search_terms = :search_terms, search_project = (SELECT char(57344) || id FROM project WHERE key = :project)
     WHERE id = :id
"""

_TOUCH = """
    UPDATE observation
       SET duplicate_count = duplicate_count + 1, last_seen_at = :at
     WHERE id = :id
"""

# Separate, so that counting a duplicate does not name an indexed column and wake the index.
_ADOPT = "UPDATE observation SET topic_key = :topic_key, updated_at = :at, search_terms = :search_terms WHERE id = :id"

_PUT_OBSERVATION = """
    INSERT INTO observation (sync_id, session_id, type, title, content, source, project, scope, topic_key,
                             content_hash, revision_count, duplicate_count, pinned, created_at, updated_at,
                             last_seen_at, deleted_at, search_terms, search_project)
    VALUES (:sync_id, :session_id, :type, :title, :content, :source, :project, :scope, :topic_key,
            :content_hash, :revision_count, :duplicate_count, :pinned, :created_at, :updated_at,
            :last_seen_at, :deleted_at, :search_terms, (SELECT char(57344) || id FROM project WHERE key = :project))
        ON CONFLICT (sync_id) DO UPDATE
       SET session_id = excluded.session_id, type = excluded.type, title = excluded.title,
           content = excluded.content, source = excluded.source, project = excluded.project,
           scope = excluded.scope, topic_key = excluded.topic_key, content_hash = excluded.content_hash,
           revision_count = excluded.revision_count, duplicate_count = excluded.duplicate_count,
           created_at = excluded.created_at, updated_at = excluded.updated_at,
           last_seen_at = excluded.last_seen_at, deleted_at = excluded.deleted_at,
           search_terms = excluded.search_terms, search_project = excluded.search_project
 RETURNING id
"""

_ADD_SESSION = """
    INSERT INTO session (id, project, directory, started_at, ended_at, summary, started_by)
    VALUES (:id, :project, :directory, :started_at, :ended_at, :summary, :started_by)
"""

_PUT_SESSION = """
    INSERT INTO session (id, project, directory, started_at, ended_at, summary, started_by)
    VALUES (:id, :project, :directory, :started_at, :ended_at, :summary, :started_by)
        ON CONFLICT (id) DO UPDATE
       SET directory = CASE directory WHEN '' THEN excluded.directory ELSE directory END,
           ended_at = coalesce(ended_at, excluded.ended_at), summary = coalesce(summary, excluded.summary)
"""

_RESUME_SESSION = """
    UPDATE session
       SET directory = CASE directory WHEN '' THEN :directory ELSE directory END, started_by = :started_by
     WHERE id = :id
"""

_END_SESSION = """
    UPDATE session
       SET ended_at = coalesce(ended_at, :at), summary = coalesce(:summary, summary)
     WHERE id = :id
"""

_ADD_PROMPT = """
    INSERT INTO prompt (sync_id, session_id, project, content, created_at)
    VALUES (:sync_id, :session_id, :project, :content, :at)
"""

_BURY = """
    INSERT INTO tombstone (sync_id, kind, project, deleted_at)
    SELECT sync_id, 'observation', project, :at FROM observation WHERE id = :id
        ON CONFLICT (sync_id) DO UPDATE SET deleted_at = excluded.deleted_at
"""

_RELEASE_TOPIC = "UPDATE observation SET topic_key = NULL, search_terms = :search_terms WHERE id = :id"

# Rows of a merged project that hold a topic the target already has live keep their text, without the key.
_TAKEN_TOPICS = """
    SELECT o.id, o.title, o.content
      FROM observation AS o
     WHERE o.project = :alias AND o.deleted_at IS NULL AND o.topic_key IS NOT NULL
       AND EXISTS (SELECT 1 FROM observation AS t
                    WHERE t.project = :target AND t.scope = o.scope AND t.topic_key = o.topic_key
                      AND t.deleted_at IS NULL)
"""

_MOVE_ROWS = """
    UPDATE observation
       SET project = :target, search_project = (SELECT char(57344) || id FROM project WHERE key = :target)
     WHERE project = :alias
"""


_SCRUB_BYTES = 16 * 1024 * 1024


def _search_terms(title: str, content: str, topic_key: str | None) -> str:
    return terms.derive(title, content, topic_key or "")


class SqliteWriter(SqliteReader):
    """A reader that may also write."""

    def add_observation(self, draft: Draft, *, session_id: str, sync_id: str, at: str) -> int:
        self._connection.execute(
            _ADD_OBSERVATION, {**_fields(draft), "session_id": session_id, "sync_id": sync_id, "at": at}
        )
        return self._connection.last_insert_rowid()

    def keep_version(self, old: Observation, *, at: str) -> None:
        self._connection.execute(
            _KEEP_VERSION,
            {
                "id": old.id,
                "type": old.type,
                "title": old.title,
                "content": old.content,
                "session_id": old.session_id,
                "at": at,
            },
        )

    def revise(self, id: int, draft: Draft, *, session_id: str, at: str) -> None:
        self._connection.execute(_REVISE, {**_fields(draft), "id": id, "session_id": session_id, "at": at})

    def touch(self, id: int, *, at: str, adopt: str | None = None) -> None:
        self._connection.execute(_TOUCH, {"id": id, "at": at})
        if adopt is not None:
            row = self.observation(id)
            if row is not None:
                search_terms = _search_terms(row.title, row.content, adopt)
                self._connection.execute(_ADOPT, {"id": id, "at": at, "topic_key": adopt, "search_terms": search_terms})

    def edit(self, id: int, draft: Draft, *, revised: bool, at: str) -> None:
        self._connection.execute(_EDIT, {**_fields(draft), "id": id, "revised": int(revised), "at": at})

    def soft_delete(self, id: int, *, at: str) -> None:
        self._connection.execute(
            "UPDATE observation SET deleted_at = :at, updated_at = :at WHERE id = :id", {"id": id, "at": at}
        )

    def hard_delete(self, id: int, *, at: str) -> None:
        self._connection.execute(_BURY, {"id": id, "at": at})
        # Elsewhere what is freed is overwritten only where that costs no page: merging the index frees pages by the
        # hundred, and a save would wait for each of them.
        self._connection.pragma("secure_delete", True)
        try:
            self._connection.execute("DELETE FROM observation WHERE id = :id", {"id": id})
            self._scrub_free_pages()
        finally:
            self._connection.execute("PRAGMA secure_delete = FAST").fetchall()

    def _scrub_free_pages(self) -> None:
        """Pages that a merge of the index freed earlier may hold words of a row: fill all of them with zeros."""
        free = self._connection.pragma("freelist_count") * self._connection.pragma("page_size")
        self._connection.execute("CREATE TABLE scrub (zeros BLOB)")
        for start in range(0, free, _SCRUB_BYTES):
            self._connection.execute("INSERT INTO scrub VALUES (zeroblob(?))", (min(_SCRUB_BYTES, free - start),))
        self._connection.execute("DROP TABLE scrub")

    def put_observation(self, stored: StoredObservation) -> int:
        row = stored.observation
        values = {
            "sync_id": row.sync_id,
            "session_id": row.session_id,
            "type": row.type,
            "title": row.title,
            "content": row.content,
            "source": row.source,
            "project": row.project,
            "scope": row.scope,
            "topic_key": row.topic_key,
            "content_hash": row.content_hash,
            "revision_count": row.revision_count,
            "duplicate_count": row.duplicate_count,
            "pinned": int(row.pinned),
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "last_seen_at": row.last_seen_at,
            "deleted_at": row.deleted_at,
            "search_terms": _search_terms(row.title, row.content, row.topic_key),
        }
        id = int(self._connection.execute(_PUT_OBSERVATION, values).get)
        for version in stored.versions:
            self._connection.execute(
                """INSERT INTO observation_version
                          (observation_id, version, type, title, content, session_id, replaced_at)
                   VALUES (:id, :version, :type, :title, :content, :session_id, :at)
                       ON CONFLICT DO NOTHING""",
                {
                    "id": id,
                    "version": version.version,
                    "type": version.type,
                    "title": version.title,
                    "content": version.content,
                    "session_id": version.session_id,
                    "at": version.replaced_at,
                },
            )
        return id

    def release_topic(self, id: int) -> None:
        row = self.observation(id, deleted=True)
        if row is not None:
            search_terms = _search_terms(row.title, row.content, None)
            self._connection.execute(_RELEASE_TOPIC, {"id": id, "search_terms": search_terms})

    def add_session(self, session: Session) -> None:
        self._connection.execute(_ADD_SESSION, _session_fields(session))

    def put_session(self, session: Session) -> None:
        self._connection.execute(_PUT_SESSION, _session_fields(session))

    def resume_session(self, id: str, *, directory: Clean, started_by: str) -> None:
        self._connection.execute(_RESUME_SESSION, {"id": id, "directory": directory, "started_by": started_by})

    def end_session(self, id: str, *, at: str, summary: Clean | None) -> None:
        self._connection.execute(_END_SESSION, {"id": id, "at": at, "summary": summary})

    def add_prompt(self, *, sync_id: str, session_id: str, project: str, content: Clean, at: str) -> int:
        self._connection.execute(
            _ADD_PROMPT,
            {"sync_id": sync_id, "session_id": session_id, "project": project, "content": content, "at": at},
        )
        return self._connection.last_insert_rowid()

    def add_project(self, project: Project, *, at: str) -> None:
        self._connection.execute(
            "INSERT INTO project (key, name, created_at) VALUES (:key, :name, :at)",
            {"key": project.key, "name": project.name, "at": at},
        )

    def alias(self, alias: str, *, target: str, at: str, name: str | None = None) -> None:
        old = self._one("SELECT name FROM project WHERE key = :alias", {"alias": alias})
        values = {"alias": alias, "target": target, "name": old[0] if old else name or alias, "at": at}
        if old:
            for id, title, content in self._all(_TAKEN_TOPICS, values):
                search_terms = _search_terms(title, content, None)
                self._connection.execute(_RELEASE_TOPIC, {"id": id, "search_terms": search_terms})
            self._connection.execute(_MOVE_ROWS, values)
            self._connection.execute("UPDATE session SET project = :target WHERE project = :alias", values)
            self._connection.execute("UPDATE prompt SET project = :target WHERE project = :alias", values)
            self._connection.execute("UPDATE project_alias SET project = :target WHERE project = :alias", values)
            self._connection.execute("DELETE FROM project WHERE key = :alias", values)
        self._connection.execute(
            """INSERT INTO project_alias (alias, project, name, created_at) VALUES (:alias, :target, :name, :at)
                   ON CONFLICT (alias) DO UPDATE SET project = excluded.project""",
            values,
        )


def _fields(draft: Draft) -> dict[str, object]:
    return {
        "type": draft.type,
        "title": draft.title,
        "content": draft.content,
        "source": draft.source,
        "project": draft.project,
        "scope": draft.scope,
        "topic_key": draft.topic_key,
        "content_hash": draft.content_hash,
        "search_terms": _search_terms(draft.title, draft.content, draft.topic_key),
    }


def _session_fields(session: Session) -> dict[str, object]:
    return {
        "id": session.id,
        "project": session.project,
        "directory": session.directory,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "summary": session.summary,
        "started_by": session.started_by,
    }
