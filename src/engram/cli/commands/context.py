"""engram context: show what went on lately.

example: engram context --project my-app --limit 5
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.cli.parsing import whole
from engram.services import views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--project", help="only this project (default: all, this folder's first)")
    parser.add_argument("--scope", help="project (default) or personal")
    parser.add_argument("--limit", type=whole, default=20, help="observations, 1 to 100 (default 20)")


def run(args: Namespace, app: App) -> Result:
    text, data = views.context(app.context.recent(project=args.project, scope=args.scope, limit=args.limit))
    return Result(data=data, text=text)
