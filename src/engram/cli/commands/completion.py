"""engram completion: print a completion script for bash, zsh or fish.

example: engram completion bash > ~/.local/share/bash-completion/completions/engram
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="your shell")


def run(args: Namespace, app: App) -> Result:
    text = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](_options())
    return Result(data={"shell": args.shell, "script": text}, text=text)


def _options() -> dict[str, tuple[str, list[str]]]:
    """Command → its line of help and its option names, taken from the parsers themselves."""
    from engram.cli import COMMANDS, build_parser

    return {
        name: (about, sorted(option for option in build_parser(name)._option_string_actions if option.startswith("--")))
        for name, (_, _, about) in COMMANDS.items()
    }


def _bash(commands: dict[str, tuple[str, list[str]]]) -> str:
    cases = "\n".join(f"        {name}) words='{' '.join(options)}' ;;" for name, (_, options) in commands.items())
    return f"""_engram() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='{" ".join(commands)} --help --version'
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        *) words= ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F _engram engram"""


def _zsh(commands: dict[str, tuple[str, list[str]]]) -> str:
    described = "\n".join(f"        '{name}:{_quoted(about)}'" for name, (about, _) in commands.items())
    cases = "\n".join(f"        {name}) compadd -- {' '.join(options)} ;;" for name, (_, options) in commands.items())
    return f"""#compdef engram
_engram() {{
    local -a commands
    commands=(
{described}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
    else
        case $words[2] in
{cases}
        esac
        _files
    fi
}}
compdef _engram engram"""


def _fish(commands: dict[str, tuple[str, list[str]]]) -> str:
    lines = [
        "complete -c engram -f -n __fish_use_subcommand -l version",
        "complete -c engram -n 'not __fish_use_subcommand' -F",
    ]
    for name, (about, options) in commands.items():
        lines.append(f"complete -c engram -f -n __fish_use_subcommand -a {name} -d '{_quoted(about)}'")
        lines += [
            f"complete -c engram -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}"
            for option in options
        ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return text.replace("'", "’")
