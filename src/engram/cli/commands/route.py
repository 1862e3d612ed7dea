"""engram route: say what kind of task this is, and which memories it would load.

example: engram route fix the login redirect
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task", nargs="+", help="the task in a sentence")


def run(args: Namespace, app: App) -> Result:
    text, data, diagnostics = memory_views.routed(app.memories.route(" ".join(args.task)))
    return Result(data=data, text=text, diagnostics=diagnostics)
