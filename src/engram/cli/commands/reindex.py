"""engram reindex: read every memory file again; what it makes is only a cache, so nothing can be lost.

example: engram reindex
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
    counts = app.review.reindex()
    lines = [f"{scope}: {plural(count, 'file')} read" for scope, count in counts.items()]
    return Result(data={"files": counts}, text="\n".join(lines) or "No memories here: engram init")
