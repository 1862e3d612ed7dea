"""Files of other programs: read so that nothing gets lost, and written in one step or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from engram import files
from engram.hosts.editing.edit import Untouched

BOM = b"\xef\xbb\xbf"
# A settings file beyond this is no settings file.
LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What stands at `path`: `target` is the file itself where `path` is a link to it, `data` is None where there is
    none. `text` has every line end as it is, and no byte order mark."""

    path: str
    target: str
    data: bytes | None
    mode: int = 0o666

    @property
    def text(self) -> str:
        return (self.data or b"").removeprefix(BOM).decode("utf-8")

    def encoded(self, text: str) -> bytes:
        """`text` as bytes of this file: with its byte order mark."""
        return (BOM if (self.data or b"").startswith(BOM) else b"") + text.encode("utf-8")


def read(path: str) -> Found:
    """Raises `Untouched` for what is no text file that can be read."""
    target = os.path.realpath(path)
    try:
        about = os.stat(target)
    except FileNotFoundError:
        if os.path.islink(path):
            raise Untouched("failed", "it is a link that leads nowhere") from None
        return Found(path=path, target=target, data=None)
    except OSError as error:
        raise Untouched("failed", f"cannot be read: {_said(error)}") from error
    if stat.S_ISDIR(about.st_mode):
        raise Untouched("failed", "it is a folder")
    if not stat.S_ISREG(about.st_mode):
        raise Untouched("failed", "it is no ordinary file")
    if about.st_size > LARGEST:
        raise Untouched("skipped", f"it is larger than {LARGEST // 1024 // 1024} MB")
    data = _bytes(target)
    found = Found(path=path, target=target, data=data, mode=stat.S_IMODE(about.st_mode))
    try:
        found.text  # noqa: B018 - whether it can be decoded
    except UnicodeDecodeError as error:
        raise Untouched("skipped", f"it is no UTF-8 text (byte {error.start})") from error
    return found


def need_writable(found: Found) -> None:
    """Raises `Untouched` for a file that somebody made read-only, also where this user could replace it."""
    if found.data is None:
        return
    if not found.mode & 0o222 or not os.access(found.target, os.W_OK):
        raise Untouched("failed", "it is read-only")


def keep_copy(found: Found, stamp: str) -> str:
    """A copy beside the file, with its mode; returns the path of it, "" where there was no file."""
    if found.data is None:
        return ""
    for number in range(1, 100):
        copy = f"{found.target}.engram-{stamp}{f'-{number}' if number > 1 else ''}.bak"
        try:
            handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | files.BINARY, 0o600)
        except FileExistsError:
            continue
        except OSError as error:
            raise Untouched("failed", f"no copy of it can be kept: {_said(error)}") from error
        try:
            _fill(handle, found.data, found.mode)
        except OSError as error:
            with suppress(OSError):  # half a copy is none
                os.unlink(copy)
            raise Untouched("failed", f"no copy of it can be kept: {_said(error)}") from error
        return copy
    raise Untouched("failed", "no copy of it can be kept: there are a hundred of this moment")


def replace(found: Found, data: bytes) -> list[str]:
    """`data` stands in the file afterwards; returns the folders that were made for it, the outermost first. Raises
    `Untouched` where it cannot be, or where the file is not as it was found."""
    need_writable(found)
    folder, name = os.path.split(found.target)
    made: list[str] = []
    beside = os.path.join(folder, f".{name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        made = make_folders(folder)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | files.BINARY, found.mode)
        _fill(handle, data, found.mode if found.data is not None else None)
        _need_same(found)
        os.replace(beside, found.target)
        files.sync_folder(folder)
    except (OSError, Untouched) as error:
        for path, gone in ((beside, os.unlink), *((one, os.rmdir) for one in reversed(made))):
            with suppress(OSError):  # it was never made, or is not empty
                gone(path)
        if isinstance(error, Untouched):
            raise
        raise Untouched("failed", f"cannot be written: {_said(error)}") from error
    return made


def remove(found: Found) -> None:
    """The file is gone afterwards; a link to it too. Raises `Untouched` as `replace`."""
    need_writable(found)
    _need_same(found)
    try:
        os.unlink(found.target)
        if os.path.islink(found.path):
            os.unlink(found.path)
        files.sync_folder(os.path.dirname(found.target))
    except OSError as error:
        raise Untouched("failed", f"cannot be removed: {_said(error)}") from error


def make_folders(folder: str) -> list[str]:
    """Make `folder` and what leads to it; returns those that were not there, the outermost first."""
    missing: list[str] = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    made: list[str] = []
    for one in reversed(missing):
        try:
            os.mkdir(one)
        except FileExistsError:
            if not os.path.isdir(one):
                raise
        else:
            made.append(one)
    return made


def _need_same(found: Found) -> None:
    try:
        now: bytes | None = _bytes(found.target)
    except Untouched:
        if os.path.lexists(found.target):
            raise
        now = None
    if now != found.data:
        raise Untouched("conflict", "it was changed by another program at this moment; try again")


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise Untouched("failed", f"cannot be read: {_said(error)}") from error


def _fill(handle: int, data: bytes, mode: int | None) -> None:
    try:
        if mode is not None and os.name == "posix":
            os.fchmod(handle, mode)
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _said(error: OSError) -> str:
    return error.strerror or type(error).__name__
