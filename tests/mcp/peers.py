"""A peer in this process, and a server with a few tools to call."""

from __future__ import annotations

import json
import threading
from typing import Any

from engram.mcp_server.core import Call, Peer, Prompt, Resource, Result, Server, Template, Tool

PREFIX = "io.modelcontextprotocol/"
MODERN = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


class Line:
    """One client's end: what was sent to it, and requests that wait for their reply."""

    def __init__(self, server: Server) -> None:
        self.sent: list[Any] = []
        self._changed = threading.Condition()
        self.peer = Peer(server, self._take)
        self._next = 0

    def _take(self, message: Any) -> None:
        with self._changed:
            self.sent.append(message)
            self._changed.notify_all()

    def say(self, message: Any) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.peer.receive(raw)

    def wait(self, wanted: Any, seconds: float = 20) -> Any:
        """The first message for which `wanted` holds."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(wanted(m) for m in self.sent), timeout=seconds), self.sent
            return next(m for m in self.sent if wanted(m))

    def ask(self, method: str, params: Any = None, *, modern: bool = False, meta: Any = None) -> dict[str, Any]:
        """The reply to one request."""
        self._next += 1
        id = f"r{self._next}"
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if modern or meta is not None:
            params = {**(params or {}), "_meta": meta if meta is not None else MODERN}
        if params is not None:
            message["params"] = params
        self.say(message)
        return self.wait(lambda m: isinstance(m, dict) and m.get("id") == id and "method" not in m)

    def initialize(self, version: str = "2025-11-25", capabilities: Any = None) -> dict[str, Any]:
        about = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        return self.ask("initialize", about)["result"]


def echo(arguments: dict[str, Any], call: Call) -> Result:
    return Result(f"echo {arguments.get('text', '')}", structured={"text": arguments.get("text", "")})


def breaks(arguments: dict[str, Any], call: Call) -> Result:
    raise RuntimeError("a secret reason")


def confirms(arguments: dict[str, Any], call: Call) -> Result:
    schema = {"type": "object", "properties": {"yes": {"type": "boolean"}}}
    answer = call.elicit("Really?", schema, payload={"n": 1})
    return Result(f"{answer['action']} {json.dumps(answer.get('content'))}")


def tool(name: str, run: Any, **more: Any) -> Tool:
    return Tool(name=name, description=f"{name}.", input_schema=NOTHING, run=run, **more)


def make_server(*more: Tool, **options: Any) -> Server:
    return Server(
        name="test",
        version="1",
        instructions="Say hello.",
        tools=[tool("echo", echo), tool("breaks", breaks), tool("confirms", confirms, interactive=True), *more],
        resources=[
            Resource(
                uri="engram://index",
                name="index",
                description="all",
                mime_type="text/plain",
                read=lambda uri, values, call: [{"uri": uri, "text": "all of it"}],
            )
        ],
        templates=[
            Template(
                uri="engram://memory/{id}",
                name="memory",
                description="one",
                mime_type="text/plain",
                read=lambda uri, values, call: [{"uri": uri, "text": values["id"]}],
            )
        ],
        prompts=[
            Prompt(
                name="propose",
                description="propose",
                arguments=[{"name": "what", "required": True}],
                run=lambda given, call: {
                    "messages": [{"role": "user", "content": {"type": "text", "text": given["what"]}}]
                },
            )
        ],
        **options,
    )
