"""An agent program as a hook sees it: it writes JSON to a process, and reads one JSON object from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAYLOADS = Path(__file__).parent / "payloads"


class Host:
    """Runs hooks for one folder. `environ` comes on top of the test's own."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.environ = {"ENGRAM_PROJECT": "shop", "ENGRAM_HOOK_DEADLINE_MS": "60000", **environ}

    def run(self, arguments: list[str], raw: bytes, *, command: str = "hook", **environ: str) -> dict[str, Any]:
        """The answer; that the process kept its promises is checked for every one."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "engram", command, *arguments],
            input=raw,
            capture_output=True,
            env={**os.environ, **self.environ, **environ},
            cwd=self.folder if self.folder.is_dir() else "/",
            timeout=120,
        )
        assert done.returncode == 0
        assert done.stderr == b""
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        assert len(done.stdout.splitlines()) == 1
        return answer

    def tell(self, host: str, event: str, *, env: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
        payload = {"cwd": str(self.folder), "session_id": "s1", "hook_event_name": event, **fields}
        return self.run([host, event], json.dumps(payload).encode(), **(env or {}))

    def start(self, host: str = "claude", *, env: dict[str, str] | None = None, **fields: Any) -> str:
        """What a session start brings."""
        event = "sessionStart" if host in ("cursor", "copilot") else "SessionStart"
        return context_of(self.tell(host, event, env=env, **{"source": "startup", **fields}))

    def ask(self, prompt: str, host: str = "claude", **fields: Any) -> str:
        return context_of(self.tell(host, "UserPromptSubmit", prompt=prompt, **fields))


def context_of(answer: dict[str, Any]) -> str:
    inner = answer.get("hookSpecificOutput", {})
    return str(
        inner.get("additionalContext") or answer.get("additional_context") or answer.get("additionalContext") or ""
    )


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for a process that goes on by itself; a minute says that it never will."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
