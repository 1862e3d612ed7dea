"""Wire the services to their adapters: the only place that names them."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from engram import paths
from engram.core import times
from engram.core.ports import Store
from engram.settings import Settings, load
from engram.storage import open_store

if TYPE_CHECKING:
    from engram.services.context import ContextService
    from engram.services.doctor import Doctor
    from engram.services.observations import Observations
    from engram.services.projects import Detected, Projects
    from engram.services.search import Search
    from engram.services.sessions import Sessions
    from engram.services.status import Status
    from engram.services.transfer import Transfer


def _now() -> str:
    return times.stamp(datetime.now(UTC))


def _new_id() -> str:
    """`obs-`, the milliseconds since 1970 and 80 random bits as 32 hex digits.

    Two machines never make the same one; and as they grow with time, new ones stand side by side in the index.
    """
    return f"obs-{int(datetime.now(UTC).timestamp() * 1000):012x}{os.urandom(10).hex()}"


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
    ) -> None:
        self.settings = settings
        self.workspace = workspace
        self._process = process
        self.now = now
        self.new_id = new_id

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

        return Doctor(self.store, self.settings, now=self.now)

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()


def open_app(*, workspace: str | None = None, settings: Settings | None = None) -> App:
    """The app for this process. Opens nothing yet."""
    return App(
        settings or load(),
        workspace=paths.workspace(workspace),
        process=f"{os.getpid()}-{os.urandom(6).hex()}",
    )
