"""Parsing options: mistakes are errors, and an echoed mistake never shows a secret."""

from __future__ import annotations

import argparse
import re
import sys
from typing import NoReturn

from engram.cli.output import write
from engram.errors import InvalidInput

_LONG_WORD = re.compile(r"[^\s'\"]{41,}")


class Parser(argparse.ArgumentParser):
    """`argparse` with whole option names only, and errors in this program's form (exit status 2)."""

    def __init__(self, *, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def print_help(self, file: object = None) -> None:
        write(self.format_help().rstrip())

    def error(self, message: str) -> NoReturn:
        from engram.core.clean import clean

        # A long word is no slip of the pen, and may be anything, such as part of a key.
        raise InvalidInput(_LONG_WORD.sub("…", clean(message)), hint=f"{self.prog} --help")


def whole(text: str) -> int:
    """A number that is not negative, for `type=`."""
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise argparse.ArgumentTypeError("must be a whole number, not negative")
    return int(text)


def text_or_stdin(text: str, field: str) -> str:
    """`text`, or what is piped in when it is `-`. A terminal is never waited for."""
    if text != "-":
        return text
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidInput(
            f"{field}: `-` reads what is piped in, and nothing is", hint=f"pipe text in, or give {field}"
        )
    return sys.stdin.buffer.read().decode("utf-8", "replace")
