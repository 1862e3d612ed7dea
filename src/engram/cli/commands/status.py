"""engram: a short status, and the next useful step.

example: engram
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.core.text import plural

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    """No options of its own."""


def run(args: Namespace, app: App) -> Result:
    value = app.status.stats()
    here = app.projects.current()
    mine = next((project for project in value.projects if project.name.casefold() == here.name.casefold()), None)
    here_too = plural(mine.observations if mine else 0, "observation")
    totals = (
        plural(value.observations, "observation"),
        plural(value.sessions, "session"),
        plural(len(value.projects), "project"),
    )
    lines = [
        f"{', '.join(totals)} in {value.place}",
        f"This folder is project {here.name} (from {here.source}): {here_too}",
    ]
    health = app.health.look()
    memories = sum(root.counts["memories"] for root in health.roots)
    if health.roots:
        kept = "1 memory" if memories == 1 else f"{memories:,} memories"
        lines.append(f"{kept}; {health.waiting} proposed" + "".join(f"\n- {line}" for line in health.attention))
    if health.waiting:
        step = "engram review shows what waits for you"
    elif not value.observations:
        step = "engram demo shows how it works; engram import --git . fills the store from this repository's history"
    else:
        step = "engram search WORDS finds; engram context shows what went on lately"
    lines.append(f"Next: {step}; engram --help lists all commands")
    data = {
        "observations": value.observations,
        "sessions": value.sessions,
        "projects": len(value.projects),
        "place": value.place,
        "project": here.name,
        "project_source": here.source,
        "memories": memories,
        "waiting": health.waiting,
    }
    return Result(data=data, text="\n".join(lines))
