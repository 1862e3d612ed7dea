"""SQLite for the hook: databases opened to be read only, and its JSON, which is there already.

`json` of the standard library costs the hook as much as everything else that it does.
"""

from __future__ import annotations

import os

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_MS = 50

_memory: list[apsw.Connection] = []


def opened(path: str) -> apsw.Connection | None:
    """A connection that only reads, with 50 ms of patience; None where there is no such file. Raises `apsw.Error`."""
    if not os.path.isfile(path):
        return None
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(PATIENCE_MS)
    connection.execute("PRAGMA query_only = ON")
    return connection


def texts_of(document: str, paths: Sequence[str]) -> list[str]:
    """The texts at some paths (`$.cwd`) of a JSON document, "" for what is none. Raises `apsw.Error` for no JSON."""
    columns = ", ".join(
        "CASE json_type(?1, ?" + str(at) + ") WHEN 'text' THEN json_extract(?1, ?" + str(at) + ") ELSE '' END"
        for at in range(2, len(paths) + 2)
    )
    row = next(_calculator().execute("SELECT " + columns, (document, *paths)))
    return [str(value or "") for value in row]


def scalar(document: str, path: str) -> str:
    """A text, number or truth value at a path as plain text (`true`, `12`), "" for anything else."""
    kind = str(_calculator().execute("SELECT json_type(?, ?)", (document, path)).get or "")
    if kind in ("true", "false"):
        return kind
    if kind not in ("text", "integer"):
        return ""
    return str(_calculator().execute("SELECT json_extract(?, ?)", (document, path)).get).strip().lower()


def is_object(document: str) -> bool:
    """Whether a text is one JSON object."""
    return bool(
        _calculator()
        .execute("SELECT CASE json_valid(?1) WHEN 1 THEN json_type(?1) = 'object' ELSE 0 END", (document,))
        .get
    )


def quoted(text: str) -> str:
    """A text as JSON writes it."""
    return str(_calculator().execute("SELECT json_quote(?)", (text,)).get)


def _calculator() -> apsw.Connection:
    """A database without a file, for what SQLite can calculate."""
    if not _memory:
        _memory.append(apsw.Connection(":memory:"))
    return _memory[0]
