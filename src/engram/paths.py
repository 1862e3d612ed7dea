"""Where things are. `os.path` only: the hook and the MCP server import this at start."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def data_folder(environ: dict[str, str] | None = None) -> str:
    """`ENGRAM_DATA_DIR`, else `~/.engram`; absolute. Not created here."""
    env = os.environ if environ is None else environ
    chosen = env.get("ENGRAM_DATA_DIR", "").strip()
    return os.path.abspath(os.path.expanduser(chosen or os.path.join("~", ".engram")))


def is_within(path: str, folder: str, *, flavour: ModuleType = os.path) -> bool:
    """Whether `path` is `folder` or below it, by their names; never on another drive. Both are absolute."""
    try:
        common = flavour.commonpath([path, folder])
        return bool(flavour.normcase(common) == flavour.normcase(flavour.normpath(folder)))
    except ValueError:  # two drives, or no path at all
        return False


def seen_from(path: str, folder: str, *, flavour: ModuleType = os.path) -> str:
    """`path` as somebody in `folder` writes it, with `/`; whole where no way leads there, as to another drive."""
    try:
        way = flavour.relpath(path, folder)
    except ValueError:
        way = path
    return str(way).replace(flavour.sep, "/")


def database_file(folder: str) -> str:
    return os.path.join(folder, "engram.db")


def backup_folder(folder: str) -> str:
    return os.path.join(folder, "backups")


def workspace(explicit: str | None = None, environ: dict[str, str] | None = None) -> str:
    """The directory an agent works in: given, `ENGRAM_WORKSPACE`, `CLAUDE_PROJECT_DIR`, else the current one.

    Some hosts start servers in a folder of their own, so the current directory comes last.
    """
    env = os.environ if environ is None else environ
    for candidate in (explicit, env.get("ENGRAM_WORKSPACE"), env.get("CLAUDE_PROJECT_DIR")):
        if candidate and os.path.isdir(os.path.expanduser(candidate)):
            return os.path.abspath(os.path.expanduser(candidate))
    try:
        return os.getcwd()
    except OSError:  # the directory was removed under us
        return os.path.expanduser("~")
