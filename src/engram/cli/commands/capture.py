"""engram capture: save the learnings that a text lists under `## Key Learnings:`.

example: engram capture notes.md
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.cli.parsing import text_or_stdin
from engram.errors import InvalidInput
from engram.services import views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", help="a text file; - reads what is piped in")
    parser.add_argument("--project", help="instead of the one of this folder")
    parser.add_argument("--session", metavar="ID", help="session that the learnings belong to")
    parser.add_argument("--source", default="command-line", help="where the text comes from")


def run(args: Namespace, app: App) -> Result:
    captured = app.observations.capture(
        _read(args.file), project=args.project, session_id=args.session, source=args.source
    )
    text, data = views.captured(captured)
    return Result(data=data, text=text)


def _read(file: str) -> str:
    if file == "-":
        return text_or_stdin("-", "file")
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read: {error.strerror}") from error
