"""Names of projects: one normaliser for reads and writes, and near-duplicates."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

UNSCOPED = "unscoped"
MAX_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project as stored: `key` compares, `name` is the spelling first seen."""

    key: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCount:
    """A project with what it holds (live observations, sessions, prompts), its aliases and last activity."""

    key: str
    name: str
    observations: int
    sessions: int
    prompts: int
    aliases: tuple[str, ...]
    active_at: str | None


def display_name(name: str) -> str:
    """The spelling to show: NFC, trimmed, inner white space single."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def project_key(name: str) -> str:
    """What two spellings of one project share: the display name, case folded."""
    return unicodedata.normalize("NFC", display_name(name).casefold())


def _squashed(key: str) -> str:
    return "".join(char for char in key if char.isalnum())


def near_duplicate(key: str, others: Iterable[str]) -> str | None:
    """The existing key that `key` is probably a variant of, or None.

    Variants differ in separators only (`my-app`, `my_app`) or in about one letter of six
    (`difflib` ratio of at least 0.87 on five or more characters).
    """
    mine = _squashed(key)
    if not mine:
        return None
    best: tuple[float, str] | None = None
    for other in others:
        theirs = _squashed(other)
        if other == key or not theirs:
            continue
        if mine == theirs:
            return other
        shorter = min(len(mine), len(theirs))
        if shorter < 5 or abs(len(mine) - len(theirs)) > 2 or _differ_in_digits(mine, theirs):
            continue
        ratio = SequenceMatcher(None, mine, theirs).ratio()
        if ratio >= 0.87 and (best is None or ratio > best[0]):
            best = (ratio, other)
    return best[1] if best else None


def _differ_in_digits(one: str, other: str) -> bool:
    """`service1` and `service2` are two things, not a slip of the pen."""
    return [c for c in one if c.isdigit()] != [c for c in other if c.isdigit()]
