"""Find what was meant, and say why it was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engram.core import ranking, times
from engram.core.clean import clean
from engram.core.observation import Observation, check_scope
from engram.core.ports import Filters, Matches, Reader, Store
from engram.core.query import Query, parse
from engram.core.quoting import defang
from engram.core.text import excerpt, preview
from engram.errors import InvalidInput
from engram.services.projects import Projects

MAX_LIMIT = 20
DEFAULT_LIMIT = 10
POOL = 60
PREVIEW = 220
# Beside a pack only observations that have this share of the task's words are worth a line.
CARD_COVERAGE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One row found. `preview` is its best passage on one line; `matched` the query's words that it has."""

    id: int
    sync_id: str
    type: str
    title: str
    preview: str
    cut: bool
    project: str
    scope: str
    topic_key: str | None
    created_at: str
    age: str
    score: float
    coverage: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Hits, best first. `note` says in what way the search was relaxed, or is empty when every word was found in
    the best hit."""

    query: str
    hits: Sequence[Hit]
    note: str


class Search:
    def __init__(self, store: Store, projects: Projects, *, now: Callable[[], str]) -> None:
        self._store = store
        self._projects = projects
        self._now = now

    def find(
        self,
        text: str,
        *,
        type: str | None = None,
        project: str | None = None,
        scope: str | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> Found:
        """Observations for `text`. No text but a blank one raises; `limit` from 1 to 20."""
        query = parse(text)
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInput(f"limit: must be from 1 to {MAX_LIMIT}")
        wanted_scope = check_scope(scope) if scope is not None else None
        with self._store.read() as tx:
            filters = Filters(
                project=self._projects.for_reading(tx, project),
                type=" ".join(clean(type).split()) if type else None,
                scope=wanted_scope,
            )
            matches = tx.search(query, filters, pool=POOL)
            idf = ranking.weights(matches.counts, matches.total)
            here = self._projects.current_key(tx) if project is None else None
            ranked = ranking.rank(matches.candidates, idf, current_project=here)[:limit]
            hits = self._hydrate(tx, query, ranked, matches)
        return Found(query=clean(query.text), hits=hits, note=_note(query, matches, ranked))

    def cards(self, text: str, *, limit: int) -> list[str]:
        """One line for each of the observations that have most of the words, for showing beside something else. What
        was learned in another project says in which one."""
        found = self.find(text, limit=limit)
        with self._store.read() as tx:
            owner = tx.project(self._projects.current_key(tx))
        here = owner.name if owner is not None else None
        return [_card(hit, here) for hit in found.hits if hit.coverage >= CARD_COVERAGE]

    def _hydrate(self, tx: Reader, query: Query, ranked: Sequence[ranking.Ranked], matches: Matches) -> list[Hit]:
        now = self._now()
        rows = {row.id: row for row in tx.observations([place.id for place in ranked])}
        names: dict[str, str] = {}
        words = query.words + [near for tried in matches.spelled.values() for near in tried]
        hits = []
        for place in ranked:
            row = rows.get(place.id)
            if row is None:
                continue
            if row.project not in names:
                owner = tx.project(row.project)
                names[row.project] = owner.name if owner else row.project
            hits.append(_hit(row, place, query, words, names[row.project], now))
        return hits


def _card(hit: Hit, here: str | None) -> str:
    place = "" if hit.project == here else f" · project {preview(defang(hit.project), 40)[0]}"
    return f"- #{hit.id} · {hit.type}{place} · {hit.age} · {preview(defang(hit.title), 80)[0]}"


def _hit(row: Observation, place: ranking.Ranked, query: Query, words: list[str], project: str, now: str) -> Hit:
    passage, cut = excerpt(row.content, words, PREVIEW)
    matched = dict.fromkeys(query.terms[i].word for i in sorted(place.matched) if i < len(query.terms))
    return Hit(
        id=row.id,
        sync_id=row.sync_id,
        type=row.type,
        title=row.title,
        preview=passage,
        cut=cut,
        project=project,
        scope=row.scope,
        topic_key=row.topic_key,
        created_at=row.created_at,
        age=times.age(row.last_seen_at, now),
        score=round(place.score, 4),
        coverage=round(place.coverage, 3),
        matched=tuple(matched),
    )


def _note(query: Query, matches: Matches, ranked: Sequence[ranking.Ranked]) -> str:
    if not ranked:
        return ""
    parts = []
    if matches.spelled:
        parts.append(
            "; ".join(f"`{clean(word)}` is nowhere, tried {', '.join(near)}" for word, near in matches.spelled.items())
        )
    if matches.prefixed:
        parts.append("few hits: beginnings of words were tried, too")
    best = max(place.coverage for place in ranked)
    if best < ranking.LOW_COVERAGE:
        parts.append("weak: the best hit has few of the words")
    elif best < 0.999 and not parts:
        parts.append("no hit has all the words; best first")
    return "; ".join(parts)
