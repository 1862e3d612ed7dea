"""What services ask of a store: verbs of the domain, values in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from engram.core.clean import Clean
from engram.core.observation import Draft, Observation, Version
from engram.core.project import Project, ProjectCount
from engram.core.query import Query
from engram.core.ranking import Candidate
from engram.core.session import Prompt, Session, SessionCard


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """None means any. `project` is a key."""

    project: str | None = None
    type: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What a search of the index found.

    `counts[i]` is in how many rows term i stands (a lower bound past the work limit), `total` the number of rows.
    `spelled` maps a word that is nowhere to the index words that were tried in its place.
    """

    candidates: Sequence[Candidate]
    counts: Sequence[int]
    total: int
    spelled: dict[str, tuple[str, ...]]
    prefixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    sessions: int
    observations: int
    prompts: int
    deleted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObservation:
    """An observation that comes from elsewhere with its history of counts and times."""

    observation: Observation
    versions: Sequence[Version] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """Which state of an observation is here, without its text; what the last writer wins by."""

    id: int
    sync_id: str
    updated_at: str
    revision_count: int
    content_hash: str
    deleted_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check of the store found. `level` is ok, warning or error; `remedy` is the command that mends it."""

    id: str
    level: str
    message: str
    remedy: str = ""


class Reader(Protocol):
    """One consistent snapshot."""

    def observation(self, id: int, *, deleted: bool = False) -> Observation | None:
        """A live row, or with `deleted` also one that was soft-deleted."""

    def observations(self, ids: Sequence[int]) -> list[Observation]:
        """Live rows, in the order of `ids`; those that are gone are left out."""

    def observation_by_sync_id(self, sync_id: str) -> Observation | None: ...
    def revision(self, sync_id: str) -> Revision | None:
        """The state of the row with this sync id, live or soft-deleted."""

    def topic_holder(self, project: str, scope: str, topic_key: str) -> Revision | None:
        """The state of the live row that holds a topic key."""

    def has_prompt(self, sync_id: str) -> bool: ...
    def live_topic(self, project: str, scope: str, topic_key: str) -> Observation | None: ...
    def recent_twin(self, draft: Draft, *, since: str) -> Observation | None:
        """Newest live row with the draft's hash, project, scope, type and title, last seen at or after `since`."""

    def same_content(self, project: str, content_hash: str) -> Observation | None:
        """A live row of the project with this content, of any age."""

    def versions(self, id: int) -> list[Version]: ...
    def recent_observations(
        self, filters: Filters, *, limit: int, besides: str | None = None, without_type: str | None = None
    ) -> list[Observation]:
        """Latest activity first. `besides` leaves out one project, `without_type` one type."""

    def neighbours(self, focus: Observation, *, before: int, after: int) -> tuple[list[Observation], list[Observation]]:
        """Live rows of the same session before and after `focus`, oldest first."""

    def session_size(self, session_id: str) -> int: ...
    def session(self, id: str) -> Session | None: ...
    def open_session(self, project: str, *, started_by: str, directory: str) -> Session | None:
        """Newest session of the project that has not ended and that this process or directory started."""

    def recent_sessions(self, project: str | None, *, limit: int, besides: str | None = None) -> list[SessionCard]: ...
    def recent_prompts(self, project: str | None, *, limit: int, besides: str | None = None) -> list[Prompt]: ...
    def project(self, key: str) -> Project | None:
        """The project behind a key or an alias."""

    def projects(self) -> list[ProjectCount]:
        """Latest activity first."""

    def project_keys(self) -> list[str]: ...
    def counts(self) -> Counts: ...
    def search(self, query: Query, filters: Filters, *, pool: int) -> Matches: ...
    def all_sessions(self) -> Iterator[Session]: ...
    def all_observations(self, *, deleted: bool, newest_first: bool = False) -> Iterator[Observation]: ...
    def all_prompts(self) -> Iterator[Prompt]: ...
    def tombstone(self, sync_id: str) -> str | None:
        """When the row with this sync id was deleted for good, or None."""


class Writer(Reader, Protocol):
    """A reader inside the one write transaction."""

    def add_observation(self, draft: Draft, *, session_id: str, sync_id: str, at: str) -> int: ...
    def keep_version(self, old: Observation, *, at: str) -> None: ...
    def revise(self, id: int, draft: Draft, *, session_id: str, at: str) -> None: ...
    def touch(self, id: int, *, at: str, adopt: str | None = None) -> None: ...
    def edit(self, id: int, draft: Draft, *, revised: bool, at: str) -> None:
        """Replace fields of a row; `revised` counts a revision."""

    def soft_delete(self, id: int, *, at: str) -> None: ...
    def hard_delete(self, id: int, *, at: str) -> None:
        """Row, versions and index go; a tombstone stays."""

    def put_observation(self, stored: StoredObservation) -> int:
        """Insert, or replace the row with the same sync id, as it comes from elsewhere."""

    def release_topic(self, id: int) -> None:
        """The row keeps its text and gives up its topic key."""

    def add_session(self, session: Session) -> None: ...
    def put_session(self, session: Session) -> None:
        """Insert, or fill what is still blank in the session with the same id, as it comes from elsewhere."""

    def resume_session(self, id: str, *, directory: Clean, started_by: str) -> None:
        """It goes on in this process; a directory that is blank is filled."""

    def end_session(self, id: str, *, at: str, summary: Clean | None) -> None:
        """The first end time stays; a summary is replaced, never erased."""

    def add_prompt(self, *, sync_id: str, session_id: str, project: str, content: Clean, at: str) -> int: ...
    def add_project(self, project: Project, *, at: str) -> None: ...
    def alias(self, alias: str, *, target: str, at: str, name: str | None = None) -> None:
        """Old name reads what the new one holds; rows under the old one move. `name`: its spelling, if no project's."""


class Store(Protocol):
    """A connection and a transaction per unit of work."""

    @property
    def place(self) -> str:
        """Where the data is, for people."""

    def read(self) -> AbstractContextManager[Reader]: ...
    def write(self) -> AbstractContextManager[Writer]: ...
    def backup(self, target: str) -> None:
        """A consistent copy in a new file, made while others write."""

    def check(self, *, deep: bool) -> list[Finding]:
        """What is well and what is not, from the folder to the index. `deep` reads every page and row."""
        ...

    def repair(self) -> list[str]:
        """Rebuild derived data; a line per thing done."""

    def close(self) -> None: ...
