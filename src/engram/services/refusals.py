"""What no memory may hold: secrets, and text that forges instructions."""

from __future__ import annotations

from engram.core.candidate import Candidate
from engram.core.instructions import find_instructions
from engram.core.secrets import find_secrets
from engram.errors import Unsafe


def refuse(text: str) -> None:
    """Raises `Unsafe` that lists every secret and every forged instruction by line and kind, never its value."""
    found = [f"line {one.line}: {one.kind}" for one in find_secrets(text)]
    if found:
        raise Unsafe(
            f"a memory must not hold secrets ({'; '.join(found)}); nothing was saved",
            hint="say where the secret is kept instead, or mark a line that only looks like one with engram:allow",
        )
    refuse_instructions(text)


def refuse_instructions(text: str) -> None:
    found = [f"line {one.line}: {one.kind}" for one in find_instructions(text)]
    if found:
        raise Unsafe(
            f"reads like instructions to the model instead of knowledge ({'; '.join(found)}); nothing was saved",
            hint="say in plain words what is true or wanted in the project",
        )


def refuse_candidate(candidate: Candidate) -> None:
    """Every field that reaches the file."""
    refuse(candidate.text)
    others = [candidate.title, candidate.origin, *candidate.triggers, *candidate.tags, *candidate.role]
    refuse("\n".join((*others, *candidate.variants.values(), *candidate.depends_on)))
