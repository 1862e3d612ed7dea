"""These tests drive real programs: they run by `make test-hosts` and are left out of the ordinary run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import git
from tests.e2e.hosts.person import Person
from tests.e2e.hosts.programs import CACHE

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for test in items:
        if HERE in test.path.parents:
            test.add_marker(pytest.mark.hosts)
            if not CACHE:
                test.add_marker(pytest.mark.skip(reason="needs agent programs from npm: make test-hosts"))


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A person with a project under Git. Our own programs find their data where theirs do: below the home folder,
    since not every agent program hands environment variables on."""
    person = Person(tmp_path)
    monkeypatch.setenv("HOME", str(person.home))
    monkeypatch.setenv("USERPROFILE", str(person.home))
    monkeypatch.delenv("ENGRAM_DATA_DIR")
    git(person.shop, "init", "-q", "-b", "main")
    return person


@pytest.fixture
def link(person: Person) -> Callable[..., str]:
    """Links one program as a person is told to: in the workspace, or for all of them."""

    def link(program: str, *options: str) -> str:
        return person.engram("setup", program, *options, program=program)

    return link


@pytest.fixture
def unlink(person: Person) -> Callable[..., str]:
    def unlink(program: str, *options: str) -> str:
        return person.engram("unlink", program, *options, program=program)

    return unlink
