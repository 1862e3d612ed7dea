"""engram delete: hide an observation, or remove it for good.

example: engram delete 42
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
    parser.add_argument("--hard", action="store_true", help="remove text, versions and index entries; cannot be undone")


def run(args: Namespace, app: App) -> Result:
    text, data = views.deleted(app.observations.delete(args.id, hard=args.hard))
    return Result(data=data, text=text)
