"""What a person is asked at a terminal, and what their answers do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.person import at_terminal
from tests.cli.terminal import engram
from tests.services.governed import foreign

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo terminals")


@pytest.fixture
def checkout(repository: Callable[..., Path]) -> Path:
    """A repository with memories that nobody here has seen."""
    folder = repository("checkout")
    for at in range(60):
        foreign(folder / ".agents" / ".engram", f"whale-{at:02}", f"Whale number {at} sings at night.")
    return folder


# -- trust -------------------------------------------------------------------------------------------------------------


def test_trust_shows_every_memory_and_counts_them(checkout: Path) -> None:
    foreign(checkout / ".agents" / ".engram", "old", "Whales were hunted.", lifecycle="archived")

    ended = at_terminal("trust", types=["y"], cwd=checkout)

    assert ended.status == 0, ended.err
    assert sum(line.startswith("- ") for line in ended.err.split("\n")) == 61
    assert "- old · rule · workspace · About old: Whales were hunted. (archived)" in ended.err
    assert "Trust 61 memories as instructions to your agents? [y/N]" in ended.err
    assert ": trusted (trusted)" in ended.out


@pytest.mark.parametrize("command", ["trust", "init"])
def test_what_came_or_changed_between_showing_and_answering_is_not_trusted(checkout: Path, command: str) -> None:
    root = checkout / ".agents" / ".engram"

    def slip_in() -> str:
        foreign(root, "sharks", "Sharks are fed by hand.")
        foreign(root, "whale-00", "Whales are fed by hand.")
        return "y"

    ended = at_terminal(command, types=[slip_in], cwd=checkout)

    assert ended.status == 8
    assert "came or changed since they were shown: rules/sharks.md, rules/whale-00.md; nothing was trusted" in ended.err
    assert "not trusted" in engram("trust", "--status", cwd=checkout).out


def test_trust_is_given_after_a_change_only_to_what_is_shown_then(checkout: Path) -> None:
    assert at_terminal("trust", types=["n"], cwd=checkout).status == 8
    foreign(checkout / ".agents" / ".engram", "sharks", "Sharks are fed by hand.")

    ended = at_terminal("trust", types=["y"], cwd=checkout)

    assert "- sharks" in ended.err
    assert ended.status == 0


# -- approval ----------------------------------------------------------------------------------------------------------

ONE = "TYPE: rule | TEXT: Whales are counted at dawn."
TWO = f"{ONE}\nTYPE: rule | TEXT: Sharks are never fed by hand."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert engram("init", cwd=folder).status == 0
    return folder


def rules(folder: Path) -> int:
    return len(list((folder / ".agents" / ".engram" / "rules").glob("*.md")))


@pytest.mark.parametrize(
    ("text", "answers", "written"),
    [
        (ONE, ["yep", "x", "y"], 1),
        (
            ONE,
            [
                "",
            ],
            0,
        ),
        (ONE, ["9", "n"], 0),
        (TWO, ["", "A 1,9", "2"], 1),
        (TWO, ["vielleicht", "A"], 2),
        (TWO, ["A 0", "C"], 0),
    ],
)
def test_an_answer_that_is_none_is_asked_again(shop: Path, text: str, answers: list[str], written: int) -> None:
    ended = at_terminal("propose", text, types=answers, cwd=shop)

    assert (ended.status, rules(shop)) == (0 if written else 8, written), ended.err
    assert ended.err.count("Please type") == len(answers) - 1
    assert "Nothing waits" in engram("review", cwd=shop).out


@pytest.mark.parametrize("answers", [["q", "q", "q"], ["\x04"]])
@pytest.mark.parametrize("text", [ONE, TWO])
def test_nothing_that_can_be_understood_decides_nothing(shop: Path, text: str, answers: list[str]) -> None:
    ended = at_terminal("propose", text, types=answers, cwd=shop)

    assert (ended.status, rules(shop)) == (8, 0)
    assert "Nothing was decided; it waits until" in ended.out
    assert "approve: engram approve" in engram("review", cwd=shop).out


def test_an_approval_asks_again_and_does_nothing_in_the_end(shop: Path) -> None:
    foreign(shop / ".agents" / ".engram", "whales", "Whales are counted at dawn.")

    assert "Nothing was changed" in at_terminal("approve", "whales", types=["q", "w", "e"], cwd=shop).out
    assert "approved whales" in at_terminal("approve", "whales", types=["q", "y"], cwd=shop).out


# -- undo --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(shop: Path) -> Path:
    """A workspace with one approved rule."""
    assert at_terminal("propose", ONE, types=["y"], cwd=shop).status == 0
    return shop


def test_undo_shows_what_it_would_take_back_and_asks(kept: Path) -> None:
    (rule,) = (kept / ".agents" / ".engram" / "rules").glob("*.md")

    kept_it = at_terminal("undo", types=["n"], cwd=kept)
    assert (kept_it.status, rules(kept)) == (8, 1)
    assert f"- removed: {rule.stem} (workspace) in rules/{rule.name}" in kept_it.err

    took_it = at_terminal("undo", types=["y"], cwd=kept)
    assert (took_it.status, rules(kept)) == (0, 0)


def test_undo_shows_the_way_back_of_a_changed_memory(kept: Path) -> None:
    (rule,) = (kept / ".agents" / ".engram" / "rules").glob("*.md")
    update = f"TYPE: rule | TEXT: Whales are counted at noon. | UPDATE: {rule.stem}"
    assert at_terminal("propose", update, types=["y"], cwd=kept).status == 0

    shown = at_terminal("undo", types=["n"], cwd=kept).err

    assert "   | -Whales are counted at noon." in shown
    assert "   | +Whales are counted at dawn." in shown


def test_undo_without_a_terminal_needs_a_yes(kept: Path) -> None:
    refused = engram("undo", stdin=b"y\n", cwd=kept)
    assert (refused.status, rules(kept)) == (5, 1)
    assert "--yes" in refused.err

    assert (engram("undo", "--yes", cwd=kept).status, rules(kept)) == (0, 0)


def test_undo_takes_back_the_batch_that_was_shown(kept: Path) -> None:
    def save_another() -> str:
        assert engram("save-session", "--force", "TYPE: rule | TEXT: Sharks sleep at sea.", cwd=kept).status == 0
        return "y"

    ended = at_terminal("undo", types=[save_another], cwd=kept)

    assert ended.status == 0, ended.err
    (left,) = (kept / ".agents" / ".engram" / "rules").glob("*.md")
    assert "Sharks sleep at sea" in left.read_text()


# -- import ------------------------------------------------------------------------------------------------------------


def test_importing_memories_without_a_place_for_them_is_refused(checkout: Path, tmp_path: Path, home: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()

    refused = engram("import", str(checkout), cwd=place)

    assert refused.status == 7
    assert "--scope global" in refused.err
    assert not (home / ".engram").exists()


def test_importing_memories_says_where_they_go(checkout: Path, shop: Path, tmp_path: Path, home: Path) -> None:
    dry = engram("import", str(checkout), "--scope", "global", "--dry-run", cwd=tmp_path)
    assert f"into {home / '.engram' / 'global'}" in dry.out
    assert not (home / ".engram").exists()

    taken = engram("import", str(checkout), cwd=shop)
    assert taken.err == f"Goes into {shop / '.agents' / '.engram'}\n"
    assert (taken.status, rules(shop)) == (0, 60)

    taken = engram("import", str(checkout), "--scope", "global", "--json", cwd=tmp_path)
    assert taken.json["data"]["target"] == str(home / ".engram" / "global")
