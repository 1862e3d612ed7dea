"""Bring a database to the current schema: locked, backed up first, newer ones refused."""

from __future__ import annotations

import os

import apsw

from engram import files, paths
from engram.errors import IntegrityFailed, StoreUnavailable, Unsupported
from engram.storage.sqlite import filesystem
from engram.storage.sqlite.connect import APPLICATION_ID, connect, explain, open_plain
from engram.storage.sqlite.transaction import immediate

SCHEMA_VERSION = 1

_STEPS = os.path.join(os.path.dirname(__file__), "migrations")


def version_of(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def prepare(path: str, *, synchronous: str, now: str, mounts: str = filesystem.MOUNTS) -> None:
    """Make `path` a database of the current schema. A current one is only looked at.

    Raises `Unsupported` for a newer schema, `IntegrityFailed` for somebody else's database, `StoreUnavailable`
    for a network file system or one where two connections cannot share a write-ahead log.
    """
    folder = os.path.dirname(path)
    if os.path.isdir(folder) and not os.access(folder, os.W_OK) and not os.path.exists(path):
        raise StoreUnavailable(f"{folder}: cannot be written", hint="check permissions, or set ENGRAM_DATA_DIR")
    # Refusals first: what is not ours, or not to be used, keeps even its mode.
    filesystem.refuse_network(folder, mounts)
    current = os.path.exists(path) and os.path.getsize(path) > 0 and _looked_at(path)
    files.private_folder(folder)
    if current:
        return
    try:
        with files.locked(path + ".lock"):
            _upgrade(path, synchronous=synchronous, now=now)
    except OSError as error:
        raise StoreUnavailable(
            f"{path}: cannot be created: {error.strerror}", hint="check permissions, or set ENGRAM_DATA_DIR"
        ) from error


def _looked_at(path: str) -> bool:
    """Whether the schema is the current one, without leaving a mark on a file that is not ours."""
    connection = open_plain(path)
    try:
        return is_current(connection, path)
    finally:
        connection.close()


def is_current(connection: apsw.Connection, path: str) -> bool:
    """Whether the schema is the one of this version. Raises as `prepare`."""
    try:
        found = version_of(connection)
        ours = connection.pragma("application_id") == APPLICATION_ID
        unmarked = not found and not ours and not connection.pragma("application_id")
        empty = unmarked and not connection.execute("SELECT count(*) FROM sqlite_master").get
    except apsw.Error as error:
        raise explain(error, path) from error
    if not ours and not empty:
        raise IntegrityFailed(
            f"{path}: is a database of another program",
            hint="set ENGRAM_DATA_DIR to another folder; `engram import FILE` reads an engram.db of the Go program",
        )
    if found > SCHEMA_VERSION:
        raise Unsupported(
            f"{path}: was written by a newer Engram (schema {found}, this one knows {SCHEMA_VERSION}); "
            "nothing was changed",
            hint="upgrade Engram: pip install -U engram-keep",
        )
    return found == SCHEMA_VERSION


def _upgrade(path: str, *, synchronous: str, now: str) -> None:
    files.private_file(path)
    if _looked_at(path):  # another process was first
        return
    connection = connect(path, synchronous=synchronous, create=True)
    try:
        found = version_of(connection)
        if found == 0:
            # Ours from the first byte on: a process that dies before the first step leaves no stranger's file.
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            _prove_sharing(path, connection, synchronous)
        else:
            _keep_copy(connection, path, found, now)
        for number, statements in steps(found):
            _apply(connection, number, statements)
    except apsw.Error as error:
        raise explain(error, path) from error
    finally:
        connection.close()


def build(connection: apsw.Connection) -> None:
    """The current schema in an empty database."""
    for number, statements in steps(0):
        _apply(connection, number, statements)


def steps(after: int) -> list[tuple[int, str]]:
    """(number, SQL) of each migration above `after`, in order."""
    names = sorted(name for name in os.listdir(_STEPS) if name.endswith(".sql"))
    found = []
    for name in names:
        number = int(name.partition("_")[0])
        if after < number <= SCHEMA_VERSION:
            with open(os.path.join(_STEPS, name), encoding="utf-8") as file:
                found.append((number, file.read()))
    return found


def _apply(connection: apsw.Connection, number: int, statements: str) -> None:
    """One step and its mark in one transaction."""
    with immediate(connection):
        connection.execute(statements)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {number:d}")


def _keep_copy(connection: apsw.Connection, path: str, version: int, now: str) -> None:
    folder = paths.backup_folder(os.path.dirname(path))
    files.private_folder(folder)
    stamp = now.replace(":", "").replace("-", "").replace(".", "")
    target = os.path.join(folder, f"engram-schema{version}-{stamp}.db")
    files.private_file(target)
    connection.execute("VACUUM INTO ?", (target,))


def _prove_sharing(path: str, connection: apsw.Connection, synchronous: str) -> None:
    """Two connections write in turn and see each other: some file systems accept WAL and fail later."""
    other = connect(path, synchronous=synchronous)
    try:
        connection.execute("DROP TABLE IF EXISTS proof")
        connection.execute("CREATE TABLE proof (n INTEGER)")
        other.execute("INSERT INTO proof VALUES (1)")
        connection.execute("INSERT INTO proof VALUES (2)")
        seen = other.execute("SELECT count(*) FROM proof").get
        mode = other.pragma("journal_mode")
        connection.execute("DROP TABLE proof")
    except apsw.Error as error:
        raise StoreUnavailable(
            f"{path}: this file system cannot share a database between programs ({error})",
            hint="set ENGRAM_DATA_DIR to a folder on a local disk",
        ) from error
    finally:
        other.close()
    if seen != 2 or mode != "wal":
        raise StoreUnavailable(
            f"{path}: this file system cannot share a database between programs (journal mode {mode})",
            hint="set ENGRAM_DATA_DIR to a folder on a local disk",
        )
