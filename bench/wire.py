"""An agent's side of the wire, for measuring: starts `engram mcp` and asks over stdio."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


class Agent:
    def __init__(self, folder: str) -> None:
        environment = {**os.environ, "ENGRAM_DATA_DIR": folder}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engram", "mcp", "--workspace", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._next = 0

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result; raises RuntimeError on an error of the protocol or of the tool."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        result: dict[str, Any] = reply.get("result", {})
        if "result" not in reply or result.get("isError"):
            raise RuntimeError(str(reply)[:500])
        return result

    def resident_mb(self) -> float:
        """Resident memory of the server (Linux); 0 elsewhere."""
        try:
            with open(f"/proc/{self._process.pid}/status", encoding="ascii") as status:
                for line in status:
                    if line.startswith("VmRSS"):
                        return int(line.split()[1]) / 1024
        except OSError:
            return 0.0
        return 0.0
