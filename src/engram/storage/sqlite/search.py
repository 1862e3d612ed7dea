"""Search on FTS5: which rows have the words, how well, and what stands around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from engram.core.ports import Filters, Matches
from engram.core.query import Query, Term
from engram.core.ranking import Candidate
from engram.core.session import is_manual
from engram.storage.sqlite import spelling
from engram.storage.sqlite.coverage import Words
from engram.storage.sqlite.postings import Postings, match_any
from engram.storage.sqlite.postings import quote as _quote

# title, content, topic key, derived forms, project token
WEIGHTS = "5.0, 1.0, 2.0, 0.5, 0.0"

# A project's token begins with a private-use letter (57344), which no query keeps: nobody finds rows by it.
_NO_PROJECT = "\ue0000"
# A search that finds fewer rows than this tries beginnings of words, then other spellings.
TOO_FEW = 3
# Rows drawn in because their neighbour in a conversation fits well.
DRAWN_IN_BY = 20

_CANDIDATES = """
    SELECT f.rowid, -bm25(observation_fts, {weights}) AS fit
      FROM observation_fts AS f {join}
     WHERE observation_fts MATCH :match {conditions}
  ORDER BY fit DESC, f.rowid DESC
     LIMIT :pool
"""

_PLACE = """
    SELECT created_at, session_id, project, pinned, title, content, topic_key, search_terms
      FROM observation
     WHERE id = :id
"""

_AROUND = """
    SELECT (SELECT id FROM observation
             WHERE session_id = :session AND (created_at, id) < (:at, :id) AND deleted_at IS NULL
          ORDER BY created_at DESC, id DESC LIMIT 1),
           (SELECT id FROM observation
             WHERE session_id = :session AND (created_at, id) > (:at, :id) AND deleted_at IS NULL
          ORDER BY created_at, id LIMIT 1)
"""


def conditions(filters: Filters, besides: str | None = None) -> tuple[str, dict[str, Any]]:
    """SQL that begins with AND for rows of `observation AS o`, and its values."""
    parts, values = [], {}
    for column in ("project", "type", "scope"):
        wanted = getattr(filters, column)
        if wanted is not None:
            parts.append(f"AND o.{column} = :{column}")
            values[column] = wanted
    if besides is not None:
        parts.append("AND o.project <> :besides")
        values["besides"] = besides
    return " ".join(parts), values


def search(connection: apsw.Connection, query: Query, filters: Filters, *, pool: int) -> Matches:
    """Best rows by the index, with everything that ranking wants to know of them."""
    session = _Search(connection, filters, pool)
    postings = Postings(connection, "observation_fts")
    total = postings.total()
    terms, counts = postings.rarest(query.terms)
    # A pair that stands nowhere is a pair across two words, not a slip of the pen.
    missing = [term for term, count in zip(terms, counts, strict=True) if not count and term.text == term.word]
    admitted, spent = postings.admitted(terms, counts, total)
    ids = session.candidates(admitted, postings.admitted_forms(query.forms, spent, total), query.phrases)
    spelled: dict[str, tuple[str, ...]] = {}
    prefixed = False
    if len(ids) < TOO_FEW:
        longer = [Term(t.text, t.word, prefix=True) for t in terms if len(t.text) >= 3 or not t.text.isascii()]
        more = session.candidates(longer, (), ())
        prefixed = bool(set(more) - set(ids))
        ids = {**more, **ids}
        if prefixed:
            terms = [*terms, *longer]
    if len(ids) < TOO_FEW and missing:
        spelled = {term.word: near for term in missing if (near := spelling.near(connection, term.text))}
        tried = [Term(text, word) for word, near in spelled.items() for text in near]
        ids = {**session.candidates(tried, (), ()), **ids}
        terms = [*terms, *tried]
    exact = session.exact(query)
    for id in exact:
        ids.setdefault(id, 0.0)
    return Matches(
        # An identifier written apart (`get user token` for `getUserToken`) covers it as well.
        candidates=session.describe(
            ids, [*terms, *(form for form in query.forms if " " in form.text)], len(counts), exact
        ),
        counts=counts,
        total=total,
        spelled=spelled,
        prefixed=prefixed,
    )


class _Search:
    """One search: its filters, and the statements that all honour them."""

    def __init__(self, connection: apsw.Connection, filters: Filters, pool: int) -> None:
        self._connection = connection
        self._pool = pool
        self._filters = filters
        self._project = ""
        if filters.project is not None:
            token = connection.execute("SELECT char(57344) || id FROM project WHERE key = ?", (filters.project,)).get
            self._project = f'search_project : "{token or _NO_PROJECT}" AND '
        sql, self._values = conditions(Filters(type=filters.type, scope=filters.scope))
        join = "JOIN observation AS o ON o.id = f.rowid" if sql else ""
        self._candidates = _CANDIDATES.format(weights=WEIGHTS, join=join, conditions=sql)

    def candidates(self, terms: Sequence[Term], forms: Sequence[Term], phrases: Sequence[str]) -> dict[int, float]:
        """id → fit (1 for the best) of the rows with any of these, best first."""
        return self._run(match_any(terms, forms, phrases))

    def _run(self, match: str) -> dict[int, float]:
        if not match:
            return {}
        rows = list(
            self._connection.execute(
                self._candidates, {**self._values, "match": f"{self._project}({match})", "pool": self._pool}
            )
        )
        best = max((fit for _, fit in rows), default=0.0)
        return {id: (fit / best if best > 0 else 0.0) for id, fit in rows}

    def exact(self, query: Query) -> set[int]:
        """Rows that are meant literally: by id, topic key, quoted phrase or identifier."""
        found: set[int] = set()
        sql, values = conditions(self._filters)
        live = f"SELECT o.id FROM observation AS o WHERE o.deleted_at IS NULL {sql}"
        for id in query.ids:
            found.update(row[0] for row in self._connection.execute(f"{live} AND o.id = :id", {**values, "id": id}))
        if query.topic_key:
            by_topic = self._connection.execute(
                f"{live} AND o.id IN (SELECT rowid FROM observation_fts WHERE observation_fts MATCH :match)"
                " AND o.topic_key = :topic LIMIT 20",
                {**values, "topic": query.topic_key, "match": "topic_key : " + _quote(query.topic_key)},
            )
            found.update(row[0] for row in by_topic)
        for phrase in query.exact:
            found.update(self._run(_quote(phrase)))
        return found

    def describe(self, ids: dict[int, float], terms: Sequence[Term], counted: int, exact: set[int]) -> list[Candidate]:
        """Candidates with their matched terms, and the neighbours of the best ones drawn in."""
        # Terms past the counted ones are other spellings of a counted word.
        owner = {term.word: at for at, term in enumerate(terms[:counted])}
        terms = [term for at, term in enumerate(terms) if at < counted or term.word in owner]
        belongs = [at if at < counted else owner[term.word] for at, term in enumerate(terms)]
        words = Words(self._connection, terms)
        candidates = []
        for id, (session_id, project, pinned, title, *texts), around in self._places(ids):
            in_title = words.found(title)
            matched = in_title | words.found(title, *texts)
            if not matched and not ids[id] and id not in exact:
                continue  # a neighbour that has nothing of the question itself
            before, after = around or (None, None)
            candidates.append(
                Candidate(
                    id=id,
                    fit=ids[id],
                    matched=frozenset(belongs[i] for i in matched),
                    in_title=frozenset(belongs[i] for i in in_title),
                    session_id=session_id,
                    in_conversation=around is not None,
                    project=project,
                    pinned=bool(pinned),
                    exact=id in exact,
                    before=before,
                    after=after,
                )
            )
        return candidates

    def _places(
        self, ids: dict[int, float]
    ) -> Iterator[tuple[int, tuple[Any, ...], tuple[int | None, int | None] | None]]:
        """Each row, and in a conversation the ids before and after it. Neighbours of the best are added to `ids`."""
        waiting = list(ids)
        for rank, id in enumerate(waiting):
            row = next(iter(self._connection.execute(_PLACE, {"id": id})), None)
            if row is None:
                continue
            created_at, *place = row
            if is_manual(place[0]):
                yield id, tuple(place), None
                continue
            around = next(iter(self._connection.execute(_AROUND, {"id": id, "session": place[0], "at": created_at})))
            if rank < DRAWN_IN_BY:
                for near in around:
                    if near is not None and near not in ids and self._admits(near):
                        ids[near] = 0.0
                        waiting.append(near)
            yield id, tuple(place), around

    def _admits(self, id: int) -> bool:
        sql, values = conditions(self._filters)
        found = self._connection.execute(
            f"SELECT 1 FROM observation AS o WHERE o.id = :id AND o.deleted_at IS NULL {sql}",
            {**values, "id": id},
        )
        return next(iter(found), None) is not None
