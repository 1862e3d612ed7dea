"""What we wrote into files of others: remembered in the data folder, so that only ours is taken out again.

It is a convenience, never the truth: every part can be known by its mark, too. A file of it that cannot be read is
named and left alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from engram import files
from engram.errors import IntegrityFailed, StoreUnavailable, Unsupported
from engram.hosts.editing.edit import Keys

FILE = "engram-links.json"
VERSION = 1

# At `start` stand `length` characters where `old` stood before.
Patch = tuple[int, int, str]


@dataclass(slots=True, kw_only=True)
class Kept:
    """A part of ours in a file: who needs it, and what it takes to find it again. `containers` are the objects and
    arrays that were made for it, None when nobody knows."""

    kind: str
    keys: Keys = ()
    marks: str = ""
    feature: str = ""
    owners: list[str] = field(default_factory=list)
    containers: list[Keys] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class OurFile:
    """A file that holds something of ours: whether we made it, the SHA-256 of its text after our last write, the
    patches that lead from there back to what a person had (None when they no longer fit), and our parts."""

    is_made: bool
    hash: str = ""
    patches: list[Patch] | None = field(default_factory=list)
    parts: dict[str, Kept] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What a person asked for: this host in this place. `workspace` is "" for the home folder."""

    host: str
    workspace: str
    version: str
    has_observations: bool = False
    has_server: bool = True
    has_hooks: bool = True

    @property
    def owner(self) -> str:
        return owner(self.host, self.workspace)


def owner(host: str, workspace: str) -> str:
    """Who needs a part: the host, and the workspace it was linked in ("" for the home folder)."""
    return f"{host} in {workspace}" if workspace else host


@dataclass(slots=True)
class Registry:
    """`files` by the path of the file itself, `links` by owner, `folders` that we made."""

    files: dict[str, OurFile] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


def path_in(data_folder: str) -> str:
    return os.path.join(data_folder, FILE)


def load(path: str) -> Registry:
    """An empty one where there is no file. Raises `IntegrityFailed` for one that is damaged, `Unsupported` for one of
    a newer Engram."""
    try:
        with open(path, encoding="utf-8") as stream:
            said = json.load(stream)
    except FileNotFoundError:
        return Registry()
    except OSError as error:
        raise StoreUnavailable(f"{path}: cannot be read: {error.strerror}", hint="check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if isinstance(said, Mapping) and isinstance(said.get("version"), int) and said["version"] > VERSION:
        raise Unsupported(f"{path}: written by a newer Engram", hint="update Engram")
    try:
        return _registry(said)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path) from error


def save(path: str, registry: Registry) -> None:
    """Raises `StoreUnavailable` when it cannot be written; the old one stands then."""
    files.private_folder(os.path.dirname(path))
    said = {
        "version": VERSION,
        "links": {name: asdict(link) for name, link in sorted(registry.links.items())},
        "files": {name: asdict(one) for name, one in sorted(registry.files.items())},
        "folders": sorted(registry.folders),
    }
    files.write_whole(path, json.dumps(said, ensure_ascii=False, indent=1) + "\n")


def _damaged(path: str) -> IntegrityFailed:
    return IntegrityFailed(
        f"{path}: the list of what was linked is damaged; nothing was changed",
        hint="`engram doctor --repair` sets it aside; parts of ours are then known by their marks",
    )


def _registry(said: Any) -> Registry:
    return Registry(
        files={_text(name): _file(one) for name, one in said["files"].items()},
        links={_text(name): Link(**one) for name, one in said["links"].items()},
        folders=[_text(one) for one in said["folders"]],
    )


def _file(said: Any) -> OurFile:
    patches = said["patches"]
    return OurFile(
        is_made=bool(said["is_made"]),
        hash=_text(said["hash"]),
        patches=None if patches is None else [(int(at), int(length), _text(old)) for at, length, old in patches],
        parts={_text(name): _kept(one) for name, one in said["parts"].items()},
    )


def _kept(said: Any) -> Kept:
    containers = said["containers"]
    return Kept(
        kind=_text(said["kind"]),
        keys=tuple(map(_text, said["keys"])),
        marks=_text(said["marks"]),
        feature=_text(said["feature"]),
        owners=[_text(one) for one in said["owners"]],
        containers=None if containers is None else [tuple(map(_text, keys)) for keys in containers],
        extra=dict(said["extra"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
