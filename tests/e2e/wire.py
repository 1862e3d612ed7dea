"""A raw JSON-RPC client over stdio: what it sends and reads is exactly what is on the wire."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


class Wire:
    """One `engram mcp` process. Every line of its stdout must be a JSON-RPC message, or `read` raises."""

    def __init__(self, data: Path, *arguments: str, workspace: Path | None = None, **environment: str) -> None:
        self.lines: list[bytes] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engram", "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=workspace,
            env={**os.environ, "ENGRAM_DATA_DIR": str(data), "ENGRAM_PROJECT": "shop", **environment},
        )
        self._next = 0

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send_raw(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.lines.append(line)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: dict[str, Any] | None = None, *, era: str = "legacy") -> dict[str, Any]:
        """The whole reply to one request."""
        self._next += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._next, "method": method}
        params = dict(params or {})
        if era == "modern":
            params["_meta"] = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
        if params:
            message["params"] = params
        self.send_raw(json.dumps(message).encode())
        reply = self.read()
        assert reply["id"] == self._next
        return reply

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        reply = self.ask(
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
        )
        self.send_raw(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return reply

    def tool(self, name: str, *, era: str = "legacy", **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        reply = self.ask("tools/call", {"name": name, "arguments": arguments}, era=era)
        assert "result" in reply, reply
        return reply["result"]

    def close(self) -> tuple[int, str]:
        """End of input; returns exit status and what was written to stderr."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            out, err = self._process.communicate(timeout=30)
            self.lines += [line for line in out.split(b"\n") if line]
            self._stderr = err.decode()
        return self._process.returncode, self._stderr
