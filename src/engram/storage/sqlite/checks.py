"""Is the database whole: pages, references, full text, rules."""

from __future__ import annotations

import apsw

from engram.core.ports import Finding

_REPAIR = "engram doctor --repair"


def check(connection: apsw.Connection, *, deep: bool) -> list[Finding]:
    """Findings, good ones included. `deep` also compares every index entry with its row."""
    return [
        _pages(connection, deep=deep),
        _references(connection),
        _full_text(connection),
        _hashes(connection),
    ]


def _pages(connection: apsw.Connection, *, deep: bool) -> Finding:
    name = "integrity_check" if deep else "quick_check"
    problems = [row[0] for row in connection.execute(f"PRAGMA {name}(20)")]
    if problems == ["ok"]:
        return Finding(id="store.pages", level="ok", message=f"{name} ok")
    return Finding(
        id="store.pages",
        level="error",
        message="; ".join(problems)[:500],
        remedy="restore a copy from the backups folder",
    )


def _references(connection: apsw.Connection) -> Finding:
    broken = list(connection.execute("PRAGMA foreign_key_check"))
    if not broken:
        return Finding(id="store.references", level="ok", message="every row's session and project exist")
    return Finding(
        id="store.references",
        level="error",
        message=f"{len(broken)} rows refer to something that is gone",
        remedy=_REPAIR,
    )


def _full_text(connection: apsw.Connection) -> Finding:
    """FTS5 compares each entry with the row it came from. It needs a writable connection, but writes nothing."""
    try:
        connection.execute(
            "INSERT INTO observation_fts (observation_fts, rank) VALUES ('integrity-check', 1)"
        )
    except apsw.CorruptError as error:
        return Finding(
            id="store.full_text",
            level="error",
            message=f"the full-text index differs from the rows: {error}",
            remedy=_REPAIR,
        )
    return Finding(id="store.full_text", level="ok", message="full text equals rows")


def _hashes(connection: apsw.Connection) -> Finding:
    """Spot check of the 200 newest rows: content hash as the rules make it."""
    from engram.core.text import content_hash

    newest = connection.execute(
        "SELECT id, content, content_hash FROM observation ORDER BY id DESC LIMIT 200"
    )
    wrong = [id for id, content, stored in newest if content_hash(content) != stored]
    if not wrong:
        return Finding(id="store.hashes", level="ok", message="content hashes match")
    return Finding(
        id="store.hashes",
        level="warning",
        message=f"content hash differs in {len(wrong)} of the newest 200 rows, first: {wrong[0]}",
        remedy=_REPAIR,
    )
