"""`engram-mcp` driven from outside in both protocol eras, and the person behind the client."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engram.bootstrap import open_app
from tests.e2e.wire import MODERN, PREFIX, Wire

ERAS = ("legacy", "flat", "modern")  # flat: handshake clients of 2025-06-18, whose forms hold single values only
DEFAULT = ("legacy", "modern")
FORM: dict[str, Any] = {"elicitation": {"form": {}}}
NOT_THERE: dict[str, Any] = {}
GOVERNED = [sys.executable, "-c", "import sys; from engram.__main__ import main_mcp; sys.exit(main_mcp())"]
PLAIN = [sys.executable, "-m", "engram", "mcp"]
# Nothing here is timed: a server that does not answer at all must fail a test, not hang the suite.
PATIENCE = 60


def make_workspace(folder: Path) -> Path:
    """A workspace whose root this person has made; the path of the root."""
    folder.mkdir(parents=True, exist_ok=True)
    app = open_app(workspace=str(folder))
    try:
        return Path(app.trust.init().path)
    finally:
        app.close()


def text(result: dict[str, Any]) -> str:
    said: str = result["content"][0]["text"]
    return said


def data_of(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result["structuredContent"]["data"]
    return found


def everything_below(*folders: Path) -> dict[Path, bytes]:
    """Every file below some folders and what is in it."""
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def memories(root: Path) -> list[str]:
    """Files that are memories or notes, relative to their root."""
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.md"))


def waiting(root: Path) -> list[dict[str, Any]]:
    """The pending records that could still be approved."""
    path = root / "pending-approvals.json"
    if not path.exists():
        return []
    return [row for row in json.loads(path.read_text())["proposals"] if row["status"] == "waiting"]


class Governed(Wire):
    """One server process. Replies may come in any order, so every line goes through a thread into a queue."""

    def __init__(
        self,
        workspace: Path,
        *arguments: str,
        era: str = "legacy",
        capabilities: dict[str, Any] | None = None,
        command: list[str] | None = None,
        **environment: str,
    ) -> None:
        self.era = era
        self.capabilities = NOT_THERE if capabilities is None else capabilities
        self.lines: list[bytes] = []
        self.patience = PATIENCE
        self._next = 0
        self._early: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [*(command or GOVERNED), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=workspace,
            env={**os.environ, "ENGRAM_PROJECT": "shop", **environment},
        )
        self._inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._errors: list[bytes] = []
        self._threads = [threading.Thread(target=self._take_out), threading.Thread(target=self._take_err)]
        for thread in self._threads:
            thread.start()
        if era != "modern":
            self._shake_hands()

    def _take_out(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._inbox.put(line)
        self._inbox.put(b"")

    def _take_err(self) -> None:
        assert self._process.stderr is not None
        self._errors += list(self._process.stderr)

    def _shake_hands(self) -> None:
        about = {
            "protocolVersion": "2025-06-18" if self.era == "flat" else "2025-11-25",
            "capabilities": self.capabilities,
            "clientInfo": {"name": "raw", "version": "1"},
        }
        self.hello = self.request("initialize", about)
        self.send_raw(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def __enter__(self) -> Governed:
        return self

    def read(self) -> dict[str, Any]:
        line = self._inbox.get(timeout=self.patience)
        assert line, f"the server has gone: {self.stderr}"
        self.lines.append(line)
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message for which `wanted` holds; others are kept for later."""
        for at, message in enumerate(self._early):
            if wanted(message):
                return self._early.pop(at)
        while True:
            message = self.read()
            if wanted(message):
                return message
            self._early.append(message)

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request and do not wait; its id."""
        self._next += 1
        params = dict(params or {})
        if self.era == "modern":
            params["_meta"] = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": self.capabilities}
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.send_raw(json.dumps(message).encode())
        return self._next

    def answer_to(self, id: int) -> dict[str, Any]:
        return self.wait(lambda message: message.get("id") == id and "method" not in message)

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The whole reply to one request."""
        return self.answer_to(self.send(method, params))

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call that asks nobody."""
        reply = self.request("tools/call", {"name": name, "arguments": arguments})
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        assert result.get("resultType", "complete") == "complete", result
        return result

    def begin(self, name: str, **arguments: Any) -> Dialog:
        """A tool call that asks the person: its dialog, open."""
        params = {"name": name, "arguments": arguments}
        if self.era == "modern":
            reply = self.request("tools/call", params)
            assert reply["result"]["resultType"] == "input_required", reply
            return Dialog(self, params, 0, reply["result"])
        id = self.send("tools/call", params)
        return Dialog(self, params, id, self.wait(lambda message: message.get("method") == "elicitation/create"))

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode()

    def close(self) -> tuple[int, str]:
        """End of input; returns exit status and what was written to stderr."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            for thread in self._threads:
                thread.join(PATIENCE)
            for stream in (self._process.stdout, self._process.stderr):
                assert stream is not None
                stream.close()
        return self._process.returncode, self.stderr


class Dialog:
    """An open question to the person, as the era puts it."""

    def __init__(self, server: Governed, params: dict[str, Any], call: int, asked: dict[str, Any]) -> None:
        self._server = server
        self.given = params
        self.call = call
        self.is_modern = server.era == "modern"
        if self.is_modern:
            assert len(asked["inputRequests"]) == 1
            ((self.key, request),) = asked["inputRequests"].items()
            assert request["method"] == "elicitation/create"
            self.state = asked["requestState"]
            self.params = request["params"]
        else:
            self.key = asked["id"]
            self.state = ""
            self.params = asked["params"]
        self.message: str = self.params["message"]
        self.schema: dict[str, Any] = self.params["requestedSchema"]

    @property
    def numbers(self) -> list[int]:
        """The candidates that the form offers."""
        properties = self.schema["properties"]
        if "approve" in properties:
            return [int(row["const"]) for row in properties["approve"]["items"]["anyOf"]]
        return [int(name.removeprefix("candidate_")) for name in properties if name.startswith("candidate_")]

    def choose(self, *numbers: int, **more: Any) -> dict[str, Any]:
        """The content of a form in which these candidates are ticked."""
        if "save" in self.schema["properties"]:
            return {"save": bool(numbers), **more}
        if "approve" in self.schema["properties"]:
            return {"approve": [str(number) for number in numbers], **more}
        return {**{f"candidate_{number}": number in numbers for number in self.numbers}, **more}

    def accept(self, *numbers: int, **more: Any) -> dict[str, Any]:
        return self.result({"action": "accept", "content": self.choose(*numbers, **more)})

    def result(self, answer: Any) -> dict[str, Any]:
        """The result of the call after this answer."""
        reply = self.reply(answer)
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def reply(self, answer: Any) -> dict[str, Any]:
        if self.is_modern:
            again = {**self.given, "inputResponses": {self.key: answer}, "requestState": self.state}
            return self._server.request("tools/call", again)
        self.respond({"result": answer})
        return self._server.answer_to(self.call)

    def respond(self, body: dict[str, Any]) -> None:
        """The client's answer to our request, as a handshake client sends it."""
        self._server.send_raw(json.dumps({"jsonrpc": "2.0", "id": self.key, **body}).encode())
