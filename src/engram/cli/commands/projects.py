"""engram projects: list, merge and rename projects.

example: engram projects merge my_app my-app
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.set_defaults(action="list")
    actions = parser.add_subparsers(title="actions", metavar="list | current | merge | alias")
    listed = actions.add_parser("list", description="all projects, latest activity first")
    listed.set_defaults(action="list")
    current = actions.add_parser("current", description="the project of this folder, and why")
    current.set_defaults(action="current")
    merge = actions.add_parser("merge", description="move all of SOURCE to TARGET; the old name keeps working")
    merge.add_argument("source")
    merge.add_argument("target")
    merge.set_defaults(action="merge")
    alias = actions.add_parser("alias", description="let ALIAS name TARGET from now on")
    alias.add_argument("alias")
    alias.add_argument("target")
    alias.set_defaults(action="alias")
    # No default, which would undo a --json that stands before the action.
    for one in (listed, current, merge, alias):
        one.add_argument("--json", action="store_true", default=SUPPRESS, help="give the result as JSON")


def run(args: Namespace, app: App) -> Result:
    if args.action == "merge":
        target, moved = app.projects.merge(args.source, args.target)
        return Result(
            data={"project": target.name, "moved": moved},
            text=f"Moved {moved:,} observations of `{args.source}` to `{target.name}`; the old name still works",
        )
    if args.action == "alias":
        target = app.projects.add_alias(args.alias, args.target)
        return Result(
            data={"alias": args.alias, "project": target.name}, text=f"`{args.alias}` now names `{target.name}`"
        )
    if args.action == "current":
        found = app.projects.current()
        return Result(data={"project": found.name, "source": found.source}, text=f"{found.name} (from {found.source})")
    projects = app.projects.list()
    lines = [
        f"{project.name}: {project.observations:,} observations, {project.sessions:,} sessions"
        + (f", also known as {', '.join(project.aliases)}" if project.aliases else "")
        for project in projects
    ]
    return Result(data={"projects": projects}, text="\n".join(lines) or "No projects yet.")
