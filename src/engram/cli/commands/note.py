"""engram note: keep a short note about the task at hand; it expires by itself.

example: engram note "feed: cursors done, tests are next" --objective feed
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving
from engram.cli.output import Result
from engram.cli.parsing import text_or_stdin

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("text", help="the note; - reads what is piped in")
    parser.add_argument("--objective", help="the task it belongs to")
    parser.add_argument("--type", help="rule, skill or knowledge (default)")
    parser.add_argument("--scope", choices=["workspace", "global"], help="default: this workspace")


def run(args: Namespace, app: App) -> Result:
    proposed = app.proposals.propose_note(
        text_or_stdin(args.text, "text"), objective=args.objective, type=args.type, scope=args.scope
    )
    return approving.settle(app, proposed, as_json=args.json)
