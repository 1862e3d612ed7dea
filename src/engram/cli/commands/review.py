"""engram review: what waits for you: proposals, memories changed by hand, files that cannot be read.

example: engram review
         engram review use-pnpm-3f2a
         engram review --reject 5ebc1d20
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.core.quoting import defang
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="show a proposal whole, or how a memory differs from what was approved")
    parser.add_argument("--reject", metavar="PROPOSAL", help="say no to a proposal")


def run(args: Namespace, app: App) -> Result:
    if args.reject:
        proposal = app.proposals.reject(args.reject)
        return Result(
            data={"proposal": proposal.name, "status": "declined"}, text=f"Proposal {proposal.name} is rejected."
        )
    waiting = [one for one in app.proposals.waiting() if args.id and one.proposal.name.startswith(args.id.lower())]
    if waiting:
        text, data_, diagnostics = memory_views.proposed(waiting[0], asks=False)
        return Result(data=data_, text=text, diagnostics=diagnostics)
    if args.id:
        rows = app.review.look_at(args.id)
        lines = []
        for row in rows:
            lines += [f"{row.id} · {row.type} · {row.scope} · {row.path}: {row.standing}", defang(row.diff)]
        data = [
            {"id": row.id, "type": row.type, "scope": row.scope, "standing": row.standing, "diff": row.diff}
            for row in rows
        ]
        return Result(data={"memories": data}, text="\n".join(lines))
    text, data_, diagnostics = memory_views.inbox(app.review.inbox())
    return Result(data=data_, text=text, diagnostics=diagnostics)
