"""How far a memory may be trusted: approved here, come by Git, changed since, or approved by nobody."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from engram.core.memory import Memory, is_hidden_by_role


class Standing(StrEnum):
    """`team`: somebody else approved it, and it came by Git or was there when the person trusted the workspace."""

    APPROVED = "approved"
    TEAM = "team"
    EDITED = "edited"
    UNAPPROVED = "unapproved"
    NOTE = "note"


# How an approval is recorded for what a person accepted as a whole by trusting a workspace.
ACCEPTED = "trusted"


def standing(memory: Memory, *, approved_how: str, was_approved: bool, is_committed: bool) -> Standing:
    """`approved_how` is how this very content was approved on this machine, "" if it was not; `was_approved` whether
    another content of this id was; `is_committed` whether the file is as the last commit has it."""
    if memory.tier:
        return Standing.NOTE
    if approved_how and approved_how != ACCEPTED:
        return Standing.APPROVED
    if memory.is_edited:
        return Standing.EDITED
    if approved_how or is_committed:
        return Standing.TEAM
    # With its hash taken out, or made anew by hand, an approved memory is still a changed one.
    return Standing.EDITED if was_approved else Standing.UNAPPROVED


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What decides beside the memory itself: today's date, the person's roles, trust in its root."""

    today: str
    roles: tuple[str, ...]
    is_trusted: bool
    team_as_cards: bool


def why_hidden(memory: Memory, around: Circumstances, *, is_ignored: bool) -> str:
    """Why a memory is not shown at all, or ""."""
    if is_ignored:
        return "ignored by .engramignore"
    if is_hidden_by_role(memory.role, around.roles):
        return f"for the roles {', '.join(memory.role)}"
    if memory.superseded_by or memory.lifecycle == "superseded":
        return f"superseded by {memory.superseded_by}" if memory.superseded_by else "superseded"
    if memory.lifecycle == "archived":
        return "archived"
    if memory.valid_from and day(memory.valid_from) > around.today:
        return f"valid from {day(memory.valid_from)}"
    if is_expired(memory, today=around.today):
        return f"expired on {day(memory.valid_until)}"
    return ""


def is_expired(memory: Memory, *, today: str) -> bool:
    return bool(memory.valid_until) and day(memory.valid_until) < today


# Why a note of a trusted root is a card: the one reason that asking for it by name sets aside.
IS_NOTE = "working note, not approved"
_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")


def day(text: str) -> str:
    """The day of a date or moment, `2026-3-1` as `2026-03-01`, so that text order is time order."""
    match = _DAY.match(text)
    return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}" if match else text[:10]


def why_card(memory: Memory, stands: Standing, around: Circumstances) -> str:
    """Why only a line of a memory may be shown, and not what it says, or ""."""
    if not around.is_trusted:
        return "workspace not trusted"
    if stands is Standing.EDITED:
        return "changed, not approved"
    if stands is Standing.UNAPPROVED:
        return "not approved"
    if stands is Standing.NOTE:
        return IS_NOTE
    if stands is Standing.TEAM and around.team_as_cards:
        return "from the team, not reviewed here"
    return ""
