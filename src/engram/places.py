"""Where the memories of a folder lie, and where their cache is. `os.path` only: the hook imports this at start."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = os.path.join(".agents", ".engram")
CACHE = "cache"
SETTINGS = "engram.config.json"
PROFILES = "profiles.json"
# What decides, beside files, which memories may speak and which are global.
_DECIDING = ("ENGRAM_TRUST", "ENGRAM_GLOBAL_DIR", "ENGRAM_PROFILE")

# (path, size, time of change in nanoseconds); a size of -1 says that nothing is there, -2 that it does not matter.
Watched = tuple[str, int, int]
ABSENT, ANY_SIZE = -1, -2


def digest(path: str) -> str:
    """Twenty digits that name a path: of its cache, its ledger."""
    return sha256_hex(os.path.normcase(path).encode("utf-8", "surrogateescape"))[:20]


def sha256_hex(data: bytes) -> str:
    try:
        # As `random` does it: `hashlib` loads OpenSSL, which takes as long as all else that a hook imports.
        from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            from hashlib import sha256
    return str(sha256(data).hexdigest())


def cache_file(data_folder: str, root: str) -> str:
    """The index of the memories in the folder `root`, a real path."""
    return os.path.join(data_folder, CACHE, f"{digest(root)}.db")


def workspace_root(folder: str, *, home: str) -> str:
    """The real path of the nearest `.agents/.engram` at or above `folder`, or of the main checkout for a linked
    worktree; never above `home`; "" when there is none."""
    folder, home = os.path.realpath(folder), os.path.realpath(home)
    at = folder
    while True:
        place = os.path.join(at, ROOT)
        if os.path.isdir(place) and is_inside(place, at):
            return os.path.realpath(place)
        above = os.path.dirname(at)
        if at in (home, above):
            break
        at = above
    main = main_checkout(folder)
    place = os.path.join(main, ROOT) if main else ""
    return os.path.realpath(place) if main and os.path.isdir(place) and is_inside(place, main) else ""


def is_inside(place: str, folder: str) -> bool:
    """A root that is a link to another project's would bring that project's memories and trust."""
    return os.path.realpath(place).startswith(os.path.realpath(folder).rstrip(os.sep) + os.sep)


def git_folders(folder: str) -> tuple[str, str, str]:
    """The work tree around `folder`, its own Git folder and the one shared with its worktrees; "" outside of Git.

    Read from the files, since asking `git` costs a process.
    """
    at = folder
    while True:
        marker = os.path.join(at, ".git")
        if os.path.isdir(marker):
            return at, marker, marker
        if os.path.isfile(marker):
            own = _line(marker).removeprefix("gitdir:").strip()
            own = os.path.normpath(os.path.join(at, own)) if own else marker
            shared = _line(os.path.join(own, "commondir")).strip()
            return at, own, os.path.normpath(os.path.join(own, shared)) if shared else own
        above = os.path.dirname(at)
        if above == at:
            return "", "", ""
        at = above


def main_checkout(folder: str) -> str:
    """The first checkout of the repository whose linked worktree `folder` is in, or ""."""
    _, own, common = git_folders(folder)
    return os.path.dirname(common) if own != common and os.path.basename(common) == ".git" else ""


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""


def deciding(environ: Mapping[str, str]) -> str:
    """What in the environment decides which memories are seen: rows that were made for it suit only the same."""
    return "\n".join(environ.get(name, "").strip() for name in _DECIDING)


def watched(path: str, *, size_counts: bool = True) -> Watched:
    """How `path` is now."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path, ABSENT, 0
    return path, found.st_size if size_counts else ANY_SIZE, found.st_mtime_ns


def has_changed(known: Watched) -> bool:
    """Whether a path is no longer as it was known."""
    return watched(known[0], size_counts=known[1] != ANY_SIZE) != known


def any_changed(known: Sequence[Watched]) -> bool:
    return any(has_changed(one) for one in known)
