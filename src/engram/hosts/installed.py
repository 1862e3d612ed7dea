"""This installation, as far as others have to start it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import metadata

from engram.hosts.launching import Installation

DISTRIBUTION = "engram-keep"
# Folders in which `uvx` and `pipx run` make an environment for one run.
_PASSING = ("archive-v", "environments-v", "builds-v")


def this_installation(*, environ: Mapping[str, str], platform: str, executable: str, version: str) -> Installation:
    """`executable` is the interpreter that runs now, its links not followed."""
    scripts = os.path.dirname(os.path.abspath(executable))
    return Installation(
        distribution=DISTRIBUTION,
        version=version,
        search_path=environ.get("PATH", ""),
        scripts=scripts,
        from_index=_is_from_index(),
        platform=platform,
        is_temporary=is_passing(scripts),
    )


def is_passing(folder: str) -> bool:
    """Whether a folder belongs to an environment that was made for one run."""
    names = folder.replace("\\", "/").split("/")
    return any(name.startswith(_PASSING) for name in names) or (
        "pipx" in names and any(name in (".cache", "cache", "Cache") for name in names)
    )


def _is_from_index() -> bool:
    """An installer notes where a release came from when it was not an index (PEP 610)."""
    try:
        told = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return False
    try:
        return told is None or not json.loads(told).get("url")
    except ValueError:
        return False
