"""engram verify: check that every memory file is as a person approved it (exit 4 when one is not).

example: engram verify --scope workspace
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App

WRONG = 4


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--scope", choices=["workspace", "global", "all"], default="all", help="default: all")


def run(args: Namespace, app: App) -> Result:
    value = app.review.verify(args.scope)
    text, data, diagnostics = memory_views.verified(value)
    return Result(data=data, text=text, diagnostics=diagnostics, status=WRONG if value.wrong or value.notes else 0)
