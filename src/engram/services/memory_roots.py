"""The roots that memories are read from, each with an index that is kept as fresh as its files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engram import gitio, places
from engram.core.memory_ports import REVOKED, Approval, Indexed, MemoryIndex, ReadFile, Stated
from engram.core.standing import ACCEPTED, Circumstances, Standing, standing
from engram.errors import InvalidInput, NotFound, StoreUnavailable
from engram.vault import batch, config, folder, ledger
from engram.vault.config import Setting
from engram.vault.ledger import Ledger, Line
from engram.vault.roots import Nearest, Root, global_root, workspace_root

# A root with more files than this is not looked through whole at each read of one process: its folders and the files
# that are shown are. What was edited in place elsewhere is seen by the next whole look, at most so many seconds later.
MANY_FILES = 1_500
WHOLE_LOOK_SECONDS = 2.0
# A file that changed so shortly before it was read may change again within the same tick of the file system's clock.
TICK_NS = 50_000_000
PATIENCE = 2.0

SETTLED = "proposal"
_UNREADABLE = " (unreadable)"
TRUST_VARIABLE = "ENGRAM_TRUST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whether a root's memories may be instructions, and why: created, trusted, approved, environment, global, or
    "" for a root that nobody has trusted."""

    is_trusted: bool
    why: str


class MemoryRoot:
    """One root: its files, index and ledger."""

    def __init__(
        self,
        root: Root,
        index: MemoryIndex,
        *,
        data_folder: str,
        environ: Mapping[str, str],
        monotonic: Callable[[], float] = time.monotonic,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.root = root
        self.index = index
        self.ledger = Ledger(root, data_folder=data_folder)
        self._hidden_because = ""
        self._under_way = ""
        self._environ = environ
        self._monotonic = monotonic
        self._now_ns = now_ns
        self._looked_at: float | None = None
        self._file_count = 0
        self._uncommitted: frozenset[str] | None = None
        self._git_stamp = ""
        self._git_now: str | None = None

    @property
    def diagnostics(self) -> list[str]:
        """What a reader should know of this root now."""
        return [said for said in (self._hidden_because, self._under_way) if said]

    # -- freshness -------------------------------------------------------------------------------------------------

    def refresh(self, *, whole: bool = False, anew: bool = False) -> None:
        """Bring the index up to the files and the ledger. `whole` looks at every file in any case, `anew` also reads
        those whose stamp is as it was."""
        self.catch_up()
        self._git_now = None  # asked for once between two looks
        soon = self._looked_at is not None and self._monotonic() - self._looked_at < WHOLE_LOOK_SECONDS
        if not (whole or anew) and soon and self._file_count > MANY_FILES and self._same_folders():
            return
        known = self.index.stamps()  # before the walk: what another process takes in meanwhile must not look removed
        found = folder.walk(self.root)
        ignored_by = folder.ignore_stamp(self.root)
        known_by = self.index.note("ignore")
        is_ignored = None
        if known_by.endswith(_UNREADABLE):  # making a file readable does not change its stamp
            is_ignored = self._ignoring()
            ignored_by += _UNREADABLE if self._hidden_because else ""
        if anew or ignored_by != known_by:
            known = dict.fromkeys(known, (-1, -1))
        changed = [path for path, stamp in found.files.items() if known.get(path) != stamp]
        removed = [path for path in known if path not in found.files]
        if changed or removed or ignored_by != known_by:
            is_ignored = is_ignored or self._ignoring()
            if self._hidden_because and not ignored_by.endswith(_UNREADABLE):
                ignored_by += _UNREADABLE
            notes = {"ignore": ignored_by, "state": self._new_state()}
            self.index.refresh(changed=self._read(changed, found, is_ignored), removed=removed, notes=notes)
            self._git_stamp = ""
        self.strays = found.strays
        self._folders = found.folders
        self._file_count = len(found.files)
        self._looked_at = self._monotonic()

    def stated_folders(self) -> list[Stated]:
        """The folders of the root as they were at the last look, those that it may yet get among them."""
        names = dict.fromkeys((*folder.FOLDER_NAMES, *self._folders))
        paths = {name: os.path.join(self.root.path, *name.split("/")) for name in names}
        return [
            (path, places.ANY_SIZE if name in self._folders else places.ABSENT, self._folders.get(name, 0))
            for name, path in paths.items()
        ]

    strays: tuple[str, ...] = ()
    _folders: dict[str, int] = {}  # noqa: RUF012  # replaced, never changed

    def _ignoring(self) -> Callable[[str], bool]:
        """The ignore rules; while they cannot be read, everything is hidden, as they may hide anything."""
        try:
            rules = folder.ignoring(self.root)
        except InvalidInput as error:
            self._hidden_because = f"{error.sentence()}; until then every memory is hidden"
            return lambda path: True
        self._hidden_because = ""
        return rules

    def _same_folders(self) -> bool:
        return bool(self._folders) and folder.folder_stamps(self.root, tuple(self._folders)) == self._folders

    def _read(self, paths: Sequence[str], found: folder.Found, is_ignored: Callable[[str], bool]) -> Iterator[ReadFile]:
        for path in paths:
            size, changed_ns = found.files[path]
            read = folder.read(self.root, path, (size, changed_ns))
            if abs(self._now_ns() - changed_ns) < TICK_NS:
                changed_ns = 0  # looked at again next time
            yield ReadFile(
                path=path,
                stamp=(size, changed_ns),
                memory=read.memory,
                problem=read.problem,
                is_ignored=is_ignored(path),
                said_hash=read.said_hash,
                search_terms=read.search_terms,
            )

    def are_fresh(self, rows: Sequence[Indexed]) -> bool:
        """Whether the files of these rows are still as they were read; else the whole root is looked through."""
        known = self.index.stamps() if len(rows) > MANY_FILES else None
        for row in rows:
            stamp = folder.stamp_of(self.root, row.path)
            if known is not None and stamp == known.get(row.path):
                continue
            if not self.index.has_stamp(row.path, stamp):
                self.refresh(whole=True)
                return False
        return True

    @property
    def state(self) -> str:
        """Another word whenever what the index knows of the files has changed."""
        return self.index.note("state")

    def _new_state(self) -> str:
        return f"{self._now_ns():x}-{os.urandom(4).hex()}"

    def write(self, line: Line) -> None:
        """Carry out a batch and know its files as they are now; the caller holds the lock. Raises as
        `vault.batch.commit`."""
        batch.commit(self.root, self.ledger, line)
        self.took([change.path for change in line.changes])

    def took(self, paths: Sequence[str]) -> None:
        """Files that this process has just written: read them, and know their folders as they are now."""
        is_ignored = self._ignoring()
        found = {path: stamp for path in paths if (stamp := folder.stamp_of(self.root, path)) is not None}
        seen = folder.Found(files={path: s for path, s in found.items() if _is_memory_path(path)}, folders={})
        changed = self._read(tuple(seen.files), seen, is_ignored)
        gone = [path for path in paths if path not in found]
        self.index.refresh(changed=changed, removed=gone, notes={"state": self._new_state()})
        places = dict.fromkeys((*self._folders, *(path.rpartition("/")[0] for path in paths if _is_memory_path(path))))
        self._folders = folder.folder_stamps(self.root, tuple(places))
        self.catch_up()

    def read_anew(self) -> None:
        """Read the ledger from its beginning and every file."""
        self.index.forget_approvals(notes={"ledger": "0", "trust": "", "broken": "0", "seal": ""})
        self.refresh(anew=True)

    def catch_up(self) -> None:
        """Read what the ledger says since the last time, and finish a batch that a crash interrupted."""
        self._under_way = ""
        size = self.ledger.size()
        read_to = int(self.index.note("ledger") or 0)
        if size == read_to:
            return
        notes = {name: self.index.note(name) for name in ("trust", "open", "broken")}
        if size < read_to:  # another ledger took its place, or it is gone with all that it said
            self.index.forget_approvals(notes={})
            read_to, notes = 0, dict.fromkeys(notes, "")
        approvals: list[Approval] = []
        seal = self.index.note("seal") if read_to else ""
        for line in self.ledger.lines(read_to, mac=seal):
            read_to, seal = line.end, line.mac
            if not line.is_sealed:
                notes["broken"] = str(int(notes["broken"] or 0) + 1)
                continue
            approvals += _approvals(line)
            notes["trust"] = _trust_after(notes["trust"], line)
            if line.root == self.root.path and line.event in (ledger.COMMIT, ledger.UNDO):
                notes["open"] = line.batch
            elif line.root == self.root.path and line.event == ledger.APPLIED:
                notes["open"] = ""
        if notes["open"]:
            if self._recover():
                notes["open"] = ""
                self._looked_at = None
                read_to = min(read_to, self.ledger.size())
            else:
                return  # its writer is at work; the next read comes again
        self.index.add_approvals(approvals, notes={**notes, "ledger": str(read_to), "seal": seal})

    def _recover(self) -> bool:
        """Whether no batch is open any more."""
        if self.ledger.is_held():  # a writer finishes what was left before it writes
            batch.recover(self.root, self.ledger)
            return True
        try:
            with self.ledger.locked(seconds=PATIENCE):
                batch.recover(self.root, self.ledger)
                return True
        except StoreUnavailable:
            self._under_way = "a batch of writes is under way; what it changes may not be shown yet"
            return False

    # -- trust -----------------------------------------------------------------------------------------------------

    @property
    def trust(self) -> Trust:
        said = self.index.note("trust")
        if said == ledger.DISTRUSTED:
            return Trust(is_trusted=False, why="")
        if said:
            return Trust(is_trusted=True, why=said)
        if self._environ.get(TRUST_VARIABLE, "").strip() == "1":
            return Trust(is_trusted=True, why="environment")
        if self.root.scope == "global":
            return Trust(is_trusted=True, why="global")
        return Trust(is_trusted=False, why="")

    def standing(self, row: Indexed) -> Standing:
        """How far the memory of `row` (which has one) may be trusted."""
        assert row.memory is not None
        known = bool(row.approved_how) or bool(row.memory.tier)
        return standing(
            row.memory,
            approved_how=row.approved_how,
            was_approved=row.was_approved,
            is_committed=not known and self.is_committed(row.path),
        )

    def is_committed(self, path: str) -> bool:
        """Whether the file is as the last commit has it. Asks Git once per state of the repository."""
        if self._git_now is None:
            # Another process may have taken in a new file: then Git has not been asked about it here.
            git = self._state_of_git()
            self._git_now = f"{git} {self.state}" if git else ""
        stamp = self._git_now
        if stamp != self._git_stamp or not stamp:
            self._uncommitted = gitio.uncommitted(self.root.path) if stamp else None
            self._git_stamp = stamp
        if self._uncommitted is None:
            return False
        return path not in self._uncommitted and not any(
            path.startswith(name) for name in self._uncommitted if name.endswith("/")
        )

    def _state_of_git(self) -> str:
        if not self.root.git:
            return ""
        parts = []
        for name in ("index", "HEAD", os.path.join("logs", "HEAD")):
            try:
                state = os.stat(os.path.join(self.root.git, name))
                parts.append(f"{state.st_size}:{state.st_mtime_ns}")
            except OSError:
                parts.append("-")
        return " ".join(parts)

    def close(self) -> None:
        self.index.close()


def _settled(line: Line) -> list[Approval]:
    """That a proposal was answered, under a type that no memory has: an older copy of the pending file cannot bring it
    back."""
    name = str(line.data.get("proposal", ""))
    return [Approval(id=name, type=SETTLED, content_hash=name, at=line.at, how=line.event)] if name else []


def _is_memory_path(path: str) -> bool:
    return path.split("/", 1)[0] in folder.FOLDER_NAMES and path.endswith(".md")


def _trust_after(before: str, line: Line) -> str:
    """Who approves a memory here trusts this place, unless they said plainly that they do not; what was written by
    force, no person has seen."""
    if line.event in (ledger.CREATED, ledger.TRUSTED, ledger.DISTRUSTED):
        return line.event
    memories = [change for change in line.changes if not change.path.startswith(f"{folder.WORKING}/")]
    approves = line.event == ledger.COMMIT and line.how in ledger.BY_A_PERSON and bool(memories)
    return before or "approved" if approves else before


def _approvals(line: Line) -> list[Approval]:
    if line.event == ledger.COMMIT:
        return [
            Approval(id=change.id, type=change.type, content_hash=change.content_hash, at=line.at, how=line.how)
            for change in line.changes
            if change.content_hash
        ] + _settled(line)
    if line.event == ledger.DECLINED:
        return _settled(line)
    if line.event == ledger.UNDO:
        return [
            Approval(id=str(id), type=str(kind), content_hash=str(said), at=line.at, how=REVOKED)
            for kind, id, said in line.data.get("revoked", ())
        ]
    accepted = line.data.get("accepted", ()) if line.event == ledger.TRUSTED else ()
    return [
        Approval(id=str(id), type=str(kind), content_hash=str(said), at=line.at, how=ACCEPTED)
        for kind, id, said in accepted
    ]


class MemoryRoots:
    """The roots seen from one workspace: its own, if it has one, before the global one."""

    def __init__(
        self,
        folder: str,
        *,
        data_folder: str,
        environ: Mapping[str, str],
        home: str,
        open_index: Callable[[str], MemoryIndex],
        profile: str = "",
    ) -> None:
        self.folder = folder
        self.data_folder = data_folder
        self.environ = environ
        self.home = home
        self.profile = profile
        self._open_index = open_index
        self._opened: dict[str, MemoryRoot] = {}
        self.problems: list[str] = []
        self._nearest: Nearest | None = None

    @property
    def workspace(self) -> MemoryRoot | None:
        if self._nearest is not None and self._nearest.is_still_so():
            return self._open(self._nearest.root)
        found = workspace_root(self.folder, home=self.home)
        self._nearest = Nearest.of(self.folder, found) if found is not None else None
        return self._open(found) if found is not None else None

    @cached_property
    def _global(self) -> Root:
        default = ""
        place = self.workspace
        if place is not None:
            place.catch_up()
            if place.trust.is_trusted:
                default = str(config.effective([place.root.path], problems=[])["default_profile"].value)
        return global_root(
            data_folder=self.data_folder, environ=self.environ, chosen=self.profile, workspace_default=default
        )

    @property
    def global_(self) -> MemoryRoot:
        """The global root; its folder need not exist."""
        return self._open(self._global)

    @property
    def pending_root(self) -> MemoryRoot:
        """Where proposals wait: the workspace's root if there is one, else the global one."""
        found = self.workspace
        return found if found is not None else self.global_

    def named(self, scope: str) -> MemoryRoot:
        """The root of `scope`. Raises `NotFound` for a workspace without one."""
        if scope == "global":
            return self.global_
        found = self.workspace
        if found is None:
            raise NotFound("this workspace has no memories yet", hint="engram init")
        return found

    def existing(self) -> list[MemoryRoot]:
        """The roots that there are, the workspace's first, each up to date."""
        found = [self.workspace] if self.workspace is not None else []
        if self.global_.root.exists and all(self.global_.root.path != other.root.path for other in found):
            found.append(self.global_)
        for place in found:
            place.refresh()
        return found

    def open_root(self, root: Root) -> MemoryRoot:
        return self._open(root)

    def _open(self, root: Root) -> MemoryRoot:
        opened = self._opened.get(root.path)
        if opened is not None and opened.root != root:  # it has become part of a repository: another ledger counts
            opened.close()
            del self._opened[root.path]
        if root.path not in self._opened:
            path = places.cache_file(self.data_folder, root.path)
            self._opened[root.path] = MemoryRoot(
                root, self._open_index(path), data_folder=self.data_folder, environ=self.environ
            )
        return self._opened[root.path]

    # -- settings --------------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Setting]:
        """Effective settings of memories. A workspace that is not trusted sets none."""
        layers = [self.global_.root.path, self.data_folder]
        place = self.workspace
        if place is not None:
            place.catch_up()
            if place.trust.is_trusted:
                layers.append(place.root.path)
        self.problems = []
        return config.effective(layers, problems=self.problems)

    def setting(self, name: str) -> Any:
        return self.settings()[name].value

    def circumstances(self, place: MemoryRoot, *, today: str, settings: Mapping[str, Setting]) -> Circumstances:
        return Circumstances(
            today=today,
            roles=tuple(settings["roles"].value),
            is_trusted=place.trust.is_trusted,
            team_as_cards=settings["trust.team"].value == "card",
        )

    def close(self) -> None:
        for place in self._opened.values():
            place.close()


def author(folder: str, settings: Mapping[str, Setting]) -> tuple[str, str]:
    """(`Name <address>`, a notice or ""): as set, else as Git says, else the user of this system."""
    name, mail = str(settings["author.name"].value), str(settings["author.email"].value)
    if not name:
        known, address = gitio.author(folder)
        name, mail = known or name, mail or address
    if name:
        return (f"{name} <{mail}>" if mail else name), ""
    import getpass

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return user, f"author: neither `author.name` nor Git's user.name is set, so `{user}` of this system is named"
