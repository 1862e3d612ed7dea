"""Rules 1, 3, 4, 5, 6: what saving an observation does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from engram.bootstrap import App
from engram.core.observation import Outcome
from engram.errors import InvalidInput
from tests.conftest import Clock


def rows(app: App) -> tuple[int, int, int, int]:
    """Sessions, live observations, prompts, projects."""
    with app.store.read() as tx:
        counts = tx.counts()
        return counts.sessions, counts.observations, counts.prompts, len(tx.project_keys())


BAD = {
    "title": [{"title": ""}, {"title": " \n\t "}, {"title": "\x00\x07"}, {"title": "</private>"}, {"title": "x" * 501}],
    "content": [{"content": ""}, {"content": "  \n"}, {"content": "\x00"}, {"content": "</private> "}],
    "type": [{"type": " \t "}, {"type": "t" * 61}, {"type": "\x01"}],
    "scope": [{"scope": "team"}, {"scope": " "}, {"scope": "projects"}],
    "project": [{"project": ""}, {"project": " \n "}, {"project": "\x00"}, {"project": "p" * 201}],
    "session_id": [{"session_id": ""}, {"session_id": "  "}, {"session_id": "s" * 201}],
}


@pytest.mark.parametrize(("field", "given"), [(field, given) for field, cases in BAD.items() for given in cases])
def test_a_bad_value_is_named_and_leaves_no_row_of_any_kind(app: App, field: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as raised:
        app.observations.save(**{"title": "Auth model", "content": "JWT", **given})

    assert raised.value.message.startswith(f"{field}:")
    assert rows(app) == (0, 0, 0, 0)


def test_a_text_that_is_only_a_private_block_is_kept_as_its_placeholder(app: App) -> None:
    saved = app.observations.save(title="Password", content="<private>hunter2 for staging</private>")

    assert app.observations.get(saved.id).observation.content == "[REDACTED]"


def test_a_new_text_is_created_and_the_result_names_ids_and_project(app: App) -> None:
    saved = app.observations.save(title="Auth model", content="JWT", type="decision")

    assert (saved.outcome, saved.id, saved.sync_id) == (Outcome.CREATED, 1, "obs-" + "0" * 31 + "1")
    assert (saved.project, saved.project_source, saved.revision_count, saved.duplicate_count) == (
        "shop",
        "environment",
        1,
        1,
    )


def test_the_same_again_within_fifteen_rolling_minutes_is_one_row(app: App, clock: Clock) -> None:
    first = app.observations.save(title="Auth", content="JWT in a cookie")
    clock.pass_minutes(10)
    second = app.observations.save(title="Auth", content="JWT in a cookie")
    clock.pass_minutes(10)
    third = app.observations.save(title="Auth", content="JWT in a cookie")

    assert {first.id, second.id, third.id} == {1}
    assert (second.outcome, third.outcome, third.duplicate_count) == (Outcome.DUPLICATE, Outcome.DUPLICATE, 3)


def test_the_same_after_a_gap_of_sixteen_minutes_is_a_new_row(app: App, clock: Clock) -> None:
    first = app.observations.save(title="Auth", content="JWT")
    clock.pass_minutes(16)
    second = app.observations.save(title="Auth", content="JWT")

    assert second.outcome is Outcome.CREATED
    assert second.id != first.id


def test_the_window_closes_just_after_fifteen_minutes(app: App, clock: Clock) -> None:
    clock.step = timedelta(0)
    app.observations.save(title="Auth", content="JWT")
    clock.pass_minutes(15)
    at_the_edge = app.observations.save(title="Auth", content="JWT")
    clock.pass_minutes(15)
    clock.moment += timedelta(milliseconds=1)
    past_it = app.observations.save(title="Auth", content="JWT")

    assert (at_the_edge.outcome, past_it.outcome) == (Outcome.DUPLICATE, Outcome.CREATED)


def test_case_and_white_space_do_not_make_a_new_observation(app: App) -> None:
    app.observations.save(title="Auth", content="Use  JWT\n\nin a cookie")
    again = app.observations.save(title="Auth", content="use jwt in a COOKIE")

    assert again.outcome is Outcome.DUPLICATE


@pytest.mark.parametrize(
    "other", [{"project": "web"}, {"scope": "personal"}, {"type": "bugfix"}, {"title": "Auth model"}]
)
def test_the_same_content_under_another_heading_is_its_own_row(app: App, other: dict[str, Any]) -> None:
    app.observations.save(title="Auth", content="JWT")
    second = app.observations.save(**{"title": "Auth", "content": "JWT", **other})

    assert second.outcome is Outcome.CREATED


def test_texts_that_differ_only_far_beyond_any_preview_are_two_rows(app: App) -> None:
    long = "the same beginning " * 30_000
    first = app.observations.save(title="Log", content=long + "one")
    second = app.observations.save(title="Log", content=long + "two")

    assert second.outcome is Outcome.CREATED
    assert app.observations.get(first.id).observation.content.endswith("one")
    assert app.observations.get(second.id).observation.content == long + "two"


def test_saving_under_a_topic_again_revises_and_keeps_the_old_text(app: App, clock: Clock) -> None:
    first = app.observations.save(title="Auth", content="Sessions", topic_key="architecture/auth", session_id="mon")
    clock.pass_minutes(60)
    second = app.observations.save(title="Auth!", content="JWT", topic_key=" Architecture/Auth ", session_id="tue")

    assert (second.id, second.outcome, second.revision_count) == (first.id, Outcome.UPDATED, 2)
    detail = app.observations.get(first.id)
    assert [(v.version, v.title, v.content, v.session_id) for v in detail.versions] == [(1, "Auth", "Sessions", "mon")]
    row = detail.observation
    assert (row.title, row.content, row.session_id) == ("Auth!", "JWT", "tue")
    assert row.created_at < row.updated_at == row.last_seen_at


def test_the_same_text_under_its_topic_is_unchanged_and_counted(app: App, clock: Clock) -> None:
    app.observations.save(title="Auth", content="JWT", topic_key="a/b")
    clock.pass_minutes(600)
    again = app.observations.save(title="Auth", content="JWT", topic_key="a/b")

    assert (again.outcome, again.revision_count, again.duplicate_count) == (Outcome.UNCHANGED, 1, 2)
    assert app.observations.get(1).versions == []


@pytest.mark.parametrize("other", [{"project": "web"}, {"scope": "personal"}])
def test_a_topic_belongs_to_one_project_and_scope(app: App, other: dict[str, Any]) -> None:
    app.observations.save(title="Auth", content="Sessions", topic_key="a/b")
    second = app.observations.save(**{"title": "Auth", "content": "JWT", "topic_key": "a/b", **other})

    assert (second.outcome, second.id) == (Outcome.CREATED, 2)


def test_a_duplicate_without_topic_adopts_the_one_given(app: App) -> None:
    first = app.observations.save(title="Auth", content="JWT")
    second = app.observations.save(title="Auth", content="JWT", topic_key="architecture/auth")
    third = app.observations.save(title="Auth", content="Paseto", topic_key="architecture/auth")

    assert (second.outcome, second.id, second.topic_key) == (Outcome.DUPLICATE, first.id, "architecture/auth")
    assert (third.outcome, third.id) == (Outcome.UPDATED, first.id)
    assert app.search.find("architecture/auth").hits[0].id == first.id


def test_a_duplicate_without_a_key_finds_the_row_that_has_one(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", topic_key="a/b")
    again = app.observations.save(title="Auth", content="JWT")

    assert (again.outcome, again.topic_key) == (Outcome.DUPLICATE, "a/b")


def test_the_same_text_under_another_topic_keeps_both_keys(app: App) -> None:
    first = app.observations.save(title="Auth", content="JWT", topic_key="a/one")
    second = app.observations.save(title="Auth", content="JWT", topic_key="a/two")

    assert second.outcome is Outcome.CREATED
    assert second.id != first.id
    assert (app.observations.get(1).observation.topic_key, app.observations.get(2).observation.topic_key) == (
        "a/one",
        "a/two",
    )


def test_a_twin_without_topic_is_preferred_to_one_under_another_topic(app: App) -> None:
    plain = app.observations.save(title="Auth", content="JWT")
    app.observations.save(title="Auth", content="JWT", topic_key="a/one")  # adopted by the first
    second = app.observations.save(title="Auth", content="JWT", topic_key="a/two")

    assert second.id != plain.id
    assert second.topic_key == "a/two"


def test_deleted_rows_are_neither_matched_nor_revived(app: App) -> None:
    topic = app.observations.save(title="Auth", content="JWT", topic_key="a/b")
    plain = app.observations.save(title="Feed", content="Join the authors")
    app.observations.delete(topic.id)
    app.observations.delete(plain.id)

    again = app.observations.save(title="Auth", content="JWT", topic_key="a/b")
    plain_again = app.observations.save(title="Feed", content="Join the authors")

    assert (again.outcome, plain_again.outcome) == (Outcome.CREATED, Outcome.CREATED)
    assert app.observations.get(topic.id, deleted=True).observation.deleted_at is not None


def test_a_type_that_changes_under_its_topic_is_a_revision(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", type="decision", topic_key="a/b")
    second = app.observations.save(title="Auth", content="JWT", type="architecture", topic_key="a/b")

    assert (second.outcome, second.type) == (Outcome.UPDATED, "architecture")
    assert app.observations.get(1).versions[0].type == "decision"


def test_content_of_exactly_one_mebibyte_is_kept_whole(app: App) -> None:
    text = ("é" * (512 * 1024 - 2)) + "abcd"
    saved = app.observations.save(title="Log", content=text)

    assert app.observations.get(saved.id).observation.content == text


def test_content_above_the_limit_is_refused_with_both_sizes(app: App) -> None:
    with pytest.raises(InvalidInput) as raised:
        app.observations.save(title="Log", content="x" * (1024 * 1024 + 1))

    assert "1,048,577" in raised.value.message
    assert "1,048,576" in raised.value.message
    assert rows(app) == (0, 0, 0, 0)


def test_the_limit_is_a_setting(make_app: Callable[..., App]) -> None:
    app = make_app(ENGRAM_MAX_CONTENT_BYTES="2048")

    with pytest.raises(InvalidInput, match="2,048"):
        app.observations.save(title="Log", content="é" * 1025)


def test_content_comes_back_as_it_was_given(app: App) -> None:
    text = "# Heading\n\n\tindented\n\n```py\nif a < b:\n    pass\n```\n数据库 🦊 e\u0301"
    saved = app.observations.save(title="As given", content=text)

    assert app.observations.get(saved.id).observation.content == text


def test_a_title_is_one_line_without_control_characters(app: App) -> None:
    saved = app.observations.save(title="  Fixed\x00 the\n\tfeed\ud800 ", content="x")

    assert saved.title == "Fixed the feed"


def test_times_have_milliseconds_in_utc(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")

    created = app.observations.get(1).observation.created_at
    assert created.startswith("2026-03-02T09:00:00.")
    assert len(created) == len("2026-03-02T09:00:00.001Z")


def test_order_is_total_when_the_clock_stands_still(app: App, clock: Clock) -> None:
    clock.step = timedelta(0)
    for number in range(6):
        app.observations.save(title=f"Note {number}", content=f"text {number}")

    lines = [line.id for line in app.context.recent(project="shop").lines if line.kind == "observation"]
    assert lines == ["6", "5", "4", "3", "2", "1"]


def test_a_revised_decision_surfaces_again(app: App, clock: Clock) -> None:
    app.observations.save(title="Auth", content="Sessions", topic_key="a/auth")
    for number in range(3):
        app.observations.save(title=f"Note {number}", content=f"text {number}")
    clock.pass_minutes(1)
    app.observations.save(title="Auth", content="JWT", topic_key="a/auth")

    first = next(line for line in app.context.recent(project="shop").lines if line.kind == "observation")
    assert first.id == "1"


def test_secrets_and_private_blocks_are_replaced_everywhere_with_a_warning(app: App) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    saved = app.observations.save(
        title=f"Deploy {token}",
        content=f"token {token} <PRIVATE why='x'>the yellow note</PRIVATE > end",
        type="<private>kind</private>",
        project="<private>client</private> app",
        topic_key="<private>client</private>/auth",
        session_id="<private>client</private>-1",
        source="<private>client</private>",
    )

    row = app.observations.get(saved.id).observation
    assert "[REDACTED]" in row.content
    assert any("replaced before saving" in notice for notice in saved.notices)
    assert token not in "".join(saved.notices)
    everything = repr(row) + repr(saved)
    for leaked in (token, "yellow note", "client", "kind"):
        assert leaked not in everything


def test_an_unclosed_private_block_reaches_to_the_end(app: App) -> None:
    saved = app.observations.save(title="Half", content="open <private> hidden words\nand more")

    content = app.observations.get(saved.id).observation.content
    assert "hidden" not in content
    assert content.startswith("open")


def test_no_byte_of_a_secret_reaches_the_disk(app: App, data: object) -> None:
    from pathlib import Path

    token = "ghp_" + "Zz9Yy8Xx7Ww6Vv5Uu4Tt" + "3Ss2Rr1Qq0Pp9Oo8"
    app.observations.save(title="Deploy", content=f"use {token} and <private>xylophoneword</private>")
    app.sessions.save_prompt(f"my token is {token}", session_id=None, project=None)
    app.sessions.start("s", project=None, directory=f"/home/{token}")
    app.sessions.end("s", summary=f"used {token}")
    app.observations.capture(f"## Key Learnings:\n- the token {token} works for deploys\n", source=token)
    app.observations.update(1, content=f"now {token} twice")
    app.close()

    for file in Path(str(data)).rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            assert token.encode() not in held
            assert b"xylophoneword" not in held


def test_a_suggestion_comes_with_a_typed_save_that_has_no_topic(app: App) -> None:
    saved = app.observations.save(title="Fixed the login loop", content="x", type="bugfix")
    with_key = app.observations.save(title="Chose JWT", content="x", type="decision", topic_key="decision/jwt")

    assert saved.suggested_topic_key == "bug/fixed-the-login-loop"
    assert with_key.suggested_topic_key is None
