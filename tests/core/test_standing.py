"""How far a memory may be trusted, and what that means for showing it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engram.core.memory import Memory
from engram.core.standing import ACCEPTED, Circumstances, Standing, standing, why_card, why_hidden

MEMORY = Memory(id="a", type="rule", title="A", text="Use pnpm.", content_hash="sha256:1", actual_hash="sha256:1")
EDITED = replace(MEMORY, actual_hash="sha256:2")
BARE = replace(MEMORY, content_hash="")
NOTE = replace(MEMORY, tier="working")
AROUND = Circumstances(today="2026-03-02", roles=(), is_trusted=True, team_as_cards=False)

TABLE = [
    # memory, approved_how, was_approved, is_committed → standing
    (MEMORY, "token", True, False, Standing.APPROVED),
    (MEMORY, "dialog", True, True, Standing.APPROVED),
    (MEMORY, "terminal", False, False, Standing.APPROVED),
    (MEMORY, "force", True, False, Standing.APPROVED),
    (MEMORY, ACCEPTED, True, False, Standing.TEAM),
    (MEMORY, "", False, True, Standing.TEAM),
    (MEMORY, "", True, True, Standing.TEAM),
    (MEMORY, "", False, False, Standing.UNAPPROVED),
    (MEMORY, "", True, False, Standing.EDITED),
    (EDITED, "", True, False, Standing.EDITED),
    (EDITED, "", False, True, Standing.EDITED),
    (EDITED, "", False, False, Standing.EDITED),
    (EDITED, ACCEPTED, True, True, Standing.EDITED),
    (EDITED, "terminal", True, False, Standing.APPROVED),
    (BARE, "", False, True, Standing.TEAM),
    (BARE, "", True, False, Standing.EDITED),
    (BARE, "", False, False, Standing.UNAPPROVED),
    (NOTE, "token", True, True, Standing.NOTE),
    (NOTE, "", False, False, Standing.NOTE),
]


@pytest.mark.parametrize(("memory", "how", "was", "committed", "expected"), TABLE)
def test_the_standing_of(memory: Memory, how: str, was: bool, committed: bool, expected: Standing) -> None:
    assert standing(memory, approved_how=how, was_approved=was, is_committed=committed) is expected


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"lifecycle": "superseded"}, "superseded"),
        ({"superseded_by": "b"}, "superseded by b"),
        ({"lifecycle": "archived"}, "archived"),
        ({"lifecycle": "review_due"}, ""),
        ({"valid_from": "2026-03-02"}, ""),
        ({"valid_from": "2026-03-03"}, "valid from 2026-03-03"),
        ({"valid_until": "2026-03-02"}, ""),
        ({"valid_until": "2026-03-01"}, "expired on 2026-03-01"),
        ({"valid_until": "2026-03-01T23:59:59Z"}, "expired on 2026-03-01"),
        ({"confidence": "low"}, ""),
    ],
)
def test_a_memory_is_hidden_by_its_own_fields(changes: dict[str, Any], reason: str) -> None:
    assert why_hidden(replace(MEMORY, **changes), AROUND, is_ignored=False) == reason


def test_a_day_that_another_tool_wrote_without_zeros_is_that_day() -> None:
    assert why_hidden(replace(MEMORY, valid_until="2026-3-1"), AROUND, is_ignored=False)


@pytest.mark.parametrize(
    ("of_memory", "of_person", "is_hidden"),
    [
        ((), (), False),
        ((), ("backend",), False),
        (("backend",), (), False),
        (("backend",), ("backend",), False),
        (("Backend",), ("BACKEND", "ops"), False),
        (("backend", "ops"), ("ops",), False),
        (("backend",), ("frontend",), True),
        (("backend",), ("back",), True),
    ],
)
def test_a_memory_for_other_roles_is_hidden(
    of_memory: tuple[str, ...], of_person: tuple[str, ...], is_hidden: bool
) -> None:
    around = replace(AROUND, roles=of_person)

    assert bool(why_hidden(replace(MEMORY, role=of_memory), around, is_ignored=False)) == is_hidden


def test_an_ignored_memory_is_hidden_whatever_it_says() -> None:
    assert why_hidden(MEMORY, AROUND, is_ignored=True) == "ignored by .engramignore"


@pytest.mark.parametrize(
    ("stands", "trusted", "team_as_cards", "reason"),
    [
        (Standing.APPROVED, True, False, ""),
        (Standing.APPROVED, True, True, ""),
        (Standing.APPROVED, False, False, "workspace not trusted"),
        (Standing.TEAM, True, False, ""),
        (Standing.TEAM, True, True, "from the team, not reviewed here"),
        (Standing.TEAM, False, False, "workspace not trusted"),
        (Standing.EDITED, True, False, "changed, not approved"),
        (Standing.UNAPPROVED, True, False, "not approved"),
        (Standing.NOTE, True, False, "working note, not approved"),
        (Standing.NOTE, False, False, "workspace not trusted"),
    ],
)
def test_only_what_somebody_approved_in_a_trusted_place_is_shown_whole(
    stands: Standing, trusted: bool, team_as_cards: bool, reason: str
) -> None:
    around = replace(AROUND, is_trusted=trusted, team_as_cards=team_as_cards)

    assert why_card(MEMORY, stands, around) == reason
