"""Stores to measure on: made-up but word-like texts with a skewed vocabulary, and the same rows in bare SQLite."""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import apsw

from engram.bootstrap import App
from engram.core import terms
from engram.core.clean import Clean
from engram.core.observation import Draft
from engram.core.project import Project
from engram.core.session import Session
from engram.core.text import content_hash
from engram.settings import load

VOCABULARY = 20_000
PROJECTS = 40
_SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or")]

_TABLES = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS note (
        id INTEGER PRIMARY KEY, sync_id TEXT UNIQUE, session_id TEXT, type TEXT, title TEXT, content TEXT,
        project TEXT, scope TEXT, topic_key TEXT, hash TEXT, created_at TEXT, updated_at TEXT, seen_at TEXT,
        extra TEXT, token TEXT
    );
    CREATE INDEX IF NOT EXISTS note_hash ON note (hash, project);
    CREATE INDEX IF NOT EXISTS note_seen ON note (seen_at, id);
    CREATE INDEX IF NOT EXISTS note_project ON note (project, seen_at, id);
    CREATE INDEX IF NOT EXISTS note_session ON note (session_id, created_at, id);
    CREATE VIRTUAL TABLE IF NOT EXISTS note_fts USING fts5 (
        title, content, topic_key, extra, token,
        content = 'note', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER IF NOT EXISTS note_added AFTER INSERT ON note BEGIN
        INSERT INTO note_fts (rowid, title, content, topic_key, extra, token)
        VALUES (new.id, new.title, new.content, new.topic_key, new.extra, new.token);
    END;
"""
_INSERT = """
    INSERT INTO note (sync_id, session_id, type, title, content, project, scope, hash, created_at, updated_at,
                      seen_at, extra, token)
    VALUES (?, ?, 'discovery', ?, ?, ?, 'project', ?, ?, ?, ?, ?, ?)
"""


def _word(number: int) -> str:
    """The same word for the same number: two to four syllables, now and then an identifier."""
    parts = []
    rest = number + 150
    while rest:
        rest, at = divmod(rest, len(_SYLLABLES))
        parts.append(_SYLLABLES[at])
    word = "".join(parts)
    return word if number % 17 else f"get{word.capitalize()}Id"


class _Words:
    """Words by Zipf's law, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        weights = (1 / (rank + 2.7) for rank in range(VOCABULARY))
        self._sums = list(itertools.accumulate(weights))

    def some(self, count: int) -> list[str]:
        top = self._sums[-1]
        return [_word(bisect.bisect(self._sums, self._random.random() * top)) for _ in range(count)]

    def project(self) -> str:
        return f"project-{int(PROJECTS * self._random.random() ** 2)}"


def texts(seed: int) -> Iterator[tuple[str, str, str]]:
    """(title, content of about 400 characters, project), without end."""
    words = _Words(seed)
    while True:
        yield " ".join(words.some(6)), " ".join(words.some(60)), words.project()


def questions(count: int) -> Iterator[str]:
    words = _Words(count)
    while True:
        yield " ".join(words.some(count))


def fill(folder: Path, rows: int) -> None:
    """A store of `rows` observations, and the same rows in bare SQLite beside it."""
    app = App(load({"ENGRAM_DATA_DIR": str(folder)}), workspace=str(folder), process="bench")
    bare = Bare(folder / "bare.db", 0)
    made = texts(1)
    done = 0
    at = app.now()
    while done < rows:
        batch = list(itertools.islice(made, min(5000, rows - done)))
        with app.store.write() as tx:
            for n, (title, content, project) in enumerate(batch):
                if tx.project(project) is None:
                    tx.add_project(Project(key=project, name=project), at=at)
                session = f"session-{project}-{(done + n) // 2000}"
                if tx.session(session) is None:
                    tx.add_session(
                        Session(
                            id=session,
                            project=project,
                            directory="",
                            started_at=at,
                            ended_at=at,
                            summary=None,
                            started_by="",
                        )
                    )
                draft = Draft(
                    title=Clean(title),
                    content=Clean(content),
                    type=Clean("discovery"),
                    project=project,
                    scope="project",
                    topic_key=None,
                    source=None,
                    content_hash=content_hash(content),
                )
                tx.add_observation(draft, session_id=session, sync_id=app.new_id(), at=app.now())
        bare.save_many(batch)
        done += len(batch)
    app.close()


def prepare(kind: str, folder: str) -> None:
    """An empty store of the kind, so that writers do not measure its making."""
    if kind == "bare":
        Bare(Path(folder) / "bare.db", 0)
    else:
        app = App(load({"ENGRAM_DATA_DIR": folder}), workspace=folder, process="bench")
        app.status.stats()
        app.close()


class Bare:
    """The same row and index in SQLite without anything around it."""

    def __init__(self, path: Path, rows: int) -> None:
        self._db = apsw.Connection(str(path))
        self._db.set_busy_timeout(60_000)
        list(self._db.execute(_TABLES))  # read to the end, or what follows the first row is not run
        self._count = rows
        self._salt = random.SystemRandom().getrandbits(64)

    def _values(self, title: str, content: str, project: str) -> tuple[str, ...]:
        self._count += 1
        at = f"2026-03-01T00:00:00.{self._count:08d}Z"
        session = f"session-{project}-{self._count // 2000}"
        extra = terms.derive(title, content)
        sync_id = f"{self._salt:x}-{self._count}"
        return (sync_id, session, title, content, project, content_hash(content), at, at, at, extra, project)

    def save(self, title: str, content: str, project: str) -> None:
        values = self._values(title, content, project)
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(_INSERT, values)
        self._db.execute("COMMIT")

    def save_many(self, batch: list[tuple[str, str, str]]) -> None:
        with self._db:
            self._db.executemany(_INSERT, [self._values(*row) for row in batch])

    def match(self, query: str) -> int:
        """How many rows have any of the words: matching without scoring."""
        match = " OR ".join(f'"{word}"' for word in query.split())
        found = self._db.execute("SELECT count(*) FROM note_fts WHERE note_fts MATCH ?", (match,)).get
        return int(found)
