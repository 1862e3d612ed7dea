"""Bring observations in from other places and write them out, as often as one likes."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from engram.bootstrap import App
from engram.core.observation import Observation
from engram.core.session import Prompt, Session
from engram.errors import Conflict, InvalidInput, NotFound
from engram.services import transfer
from engram.services.transfer import Tally
from tests import foreign
from tests.conftest import git

TOKEN = "ghp_" + "a8Fk2Lm9Qz3Xw7Rt5Yv1Bn6Cd4Gh0Js2Pe8U"


def everything(app: App) -> tuple[list[Observation], list[Session], list[Prompt], list[Any]]:
    """All rows there are, deleted ones too."""
    with app.store.read() as tx:
        rows = list(tx.all_observations(deleted=True))
        versions = [tx.versions(row.id) for row in rows]
        return rows, list(tx.all_sessions()), list(tx.all_prompts()), versions


def rows(app: App) -> dict[str, Observation]:
    """Observations by title."""
    return {row.title: row for row in everything(app)[0]}


def every_byte(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


SOURCES: list[Callable[[Path], str]] = [
    lambda folder: foreign.export(folder / "old.json"),
    lambda folder: foreign.export(
        folder / "new.json",
        version="0.2.0",
        observations=[foreign.observation(n, sync_id=f"obs-{n:016x}", pinned=n == 1) for n in (1, 2)],
        prompts=[foreign.prompt(1, sync_id=f"prompt-{1:016x}")],
        relations=[{"id": "rel-1"}],
    ),
    lambda folder: foreign.database(folder / "engram.db"),
]


@pytest.mark.parametrize("write", SOURCES, ids=["0.1.0", "0.2.0", "engram.db"])
def test_three_imports_give_the_rows_of_one(app: App, tmp_path: Path, write: Callable[[Path], str]) -> None:
    path = write(tmp_path)

    first = app.transfer.import_file(path, dry_run=False)
    once = everything(app)
    again = [app.transfer.import_file(path, dry_run=False) for _ in range(2)]

    assert first.observations == Tally(created=2)
    assert first.sessions == first.prompts == Tally(created=1)
    assert [done.observations for done in again] == [Tally(unchanged=2)] * 2
    assert [done.prompts for done in again] == [Tally(unchanged=1)] * 2
    assert everything(app) == once


def test_a_database_and_its_own_export_are_the_same_rows(app: App, tmp_path: Path) -> None:
    app.transfer.import_file(foreign.database(tmp_path / "engram.db"), dry_run=False)

    done = app.transfer.import_file(foreign.export(tmp_path / "old.json"), dry_run=False)

    assert (done.observations, done.prompts) == (Tally(unchanged=2), Tally(unchanged=1))


def test_a_row_arrives_whole(app: App, tmp_path: Path) -> None:
    arriving = foreign.observation(
        5,
        title="Switch to WAL",
        tool_name="Edit",
        scope=" PERSONAL ",
        topic_key=" Architecture/Store  Mode ",
        revision_count=3,
        duplicate_count=2,
        updated_at="2026-01-07T08:00:00+02:00",
        last_seen_at="2026-01-08 08:00:00",
        content="line one\n\tline two",
    )

    app.transfer.import_file(foreign.export(tmp_path / "old.json", observations=[arriving]), dry_run=False)

    row = rows(app)["Switch to WAL"]
    assert (row.type, row.source, row.scope, row.topic_key) == (
        "decision",
        "Edit",
        "personal",
        "architecture/store-mode",
    )
    assert (row.revision_count, row.duplicate_count, row.content) == (3, 2, "line one\n\tline two")
    assert row.created_at == "2026-01-05T09:05:00.000Z"
    assert row.updated_at == "2026-01-07T06:00:00.000Z"
    assert row.last_seen_at == "2026-01-08T08:00:00.000Z"
    assert [hit.title for hit in app.search.find("WAL").hits] == ["Switch to WAL"]


def test_an_old_database_without_later_columns_comes_in(app: App, tmp_path: Path) -> None:
    done = app.transfer.import_file(foreign.database(tmp_path / "engram.db", old=True), dry_run=False)

    assert done.observations == Tally(created=2)
    row = rows(app)["Decision 1"]
    assert (row.scope, row.topic_key, row.revision_count, row.updated_at) == ("project", None, 1, row.created_at)


def test_an_older_import_never_overwrites_a_newer_edit_here(app: App, tmp_path: Path) -> None:
    path = foreign.export(tmp_path / "old.json")
    app.transfer.import_file(path, dry_run=False)
    app.observations.update(rows(app)["Decision 1"].id, content="Better known now.")

    done = app.transfer.import_file(path, dry_run=False)

    assert done.observations == Tally(unchanged=1, skipped=1)
    assert "newer here, kept: 1 (observations[0])" in done.notes
    assert rows(app)["Decision 1"].content == "Better known now."


def test_a_newer_import_replaces_the_text_and_keeps_the_old_one_as_a_version(app: App, tmp_path: Path) -> None:
    one = foreign.observation(1, sync_id="obs-00000001")
    app.transfer.import_file(foreign.export(tmp_path / "a.json", version="0.2.0", observations=[one]), dry_run=False)
    newer = {**one, "content": "Changed elsewhere.", "updated_at": "2026-02-01 00:00:00", "revision_count": 2}
    path = foreign.export(tmp_path / "b.json", version="0.2.0", observations=[newer])

    done = [app.transfer.import_file(path, dry_run=False) for _ in range(2)]

    assert [result.observations for result in done] == [Tally(updated=1), Tally(unchanged=1)]
    row = rows(app)["Decision 1"]
    assert row.content == "Changed elsewhere."
    assert [version.content for version in app.observations.get(row.id).versions] == ["We decided number 1."]
    assert not app.search.find("number").hits


def test_what_was_deleted_for_good_here_stays_deleted(app: App, tmp_path: Path) -> None:
    path = foreign.export(tmp_path / "old.json")
    app.transfer.import_file(path, dry_run=False)
    app.observations.delete(rows(app)["Decision 1"].id, hard=True)
    app.observations.delete(rows(app)["Decision 2"].id)

    done = app.transfer.import_file(path, dry_run=False)

    assert done.observations == Tally(skipped=2)
    assert "deleted here, stays deleted: 1 (observations[0])" in done.notes
    assert [row.deleted_at is None for row in everything(app)[0]] == [False]


def test_a_row_that_was_changed_after_its_deletion_here_comes_back(app: App, tmp_path: Path) -> None:
    one = foreign.observation(1, sync_id="obs-00000001")
    path = foreign.export(tmp_path / "a.json", version="0.2.0", observations=[one])
    app.transfer.import_file(path, dry_run=False)
    app.observations.delete(rows(app)["Decision 1"].id, hard=True)
    later = {**one, "updated_at": "2030-01-01 00:00:00"}

    done = app.transfer.import_file(
        foreign.export(tmp_path / "b.json", version="0.2.0", observations=[later]), dry_run=False
    )

    assert done.observations == Tally(created=1)


def test_deleted_rows_of_the_file_stay_deleted(app: App, tmp_path: Path) -> None:
    gone = foreign.observation(1, deleted_at="2026-01-09 00:00:00", topic_key="a/b")
    live = foreign.observation(2, topic_key="a/b")

    app.transfer.import_file(foreign.export(tmp_path / "old.json", observations=[gone, live]), dry_run=False)

    assert rows(app)["Decision 1"].deleted_at == "2026-01-09T00:00:00.000Z"
    assert rows(app)["Decision 2"].topic_key == "a/b"
    assert [hit.title for hit in app.search.find("decided").hits] == ["Decision 2"]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_of_two_rows_that_claim_one_topic_the_newest_holds_it(app: App, tmp_path: Path, order: tuple[int, int]) -> None:
    claims = [foreign.observation(n, topic_key="decision/auth") for n in order]
    path = foreign.export(tmp_path / "old.json", observations=claims)

    first = app.transfer.import_file(path, dry_run=False)
    once = everything(app)
    app.transfer.import_file(path, dry_run=False)

    assert first.observations == Tally(created=2)
    assert rows(app)["Decision 1"].topic_key is None
    assert rows(app)["Decision 2"].topic_key == "decision/auth"
    assert rows(app)["Decision 1"].content == "We decided number 1."
    assert any("topic key" in note for note in first.notes)
    assert everything(app) == once


def test_a_topic_here_that_is_newer_than_the_file_keeps_its_key(app: App, tmp_path: Path) -> None:
    app.observations.save(title="Ours", content="Newer text", topic_key="decision/auth", project="shop")
    path = foreign.export(tmp_path / "old.json", observations=[foreign.observation(1, topic_key="decision/auth")])

    app.transfer.import_file(path, dry_run=False)

    assert (rows(app)["Ours"].topic_key, rows(app)["Decision 1"].topic_key) == ("decision/auth", None)


def test_secrets_and_private_blocks_of_no_field_reach_the_disk(app: App, tmp_path: Path, data: Path) -> None:
    private = "<private>swordfish"
    fields = {
        "title": f"Title {private}</private>",
        "content": f"text {private} and no end",
        "tool_name": f"tool {private}</private>",
        "topic_key": f"family/{private}</private>",
        "type": f"note {private}</private>",
        "project": f"shop {private}</private>",
        "session_id": f"s {private}</private>",
    }
    hidden = foreign.observation(1, **fields)
    keys = foreign.observation(2, **{name: f"{name} {TOKEN}" for name in fields})
    history = [
        {
            "version": 1,
            "type": TOKEN,
            "title": TOKEN,
            "content": f"{private}</private> {TOKEN}",
            "session_id": TOKEN,
            "replaced_at": "2026-01-05 09:00:00",
        }
    ]
    path = foreign.export(
        tmp_path / "old.json",
        version="0.2.0",
        sessions=[
            foreign.session(f"s {private}</private>", directory=f"/home/{TOKEN}", summary=f"used {TOKEN} {private}"),
            foreign.session(f"session {TOKEN}", project=f"p {TOKEN}"),
        ],
        observations=[hidden, keys, foreign.observation(3, sync_id=f"obs-{TOKEN}", versions=history)],
        prompts=[foreign.prompt(1, content=f"use {TOKEN} {private}"), foreign.prompt(2, sync_id=TOKEN)],
    )

    done = app.transfer.import_file(path, dry_run=False)
    app.transfer.export(str(data / "out.json"), include_deleted=True)
    app.close()

    assert done.observations == Tally(created=3)
    assert done.redacted["private"] > 5
    assert sum(done.redacted.values()) > done.redacted["private"]
    kept = every_byte(data)
    assert b"Decision 3" in kept
    assert b"swordfish" not in kept
    assert TOKEN[4:].encode() not in kept
    assert TOKEN not in repr(asdict(done))


DAMAGE: list[tuple[str, str]] = [
    ("", "is damaged or no Engram export"),
    ("{", "is damaged or no Engram export"),
    ("not json", "is damaged or no Engram export"),
    ("[]", "is damaged or no Engram export"),
    ("{}", "no version"),
    ('{"version": "0.3.0"}', r"version `0\.3\.0`; Engram exports of 0\.1\.0 and 0\.2\.0"),
    ('{"version": 1, "sessions": []}', "no version"),
    ('{"version": "0.1.0", "sessions": {}}', "sessions: must be an array"),
    ('{"version": "0.1.0", "observations": [], }', "is damaged"),
    ('{"version": "0.1.0"} {}', "something follows the end"),
    ('{"version": "0.1.0", "observations": [' + "[" * 100_000, "is damaged"),
    ('{"version": "0.1.0", "observations": [1]}', r"observations\[0\]: must be an object"),
]


@pytest.mark.parametrize(("text", "told"), DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_file_is_named_and_changes_nothing(app: App, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)

    with pytest.raises(InvalidInput, match=told) as caught:
        app.transfer.import_file(str(path), dry_run=False)

    assert str(path) in caught.value.message
    assert everything(app)[:3] == ([], [], [])


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("content", None, r"observations\[1\]\.content: is missing"),
        ("title", 7, r"observations\[1\]\.title: must be text"),
        ("revision_count", "2", r"observations\[1\]\.revision_count: must be a whole number"),
        ("revision_count", True, "must be a whole number"),
        ("revision_count", 1.5, "must be a whole number"),
        ("revision_count", 10**30, "must be a whole number"),
        ("pinned", "yes", "must be true or false"),
        ("created_at", 1700000000, r"created_at: must be text"),
        ("versions", [{"version": 1}], r"observations\[1\]: versions\[0\]\.type: is missing"),
    ],
)
def test_a_wrong_field_in_any_row_stops_the_import_before_it_begins(
    app: App, tmp_path: Path, field: str, value: Any, told: str
) -> None:
    wrong = foreign.observation(2)
    if value is None:
        del wrong[field]
    else:
        wrong[field] = value
    path = foreign.export(tmp_path / "old.json", observations=[foreign.observation(1), wrong])

    with pytest.raises(InvalidInput, match=told):
        app.transfer.import_file(path, dry_run=False)

    assert everything(app)[:3] == ([], [], [])


def test_a_file_cut_off_anywhere_changes_nothing(app: App, tmp_path: Path) -> None:
    whole = Path(foreign.export(tmp_path / "old.json")).read_bytes()

    for end in range(0, len(whole) - 1, 37):
        (tmp_path / "cut.json").write_bytes(whole[:end])
        with pytest.raises(InvalidInput):
            app.transfer.import_file(str(tmp_path / "cut.json"), dry_run=False)

    assert everything(app)[:3] == ([], [], [])


def test_a_damaged_database_changes_nothing(app: App, tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    foreign.database(path, observations=[foreign.observation(n, content="word " * 500) for n in range(200)])
    path.write_bytes(path.read_bytes()[:-80_000])

    with pytest.raises(InvalidInput, match="is damaged"):
        app.transfer.import_file(str(path), dry_run=False)

    assert everything(app)[:3] == ([], [], [])


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_file_is_read_the_same_in_pieces_of_any_size(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    from engram.services import sources

    path = foreign.export(
        tmp_path / "old.json",
        exported_at=1234567890,
        observations=[foreign.observation(1, title='Schöne 数据 \\ " ]}', revision_count=12)],
        prompts=None,
    )
    with sources.JsonExport(path) as source:
        whole = list(source.rows())

    monkeypatch.setattr(sources, "_CHUNK", size)

    with sources.JsonExport(path) as source:
        assert list(source.rows()) == list(source.rows()) == whole


def test_a_byte_order_mark_does_no_harm(app: App, tmp_path: Path) -> None:
    path = Path(foreign.export(tmp_path / "old.json"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert app.transfer.import_file(str(path), dry_run=False).observations == Tally(created=2)


def test_blank_rows_are_completed_or_left_out_and_told(app: App, tmp_path: Path) -> None:
    path = foreign.export(
        tmp_path / "old.json",
        observations=[
            foreign.observation(1, title=" ", type="", revision_count=0, duplicate_count=-3, scope="globl"),
            foreign.observation(2, content=" \n"),
            foreign.observation(3, content="<private></private>\x00", title="Kept"),
            foreign.observation(4, title="long " * 200),
        ],
        prompts=[foreign.prompt(1, content="")],
    )

    done = app.transfer.import_file(path, dry_run=False)

    assert (done.observations, done.prompts) == (Tally(created=3, skipped=1), Tally(skipped=1))
    row = rows(app)["(untitled)"]
    assert (row.type, row.revision_count, row.duplicate_count, row.scope) == ("manual", 1, 1, "project")
    assert rows(app)["Kept"].content == "[REDACTED]"
    long = everything(app)[0][-1]
    assert len(long.title) <= 500
    assert long.content.startswith("long " * 199)
    for told in ("title is blank", "content is blank: skipped: 2", "scope is neither", "title over 500"):
        assert any(told in note for note in done.notes), told


def test_content_over_the_limit_is_left_out_and_told(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(ENGRAM_MAX_CONTENT_BYTES="1024")
    path = foreign.export(
        tmp_path / "old.json", observations=[foreign.observation(1, content="é" * 600), foreign.observation(2)]
    )

    done = app.transfer.import_file(path, dry_run=False)

    assert done.observations == Tally(created=1, skipped=1)
    assert "content over 1,024 bytes: skipped: 1 (observations[0])" in done.notes


def test_a_row_without_a_readable_time_comes_once(app: App, tmp_path: Path) -> None:
    path = foreign.export(
        tmp_path / "old.json",
        observations=[foreign.observation(1, created_at="yesterday", updated_at="", topic_key="a/b")],
    )

    first = app.transfer.import_file(path, dry_run=False)
    once = everything(app)
    second = app.transfer.import_file(path, dry_run=False)

    assert (first.observations, second.observations) == (Tally(created=1), Tally(unchanged=1))
    assert "time of creation unknown: now: 1 (observations[0])" in first.notes
    assert rows(app)["Decision 1"].created_at.startswith("2026-03-02T09:00")
    assert everything(app) == once


def test_a_session_that_the_file_lacks_is_added(app: App, tmp_path: Path) -> None:
    path = foreign.export(
        tmp_path / "old.json",
        sessions=[],
        observations=[foreign.observation(1, session_id="lost"), foreign.observation(2, session_id="")],
        prompts=[foreign.prompt(1, session_id="lost too")],
    )

    done = app.transfer.import_file(path, dry_run=False)

    assert done.sessions == Tally(created=3)
    assert {one.id for one in everything(app)[1]} == {"lost", "lost too", "manual-save-shop"}
    assert any("session that the file does not describe: added: 2" in note for note in done.notes)


def test_a_known_session_is_only_filled_where_it_is_blank(app: App, tmp_path: Path) -> None:
    app.sessions.start("s-1", project="mine")
    path = foreign.export(tmp_path / "old.json", sessions=[foreign.session(summary="What was done")])
    app.transfer.import_file(path, dry_run=False)
    app.sessions.end("s-1", summary="Ours is newer")

    done = app.transfer.import_file(path, dry_run=False)

    session = next(one for one in everything(app)[1] if one.id == "s-1")
    assert done.sessions == Tally(unchanged=1)
    assert (session.project, session.directory, session.summary) == ("mine", "/home/ada/shop", "Ours is newer")
    assert session.ended_at == "2026-01-05T11:00:00.000Z"


def test_a_row_without_a_project_belongs_to_its_session_s(app: App, tmp_path: Path) -> None:
    path = foreign.export(
        tmp_path / "old.json",
        sessions=[foreign.session(project="Shop Front")],
        observations=[
            foreign.observation(1, project=None),
            foreign.observation(2, project="", session_id="nobody knows"),
        ],
    )

    app.transfer.import_file(path, dry_run=False)

    assert (rows(app)["Decision 1"].project, rows(app)["Decision 2"].project) == ("shop front", "unscoped")


def test_a_named_project_takes_everything_and_an_alias_is_followed(app: App, tmp_path: Path) -> None:
    app.observations.save(title="Here", content="already", project="Store")
    app.projects.add_alias("old-store", "Store")

    app.transfer.import_file(foreign.export(tmp_path / "old.json"), dry_run=False, project="Old-Store")

    found, sessions, prompts, _ = everything(app)
    assert {one.project for one in (*found, *sessions, *prompts)} == {"store"}


@pytest.mark.parametrize("again", [False, True])
def test_a_dry_run_tells_the_same_and_changes_nothing(app: App, tmp_path: Path, again: bool) -> None:
    path = foreign.export(
        tmp_path / "old.json",
        sessions=[foreign.session(), foreign.session()],
        observations=[
            foreign.observation(1, topic_key="a/b"),
            foreign.observation(2, topic_key="a/b"),
            foreign.observation(1, topic_key="a/b"),
            foreign.observation(3, topic_key="a/b", session_id="lost", sync_id="obs-00000003"),
            foreign.observation(4, topic_key="a/c", sync_id="obs-00000003", project="Shopp"),
            foreign.observation(5, content=""),
            foreign.observation(6, content=f"token {TOKEN}"),
        ],
        prompts=[foreign.prompt(1), foreign.prompt(1)],
    )
    if again:
        app.transfer.import_file(path, dry_run=False)
        app.observations.update(rows(app)["Decision 1"].id, content="Edited")
    before = everything(app)

    told = app.transfer.import_file(path, dry_run=True)

    assert everything(app) == before
    assert replace(told, is_dry_run=False) == app.transfer.import_file(path, dry_run=False)


def test_batches_make_no_difference(
    make_app: Callable[..., App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [foreign.observation(n, topic_key=f"a/{n % 3}", session_id=f"s-{n % 4}") for n in range(20)]
    path = foreign.export(tmp_path / "old.json", observations=claims)
    monkeypatch.setattr(transfer, "BATCH_ROWS", 3)
    app = make_app()
    seen: list[tuple[int, int | None]] = []

    told = app.transfer.import_file(path, dry_run=True)
    done = app.transfer.import_file(path, dry_run=False, progress=lambda done, total: seen.append((done, total)))

    assert (done.observations, told.observations) == (Tally(created=20), Tally(created=20))
    assert seen == [(3, 21), (6, 21), (9, 21), (12, 21), (15, 21), (18, 21), (21, 21)]
    assert {row.title for row in rows(app).values() if row.topic_key} == {"Decision 17", "Decision 18", "Decision 19"}


def test_an_import_that_stops_midway_is_finished_by_the_next(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = foreign.export(tmp_path / "old.json", observations=[foreign.observation(n) for n in range(10)], prompts=[])
    monkeypatch.setattr(transfer, "BATCH_ROWS", 4)

    def stop(done: int, total: int | None) -> None:
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        app.transfer.import_file(path, dry_run=False, progress=stop)

    assert app.transfer.import_file(path, dry_run=False).observations == Tally(created=2, unchanged=8)


def fill(app: App) -> None:
    app.sessions.start("s-1", project="Shop", directory="/home/ada/shop")
    app.observations.save(title="One", content="first\n  text", topic_key="a/b", project="shop", session_id="s-1")
    app.observations.save(title="One", content="second", topic_key="a/b", project="shop", session_id="s-1")
    app.observations.save(title="Zwei 数据", content="\ttext 🦊", scope="personal", project="other", source="cli")
    gone = app.observations.save(title="Gone", content="deleted text", project="shop")
    app.observations.delete(gone.id)
    app.sessions.save_prompt("Please", session_id="s-1", project="shop")
    app.sessions.end("s-1", summary="## Done")


def test_an_export_read_into_an_empty_store_gives_the_same_rows(
    app: App, make_app: Callable[..., App], tmp_path: Path
) -> None:
    fill(app)
    path = str(tmp_path / "out.json")
    app.transfer.export(path, include_deleted=True)
    other = make_app(ENGRAM_DATA_DIR=str(tmp_path / "other"))

    done = other.transfer.import_file(path, dry_run=False)

    mine, theirs = everything(app), everything(other)
    assert done.observations == Tally(created=3)
    assert theirs[0] == [replace(row, id=at) for at, row in enumerate(mine[0], 1)]
    assert theirs[1] == [replace(session, started_by="") for session in mine[1]]
    assert theirs[2:] == mine[2:]
    assert [project.name for project in other.projects.list()] == [project.name for project in app.projects.list()]
    assert app.transfer.import_file(path, dry_run=False).observations == Tally(unchanged=3)


def test_an_export_has_the_names_of_the_columns_and_hides_what_is_deleted(app: App) -> None:
    fill(app)
    out = StringIO()

    done = app.transfer.export(out)

    whole = json.loads(out.getvalue())
    assert (whole["version"], done.path, done.observations) == ("0.2.0", "-", 2)
    assert "deleted text" not in out.getvalue()
    row = whole["observations"][0]
    assert (row["session_id"], row["project"], row["topic_key"], row["revision_count"]) == ("s-1", "Shop", "a/b", 2)
    assert [version["content"] for version in row["versions"]] == ["first\n  text"]
    assert "tool_name" not in row
    assert whole["observations"][1]["tool_name"] == "cli"


def test_an_export_of_one_project_brings_the_sessions_its_rows_need(app: App) -> None:
    app.sessions.start("s-1", project="shop")
    app.sessions.start("s-2", project="third")
    app.observations.save(title="Elsewhere", content="filed under another project", project="other", session_id="s-1")
    out = StringIO()

    app.transfer.export(out, project="OTHER")

    whole = json.loads(out.getvalue())
    assert [session["id"] for session in whole["sessions"]] == ["s-1"]
    with pytest.raises(InvalidInput, match="project: `nowhere` is not known"):
        app.transfer.export(StringIO(), project="nowhere")


def test_an_export_is_for_its_owner_and_never_replaces_a_file_unasked(app: App, tmp_path: Path) -> None:
    fill(app)
    path = tmp_path / "out.json"
    app.transfer.export(str(path))
    first = path.read_bytes()

    with pytest.raises(Conflict, match=r"out\.json: exists already"):
        app.transfer.export(str(path))
    assert path.read_bytes() == first

    app.observations.save(title="New", content="text")
    app.transfer.export(str(path), force=True)
    assert path.read_bytes() != first
    assert [name for name in os.listdir(tmp_path) if "out.json" in name] == ["out.json"]
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_export_to_where_nothing_can_be_written_says_so(app: App, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        app.transfer.export(str(tmp_path / "no" / "folder.json"))
    with pytest.raises(InvalidInput, match="is a folder"):
        app.transfer.export(str(tmp_path), force=True)


def commit(folder: Path, subject: str, body: str = "", **files: str) -> str:
    for name, text in files.items():
        (folder / name).write_text(text)
        git(folder, "add", name)
    message = f"{subject}\n\n{body}" if body else subject
    git(folder, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def test_commits_become_observations_once(
    app: App, repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, make_app: Callable[..., App]
) -> None:
    folder = repository("front", origin="git@example.org:ada/front-end.git")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-02-01T10:00:00+01:00")
    id = commit(folder, "Rotate tokens", "Two tabs refreshed at once.", auth="code")
    app = make_app(ENGRAM_PROJECT="")

    first = app.transfer.import_git(str(folder), dry_run=False)
    once = everything(app)
    commit(folder, "Later", later="x")
    second = app.transfer.import_git(str(folder), dry_run=False)

    row = next(row for row in once[0] if row.title == "Rotate tokens")
    assert (first.observations, second.observations) == (Tally(created=2), Tally(created=1, unchanged=2))
    assert row.content == "Two tabs refreshed at once.\n\nFiles: auth"
    assert (row.type, row.project, row.session_id) == ("commit", "front-end", "git-import-front-end")
    assert row.source == f"git:{id[:12]}"
    assert row.created_at == row.updated_at == "2026-02-01T09:00:00.000Z"
    assert [one for one in everything(app)[0] if one.title != "Later"] == once[0]
    assert (first.sessions, second.sessions, first.notes) == (Tally(created=1), Tally(unchanged=1), ())
    assert [session.directory for session in everything(app)[1]] == [""]


def test_odd_commits_come_in_too(app: App, repository: Callable[..., Path]) -> None:
    folder = repository("front")
    commit(folder, "")
    commit(folder, "long " * 200)
    commit(folder, f"Use {TOKEN}", "<private>why</private>", **{f"file{n}": "x" for n in range(50)})

    done = app.transfer.import_git(str(folder), dry_run=False, project="Front")

    assert done.observations == Tally(created=4)
    found = rows(app)
    assert any(title.startswith("(no subject) ") for title in found)
    assert found["first"].content == "first"
    secret = next(row for title, row in found.items() if title.startswith("Use"))
    assert TOKEN not in secret.title + secret.content
    assert "… and 10 more" in secret.content
    assert done.redacted["private"] == 1


@pytest.mark.parametrize("year", [2026, 2099])
def test_a_commit_that_was_edited_or_deleted_here_stays_so(
    app: App, repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, year: int
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{year}-02-01T10:00:00+01:00")
    folder = repository("front")
    commit(folder, "Second")
    app.transfer.import_git(str(folder), dry_run=False)
    app.observations.update(rows(app)["first"].id, content="What it really did")
    app.observations.delete(rows(app)["Second"].id, hard=True)

    done = app.transfer.import_git(str(folder), dry_run=False)

    assert done.observations == Tally(unchanged=1, skipped=1)
    assert [row.content for row in everything(app)[0]] == ["What it really did"]


def test_a_dry_run_and_a_limit_of_commits(app: App, repository: Callable[..., Path]) -> None:
    folder = repository("front")
    commit(folder, "Second")
    commit(folder, "Third")

    told = app.transfer.import_git(str(folder), dry_run=True, limit=2)

    assert told.observations == Tally(created=2)
    assert everything(app)[0] == []
    app.transfer.import_git(str(folder), dry_run=False, limit=2)
    assert sorted(rows(app)) == ["Second", "Third"]


def test_a_folder_without_a_repository_is_not_found(app: App, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()

    with pytest.raises(NotFound, match="no git repository"):
        app.transfer.import_git(str(plain), dry_run=False)
    with pytest.raises(InvalidInput, match="is not a folder"):
        app.transfer.import_git(str(tmp_path / "nowhere"), dry_run=False)
    with pytest.raises(InvalidInput, match="limit"):
        app.transfer.import_git(str(plain), dry_run=False, limit=0)
    assert everything(app)[:3] == ([], [], [])


def test_a_file_that_is_not_there_is_named(app: App, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nothing\.json: cannot be read"):
        app.transfer.import_file(str(tmp_path / "nothing.json"), dry_run=False)
