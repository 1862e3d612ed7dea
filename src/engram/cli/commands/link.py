"""engram link: connect agent programs with Engram: their server, their hooks and their instructions.

example: engram link claude
         engram link all --plan
         engram link codex --global

Every file keeps what is in it; a copy is kept beside it before the first change. `engram unlink` gives back the same
bytes. `engram capabilities` lists the programs.
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
    parser.add_argument("--no-hooks", action="store_true", help="without hooks")
    parser.add_argument("--no-mcp", action="store_true", help="without the MCP server")


def run(args: Namespace, app: App) -> Result:
    from engram.services.links import Choice

    linked = app.links.link(
        args.host,
        workspace=app.project_folder,
        is_global=args.is_global,
        plan=args.plan,
        force=args.force,
        apply=args.apply,
        choice=Choice(has_server=not args.no_mcp, has_hooks=not args.no_hooks),
    )
    return linking.result(linked)
