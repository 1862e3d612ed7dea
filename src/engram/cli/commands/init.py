"""engram init: make a place for this project's memories, at the top of its repository.

example: engram init
         engram init --global

Memories are Markdown files in .agents/.engram/; commit them like code. Running it again changes nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import asking, trusting
from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--global", dest="is_global", action="store_true", help="the place for all projects instead")
    parser.add_argument("--here", action="store_true", help="in this folder, not at the top of its repository")


def run(args: Namespace, app: App) -> Result:
    made = app.trust.init(scope="global" if args.is_global else "workspace", here=args.here)
    lines = [f"{'Made' if made.is_new else 'There already:'} {made.path}"]
    trusted = made.is_trusted
    if not trusted:
        lines.append(f"It holds {made.memories} memories that came from elsewhere; they are shown as cards only.")
        if not args.json and asking.is_terminal() and trusting.asked(app):
            trusted = True
            lines[-1] = "Trusted."
        else:
            lines.append("After a look at them: engram trust")
    if made.is_new:
        lines.append('Next: engram propose "TYPE: rule | TEXT: …", or engram propose --from CLAUDE.md')
    data = {
        "path": made.path,
        "scope": made.scope,
        "new": made.is_new,
        "trusted": trusted,
        "memories": made.memories,
    }
    return Result(data=data, text="\n".join(lines))
