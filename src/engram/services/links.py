"""Connect agent programs with Engram, keep what was connected up to date, and take it out again."""

from __future__ import annotations

import copy
import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engram import files
from engram.errors import InvalidInput
from engram.hosts import foreign_file, linking, registry, table
from engram.hosts.editing import json_text, members
from engram.hosts.editing.edit import Status, Untouched
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.linking import Change, Run
from engram.hosts.parts import Element, Member, Part, Table, Told
from engram.hosts.registry import Link, Registry
from engram.hosts.table import HOSTS, Row, named
from engram.hosts.trying import Tried, try_server

ALL = "all"
ALWAYS_LOAD = "--always-load"
BOTH_HALVES = "--tools=governed,agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """How hosts start us: the MCP server and the command line, as lists of words; and of which version they are."""

    server: tuple[str, ...]
    engram: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program of a host ended: its exit status (None when it could not be started), and what it said."""

    status: int | None
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What a run did, or with `plan` would do; `notes` are sentences for the person."""

    hosts: tuple[str, ...]
    scope: str
    workspace: str
    plan: bool
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    is_rolled_back: bool = False

    @property
    def is_whole(self) -> bool:
        return not self.is_rolled_back and not any(change.is_trouble for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a registered server said when it was started for this host."""

    host: str
    tried: Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which parts of a host a person wants. `has_observations` is None for: as it was linked before."""

    has_observations: bool | None = None
    has_server: bool = True
    has_hooks: bool = True


class Links:
    """`home` and `environ` are those of the person, `stamp` gives the time as it stands in names of copies, `run` runs
    a program of a host."""

    def __init__(
        self,
        *,
        data_folder: str,
        home: str,
        environ: Mapping[str, str],
        platform: str,
        programs: Callable[[], Programs],
        stamp: Callable[[], str],
        run: Callable[[Sequence[str]], Ran],
    ) -> None:
        self._data_folder = data_folder
        self._home = home
        self._environ = environ
        self._platform = platform
        self._programs = programs
        self._stamp = stamp
        self._run_program = run

    # -- link and unlink -----------------------------------------------------------------------------------------------

    def link(
        self,
        names: Sequence[str],
        *,
        workspace: str,
        is_global: bool = False,
        plan: bool = False,
        force: bool = False,
        apply: bool = False,
        choice: Choice | None = None,
    ) -> Linked:
        """Put everything of these hosts in place. Raises `InvalidInput` for a name that is no host, before anything is
        written; a file that cannot be edited is named in the changes. `apply` runs the commands that only a program
        of a host may do."""
        place = self._place(workspace, is_global=is_global)
        hosts = self._chosen(names, place)
        choice = choice or Choice()
        changes: list[Change] = []
        with self._run(plan=plan) as run:
            for host in hosts:
                parts, link = self._wanted_parts(host, place, choice, run.registry, among=hosts, refresh=force)
                changes += self._put(run, link, parts, force=force, apply=apply and not plan)
        return self._linked(hosts, place, plan, changes)

    def unlink(
        self,
        names: Sequence[str],
        *,
        workspace: str,
        is_global: bool = False,
        plan: bool = False,
        force: bool = False,
        apply: bool = False,
    ) -> Linked:
        """Take out what is ours, and nothing else; what another linked host needs stays. Raises as `link`."""
        place = self._place(workspace, is_global=is_global)
        if not names:
            raise InvalidInput("host: is missing", hint="name one, or `all`")
        hosts = list({host.name: host for host in (HOSTS if ALL in names else map(named, names))}.values())
        changes: list[Change] = []
        with self._run(plan=plan) as run:
            for host in hosts:
                who = _owner(host, place)
                is_known = who in run.registry.links
                parts = self._parts(host, place, Choice(has_observations=True))
                changes += run.take(who, parts, force=force)
                if is_known or ALL not in names:
                    changes += self._told_back(who, parts, apply=apply and not plan)
                if is_known:
                    del run.registry.links[who]
                    run.save()
        return self._linked(hosts, place, plan, changes)

    def upgrade(self, *, plan: bool = False, force: bool = False) -> Linked:
        """Bring every link that is remembered up to date: the programs, their version, the texts. When a file cannot
        be written, everything is as it was before."""
        changes: list[Change] = []
        notes: list[str] = []
        is_rolled_back = False
        with self._run(plan=plan) as run:
            before = copy.deepcopy(run.registry)
            hosts = []
            for who, link in sorted(run.registry.links.items()):
                if link.workspace and not os.path.isdir(link.workspace):
                    notes.append(f"{link.workspace}: is gone; its link is forgotten")
                    del run.registry.links[who]
                    run.save()
                    continue
                host = named(link.host)
                hosts.append(host)
                place = self._place(link.workspace or self._home, is_global=not link.workspace)
                choice = Choice(
                    has_observations=link.has_observations, has_server=link.has_server, has_hooks=link.has_hooks
                )
                parts, now = self._wanted_parts(host, place, choice, run.registry, among=(), refresh=True)
                changes += self._put(run, now, parts, force=force, apply=False)
            if any(change.status in ("failed", "conflict") for change in changes) and not plan:
                is_rolled_back = True
                stuck = run.roll_back(before)
                notes.append("nothing was upgraded: every file is as it was")
                notes += [f"{path}: was changed by another program and could not be put back" for path in stuck]
        place = self._place(self._home, is_global=True)
        linked = self._linked(hosts, place, plan, changes, notes)
        return dataclasses.replace(linked, is_rolled_back=is_rolled_back, scope="all", workspace="")

    def verify(self, linked: Linked) -> list[Verified]:
        """Start what is registered now for the hosts of this run, as each of them would, and ask it what it is."""
        place = self._place(linked.workspace, is_global=linked.scope == "global")
        known = registry.load(registry.path_in(self._data_folder))
        found: list[Verified] = []
        tried: dict[tuple[str, ...], Tried] = {}
        for name in linked.hosts:
            link = known.links.get(_owner(named(name), place))
            if link is None:
                continue
            for words in self.registered(link):
                if words not in tried:
                    tried[words] = try_server(words, folder=linked.workspace, environ=self._environ)
                found.append(Verified(host=name, tried=tried[words]))
        return found

    def registered(self, link: Link) -> list[tuple[str, ...]]:
        """The commands by which this host starts our server, as they stand in its files now."""
        place = self._place(link.workspace or self._home, is_global=not link.workspace)
        choice = Choice(has_observations=link.has_observations, has_server=link.has_server, has_hooks=link.has_hooks)
        found: list[tuple[str, ...]] = []
        for part in self._parts(named(link.host), place, choice):
            if isinstance(part, Told):
                found.append(part.command[part.command.index("--") + 1 :] if "--" in part.command else ())
            elif part.feature == "server" and isinstance(part, Member | Table):
                found.append(linking.command_at(part))
        return [words for words in found if words]

    def known(self) -> list[Link]:
        """All that is linked, as far as it is remembered."""
        return list(registry.load(registry.path_in(self._data_folder)).links.values())

    def planned(self, link: Link) -> list[Change]:
        """What a refresh of this link would do now; writes nothing."""
        place = self._place(link.workspace or self._home, is_global=not link.workspace)
        choice = Choice(has_observations=link.has_observations, has_server=link.has_server, has_hooks=link.has_hooks)
        with self._run(plan=True) as run:
            parts, now = self._wanted_parts(named(link.host), place, choice, run.registry, among=(), refresh=False)
            return self._put(run, now, parts, force=False, apply=False)

    # -- inside --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _run(self, *, plan: bool) -> Iterator[Run]:
        path = registry.path_in(self._data_folder)
        if plan:
            yield Run(registry=registry.load(path), save=lambda: None, stamp="", plan=True)
            return
        files.private_folder(self._data_folder)
        with files.locked(f"{path}.lock"):
            known = registry.load(path)
            yield Run(registry=known, save=lambda: registry.save(path, known), stamp=self._stamp())

    def _place(self, workspace: str, *, is_global: bool) -> Place:
        if not is_global and os.path.realpath(workspace) == os.path.realpath(self._home):
            raise InvalidInput("workspace: this is the home folder", hint="add --global, or go into a project")
        return Place(
            home=self._home,
            workspace=os.path.realpath(workspace),
            is_global=is_global,
            environ=self._environ,
            platform=self._platform,
        )

    def _chosen(self, names: Sequence[str], place: Place) -> list[Host]:
        if not names:
            raise InvalidInput("host: is missing", hint="name one, or `all` for those on this machine")
        chosen = [named(name) for name in names if name != ALL]
        if ALL in names:
            chosen += [host for host in HOSTS if host.in_all == "always" or self.is_installed(host, place)]
        return list({host.name: host for host in chosen}.values())

    def is_installed(self, host: Host, place: Place) -> bool:
        """Whether the program is on this machine, as far as its command or its own files tell."""
        if host.in_all == "never":
            return False
        path = self._environ.get("PATH", os.defpath)
        return any(shutil.which(program, path=path) for program in host.programs) or any(
            place.exists(sign) for sign in host.signs(place)
        )

    def _parts(self, host: Host, place: Place, choice: Choice, *, always_load: bool = False) -> list[Part]:
        programs = self._programs()
        options = (BOTH_HALVES,) if choice.has_observations else ()
        wanted = Wanted(
            server=(*programs.server, *options),
            engram=programs.engram,
            version=programs.version,
            has_observations=bool(choice.has_observations),
            always_load=always_load,
        )
        unwanted = {
            *(() if choice.has_server else ("server",)),
            *(() if choice.has_hooks else ("hooks",)),
        }
        return [part for part in host.parts(place, wanted) if part.feature not in unwanted]

    def _wanted_parts(
        self,
        host: Host,
        place: Place,
        choice: Choice,
        known: Registry,
        *,
        among: Sequence[Host],
        refresh: bool,
    ) -> tuple[list[Part], Link]:
        """The parts of a host as they should be now, and the link to remember. `among` are the hosts of this run,
        `refresh` means that a flag of ours that stands there is no reason to leave it."""
        who = _owner(host, place)
        earlier = known.links.get(who)
        if choice.has_observations is None:
            choice = dataclasses.replace(choice, has_observations=bool(earlier and earlier.has_observations))
        always = self._always_load(place, choice, among=among, refresh=refresh)
        parts = self._parts(host, place, choice, always_load=always)
        link = Link(
            host=host.name,
            workspace="" if place.is_global else place.workspace,
            version=self._programs().version,
            has_observations=bool(choice.has_observations),
            has_server=choice.has_server,
            has_hooks=choice.has_hooks,
        )
        return parts, link

    def _put(self, run: Run, link: Link, parts: list[Part], *, force: bool, apply: bool) -> list[Change]:
        changes = run.put(link.owner, parts, force=force)
        changes += run.take_old(link.owner, parts)
        if apply:
            changes = [self._applied(change) if change.command else change for change in changes]
        is_there = any(
            link.owner in kept.owners for ours in run.registry.files.values() for kept in ours.parts.values()
        )
        is_there = is_there or any(isinstance(part, Told) for part in parts)
        if is_there and run.registry.links.get(link.owner) != link:
            run.registry.links[link.owner] = link
            run.save()
        return changes

    def _always_load(self, place: Place, choice: Choice, *, among: Sequence[Host], refresh: bool) -> bool:
        """Whether Claude Code is to load `engram_load` at once: only where no hook of ours brings memory anyway. What
        stands in `.mcp.json` already changes only with a refresh."""
        if not refresh and not place.is_global:
            stands = _server_words(place.in_workspace(".mcp.json"))
            if stands is not None:
                return ALWAYS_LOAD in stands
        if choice.has_hooks and any(host.name == "claude" for host in among):
            return False
        return not any(
            self.has_hook("claude", self._place(place.workspace, is_global=is_global)) for is_global in (True, False)
        )

    def has_hook(self, name: str, place: Place) -> bool:
        """Whether a hook of ours stands in the files of this host."""
        parts = self._parts(named(name), place, Choice())
        return any(linking.is_there(part) for part in parts if isinstance(part, Element))

    def _told_back(self, who: str, parts: Sequence[Part], *, apply: bool) -> list[Change]:
        told = [
            Change(owner=who, path="", features=(part.feature,), status="told", reason=part.why_undo, command=part.undo)
            for part in parts
            if isinstance(part, Told) and part.undo
        ]
        return [self._applied(change) for change in told] if apply else told

    def _applied(self, change: Change) -> Change:
        path = self._environ.get("PATH", os.defpath)
        program = shutil.which(change.command[0], path=path)
        if program is None:
            return dataclasses.replace(change, reason=f"`{change.command[0]}` is not on PATH; run it where it is")
        ran = self._run_program((program, *change.command[1:]))
        status: Status = "written" if ran.status == 0 else "failed"
        return dataclasses.replace(change, status=status, reason=ran.said)

    def _linked(
        self, hosts: Sequence[Host], place: Place, plan: bool, changes: Sequence[Change], notes: Sequence[str] = ()
    ) -> Linked:
        return Linked(
            hosts=tuple(dict.fromkeys(host.name for host in hosts)),
            scope=place.scope,
            workspace=place.workspace,
            plan=plan,
            changes=tuple(changes),
            notes=tuple(notes),
        )


def capabilities(name: str | None = None) -> tuple[Row, ...]:
    """What each host can do, or one of them. Raises `InvalidInput` for a name that is no host."""
    rows = table.capabilities()
    return rows if name is None else tuple(row for row in rows if row.host == named(name).name)


def _owner(host: Host, place: Place) -> str:
    return registry.owner(host.name, "" if place.is_global else place.workspace)


def _server_words(path: str) -> list[str] | None:
    """The words of our server in a file of the shape of `.mcp.json`; None where there is none of ours."""
    try:
        found = foreign_file.read(path)
        value: Any = json_text.read(found.text).value if found.data is not None else None
    except Untouched:  # the put names it
        return None
    for key in ("mcpServers", "engram"):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None or not members.is_ours(value, "engram-mcp"):
        return None
    words = [value.get("command"), *(value.get("args") or [])] if isinstance(value, Mapping) else []
    return [word for word in words if isinstance(word, str)]
