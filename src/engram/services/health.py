"""How memories and observations are doing, in one look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engram.core.standing import Standing, is_expired
from engram.errors import EngramError
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.services.memory_showing import missing_profile
from engram.services.proposals import Proposals
from engram.services.status import Stats


@dataclass(frozen=True, slots=True, kw_only=True)
class RootHealth:
    """A root's counts: of files by kind, of memories by standing, and of expired ones."""

    scope: str
    path: str
    profile: str
    is_trusted: bool
    why_trusted: str
    counts: dict[str, int]
    standings: dict[str, int]
    expired: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """`stats` is None when there is no store of observations yet; `attention` says what a person should look at."""

    workspace: str
    roots: tuple[RootHealth, ...]
    waiting: int
    stats: Stats | None
    attention: tuple[str, ...]


class HealthService:
    """`stats` gives the totals of the observations, or None without a store."""

    def __init__(
        self,
        roots: MemoryRoots,
        proposals: Proposals,
        stats: Callable[[], Stats | None],
        *,
        now: Callable[[], str],
    ) -> None:
        self._roots = roots
        self._proposals = proposals
        self._stats = stats
        self._now = now

    def look(self) -> Health:
        """Counts of both halves, and what needs a person."""
        attention: list[str] = []
        found = [self._root(place, attention) for place in self._roots.existing()]
        waiting = 0
        try:
            waiting = len(self._proposals.waiting())
        except EngramError as error:
            attention.append(error.sentence())
        if waiting:
            attention.append(f"{waiting} proposed: engram review")
        for setting in self._roots.settings().values():
            if setting.problem:
                attention.append(setting.problem)
        attention += [*self._roots.problems, *missing_profile(self._roots)]
        if not found:
            attention.append("no memories here yet: engram init")
        return Health(
            workspace=self._roots.folder,
            roots=tuple(found),
            waiting=waiting,
            stats=self._stats(),
            attention=tuple(attention),
        )

    def _root(self, place: MemoryRoot, attention: list[str]) -> RootHealth:
        scope = place.root.scope
        standings: dict[str, int] = {}
        expired = 0
        today = self._now()[:10]
        for row in place.index.everything():
            if row.memory is None:
                attention.append(f"{scope}: {row.path} cannot be read: {row.problem}")
                continue
            stands = place.standing(row)
            standings[str(stands)] = standings.get(str(stands), 0) + 1
            expired += is_expired(row.memory, today=today)
        for stands in (Standing.EDITED, Standing.UNAPPROVED):
            if count := standings.get(str(stands)):
                said = "changed and not approved" if stands is Standing.EDITED else "not approved"
                attention.append(f"{scope}: {count} {said}: engram review")
        attention += place.diagnostics
        if not place.trust.is_trusted:
            attention.append(f"{scope}: not trusted, cards only: engram trust")
        return RootHealth(
            scope=scope,
            path=place.root.path,
            profile=place.root.profile,
            is_trusted=place.trust.is_trusted,
            why_trusted=place.trust.why,
            counts=place.index.counts(),
            standings=standings,
            expired=expired,
        )
