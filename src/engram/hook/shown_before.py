"""What a session was brought last, as a hash: one small file each, never what was asked or shown."""

from __future__ import annotations

import os
import time

from engram import files, places

FOLDER = os.path.join(places.CACHE, "hook")
MOST_RECORDS = 200
MOST_AGE = 30 * 24 * 3600  # seconds
_HEX = frozenset("0123456789abcdef")


def _path(data_folder: str, host: str, folder: str, session: str) -> str:
    whole = "\0".join((host, os.path.normcase(folder), session or "default"))
    return os.path.join(data_folder, FOLDER, places.sha256_hex(whole.encode("utf-8", "surrogateescape")))


def signature(data_folder: str, host: str, folder: str, session: str) -> str:
    """The signature that the session was brought last; "" for none, and for what is none."""
    try:
        with open(_path(data_folder, host, folder, session), encoding="ascii") as file:
            found = file.read(100).strip()
    except (OSError, ValueError):
        return ""
    return found if len(found) == 64 and set(found) <= _HEX else ""


def remember(data_folder: str, host: str, folder: str, session: str, signature: str) -> None:
    """Raises `StoreUnavailable` when it cannot be written."""
    path = _path(data_folder, host, folder, session)
    files.private_folder(os.path.dirname(path))
    files.write_whole(path, signature + "\n", lasting=False)
    _tidy(os.path.dirname(path))


def forget(data_folder: str, host: str, folder: str, session: str) -> None:
    """The model has lost what it was brought, or begins anew."""
    if not os.path.isdir(os.path.join(data_folder, FOLDER)):
        return
    try:
        os.unlink(_path(data_folder, host, folder, session))
    except OSError:
        return  # there is none


def _tidy(folder: str) -> None:
    """No more than `MOST_RECORDS`, none older than `MOST_AGE`."""
    now = time.time()
    found = []
    for name in os.listdir(folder):
        if len(name) != 64 and not name.endswith(".tmp"):
            continue
        path = os.path.join(folder, name)
        try:
            found.append((os.stat(path).st_mtime, path))
        except OSError:
            continue
    found.sort(reverse=True)
    for at, (changed, path) in enumerate(found):
        if at >= MOST_RECORDS or now - changed > MOST_AGE:
            try:
                os.unlink(path)
            except OSError:
                continue
