"""Stores, opened by URL: the scheme names the module."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from engram.errors import SettingsError

if TYPE_CHECKING:
    from engram.core.ports import Store

_MODULES = {"sqlite": "engram.storage.sqlite.store"}


def open_store(url: str, **options: object) -> Store:
    """Open `sqlite:///path/engram.db`. Raises `SettingsError` for a scheme that no store has."""
    scheme, _, rest = url.partition("://")
    module = _MODULES.get(scheme)
    if module is None:
        raise SettingsError(f"no store for `{scheme}:`", hint=f"known: {', '.join(sorted(_MODULES))}")
    return cast("Store", import_module(module).open_url(rest, **options))
