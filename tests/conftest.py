"""A small world for each test: an empty home, a clock that only moves when told, ids in order."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.core import times
from engram.settings import load


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder; nothing of the real one is read or written."""
    place = tmp_path / "home"
    place.mkdir()
    for name in [name for name in os.environ if name.startswith(("ENGRAM_", "CLAUDE_", "GIT_"))]:
        if name != "ENGRAM_CI_WORK":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("USERPROFILE", str(place))
    monkeypatch.setenv("ENGRAM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    return place


class Clock:
    """Time that stands still until `pass_minutes` or the next reading with `step`."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
        self.step = timedelta(milliseconds=1)

    def __call__(self) -> str:
        self.moment += self.step
        return times.stamp(self.moment)

    def pass_minutes(self, minutes: float) -> None:
        self.moment += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def make_app(data: Path, clock: Clock, tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Makes apps on one store, each as a process of its own would see it."""
    made: list[App] = []
    count = 0

    def new_id() -> str:
        nonlocal count
        count += 1
        return f"obs-{count:032x}"

    def make(
        *, workspace: Path | None = None, process: str = "process-1", profile: str = "", **environment: str
    ) -> App:
        folder = workspace or tmp_path / "shop"
        folder.mkdir(exist_ok=True)
        settings = load({"ENGRAM_DATA_DIR": str(data), "ENGRAM_PROJECT": "shop", **environment})
        app = App(settings, workspace=str(folder), process=process, profile=profile, now=clock, new_id=new_id)
        made.append(app)
        return app

    yield make
    for app in made:
        app.close()


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app()


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Path]:
    """Makes a git repository with one commit."""

    def make(name: str, *, origin: str | None = None) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
        if origin:
            git(folder, "remote", "add", "origin", origin)
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
        return folder

    return make


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout
