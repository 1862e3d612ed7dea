"""Locks, modes and lasting renames for files of ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from engram.errors import StoreUnavailable

# Without it Windows writes two bytes for a line end, and what is read back is not what was written.
BINARY = getattr(os, "O_BINARY", 0)


def private_folder(path: str) -> None:
    """Create `path` (and what leads to it) for this user only; an existing one of ours is closed to others.

    A folder in which other things live keeps its mode (`ENGRAM_DATA_DIR=/tmp` must not close /tmp); the files in it
    are private all the same.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        if os.name == "posix" and os.stat(path).st_mode & 0o077 and _is_ours(path):
            os.chmod(path, 0o700)
    except OSError as error:
        raise StoreUnavailable(
            f"{path}: cannot be created or closed to others: {error.strerror}",
            hint="set ENGRAM_DATA_DIR to a folder of your own on a local disk",
        ) from error


# What lives in the data folder besides the database.
_OURS = frozenset(("backups", "cache", "global", "ledger", "profiles.json"))


def _is_ours(folder: str) -> bool:
    return all(name.startswith("engram") or name in _OURS for name in os.listdir(folder))


def private_file(path: str) -> None:
    """Make sure that `path` exists and only this user may read it, before anything is written into it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.close(handle)
    if os.name == "posix" and os.stat(path).st_mode & 0o077:
        os.chmod(path, 0o600)


def sync_folder(path: str) -> None:
    """Make a rename in `path` survive a power cut, where the platform can."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: str, *, seconds: float = 60.0) -> Iterator[None]:
    """Hold the lock file `path`; the system drops it when the process dies."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=seconds, mode=0o600)
    try:
        lock.acquire()
    except Timeout as error:
        raise StoreUnavailable(
            f"{path}: held by another process for more than {seconds:.0f} s",
            hint="wait for it to finish, or `engram doctor`",
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"{path}: cannot be locked: {error.strerror}", hint="check permissions") from error
    try:
        yield
    finally:
        lock.release()


def write_whole(path: str, text: str, *, mode: int = 0o600, lasting: bool = True) -> None:
    """Replace the file `path` in one step: others see the old text or the new one. `lasting` survives a power cut.

    Line ends are written as they are in `text`. The folder must exist.
    """
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
        try:
            data = memoryview(text.encode("utf-8", "surrogateescape"))
            while data:
                data = data[os.write(handle, data) :]
            if lasting:
                os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(beside, path)
    except OSError as error:
        with suppress(OSError):  # it was never made, or the disk is gone; the first error says more
            os.unlink(beside)
        raise StoreUnavailable(
            f"{path}: cannot be written: {error.strerror}; nothing was changed", hint="check permissions and free space"
        ) from error
