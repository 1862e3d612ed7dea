"""engram history: show earlier versions of an observation.

example: engram history 42
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


def run(args: Namespace, app: App) -> Result:
    text, data = views.history(app.observations.get(args.id, deleted=True))
    return Result(data=data, text=text)
