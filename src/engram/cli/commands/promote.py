"""engram promote: propose a working note or an observation as a memory; it then cites what it came from.

example: engram promote 12 --type rule
         engram promote note-cursors-done-1f3c
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving
from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", help="the number of an observation, or the id of a working note")
    parser.add_argument("--type", help="rule, skill or knowledge (else it is read from the text)")
    parser.add_argument("--title", help="another title")
    parser.add_argument("--scope", choices=["workspace", "global"], help="where it would be saved")


def run(args: Namespace, app: App) -> Result:
    proposed = app.promotion.promote(args.id, type=args.type, scope=args.scope, title=args.title)
    return approving.settle(app, proposed, as_json=args.json)
