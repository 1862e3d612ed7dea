"""The few settings, each with its value and where it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from engram import paths
from engram.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Effective settings. `origins` names the source of each: `default` or an environment variable."""

    data_folder: str
    database_url: str
    project: str | None
    synchronous: str
    max_content_bytes: int
    context_tokens: int
    origins: Mapping[str, str]


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment. Raises `SettingsError` that names the variable with a wrong value."""
    env = dict(os.environ if environ is None else environ)
    origins: dict[str, str] = {}

    def text(field: str, variable: str, default: str | None) -> str | None:
        value = env.get(variable, "").strip()
        origins[field] = variable if value else "default"
        return value or default

    def whole(field: str, variable: str, default: int, least: int, most: int) -> int:
        raw = text(field, variable, None)
        if raw is None:
            return default
        if not raw.isascii() or not raw.isdigit() or not least <= int(raw) <= most:
            raise SettingsError(f"{variable}: must be a whole number from {least:,} to {most:,}")
        return int(raw)

    folder = paths.data_folder(env)
    origins["data_folder"] = "ENGRAM_DATA_DIR" if env.get("ENGRAM_DATA_DIR", "").strip() else "default"
    synchronous = (text("synchronous", "ENGRAM_SYNCHRONOUS", "full") or "full").upper()
    if synchronous not in ("FULL", "NORMAL"):
        raise SettingsError("ENGRAM_SYNCHRONOUS: must be `full` or `normal`")
    default_url = "sqlite://" + paths.database_file(folder)
    return Settings(
        data_folder=folder,
        database_url=text("database_url", "ENGRAM_DATABASE_URL", default_url) or default_url,
        project=text("project", "ENGRAM_PROJECT", None),
        synchronous=synchronous,
        max_content_bytes=whole("max_content_bytes", "ENGRAM_MAX_CONTENT_BYTES", 1024 * 1024, 1024, 64 * 1024 * 1024),
        context_tokens=whole("context_tokens", "ENGRAM_CONTEXT_TOKENS", 4000, 200, 100_000),
        origins=origins,
    )
