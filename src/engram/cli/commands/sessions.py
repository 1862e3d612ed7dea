"""engram sessions: list recent sessions.

example: engram sessions --project my-app --limit 5
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.cli.parsing import whole
from engram.core import times
from engram.core.quoting import defang
from engram.core.text import plural, preview
from engram.errors import InvalidInput

if TYPE_CHECKING:
    from engram.bootstrap import App


MAX_LIMIT = 500


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--project", help="only this project")
    parser.add_argument("--limit", type=whole, default=20, help="1 to 500 (default 20)")


def run(args: Namespace, app: App) -> Result:
    if not 1 <= args.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit: must be from 1 to {MAX_LIMIT}", hint="engram sessions --help")
    cards = [
        replace(card, summary=defang(card.summary)) if card.summary else card
        for card in app.sessions.recent(project=args.project, limit=args.limit)
    ]
    now = app.now()
    lines = []
    for card in cards:
        state = "ended" if card.ended_at else "open"
        summary = f"\n  {preview(card.summary, 200)[0]}" if card.summary else ""
        lines.append(
            f"{card.id} · {card.project} · {times.age(card.active_at, now)} · {state} · "
            f"{plural(card.observations, 'observation')}{summary}"
        )
    return Result(data={"sessions": cards}, text="\n".join(lines) or "No sessions yet.")
