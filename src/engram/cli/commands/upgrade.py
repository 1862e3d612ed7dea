"""engram upgrade: after an update of Engram, bring everything that is linked up to date: commands, versions, texts.

example: engram upgrade --plan
         engram upgrade

What you edited by hand stays and is named, unless --force. When a file cannot be written, every file is as it was.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import linking
from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--plan", action="store_true", help="tell what would be done, and write nothing")
    parser.add_argument("--force", action="store_true", help="also replace guides of ours that were edited by hand")


def run(args: Namespace, app: App) -> Result:
    return linking.result(app.links.upgrade(plan=args.plan, force=args.force))
