"""engram archive: put a memory out of use; its file moves to archive/. Needs a person at a terminal.

example: engram archive use-pnpm-3f2a --reason "we moved to bun"
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving, asking
from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", help="the memory; `scope:type:id` where the id alone is not enough")
    parser.add_argument("--reason", default="", help="why, kept in the file")


def run(args: Namespace, app: App) -> Result:
    asking.need_terminal("putting a memory away")
    if not asking.confirmed(f"Archive {args.id}?"):
        return Result(data={"status": "declined"}, text="Nothing was changed.", status=approving.NOTHING_WRITTEN)
    return approving.committed(app.review.archive(args.id, reason=args.reason))
