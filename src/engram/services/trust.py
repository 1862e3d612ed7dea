"""Make a root, trust one that came from elsewhere, and change what is set for memories."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engram import files
from engram.core.standing import Standing
from engram.errors import Conflict, InvalidInput, NotFound
from engram.services.memory_roots import MemoryRoot, MemoryRoots, author
from engram.vault import config, ledger, setup
from engram.vault.config import Setting
from engram.vault.ledger import Line
from engram.vault.roots import Profiles, check_profile_name, new_workspace_root, read_profiles, root_at, write_profiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A root after `engram init`: whether it is new, and whether its memories are trusted."""

    path: str
    scope: str
    is_new: bool
    is_trusted: bool
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """A root and what trusting it accepted."""

    path: str
    is_trusted: bool
    why: str
    memories: int
    accepted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    name: str
    path: str
    is_active: bool
    exists: bool


class TrustService:
    """What a person decides of roots, settings and profiles; times are RFC 3339 of `now`."""

    def __init__(self, roots: MemoryRoots, *, now: Callable[[], str]) -> None:
        self._roots = roots
        self._now = now

    # -- roots -----------------------------------------------------------------------------------------------------

    def init(self, *, scope: str = "workspace", here: bool = False) -> Made:
        """Make the workspace's root (at the top of its repository, or `here`), or the global one. One that is there
        is completed and otherwise left as it is."""
        if scope == "global":
            root = self._roots.global_.root
        else:
            found = self._roots.workspace
            if found is not None and not here:
                root = found.root
            elif here:
                root = root_at(os.path.join(self._roots.folder, ".agents", ".engram"), scope="workspace")
            else:
                root = new_workspace_root(self._roots.folder)
            home = os.path.realpath(self._roots.home)
            if scope == "workspace" and os.path.dirname(os.path.dirname(root.path)) == home and not here:
                raise InvalidInput(
                    "the home folder is no workspace", hint="run it inside of a project, or `engram init --global`"
                )
        is_new = setup.create(root)
        place = self._roots.open_root(root)
        place.refresh(whole=True)
        count = place.index.counts()["memories"]
        if is_new or not count:
            with place.ledger.locked():
                place.catch_up()
                if not place.index.note("trust"):
                    self._note(place, ledger.CREATED)
            place.refresh()
        return Made(
            path=root.path,
            scope=root.scope,
            is_new=is_new,
            is_trusted=place.trust.is_trusted,
            memories=count,
        )

    def trust(self, *, revoke: bool = False) -> Trusted:
        """Trust the workspace's memories as they are now, or no longer."""
        place = self._roots.named("workspace")
        place.refresh(whole=True)
        accepted = []
        if not revoke:
            for row in place.index.everything():
                if row.memory is None or row.memory.tier:
                    continue
                # What claims another hash than it has was changed after somebody approved it: that is looked at.
                if place.standing(row) is Standing.UNAPPROVED and not row.memory.is_edited:
                    accepted.append([row.memory.type, row.memory.id, row.memory.actual_hash])
        with place.ledger.locked():
            place.catch_up()
            self._note(place, ledger.DISTRUSTED if revoke else ledger.TRUSTED, accepted=accepted)
        place.refresh()
        return self._state(place, accepted=len(accepted))

    def state(self) -> Trusted:
        place = self._roots.named("workspace")
        place.refresh()
        return self._state(place)

    def _state(self, place: MemoryRoot, *, accepted: int = 0) -> Trusted:
        return Trusted(
            path=place.root.path,
            is_trusted=place.trust.is_trusted,
            why=place.trust.why,
            memories=place.index.counts()["memories"],
            accepted=accepted,
        )

    def _note(self, place: MemoryRoot, event: str, *, accepted: Sequence[Sequence[str]] = ()) -> None:
        by, _ = author(self._roots.folder, self._roots.settings())
        data = {"accepted": [list(row) for row in accepted]} if accepted else {}
        place.ledger.append(Line(event=event, at=self._now(), root=place.root.path, how="terminal", by=by, data=data))

    # -- settings --------------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Setting]:
        return self._roots.settings()

    def change_setting(self, name: str, value: Any, *, for_user: bool = False) -> str:
        """Set (or with None take out) one setting, in the workspace's file or the user's; the path of the file."""
        config.check_key(name)
        read = None if value is None else config.read_value(name, value)
        with self._alone():
            path = self._settings_file(for_user=for_user)
            config.change_file(path, name, read)
        return path

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else changes settings or profiles of this user meanwhile: each change keeps what is there."""
        files.private_folder(self._roots.data_folder)
        with files.locked(os.path.join(self._roots.data_folder, "engram-settings.lock")):
            yield

    def _settings_file(self, *, for_user: bool) -> str:
        place = self._roots.workspace
        if place is not None and not for_user:
            place.catch_up()
            if place.trust.is_trusted:
                return os.path.join(place.root.path, config.FILE)
        return os.path.join(self._roots.data_folder, config.FILE)

    # -- profiles --------------------------------------------------------------------------------------------------

    def profiles(self) -> list[ProfileRow]:
        found = read_profiles(self._roots.data_folder)
        used = self._roots.global_.root.profile
        return [
            ProfileRow(name=name, path=path, is_active=name == used, exists=os.path.isdir(os.path.expanduser(path)))
            for name, path in sorted(found.paths.items())
        ]

    def add_profile(self, name: str, path: str) -> ProfileRow:
        """Name a global root."""
        check_profile_name(name)
        whole = os.path.abspath(os.path.expanduser(path))
        with self._alone():
            found = read_profiles(self._roots.data_folder)
            if name in found.paths:
                raise Conflict(f"the profile `{name}` is there already", hint="engram profile remove it first")
            setup.create(root_at(whole, scope="global"))
            write_profiles(self._roots.data_folder, Profiles(active=found.active, paths={**found.paths, name: whole}))
        return ProfileRow(name=name, path=whole, is_active=False, exists=True)

    def use_profile(self, name: str, *, for_workspace: bool) -> None:
        """Make a profile the active one, of this user or of this workspace; "" means none."""
        with self._alone():
            found = read_profiles(self._roots.data_folder)
            if name and name not in found.paths:
                raise NotFound(f"no profile `{name}`", hint="engram profile list")
            if for_workspace:
                place = self._roots.named("workspace")
                config.change_file(os.path.join(place.root.path, config.FILE), "default_profile", name or None)
            else:
                write_profiles(self._roots.data_folder, Profiles(active=name, paths=found.paths))

    def remove_profile(self, name: str) -> str:
        """Forget a profile; its folder stays. The path."""
        with self._alone():
            found = read_profiles(self._roots.data_folder)
            if name not in found.paths:
                raise NotFound(f"no profile `{name}`", hint="engram profile list")
            rest = {other: path for other, path in found.paths.items() if other != name}
            active = "" if found.active == name else found.active
            write_profiles(self._roots.data_folder, Profiles(active=active, paths=rest))
        return found.paths[name]
