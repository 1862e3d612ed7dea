"""Every kind of result in every protocol version, judged by the official wire types."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import methods

from tests.mcp.peers import MODERN, PREFIX, Line, make_server

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
FORMS = {**MODERN, PREFIX + "clientCapabilities": {"elicitation": {"form": {}}}}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "echo", "arguments": {"text": "x"}}),
    ("tools/call", {"name": "breaks", "arguments": {}}),
    ("tools/call", {"name": "confirms", "arguments": {}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "engram://memory/a-1"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "propose", "arguments": {"what": "x"}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "propose"}, "argument": {"name": "a", "value": ""}}),
]


@pytest.fixture
def line() -> Line:
    return Line(make_server(complete=lambda params: ["one"], logs=True))


@pytest.mark.parametrize("version", LEGACY)
def test_each_result_of_the_handshake_era_is_what_its_version_defines(line: Line, version: str) -> None:
    methods.validate_server_result("initialize", version, line.initialize(version))
    for method, params in [*REQUESTS, ("ping", {}), ("logging/setLevel", {"level": "info"})]:
        result = line.ask(method, params)["result"]
        methods.validate_server_result(method, version, result)
        assert "resultType" not in result


def test_each_modern_result_is_what_the_version_defines(line: Line) -> None:
    for method, params in [*REQUESTS, ("server/discover", {})]:
        result = line.ask(method, params, meta=FORMS)["result"]
        methods.validate_server_result(method, "2026-07-28", result)
        cached = method in methods.CACHEABLE_METHODS
        assert (result["resultType"], "ttlMs" in result) in (("complete", cached), ("input_required", False))


def test_what_is_asked_of_a_handshake_client_is_what_its_version_defines(line: Line) -> None:
    line.initialize("2025-11-25", {"elicitation": {}})
    line.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "confirms", "arguments": {}}})
    asked = line.wait(lambda message: message.get("method") == "elicitation/create")
    methods.parse_server_request("elicitation/create", "2025-11-25", asked["params"])
    line.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
    assert line.wait(lambda message: message.get("id") == 1)["result"]["content"][0]["text"].startswith("decline")
