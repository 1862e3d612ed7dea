-- Observations with their history, sessions, prompts, projects, tombstones, and the full-text index.
-- Times are RFC 3339 in UTC with milliseconds, so text order is time order.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE project (
    id         INTEGER PRIMARY KEY,      -- also the project's token in the index: U+E000<id>
    key        TEXT NOT NULL UNIQUE,     -- compares: NFC, case folded
    name       TEXT NOT NULL,            -- shown: the first spelling seen
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE project_alias (
    alias      TEXT PRIMARY KEY,
    project    TEXT NOT NULL REFERENCES project (key) ON UPDATE CASCADE ON DELETE CASCADE,
    name       TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id         TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    project    TEXT NOT NULL REFERENCES project (key),
    directory  TEXT NOT NULL DEFAULT '',
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    summary    TEXT,
    started_by TEXT NOT NULL DEFAULT ''  -- the server process that opened it
) STRICT;

CREATE INDEX session_by_project ON session (project, started_at);

CREATE TABLE observation (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- an id is never given twice
    sync_id         TEXT NOT NULL UNIQUE,
    session_id      TEXT NOT NULL REFERENCES session (id),
    type            TEXT NOT NULL CHECK (type <> ''),
    title           TEXT NOT NULL CHECK (title <> ''),
    content         TEXT NOT NULL CHECK (content <> ''),
    source          TEXT,
    project         TEXT NOT NULL REFERENCES project (key),
    scope           TEXT NOT NULL CHECK (scope IN ('project', 'personal')),
    topic_key       TEXT CHECK (topic_key <> ''),
    content_hash    TEXT NOT NULL,
    revision_count  INTEGER NOT NULL DEFAULT 1 CHECK (revision_count >= 1),
    duplicate_count INTEGER NOT NULL DEFAULT 1 CHECK (duplicate_count >= 1),
    pinned          INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    last_seen_at    TEXT NOT NULL,
    deleted_at      TEXT,
    search_terms    TEXT NOT NULL DEFAULT '',           -- derived: identifier parts, joined forms, pairs
    search_project  TEXT NOT NULL DEFAULT ''            -- derived: the project's token
) STRICT;

-- One live row a topic: two processes that both saw none cannot both insert.
CREATE UNIQUE INDEX observation_live_topic ON observation (project, scope, topic_key)
    WHERE topic_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX observation_live_hash ON observation (content_hash, project) WHERE deleted_at IS NULL;
CREATE INDEX observation_activity ON observation (last_seen_at, id) WHERE deleted_at IS NULL;
CREATE INDEX observation_project_activity ON observation (project, last_seen_at, id) WHERE deleted_at IS NULL;
CREATE INDEX observation_session ON observation (session_id, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE observation_version (
    observation_id INTEGER NOT NULL REFERENCES observation (id) ON DELETE CASCADE,
    version        INTEGER NOT NULL CHECK (version >= 1),
    type           TEXT NOT NULL,
    title          TEXT NOT NULL,
    content        TEXT NOT NULL,
    session_id     TEXT NOT NULL,
    replaced_at    TEXT NOT NULL,
    UNIQUE (observation_id, version)
) STRICT;

CREATE TABLE prompt (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    sync_id    TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES session (id),
    project    TEXT NOT NULL REFERENCES project (key),
    content    TEXT NOT NULL CHECK (content <> ''),
    created_at TEXT NOT NULL
) STRICT;

CREATE INDEX prompt_recent ON prompt (created_at, id);
CREATE INDEX prompt_project_recent ON prompt (project, created_at, id);
CREATE INDEX prompt_session ON prompt (session_id);

CREATE TABLE tombstone (
    sync_id    TEXT PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('observation', 'prompt', 'session')),
    project    TEXT NOT NULL,
    deleted_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The index reads this view, so a rebuild and an integrity check see live rows only.
CREATE VIEW observation_indexed AS
    SELECT id, title, content, topic_key, search_terms, search_project
      FROM observation
     WHERE deleted_at IS NULL;

CREATE VIRTUAL TABLE observation_fts USING fts5 (
    title, content, topic_key, search_terms, search_project,
    content = 'observation_indexed',
    content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO observation_fts (observation_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER observation_added AFTER INSERT ON observation WHEN new.deleted_at IS NULL BEGIN
    INSERT INTO observation_fts (rowid, title, content, topic_key, search_terms, search_project)
    VALUES (new.id, new.title, new.content, new.topic_key, new.search_terms, new.search_project);
END;

CREATE TRIGGER observation_removed AFTER DELETE ON observation WHEN old.deleted_at IS NULL BEGIN
    INSERT INTO observation_fts (observation_fts, rowid, title, content, topic_key, search_terms, search_project)
    VALUES ('delete', old.id, old.title, old.content, old.topic_key, old.search_terms, old.search_project);
END;

-- Only these columns are indexed; counters and times leave the index alone.
CREATE TRIGGER observation_changed
    AFTER UPDATE OF title, content, topic_key, search_terms, search_project, deleted_at ON observation
BEGIN
    INSERT INTO observation_fts (observation_fts, rowid, title, content, topic_key, search_terms, search_project)
    SELECT 'delete', old.id, old.title, old.content, old.topic_key, old.search_terms, old.search_project
     WHERE old.deleted_at IS NULL;
    INSERT INTO observation_fts (rowid, title, content, topic_key, search_terms, search_project)
    SELECT new.id, new.title, new.content, new.topic_key, new.search_terms, new.search_project
     WHERE new.deleted_at IS NULL;
END;

CREATE VIRTUAL TABLE observation_words USING fts5vocab ('observation_fts', 'row');
