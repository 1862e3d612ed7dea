"""Rule 7: topic keys, given and suggested."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.bootstrap import App
from engram.core.topic_key import normalise_topic_key, suggest_topic_key
from engram.errors import InvalidInput


@pytest.mark.parametrize(
    ("given_key", "kept"),
    [
        (" Architecture/Auth  Model ", "architecture/auth-model"),
        ("architecture-auth-architecture", "architecture-auth-architecture"),
        ("a\t\nb", "a-b"),
        ("DECISION/Größe", "decision/größe"),
        ("e\u0301tude/x", "étude/x"),
        ("認証/設計", "認証/設計"),
        ("   ", None),
        ("", None),
    ],
)
def test_a_key_is_trimmed_lowered_and_keeps_its_letters(given_key: str, kept: str | None) -> None:
    assert normalise_topic_key(given_key) == kept


def test_a_key_is_at_most_120_characters() -> None:
    assert len(normalise_topic_key("k" * 500) or "") == 120


@given(st.text(max_size=300))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise_topic_key(text)
    if once is not None:
        assert normalise_topic_key(once) == once
        assert unicodedata.is_normalized("NFC", once)
        assert 0 < len(once) <= 120


FAMILY_BY_TYPE = {
    "architecture": "architecture adr design refactor",
    "bug": "bug bugfix fix hotfix incident",
    "decision": "decision",
    "pattern": "pattern convention guideline",
    "config": "config setup infra ci",
    "discovery": "discovery investigation root_cause",
    "learning": "learning",
    "session": "session session_summary",
}


@pytest.mark.parametrize(
    ("kind", "family"), [(kind, family) for family, kinds in FAMILY_BY_TYPE.items() for kind in kinds.split()]
)
def test_the_type_decides_the_family_first(kind: str, family: str) -> None:
    assert suggest_topic_key(kind=kind, title="Fixed a crash", content="").startswith(f"{family}/")
    assert suggest_topic_key(kind=f" {kind.upper()} ", title="x", content="").startswith(f"{family}/")


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("A prefix for all tokens", "topic/a-prefix-for-all-tokens"),
        ("Quadratic growth of the list", "topic/quadratic-growth-of-the-list"),
        ("Suffixes and fixtures", "topic/suffixes-and-fixtures"),
        ("Terrorless names", "topic/terrorless-names"),
        ("Fixed the feed", "bug/fixed-the-feed"),
        ("ADR for queues", "architecture/adr-for-queues"),
        ("Root cause of the slow feed", "discovery/root-cause-of-the-slow-feed"),
        ("We chose SQLite", "decision/we-chose-sqlite"),
        ("Naming of endpoints", "pattern/naming-of-endpoints"),
    ],
)
def test_whole_words_of_the_title_decide_else(title: str, key: str) -> None:
    assert suggest_topic_key(kind="manual", title=title, content="") == key


def test_the_title_speaks_before_the_content() -> None:
    assert suggest_topic_key(kind="", title="We decided", content="fixed a bug").startswith("decision/")
    assert suggest_topic_key(kind="", title="The feed", content="fixed a bug").startswith("bug/")


@pytest.mark.parametrize(
    ("kind", "title", "key"),
    [
        ("architecture", "Auth architecture", "architecture/auth-architecture"),
        ("architecture", "Architecture of auth", "architecture/of-auth"),
        ("architecture", "Architecture", "architecture/architecture"),
        ("bugfix", "Bug: login loop", "bug/login-loop"),
        ("decision", "Größe & Farbe", "decision/größe-farbe"),
        ("decision", "use_get_user-token", "decision/use-get-user-token"),
    ],
)
def test_the_segment_is_the_title_without_the_family_in_front(kind: str, title: str, key: str) -> None:
    assert suggest_topic_key(kind=kind, title=title, content="") == key


@pytest.mark.parametrize(
    "titles",
    [
        ("認証の設計", "認可の設計"),
        ("データベース", "データベイス"),
        ("पानी की टंकी", "पानी का टंका"),
        ("कि", "की"),
        ("กิน", "กัน"),
        ("Сессии", "Сессия"),
        ("인증 모델", "인증 모듈"),
        ("שלום", "שלומי"),
        ("🦊", "🐻"),
        ("!!!", "???"),
    ],
)
def test_two_different_titles_of_other_scripts_never_share_a_key(titles: tuple[str, str]) -> None:
    first, second = (suggest_topic_key(kind="decision", title=title, content="") for title in titles)

    assert first != second
    assert all(len(key) > len("decision/") for key in (first, second))


@given(st.text(min_size=1, max_size=200), st.sampled_from(["", "bugfix", "architecture", "manual"]))
def test_a_suggestion_is_never_empty_and_is_already_normal(title: str, kind: str) -> None:
    title = title.encode("utf-8", "ignore").decode()
    if not title.strip():
        return
    key = suggest_topic_key(kind=kind, title=title, content="")
    family, _, segment = key.partition("/")

    assert family
    assert segment
    assert normalise_topic_key(key) == key
    assert suggest_topic_key(kind=kind, title=title, content="") == key


def test_very_long_titles_with_one_beginning_get_different_keys() -> None:
    first, second = (suggest_topic_key(kind="", title="word " * 40 + end, content="") for end in ("one", "two"))

    assert first != second
    assert max(len(first), len(second)) <= 120


def test_content_is_the_fallback_and_blank_is_an_error(app: App) -> None:
    assert app.observations.suggest_topic_key(type=None, title=None, content="The feed loads slowly") == (
        "topic/the-feed-loads-slowly"
    )
    with pytest.raises(InvalidInput, match="title"):
        app.observations.suggest_topic_key(type="bugfix", title=" ", content="\x00")


def test_a_suggestion_never_holds_what_was_private(app: App) -> None:
    key = app.observations.suggest_topic_key(type=None, title="Key <private>hunter2</private> rotated", content=None)

    assert "hunter2" not in key


def test_two_keys_longer_than_the_limit_stay_two_keys(app: App) -> None:
    one = app.observations.save(title="one", content="a", topic_key="bug/" + "x" * 200 + "1")
    other = app.observations.save(title="other", content="b", topic_key="bug/" + "x" * 200 + "2")
    assert one.topic_key is not None
    assert len(one.topic_key) == 120
    assert one.topic_key != other.topic_key


def test_a_key_that_was_redacted_is_left_out_and_said(app: App) -> None:
    one = app.observations.save(title="one", content="a", topic_key="<private>x</private>")
    other = app.observations.save(title="other", content="b", topic_key="bug/<private>y</private>")
    assert (one.topic_key, other.topic_key) == (None, None)
    assert one.id != other.id
    assert any("topic_key" in notice for notice in one.notices)
