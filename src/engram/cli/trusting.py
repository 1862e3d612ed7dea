"""Show what trusting this workspace would let speak, and ask. The answer holds for what was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import streams
from engram.cli import asking
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def asked(app: App) -> bool:
    """Whether the person trusts all that they were shown; recorded when they do. Needs a terminal. Raises `Conflict`
    when something came or changed meanwhile."""
    shown = app.trust.to_trust()
    count = memory_views.memories(len(shown.cards))
    streams.tell("\n".join((f"{shown.path}: {count}", *shown.cards, "", "")))
    if not asking.confirmed(f"Trust {count} as instructions to your agents?"):
        return False
    app.trust.trust(shown=shown)
    return True
