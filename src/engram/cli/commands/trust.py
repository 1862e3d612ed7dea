"""engram trust: let the memories of this checkout speak as instructions. Needs a person at a terminal.

example: engram trust
         engram trust --status
         engram trust --revoke

What you approve yourself is trusted anyway. ENGRAM_TRUST=1 is for machines without a person.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving, asking
from engram.cli.output import Result
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--status", action="store_true", help="tell whether it is trusted, and why")
    parser.add_argument("--revoke", action="store_true", help="trust it no longer")


def run(args: Namespace, app: App) -> Result:
    if args.status:
        return _result(app)
    if args.revoke:
        app.trust.trust(revoke=True)
        return _result(app)
    asking.need_terminal("trusting a workspace")
    before = app.trust.state()
    cards = "\n".join(app.memories.index_cards()[:40])
    sys.stderr.write(f"{before.path}\n{cards}\n\n")
    if not asking.confirmed(f"Trust {memory_views.memories(before.memories)} as instructions to your agents?"):
        return Result(data={"status": "declined"}, text="Nothing was changed.", status=approving.NOTHING_WRITTEN)
    app.trust.trust()
    return _result(app)


def _result(app: App) -> Result:
    now = app.trust.state()
    said = f"trusted ({now.why})" if now.is_trusted else "not trusted: its memories are shown as cards only"
    data = {"path": now.path, "trusted": now.is_trusted, "why": now.why, "memories": now.memories}
    return Result(data=data, text=f"{now.path}: {said}")
