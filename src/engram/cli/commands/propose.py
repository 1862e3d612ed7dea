"""engram propose: propose memories; nothing is saved before a person approves.

example: engram propose "TYPE: rule | TEXT: Always use pnpm, never npm. | TRIGGERS: install packages"
         engram propose --from CLAUDE.md
         engram propose --from

On a terminal you are asked at once; else `engram review` lists what waits.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving
from engram.cli.output import Result
from engram.cli.parsing import text_or_stdin
from engram.errors import InvalidInput
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="candidates, a line each, or one plain text; - reads what is piped in")
    parser.add_argument(
        "--from",
        dest="sources",
        nargs="*",
        metavar="FILE",
        help="take candidates from guidance files; without a name from all that this folder has",
    )
    parser.add_argument("--type", help="rule, skill or knowledge, where a candidate does not say")
    parser.add_argument("--scope", choices=["workspace", "global", "both"], help="where they would be saved")
    parser.add_argument("--role", default="", help="only for these roles (names with commas)")
    parser.add_argument("--dry-run", action="store_true", help="with --from: show the candidates, and let none wait")


def run(args: Namespace, app: App) -> Result:
    if (args.text is None) == (args.sources is None):
        raise InvalidInput("text: give candidates, or --from FILE", hint="engram propose --help")
    if args.sources is not None:
        found = app.promotion.from_guidance(args.sources, scope=args.scope, dry_run=args.dry_run)
        text, data, diagnostics = memory_views.gathered(found)
        if found.proposals and not args.dry_run:
            text += "\n\nNothing is saved yet: engram review lists them, engram approve takes one at a time."
        return Result(data=data, text=text, diagnostics=diagnostics)
    from engram.services.proposals import role_names

    proposed = app.proposals.propose(
        text_or_stdin(args.text, "text"),
        type=args.type,
        scope=args.scope,
        roles=role_names(args.role),
        tool="engram propose",
    )
    return approving.settle(app, proposed, as_json=args.json)
