"""engram load: show the memories that a task needs, as an agent would get them.

example: engram load how do we release
         engram load --id use-pnpm-3f2a
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.cli.parsing import whole
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", help="the task; without one the always-on memories come")
    parser.add_argument("--id", action="append", metavar="ID", help="exactly this memory, whole (repeatable)")
    parser.add_argument("--budget-tokens", type=whole, metavar="N", help="200 to 16000 (default 1600)")
    parser.add_argument("--disclosure", choices=["auto", "cards", "bodies"], default="auto", help="default auto")
    parser.add_argument("--full", action="store_true", help="more matches, whole, without a budget")
    parser.add_argument("--explain", action="store_true", help="say why each memory is in or out")


def run(args: Namespace, app: App) -> Result:
    if args.id:
        value = app.memories.fetch(",".join(args.id))
    else:
        value = app.memories.load(
            " ".join(args.query) or None,
            budget_tokens=args.budget_tokens,
            disclosure=args.disclosure,
            full=args.full,
            explain=args.explain,
            objective=os.environ.get("ENGRAM_SESSION_OBJECTIVE", ""),
        )
    text, data, diagnostics = memory_views.loaded(value)
    return Result(data={**data, "text": text}, text=text, diagnostics=diagnostics)
