"""engram show: show one observation in full.

example: engram show 42
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
    parser.add_argument("id", type=whole, help="id of the observation")
    parser.add_argument("--deleted", action="store_true", help="also when it was deleted (not for good)")


def run(args: Namespace, app: App) -> Result:
    text, data = views.detail(app.observations.get(args.id, deleted=args.deleted))
    return Result(data=data, text=text)
