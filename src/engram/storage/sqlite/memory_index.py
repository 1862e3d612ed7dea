"""The cache of one root's memories: rows and full text, made from the files and never the truth.

A file that is damaged or of another version is thrown away and made anew; only the counters of use are lost then.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import apsw

from engram import files
from engram.core.memory import Memory
from engram.core.memory_ports import REVOKED, Approval, FoundMemories, Indexed, ReadFile, Stamp, Start
from engram.core.query import Query, Term
from engram.core.ranking import Candidate
from engram.errors import IntegrityFailed
from engram.storage.sqlite import start_rows
from engram.storage.sqlite.connect import connect, explain
from engram.storage.sqlite.coverage import Words
from engram.storage.sqlite.postings import Postings, match_any
from engram.storage.sqlite.transaction import immediate

VERSION = 2
MAX_POSTINGS = 20_000
# title, text, keys (id, triggers, tags), derived forms
WEIGHTS = "5.0, 1.0, 4.0, 0.5"

_SCHEMA = """
    CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE memory (
        row           INTEGER PRIMARY KEY,
        path          TEXT NOT NULL UNIQUE,
        size          INTEGER NOT NULL,
        changed_ns    INTEGER NOT NULL,
        problem       TEXT NOT NULL,
        ignored       INTEGER NOT NULL,
        live          INTEGER NOT NULL,
        id            TEXT NOT NULL,
        type          TEXT NOT NULL,
        title         TEXT NOT NULL,
        text          TEXT NOT NULL,
        keys          TEXT NOT NULL,
        search_terms  TEXT NOT NULL,
        is_always     INTEGER NOT NULL,
        tier          TEXT NOT NULL,
        updated       TEXT NOT NULL,
        said_hash     TEXT NOT NULL,
        actual_hash   TEXT NOT NULL,
        fields        TEXT NOT NULL
    ) STRICT;
    CREATE INDEX memory_id ON memory (id);
    CREATE INDEX memory_said ON memory (said_hash) WHERE live = 1;
    CREATE INDEX memory_always ON memory (row) WHERE is_always = 1 AND live = 1;
    CREATE INDEX memory_newest ON memory (updated) WHERE live = 1;
    CREATE INDEX memory_tier ON memory (tier) WHERE tier <> '';
    CREATE TABLE approval (
        id TEXT NOT NULL, type TEXT NOT NULL, content_hash TEXT NOT NULL, at TEXT NOT NULL, how TEXT NOT NULL,
        PRIMARY KEY (id, type, content_hash)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE usage (
        id TEXT NOT NULL, type TEXT NOT NULL, fetches INTEGER NOT NULL, last_at TEXT NOT NULL,
        PRIMARY KEY (id, type)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX usage_most ON usage (fetches);
    CREATE VIRTUAL TABLE memory_fts USING fts5 (
        title, text, keys, search_terms,
        content = 'memory', content_rowid = 'row', tokenize = 'porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER memory_added AFTER INSERT ON memory WHEN new.live = 1 BEGIN
        INSERT INTO memory_fts (rowid, title, text, keys, search_terms)
        VALUES (new.row, new.title, new.text, new.keys, new.search_terms);
    END;
    CREATE TRIGGER memory_removed AFTER DELETE ON memory WHEN old.live = 1 BEGIN
        INSERT INTO memory_fts (memory_fts, rowid, title, text, keys, search_terms)
        VALUES ('delete', old.row, old.title, old.text, old.keys, old.search_terms);
    END;
"""

_ROW = """
    SELECT m.row, m.path, m.problem, m.ignored, m.id, m.type, m.title, m.text, m.fields,
           a.at, a.how,
           EXISTS (SELECT 1 FROM approval AS p WHERE p.id = m.id AND p.type = m.type),
           u.fetches, u.last_at
      FROM memory AS m
 LEFT JOIN approval AS a ON a.id = m.id AND a.type = m.type AND a.content_hash = m.actual_hash
 LEFT JOIN usage AS u ON u.id = m.id AND u.type = m.type
"""

_INSERT = """
    INSERT INTO memory (path, size, changed_ns, problem, ignored, live, id, type, title, text, keys, search_terms,
                        is_always, tier, updated, said_hash, actual_hash, fields)
    VALUES (:path, :size, :changed_ns, :problem, :ignored, :live, :id, :type, :title, :text, :keys, :search_terms,
            :is_always, :tier, :updated, :said_hash, :actual_hash, :fields)
"""

_CANDIDATES = f"""
    SELECT rowid, -bm25(memory_fts, {WEIGHTS}) AS fit
      FROM memory_fts
     WHERE memory_fts MATCH :match
  ORDER BY fit DESC, rowid
     LIMIT :pool
"""

_LISTS = ("tags", "triggers", "role", "depends_on", "supersedes", "evidence_refs", "derived_from")
_TEXTS = (
    "superseded_by", "extra", "origin", "confidence", "authority", "lifecycle", "created", "updated", "valid_from",
    "valid_until", "last_confirmed", "source", "author", "tier", "objective", "content_hash", "actual_hash",
)  # fmt: skip


def open_index(path: str) -> SqliteMemoryIndex:
    """The index in the file `path`; opened when first used."""
    return SqliteMemoryIndex(path)


class SqliteMemoryIndex:
    """One connection, used by one thread at a time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: apsw.Connection | None = None
        self._lock = threading.RLock()
        self._owner = os.getpid()

    @contextmanager
    def _open(self) -> Iterator[apsw.Connection]:
        with self._lock:
            if self._connection is None or self._owner != os.getpid():
                self._connection = self._prepared()
                self._owner = os.getpid()
            try:
                yield self._connection
            except apsw.Error as error:
                said = explain(error, self._path)
                if isinstance(said, IntegrityFailed):
                    self._discard()  # the next use makes it anew
                raise said from error

    def _prepared(self) -> apsw.Connection:
        files.private_folder(os.path.dirname(self._path))
        try:
            return self._at_version()
        except IntegrityFailed:
            self._discard()
            return self._at_version()

    def _at_version(self) -> apsw.Connection:
        if not os.path.exists(self._path):
            files.private_file(self._path)
        connection = connect(self._path, synchronous="NORMAL", create=True)
        try:
            with immediate(connection):
                found = int(connection.pragma("user_version"))
                if found == 0:
                    _create(connection)
                elif found == 1:  # all that is there stays: the counters of use cannot be made again
                    _add_start(connection)
        except apsw.Error as error:
            connection.close()
            raise explain(error, self._path) from error
        if found not in (0, 1, VERSION):
            connection.close()
            raise IntegrityFailed(f"{self._path}: was made by another version")
        return connection

    def _discard(self) -> None:
        if self._connection is not None:
            with suppress(apsw.Error):
                self._connection.close()
            self._connection = None
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(self._path + ending)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    # -- keeping it fresh ------------------------------------------------------------------------------------------

    def note(self, name: str) -> str:
        with self._open() as connection:
            return str(connection.execute("SELECT value FROM note WHERE name = ?", (name,)).get or "")

    def stamps(self) -> dict[str, Stamp]:
        with self._open() as connection:
            rows = connection.execute("SELECT path, size, changed_ns FROM memory")
            return {path: (size, changed) for path, size, changed in rows}

    def has_stamp(self, path: str, stamp: Stamp | None) -> bool:
        with self._open() as connection:
            rows = connection.execute("SELECT size, changed_ns FROM memory WHERE path = ?", (path,))
            return next(iter(rows), None) == stamp

    def refresh(
        self, *, changed: Iterable[ReadFile], removed: Sequence[str], notes: dict[str, str] | None = None
    ) -> None:
        with self._open() as connection, immediate(connection):
            for path in removed:
                connection.execute("DELETE FROM memory WHERE path = ?", (path,))
            for read in changed:
                connection.execute("DELETE FROM memory WHERE path = ?", (read.path,))
                connection.execute(_INSERT, _values(read))
            _keep(connection, notes or {})

    def add_approvals(self, approvals: Sequence[Approval], *, notes: dict[str, str]) -> None:
        with self._open() as connection, immediate(connection):
            for row in approvals:
                if row.how == REVOKED:
                    connection.execute(
                        "DELETE FROM approval WHERE id = ? AND type = ? AND content_hash = ?",
                        (row.id, row.type, row.content_hash),
                    )
                else:
                    connection.execute(
                        "INSERT OR REPLACE INTO approval (id, type, content_hash, at, how) VALUES (?, ?, ?, ?, ?)",
                        (row.id, row.type, row.content_hash, row.at, row.how),
                    )
            _keep(connection, notes)

    def forget_approvals(self, *, notes: dict[str, str]) -> None:
        with self._open() as connection, immediate(connection):
            connection.execute("DELETE FROM approval")
            _keep(connection, notes)

    def is_approved(self, *, id: str, type: str, content_hash: str) -> bool:
        with self._open() as connection:
            row = connection.execute(
                "SELECT 1 FROM approval WHERE id = ? AND type = ? AND content_hash = ?", (id, type, content_hash)
            ).get
            return row is not None

    def count_fetches(self, keys: Sequence[tuple[str, str]], *, at: str) -> None:
        with self._open() as connection, immediate(connection):
            connection.executemany(
                "INSERT INTO usage (type, id, fetches, last_at) VALUES (?, ?, 1, ?)"
                " ON CONFLICT DO UPDATE SET fetches = fetches + 1, last_at = excluded.last_at",
                [(type, id, at) for type, id in keys],
            )

    # -- reading ---------------------------------------------------------------------------------------------------

    def search(self, query: Query, *, pool: int) -> FoundMemories:
        with self._open() as connection:
            postings = Postings(connection, "memory_fts", most=MAX_POSTINGS)
            total = postings.total()
            terms, counts = postings.rarest(query.terms)
            admitted, spent = postings.admitted(terms, counts, total)
            match = match_any(admitted, postings.admitted_forms(query.forms, spent, total), query.phrases)
            scored = _scored(connection, match, pool)
            if not scored:
                longer = [Term(t.text, t.word, prefix=True) for t in terms if len(t.text) >= 4 or not t.text.isascii()]
                scored = _scored(connection, match_any(longer, (), ()), pool)
                terms = [*terms, *longer]
            best = max((fit for _, fit in scored), default=0.0)
            candidates = _described(connection, scored, best, [*terms, *_apart(query)], len(counts))
            return FoundMemories(candidates=candidates, best=best, counts=counts, total=total)

    def rows(self, rows: Sequence[int]) -> list[Indexed]:
        with self._open() as connection:
            wanted = json.dumps(list(rows))
            found = {
                row[0]: _indexed(row)
                for row in connection.execute(_ROW + " WHERE m.row IN (SELECT value FROM json_each(?))", (wanted,))
            }
            return [found[row] for row in rows if row in found]

    def by_id(self, id: str) -> list[Indexed]:
        return self._list(" WHERE m.id = ? ORDER BY m.tier, m.type, m.path", id)

    def saying(self, said_hash: str) -> list[Indexed]:
        return self._list(" WHERE m.said_hash = ? AND m.live = 1 ORDER BY m.id", said_hash)

    def always(self) -> list[Indexed]:
        return self._list(" WHERE m.is_always = 1 AND m.live = 1 ORDER BY m.type, m.id")

    def newest(self, limit: int) -> list[Indexed]:
        return self._list(" WHERE m.live = 1 AND m.tier = '' ORDER BY m.updated DESC, m.id LIMIT ?", limit)

    def most_used(self, limit: int) -> list[Indexed]:
        return self._list(
            " WHERE m.live = 1 AND m.tier = '' ORDER BY coalesce(u.fetches, 0) DESC, m.updated DESC, m.id LIMIT ?",
            limit,
        )

    def notes_at_work(self) -> list[Indexed]:
        return self._list(" WHERE m.tier <> '' ORDER BY m.updated DESC, m.id")

    def everything(self) -> list[Indexed]:
        return self._list(" ORDER BY m.path")

    def counts(self) -> dict[str, int]:
        with self._open() as connection:
            found = {
                "unreadable": "problem <> ''",
                "ignored": "ignored = 1",
                "notes": "problem = '' AND tier <> ''",
                "memories": "problem = '' AND tier = ''",
                "rule": "problem = '' AND tier = '' AND type = 'rule'",
                "skill": "problem = '' AND tier = '' AND type = 'skill'",
                "knowledge": "problem = '' AND tier = '' AND type = 'knowledge'",
            }
            return {
                name: int(connection.execute(f"SELECT count(*) FROM memory WHERE {where}").get)
                for name, where in found.items()
            }

    # -- what a session start shows --------------------------------------------------------------------------------

    def begins_after(self, today: str) -> str:
        with self._open() as connection:
            return start_rows.begins_after(connection, today)

    def start(self, seen_by: str) -> Start | None:
        with self._open() as connection:
            return start_rows.read(connection, seen_by)

    def keep_start(self, start: Start) -> None:
        with self._open() as connection, immediate(connection):
            start_rows.keep(connection, start)

    def _list(self, rest: str, *values: Any) -> list[Indexed]:
        with self._open() as connection:
            return [_indexed(row) for row in connection.execute(_ROW + rest, values)]


def _create(connection: apsw.Connection) -> None:
    connection.execute(_SCHEMA)
    _add_start(connection)


def _add_start(connection: apsw.Connection) -> None:
    connection.execute(start_rows.SCHEMA)
    connection.execute(f"PRAGMA user_version = {VERSION:d}")


def _keep(connection: apsw.Connection, notes: dict[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", list(notes.items()))


def _values(read: ReadFile) -> dict[str, Any]:
    memory = read.memory
    values: dict[str, Any] = {
        "path": read.path,
        "size": read.stamp[0],
        "changed_ns": read.stamp[1],
        "problem": read.problem,
        "ignored": int(read.is_ignored),
        "live": 0,
        "search_terms": read.search_terms,
        "said_hash": read.said_hash,
    }
    if memory is None:
        blank = ("id", "type", "title", "text", "keys", "tier", "updated", "actual_hash")
        return values | dict.fromkeys(blank, "") | {"is_always": 0, "fields": "{}"}
    is_live = not read.is_ignored and not memory.superseded_by and memory.lifecycle in ("active", "review_due")
    fields: dict[str, Any] = {name: value for name in _TEXTS if (value := getattr(memory, name))}
    fields |= {name: value for name in _LISTS if (value := getattr(memory, name))}
    fields |= {"revision": memory.revision, "schema_version": memory.schema_version}
    if memory.always:
        fields["always"] = True
    if memory.variants:
        fields["variants"] = dict(memory.variants)
    return values | {
        "live": int(is_live),
        "id": memory.id,
        "type": memory.type,
        "title": memory.title,
        "text": f"{memory.text}\n\n{memory.extra}" if memory.extra else memory.text,
        "keys": " \n ".join((memory.id, *memory.triggers, *memory.tags)),
        "is_always": int(memory.always),
        "tier": memory.tier,
        "updated": memory.updated,
        "actual_hash": memory.actual_hash,
        "fields": json.dumps(fields, ensure_ascii=False, separators=(",", ":")),
    }


def _indexed(row: tuple[Any, ...]) -> Indexed:
    number, path, problem, ignored, id, kind, title, text, fields, at, how, was, fetches, last_at = row
    memory = None
    if not problem:
        known = json.loads(fields)
        extra = known.get("extra", "")
        for name in _LISTS:
            if name in known:
                known[name] = tuple(known[name])
        text = text.removesuffix(f"\n\n{extra}") if extra else text
        memory = Memory(id=id, type=kind, title=title, text=text, **known)
    return Indexed(
        row=number,
        path=path,
        memory=memory,
        problem=problem,
        is_ignored=bool(ignored),
        approved_at=at or "",
        approved_how=how or "",
        was_approved=bool(was),
        fetches=fetches or 0,
        last_fetched=last_at or "",
    )


def _scored(connection: apsw.Connection, match: str, pool: int) -> list[tuple[int, float]]:
    return list(connection.execute(_CANDIDATES, {"match": match, "pool": pool})) if match else []


def _apart(query: Query) -> list[Term]:
    return [form for form in query.forms if " " in form.text]


def _described(
    connection: apsw.Connection, scored: Sequence[tuple[int, float]], best: float, terms: Sequence[Term], counted: int
) -> list[Candidate]:
    """What ranking wants to know of each row. Terms past the counted ones are other spellings of a counted word."""
    owner = {term.word: at for at, term in enumerate(terms[:counted])}
    known = [term for at, term in enumerate(terms) if at < counted or term.word in owner]
    belongs = [at if at < counted else owner[term.word] for at, term in enumerate(known)]
    words = Words(connection, known)
    found = []
    for row, fit in scored:
        texts = next(
            iter(connection.execute("SELECT title, text, keys, search_terms FROM memory WHERE row = ?", (row,))), None
        )
        if texts is None:
            continue
        title, text, keys, search_terms = texts
        in_title = words.found(title, keys)
        matched = in_title | words.found(title, text, keys, search_terms)
        found.append(
            Candidate(
                id=row,
                fit=fit / best if best > 0 else 0.0,
                matched=frozenset(belongs[at] for at in matched),
                in_title=frozenset(belongs[at] for at in in_title),
            )
        )
    return found
