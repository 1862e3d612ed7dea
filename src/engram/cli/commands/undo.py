"""engram undo: take back the last batch that was written here, or the one named.

example: engram undo
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving
from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("batch", nargs="?", help="which batch; else the last one")
    parser.add_argument("--scope", choices=["workspace", "global"], help="default: this workspace")


def run(args: Namespace, app: App) -> Result:
    return approving.committed(app.proposals.undo(scope=args.scope, name=args.batch))
