"""Passive capture: learnings that a text lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.core.capture import learnings
from engram.errors import InvalidInput
from tests.conftest import Clock

ONE = "Tokens must rotate inside one transaction"
TWO = "The feed needs a joined query for authors"
THREE = "Always watch the query count in the tests"


@pytest.mark.parametrize(
    "heading",
    [
        "## Key Learnings:",
        "### Key Learnings",
        "## Learnings",
        "## learning:",
        "## Aprendizajes Clave:",
        "### APRENDIZAJES",
        "  ##   Key   Learnings :  ##",
    ],
)
def test_sections_have_several_names(heading: str) -> None:
    assert learnings(f"Intro\n\n{heading}\n\n- {ONE}\n") == [ONE]


@pytest.mark.parametrize(
    "heading", ["# Key Learnings", "#### Learnings", "Key Learnings:", "## My Learnings", "## Learnings of today"]
)
def test_other_headings_are_no_section(heading: str) -> None:
    assert learnings(f"{heading}\n- {ONE}\n") == []


@pytest.mark.parametrize("mark", ["1.", "2)", "-", "*", "+", "•", "12."])
def test_numbered_and_bulleted_items_count(mark: str) -> None:
    assert learnings(f"## Learnings\n{mark} {ONE}\n{mark} {TWO}\n") == [ONE, TWO]


def test_the_last_section_that_has_items_wins() -> None:
    text = f"## Learnings\n- {ONE}\n## Other\n- no\n## Key Learnings\n- {TWO}\n## Learnings\nnothing listed here\n"
    assert learnings(text) == [TWO]


def test_wrapped_lines_are_joined() -> None:
    text = f"## Learnings\n1. Tokens must rotate\n   inside one\ntransaction\n2. {TWO}\n\nA paragraph of its own.\n"
    assert learnings(text) == [ONE, TWO]


def test_code_fences_are_examples() -> None:
    text = f"```md\n## Learnings\n- {ONE}\n```\n## Learnings\n- {TWO}\n~~~\n- {THREE}\n```\n~~~\n- {THREE} too\n"
    assert learnings(text) == [TWO, f"{THREE} too"]


def test_a_section_ends_at_the_next_heading() -> None:
    assert learnings(f"## Learnings\n- {ONE}\n### Next\n- {TWO}\n") == [ONE]


def test_bold_marks_and_noise_are_left_out() -> None:
    assert learnings(f"## Learnings\n- **Tokens** must rotate inside __one__ transaction\n- ok\n- n/a\n- {TWO}") == [
        ONE,
        TWO,
    ]


def test_scripts_without_spaces_are_not_noise() -> None:
    item = "令牌必须在同一个事务中轮换否则两个标签页会互相登出"
    assert learnings(f"## Learnings\n- {item}\n") == [item]


@pytest.mark.parametrize(
    "text",
    [
        "## Learnings" + " " * 100_000 + "x",
        "## Learnings\n- " + "**a " * 100_000,
        "## Learnings\n- " + "__a " * 100_000,
        "## Learnings\n" + "- \n" * 100_000,
        "## Learnings\n" + "#" * 300_000,
        "## Learnings\n" + "`" * 300_000,
        "\n" * 300_000,
    ],
)
def test_hostile_text_is_read_in_good_time(text: str) -> None:
    learnings(text)  # a pattern that backtracks would hang here


def test_each_item_is_saved_on_its_own_with_its_source(app: App) -> None:
    captured = app.observations.capture(f"## Key Learnings:\n1. {ONE}\n2. {TWO}\n", source="subagent-stop")

    assert (captured.extracted, captured.saved, captured.duplicates) == (2, (1, 2), 0)
    row = app.observations.get(1).observation
    assert (row.content, row.type, row.source, row.session_id) == (ONE, "passive", "subagent-stop", "manual-save-shop")


def test_what_the_project_knows_is_skipped_at_any_age(app: App, clock: Clock) -> None:
    app.observations.save(title="Rotation", content=ONE.upper(), type="pattern")
    clock.pass_minutes(60 * 24 * 400)

    captured = app.observations.capture(f"## Learnings\n- {ONE}\n- {TWO}\n- {TWO}\n")
    elsewhere = app.observations.capture(f"## Learnings\n- {ONE}\n", project="web")

    assert (captured.extracted, len(captured.saved), captured.duplicates) == (3, 1, 2)
    assert len(elsewhere.saved) == 1


def test_what_was_deleted_is_captured_again(app: App) -> None:
    app.observations.capture(f"## Learnings\n- {ONE}\n")
    app.observations.delete(1)

    assert app.observations.capture(f"## Learnings\n- {ONE}\n").saved == (2,)


def test_a_private_block_across_items_hides_all_of_it(app: App, data: Path) -> None:
    text = f"## Learnings\n- {ONE} <private>with the\n- yellowword note and\n- {TWO}</private> in the end\n- {THREE}\n"
    app.observations.capture(text)
    app.close()

    assert b"yellowword" not in b"".join(file.read_bytes() for file in data.iterdir() if file.is_file())


def test_all_or_nothing(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter(["obs-1", "obs-1"])
    monkeypatch.setattr(app.observations, "_new_id", lambda: next(made))

    with pytest.raises(Exception, match="obs"):
        app.observations.capture(f"## Learnings\n- {ONE}\n- {TWO}\n", project="brand-new", session_id="brand-new")

    assert app.status.stats().observations == 0
    assert app.projects.list() == []


def test_text_without_a_section_is_no_error_and_leaves_no_row(app: App) -> None:
    captured = app.observations.capture("Just words.", session_id="never-made", project="never-made")

    assert (captured.extracted, captured.saved) == (0, ())
    assert app.projects.list() == []


@pytest.mark.parametrize("text", ["", " \n", "\x00"])
def test_blank_text_is_refused(app: App, text: str) -> None:
    with pytest.raises(InvalidInput, match="content"):
        app.observations.capture(text)


def test_a_learning_that_is_very_long_is_kept_whole(app: App) -> None:
    item = "word " * 5_000 + "end"
    app.observations.capture(f"## Learnings\n- {item}\n")

    row = app.observations.get(1).observation
    assert row.content == item
    assert len(row.title) <= 80
