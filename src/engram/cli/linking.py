"""How links are shown: a block for each host, a line for each file."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engram import paths
from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.hosts.linking import Change
    from engram.services.links import Linked, Verified

# What a plan says instead.
_PLANNED = {"written": "would write", "updated": "would update", "removed": "would remove", "told": "to do"}
_DONE = {"told": "to do"}


def add_place(parser: ArgumentParser) -> None:
    parser.add_argument("host", nargs="*", help="an agent program, or `all`: those on this machine")
    parser.add_argument("--global", dest="is_global", action="store_true", help="in your home folder, for all projects")
    parser.add_argument("--plan", action="store_true", help="tell what would be done, and write nothing")
    parser.add_argument("--force", action="store_true", help="also replace guides of ours that were edited by hand")
    parser.add_argument("--apply", action="store_true", help="also run the commands that only a host's program may do")


def result(linked: Linked, *, verified: Sequence[Verified] = (), notes: Sequence[str] = ()) -> Result:
    """Exit status 1 when something that was asked for is not done."""
    lines: list[str] = []
    owner = None
    for change in linked.changes:
        if change.owner != owner:
            owner = change.owner
            lines += ["", f"{owner}:"] if lines else [f"{owner}:"]
        lines.append(_line(change, linked))
    if not linked.changes:
        lines.append("Nothing to do.")
    lines += ["", *map(_verified, verified)] if verified else []
    lines += ["", *linked.notes, *notes] if linked.notes or notes else []
    is_whole = linked.is_whole and not any(one.tried.problem for one in verified)
    data: dict[str, Any] = {
        "hosts": linked.hosts,
        "scope": linked.scope,
        "workspace": linked.workspace,
        "plan": linked.plan,
        "rolled_back": linked.is_rolled_back,
        "changes": linked.changes,
        "notes": [*linked.notes, *notes],
    }
    if verified:
        data["verified"] = verified
    return Result(data=data, text="\n".join(lines), status=0 if is_whole else 1)


def _line(change: Change, linked: Linked) -> str:
    said = (_PLANNED if linked.plan else _DONE).get(change.status, change.status)
    what = shlex.join(change.command) if change.command else _shown(change.path, linked)
    line = f"  {said:<12} {what}  ({', '.join(change.features)})"
    if change.reason:
        line += f"\n               {change.reason}"
    if change.backup:
        line += f"\n               copy: {os.path.basename(change.backup)}"
    return line


def _verified(one: Verified) -> str:
    words = shlex.join(one.tried.words)
    if one.tried.problem:
        return f"NOT RUNNING  {one.host}: `{words}` {one.tried.problem}"
    return (
        f"verified     {one.host}: `{words}` answers as {one.tried.name} {one.tried.version} "
        f"with {len(one.tried.tools)} tools"
    )


def _shown(path: str, linked: Linked) -> str:
    if linked.scope == "workspace" and paths.is_within(path, linked.workspace):
        return paths.seen_from(path, linked.workspace)
    home = os.path.expanduser("~")
    return "~/" + paths.seen_from(path, home) if paths.is_within(path, home) else path
