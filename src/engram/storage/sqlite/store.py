"""The store: connections kept ready, one transaction per unit of work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import cast

import apsw

from engram import files
from engram.core.ports import Finding, Reader, Writer
from engram.errors import StoreUnavailable, Unsupported
from engram.storage.sqlite import checks, schema
from engram.storage.sqlite.connect import connect, explain
from engram.storage.sqlite.read_only import connect_read_only, is_read_only
from engram.storage.sqlite.reader import SqliteReader
from engram.storage.sqlite.transaction import immediate
from engram.storage.sqlite.writer import SqliteWriter

# The generation of connections that are not kept.
_FOR_ONE_READ = -1
# Connections that a parent process opened: kept, because to let go of one would close it.
_PARENTS: list[apsw.Connection] = []


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def open_url(rest: str, **options: object) -> SqliteStore:
    """For `open_store`: what follows `sqlite://`."""
    return SqliteStore(rest, **options)  # type: ignore[arg-type]  # options are checked by the call itself


class SqliteStore:
    """A database file. Connections are opened on demand and kept for reuse: SQLite folds the write-ahead log
    back when the last connection closes, which would cost a checkpoint per call."""

    def __init__(self, path: str, *, synchronous: str = "FULL", now: Callable[[], str] = _utc_now) -> None:
        self._path = os.path.abspath(os.path.expanduser(path))
        self._synchronous = synchronous
        self._now = now
        self._idle: list[apsw.Connection] = []
        self._generation = 0  # of connections: counts replaced files and forks
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._identity: tuple[int, int] | None = None

    @property
    def place(self) -> str:
        return self._path

    @contextmanager
    def read(self) -> Iterator[Reader]:
        with self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield cast("Reader", SqliteReader(connection))
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[Writer]:
        if is_read_only(self._path):
            raise explain(apsw.ReadOnlyError("cannot be written"), self._path)
        with self._connection() as connection, immediate(connection):
            # Another program may have upgraded the schema while this one was running.
            if schema.version_of(connection) != schema.SCHEMA_VERSION:
                raise Unsupported(
                    f"{self._path}: was upgraded by a newer Engram while this one was running; nothing was saved",
                    hint="restart this program with the newer version",
                )
            yield cast("Writer", SqliteWriter(connection))

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        taken: tuple[apsw.Connection, int] | None = None
        try:
            taken = self._take()
            yield taken[0]
        except apsw.Error as error:
            raise explain(error, self._path) from error
        finally:
            if taken is not None:
                self._give_back(*taken)

    def _take(self) -> tuple[apsw.Connection, int]:
        """An idle connection, or a new one, and its generation. Those of a parent process or of a replaced file
        are dropped."""
        if is_read_only(self._path):
            return connect_read_only(self._path), _FOR_ONE_READ
        identity = self._file_identity()
        with self._lock:
            if self._owner != os.getpid():
                # After a fork, SQLite handles of the parent must not even be closed here.
                _PARENTS.extend(self._idle)
                self._idle, self._owner, self._identity = [], os.getpid(), None
            if identity is None or identity != self._identity:
                for stale in self._idle:
                    stale.close()
                self._idle.clear()
                schema.prepare(self._path, synchronous=self._synchronous, now=self._now())
                self._identity = self._file_identity()
                self._generation += 1
            generation = self._generation
            if self._idle:
                return self._idle.pop(), generation
        return connect(self._path, synchronous=self._synchronous), generation

    def _give_back(self, connection: apsw.Connection, generation: int) -> None:
        """Keep a connection for the next one; one of a file that was replaced meanwhile would write into the void."""
        with self._lock:
            if self._owner != os.getpid():
                _PARENTS.append(connection)
            elif generation == self._generation:
                self._idle.append(connection)
            else:
                connection.close()

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def backup(self, target: str) -> None:
        """A consistent copy through SQLite's online backup; raises when `target` exists."""
        if os.path.exists(target):
            raise StoreUnavailable(f"{target}: exists already", hint="choose another name")
        try:
            files.private_file(target)
        except OSError as error:
            raise StoreUnavailable(
                f"{target}: cannot be written: {error.strerror}", hint="choose another place"
            ) from error
        copy = apsw.Connection(target)
        try:
            with self._connection() as source, copy.backup("main", source, "main") as running:
                while not running.done:
                    running.step(2000)
        finally:
            copy.close()

    def check(self, *, deep: bool) -> list[Finding]:
        # A connection of its own: the page check of FTS5 goes by what an older connection remembers of the index,
        # and reports damage where another process has merely written since.
        with self._connection():
            is_fixed = is_read_only(self._path)
            fresh = connect_read_only(self._path) if is_fixed else connect(self._path, synchronous=self._synchronous)
            try:
                return checks.check(fresh, self._path, deep=deep)
            finally:
                fresh.close()

    def repair(self) -> list[str]:
        if is_read_only(self._path):
            raise explain(apsw.ReadOnlyError("cannot be written"), self._path)
        with self._connection() as connection, immediate(connection):
            return checks.rebuild(connection)

    def close(self) -> None:
        """Close what is idle; the last one folds the write-ahead log back into the file."""
        with self._lock:
            if self._owner == os.getpid():
                for connection in self._idle:
                    connection.close()
            else:
                _PARENTS.extend(self._idle)
            self._idle.clear()
