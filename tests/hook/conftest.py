"""The world of the hook: a workspace that uses Engram, and the agent program that works in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram.bootstrap import App
from tests.hook.host import Host


@pytest.fixture
def shop(app: App) -> Path:
    """A workspace that this person made."""
    app.trust.init()
    return Path(app.workspace)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "shop")
