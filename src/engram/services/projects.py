"""Which project a save or a question is about; renames, merges and near-duplicates."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from engram import gitio
from engram.core.clean import clean
from engram.core.ports import Reader, Store, Writer
from engram.core.project import (
    MAX_NAME,
    UNSCOPED,
    Project,
    ProjectCount,
    display_name,
    near_duplicate,
    project_key,
)
from engram.errors import Conflict, InvalidInput, NotFound, SettingsError

CONFIG = os.path.join(".engram", "config.json")
ROOT = os.path.join(".agents", ".engram")


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """A project name and its origin: `explicit`, `environment`, `config`, `git_remote`, `git_root`, `root`,
    `folder` or `unscoped`."""

    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The project that a write goes to, and what the person should know about it."""

    key: str
    name: str
    source: str
    notices: tuple[str, ...] = ()


def detect(folder: str, *, environment: str | None, home: str, data_folder: str) -> Detected:
    """The project of work in `folder`, when none is named.

    The nearest `.engram/config.json` or `.agents/.engram/` below `home` speaks first, then git (the shared
    metadata folder, so that all worktrees agree), then the folder's own name. The home folder, `/` and temporary
    folders are no projects. Raises `SettingsError` for a config file that cannot be read.
    """
    if environment and environment.strip():
        return Detected(name=environment.strip(), source="environment")
    folder = os.path.realpath(folder)
    home = os.path.realpath(home)
    base = folder
    for place in _upwards(folder, stop=home):
        config = os.path.join(place, CONFIG)
        inside_data = os.path.realpath(os.path.dirname(config)) == os.path.realpath(data_folder)
        if os.path.isfile(config) and not inside_data:
            name = _configured(config)
            if name:
                return Detected(name=name, source="config")
        if os.path.isdir(os.path.join(place, ROOT)):
            base = place
            break
    repository = gitio.repository(base)
    # A home folder under git (dotfiles) does not make every folder below it one project.
    if repository is not None and os.path.realpath(repository.root) != home:
        return Detected(name=repository.name, source="git_remote" if repository.origin else "git_root")
    if base != folder:
        return Detected(name=os.path.basename(base) or UNSCOPED, source="root")
    if base == home or _is_no_project(base):
        return Detected(name=UNSCOPED, source="unscoped")
    return Detected(name=os.path.basename(base), source="folder")


def _upwards(folder: str, *, stop: str) -> list[str]:
    """`folder` and what is above it, without `stop` and what is above that."""
    places = []
    while folder != stop:
        places.append(folder)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return places


def _is_no_project(folder: str) -> bool:
    temporary = {os.path.realpath(place) for place in (tempfile.gettempdir(), "/tmp", "/var/tmp")}
    below = any(folder == place or folder.startswith(place + os.sep) for place in temporary)
    return below or os.path.dirname(folder) == folder


def _configured(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8-sig") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: cannot be read as JSON", hint="mend or remove it") from error
    name = found.get("project_name", found.get("project")) if isinstance(found, dict) else None
    if name is None:
        return None
    if not isinstance(name, str) or not name.strip():
        raise SettingsError(f"{path}: project_name must be a name", hint='like {"project_name": "my-app"}')
    return name


class Projects:
    """Projects of one store, seen from one working directory."""

    def __init__(self, store: Store, *, detect: Callable[[], Detected], now: Callable[[], str]) -> None:
        self._store = store
        self._detect = detect
        self._now = now
        self._detected: Detected | None = None

    def current(self) -> Detected:
        """What `detect` finds; asked once, as a session stays in its directory."""
        if self._detected is None:
            self._detected = self._detect()
        return self._detected

    def for_writing(self, explicit: str | None) -> Detected:
        """The name a write should use. Nothing is stored yet. Raises `InvalidInput` for a name that cannot be."""
        found = Detected(name=explicit, source="explicit") if explicit is not None else self.current()
        name = display_name(clean(found.name))
        if not name:
            raise InvalidInput("project: must not be blank")
        if len(name) > MAX_NAME:
            raise InvalidInput(f"project: {len(name)} characters, at most {MAX_NAME} are allowed")
        return Detected(name=name, source=found.source)

    def ensure(self, tx: Writer, wanted: Detected) -> Resolved:
        """The stored project behind a name or an alias; a new one is added, with a warning when it looks like one
        that is there."""
        key = project_key(wanted.name)
        known = tx.project(key)
        if known is not None:
            return Resolved(key=known.key, name=known.name, source=wanted.source)
        notices: tuple[str, ...] = ()
        if key != UNSCOPED:
            similar = near_duplicate(key, tx.project_keys())
            if similar is not None:
                other = tx.project(similar)
                shown = other.name if other else similar
                notices = (
                    f"project `{wanted.name}` is new and close to `{shown}`; "
                    f"if they are one: engram projects merge '{wanted.name}' '{shown}'",
                )
        tx.add_project(Project(key=key, name=wanted.name), at=self._now())
        if wanted.source == "unscoped":
            notices = ("no project here (home or temporary folder): saved as `unscoped`; name one with `project`",)
        return Resolved(key=key, name=wanted.name, source=wanted.source, notices=notices)

    def for_reading(self, tx: Reader, explicit: str | None) -> str | None:
        """The key to filter by: None when no project was named. An unknown name is its own key and finds nothing."""
        if explicit is None:
            return None
        key = project_key(clean(explicit))
        if not key:
            raise InvalidInput("project: must not be blank")
        known = tx.project(key)
        return known.key if known else key

    def current_key(self, tx: Reader) -> str:
        """The key of the project that work goes on in."""
        key = project_key(clean(self.current().name))
        known = tx.project(key)
        return known.key if known else key

    def list(self) -> list[ProjectCount]:
        with self._store.read() as tx:
            return tx.projects()

    def merge(self, source: str, target: str) -> tuple[Project, int]:
        """Move all rows of `source` under `target`; the old name stays as an alias. Returns target and rows moved.

        Raises `NotFound` when either is unknown, `Conflict` when they are the same.
        """
        with self._store.write() as tx:
            old, new = self._known(tx, source), self._known(tx, target)
            if old.key == new.key:
                raise Conflict(f"`{source}` and `{target}` are the same project `{new.name}` already")
            moved = next((p.observations for p in tx.projects() if p.key == old.key), 0)
            tx.alias(old.key, target=new.key, at=self._now())
        return new, moved

    def add_alias(self, alias: str, target: str) -> Project:
        """Let `alias` name `target` from now on. Raises `Conflict` when `alias` is a project with rows."""
        name = self.for_writing(alias).name
        key = project_key(name)
        with self._store.write() as tx:
            new = self._known(tx, target)
            existing = tx.project(key)
            if existing is not None and existing.key == key and key != new.key:
                raise Conflict(f"`{alias}` is a project of its own", hint=f"engram projects merge '{alias}' '{target}'")
            if key != new.key:
                tx.alias(key, target=new.key, name=name, at=self._now())
        return new

    def _known(self, tx: Reader, name: str) -> Project:
        found = tx.project(project_key(clean(name)))
        if found is None:
            raise NotFound(f"project `{clean(name)}` is not known", hint="`engram projects list` shows all")
        return found
