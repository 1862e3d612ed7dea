"""Streamable HTTP: who may call, what is refused, both eras at one path."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from engram.errors import SettingsError
from engram.mcp_server.http import build_app, serve_http
from tests.mcp.peers import MODERN, make_server

TOKEN = "a-token-for-this-test"
ACCEPT = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {TOKEN}"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(build_app(make_server(), token=TOKEN), base_url="http://127.0.0.1:7437", headers=ACCEPT) as made:
        yield made


def modern(method: str, params: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**(params or {}), "_meta": MODERN}}
    return {"json": body, "headers": {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **headers}}


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_every_route_that_reads_or_writes_wants_the_token(client: TestClient, given: str) -> None:
    for method in ("POST", "GET", "DELETE"):
        refused = client.request(method, "/mcp", headers={"Authorization": given})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "error" in refused.json()


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}])
def test_other_hosts_and_origins_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/mcp", json=HELLO, headers=headers).status_code == 403


def test_pages_of_this_machine_may_call(client: TestClient) -> None:
    assert client.post("/mcp", json=HELLO, headers={"Origin": "http://localhost:3000"}).status_code == 200


def test_bodies_must_be_json_and_of_a_bounded_size(client: TestClient) -> None:
    assert client.post("/mcp", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    huge = b'"' + b"x" * (4 * 1024 * 1024) + b'"'
    assert client.post("/mcp", content=huge, headers={"Content-Type": "application/json"}).status_code == 413
    bad = client.post("/mcp", content=b"{bad", headers={"Content-Type": "application/json"})
    assert bad.status_code == 400
    assert bad.json()["error"]["code"] == -32700
    assert client.post("/mcp", json=HELLO, headers={"Accept": "text/html"}).status_code == 406


def test_a_handshake_client_works_in_a_session_until_it_ends_it(client: TestClient) -> None:
    hello = client.post("/mcp", json=HELLO)
    session = {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
    listed = client.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session)
    assert listed.json()["result"]["tools"][0]["name"] == "echo"
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert client.post("/mcp", json=note, headers=session).status_code == 202
    call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}
    assert client.post("/mcp", json=call, headers=session).json()["result"]["structuredContent"] == {"text": "x"}
    assert client.delete("/mcp", headers=session).status_code == 204
    assert client.post("/mcp", json=call, headers=session).status_code == 404
    assert client.post("/mcp", json=call).status_code == 400


def test_a_modern_request_stands_alone_and_its_headers_repeat_its_body(client: TestClient) -> None:
    assert client.post("/mcp", **modern("tools/list")).json()["result"]["resultType"] == "complete"
    call = {"name": "echo", "arguments": {"text": "x"}}
    assert client.post("/mcp", **modern("tools/call", call, **{"Mcp-Name": "echo"})).status_code == 200
    coded = "=?base64?" + base64.b64encode(b"echo").decode() + "?="
    assert client.post("/mcp", **modern("tools/call", call, **{"Mcp-Name": f" {coded} "})).status_code == 200
    for wrong in ({"Mcp-Name": "other"}, {}, {"Mcp-Name": "echo", "Mcp-Method": "tools/list"}):
        refused = client.post("/mcp", **modern("tools/call", call, **wrong))
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == -32020


def test_modern_errors_have_the_status_of_their_code(client: TestClient) -> None:
    assert client.post("/mcp", **modern("no/such")).status_code == 404
    assert client.post("/mcp", **modern("tools/call", {"name": "no"}, **{"Mcp-Name": "no"})).status_code == 400
    bare = {
        "json": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        "headers": {"MCP-Protocol-Version": "2026-07-28"},
    }
    refused = client.post("/mcp", **bare)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32602)


def test_only_a_loopback_address_is_served() -> None:
    with pytest.raises(SettingsError, match="loopback"):
        serve_http(make_server(), "0.0.0.0", 1, TOKEN, closing=lambda: None)
