"""engram import: bring in an Engram JSON export, an engram.db of the Go program, a repository's history, or the
memories of another `.agents/.engram/` folder (they wait for your approval).

example: engram import engram-export.json --dry-run
         engram import ~/.engram-old/engram.db --project shop
         engram import --git . --limit 500
         engram import ../other-project/.agents/.engram

Importing the same again changes nothing; what is newer here stays.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram import streams
from engram.cli.output import Result
from engram.cli.parsing import whole
from engram.errors import InvalidInput
from engram.services import memory_views

if TYPE_CHECKING:
    from engram.bootstrap import App
    from engram.services.transfer import Imported, Tally


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a JSON export (0.1.0, 0.2.0), an engram.db, or a folder of memories")
    parser.add_argument("--git", metavar="DIR", help="make an observation of each commit of this repository")
    parser.add_argument("--project", help="file everything under this project")
    parser.add_argument("--limit", type=whole, metavar="N", help="with --git: only the newest N commits")
    parser.add_argument(
        "--scope", choices=["workspace", "global"], help="with a folder of memories: where to; default this workspace"
    )
    parser.add_argument("--dry-run", action="store_true", help="tell what would be done, and do nothing")


def run(args: Namespace, app: App) -> Result:
    if (args.file is None) == (args.git is None):
        raise InvalidInput("file: give a file, or --git DIR", hint="engram import --help")
    if args.limit is not None and args.git is None:
        raise InvalidInput("--limit: goes with --git", hint="engram import --help")
    is_root = args.file is not None and os.path.isdir(os.path.expanduser(args.file))
    if args.scope is not None and not is_root:
        raise InvalidInput("--scope: goes with a folder of memories", hint="engram import --help")
    if is_root:
        if not args.dry_run:
            streams.tell(f"Goes into {app.promotion.import_target(args.scope)}\n")
        taken = app.promotion.import_root(args.file, dry_run=args.dry_run, scope=args.scope)
        text, data, diagnostics = memory_views.imported(taken)
        return Result(data=data, text=text, diagnostics=diagnostics)
    progress = _show_progress if sys.stderr is not None and sys.stderr.isatty() else None
    try:
        if args.git is not None:
            done = app.transfer.import_git(
                args.git, project=args.project, limit=args.limit, dry_run=args.dry_run, progress=progress
            )
        else:
            done = app.transfer.import_file(args.file, project=args.project, dry_run=args.dry_run, progress=progress)
    finally:
        if progress is not None:
            streams.tell("\r\x1b[K")
    return Result(data=done, text=_text(done))


def _show_progress(done: int, total: int | None) -> None:
    of = f" of {total:,}" if total else ""
    streams.tell(f"\r{done:,}{of} rows\x1b[K")


def _text(done: Imported) -> str:
    head = "Would import" if done.is_dry_run else "Imported"
    lines = [f"{head} {done.source} ({done.format})"]
    for name, tally in (("observations", done.observations), ("prompts", done.prompts), ("sessions", done.sessions)):
        lines.append(f"  {name + ':':<14}{_counts(tally)}")
    if done.redacted:
        kinds = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(done.redacted.items()))
        lines.append(f"  replaced before saving: {kinds}")
    lines += [f"  note: {note}" for note in done.notes]
    if done.is_dry_run:
        lines.append("Nothing was changed; run it without --dry-run to import.")
    return "\n".join(lines)


def _counts(tally: Tally) -> str:
    parts = (("created", tally.created), ("updated", tally.updated), ("unchanged", tally.unchanged))
    return ", ".join(f"{count:,} {name}" for name, count in (*parts, ("skipped", tally.skipped)))
