"""Codex's own server for editors: what it says of the servers and hooks that it is configured with."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.e2e.hosts.person import PATIENCE, Person


def ask_codex(person: Person, method: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The `data` of the answer to one request, as in `mcpServerStatus/list`. It starts the servers to find out."""
    lines = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": method, "params": params},
    ]
    process = subprocess.Popen(
        ["codex", "app-server"],
        cwd=person.shop,
        env=person.environment("codex"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        for answer in process.stdout:
            message = json.loads(answer)
            if message.get("id") == 2:
                found: list[dict[str, Any]] = message["result"]["data"]
                return found
        raise AssertionError("codex app-server has gone without an answer")
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdin.close()
        process.stdout.close()
