"""The protocol core in this process: framing, eras, errors, order."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Conflict
from engram.mcp_server.core import Result, encode
from tests.mcp.peers import MODERN, PREFIX, Line, make_server, tool

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.fixture
def line() -> Line:
    return Line(make_server())


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{bad", -32700),
        (b"", -32700),
        (b"[" * 200_000, -32700),
        (b'{"a":' * 100_000, -32700),
        (b"1" * 5000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":NaN}}', -32700),
        (b"null", -32600),
        (b"12", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    ],
)
def test_what_is_no_message_is_answered_without_an_id_and_the_next_line_is_served(
    line: Line, raw: bytes, code: int
) -> None:
    line.say(raw)
    assert line.sent[-1]["id"] is None
    assert line.sent[-1]["error"]["code"] == code
    assert line.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    "message", [{"id": 1, "method": "ping"}, {"jsonrpc": "1.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 1}]
)
def test_an_object_that_is_not_json_rpc_2_is_an_invalid_request_with_its_id(line: Line, message: Any) -> None:
    line.say(message)
    assert line.sent == [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "not a JSON-RPC 2.0 message"}}
    ]


def test_notifications_are_never_answered_and_never_run_a_tool() -> None:
    ran = []
    line = Line(make_server(tool("marks", lambda arguments, call: ran.append(1) or Result("x"))))
    for method in ("tools/call", "ping", "marks", "notifications/initialized", "nonsense", "tools/list"):
        line.say({"jsonrpc": "2.0", "method": method, "params": {"name": "marks", "arguments": {}}})
    line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})
    line.say({"jsonrpc": "2.0", "method": "ping", "params": [1]})
    assert line.ask("ping")["result"] == {}
    assert len(line.sent) == 1
    assert ran == []


def test_responses_that_nobody_waits_for_are_ignored(line: Line) -> None:
    line.say({"jsonrpc": "2.0", "id": "engram-elicit-1", "result": {"action": "accept"}})
    line.say({"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "x"}})
    assert line.sent == []


@pytest.mark.parametrize("version", LEGACY)
def test_initialize_echoes_a_version_that_is_known(line: Line, version: str) -> None:
    result = line.initialize(version)
    assert result["protocolVersion"] == version
    assert result["serverInfo"] == {"name": "test", "version": "1"}
    assert result["instructions"] == "Say hello."
    assert set(result["capabilities"]) == {"tools", "resources", "prompts"}


@pytest.mark.parametrize("version", ["2020-01-01", "2026-07-28", 7, None])
def test_initialize_answers_any_other_version_with_the_newest_of_the_handshake(line: Line, version: Any) -> None:
    assert line.initialize(version)["protocolVersion"] == "2025-11-25"


def test_unknown_methods_tools_prompts_and_resources_have_their_codes_by_era(line: Line) -> None:
    assert line.ask("no/such")["error"]["code"] == -32601
    assert line.ask("no/such", modern=True)["error"]["code"] == -32601
    for modern in (False, True):
        assert line.ask("tools/call", {"name": "nope"}, modern=modern)["error"]["code"] == -32602
        assert (
            line.ask("tools/call", {"name": ["x"]} if False else {"name": 7}, modern=modern)["error"]["code"] == -32602
        )
        assert line.ask("prompts/get", {"name": "nope"}, modern=modern)["error"]["code"] == -32602
        assert line.ask("prompts/get", {"name": "propose", "arguments": {}}, modern=modern)["error"]["code"] == -32602
        assert line.ask("tools/call", {"name": "echo", "arguments": [1]}, modern=modern)["error"]["code"] == -32602
    missing = {"uri": "engram://nope"}
    assert line.ask("resources/read", missing)["error"] == {
        "code": -32002,
        "message": "no such resource",
        "data": missing,
    }
    assert line.ask("resources/read", missing, modern=True)["error"]["code"] == -32602
    assert line.ask("ping", [1])["error"]["code"] == -32602


def test_a_tool_named_by_a_list_is_an_answer_and_no_crash(line: Line) -> None:
    assert line.ask("tools/call", {"name": ["echo"]})["error"]["code"] in (-32602, -32603)
    assert line.ask("ping")["result"] == {}


def test_modern_requests_are_checked_in_the_order_of_the_specification(line: Line) -> None:
    version, capabilities = PREFIX + "protocolVersion", PREFIX + "clientCapabilities"
    wrong = line.ask("no/such", meta={version: "2030-01-01"})["error"]
    assert wrong["code"] == -32022
    assert wrong["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}
    assert line.ask("no/such", meta={version: "2026-07-28"})["error"]["code"] == -32602
    assert line.ask("tools/list", meta={capabilities: {}})["error"]["code"] == -32602
    assert line.ask("tools/list", meta={version: 7, capabilities: {}})["error"]["code"] == -32602
    for method in ("ping", "initialize", "echo", "logging/setLevel"):
        assert line.ask(method, {}, modern=True)["error"]["code"] == -32601


def test_modern_results_say_their_type_and_who_gave_them_and_lists_how_long_they_keep(line: Line) -> None:
    for method, kept in (
        ("server/discover", True),
        ("tools/list", True),
        ("resources/list", True),
        ("resources/templates/list", True),
        ("prompts/list", True),
    ):
        result = line.ask(method, modern=True)["result"]
        assert result["resultType"] == "complete"
        assert result["_meta"][PREFIX + "serverInfo"] == {"name": "test", "version": "1"}
        assert ("ttlMs" in result and result["cacheScope"] == "private") is kept
    read = line.ask("resources/read", {"uri": "engram://memory/a-1"}, modern=True)["result"]
    assert read["contents"][0]["text"] == "a-1"
    assert read["ttlMs"] == 0
    called = line.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}, modern=True)["result"]
    assert "ttlMs" not in called
    assert called["structuredContent"] == {"text": "x"}
    assert line.ask("server/discover", modern=True)["result"]["supportedVersions"] == ["2026-07-28"]


def test_both_eras_are_served_by_one_peer_in_any_order(line: Line) -> None:
    for modern in (True, False, True, False):
        result = line.ask("tools/list", modern=modern)["result"]
        assert [row["name"] for row in result["tools"]] == ["echo", "breaks", "confirms"]
        assert ("resultType" in result) is modern


def test_a_bare_request_by_a_tools_name_answers_plain_text_in_the_handshake_era(line: Line) -> None:
    assert line.ask("echo", {"text": "hi"})["result"] == "echo hi"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_batches_are_answered_as_one_where_the_version_has_them(line: Line, version: str) -> None:
    line.initialize(version)
    call = {"name": "echo", "arguments": {"text": "in a batch"}}
    line.say(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
            7,
        ]
    )
    replies = line.wait(lambda message: isinstance(message, list))
    assert sorted(str(reply["id"]) for reply in replies) == ["1", "2", "None"]


def test_an_error_of_ours_is_a_result_with_its_sentence_and_any_other_tells_nothing_but_is_reported() -> None:
    reported: list[BaseException] = []

    def refuses(arguments: dict, call: Any) -> Result:
        raise Conflict("taken already", hint="choose another")

    line = Line(make_server(tool("refuses", refuses), report=reported.append))
    refused = line.ask("tools/call", {"name": "refuses", "arguments": {}})["result"]
    assert refused["isError"] is True
    assert refused["content"][0]["text"] == "taken already (choose another)"
    broken = line.ask("tools/call", {"name": "breaks", "arguments": {}})["result"]
    assert broken["isError"] is True
    assert "secret reason" not in json.dumps(broken)
    assert [str(error) for error in reported] == ["a secret reason"]


def test_calls_run_in_order_while_constants_are_answered_at_once() -> None:
    gate = threading.Event()
    order = []

    def slow(arguments: dict, call: Any) -> Result:
        gate.wait(20)
        order.append("slow")
        return Result("slow")

    def quick(arguments: dict, call: Any) -> Result:
        order.append("quick")
        return Result("quick")

    line = Line(make_server(tool("slow", slow), tool("quick", quick)))
    line.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
    line.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "quick", "arguments": {}}})
    assert line.ask("ping")["result"] == {}
    gate.set()
    line.wait(lambda message: message.get("id") == 2)
    assert order == ["slow", "quick"]


def test_a_call_cancelled_before_it_begins_never_runs_and_has_no_answer() -> None:
    gate = threading.Event()
    ran = []
    line = Line(
        make_server(
            tool("slow", lambda arguments, call: gate.wait(20) and Result("slow")),
            tool("writes", lambda arguments, call: ran.append(1) or Result("written")),
        )
    )
    line.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
    line.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "writes", "arguments": {}}})
    line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    gate.set()
    line.wait(lambda message: message.get("id") == 1)
    assert line.ask("tools/call", {"name": "echo", "arguments": {}})["result"]["content"][0]["text"] == "echo "
    assert ran == []
    assert all(message.get("id") != 2 for message in line.sent)


def test_half_a_surrogate_pair_is_replaced_on_the_way_in_and_out(line: Line) -> None:
    line.say(
        b'{"jsonrpc":"2.0","id":"r9","method":"tools/call","params":{"name":"echo","arguments":{"text":"a\\ud800b"}}}'
    )
    reply = line.wait(lambda message: message.get("id") == "r9")
    assert reply["result"]["structuredContent"]["text"] == "a?b"
    assert encode({"text": "\udfff"}) == b'{"text":"?"}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0"]) | json_values,
        "id": st.integers() | st.text(max_size=5) | json_values,
        "method": st.sampled_from(
            [
                "ping",
                "initialize",
                "tools/list",
                "tools/call",
                "resources/read",
                "prompts/get",
                "server/discover",
                "echo",
            ]
        )
        | st.text(max_size=10),
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["echo", "breaks", "propose"]) | json_values,
                "arguments": json_values,
                "uri": st.text(max_size=30) | json_values,
                "_meta": st.just(MODERN) | json_values,
                "requestState": json_values,
                "inputResponses": json_values,
            },
        )
        | json_values,
        "result": json_values,
        "error": json_values,
    },
)


@given(
    st.lists(
        st.binary(max_size=60)
        | messages.map(lambda m: json.dumps(m).encode())
        | json_values.map(lambda v: json.dumps(v).encode()),
        max_size=6,
    )
)
def test_no_line_whatever_crashes_the_peer_or_makes_it_answer_anything_but_json_rpc(lines: list[bytes]) -> None:
    line = Line(make_server(report=lambda error: None))
    for raw in lines:
        line.say(raw)
    assert line.ask("tools/call", {"name": "echo", "arguments": {"text": "alive"}})["result"]
    for sent in line.sent:
        for message in sent if isinstance(sent, list) else [sent]:
            assert message["jsonrpc"] == "2.0"
            assert "id" in message or "method" in message
            json.loads(encode(message))
    line.peer.retire()
