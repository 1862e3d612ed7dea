"""Make a root: its folders and the `.gitignore` that keeps everything out of Git that is not a memory."""

from __future__ import annotations

import os

from engram import files
from engram.core.memory import FOLDERS
from engram.errors import StoreUnavailable
from engram.vault.pending import FILE as PENDING
from engram.vault.roots import Root

_BEGIN, _END = "# engram: not memories, stay out of Git", "# engram: end"
_IGNORED = ("working/", PENDING, "inbox/", ".staging/", ".*.tmp")


def create(root: Root) -> bool:
    """The folders of a root; whether it is new."""
    root.check_writable()
    is_new = not os.path.isdir(root.path)
    try:
        for name in FOLDERS.values():
            os.makedirs(os.path.join(root.path, name), exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{root.path}: cannot be created: {error.strerror}", hint="check permissions") from error
    complete(root)
    return is_new


def complete(root: Root) -> None:
    """Make sure that nothing private of the root can reach Git; lines that somebody else wrote stay."""
    root.check_writable()
    path = os.path.join(root.path, ".gitignore")
    if os.path.islink(path):  # reading it would copy somebody's file into the repository
        raise StoreUnavailable(f"{path}: is a link; nothing was written", hint="remove it")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise StoreUnavailable(f"{path}: cannot be read: {error.strerror}", hint="check permissions") from error
    present = {line.strip() for line in text.splitlines()}
    missing = [pattern for pattern in _IGNORED if pattern not in present]
    if not missing:
        return
    try:
        os.makedirs(root.path, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{root.path}: cannot be created: {error.strerror}") from error
    if _END in text:
        whole = text.replace(_END, "\n".join((*missing, _END)), 1)
    else:
        before = text if not text or text.endswith("\n") else text + "\n"
        whole = before + "\n".join((_BEGIN, *missing, _END)) + "\n"
    files.write_whole(path, whole, mode=0o644, lasting=False)
