"""What the scanner finds, what it lets pass, and that nothing makes it slow or fail."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest
from classifinder_engine import PATTERN_REGISTRY
from hypothesis import given
from hypothesis import strategies as st

from engram.core.secret_formats import _LIBRARY
from engram.core.secrets import Finding, find_secrets
from tests.core.corpus import INNOCENTS, SECRETS, canary_values


def _uncovered(text: str, canary: str) -> str:
    """What is left of `text` outside the findings, if the canary is still in it."""
    rest, at = [], 0
    for finding in find_secrets(text):
        rest.append(text[at : finding.start])
        at = finding.end
    left = "\0".join([*rest, text[at:]])
    return left if canary in left else ""


def _token() -> str:
    return canary_values["github-ghp"]


def test_the_corpus_is_as_large_as_it_claims():
    assert len(SECRETS) >= 100
    assert len(INNOCENTS) >= 150
    assert all(canary_values[name] in text for name, text in SECRETS.items())


@pytest.mark.parametrize("name", SECRETS)
def test_every_secret_of_the_corpus_is_found(name):
    assert _uncovered(SECRETS[name], canary_values[name]) == ""


@pytest.mark.parametrize("text", INNOCENTS)
def test_no_innocent_text_is_a_finding(text):
    assert [finding.kind for finding in find_secrets(text)] == []


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "around",
    ["Before\n{}\nafter.", "- **note** ({})", "> {}", "```\n{}\n```", "日本語 {} です", "x\n\n\n{}", "[link]({})"],
)
def test_what_stands_around_a_secret_does_not_hide_it(name, around):
    text = around.replace("{}", SECRETS[name])

    assert _uncovered(text, canary_values[name]) == ""


@pytest.mark.parametrize(
    "around", ["`{}`", "'{}'", '"{}"', "<{}>", "({}),", "{}.", "a={}&b=2", "\\n{}\\n", "…{}…", "**{}**", "x?t=%3D{}"]
)
def test_a_token_is_found_whatever_touches_it(around):
    assert _uncovered(around.replace("{}", _token()), _token()) == ""


def test_a_text_full_of_secrets_gives_them_all_in_order():
    text = "\n".join(SECRETS.values())

    findings = find_secrets(text)

    assert [finding.start for finding in findings] == sorted(finding.start for finding in findings)
    assert all(a.end <= b.start for a, b in itertools.pairwise(findings))
    assert [name for name, canary in canary_values.items() if _uncovered(text, canary)] == []


def test_several_secrets_on_one_line_are_several_findings():
    text = f"from {_token()} to {canary_values['npm']}, {canary_values['stripe-live']}"

    assert [finding.kind for finding in find_secrets(text)] == ["github-token", "npm-token", "stripe-key"]


def test_a_finding_names_kind_and_line_and_no_value():
    text = f"one\ntwo\nuse {_token()} here"

    (finding,) = find_secrets(text)

    assert finding == Finding(kind="github-token", start=12, end=12 + len(_token()), line=3)
    assert _token() not in repr(finding)
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.kind = "other"


def test_a_line_that_is_marked_as_allowed_passes_and_its_neighbours_do_not():
    text = f"{_token()}  # engram:allow\n{_token()}"

    assert [finding.line for finding in find_secrets(text)] == [2]


def test_only_the_password_of_an_address_is_taken():
    text = SECRETS["url-postgres"]

    (finding,) = find_secrets(text)

    assert text[finding.start : finding.end] == canary_values["url-postgres"]


def test_text_after_a_key_without_an_end_is_kept():
    text = SECRETS["pem-unterminated"] + "\nThe next step is to rotate it."

    (finding,) = find_secrets(text)

    assert text[finding.end :] == "\n\nThe next step is to rotate it."


def test_a_long_value_without_blanks_is_taken_to_its_end():
    value = "".join(random.Random(7).choices("abcdefghijkLMNOPQ0123456789", k=5_000))

    assert _uncovered(f"DEPLOY_SECRET={value}", value[-200:]) == ""


def test_wordings_that_were_redacted_before_are_not_found_again():
    assert find_secrets("password=[REDACTED:password] token: [REDACTED:github-token], key [REDACTED]") == ()


def test_every_rule_asked_of_the_library_exists_and_none_is_about_prompts_or_cards():
    known = {pattern.id for pattern in PATTERN_REGISTRY}

    assert set(_LIBRARY) <= known
    assert not [rule for rule in _LIBRARY if rule.startswith("pi_") or "card" in rule]


_PIECES = st.sampled_from(
    [*SECRETS.values(), *INNOCENTS[:40], *"=:\"'`\\<>@/-_.\n\r\t ", "token", "key=", "password: ", "://", "-----BEGIN "]
)


@given(st.lists(st.one_of(_PIECES, st.text(st.characters(), max_size=20)), max_size=12).map("".join))
def test_any_text_is_scanned_and_spans_stay_in_order(text):
    at = 0
    for finding in find_secrets(text):
        assert at <= finding.start < finding.end <= len(text)
        assert finding.line == text.count("\n", 0, finding.start) + 1
        at = finding.end
