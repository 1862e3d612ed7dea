"""The one way a write transaction runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


@contextmanager
def immediate(connection: apsw.Connection) -> Iterator[None]:
    """Take the writer's place at once; commit at the end, or undo all when anything is raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has already rolled back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
