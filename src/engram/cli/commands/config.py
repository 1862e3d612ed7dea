"""engram config: show and change what is set for memories; files hold only what was set.

example: engram config
         engram config set load.max_tokens 2000
         engram config unset load.max_tokens
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from engram.cli.output import Result
from engram.errors import InvalidInput

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.set_defaults(action="list")
    actions = parser.add_subparsers(title="actions", metavar="list | get | set | unset")
    listed = actions.add_parser("list", description="every setting, its value and where it comes from")
    listed.set_defaults(action="list")
    get = actions.add_parser("get", description="one setting")
    get.add_argument("key")
    get.set_defaults(action="get")
    put = actions.add_parser("set", description="set one, in this workspace or with --user for all")
    put.add_argument("key")
    put.add_argument("value")
    put.set_defaults(action="set")
    unset = actions.add_parser("unset", description="back to the default")
    unset.add_argument("key")
    unset.set_defaults(action="unset")
    for one in (put, unset):
        one.add_argument("--user", action="store_true", help="in your own file, for all workspaces")
    for one in (listed, get, put, unset):
        one.add_argument("--json", action="store_true", default=SUPPRESS, help="give the result as JSON")


def run(args: Namespace, app: App) -> Result:
    if args.action in ("set", "unset"):
        value = args.value if args.action == "set" else None
        path = app.trust.change_setting(args.key, value, for_user=args.user)
        now = app.trust.settings()[args.key]
        return Result(
            data={"key": args.key, "value": now.value, "file": path}, text=f"{args.key} = {_shown(now.value)} ({path})"
        )
    settings = app.trust.settings()
    if args.action == "get":
        if args.key not in settings:
            raise InvalidInput("config: no such setting", hint=f"one of: {', '.join(settings)}")
        one = settings[args.key]
        data = {"key": args.key, "value": one.value, "origin": one.origin}
        return Result(data=data, text=f"{_shown(one.value)}  ({one.origin})")
    lines = [f"{name:<24} {_shown(one.value):<12} {one.origin}" for name, one in settings.items()]
    lines += [f"wrong: {one.problem}" for one in settings.values() if one.problem]
    rows = {name: {"value": one.value, "origin": one.origin} for name, one in settings.items()}
    return Result(data={"settings": rows}, text="\n".join(lines))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)
