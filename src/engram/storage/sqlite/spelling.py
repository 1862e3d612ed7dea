"""Words of the index that are one slip away from one that is nowhere."""

from __future__ import annotations

import apsw

# Words of the vocabulary looked at for one misspelled word; keeps a huge store from being scanned.
MAX_LOOKED_AT = 40_000
MAX_NEAR = 4

_VOCABULARY = """
    SELECT term, doc FROM observation_words WHERE term >= :low AND term < :high LIMIT :most
"""


def near(connection: apsw.Connection, word: str) -> tuple[str, ...]:
    """Index words with the same first letter within one edit of `word` (two from eight letters on), best first.

    Edits are insertion, deletion, substitution and swapping neighbours (optimal string alignment distance).
    Words of fewer than four letters have too many neighbours to mean anything.
    """
    if len(word) < 4:
        return ()
    allowed = 2 if len(word) >= 8 else 1
    first, stem = word[0], _stem(connection, word)
    rows = connection.execute(_VOCABULARY, {"low": first, "high": chr(ord(first) + 1), "most": MAX_LOOKED_AT})
    found = []
    # An edit changes at most two kinds of letter; a stem has lost up to five more. Cheap, and spares most distances.
    letters, tolerated = set(word), 2 * allowed + 3
    for term, count in rows:
        # The vocabulary holds stems: `authent` for `authentication`. Compare with the word's stem, and for a slip
        # in its ending (`authenticaiton`) with its beginning.
        if len(term) > len(word) + allowed or len(term) < 3 or len(letters.symmetric_difference(term)) > tolerated:
            continue
        far = min(distance(word, term, allowed), distance(stem, term, allowed))
        if far > allowed and len(word) - len(term) in range(1, 9) and len(term) >= 5:
            far = distance(word[: len(term)], term, allowed)
            far = 1 if not far and len(term) >= 6 else far
        if 0 < far <= allowed:
            found.append((far, -count, term))
    found.sort()
    return tuple(term for _, _, term in found[:MAX_NEAR])


def _stem(connection: apsw.Connection, word: str) -> str:
    tokens = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    found = list(tokens(word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False))
    return str(found[0]) if len(found) == 1 else word


def distance(one: str, other: str, most: int) -> int:
    """Optimal string alignment distance, or `most + 1` when it is larger."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before_that, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(row[j - 1] + 1, before[j] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before_that[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
