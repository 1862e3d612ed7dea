"""Proposals: the seal that notices every change, and which candidates an answer means."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.candidate import parse_candidates
from engram.core.proposal import Plan, Proposal, hash_token, numbers_of, seal, unseal
from engram.core.verdict import Action, Verdict
from engram.errors import IntegrityFailed

KEY = b"k" * 32
PROPOSAL = Proposal(
    token_hash=hash_token("token"),
    root="/repo/.git/.agents/.engram",
    kind="memory",
    tool="engram_save",
    scope="both",
    status="waiting",
    created_at="2026-03-02T09:00:00.000Z",
    expires_at="2026-03-02T09:30:00.000Z",
    candidates=parse_candidates(
        "TYPE: rule | TEXT: Use pnpm. | TRIGGERS: install, パッケージ | DEPENDS_ON: node | STRICT: Only pnpm.\n"
        "TYPE: knowledge | TEXT: API は 8080 番。 | SUPERSEDES: old | EVIDENCE: obs-1 | VALID_UNTIL: 2026-12-31"
    ).candidates,
    plans=(
        Plan(number=1, scope="workspace", verdict=Verdict(action=Action.ADD, reason="new", related=("a",)), id="x",
             path="rules/x.md"),
        Plan(number=2, scope="global", verdict=Verdict(action=Action.SUPERSEDE, reason="as proposed", target="old"),
             id="y", path="knowledge/y.md", target_hash="sha256:1"),
    ),
    by="Ada <ada@example.org>",
    note={"objective": "ship"},
)  # fmt: skip


def test_a_sealed_proposal_is_read_as_it_was() -> None:
    record = json.loads(json.dumps(seal(PROPOSAL, KEY)))

    assert unseal(record, KEY) == PROPOSAL


def test_the_token_itself_is_in_no_record() -> None:
    proposal = replace(PROPOSAL, token_hash=hash_token("a-very-secret-token"))

    assert "a-very-secret-token" not in json.dumps(seal(proposal, KEY))
    assert proposal.name == hash_token("a-very-secret-token")[:8]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every leaf of a JSON value."""
    if isinstance(value, dict) and value:
        return [place for name, inner in value.items() for place in places(inner, (*path, name))]
    if isinstance(value, list) and value:
        return [place for at, inner in enumerate(value) for place in places(inner, (*path, at))]
    return [path]


RECORD = json.loads(json.dumps(seal(PROPOSAL, KEY)))


@pytest.mark.parametrize("path", places(RECORD), ids=lambda path: ".".join(map(str, path)))
def test_a_change_of_any_value_breaks_the_seal(path: tuple[Any, ...]) -> None:
    record = json.loads(json.dumps(RECORD))
    at = record
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = "changed" if at[path[-1]] != "changed" else "again"

    with pytest.raises(IntegrityFailed, match="changed after it was made"):
        unseal(record, KEY)


@pytest.mark.parametrize("name", [*RECORD, "extra"])
def test_a_field_that_is_gone_or_new_breaks_the_seal(name: str) -> None:
    record = json.loads(json.dumps(RECORD))
    if name == "extra":
        record[name] = 1
    else:
        del record[name]

    with pytest.raises(IntegrityFailed):
        unseal(record, KEY)


def test_the_key_of_another_user_opens_nothing() -> None:
    with pytest.raises(IntegrityFailed):
        unseal(RECORD, b"x" * 32)


@pytest.mark.parametrize(
    ("approve", "expected"),
    [
        ("all", (1, 2, 3)),
        (" ALL ", (1, 2, 3)),
        ('["all"]', (1, 2, 3)),
        (["all"], (1, 2, 3)),
        ([1, 3], (1, 3)),
        ([3, 1, 1], (1, 3)),
        ((2,), (2,)),
        ("1,3", (1, 3)),
        ("[1, 3]", (1, 3)),
        ("1 3", (1, 3)),
        (["1", "2"], (1, 2)),
        (2, (2,)),
        (2.0, (2,)),
        ([2.0], (2,)),
        ("2", (2,)),
        # nothing valid
        ("", None),
        ([], None),
        ("none", None),
        ("yes", None),
        (True, None),
        ([True], None),
        (None, None),
        ({}, None),
        ({"1": 1}, None),
        (0, None),
        (4, None),
        (-1, None),
        (1.5, None),
        (float("nan"), None),
        (float("inf"), None),
        ([1, 4], None),
        ([1, "x"], None),
        (["all", 1], None),
        ("1-3", None),
        ("１", None),
        ("²", None),
        ("999999999999", None),
        ([[1]], None),
    ],
)
def test_an_answer_means(approve: Any, expected: tuple[int, ...] | None) -> None:
    assert numbers_of(approve, 3) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


@given(JSON, st.integers(1, 8))
def test_any_answer_means_some_candidates_or_nothing(approve: Any, count: int) -> None:
    found = numbers_of(approve, count)

    assert found is None or (found == tuple(sorted(set(found))) and set(found) <= set(range(1, count + 1)) and found)
