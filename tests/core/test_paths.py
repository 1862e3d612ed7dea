"""Paths are compared by their names, also where they lie on different drives."""

from __future__ import annotations

import ntpath
import posixpath
from types import ModuleType

import pytest

from engram.paths import is_within, seen_from


@pytest.mark.parametrize(
    ("flavour", "path", "folder", "is_inside"),
    [
        (posixpath, "/a/b/c", "/a/b", True),
        (posixpath, "/a/b", "/a/b", True),
        (posixpath, "/a/bc", "/a/b", False),
        (ntpath, r"C:\shop\rules\x.md", r"C:\shop", True),
        (ntpath, r"c:\Shop\rules\x.md", r"C:\shop", True),
        (ntpath, r"D:\shop\rules\x.md", r"C:\shop", False),
    ],
)
def test_a_path_of_another_drive_is_outside(flavour: ModuleType, path: str, folder: str, is_inside: bool) -> None:
    assert is_within(path, folder, flavour=flavour) is is_inside


@pytest.mark.parametrize(
    ("flavour", "path", "folder", "shown"),
    [
        (posixpath, "/a/b/c.md", "/a/b", "c.md"),
        (posixpath, "/a/c.md", "/a/b", "../c.md"),
        (ntpath, r"C:\shop\docs\c.md", r"C:\shop", "docs/c.md"),
        (ntpath, r"D:\notes\c.md", r"C:\shop", "D:/notes/c.md"),
    ],
)
def test_a_path_of_another_drive_is_shown_whole(flavour: ModuleType, path: str, folder: str, shown: str) -> None:
    assert seen_from(path, folder, flavour=flavour) == shown
