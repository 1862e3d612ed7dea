"""What `propose`, `save-session`, `note` and `promote` do with a proposal: ask, or leave it for `engram review`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import streams
from engram.cli import asking
from engram.cli.output import Result
from engram.services import memory_views
from engram.services.proposed import Committed, Proposed

if TYPE_CHECKING:
    from engram.bootstrap import App

NOTHING_WRITTEN = 8


def settle(app: App, proposed: Proposed, *, as_json: bool) -> Result:
    """On a terminal the person decides now; else the proposal waits for 30 minutes."""
    text, data, diagnostics = memory_views.proposed(proposed, asks=False)
    name = proposed.proposal.name
    if as_json or not asking.is_terminal():
        text += f"\n\nNothing is saved yet. A person runs: engram approve {name}"
        return Result(data=data, text=text, diagnostics=diagnostics)
    streams.tell(text + "\n\n")
    return decide(app, proposed)


def decide(app: App, proposed: Proposed) -> Result:
    """Ask about one proposal that was shown."""
    name = proposed.proposal.name
    chosen = asking.chosen(len(proposed.proposal.candidates))
    if chosen == "undecided":
        text = f"Nothing was decided; it waits until {proposed.proposal.expires_at}: engram approve {name}"
        return Result(data={"proposal": name, "status": "undecided"}, text=text, status=NOTHING_WRITTEN)
    if chosen == "none":
        app.proposals.reject(name)
        return Result(data={"proposal": name, "status": "declined"}, text="Nothing was saved.", status=NOTHING_WRITTEN)
    return committed(app.proposals.approve(name, chosen, how="terminal"))


def committed(done: Committed) -> Result:
    text, data, diagnostics = memory_views.committed(done)
    wrote = bool(done.batch)
    return Result(data=data, text=text, diagnostics=diagnostics, status=0 if wrote else NOTHING_WRITTEN)
