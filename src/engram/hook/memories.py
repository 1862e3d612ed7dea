"""The memories of a session start, as they were kept ready, and whether they still hold.

A file that changed is not shown, whoever changed it: what stands in it now, nobody has approved. While a ledger,
settings or ignore rules differ from what was known, no memory is shown at all.
"""

from __future__ import annotations

import os
import time

from engram import places
from engram.hook import sql

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

OBJECTIVE_VARIABLE = "ENGRAM_SESSION_OBJECTIVE"

_HEAD = "SELECT stale_on, is_trusted, untrusted, selected FROM start WHERE seen_by = ?"
_WATCHED = "SELECT kind, path, size, changed_ns FROM start_watched WHERE seen_by = ? ORDER BY at"
# As `storage.sqlite.start_rows` has them, in this order.
_LEDGER, _FOLDER = 2, 0
_ROWS = """
    SELECT file, size, changed_ns, text, tokens, is_body, objective, valid_until
      FROM start_row
     WHERE seen_by = ?
  ORDER BY at
"""


class Ready:
    """`bodies` and `cards` with their tokens; `selected` how many there are in all. `is_known`: somebody has looked at
    this root before. `is_behind`: it may have changed since. `untrusted` counts what nobody trusted here."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, int]] = []
        self.cards: list[tuple[str, int]] = []
        self.selected = 0
        self.is_known = False
        self.is_behind = False
        self.is_trusted = False
        self.untrusted = 0


def root_of(folder: str, *, home: str, data_folder: str) -> str:
    """The root whose index holds what a session in `folder` is shown; "" when there is none."""
    found = places.workspace_root(folder, home=home)
    if found:
        return found
    everywhere = global_root(data_folder)
    return os.path.realpath(everywhere) if everywhere and os.path.isdir(everywhere) else ""


def global_root(data_folder: str) -> str:
    """Where the memories for all workspaces are, as `vault.roots.global_root` finds it without a workspace."""
    explicit = os.environ.get("ENGRAM_GLOBAL_DIR", "").strip()
    if explicit:
        return os.path.abspath(os.path.expanduser(explicit))
    try:
        with open(os.path.join(data_folder, places.PROFILES), encoding="utf-8") as file:
            profiles = file.read()
    except (OSError, ValueError):
        profiles = ""
    if profiles and sql.is_object(profiles):
        name = os.environ.get("ENGRAM_PROFILE", "").strip() or sql.texts_of(profiles, ("$.active_profile",))[0]
        if name:
            path = sql.texts_of(profiles, ('$.profiles."' + name.replace('"', "") + '".path',))[0]
            return os.path.expanduser(path) if path else ""
    return os.path.expanduser(os.path.join("~", ".engram", "global"))


def ready(root: str, *, data_folder: str) -> Ready:
    """What was kept ready for the root, without what no longer holds."""
    found = Ready()
    connection = sql.opened(places.cache_file(data_folder, root))
    if connection is None:
        return found
    try:
        if connection.pragma("user_version") == 2:
            connection.execute("BEGIN")  # one state, whoever writes meanwhile
            _read(connection, found)
    finally:
        connection.close()
    return found


def _read(connection: apsw.Connection, found: Ready) -> None:
    seen_by = places.deciding(os.environ)
    head = next(iter(connection.execute(_HEAD, (seen_by,))), None)
    if head is None:
        return
    stale_on, is_trusted, found.untrusted, found.selected = head
    found.is_known = True
    today = time.strftime("%Y-%m-%d", time.gmtime())
    found.is_behind = bool(stale_on) and today >= stale_on
    may_be_shown = True
    found.is_trusted = bool(is_trusted)
    for kind, path, size, changed_ns in connection.execute(_WATCHED, (seen_by,)):
        if places.has_changed((path, size, changed_ns)):
            found.is_behind = True
            may_be_shown = may_be_shown and kind == _FOLDER
            if kind == _LEDGER:  # who is trusted may have changed
                found.is_trusted = False
    if not may_be_shown:
        found.untrusted = 0
        return
    objective = " ".join(os.environ.get(OBJECTIVE_VARIABLE, "").casefold().split())
    for file, size, changed_ns, text, tokens, is_body, about, valid_until in connection.execute(_ROWS, (seen_by,)):
        if (about and about != objective) or (valid_until and today > valid_until):
            continue
        if places.has_changed((file, size, changed_ns)):
            found.is_behind = True
            continue
        (found.bodies if is_body else found.cards).append((text, tokens))
