"""engram profile: name several global memories, and choose which one is used.

example: engram profile add client ~/client-memories
         engram profile use client
         engram profile use client --workspace-only
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.set_defaults(action="list")
    actions = parser.add_subparsers(title="actions", metavar="list | add | use | remove")
    listed = actions.add_parser("list", description="all profiles; * marks the one in use")
    listed.set_defaults(action="list")
    add = actions.add_parser("add", description="name a folder of memories")
    add.add_argument("name")
    add.add_argument("path")
    add.set_defaults(action="add")
    use = actions.add_parser("use", description="use a profile from now on; `none` for none")
    use.add_argument("name")
    use.add_argument("--workspace-only", action="store_true", help="only in this workspace (kept in its settings)")
    use.set_defaults(action="use")
    remove = actions.add_parser("remove", description="forget a profile; its folder stays")
    remove.add_argument("name")
    remove.set_defaults(action="remove")
    for one in (listed, add, use, remove):
        one.add_argument("--json", action="store_true", default=SUPPRESS, help="give the result as JSON")


def run(args: Namespace, app: App) -> Result:
    if args.action == "add":
        row = app.trust.add_profile(args.name, args.path)
        return Result(data={"name": row.name, "path": row.path}, text=f"Profile {row.name}: {row.path}")
    if args.action == "use":
        name = "" if args.name == "none" else args.name
        app.trust.use_profile(name, for_workspace=args.workspace_only)
        where = "in this workspace" if args.workspace_only else "for all workspaces"
        return Result(data={"active": name}, text=f"{f'Profile {name}' if name else 'No profile'} is used {where}.")
    if args.action == "remove":
        path = app.trust.remove_profile(args.name)
        return Result(data={"removed": args.name, "path": path}, text=f"Forgotten; its memories stay in {path}")
    rows = app.trust.profiles()
    lines = []
    for row in rows:
        where = row.path or f"not known here: engram profile add {row.name} PATH"
        lines.append(f"{'*' if row.is_active else ' '} {row.name:<20} {where}")
    data = [{"name": row.name, "path": row.path, "active": row.is_active} for row in rows]
    return Result(data={"profiles": data}, text="\n".join(lines) or "No profiles: engram profile add NAME PATH")
