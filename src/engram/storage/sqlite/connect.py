"""Open the SQLite database: pragmas, patience, and errors in our words. Lean: the hook imports this."""

from __future__ import annotations

import os
import random
import time

import apsw

from engram.errors import EngramError, IntegrityFailed, StoreUnavailable, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

APPLICATION_ID = 0x454E4752  # "ENGR"
WRITE_PATIENCE = 30.0  # seconds until a writer gives up
OLDEST_SQLITE = 3051003  # before 3.51.3 two WAL connections could lose a commit while one checkpointed

# No memory map: it gains nothing here, and a file cut short by somebody else would kill the process.
_PRAGMAS = """
    PRAGMA journal_mode = WAL;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA secure_delete = FAST;
    PRAGMA cache_size = -16384;
    PRAGMA mmap_size = 0;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA temp_store = MEMORY;
"""


def connect(
    path: str, *, synchronous: str = "FULL", patience: float = WRITE_PATIENCE, create: bool = False
) -> apsw.Connection:
    """A connection with our pragmas. `synchronous` is FULL or NORMAL; `patience` in seconds.

    Raises `StoreUnavailable` when the file cannot be opened, `IntegrityFailed` when it is no database.
    """
    if apsw.SQLITE_VERSION_NUMBER < OLDEST_SQLITE:
        raise Unsupported(
            f"SQLite {apsw.sqlite_lib_version()} can lose a commit when two connections write",
            hint="pip install -U apsw",
        )
    try:
        connection = open_plain(path, patience=patience, create=create)
        # Drained: apsw stops at the first statement that gives a row, and would leave the rest unsaid.
        for _ in connection.execute(_PRAGMAS):
            pass
        connection.execute("PRAGMA synchronous = " + ("NORMAL" if synchronous.upper() == "NORMAL" else "FULL"))
    except apsw.Error as error:
        raise explain(error, path) from error
    return connection


def open_plain(path: str, *, patience: float = WRITE_PATIENCE, create: bool = False) -> apsw.Connection:
    """A connection without our pragmas, which leave their mark: for a file that may be somebody else's."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    try:
        connection = apsw.Connection(path, flags=flags, statementcachesize=200)
        connection.set_busy_handler(patient(patience))
    except apsw.Error as error:
        raise explain(error, path) from error
    return connection


def patient(seconds: float) -> Callable[[int], bool]:
    """A busy handler: short waits that grow to 25 ms, with jitter so that writers do not march in step."""
    began = 0.0

    def wait(tries: int) -> bool:
        nonlocal began
        if tries == 0:
            began = time.monotonic()
        elif time.monotonic() - began > seconds:
            return False
        time.sleep(min(0.025, 0.0005 * 1.5 ** min(tries, 12)) * (0.5 + random.random()))
        return True

    return wait


def explain(error: Exception, path: str) -> EngramError:
    """What a SQLite error means to the person, and the next step."""
    name = type(error).__name__
    detail = str(error).partition(": ")[2] or str(error)
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreUnavailable(f"{path}: locked by another process", hint="try again, or `engram doctor`")
    if isinstance(error, apsw.FullError):
        return StoreUnavailable(f"{path}: the disk is full; nothing was saved", hint="free some space and try again")
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return StoreUnavailable(
            f"{path}: cannot be written (read-only file, folder or disk); nothing was saved",
            hint="check permissions, or set ENGRAM_DATA_DIR to a folder you may write",
        )
    if isinstance(error, apsw.CantOpenError):
        why = "" if os.path.isdir(os.path.dirname(path) or ".") else ": its folder does not exist"
        return StoreUnavailable(f"{path}: cannot be opened{why}", hint="check permissions, or set ENGRAM_DATA_DIR")
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return IntegrityFailed(
            f"{path}: is damaged or no database ({detail})",
            hint="run `engram doctor`; copies made before upgrades are in the `backups` folder beside it",
        )
    if isinstance(error, apsw.IOError):
        return StoreUnavailable(f"{path}: the disk reports an error ({detail})", hint="check the disk; `engram doctor`")
    return StoreUnavailable(f"{path}: {name}: {detail}", hint="`engram doctor`")
