"""What the end-to-end tests of governed memory share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.governed import make_workspace


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return tmp_path / "shop"


@pytest.fixture
def root(shop: Path) -> Path:
    """The root of a workspace that this person has made in `shop`."""
    return make_workspace(shop)
