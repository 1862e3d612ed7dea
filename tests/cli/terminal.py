"""Runs the command line as a person's shell would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out)
        return value


def engram(*arguments: str, stdin: bytes | None = None, cwd: Path | None = None, **environment: str) -> Ended:
    """One command in a process of its own; without `stdin` it is closed, as in a cron job."""
    done = subprocess.run(
        [sys.executable, "-m", "engram", *arguments],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, "ENGRAM_PROJECT": "shop", "PYTHONWARNINGS": "error", **environment},
    )
    return Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
