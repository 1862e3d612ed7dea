"""Put candidates in order: how well the words fit, where they stand, what surrounds them.

Weights were measured on public data (bench/README.md); ties are broken by id, newest first, so that the order is
total and a replay gives the same answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log

COVERAGE = 0.3
TITLE_COVERAGE = 0.3
SESSION_EVIDENCE = 0.3
NEIGHBOURS = 0.4
CURRENT_PROJECT = 0.4
PINNED = 0.1
EXACT = 4.0
# Below this share of the query's weight, the best hit is called a weak one.
LOW_COVERAGE = 0.34


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row that the store found.

    `fit` is the engine's score over the best one's (0 to 1; 0 for a row drawn in by its neighbours only);
    `matched` and `in_title` are numbers of query terms; `before` and `after` are ids in the same session.
    """

    id: int
    fit: float
    matched: frozenset[int]
    in_title: frozenset[int]
    session_id: str = ""
    in_conversation: bool = False
    project: str = ""
    pinned: bool = False
    exact: bool = False
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate's place: its score and the share of the query's weight that its words cover (0 to 1)."""

    id: int
    score: float
    coverage: float
    matched: frozenset[int] = field(default_factory=frozenset)


def weights(counts: Sequence[int], total: int) -> list[float]:
    """Inverse document frequency of each term: rare words weigh more. `counts` are rows with the term."""
    return [log(1 + (total - min(count, total) + 0.5) / (min(count, total) + 0.5)) for count in counts]


def rank(
    candidates: Sequence[Candidate],
    idf: Sequence[float],
    *,
    current_project: str | None = None,
) -> list[Ranked]:
    """All candidates, best first."""
    everything = sum(idf) or 1.0
    base: dict[int, float] = {}
    covered: dict[int, float] = {}
    for row in candidates:
        covered[row.id] = sum(idf[i] for i in row.matched) / everything
        title = sum(idf[i] for i in row.in_title) / everything
        base[row.id] = row.fit + COVERAGE * covered[row.id] + TITLE_COVERAGE * title
    sessions = _session_evidence(candidates, base)
    ranked = []
    for row in candidates:
        score = base[row.id]
        if row.in_conversation:
            score += SESSION_EVIDENCE * sessions.get(row.session_id, 0.0)
            score += NEIGHBOURS * _neighbourhood(row, base)
        if current_project is not None and row.project == current_project:
            score += CURRENT_PROJECT
        score += PINNED * row.pinned + EXACT * row.exact
        ranked.append(Ranked(row.id, score, covered[row.id], row.matched))
    ranked.sort(key=lambda place: (-round(place.score, 9), -place.id))
    return ranked


def _session_evidence(candidates: Sequence[Candidate], base: Mapping[int, float]) -> dict[str, float]:
    """Per conversation the sum of its three best rows, over that of the best conversation (0 to 1)."""
    by_session: dict[str, list[float]] = defaultdict(list)
    for row in candidates:
        if row.in_conversation:
            by_session[row.session_id].append(base[row.id])
    sums = {session: sum(sorted(scores, reverse=True)[:3]) for session, scores in by_session.items()}
    most = max(sums.values(), default=0.0) or 1.0
    return {session: total / most for session, total in sums.items()}


def _neighbourhood(row: Candidate, base: Mapping[int, float]) -> float:
    """How well the rows just before and after fit, the better one counting."""
    around = [base.get(id, 0.0) for id in (row.before, row.after) if id is not None]
    return max(around, default=0.0)
