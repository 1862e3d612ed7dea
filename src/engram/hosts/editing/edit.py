"""What an edit gives back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Status = Literal[
    "written",  # it was not there and is now
    "updated",  # an older form of ours was there
    "unchanged",
    "removed",
    "kept",  # it stays, because it is a person's, or another host needs it
    "skipped",  # the file is such that nothing can be done with it
    "conflict",  # what is there contradicts itself, or changed under our hands
    "failed",  # the system refused
    "told",  # only the person can do it: the command is in the change
]

Keys = tuple[str, ...]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Untouched(Exception):
    """Nothing may be done here: the reason, and what that makes of the change."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The text afterwards and what was done. `containers` are what was made around it because it was missing, such as
    objects and arrays, or front matter; given to `take` they go again when nothing else is in them."""

    text: str
    status: Status
    reason: str = ""
    containers: tuple[Keys, ...] = ()


def newline_near(text: str, at: int) -> str:
    """The line end of the neighbourhood: the last one before `at`, else the first one after it."""
    end = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at))
    if end < 0:
        found = [spot for spot in (text.find("\n", at), text.find("\r", at)) if spot >= 0]
        if not found:
            return "\n"
        end = min(found)
    if text[end] == "\n":
        return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
    return "\r\n" if text[end : end + 2] == "\r\n" else "\r"


def lines_of(text: str) -> list[str]:
    """The lines of `text` with their ends. Only what editors call a line end is one, not all that Python does."""
    return _LINE.findall(text)
