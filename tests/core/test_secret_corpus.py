"""The scanner of secrets on memory candidates: what they would leak is found, what they say about secrets is not."""

from __future__ import annotations

import pytest

from engram.core.secrets import find_secrets
from tests.core.secret_corpus import MUST_PASS, MUST_REFUSE, NOT_FOUND_YET

NAMES = [
    pytest.param(name, marks=pytest.mark.xfail(reason="the label is not known yet")) if name in NOT_FOUND_YET else name
    for name in MUST_REFUSE
]


def _left(text: str) -> str:
    """What would be kept of `text` if every finding were cut out."""
    pieces, at = [], 0
    for finding in find_secrets(text):
        pieces.append(text[at : finding.start])
        at = finding.end
    return "\0".join([*pieces, text[at:]])


def test_the_corpus_is_as_large_as_it_claims() -> None:
    assert len(MUST_REFUSE) - len(NOT_FOUND_YET) >= 70
    assert len(MUST_PASS) >= 70
    assert all(secret in text for text, secret in MUST_REFUSE.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_in_a_candidate_is_found(name: str) -> None:
    text, secret = MUST_REFUSE[name]

    assert secret not in _left(text)


@pytest.mark.parametrize("text", MUST_PASS)
def test_a_candidate_about_secrets_passes(text: str) -> None:
    assert [finding.kind for finding in find_secrets(text)] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_line_is_that_of_the_secret(name: str) -> None:
    text, secret = MUST_REFUSE[name]
    shifted = f"one\ntwo\n\n{text}\nlast"

    lines = [finding.line for finding in find_secrets(shifted)]

    first = shifted[: shifted.index(secret)].count("\n") + 1
    assert any(line in (first, first - 1) for line in lines)  # a private key begins with the line above its body
