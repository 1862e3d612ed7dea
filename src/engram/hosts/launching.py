"""How the programs of this installation are started from the outside: from a host's configuration, from a hook."""

from __future__ import annotations

import ntpath
import os
import posixpath
import shlex
from collections.abc import Callable
from dataclasses import dataclass

SERVER, COMMAND_LINE = "engram-mcp", "engram"
# Signs that cmd, PowerShell and the shell of Git for Windows all leave alone.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@+,")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is known of the installation that links.

    `search_path` is PATH as the person has it, `scripts` the folder with the console scripts of this interpreter, its
    symlinks not followed. `from_index`: the release can be had again by name and version. `is_temporary`: the folder
    is made for one run (`uvx`), so nothing may point into it, wherever PATH leads.
    """

    distribution: str
    version: str
    search_path: str
    scripts: str
    from_index: bool
    platform: str
    is_temporary: bool = False
    is_program: Callable[[str], bool] = _is_program


def server_command(installation: Installation, *options: str) -> tuple[str, ...]:
    """The MCP server: its bare name when it is on PATH; else pinned to this release where an index has it and `uvx`
    is there; else the absolute path of its script. Never a path resolved through symlinks: an upgrade would break it.
    """
    if not installation.is_temporary and _on_path(installation, SERVER):
        return (SERVER, *options)
    script = _script(installation, SERVER)
    if installation.from_index and (not script or _on_path(installation, "uvx")):
        return (*_pinned(installation, SERVER), *options)
    return (script or SERVER, *options)


def engram_command(installation: Installation) -> tuple[str, ...]:
    """The command line, for hooks: an absolute path, since a hook may run without the person's PATH, and quickly."""
    found = "" if installation.is_temporary else _on_path(installation, COMMAND_LINE)
    found = found or _script(installation, COMMAND_LINE)
    if found:
        return (found,)
    return _pinned(installation, COMMAND_LINE) if installation.from_index else (COMMAND_LINE,)


def shell_line(argv: tuple[str, ...], platform: str) -> str:
    """`argv` as one line for the shell that a host runs: `sh`, or `cmd` and the shell of Git for Windows alike."""
    if platform != "win32":
        return shlex.join(argv)
    return " ".join(word if word and set(word) <= _PLAIN else _quoted(word) for word in argv)


def powershell_line(argv: tuple[str, ...]) -> str:
    """`argv` as one line for PowerShell, which needs `&` before a quoted command."""
    return " ".join(("&", *("'" + word.replace("'", "''") + "'" for word in argv)))


def _quoted(word: str) -> str:
    """In double quotes, as programs of Windows take their line apart again: a quote is escaped, and so are the
    backslashes before it and before the closing one."""
    done, slashes = "", 0
    for sign in word:
        if sign == "\\":
            slashes += 1
            continue
        done += "\\" * (2 * slashes + 1 if sign == '"' else slashes) + sign
        slashes = 0
    return '"' + done + "\\" * (2 * slashes) + '"'


def _pinned(installation: Installation, name: str) -> tuple[str, ...]:
    return ("uvx", "--from", f"{installation.distribution}=={installation.version}", name)


def _on_path(installation: Installation, name: str) -> str:
    """The first program of that name in an absolute folder of PATH; "" when there is none."""
    rules = ntpath if installation.platform == "win32" else posixpath
    for folder in installation.search_path.split(rules.pathsep):
        folder = folder.strip().strip('"')
        path: str = rules.join(folder, _file(installation, name))
        if rules.isabs(folder) and installation.is_program(path):
            return path
    return ""


def _script(installation: Installation, name: str) -> str:
    rules = ntpath if installation.platform == "win32" else posixpath
    path: str = rules.join(installation.scripts, _file(installation, name))
    return path if installation.scripts and not installation.is_temporary and installation.is_program(path) else ""


def _file(installation: Installation, name: str) -> str:
    return f"{name}.exe" if installation.platform == "win32" else name
