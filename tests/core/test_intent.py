"""What kind of task a request is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.intent import UNKNOWN, kinds, read_intent


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("fix the crash when a cart is empty", "bug"),
        ("the login does not work and hangs", "bug"),
        ("implement a new endpoint for refunds", "feature"),
        ("refactor and simplify the cart", "refactor"),
        ("write unit tests with pytest fixtures", "test"),
        ("update the readme and the changelog", "docs"),
        ("publish version 2 and tag it", "release"),
        ("review this pull request", "review"),
        ("close the XSS vulnerability", "security"),
        ("the page is slow: improve latency with caching", "performance"),
        ("write a migration of the postgres schema", "database"),
        ("upgrade all npm packages", "dependencies"),
        ("the github actions pipeline needs a runner", "ci"),
        ("compare the trade-offs and write an ADR on the architecture", "design"),
        ("make the button responsive with css", "ui"),
        ("change the graphql api", "api"),
        ("read the setting from an environment variable", "config"),
        ("investigate and benchmark three brokers", "research"),
        ("task: docs for the crash and the failing tests", "docs"),
        ("Task type: security review", "security"),
    ],
)
def test_the_kind_of(task: str, kind: str) -> None:
    assert read_intent(task).kind == kind


@pytest.mark.parametrize(
    "task",
    ["", "hello", "the prefix of contests", "an addendum by the prosecutor", "latestest", "fixture-less", "仕様を書く"],
)  # fmt: skip
def test_no_word_is_found_inside_another(task: str) -> None:
    intent = read_intent(task)

    assert (intent.kind, intent.confidence, intent.is_known) == (UNKNOWN, 0.0, False)


def test_more_signs_of_one_kind_are_more_confident() -> None:
    one = read_intent("fix the cart")
    two = read_intent("fix the crash of the cart")

    assert one.kind == two.kind == "bug"
    assert one.confidence < two.confidence <= 1
    assert two.signs == ("fix", "crash")


def test_a_kind_that_is_said_outright_is_certain() -> None:
    intent = read_intent("task_type: release, fix the crash")

    assert (intent.kind, intent.confidence) == ("release", 1.0)


@given(st.text(max_size=400))
def test_any_text_has_a_kind_and_a_share(text: str) -> None:
    intent = read_intent(text)

    assert intent.kind in (*kinds(), UNKNOWN)
    assert 0 <= intent.confidence <= 1
    assert intent.is_known == bool(intent.signs)
