"""engram save: keep what was learned.

example: engram save "Fixed N+1 query" "**What**: joined the authors in one query" --type bugfix
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.cli.parsing import text_or_stdin
from engram.services import views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("title", help="short and searchable")
    parser.add_argument("content", help="what was learned; - reads what is piped in")
    parser.add_argument("--type", help="decision, architecture, bugfix, pattern, config, discovery, learning, …")
    parser.add_argument("--project", help="instead of the one of this folder")
    parser.add_argument("--scope", help="project (default) or personal")
    parser.add_argument("--topic", metavar="KEY", help="topic key: saving under it again revises")
    parser.add_argument("--session", metavar="ID", help="session that the observation belongs to")


def run(args: Namespace, app: App) -> Result:
    saved = app.observations.save(
        title=args.title,
        content=text_or_stdin(args.content, "content"),
        type=args.type,
        project=args.project,
        scope=args.scope,
        topic_key=args.topic,
        session_id=args.session,
    )
    text, data = views.saved(saved)
    return Result(data=data, text=text)
