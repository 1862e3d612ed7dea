"""engram setup: the recommended way to connect an agent program: both halves of memory in one server, hooks, and how
to use them; ends by starting the registered server as the program would.

example: engram setup claude
         engram setup all --global
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
    from engram.services.links import Choice

    linked = app.links.link(
        args.host,
        workspace=app.project_folder,
        is_global=args.is_global,
        plan=args.plan,
        force=args.force,
        apply=args.apply,
        choice=Choice(has_observations=True),
    )
    if args.plan:
        return linking.result(linked)
    verified = app.links.verify(linked)
    notes = []
    if not app.has_memories:
        notes.append("Observations work at once. For memories that you approve: engram init")
    return linking.result(linked, verified=verified, notes=notes)
