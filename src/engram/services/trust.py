"""Make a root, trust one that came from elsewhere, and change what is set for memories."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engram import files
from engram.core.memory import Memory
from engram.core.memory_ports import Indexed
from engram.core.standing import Standing, why_hidden
from engram.errors import Conflict, InvalidInput, NotFound
from engram.services.memory_roots import MemoryRoot, MemoryRoots, author
from engram.services.memory_showing import Seen, card_of
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
class ToTrust:
    """What trusting a workspace would let speak: a card of every memory, also of those that are hidden now, and what
    each says (by path), to tie the answer to."""

    path: str
    cards: tuple[str, ...]
    said: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """A profile; `path` is "" for one that is in use and that this machine does not know."""

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

    def to_trust(self) -> ToTrust:
        """What a person has to look at before they trust this workspace."""
        place = self._roots.named("workspace")
        place.refresh(anew=True)
        around = self._roots.circumstances(place, today=self._now()[:10], settings=self._roots.settings())
        rows = _memories_of(place)
        cards = []
        for row, memory in rows:
            hidden = why_hidden(memory, around, is_ignored=row.is_ignored)
            seen = Seen(place=place, row=row, memory=memory, standing=place.standing(row), hidden=hidden, card_only="")
            cards.append(card_of(seen, hidden))
        return ToTrust(path=place.root.path, cards=tuple(cards), said=_said(rows))

    def trust(self, *, revoke: bool = False, shown: ToTrust | None = None) -> Trusted:
        """Trust the workspace's memories as they are now, or as they were `shown` to the person, or no longer. Raises
        `Conflict` when a memory came or changed since it was shown; nothing is trusted then."""
        place = self._roots.named("workspace")
        accepted = []
        with place.ledger.locked():
            place.refresh(whole=True, anew=shown is not None)
            rows = _memories_of(place)
            if shown is not None and (new := _new_since(shown.said, _said(rows))):
                raise Conflict(
                    f"came or changed since they were shown: {', '.join(new[:5])}"
                    f"{f' and {len(new) - 5} more' if len(new) > 5 else ''}; nothing was trusted",
                    hint="engram trust shows them as they are now",
                )
            for row, memory in () if revoke else rows:
                # What claims another hash than it has was changed after somebody approved it: that is looked at.
                if place.standing(row) is Standing.UNAPPROVED and not memory.is_edited:
                    accepted.append([memory.type, memory.id, memory.actual_hash])
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
        root = self._roots.global_.root
        rows = [
            ProfileRow(
                name=name, path=path, is_active=name == root.profile, exists=os.path.isdir(os.path.expanduser(path))
            )
            for name, path in sorted(found.paths.items())
        ]
        return [*rows, ProfileRow(name=root.profile, path="", is_active=True, exists=False)] if root.problem else rows

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


def _memories_of(place: MemoryRoot) -> list[tuple[Indexed, Memory]]:
    """The memories that trust is about: working notes never speak as instructions."""
    return [(row, row.memory) for row in place.index.everything() if row.memory is not None and not row.memory.tier]


def _said(rows: Sequence[tuple[Indexed, Memory]]) -> dict[str, str]:
    return {row.path: f"{memory.type}:{memory.id}:{memory.actual_hash}" for row, memory in rows}


def _new_since(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Paths of what was not there before, or said something else."""
    return [path for path, said in now.items() if before.get(path) != said]
