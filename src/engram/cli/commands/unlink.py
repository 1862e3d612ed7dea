"""engram unlink: take out what `engram link` and `engram setup` have put into files of agent programs, and only that.

example: engram unlink claude
         engram unlink all --plan
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import linking
from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    linking.add_place(parser)


def run(args: Namespace, app: App) -> Result:
    linked = app.links.unlink(
        args.host,
        workspace=app.project_folder,
        is_global=args.is_global,
        plan=args.plan,
        force=args.force,
        apply=args.apply,
    )
    return linking.result(linked)
