"""A repository's history, whatever its messages and file names hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram import gitio
from engram.errors import NotFound
from tests.conftest import git


def test_messages_with_separators_of_other_formats_and_names_in_any_script_come_whole(
    repository: Callable[..., Path],
) -> None:
    folder = repository("shop")
    (folder / "größe 数据.txt").write_text("x")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "subject \x1f here", "-m", "\x1e a body\n\nof two parts\n\x1f")
    newest = next(gitio.history(str(folder)))
    assert newest.subject == "subject \x1f here"
    assert newest.body.startswith("\x1e a body")
    assert "of two parts" in newest.body
    assert newest.files == ("größe 数据.txt",)


def test_the_history_is_newest_first_and_bounded(repository: Callable[..., Path]) -> None:
    folder = repository("shop")
    for name in ("second", "third"):
        git(folder, "commit", "-q", "--allow-empty", "-m", name)
    assert [commit.subject for commit in gitio.history(str(folder))] == ["third", "second", "first"]
    assert [commit.subject for commit in gitio.history(str(folder), limit=1)] == ["third"]


def test_a_folder_without_a_repository_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no git repository"):
        list(gitio.history(str(tmp_path)))
