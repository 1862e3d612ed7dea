"""Wire the services to their adapters: the only place that names them."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from engram import paths
from engram.core import times
from engram.core.ports import Store
from engram.errors import EngramError
from engram.settings import Settings, load
from engram.storage import open_store

if TYPE_CHECKING:
    from engram.core.memory_ports import MemoryIndex
    from engram.services.context import ContextService
    from engram.services.doctor import Doctor
    from engram.services.health import HealthService
    from engram.services.links import Links, Programs, Ran
    from engram.services.memories import Memories
    from engram.services.memory_roots import MemoryRoots
    from engram.services.observations import Observations
    from engram.services.projects import Detected, Projects
    from engram.services.promotion import Promotion
    from engram.services.proposals import Proposals
    from engram.services.review import Review
    from engram.services.search import Search
    from engram.services.sessions import Sessions
    from engram.services.starting import Starting
    from engram.services.status import Stats, Status
    from engram.services.transcripts import Transcripts
    from engram.services.transfer import Transfer
    from engram.services.trust import TrustService
    from engram.services.turns import Turns
    from engram.services.undoing import Undoing


def _now() -> str:
    return times.stamp(datetime.now(UTC))


def _new_id() -> str:
    """`obs-`, the milliseconds since 1970 and 80 random bits as 32 hex digits.

    Two machines never make the same one; and as they grow with time, new ones stand side by side in the index.
    """
    return f"obs-{int(datetime.now(UTC).timestamp() * 1000):012x}{os.urandom(10).hex()}"


def _new_token() -> str:
    return secrets.token_urlsafe(32)


def _programs() -> Programs:
    from engram._version import __version__
    from engram.hosts.installed import this_installation
    from engram.hosts.launching import engram_command, server_command
    from engram.services.links import Programs

    installation = this_installation(
        environ=os.environ, platform=sys.platform, executable=sys.executable, version=__version__
    )
    return Programs(
        server=server_command(installation), engram=engram_command(installation), version=installation.version
    )


def _run_program(words: Sequence[str]) -> Ran:
    """A program of a host, with no input and a minute to end."""
    import subprocess

    from engram.services.links import Ran

    try:
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Ran(status=None, said=f"`{words[0]}` could not be run: {error}")
    said = (ended.stdout + b"\n" + ended.stderr).decode("utf-8", "replace").strip().splitlines()
    return Ran(status=ended.returncode, said=said[0][:200] if said else f"ended with status {ended.returncode}")


def _new_batch() -> str:
    return f"b-{int(datetime.now(UTC).timestamp()):08x}{os.urandom(3).hex()}"


class App:
    """The services of one store, seen from one workspace; each is imported and made when first asked for."""

    def __init__(
        self,
        settings: Settings,
        *,
        workspace: str,
        process: str,
        now: Callable[[], str] = _now,
        new_id: Callable[[], str] = _new_id,
        new_token: Callable[[], str] = _new_token,
        new_batch: Callable[[], str] = _new_batch,
        profile: str = "",
    ) -> None:
        self.settings = settings
        self.workspace = workspace
        self._process = process
        self.now = now
        self.new_id = new_id
        self.new_token = new_token
        self.new_batch = new_batch
        self.profile = profile
        self._passing = ""

    @cached_property
    def store(self) -> Store:
        return open_store(self.settings.database_url, synchronous=self.settings.synchronous, now=self.now)

    @cached_property
    def projects(self) -> Projects:
        from engram.services.projects import Projects

        return Projects(self.store, detect=lambda: self._detect(self.workspace), now=self.now)

    def _detect(self, folder: str) -> Detected:
        from engram.services.projects import detect

        return detect(
            folder,
            environment=self.settings.project,
            home=os.path.expanduser("~"),
            data_folder=self.settings.data_folder,
        )

    @cached_property
    def sessions(self) -> Sessions:
        from engram.services.sessions import Sessions

        return Sessions(
            self.store,
            self.projects,
            process=self._process,
            directory=self.workspace,
            now=self.now,
            new_id=self.new_id,
            max_content_bytes=self.settings.max_content_bytes,
        )

    @cached_property
    def observations(self) -> Observations:
        from engram.services.observations import Observations

        return Observations(
            self.store,
            self.projects,
            self.sessions,
            now=self.now,
            new_id=self.new_id,
            max_content_bytes=self.settings.max_content_bytes,
        )

    @cached_property
    def search(self) -> Search:
        from engram.services.search import Search

        return Search(self.store, self.projects, now=self.now)

    @cached_property
    def context(self) -> ContextService:
        from engram.services.context import ContextService

        return ContextService(self.store, self.projects, now=self.now, budget_tokens=self.settings.context_tokens)

    @cached_property
    def status(self) -> Status:
        from engram.services.status import Status

        return Status(self.store)

    @cached_property
    def transfer(self) -> Transfer:
        from engram.services.transfer import Transfer
        from engram.storage.sqlite.foreign import open_foreign

        return Transfer(
            self.store,
            self.projects,
            now=self.now,
            max_content_bytes=self.settings.max_content_bytes,
            open_database=open_foreign,
            detect=self._detect,
        )

    @cached_property
    def doctor(self) -> Doctor:
        from engram.services.doctor import Doctor

        return Doctor(self.store, self.settings, now=self.now, memories=lambda: self.review.findings())

    # -- memories --------------------------------------------------------------------------------------------------

    @cached_property
    def roots(self) -> MemoryRoots:
        from engram.services.memory_roots import MemoryRoots

        return MemoryRoots(
            self.workspace,
            data_folder=self.settings.data_folder,
            environ=os.environ,
            home=os.path.expanduser("~"),
            open_index=self._open_index,
            profile=self.profile,
        )

    def _open_index(self, path: str) -> MemoryIndex:
        """The index in the file `path`; where none can be written, one that goes with this app, so that memories can
        be read all the same."""
        from engram.storage.sqlite.memory_index import open_index
        from engram.storage.sqlite.read_only import is_read_only

        cache = os.path.dirname(path)
        cannot = is_read_only(path) or (os.path.lexists(cache) and not os.path.isdir(cache))
        if cannot and (folder := self._temporary()):
            path = os.path.join(folder, os.path.basename(path))
        return open_index(path)

    def _temporary(self) -> str:
        """A private folder that goes with this app, or "" where none can be made."""
        if not self._passing:
            from tempfile import mkdtemp

            with suppress(OSError):
                self._passing = mkdtemp(prefix="engram-")
        return self._passing

    @cached_property
    def memories(self) -> Memories:
        from engram.services.memories import Memories

        return Memories(self.roots, now=self.now, evidence=self._evidence)

    def memory_cards(self, query: str) -> list[tuple[str, str, str]]:
        """(uri, type, line) of up to three memories for a search of observations; none where there is no root."""
        from engram.vault.roots import workspace_root

        if workspace_root(self.workspace, home=os.path.expanduser("~")) is None and not self.roots.global_.root.exists:
            return []
        return [
            (
                f"engram://memory/{entry.id}",
                entry.type,
                f"{entry.summary} ({entry.note})" if entry.note else entry.summary,
            )
            for entry in self.memories.matching_cards(query)
        ]

    def _evidence(self, query: str, limit: int) -> list[str]:
        """Observations for a task, a line each; none when there is no store yet."""
        if not self.has_store():
            return []
        return self.search.cards(query, limit=limit)

    def has_store(self) -> bool:
        """Whether there are observations to look at without making a store."""
        rest = self.settings.database_url
        return not rest.startswith("sqlite://") or os.path.exists(rest.removeprefix("sqlite://"))

    @cached_property
    def proposals(self) -> Proposals:
        from engram.services.proposals import Proposals

        return Proposals(self.roots, now=self.now, new_token=self.new_token, new_batch=self.new_batch)

    @cached_property
    def undoing(self) -> Undoing:
        from engram.services.undoing import Undoing

        return Undoing(self.roots, now=self.now, new_batch=self.new_batch)

    @cached_property
    def review(self) -> Review:
        from engram.services.review import Review

        return Review(self.roots, self.proposals, now=self.now, new_batch=self.new_batch)

    @cached_property
    def health(self) -> HealthService:
        from engram.services.health import HealthService

        return HealthService(self.roots, self.proposals, self._stats, now=self.now)

    def _stats(self) -> Stats | None:
        return self.status.stats() if self.has_store() else None

    @cached_property
    def promotion(self) -> Promotion:
        from engram.services.promotion import Promotion

        return Promotion(self.roots, self.proposals, lambda: self.store, now=self.now, new_batch=self.new_batch)

    @cached_property
    def trust(self) -> TrustService:
        from engram.services.trust import TrustService

        return TrustService(self.roots, now=self.now)

    # -- hosts -----------------------------------------------------------------------------------------------------

    @property
    def project_folder(self) -> str:
        """The top of the project that this workspace lies in: where its memories are, else its repository."""
        from engram.vault.roots import new_workspace_root, workspace_root

        root = workspace_root(self.workspace, home=os.path.expanduser("~")) or new_workspace_root(self.workspace)
        return os.path.dirname(os.path.dirname(root.path))

    @property
    def has_memories(self) -> bool:
        """Whether this project has a place for memories."""
        from engram.vault.roots import workspace_root

        return workspace_root(self.workspace, home=os.path.expanduser("~")) is not None

    @cached_property
    def links(self) -> Links:
        from engram.services.links import Links

        return Links(
            data_folder=self.settings.data_folder,
            home=os.path.expanduser("~"),
            environ=os.environ,
            platform=sys.platform,
            programs=_programs,
            stamp=lambda: times.for_file_names(self.now()),
            run=_run_program,
        )

    @cached_property
    def starting(self) -> Starting:
        from engram.services.starting import Starting

        return Starting(self.roots, now=self.now, environ=os.environ)

    @cached_property
    def transcripts(self) -> Transcripts:
        from engram.services.transcripts import Transcripts

        return Transcripts(self.roots, now=self.now)

    @cached_property
    def turns(self) -> Turns:
        from engram.services.turns import Turns

        return Turns(
            memories=lambda: self.memories,
            sessions=lambda: self.sessions,
            observations=lambda: self.observations,
            projects=lambda: self.projects,
            has_store=self.has_store,
            has_root=lambda: self.roots.workspace is not None,
            directory=self.workspace,
        )

    def keep_ready(self) -> None:
        """Bring what a session start shows up to what was done here, if memories were looked at."""
        if "roots" in self.__dict__:
            # It can be made again: the hook sees that it is behind, and says so.
            with suppress(EngramError):
                self.starting.keep_ready()

    def close(self) -> None:
        if "roots" in self.__dict__:
            self.keep_ready()
            self.roots.close()
        if "store" in self.__dict__:
            self.store.close()
        if self._passing:
            from shutil import rmtree

            rmtree(self._passing, ignore_errors=True)
            self._passing = ""


def open_app(*, workspace: str | None = None, settings: Settings | None = None, profile: str = "") -> App:
    """The app for this process. Opens nothing yet."""
    return App(
        settings or load(),
        workspace=paths.workspace(workspace),
        process=f"{os.getpid()}-{os.urandom(6).hex()}",
        profile=profile,
    )
