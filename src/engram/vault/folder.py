"""Walk a root: which files there are, their stamps, and what each of them says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engram.core import terms
from engram.core.memory import FOLDERS, Memory
from engram.core.text import content_hash
from engram.core.verdict import normalised
from engram.errors import EngramError, InvalidInput
from engram.vault import memory_file
from engram.vault.roots import Root

WORKING = "working"
FOLDER_NAMES = (*FOLDERS.values(), WORKING)
IGNORE_FILE = ".engramignore"
MAX_DEPTH = 8
MAX_FILES = 200_000

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`files` by path relative to the root (with `/`); `folders` their times of change; `strays` are links that lead
    out, files that are no Markdown, and folders that are too deep."""

    files: dict[str, Stamp]
    folders: dict[str, int]
    strays: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One file as read: its memory, or why it cannot be read."""

    path: str
    stamp: Stamp
    memory: Memory | None
    problem: str
    said_hash: str
    search_terms: str


def walk(root: Root) -> Found:
    """Every memory file of the root with its stamp. Names that begin with a dot are not looked at."""
    found: dict[str, Stamp] = {}
    folders: dict[str, int] = {}
    strays: list[str] = []
    waiting = [(name, 1) for name in reversed(FOLDER_NAMES)]
    while waiting:
        relative, depth = waiting.pop()
        place = os.path.join(root.path, *relative.split("/"))
        if depth == 1 and os.path.islink(place):
            strays.append(relative)
            continue
        try:
            folders[relative] = os.stat(place).st_mtime_ns
            listing = list(os.scandir(place))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            strays.append(relative)
            continue
        for entry in listing:
            name = entry.name
            if name.startswith("."):
                continue
            path = f"{relative}/{name}"
            try:
                # A link to a folder would show its files twice; one out of the root is somebody else's.
                is_link = entry.is_symlink()
                leads_astray = is_link and (entry.is_dir() or not _leads_inside(root, entry.path))
                if leads_astray or not _is_text(name):
                    strays.append(path.encode("utf-8", "replace").decode())
                elif entry.is_dir():
                    if depth < MAX_DEPTH:
                        waiting.append((path, depth + 1))
                    else:
                        strays.append(path)
                elif name.endswith(".md") and entry.is_file() and len(found) < MAX_FILES:
                    state = entry.stat()
                    found[path] = (state.st_size, state.st_mtime_ns)
                else:
                    strays.append(path)
            except OSError:
                continue  # it went away while we looked
    return Found(files=found, folders=folders, strays=tuple(sorted(strays)))


def _is_text(name: str) -> bool:
    """Whether a file's name can be written down: not every name on a disk is Unicode."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _leads_inside(root: Root, path: str) -> bool:
    target = os.path.realpath(path)
    return target == root.path or target.startswith(root.path + os.sep)


def folder_stamps(root: Root, names: Sequence[str]) -> dict[str, int]:
    """The times of change of some folders; those that are gone are left out."""
    found = {}
    for name in names:
        try:
            found[name] = os.stat(os.path.join(root.path, *name.split("/"))).st_mtime_ns
        except OSError:
            continue
    return found


def stamp_of(root: Root, path: str) -> Stamp | None:
    try:
        state = os.stat(os.path.join(root.path, *path.split("/")))
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def read(root: Root, path: str, stamp: Stamp) -> Reading:
    """Read one file. Nothing that is in it raises: a file that cannot be read has a `problem`."""
    memory: Memory | None = None
    problem = ""
    try:
        memory = memory_file.parse(text_of(root, path), path=path)
        if path.startswith(WORKING + "/") != (memory.tier == "working"):
            memory, problem = None, "a working note outside of `working/`, or a memory inside of it"
    except EngramError as error:
        problem = error.message
    said = terms_of = ""
    if memory is not None:
        said = content_hash(normalised(memory.text))
        terms_of = terms.derive(memory.title, memory.text, *memory.triggers, *memory.tags, memory.id)
    return Reading(path=path, stamp=stamp, memory=memory, problem=problem, said_hash=said, search_terms=terms_of)


def text_of(root: Root, path: str) -> str:
    """The text of a file. Raises `InvalidInput` for one that is no text, too long, or gone."""
    try:
        # Not waiting for the other end, should it have become a pipe meanwhile.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(os.path.join(root.path, *path.split("/")), flags), "rb") as file:
            raw = file.read(memory_file.MAX_FILE_BYTES + 1) or b""
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}") from error
    if len(raw) > memory_file.MAX_FILE_BYTES:
        raise InvalidInput(f"is longer than {memory_file.MAX_FILE_BYTES // 1024} KB")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput("is not UTF-8") from error


def ignore_places(root: Root) -> tuple[str, ...]:
    """Where ignore rules may stand: in the root, and for a workspace beside its `.agents` folder."""
    places = [os.path.join(root.path, IGNORE_FILE)]
    if root.scope == "workspace":
        places.append(os.path.join(os.path.dirname(os.path.dirname(root.path)), IGNORE_FILE))
    return tuple(places)


def ignore_files(root: Root) -> tuple[str, ...]:
    """Those of the `ignore_places` that exist."""
    return tuple(place for place in ignore_places(root) if os.path.isfile(place))


def ignore_stamp(root: Root) -> str:
    """Changes whenever an ignore file does; "" when there is none."""
    stamps = []
    for place in ignore_files(root):
        try:
            state = os.stat(place)
        except OSError:
            continue
        stamps.append(f"{place}:{state.st_size}:{state.st_mtime_ns}")
    return "\n".join(stamps)


def ignoring(root: Root) -> Callable[[str], bool]:
    """Whether a path of the root is ignored, by gitignore rules. A pattern may speak of the root (`rules/old/`) or
    of the workspace (`.agents/.engram/rules/old/`). Raises `InvalidInput` for a file that cannot be read."""
    found = ignore_files(root)
    if not found:
        return lambda path: False
    from pathspec import GitIgnoreSpec

    base = os.path.relpath(root.path, os.path.dirname(os.path.dirname(root.path))).replace(os.sep, "/")
    specs = []
    for place in found:
        try:
            with open(place, encoding="utf-8-sig", errors="replace") as file:
                specs.append(GitIgnoreSpec.from_lines(file.read(1024 * 1024).splitlines()))
        except (OSError, ValueError, re.error) as error:
            raise InvalidInput(f"{place}: cannot be read as ignore rules", hint="mend or remove it") from error
    return lambda path: any(spec.match_file(path) or spec.match_file(f"{base}/{path}") for spec in specs)
