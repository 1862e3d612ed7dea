"""engram update: correct fields of an observation; the old text is kept as a version.

example: engram update 42 --title "Fixed N+1 query in the feed"
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.cli.parsing import text_or_stdin, whole
from engram.services import views

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=whole, help="id of the observation")
    parser.add_argument("--title", help="new title")
    parser.add_argument("--content", help="new content; - reads what is piped in")
    parser.add_argument("--type", help="new type")
    parser.add_argument("--project", help="move to this project")
    parser.add_argument("--scope", help="project or personal")
    parser.add_argument("--topic", metavar="KEY", help="new topic key")


def run(args: Namespace, app: App) -> Result:
    content = text_or_stdin(args.content, "content") if args.content is not None else None
    saved = app.observations.update(
        args.id,
        title=args.title,
        content=content,
        type=args.type,
        project=args.project,
        scope=args.scope,
        topic_key=args.topic,
    )
    text, data = views.saved(saved)
    return Result(data=data, text=text)
