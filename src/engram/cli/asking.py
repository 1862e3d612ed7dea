"""Ask the person at the terminal. Without a terminal nothing is asked, and nothing is approved."""

from __future__ import annotations

import sys

from engram.errors import Unsafe

YES = ("y", "yes", "a", "all")


def is_terminal() -> bool:
    """Whether a person can be asked here: input is a terminal, and so is stderr, where the questions go."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def need_terminal(what: str) -> None:
    """Raises `Unsafe` where only a person may decide, and none is there."""
    if not is_terminal():
        raise Unsafe(f"{what} needs a person at a terminal; nothing was changed", hint="run it in a terminal")


def answer(question: str) -> str:
    """What the person types, without space around it; "" at the end of input."""
    sys.stderr.write(question)
    sys.stderr.flush()
    try:
        return sys.stdin.readline().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def confirmed(question: str) -> bool:
    return answer(f"{question} [y/N] ").lower() in YES[:2]


def chosen(count: int) -> str | list[int] | None:
    """Which of `count` candidates the person approves: "all", numbers, or None for no."""
    from engram.core.proposal import numbers_of

    said = answer("Approve?  A: all   A 1,3: some   C: none > " if count > 1 else "Approve? [y/N] ")
    word, _, rest = said.partition(" ")
    if word.lower() in YES and not rest.strip():
        return "all"
    numbers = numbers_of(rest if word.lower() in ("a", "approve") else said, count)
    return list(numbers) if numbers else None
