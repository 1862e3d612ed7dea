"""What was saved around one observation."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engram.bootstrap import App
from engram.errors import InvalidInput
from tests.conftest import Clock


def fill(app: App, count: int, session: str = "s") -> None:
    for number in range(count):
        app.observations.save(title=f"{session} {number}", content=f"{session} text {number}", session_id=session)


def test_neighbours_are_of_the_same_session_oldest_first(app: App) -> None:
    fill(app, 2)
    fill(app, 2, "other")
    fill(app, 1, "s")  # a duplicate of the first: no new row
    app.observations.save(title="late", content="late", session_id="s")

    around = app.observations.timeline(2, before=5, after=5)

    assert [row.id for row in around.before] == [1]
    assert [row.id for row in around.after] == [5]
    assert (around.session_id, around.project, around.total) == ("s", "shop", 3)


def test_zero_means_none_and_the_defaults_are_five(app: App) -> None:
    fill(app, 13)

    assert (app.observations.timeline(7, before=0, after=0).before, app.observations.timeline(7, after=0).after) == (
        [],
        [],
    )
    around = app.observations.timeline(7)
    assert ([row.id for row in around.before], [row.id for row in around.after]) == (
        [2, 3, 4, 5, 6],
        [8, 9, 10, 11, 12],
    )


def test_fifty_on_each_side_are_allowed(app: App) -> None:
    fill(app, 110)
    around = app.observations.timeline(55, before=50, after=50)

    assert (len(around.before), len(around.after), around.total) == (50, 50, 110)
    assert (around.before[0].id, around.after[-1].id) == (5, 105)


@pytest.mark.parametrize("given", [{"before": 51}, {"after": 51}, {"before": -1}, {"after": -1}])
def test_counts_outside_0_to_50_are_refused_by_name(app: App, given: dict[str, int]) -> None:
    fill(app, 1)
    with pytest.raises(InvalidInput, match=f"{next(iter(given))}: must be from 0 to 50"):
        app.observations.timeline(1, **given)


def test_rows_of_one_instant_are_ordered_by_id(app: App, clock: Clock) -> None:
    clock.step = timedelta(0)
    fill(app, 5)

    around = app.observations.timeline(3)
    assert ([row.id for row in around.before], [row.id for row in around.after]) == ([1, 2], [4, 5])


def test_session_information_comes_along(app: App) -> None:
    app.sessions.start("s", project="shop", directory="/w")
    fill(app, 1)
    app.sessions.end("s", summary="done")

    around = app.observations.timeline(1)
    assert around.session_started_at < around.focus.created_at < (around.session_ended_at or "")
