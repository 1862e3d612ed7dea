"""engram hook: answer an event of an agent program: its JSON on stdin, one JSON object on stdout, never a failure.

example: engram hook claude SessionStart
         engram agent-hook --host codex

Agent programs run this, as `engram link` and `engram setup` arrange it. The event may also stand in the JSON.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.errors import InvalidInput
from engram.vault.config import HOOK_HOSTS

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("host", nargs="?", help=f"the agent program: {', '.join(HOOK_HOSTS)}")
    parser.add_argument("event", nargs="?", help="its event, in any case: SessionStart, UserPromptSubmit, Stop, …")
    parser.add_argument("--host", dest="named_host", metavar="HOST", help="the agent program")


def run(args: Namespace, app: App) -> Result:
    """Only the help comes here: `__main__` answers without this parser, for speed."""
    raise InvalidInput("hook: must be the first word of the command", hint="engram hook --help")
