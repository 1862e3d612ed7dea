"""Is the store whole: folder, file system, pages, references, full text, derived columns."""

from __future__ import annotations

import os

import apsw

from engram.core import terms
from engram.core.ports import Finding
from engram.core.text import content_hash
from engram.storage.sqlite import filesystem
from engram.storage.sqlite.connect import OLDEST_SQLITE

_REPAIR = "engram doctor --repair"
_SPOT = 500

# Rows whose project token is not their project's.
_ASTRAY = """
    SELECT count(*) FROM observation
     WHERE search_project <> (SELECT char(57344) || p.id FROM project AS p WHERE p.key = project)
"""
_BRING_HOME = """
    UPDATE observation SET search_project = (SELECT char(57344) || p.id FROM project AS p WHERE p.key = project)
     WHERE search_project <> (SELECT char(57344) || p.id FROM project AS p WHERE p.key = project)
"""
_TEXTS = "SELECT id, title, content, topic_key, content_hash, search_terms FROM observation ORDER BY id DESC LIMIT ?"


def check(connection: apsw.Connection, path: str, *, deep: bool) -> list[Finding]:
    """Findings, good ones included. `deep` reads every page and every row instead of the newest."""
    findings = [
        _folder(os.path.dirname(path)),
        _filesystem(os.path.dirname(path)),
        _engine(connection),
        _pages(connection, deep=deep),
    ]
    if findings[-1].level == "error":
        return findings  # rows of a damaged file cannot be relied on, nor always read
    return [*findings, _references(connection), _full_text(connection), _derived(connection, deep=deep)]


def rebuild(connection: apsw.Connection) -> list[str]:
    """Make everything derived anew from the rows. Inside the caller's transaction; a line per thing done."""
    wrong = _wrongly_derived(connection, limit=-1)
    for id, hashed, derived in wrong:
        connection.execute(
            "UPDATE observation SET content_hash = ?, search_terms = ? WHERE id = ?", (hashed, derived, id)
        )
    connection.execute(_BRING_HOME)
    connection.execute("INSERT INTO observation_fts (observation_fts) VALUES ('rebuild')")
    return [f"derived columns of {len(wrong)} rows made anew", "full-text index rebuilt from the rows"]


def _folder(folder: str) -> Finding:
    if not os.access(folder, os.W_OK):
        return Finding(
            id="store.folder",
            level="warning",
            message=f"{folder}: cannot be written; what is there is shown, and nothing is saved",
            remedy="check permissions, or set ENGRAM_DATA_DIR to a folder you may write",
        )
    mode = os.stat(folder).st_mode & 0o777
    if os.name == "posix" and mode & 0o077:
        return Finding(
            id="store.folder",
            level="warning",
            message=f"{folder}: others may look into it (mode {mode:o})",
            remedy=f"chmod 700 {folder}",
        )
    return Finding(id="store.folder", level="ok", message=f"{folder} is yours alone")


def _filesystem(folder: str) -> Finding:
    kind = filesystem.kind_of(folder)
    if kind in filesystem.NETWORK:
        return Finding(
            id="store.filesystem",
            level="error",
            message=f"{folder} is on a network file system ({kind}); writes of two programs may be lost",
            remedy="set ENGRAM_DATA_DIR to a folder on a local disk",
        )
    return Finding(id="store.filesystem", level="ok", message=f"file system {kind}")


def _engine(connection: apsw.Connection) -> Finding:
    mode = connection.pragma("journal_mode")
    version = apsw.sqlite_lib_version()
    # Read without a log where nothing can be written; then no two agents can get in each other's way either.
    is_shared = mode == "wal" or bool(connection.pragma("query_only"))
    if apsw.SQLITE_VERSION_NUMBER < OLDEST_SQLITE or not is_shared:
        return Finding(
            id="store.engine",
            level="error",
            message=f"SQLite {version}, journal mode {mode}: several agents at once are not safe",
            remedy="pip install -U apsw",
        )
    return Finding(
        id="store.engine",
        level="ok",
        message=f"SQLite {version}, {'write-ahead log' if mode == 'wal' else 'only read'}",
    )


def _pages(connection: apsw.Connection, *, deep: bool) -> Finding:
    name = "integrity_check" if deep else "quick_check"
    try:
        problems = [str(row[0]) for row in connection.execute(f"PRAGMA {name}(20)")]
    except (apsw.CorruptError, apsw.IOError) as error:
        problems = [str(error)]
    if problems == ["ok"]:
        return Finding(id="store.pages", level="ok", message=f"{name} ok")
    return Finding(
        id="store.pages",
        level="error",
        message="; ".join(problems)[:500],
        remedy="stop all agents, then put a copy from the backups folder in place",
    )


def _references(connection: apsw.Connection) -> Finding:
    broken = list(connection.execute("PRAGMA foreign_key_check"))
    if not broken:
        return Finding(id="store.references", level="ok", message="every row's session and project exist")
    return Finding(id="store.references", level="error", message=f"{len(broken)} rows refer to something that is gone")


def _full_text(connection: apsw.Connection) -> Finding:
    """FTS5 compares each of its entries with the row it came from; it asks for a writer's place, but writes nothing."""
    try:
        connection.execute("INSERT INTO observation_fts (observation_fts, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        return Finding(
            id="store.full_text", level="error", message="the full-text index differs from the rows", remedy=_REPAIR
        )
    except (apsw.BusyError, apsw.ReadOnlyError) as error:
        return Finding(id="store.full_text", level="warning", message=f"full text could not be checked now: {error}")
    return Finding(id="store.full_text", level="ok", message="full text equals rows")


def _derived(connection: apsw.Connection, *, deep: bool) -> Finding:
    astray = int(connection.execute(_ASTRAY).get)
    if astray:
        return Finding(
            id="store.derived",
            level="warning",
            message=f"{astray} rows are not found by their project's name",
            remedy=_REPAIR,
        )
    wrong = _wrongly_derived(connection, limit=-1 if deep else _SPOT)
    looked = "all rows" if deep else f"the newest {_SPOT} rows"
    if not wrong:
        return Finding(id="store.derived", level="ok", message=f"hashes and derived words match in {looked}")
    return Finding(
        id="store.derived",
        level="warning",
        message=f"hash or derived words differ in {len(wrong)} of {looked}, newest #{wrong[0][0]}",
        remedy=_REPAIR,
    )


def _wrongly_derived(connection: apsw.Connection, *, limit: int) -> list[tuple[int, str, str]]:
    """(id, right hash, right derived words) of rows where either differs."""
    wrong = []
    for id, title, content, topic_key, stored_hash, stored_terms in connection.execute(_TEXTS, (limit,)):
        hashed, derived = content_hash(content), terms.derive(title, content, topic_key or "")
        if (hashed, derived) != (stored_hash, stored_terms):
            wrong.append((id, hashed, derived))
    return wrong
