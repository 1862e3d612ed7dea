"""The command line: a table of commands, one parser for the one that was asked for, one error boundary."""

from __future__ import annotations

import sys

from engram import streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

# name → (module in engram.cli.commands, group, one line of help). The order is the order of the help.
COMMANDS = {
    "save": ("save", "observations", "keep what was learned"),
    "search": ("search", "observations", "find observations"),
    "context": ("context", "observations", "show what went on lately"),
    "timeline": ("timeline", "observations", "show what was saved around an observation"),
    "show": ("show", "observations", "show one observation in full"),
    "update": ("update", "observations", "correct fields of an observation"),
    "delete": ("delete", "observations", "hide an observation, or remove it for good"),
    "history": ("history", "observations", "show earlier versions of an observation"),
    "projects": ("projects", "observations", "list, merge and rename projects"),
    "sessions": ("sessions", "observations", "list recent sessions"),
    "stats": ("stats", "observations", "count what is there"),
    "capture": ("capture", "observations", "save the learnings that a text lists"),
    "init": ("init", "memories", "make a place for this project's memories"),
    "load": ("load", "memories", "show the memories that a task needs"),
    "route": ("route", "memories", "say what kind of task it is, and what it would load"),
    "propose": ("propose", "memories", "propose memories, also out of guidance files"),
    "save-session": ("save_session", "memories", "propose, or with --force write, what a session taught"),
    "note": ("note", "memories", "keep a short note about the task at hand"),
    "promote": ("promote", "memories", "propose a note or an observation as a memory"),
    "review": ("review", "memories", "what waits for you"),
    "approve": ("approve", "memories", "say yes to a proposal or a changed memory"),
    "archive": ("archive", "memories", "put a memory out of use"),
    "undo": ("undo", "memories", "take back the last batch"),
    "verify": ("verify", "memories", "check that memory files are as approved"),
    "trust": ("trust", "memories", "let this checkout's memories speak as instructions"),
    "profile": ("profile", "memories", "name several global memories, and choose one"),
    "config": ("config", "memories", "show and change what is set for memories"),
    "set-read": ("set_read", "memories", "say when hooks bring memories by themselves"),
    "set-proof": ("set_proof", "memories", "say whether hooks tell in a line what they did"),
    "reindex": ("reindex", "memories", "read every memory file again"),
    "import": ("import_", "moving", "bring in memories of other tools, or a repository's history"),
    "export": ("export", "moving", "write observations to a file"),
    "setup": ("setup", "hosts", "connect an agent program, and see that it works"),
    "link": ("link", "hosts", "connect agent programs"),
    "unlink": ("unlink", "hosts", "take out what a link has put"),
    "upgrade": ("upgrade", "hosts", "bring everything that is linked up to date"),
    "capabilities": ("capabilities", "hosts", "what each agent program can do"),
    "mcp": ("mcp", "serving", "serve the tools to an agent"),
    "hook": ("hook", "serving", "answer an event of an agent program"),
    "doctor": ("doctor", "care", "look everything over, and mend it"),
    "demo": ("demo", "care", "watch one agent session save and another one find"),
    "completion": ("completion", "care", "print a completion script for bash, zsh or fish"),
}


LONGEST_ECHO = 40


def main(argv: list[str]) -> int:
    """Run a command line; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    if argv and argv[0] in ("--help", "-h", "help") and len(argv) == 1:
        return _print(usage())
    if argv and argv[0] in ("--help", "-h", "help"):
        argv = [argv[1], "--help"]
    if not argv or argv[0] in ("--json", "--workspace") or argv[0].startswith("--workspace="):
        return _run("status", argv)
    if argv[0] not in COMMANDS:
        return _unknown(argv[0])
    return _run(argv[0], argv[1:])


def usage() -> str:
    lines = ["usage: engram <command> [options]", "", "Persistent memory for AI coding agents.", ""]
    for group in dict.fromkeys(entry[1] for entry in COMMANDS.values()):
        lines.append(f"{group}:")
        lines += [f"  {name:<13} {text}" for name, (_, of, text) in COMMANDS.items() if of == group]
        lines.append("")
    lines.append("`engram <command> --help` shows options and an example; --json works with each.")
    return "\n".join(lines)


def _print(text: str) -> int:
    from engram.cli.output import Result, show, show_error
    from engram.errors import EngramError

    try:
        return show(Result(data=None, text=text), as_json=False)
    except EngramError as error:
        return show_error(error, as_json=False)


def _unknown(name: str) -> int:
    from difflib import get_close_matches

    from engram.core.clean import clean

    near = get_close_matches(name, COMMANDS, n=1)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    # A long word is no slip of the pen, and may be anything, such as part of a key.
    shown = f"no command `{clean(name)}`{meant}" if len(name) <= LONGEST_ECHO else "no such command"
    streams.tell(f"engram: {shown}\n  next: engram --help\n")
    return 2


def build_parser(name: str) -> ArgumentParser:
    """The parser of one command, with the options that all commands have."""
    from importlib import import_module

    from engram.cli.parsing import Parser

    file = COMMANDS[name][0] if name in COMMANDS else name
    module = import_module(f"engram.cli.commands.{file}")
    parser = Parser(
        prog="engram" if name == "status" else f"engram {name}",
        description=(module.__doc__ or "").strip(),
    )
    parser.add_argument("--json", action="store_true", help="give the result as JSON")
    parser.add_argument("--workspace", metavar="DIR", help="work as if started in DIR")
    if COMMANDS.get(name, ("", "", ""))[1] == "memories":
        parser.add_argument("--profile", metavar="NAME", help="use the global memories of this profile")
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


def _run(name: str, argv: list[str]) -> int:
    import os

    from engram.bootstrap import open_app
    from engram.cli.output import show, show_error
    from engram.errors import EngramError, InvalidInput

    as_json = "--json" in argv
    app = None
    try:
        args = build_parser(name).parse_args(argv)
        if args.workspace is not None and not os.path.isdir(args.workspace):
            raise InvalidInput("--workspace: is not a folder")
        app = open_app(workspace=args.workspace, profile=getattr(args, "profile", None) or "")
        return show(args.run(args, app), as_json=args.json)
    except EngramError as error:
        return show_error(error, as_json=as_json)
    except KeyboardInterrupt:
        return 130
    finally:
        if app is not None:
            app.close()
