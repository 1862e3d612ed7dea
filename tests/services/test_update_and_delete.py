"""Rules 1, 3, 9, 10: correcting, reading and deleting observations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engram.bootstrap import App
from engram.core.observation import Outcome
from engram.errors import Conflict, InvalidInput, NotFound
from tests.conftest import Clock


def test_an_update_keeps_the_old_text_as_a_version(app: App) -> None:
    app.observations.save(title="Auth", content="Sessions", type="decision")
    updated = app.observations.update(1, title="Auth model", content="JWT")

    assert (updated.outcome, updated.revision_count) == (Outcome.UPDATED, 2)
    detail = app.observations.get(1)
    assert (detail.observation.title, detail.observation.content) == ("Auth model", "JWT")
    assert [(v.title, v.content) for v in detail.versions] == [("Auth", "Sessions")]
    assert app.search.find("Sessions").hits == []
    assert app.search.find("JWT").hits[0].id == 1


def test_an_update_that_changes_nothing_says_so(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")
    updated = app.observations.update(1, title=" Auth ", content="JWT")

    assert (updated.outcome, updated.revision_count) == (Outcome.UNCHANGED, 1)


def test_moving_and_filing_an_observation_is_no_revision_of_its_text(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")
    moved = app.observations.update(1, project="web", scope="personal", topic_key="a/b")

    assert (moved.outcome, moved.revision_count, moved.project) == (Outcome.UPDATED, 1, "web")
    assert app.observations.get(1).versions == []
    assert app.search.find("JWT", project="web").hits[0].id == 1
    assert app.search.find("JWT", project="shop").hits == []


def test_nothing_to_update_is_an_error(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")
    with pytest.raises(InvalidInput, match="nothing to update"):
        app.observations.update(1)


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", " "), ("content", ""), ("type", " "), ("scope", "team"), ("project", " "), ("title", "x" * 501)],
)
def test_a_bad_field_changes_nothing(app: App, field: str, value: str) -> None:
    app.observations.save(title="Auth", content="JWT")
    before = app.observations.get(1)

    with pytest.raises(InvalidInput) as raised:
        app.observations.update(1, **{field: value})

    assert raised.value.message.startswith(f"{field}:")
    assert app.observations.get(1) == before


def test_a_topic_of_another_row_is_a_conflict_and_nothing_is_written(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", topic_key="a/b")
    app.observations.save(title="Feed", content="Join", project="web")

    with pytest.raises(Conflict, match="#1"):
        app.observations.update(2, topic_key="A/B", project="shop", content="changed")

    row = app.observations.get(2)
    assert (row.observation.content, row.observation.project, row.versions) == ("Join", "web", [])


def test_a_refused_update_leaves_no_new_project_behind(app: App) -> None:
    with pytest.raises(NotFound):
        app.observations.update(99, project="brand-new")

    assert app.projects.list() == []


@pytest.mark.parametrize("id", [0, -1, 999, 2**53, 2**63 - 1, 2**63, 10**30])
def test_unknown_ids_are_not_found_never_success(app: App, id: int) -> None:
    app.observations.save(title="Auth", content="JWT")
    uses: list[Any] = [
        lambda: app.observations.get(id),
        lambda: app.observations.get(id, deleted=True),
        lambda: app.observations.update(id, title="x"),
        lambda: app.observations.delete(id),
        lambda: app.observations.delete(id, hard=True),
        lambda: app.observations.timeline(id),
    ]
    for use in uses:
        with pytest.raises(NotFound):
            use()


def test_redaction_happens_on_updates_too(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")
    app.observations.update(1, title="<private>a</private> title", content="x <private>b\nc</private> y")

    row = app.observations.get(1).observation
    assert (row.title, row.content) == ("[REDACTED] title", "x [REDACTED] y")


def test_a_soft_deleted_row_is_hidden_everywhere(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", session_id="s")
    app.observations.save(title="Feed", content="Join", session_id="s")
    app.observations.delete(1)

    assert app.search.find("JWT").hits == []
    assert app.search.find("#1").hits == []
    assert [line.id for line in app.context.recent().lines if line.kind == "observation"] == ["2"]
    around = app.observations.timeline(2)
    assert (around.before, around.total) == ([], 1)
    assert (app.status.stats().observations, app.status.stats().deleted) == (1, 1)
    for use in (app.observations.get, app.observations.timeline):
        with pytest.raises(NotFound):
            use(1)
    with pytest.raises(NotFound):
        app.observations.update(1, title="x")
    assert app.observations.get(1, deleted=True).observation.content == "JWT"


def test_deleting_twice_says_so_and_keeps_the_first_time(app: App, clock: Clock) -> None:
    app.observations.save(title="Auth", content="JWT")
    app.observations.delete(1)
    at = app.observations.get(1, deleted=True).observation.deleted_at
    clock.pass_minutes(5)

    assert app.observations.delete(1).outcome == "already deleted"
    assert app.observations.get(1, deleted=True).observation.deleted_at == at


@pytest.mark.parametrize("soft_first", [False, True])
def test_a_hard_delete_leaves_a_tombstone_and_nothing_else(app: App, soft_first: bool) -> None:
    saved = app.observations.save(title="Auth", content="Sessions", topic_key="a/b")
    app.observations.save(title="Auth", content="JWT", topic_key="a/b")
    if soft_first:
        app.observations.delete(saved.id)
    assert app.observations.delete(saved.id, hard=True).outcome == "permanently deleted"

    with app.store.read() as tx:
        assert tx.versions(saved.id) == []
        assert tx.observation_by_sync_id(saved.sync_id) is None
        assert tx.tombstone(saved.sync_id) is not None
    assert app.search.find("JWT").hits == []
    assert all(finding.level == "ok" for finding in app.store.check(deep=True))


def test_a_hard_delete_removes_the_words_from_the_file(app: App, data: Path) -> None:
    app.observations.save(title="Gone qwertzuiop", content="old xanthophyllum", topic_key="a/zymurgyword")
    app.observations.save(title="Gone qwertzuiop", content="new xerophthalmic", topic_key="a/zymurgyword")
    app.observations.save(title="Stays", content="something else")
    app.observations.delete(1, hard=True)
    app.close()

    held = b"".join(file.read_bytes().lower() for file in data.iterdir() if file.is_file())
    for word in (b"qwertzuiop", b"xanthophyl", b"xerophthalm", b"zymurgy"):
        assert word not in held


def test_an_id_is_never_given_twice(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")
    app.observations.delete(1, hard=True)

    assert app.observations.save(title="Auth", content="JWT").id == 2
