"""Rule 8: sessions, prompts and where a save goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.core.clean import clean
from engram.errors import InvalidInput, NotFound
from tests.conftest import Clock


def test_a_session_is_started_once_and_then_resumed(app: App, clock: Clock) -> None:
    first = app.sessions.start("monday", project="shop", directory=None)
    clock.pass_minutes(5)
    second = app.sessions.start("monday", project="shop", directory="/work/shop")
    third = app.sessions.start("monday", project="shop", directory="/elsewhere")

    assert (first.outcome, second.outcome, third.outcome) == ("started", "resumed", "resumed")
    assert second.started_at == first.started_at
    with app.store.read() as tx:
        session = tx.session("monday")
    assert session is not None
    assert session.directory == "/work/shop"


def test_a_known_session_keeps_its_project_and_says_so(app: App) -> None:
    app.sessions.start("monday", project="shop")
    again = app.sessions.start("monday", project="web")

    assert again.project == "shop"
    assert "belongs to project `shop`" in again.notices[0]
    assert [project.name for project in app.projects.list()] == ["shop"]


@pytest.mark.parametrize("id", ["", "  ", "\x00", "s" * 201])
def test_a_bad_session_id_leaves_no_row(app: App, id: str) -> None:
    for use in (lambda: app.sessions.start(id, project="shop"), lambda: app.sessions.end(id)):
        with pytest.raises(InvalidInput, match="session_id"):
            use()
    assert app.projects.list() == []


def test_ending_twice_keeps_the_first_time_and_the_summary(app: App, clock: Clock) -> None:
    app.sessions.start("monday", project="shop")
    first = app.sessions.end("monday", summary="Tokens rotate")
    clock.pass_minutes(5)
    second = app.sessions.end("monday")
    blank = app.sessions.end("monday", summary="  ")

    assert (first.outcome, second.outcome, blank.outcome) == ("ended", "already ended", "already ended")
    assert first.ended_at == second.ended_at == blank.ended_at
    assert app.sessions.recent(project="shop", limit=1)[0].summary == "Tokens rotate"


def test_a_later_summary_replaces_an_earlier_one(app: App) -> None:
    app.sessions.start("monday", project="shop")
    app.sessions.end("monday", summary="First")
    app.sessions.end("monday", summary="Second <private>x</private>")

    assert app.sessions.recent(project="shop", limit=1)[0].summary == "Second [REDACTED]"


def test_ending_an_unknown_session_is_not_found(app: App) -> None:
    with pytest.raises(NotFound, match="tuesday"):
        app.sessions.end("tuesday", summary="x")


def test_an_explicit_unknown_session_is_created_and_said(app: App) -> None:
    saved = app.observations.save(title="Auth", content="JWT", session_id="tuesday")
    again = app.observations.save(title="Feed", content="Join", session_id="tuesday")

    assert saved.session_id == "tuesday"
    assert any("tuesday" in notice and "started" in notice for notice in saved.notices)
    assert again.notices == ()


def test_a_save_goes_to_the_newest_open_session_of_this_process(make_app: Callable[..., App]) -> None:
    mine, other = make_app(process="p-1"), make_app(process="p-2")
    mine.sessions.start("mine-1", project="shop")
    mine.sessions.start("mine-2", project="shop")
    other.sessions.start("theirs", project="shop")

    assert mine.observations.save(title="Auth", content="JWT").session_id == "mine-2"
    mine.sessions.end("mine-2")
    assert mine.observations.save(title="Feed", content="Join").session_id == "mine-1"


def test_a_session_of_another_project_is_not_attached_to(app: App) -> None:
    app.sessions.start("monday", project="shop")

    assert app.observations.save(title="Auth", content="JWT", project="web").session_id == "manual-save-web"


def test_else_the_session_of_this_directory(make_app: Callable[..., App], tmp_path: Path) -> None:
    hook, server = make_app(process="hook"), make_app(process="server")
    elsewhere = make_app(process="third", workspace=tmp_path / "web")
    hook.sessions.start("monday", project="shop", directory=str(tmp_path / "shop"))

    assert server.observations.save(title="Auth", content="JWT").session_id == "monday"
    assert elsewhere.observations.save(title="Feed", content="Join").session_id == "manual-save-shop"


def test_else_a_manual_session_which_a_later_save_shares(app: App) -> None:
    first = app.observations.save(title="Auth", content="JWT")
    app.sessions.end("manual-save-shop")
    second = app.observations.save(title="Feed", content="Join")

    assert (first.session_id, second.session_id) == ("manual-save-shop", "manual-save-shop")


def test_two_processes_do_not_share_what_they_did_not_start(make_app: Callable[..., App]) -> None:
    make_app(process="p-1").sessions.start("theirs", project="shop")

    assert make_app(process="p-2").observations.save(title="Auth", content="JWT").session_id == "manual-save-shop"


@pytest.mark.skipif(os.name != "posix", reason="names of bytes")
def test_a_folder_whose_name_is_no_utf8_is_saved_from(make_app: Callable[..., App], tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    app = make_app(workspace=folder, ENGRAM_PROJECT="")

    saved = app.observations.save(title="Auth", content="JWT")
    app.sessions.start("monday", project=None, directory=str(folder))

    assert app.search.find("JWT").hits[0].id == saved.id
    assert app.context.recent().lines


def test_prompts_are_kept_redacted_and_blank_ones_refused(app: App) -> None:
    saved = app.sessions.save_prompt(" Why <private>x</private>? ", session_id=None, project=None)

    assert (saved.id, saved.content, saved.project) == (1, "Why [REDACTED]?", "shop")
    with pytest.raises(InvalidInput, match="content"):
        app.sessions.save_prompt(" \x00 ", session_id="never-made", project="never-made")
    assert [project.name for project in app.projects.list()] == ["shop"]


def test_sessions_are_listed_by_last_activity(app: App, clock: Clock) -> None:
    app.sessions.start("one", project="shop")
    app.sessions.start("two", project="shop")
    clock.pass_minutes(1)
    app.observations.save(title="Auth", content="JWT", session_id="one")

    assert [card.id for card in app.sessions.recent(project="shop", limit=5)] == ["one", "two"]
    assert [card.observations for card in app.sessions.recent(project="shop", limit=5)] == [1, 0]
    assert [card.id for card in app.sessions.recent(project="SHOP", limit=1)] == ["one"]


def test_an_imported_session_that_never_ended_does_not_draw_saves_to_itself(make_app: Callable[..., App]) -> None:
    app = make_app()
    old = app.observations.save(title="x", content="y", session_id="old")
    with app.store.write() as tx:
        tx.resume_session("old", directory=clean(app.workspace), started_by="")
    later = make_app(process="process-2").observations.save(title="z", content="w")
    assert old.session_id == "old"
    assert later.session_id == "manual-save-shop"


def test_a_known_session_that_is_started_again_goes_on_in_this_process(make_app: Callable[..., App]) -> None:
    make_app().sessions.start("monday", project="shop")
    other = make_app(process="process-2")
    other.sessions.start("monday", project="shop")
    assert other.observations.save(title="z", content="w").session_id == "monday"
