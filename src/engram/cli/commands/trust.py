"""engram trust: let the memories of this checkout speak as instructions. Needs a person at a terminal.

example: engram trust
         engram trust --status
         engram trust --revoke

What you approve yourself is trusted anyway. ENGRAM_TRUST=1 is for machines without a person.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving, asking, trusting
from engram.cli.output import Result

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
    if not trusting.asked(app):
        return Result(data={"status": "declined"}, text="Nothing was changed.", status=approving.NOTHING_WRITTEN)
    return _result(app)


def _result(app: App) -> Result:
    now = app.trust.state()
    said = f"trusted ({now.why})" if now.is_trusted else "not trusted: its memories are shown as cards only"
    data = {"path": now.path, "trusted": now.is_trusted, "why": now.why, "memories": now.memories}
    return Result(data=data, text=f"{now.path}: {said}")
