"""engram approve: say yes to a proposal, or to a memory as its file stands now. Needs a person at a terminal.

example: engram approve 5ebc1d20
         engram approve 5ebc1d20 --only 1,3
         engram approve use-pnpm-3f2a
         engram approve --all
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram import streams
from engram.cli import approving, asking
from engram.cli.output import Result
from engram.core.quoting import defang
from engram.errors import InvalidInput
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a proposal, or the id of a memory")
    parser.add_argument("--only", metavar="NUMBERS", help="these candidates of the proposal, like 1,3")
    parser.add_argument("--all", action="store_true", help="every memory that nobody has approved as it is")


def run(args: Namespace, app: App) -> Result:
    if (args.name is None) != args.all:
        raise InvalidInput("name: give a proposal or an id, or --all", hint="engram review lists what waits")
    asking.need_terminal("approval")
    if args.all:
        return _everything(app)
    waiting = [one for one in app.proposals.waiting() if one.proposal.name.startswith(args.name.lower())]
    if waiting and len(args.name) >= 4:
        streams.tell(memory_views.proposed(waiting[0], asks=False)[0] + "\n\n")
        if args.only is None:
            return approving.decide(app, waiting[0])
        if not asking.confirmed(f"Approve candidates {args.only}?"):
            return _nothing()
        return approving.committed(app.proposals.approve(waiting[0].proposal.name, args.only, how="terminal"))
    if args.only is not None:
        raise InvalidInput("--only: goes with a proposal", hint="engram review")
    shown = app.review.look_at(args.name)
    for row in shown:
        streams.tell(f"{row.id} · {row.type} · {row.scope}: {row.standing}\n{defang(row.diff)}\n\n")
    if not asking.confirmed("Approve it as it stands?"):
        return _nothing()
    return approving.committed(app.review.approve_memory(args.name, how="terminal", shown=shown))


def _everything(app: App) -> Result:
    waiting = app.review.inbox()
    streams.tell(memory_views.inbox(waiting)[0] + "\n\n")
    if not asking.confirmed("Approve every memory that waits, as it stands?"):
        return _nothing()
    return approving.committed(app.review.approve_all(how="terminal", shown=waiting.changed))


def _nothing() -> Result:
    return Result(data={"status": "declined"}, text="Nothing was changed.", status=approving.NOTHING_WRITTEN)
