"""What a session start shows of memories, as rows that the hook reads by itself (`engram.hook.memories`)."""

from __future__ import annotations

import apsw

from engram.core.memory_ports import Start, StartRow
from engram.core.standing import day

# Since version 2 of the index.
SCHEMA = """
    CREATE TABLE start (
        seen_by     TEXT PRIMARY KEY,
        state       TEXT NOT NULL,
        stale_on    TEXT NOT NULL,
        is_trusted  INTEGER NOT NULL,
        untrusted   INTEGER NOT NULL,
        selected    INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE start_watched (
        seen_by TEXT NOT NULL, at INTEGER NOT NULL, kind INTEGER NOT NULL,
        path TEXT NOT NULL, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
        PRIMARY KEY (seen_by, at)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE start_row (
        seen_by TEXT NOT NULL, at INTEGER NOT NULL,
        file TEXT NOT NULL, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
        text TEXT NOT NULL, tokens INTEGER NOT NULL, is_body INTEGER NOT NULL,
        objective TEXT NOT NULL, valid_until TEXT NOT NULL,
        PRIMARY KEY (seen_by, at)
    ) STRICT, WITHOUT ROWID;
"""
# Kinds of what is watched, in the order in which the hook looks.
LEDGER, DECISIVE, FOLDER = 2, 1, 0
# Circumstances that are kept beside each other: those of an environment that is gone are not kept for ever.
MOST_STARTS = 8

_HEAD = "SELECT state, stale_on, is_trusted, untrusted, selected FROM start WHERE seen_by = ?"
_WATCHED = "SELECT kind, path, size, changed_ns FROM start_watched WHERE seen_by = ? ORDER BY at"
_ROWS = """
    SELECT file, size, changed_ns, text, tokens, is_body, objective, valid_until
      FROM start_row
     WHERE seen_by = ?
  ORDER BY at
"""
_FORGET = """
    DELETE FROM start WHERE seen_by = :name;
    DELETE FROM start_watched WHERE seen_by = :name;
    DELETE FROM start_row WHERE seen_by = :name;
"""
_BEGINNINGS = (
    "SELECT fields ->> 'valid_from' FROM memory WHERE fields LIKE '%valid_from%' AND fields ->> 'valid_from' <> ''"
)


def read(connection: apsw.Connection, seen_by: str) -> Start | None:
    head = next(iter(connection.execute(_HEAD, (seen_by,))), None)
    if head is None:
        return None
    watched = list(connection.execute(_WATCHED, (seen_by,)))
    return Start(
        seen_by=seen_by,
        state=head[0],
        stale_on=head[1],
        is_trusted=bool(head[2]),
        untrusted=head[3],
        selected=head[4],
        ledgers=[(path, size, changed) for kind, path, size, changed in watched if kind == LEDGER],
        decisive=[(path, size, changed) for kind, path, size, changed in watched if kind == DECISIVE],
        folders=[(path, size, changed) for kind, path, size, changed in watched if kind == FOLDER],
        rows=[
            StartRow(
                file=row[0],
                stamp=(row[1], row[2]),
                text=row[3],
                tokens=row[4],
                is_body=bool(row[5]),
                objective=row[6],
                valid_until=row[7],
            )
            for row in connection.execute(_ROWS, (seen_by,))
        ],
    )


def keep(connection: apsw.Connection, start: Start) -> None:
    """Inside the caller's transaction."""
    others = [name for (name,) in connection.execute("SELECT seen_by FROM start WHERE seen_by <> ?", (start.seen_by,))]
    for name in (start.seen_by, *others[MOST_STARTS - 1 :]):
        for _ in connection.execute(_FORGET, {"name": name}):
            pass
    connection.execute(
        "INSERT INTO start VALUES (?, ?, ?, ?, ?, ?)",
        (start.seen_by, start.state, start.stale_on, int(start.is_trusted), start.untrusted, start.selected),
    )
    watched = [
        *((LEDGER, *one) for one in start.ledgers),
        *((DECISIVE, *one) for one in start.decisive),
        *((FOLDER, *one) for one in start.folders),
    ]
    connection.executemany(
        "INSERT INTO start_watched VALUES (?, ?, ?, ?, ?, ?)",
        [(start.seen_by, at, *one) for at, one in enumerate(watched)],
    )
    connection.executemany(
        "INSERT INTO start_row VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                start.seen_by,
                at,
                row.file,
                *row.stamp,
                row.text,
                row.tokens,
                int(row.is_body),
                row.objective,
                row.valid_until,
            )
            for at, row in enumerate(start.rows)
        ],
    )


def begins_after(connection: apsw.Connection, today: str) -> str:
    """The first day after `today` on which a memory begins to be valid, or ""."""
    days = (day(text) for (text,) in connection.execute(_BEGINNINGS))
    return min((found for found in days if found > today), default="")
