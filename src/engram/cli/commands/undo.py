"""engram undo: take back the last batch that was written here, or the one named. Asks before; without a terminal
only with --yes.

example: engram undo
         engram undo b-6b0e417062f892 --yes
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram import streams
from engram.cli import approving, asking
from engram.cli.output import Result
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("batch", nargs="?", help="which batch; else the last one")
    parser.add_argument("--scope", choices=["workspace", "global"], help="default: this workspace")
    parser.add_argument("--yes", action="store_true", help="ask nothing")


def run(args: Namespace, app: App) -> Result:
    if not args.yes:
        asking.need_terminal("taking back", instead="say --yes")
    shown = app.undoing.to_undo(scope=args.scope, name=args.batch)
    streams.tell(memory_views.to_undo(shown) + "\n\n")
    if not args.yes and not asking.confirmed("Take it back?"):
        return Result(data={"status": "declined"}, text="Nothing was changed.", status=approving.NOTHING_WRITTEN)
    return approving.committed(app.undoing.undo(scope=args.scope, name=shown.batch))
