"""HTTP sessions and streams: what comes before an answer, what never gets one, what is idle."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from engram.errors import SettingsError
from engram.mcp_server.core import Result, Server
from engram.mcp_server.http import IDLE_SECONDS, build_app, serve_http
from tests.mcp.peers import make_server, tool

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer t"}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def client(server: Server, clock: Clock | None = None) -> TestClient:
    app = build_app(server, token="t", now=clock or Clock())
    return TestClient(app, base_url="http://127.0.0.1:7437", headers=HEADERS, raise_server_exceptions=False)


def session(http: TestClient, version: str = "2025-11-25") -> dict[str, str]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = http.post("/mcp", json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    return {"Mcp-Session-Id": hello.headers["mcp-session-id"]}


def call(id: int, name: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, **more}}


def test_progress_comes_as_events_before_the_answer() -> None:
    def works(arguments: dict[str, Any], call: Any) -> Result:
        call.progress(1, 2)
        return Result("worked")

    with client(make_server(tool("works", works))) as http:
        answer = http.post("/mcp", json=call(1, "works", _meta={"progressToken": "p"}), headers=session(http))
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[0]["method"] == "notifications/progress"
    assert events[-1]["result"]["content"][0]["text"] == "worked"


def test_a_request_that_was_cancelled_ends_without_an_answer() -> None:
    def gives_up(arguments: dict[str, Any], call: Any) -> Result:
        call.peer.cancel(call.id)
        return Result("too late")

    with client(make_server(tool("gives-up", gives_up))) as http:
        answer = http.post("/mcp", json=call(1, "gives-up"), headers=session(http))
    assert (answer.status_code, answer.content) == (202, b"")


def test_a_batch_is_answered_as_one_and_one_of_notices_not_at_all() -> None:
    with client(make_server()) as http:
        of_session = session(http, "2025-03-26")
        notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        answer = http.post("/mcp", json=[call(1, "echo"), notice, call(2, "echo")], headers=of_session)
        assert sorted(reply["id"] for reply in answer.json()) == [1, 2]
        assert http.post("/mcp", json=[notice, notice], headers=of_session).status_code == 202


def test_an_answer_that_json_cannot_say_is_a_failure_of_ours() -> None:
    odd = tool("odd", lambda arguments, call: Result("x", structured=float("nan")))
    with client(make_server(odd)) as http:
        answer = http.post("/mcp", json=call(1, "odd"), headers=session(http))
    assert answer.json()["error"]["code"] == -32603


def test_an_idle_session_ends_and_a_used_one_does_not() -> None:
    clock = Clock()
    with client(make_server(), clock) as http:
        idle, used = session(http), session(http)
        for _ in range(3):
            clock.now += IDLE_SECONDS / 2
            assert http.post("/mcp", json=call(1, "echo"), headers=used).status_code == 200
        assert http.post("/mcp", json=call(1, "echo"), headers=idle).status_code == 404


def test_other_paths_and_methods_are_refused_in_json() -> None:
    with client(make_server()) as http:
        for method, path, status in (("GET", "/nothing", 404), ("PUT", "/mcp", 405)):
            refused = http.request(method, path)
            assert refused.status_code == status
            assert "error" in refused.json()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9:80", "[::1]:7437", "localhost:7437"])
def test_every_name_of_this_machine_is_served(host: str) -> None:
    with client(make_server()) as http:
        assert http.post("/mcp", json={}, headers={"Host": host}).status_code == 400


@pytest.mark.parametrize(
    "host", ["127.evil.example", "localhost.evil.example", "[::]", "0.0.0.0", "", "127.0.0.1.nip.io"]
)
def test_a_name_that_only_looks_like_this_machine_is_refused(host: str) -> None:
    with client(make_server()) as http:
        assert http.post("/mcp", json={}, headers={"Host": host}).status_code == 403
        assert http.post("/mcp", json={}, headers={"Origin": f"http://{host}"}).status_code == 403
    with pytest.raises(SettingsError):
        serve_http(make_server(), host, 1, "t", closing=lambda: None)
