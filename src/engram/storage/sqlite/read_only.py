"""Read a database that this process may not write: on a read-only disk, in a folder of somebody else."""

from __future__ import annotations

import os
from urllib.parse import quote

import apsw

from engram.errors import StoreUnavailable, Unsupported
from engram.storage.sqlite import schema
from engram.storage.sqlite.connect import explain, open_plain

_PRAGMAS = """
    PRAGMA query_only = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cache_size = -16384;
    PRAGMA mmap_size = 0;
    PRAGMA temp_store = MEMORY;
"""


def is_read_only(path: str) -> bool:
    """Whether `path` and the files that SQLite puts beside it can be read at best, or could not be made."""
    folder = os.path.dirname(path)
    if os.path.lexists(path):
        return not (os.access(path, os.W_OK) and os.access(folder, os.W_OK | os.X_OK))
    while not os.path.lexists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK)


def connect_read_only(path: str) -> apsw.Connection:
    """A connection that only reads; to an empty database where there is none and none can be made.

    What another machine writes meanwhile is not seen: keep such a connection for one unit of work.
    Raises `StoreUnavailable` when it cannot be read without writing, `Unsupported` for an older schema.
    """
    if not os.path.exists(path):
        return _empty()
    try:
        connection = _opened(path)
        is_current = schema.is_current(connection, path)
    except apsw.Error as error:
        raise explain(error, path) from error
    if not is_current:
        connection.close()
        raise Unsupported(
            f"{path}: is of an older schema, and cannot be brought up to date where nothing can be written",
            hint="run any command once where it can be written, or set ENGRAM_DATA_DIR to a copy",
        )
    return connection


def _opened(path: str) -> apsw.Connection:
    place = "file:" + quote(path.encode("utf-8", "surrogateescape")) + "?mode=ro"
    # Without a log beside it the file is all there is; saying so spares SQLite the files it could not make.
    rest = path + "-wal"
    is_whole = not os.path.exists(rest) or os.path.getsize(rest) == 0
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(place + ("&immutable=1" if is_whole else ""), flags=flags)
        for _ in connection.execute(_PRAGMAS):
            pass
        connection.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        if is_whole:
            raise
        raise StoreUnavailable(
            f"{path}: its last changes are in {os.path.basename(rest)}, which cannot be read without writing here",
            hint="copy the folder to where you may write, and set ENGRAM_DATA_DIR to the copy",
        ) from error
    return connection


def _empty() -> apsw.Connection:
    connection = open_plain(":memory:", create=True)
    schema.build(connection)
    for _ in connection.execute(_PRAGMAS):
        pass
    return connection
