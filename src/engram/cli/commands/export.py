"""engram export: write observations, prompts and sessions to a JSON file that `engram import` reads.

example: engram export backup.json --project shop
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram import streams
from engram.cli.output import Result, unwritable
from engram.core.text import plural
from engram.errors import InvalidInput

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="engram-export.json", help="where to; - writes to stdout")
    parser.add_argument("--project", help="only this project")
    parser.add_argument("--include-deleted", action="store_true", help="also what was deleted but not removed for good")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(args: Namespace, app: App) -> Result:
    if args.file != "-":
        done = app.transfer.export(
            args.file, project=args.project, include_deleted=args.include_deleted, force=args.force
        )
        text = (
            f"Wrote {plural(done.observations, 'observation')}, {plural(done.prompts, 'prompt')} and "
            f"{plural(done.sessions, 'session')} to {done.path}"
        )
        return Result(data=done, text=text)
    if args.json:
        raise InvalidInput("--json: the export itself is JSON when it goes to stdout", hint="engram export -")
    try:
        app.transfer.export(sys.stdout, project=args.project, include_deleted=args.include_deleted)
        sys.stdout.flush()
    except OSError as error:
        streams.hush(sys.stdout)
        if not streams.is_gone(error):
            raise unwritable(error) from error
    return Result(data=None, text="")
