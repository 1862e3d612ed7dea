"""engram stats: count what is there.

example: engram stats --json
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.services import views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    """No options of its own."""


def run(args: Namespace, app: App) -> Result:
    value = app.status.stats()
    text, data = views.stats(value)
    return Result(data={**data, "place": value.place}, text=f"{text}\nStore: {value.place}")
