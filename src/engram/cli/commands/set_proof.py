"""engram set-proof: whether hooks say in one line what they did.

example: engram set-proof compact
         engram set-proof off

compact: `Engram: loaded 3/5 memories via hook auto (1a2b3c4d)`, or reused, or skipped and why. Without MODE it shows
what is set.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.vault.config import PROOF_MODES

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("mode", nargs="?", choices=PROOF_MODES, metavar="MODE", help=", ".join(PROOF_MODES))
    parser.add_argument("--user", action="store_true", help="in your own file, for all workspaces")


def run(args: Namespace, app: App) -> Result:
    if args.mode is not None:
        app.trust.change_setting("hook.proof", args.mode, for_user=args.user)
    proof = app.trust.settings()["hook.proof"]
    return Result(
        data={"proof": proof.value, "origin": proof.origin}, text=f"hook.proof = {proof.value}  ({proof.origin})"
    )
