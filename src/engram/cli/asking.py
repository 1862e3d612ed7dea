"""Ask the person at the terminal. Without a terminal nothing is asked, and nothing is approved."""

from __future__ import annotations

import sys

from engram import streams
from engram.errors import Unsafe

YES = ("y", "yes", "a", "all")
NO = ("", "n", "no", "c", "none", "cancel")
TRIES = 3


def is_terminal() -> bool:
    """Whether a person can be asked here: input is a terminal, and so is stderr, where the questions go."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def need_terminal(what: str, *, instead: str = "") -> None:
    """Raises `Unsafe` where only a person may decide, and none is there; the hint names what would do `instead`."""
    if not is_terminal():
        hint = "run it in a terminal" + (f", or {instead}" if instead else "")
        raise Unsafe(f"{what} needs a person at a terminal; nothing was changed", hint=hint)


def answer(question: str) -> str | None:
    """What the person types, without space around it; None at the end of input."""
    streams.tell(question)
    try:
        line = sys.stdin.readline()
    except (OSError, UnicodeDecodeError):
        return None
    return line.strip() if line else None


def confirmed(question: str) -> bool:
    """Whether the person says yes. What is neither yes nor no is asked again, and counts as no in the end."""
    for _ in range(TRIES):
        said = answer(f"{question} [y/N] ")
        if said is None or said.lower() in NO:
            return False
        if said.lower() in YES[:2]:
            return True
        streams.tell("Please type y or n.\n")
    return False


def chosen(count: int) -> str | list[int]:
    """Which of `count` candidates the person approves: numbers, "all", "none"; or "undecided" when they said nothing
    that can be understood, in three tries."""
    question = "Approve?  A: all   A 1,3: some   C: none > " if count > 1 else "Approve? [y/N] "
    for _ in range(TRIES):
        said = answer(question)
        if said is None:
            break
        if (found := _choice(said.lower(), count)) is not None:
            return found
        streams.tell(f"Please type A, numbers from 1 to {count}, or C.\n" if count > 1 else "Please type y or n.\n")
    return "undecided"


def _choice(said: str, count: int) -> str | list[int] | None:
    from engram.core.proposal import numbers_of

    if said in YES:
        return "all"
    # Enter is the answer that a question offers as its own, and only the one for a single candidate does.
    if said in NO and (said or count == 1):
        return "none"
    word, _, rest = said.partition(" ")
    numbers = numbers_of(rest if word in ("a", "approve") else said, count)
    return list(numbers) if numbers else None
