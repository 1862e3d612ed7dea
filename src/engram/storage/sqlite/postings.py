"""How often words stand in a full-text index, and which of a query's words are worth scoring. One plan for
observations and memories."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from engram.core.query import MAX_TERMS, Term

# Scoring looks up every matched row, so a question of common words must not score half the store.
MAX_POSTINGS = 50_000
MIN_TERMS = 3
# Below this many rows every term is admitted: scoring them all is cheaper than choosing.
SMALL = 4_000


class Postings:
    """The words of one FTS5 table; `most` is how many rows the admitted words may stand in together."""

    def __init__(self, connection: apsw.Connection, table: str, *, most: int = MAX_POSTINGS) -> None:
        self._connection = connection
        self._most = most
        self._total = f"SELECT count(*) FROM {table}_docsize"
        self._count = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH :match LIMIT :most)"

    def total(self) -> int:
        return int(self._connection.execute(self._total).get)

    def rarest(self, terms: Sequence[Term]) -> tuple[list[Term], list[int]]:
        """The rarest terms up to the limit, in the order given, and in how many rows each stands."""
        counted = [(self.count(term), at, term) for at, term in enumerate(terms)]
        # Terms that stand nowhere come last: they would push out those that find something.
        kept = sorted(counted, key=lambda row: (row[0] == 0, row[0], row[1]))[:MAX_TERMS]
        kept.sort(key=lambda row: row[1])
        return [term for _, _, term in kept], [count for count, _, _ in kept]

    def count(self, term: Term) -> int:
        """In how many rows `term` stands, counted no further than past the limit."""
        return int(self._connection.execute(self._count, {"match": quoted(term), "most": self._most + 1}).get)

    def admitted(self, terms: Sequence[Term], counts: Sequence[int], total: int) -> tuple[list[Term], int]:
        """The rarest terms until they stand in as many rows together as there may be, at least `MIN_TERMS`; and in
        how many rows they do."""
        by_count = sorted(zip(counts, range(len(terms)), terms, strict=True), key=lambda row: row[:2])
        chosen: list[Term] = []
        spent = 0
        for count, _, term in by_count:
            if not count:
                continue
            if total > SMALL and len(chosen) >= MIN_TERMS and spent + count > self._most:
                break
            chosen.append(term)
            spent += count
        return chosen, spent

    def admitted_forms(self, forms: Sequence[Term], spent: int, total: int) -> list[Term]:
        """Other spellings, the rarest first, as long as there is room: `get` and `id` out of `getUserId` may stand in
        every row. A tenth of the limit is always theirs."""
        if total <= SMALL:
            return list(forms)
        room = max(self._most - spent, self._most // 10)
        chosen: list[Term] = []
        for count, _, form in sorted(
            ((self.count(form), at, form) for at, form in enumerate(forms)), key=lambda row: row[:2]
        ):
            room -= count
            if room < 0:
                break
            if count:
                chosen.append(form)
        return chosen


def match_any(terms: Sequence[Term], forms: Sequence[Term], phrases: Sequence[str]) -> str:
    """The FTS5 expression for rows with any of these; "" when there is nothing to look for."""
    words = {term.text for term in terms}
    wanted = [quoted(term) for term in (*terms, *forms)]
    # A phrase of which a word was not admitted would cost what leaving the word out has saved.
    wanted += [quote(phrase) for phrase in phrases if words.issuperset(phrase.split())]
    return " OR ".join(wanted)


def quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def quoted(term: Term) -> str:
    return quote(term.text) + ("*" if term.prefix else "")
