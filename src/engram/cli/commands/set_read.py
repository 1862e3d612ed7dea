"""engram set-read: when hooks bring memories by themselves.

example: engram set-read startup
         engram set-read off --host codex
         engram set-read

auto: when a session starts, and with a prompt that needs other memories than the last one. startup: only when a session
starts. always: with every prompt. manual, off: never; the agent calls engram_load. Without MODE it shows what is set.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.vault.config import HOOK_HOSTS, READ_MODES

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("mode", nargs="?", choices=READ_MODES, metavar="MODE", help=", ".join(READ_MODES))
    parser.add_argument("--host", choices=HOOK_HOSTS, metavar="HOST", help="only for this agent program")
    parser.add_argument("--user", action="store_true", help="in your own file, for all workspaces")


def run(args: Namespace, app: App) -> Result:
    if args.mode is not None and args.host is None:
        app.trust.change_setting("hook.read", args.mode, for_user=args.user)
    elif args.mode is not None:
        modes = {**app.trust.settings()["hook.read_for"].value, args.host: args.mode}
        app.trust.change_setting("hook.read_for", modes, for_user=args.user)
    settings = app.trust.settings()
    read, by_host = settings["hook.read"], settings["hook.read_for"]
    lines = [f"hook.read = {read.value}  ({read.origin})"]
    lines += [f"{host} = {mode}  ({by_host.origin})" for host, mode in by_host.value.items()]
    data = {"read": read.value, "origin": read.origin, "read_for": by_host.value, "read_for_origin": by_host.origin}
    return Result(data=data, text="\n".join(lines))
