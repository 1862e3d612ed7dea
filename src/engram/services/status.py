"""How much there is, and of what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engram.core.ports import Store
from engram.core.project import ProjectCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Totals of the store (`deleted`: soft-deleted rows) and its projects, latest activity first."""

    sessions: int
    observations: int
    prompts: int
    deleted: int
    projects: Sequence[ProjectCount]
    place: str


class Status:
    def __init__(self, store: Store) -> None:
        self._store = store

    def stats(self) -> Stats:
        with self._store.read() as tx:
            counts = tx.counts()
            projects = tx.projects()
        return Stats(
            sessions=counts.sessions,
            observations=counts.observations,
            prompts=counts.prompts,
            deleted=counts.deleted,
            projects=[project for project in projects if project.observations or project.sessions],
            place=self._store.place,
        )
