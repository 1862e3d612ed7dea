"""Write several files of a root as one: staged, logged, renamed. A crash leaves all of them or none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from engram import files
from engram.errors import Conflict, StoreUnavailable
from engram.vault import ledger
from engram.vault.ledger import FileChange, Ledger, Line
from engram.vault.roots import Root, inside

# New texts wait here, on the same disk as their places, until the batch is committed.
STAGING = ".staging"


@dataclass(frozen=True, slots=True)
class _Staged:
    beside: str
    path: str


def commit(root: Root, book: Ledger, line: Line) -> None:
    """Carry out the changes of `line`; the caller holds the lock.

    Everything that can fail for lack of space happens before the line is written, which is the moment of commit.
    Raises `Conflict` when a file is not as `before` says, `StoreUnavailable` when it cannot be written: then nothing
    has changed. After that moment `StoreUnavailable` means that a file is in use elsewhere; the batch stands, and the
    next reader or writer finishes it.
    """
    staged: list[_Staged] = []
    _sweep(root)
    try:
        for change in line.changes:
            path = inside(root, change.path)
            if _text(path) != change.before:
                raise Conflict(f"{change.path}: was changed meanwhile; nothing was written", hint="try again")
            if change.after is not None:
                staged.append(_Staged(_stage(root, path, change.after), path))
        book.append(line)
    except BaseException:
        for file in staged:
            with suppress(OSError):
                os.unlink(file.beside)
        raise
    for file in staged:
        _put(file.beside, file.path)
    _remove_gone(root, line.changes)
    _sync(root, line.changes)
    with suppress(StoreUnavailable):  # it is written; who comes next looks once more
        book.append(_applied(line), lasting=False)


def recover(root: Root, book: Ledger) -> bool:
    """Finish a batch that a crash interrupted after its commit, and drop what one before it has left. The caller
    holds the lock. Whether anything was written."""
    line = book.open_batch()
    if line is None:
        return False
    wrote = False
    _sweep(root)
    for change in line.changes:
        path = inside(root, change.path)
        # A text that is neither the old nor the new one is somebody's edit since; it stays.
        if change.after is not None and _text(path) == change.before:
            _put(_stage(root, path, change.after), path)
            wrote = True
    wrote = _remove_gone(root, line.changes) or wrote
    _sync(root, line.changes)
    with suppress(StoreUnavailable):  # what is written stays so; it is only looked at once more
        book.append(_applied(line))
    return wrote


def _applied(line: Line) -> Line:
    return Line(event=ledger.APPLIED, at=line.at, root=line.root, batch=line.batch)


def _text(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreUnavailable(f"{path}: cannot be read: {error.strerror}", hint="check permissions") from error


def _stage(root: Root, path: str, text: str) -> str:
    """Write `text` where it waits to replace `path`; with the mode of the file there, or 644."""
    beside = os.path.join(_staging(root), f"{os.path.basename(path)}.{os.urandom(4).hex()}")
    try:
        os.makedirs(os.path.dirname(beside), exist_ok=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | files.BINARY, mode)
        try:
            left = memoryview(text.encode("utf-8", "surrogateescape"))
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        with suppress(OSError):
            os.unlink(beside)
        raise StoreUnavailable(
            f"{path}: cannot be written: {error.strerror}; nothing was saved", hint="check permissions and free space"
        ) from error
    return beside


def _put(beside: str, path: str) -> None:
    """Put a staged text in its place. Raises `StoreUnavailable` where another program holds the file; the batch is
    committed by then, and the next read finishes it."""
    try:
        os.replace(beside, path)
    except OSError as error:
        raise StoreUnavailable(
            f"{path}: cannot be replaced now: {error.strerror}; the next read finishes it",
            hint="close what holds the file",
        ) from error


def _remove_gone(root: Root, changes: Sequence[FileChange]) -> bool:
    removed = False
    for change in changes:
        if change.after is None and change.before is not None:
            path = inside(root, change.path)
            if _text(path) == change.before:
                try:
                    os.unlink(path)
                except OSError as error:
                    raise StoreUnavailable(
                        f"{path}: cannot be removed now: {error.strerror}; the next read finishes it",
                        hint="close what holds the file, and check permissions of its folder",
                    ) from error
                removed = True
    return removed


def _staging(root: Root) -> str:
    """The folder where texts wait. Raises `StoreUnavailable` where a link stands in its place: what lies behind it is
    not ours to sweep."""
    folder = os.path.join(root.path, STAGING)
    if os.path.islink(folder) or (os.path.exists(folder) and not os.path.isdir(folder)):
        raise StoreUnavailable(f"{folder}: is no folder of ours; nothing was saved", hint="remove it")
    return folder


def _sweep(root: Root) -> None:
    """Remove what a process that died has staged."""
    folder = _staging(root)
    with suppress(FileNotFoundError):
        for left in os.scandir(folder):
            if not left.is_dir(follow_symlinks=False):
                os.unlink(left.path)


def _sync(root: Root, changes: Sequence[FileChange]) -> None:
    for folder in {os.path.dirname(inside(root, change.path)) for change in changes}:
        with suppress(OSError):
            files.sync_folder(folder)
