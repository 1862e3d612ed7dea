"""Locks, modes and lasting renames for files of ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from engram.errors import StoreUnavailable


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


def _is_ours(folder: str) -> bool:
    return all(name.startswith("engram") or name == "backups" for name in os.listdir(folder))


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

    try:
        with FileLock(path, timeout=seconds, mode=0o600):
            yield
    except Timeout as error:
        raise StoreUnavailable(
            f"{path}: held by another process for more than {seconds:.0f} s",
            hint="wait for it to finish, or `engram doctor`",
        ) from error
