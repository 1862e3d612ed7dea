"""engram mcp: serve the tools to an agent over stdin and stdout (`engram-mcp` serves the engram_* tools).

example: engram mcp --tools=agent
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result
from engram.errors import InvalidInput

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tools", metavar="NAMES", help="profiles (agent, admin, governed, all) and tool names, with commas"
    )
    parser.add_argument("--profile", metavar="NAME", help="use the global memories of this profile")
    parser.add_argument("--always-load", action="store_true", help="ask the host to load engram_load upfront")
    parser.add_argument("--no-elicitation", action="store_true", help="never ask in a dialog: token in chat instead")
    parser.add_argument("--http", metavar="HOST:PORT", help="serve streamable HTTP on a loopback address instead")
    parser.add_argument("--token", help="bearer token for --http (else ENGRAM_HTTP_TOKEN, else one is made and shown)")
    parser.add_argument("--cost", action="store_true", help="count the tokens that the tools cost, and stop")


def run(args: Namespace, app: App) -> Result:
    """Only the help comes here: `__main__` starts the server without this parser, for speed."""
    raise InvalidInput("mcp: must be the first word of the command", hint="engram mcp --help")
