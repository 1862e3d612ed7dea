"""What once went wrong, or nearly: each of these would end a session or lose a save."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from engram.mcp_server.core import Result, encode
from engram.mcp_server.wire import MAX_DEPTH
from tests.mcp.peers import MODERN, PREFIX, Line, make_server, tool

FORMS = {**MODERN, PREFIX + "clientCapabilities": {"elicitation": {}}}


def call(id: Any, name: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def cancelled(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


@pytest.fixture
def waits(gate: threading.Event) -> Callable[..., Result]:
    def run(arguments: dict[str, Any], call: Any) -> Result:
        gate.wait(20)
        return Result("waited")

    return run


@pytest.mark.parametrize("depth", [MAX_DEPTH, 600, 900, 100_000])
def test_nesting_without_end_is_a_parse_error_also_beside_an_escape(depth: int) -> None:
    line = Line(make_server())
    nested = b"[" * depth + b"]" * depth
    line.say(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\u0041","b":' + nested + b"}}")
    assert [(sent["id"], sent["error"]["code"]) for sent in line.sent] == [(None, -32700)]
    assert line.ask("ping")["result"] == {}


def test_nesting_that_a_message_may_have_is_served() -> None:
    line = Line(make_server())
    deep: Any = "\\u0041"
    for _ in range(MAX_DEPTH - 4):
        deep = [deep]
    assert line.ask("tools/call", {"name": "echo", "arguments": {"text": "x", "more": deep}})["result"]


def test_numbers_that_json_cannot_say_are_refused_on_the_way_in_and_never_go_out() -> None:
    odd = tool("odd", lambda arguments, call: Result("x", structured={"a": float("nan")}))
    server = make_server(odd, report=lambda error: None)
    line = Line(server)
    line.say(b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":1e999}}')
    assert line.sent[-1]["error"]["code"] == -32700
    with pytest.raises(ValueError, match="JSON"):
        encode({"a": float("inf")})
    # As a transport sends it: what cannot be encoded is answered as our failure.
    wire: list[bytes] = []
    sent = threading.Event()
    line.peer.send = lambda message: (wire.append(encode(message)), sent.set())  # type: ignore[func-returns-value]
    line.say(call(2, "odd"))
    assert sent.wait(20)
    assert json.loads(wire[-1])["error"]["code"] == -32603


@pytest.mark.parametrize("error", [SystemExit(3), RuntimeError("x"), RecursionError("x")])
def test_calls_after_one_that_breaks_are_served_even_when_the_log_is_gone(error: BaseException) -> None:
    def breaks(arguments: dict[str, Any], call: Any) -> Result:
        raise error

    def no_log(error: BaseException) -> None:
        raise OSError("stderr is gone")

    line = Line(make_server(tool("stops", breaks), report=no_log))
    assert line.ask("tools/call", {"name": "stops"})["result"]["isError"] is True
    assert line.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}})["result"]["structuredContent"]


@pytest.mark.parametrize("given_up", [[2], [1, 2]])
def test_a_batch_is_answered_without_the_calls_that_were_cancelled(
    gate: threading.Event, waits: Any, given_up: list[int]
) -> None:
    line = Line(make_server(tool("waits", waits)))
    line.initialize("2025-03-26")
    line.say([call(1, "waits"), call(2, "waits"), {"jsonrpc": "2.0", "id": 3, "method": "ping"}])
    for id in given_up:
        line.say(cancelled(id))
    gate.set()
    replies = line.wait(lambda message: isinstance(message, list))
    assert sorted(reply["id"] for reply in replies) == sorted({1, 2, 3} - set(given_up))


def test_a_batch_of_cancelled_calls_and_notices_has_no_answer(gate: threading.Event, waits: Any) -> None:
    line = Line(make_server(tool("waits", waits)))
    line.initialize("2025-03-26")
    before = len(line.sent)
    line.say([call(1, "waits"), {"jsonrpc": "2.0", "method": "notifications/initialized"}])
    line.say(cancelled(1))
    gate.set()
    line.ask("tools/call", {"name": "echo"})
    assert len(line.sent) == before + 1


def test_true_is_not_the_id_1(gate: threading.Event, waits: Any) -> None:
    line = Line(make_server(tool("waits", waits)))
    line.say(call(1, "waits"))
    line.say(cancelled(True))
    gate.set()
    assert line.wait(lambda message: message.get("id") == 1)["result"]


def test_the_end_waits_for_the_second_of_two_calls_under_one_id(gate: threading.Event, waits: Any) -> None:
    line = Line(make_server(tool("waits", waits)))
    line.say(call(1, "echo"))
    line.say(call(1, "waits"))
    line.wait(lambda message: message.get("id") == 1)
    assert line.peer.close(patience=0.05) is False
    gate.set()
    assert line.peer.close(patience=20) is True


def test_a_call_that_makes_no_progress_does_not_hold_up_the_end(gate: threading.Event, waits: Any) -> None:
    line = Line(make_server(tool("waits", waits)))
    line.say(call(1, "waits"))
    assert line.peer.close(patience=0.01) is False
    gate.set()


def test_dialogs_end_with_the_connection_also_those_that_begin_after() -> None:
    line = Line(make_server())
    line.initialize(capabilities={"elicitation": {}})
    line.say(call(1, "confirms"))
    line.wait(lambda message: message.get("method") == "elicitation/create")
    assert line.peer.close(patience=20) is True
    asked = len(line.sent)
    line.say(call(2, "confirms"))
    assert line.peer.close(patience=20) is True
    assert all(message.get("method") != "elicitation/create" for message in line.sent[asked:])


def test_a_bare_call_hands_over_no_metadata_as_an_argument() -> None:
    seen = []

    def sees(arguments: dict[str, Any], call: Any) -> Result:
        seen.append(arguments)
        return Result("seen")

    Line(make_server(tool("sees", sees))).ask("sees", {"_meta": {"progressToken": 1}, "a": 1})
    assert seen == [{"a": 1}]


def test_a_second_round_asks_for_all_so_that_a_client_can_answer_in_one() -> None:
    request = {"method": "elicitation/create", "params": {"mode": "form", "message": "?", "requestedSchema": {}}}

    def asks(arguments: dict[str, Any], call: Any) -> Result:
        return Result(json.dumps(call.require({"a": request, "b": request}), sort_keys=True))

    line = Line(make_server(tool("asks", asks, interactive=True)))
    first = line.ask("tools/call", {"name": "asks"}, meta=FORMS)["result"]
    part = {"name": "asks", "requestState": first["requestState"], "inputResponses": {"a": {"action": "accept"}}}
    second = line.ask("tools/call", part, meta=FORMS)["result"]
    assert sorted(second["inputRequests"]) == ["a", "b"]
    whole = {"name": "asks", "requestState": second["requestState"], "inputResponses": {"a": {}, "b": {}}}
    assert line.ask("tools/call", whole, meta=FORMS)["result"]["content"][0]["text"] == '{"a": {}, "b": {}}'


def test_a_state_with_anything_added_is_refused() -> None:
    line = Line(make_server())
    state = line.ask("tools/call", {"name": "confirms"}, meta=FORMS)["result"]["requestState"]
    for changed in (state + "\n", " " + state, state + "=", state[:4] + "!" + state[4:]):
        refused = line.ask("tools/call", {"name": "confirms", "requestState": changed}, meta=FORMS)
        assert refused["error"]["code"] == -32602
    assert line.ask("tools/call", {"name": "confirms", "requestState": state}, meta=FORMS)["result"]


def test_nothing_is_declared_that_is_not_there() -> None:
    from engram.mcp_server.core import Server

    line = Line(Server(name="small", version="1", instructions="", tools=[]))
    assert line.initialize()["capabilities"] == {}
    for method in ("tools/list", "tools/call", "resources/list", "resources/subscribe", "prompts/list", "no/such"):
        assert line.ask(method)["error"]["code"] == -32601
    assert Line(make_server()).ask("resources/subscribe", {"uri": "engram://index"})["error"]["code"] == -32601
