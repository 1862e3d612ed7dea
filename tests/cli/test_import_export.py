"""engram import and engram export, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram.cli import main
from tests import foreign


@pytest.fixture
def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command line in an empty folder; gives its status, stdout and stderr."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def call(*argv: str) -> tuple[int, str, str]:
        status = main(list(argv))
        told = capsys.readouterr()
        return status, told.out, told.err

    return call


def data(out: str) -> Any:
    return json.loads(out)["data"]


def test_an_import_tells_what_came_in(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    path = foreign.export(
        tmp_path / "old.json", observations=[foreign.observation(1), foreign.observation(2, title="")]
    )

    status, out, err = run("import", path)

    assert (status, err) == (0, "")
    assert "Imported" in out
    assert "observations: 2 created, 0 updated, 0 unchanged, 0 skipped" in out
    assert "note: title is blank: (untitled): 1 (observations[1])" in out
    assert "#2" in run("search", "decided")[1]


def test_a_dry_run_says_that_nothing_was_changed(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    path = foreign.export(tmp_path / "old.json")

    status, out, _ = run("import", path, "--dry-run")

    assert status == 0
    assert "Would import" in out
    assert "2 created" in out
    assert data(run("stats", "--json")[1])["observations"] == 0


def test_what_is_exported_comes_in_again(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    run("import", foreign.database(tmp_path / "engram.db"), "--project", "moved")

    status, out, _ = run("export")
    again = run("export")
    forced = run("export", "--force", "--json")
    back = run("import", "engram-export.json", "--json")

    assert status == 0
    assert "Wrote 2 observations, 1 prompt and 1 session to engram-export.json" in out
    assert again[0] == 8
    assert "exists already" in again[2]
    assert data(forced[1])["observations"] == 2
    told = data(back[1])
    assert told["format"] == "Engram export 0.2.0"
    assert told["observations"] == {"created": 0, "updated": 0, "unchanged": 2, "skipped": 0}


def test_an_export_to_stdout_is_the_export_and_nothing_else(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    run("import", foreign.export(tmp_path / "old.json"))

    status, out, err = run("export", "-")

    assert (status, err) == (0, "")
    assert len(json.loads(out)["observations"]) == 2
    assert run("export", "-", "--json")[0] == 2


def test_a_repository_comes_in(run: Callable[..., tuple[int, str, str]], repository: Callable[..., Path]) -> None:
    folder = repository("front")

    status, out, _ = run("import", "--git", str(folder), "--limit", "5")

    assert status == 0
    assert "(git)" in out
    assert "1 created" in out
    assert "1 unchanged" in run("import", "--git", str(folder))[1]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ((), "give a file, or --git DIR"),
        (("a.json", "--git", "."), "give a file, or --git DIR"),
        (("a.json", "--limit", "3"), "--limit: goes with --git"),
        (("--git", ".", "--limit", "x"), "whole number"),
        (("a.json",), "a.json: cannot be read"),
        (("--git", "nowhere"), "nowhere: is not a folder"),
    ],
)
def test_a_mistake_is_told_with_status_2(
    run: Callable[..., tuple[int, str, str]], argv: tuple[str, ...], told: str
) -> None:
    status, out, err = run("import", *argv)

    assert (status, out) == (2, "")
    assert told in err


def test_progress_is_shown_on_a_terminal_only(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = foreign.export(tmp_path / "old.json")
    quiet = run("import", path, "--dry-run")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    shown = run("import", path)

    assert quiet[2] == ""
    assert "3 of 3 rows" in shown[2]
    assert "rows" not in shown[1]
