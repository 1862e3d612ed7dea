"""Search when not every word can be looked up for every row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engram.bootstrap import App
from engram.core.project import Project
from engram.core.session import Session
from engram.settings import load
from tests.contract.test_store import draft

ROWS = 4_500
AT = "2026-03-02T09:00:00.000Z"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("many")
    app = App(load({"ENGRAM_DATA_DIR": str(folder), "ENGRAM_PROJECT": "shop"}), workspace=str(folder), process="p")
    with app.store.write() as tx:
        for project in ("shop", "web"):
            tx.add_project(Project(key=project, name=project), at=AT)
        tx.add_session(
            Session(id="s", project="shop", directory="", started_at=AT, ended_at=None, summary=None, started_by="")
        )
        for number in range(ROWS):
            text = f"common words of every row about login and token number {number}"
            extra = " rareword" if number == 1234 else ""
            project = "web" if number % 100 == 7 else "shop"
            row = draft(text + extra, title=f"Row {number}", project=project)
            tx.add_observation(row, session_id="s", sync_id=f"obs-{number}", at=AT)
    yield app
    app.close()


def test_the_rare_word_decides(library: App) -> None:
    assert library.search.find("common words of the login token rareword").hits[0].title == "Row 1234"


def test_common_words_alone_still_find(library: App) -> None:
    found = library.search.find("login token common words", limit=20)
    assert len(found.hits) == 20
    assert found.note == ""


def test_a_small_project_in_a_large_store_is_filtered_before_the_limit(library: App) -> None:
    found = library.search.find("login token", project="web", limit=20)
    assert [hit.project for hit in found.hits] == ["web"] * 20


def test_a_number_is_found_among_thousands(library: App) -> None:
    assert library.search.find("row number 3141").hits[0].title == "Row 3141"
