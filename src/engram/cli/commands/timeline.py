"""engram timeline: show what was saved around an observation in its session.

example: engram timeline 42 --before 3 --after 3
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
    parser.add_argument("--before", type=whole, default=5, help="0 to 50 (default 5)")
    parser.add_argument("--after", type=whole, default=5, help="0 to 50 (default 5)")


def run(args: Namespace, app: App) -> Result:
    text, data = views.timeline(app.observations.timeline(args.id, before=args.before, after=args.after))
    return Result(data=data, text=text)
