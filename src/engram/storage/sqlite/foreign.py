"""Read the database of the Go program, without leaving a trace in it or beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import quote

import apsw

from engram.errors import EngramError, InvalidInput, StoreUnavailable
from engram.storage.sqlite.connect import patient

PATIENCE = 10.0

# kind → (table, columns that are taken when the table has them). Those with `!` are needed.
_TABLES = {
    "sessions": ("sessions", "id! project directory started_at ended_at summary"),
    "observations": (
        "observations",
        "sync_id session_id! type title! content! tool_name project scope topic_key revision_count duplicate_count "
        "pinned last_seen_at created_at! updated_at deleted_at",
    ),
    "prompts": ("user_prompts", "sync_id session_id! content! project created_at!"),
}
_NUMBERS = ("revision_count", "duplicate_count", "pinned")
_STRAY = re.compile("[\udc80-\udcff]")
_WAL_FORMAT = 2  # byte 18 of the header: the file is written through a write-ahead log


def open_foreign(path: str) -> ForeignDatabase:
    """The rows of the Go program's `engram.db`. Raises `InvalidInput` when `path` is none."""
    return ForeignDatabase(path)


class ForeignDatabase:
    """A database that is read and never written.

    A file without a write-ahead log beside it is read as one that nobody changes, which makes SQLite leave no
    files of its own; that this was true is checked at the end.
    """

    format = "engram.db of the Go program"
    notes: Sequence[str] = ()

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._is_still = _is_still(self._path)
        self._stamp = _stamp(self._path)
        try:
            self._connection = self._open()
            self._columns = self._find_columns()
        except apsw.Error as error:
            raise self._explain(error) from error

    def _open(self) -> apsw.Connection:
        tries = ("immutable=1",) if self._is_still else ("mode=ro", "immutable=1")
        for last, how in enumerate(tries, start=1):
            connection = apsw.Connection(
                f"file:{quote(self._path)}?{how}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
            connection.set_busy_handler(patient(PATIENCE))
            try:
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("BEGIN")
                list(connection.execute("SELECT count(*) FROM sqlite_master"))
                return connection
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                connection.close()
                # The log holds rows that the file has not: leaving them out silently would be worse than an error.
                if last == len(tries) or _size(self._path + "-wal") or _size(self._path + "-journal"):
                    raise
        raise AssertionError("unreachable")

    def _find_columns(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for kind, (table, wanted) in _TABLES.items():
            has = {str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")')}
            if not has:
                if kind == "prompts":
                    continue
                raise InvalidInput(
                    f"{self._path}: has no table `{table}`, so it is no engram.db of the Go program",
                    hint="`engram restore` brings back a copy of this program's own database",
                )
            missing = [name[:-1] for name in wanted.split() if name.endswith("!") and name[:-1] not in has]
            if missing:
                raise InvalidInput(f"{self._path}: {table}.{missing[0]}: is missing; nothing was changed")
            found[kind] = [name for name in wanted.replace("!", "").split() if name in has]
        return found

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(kind, row) in the order they were written; the same rows each time, whatever others write meanwhile."""
        try:
            for kind, columns in self._columns.items():
                # As bytes: that program cuts long texts between the bytes of a character.
                selected = ", ".join(name if name in _NUMBERS else f"CAST({name} AS BLOB)" for name in columns)
                statement = f"SELECT {selected} FROM {_TABLES[kind][0]} ORDER BY rowid"  # noqa: S608  # names are ours
                for values in self._connection.execute(statement):
                    texts = (_text(value) if isinstance(value, bytes) else value for value in values)
                    yield kind, dict(zip(columns, texts, strict=True))
        except apsw.Error as error:
            raise self._explain(error) from error
        if self._is_still and (self._stamp != _stamp(self._path) or not _is_still(self._path)):
            raise StoreUnavailable(
                f"{self._path}: was changed by another program while it was read",
                hint="stop the other program, then import again; nothing comes in twice",
            )

    def _explain(self, error: Exception) -> EngramError:
        if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
            return InvalidInput(f"{self._path}: is damaged or no database; nothing was changed")
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            return StoreUnavailable(f"{self._path}: locked by another program", hint="stop it, then import again")
        if isinstance(error, (apsw.CantOpenError, apsw.ReadOnlyError)) and os.path.exists(self._path):
            return StoreUnavailable(
                f"{self._path}: cannot be read as it was left by a program that stopped midway",
                hint="copy it with its -wal or -journal file into a folder of your own, then import the copy",
            )
        return InvalidInput(f"{self._path}: cannot be read ({str(error).partition(': ')[2] or error})")

    def __enter__(self) -> ForeignDatabase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()


def _text(value: bytes) -> str:
    """UTF-8, each byte that is none as U+FFFD, as that program's own exports write it."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _STRAY.sub("\ufffd", value.decode("utf-8", "surrogateescape"))


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _is_still(path: str) -> bool:
    """Whether all of the database is in its file, written through a log of which nothing is left."""
    if _size(path + "-wal") or _size(path + "-journal"):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(19)[18:] == bytes([_WAL_FORMAT])
    except OSError:
        return False


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
