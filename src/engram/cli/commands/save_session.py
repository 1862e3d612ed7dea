"""engram save-session: propose, or with --force write, what a session taught.

example: engram save-session --file candidates.txt
         engram save-session --query-level 50 --force

A page of the inbox is read by its trace, and what is saved cites that as evidence.
--query-level N shows what the last N sessions left, to make candidates of. --force writes without asking, and only
what needs no answer; use it only when a person has approved these very candidates.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli import approving
from engram.cli.output import Result
from engram.cli.parsing import text_or_stdin, whole
from engram.errors import InvalidInput

if TYPE_CHECKING:
    from engram.bootstrap import App

MOST_SESSIONS = 200


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="candidates, a line each; - reads what is piped in")
    parser.add_argument("--file", metavar="FILE", help="read the candidates from FILE; - reads what is piped in")
    parser.add_argument("--query-level", type=whole, metavar="N", help="look back over the last N sessions")
    parser.add_argument("-f", "--force", action="store_true", help="write without asking")
    parser.add_argument("--type", help="rule, skill or knowledge, where a candidate does not say")
    parser.add_argument("--scope", choices=["workspace", "global", "both"], help="where they are saved")
    parser.add_argument("--role", "--roles", default="", help="only for these roles (names with commas)")


def run(args: Namespace, app: App) -> Result:
    from engram.services.proposals import role_names

    if args.query_level is not None and not 1 <= args.query_level <= MOST_SESSIONS:
        raise InvalidInput(f"--query-level: must be from 1 to {MOST_SESSIONS}")
    text = _text(args)
    if text is None:
        if args.query_level is None:
            raise InvalidInput("text: give candidates, --file FILE, or --query-level N", hint="engram save-session -h")
        return _look_back(app, args.query_level, forced=args.force)
    roles = role_names(args.role)
    trace = app.transcripts.trace_of(os.path.expanduser(args.file), text) if args.file not in (None, "-") else None
    text = trace.text if trace is not None else text
    evidence = [trace.id] if trace is not None else []
    derived_from = [f"session:{trace.session}"] if trace is not None and trace.session else []
    if args.force:
        done = app.proposals.force(
            text, type=args.type, scope=args.scope, roles=roles, evidence=evidence, derived_from=derived_from
        )
        return approving.committed(done)
    proposed = app.proposals.propose(
        text,
        type=args.type,
        scope=args.scope,
        roles=roles,
        tool="save-session",
        evidence=evidence,
        derived_from=derived_from,
    )
    return approving.settle(app, proposed, as_json=args.json)


def _text(args: Namespace) -> str | None:
    if args.text is not None and args.file is not None:
        raise InvalidInput("text: give candidates or --file, not both")
    if args.file is not None and args.file != "-":
        try:
            with open(os.path.expanduser(args.file), encoding="utf-8-sig", errors="replace") as file:
                return file.read()
        except OSError as error:
            raise InvalidInput(f"--file: cannot be read: {error.strerror}") from error
    given = args.file if args.file is not None else args.text
    return None if given is None else text_or_stdin(given, "text")


def _look_back(app: App, count: int, *, forced: bool) -> Result:
    """What the last sessions left, and what to do with it."""
    found = app.sessions.recent(project=app.projects.current().name, limit=count)
    lines = [f"The last {len(found)} of {count} sessions asked for, as observations tell them:"]
    for session in found:
        lines += ["", f"{session.started_at[:10]} {session.id} ({session.observations} observations)"]
        lines += [f"  {line}" for line in (session.summary or "no summary").strip().split("\n")[:12]]
    lines += [
        "",
        "Make candidates of what will matter later, from these and from sessions that you can really see; invent none.",
        "Show them to the person, and after a yes run:",
        f"  engram save-session{' --force' if forced else ''} --file -   (a line each: TYPE: … | TEXT: …)",
    ]
    data = {
        "sessions": [
            {"id": one.id, "started_at": one.started_at, "summary": one.summary, "observations": one.observations}
            for one in found
        ]
    }
    return Result(data=data, text="\n".join(lines))
