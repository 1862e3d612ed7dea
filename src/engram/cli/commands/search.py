"""engram search: find observations.

example: engram search how did we fix the login timeout --type bugfix
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
    parser.add_argument("query", nargs="+", help="words, names, paths; anything is allowed")
    parser.add_argument("--type", help="only this type")
    parser.add_argument("--project", help="only this project")
    parser.add_argument("--scope", help="only project or personal")
    parser.add_argument("--limit", type=whole, default=10, help="1 to 20 (default 10)")


def run(args: Namespace, app: App) -> Result:
    found = app.search.find(
        " ".join(args.query), type=args.type, project=args.project, scope=args.scope, limit=args.limit
    )
    text, data = views.found(found, cards=app.memory_cards(" ".join(args.query)))
    return Result(data=data, text=text)
