"""Dialogs with the person in both eras, and state that a client carries for us."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from engram.mcp_server.sealing import SECONDS, Seal
from engram.mcp_server.wire import Failure
from tests.mcp.peers import MODERN, PREFIX, Line, make_server

FORMS = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {"elicitation": {}}}
CALL = {"name": "confirms", "arguments": {"a": 1}}


def text(reply: dict[str, Any]) -> str:
    return reply["result"]["content"][0]["text"]


def test_a_handshake_client_is_asked_while_other_requests_go_on() -> None:
    line = Line(make_server())
    line.initialize(capabilities={"elicitation": {}})
    line.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL})
    asked = line.wait(lambda message: message.get("method") == "elicitation/create")
    assert asked["id"].startswith("engram-elicit-")
    assert asked["params"]["mode"] == "form"
    assert line.ask("ping")["result"] == {}
    line.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"yes": True}}})
    assert text(line.wait(lambda message: message.get("id") == 1)) == 'accept {"yes": true}'


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_a_version_without_dialogs_is_never_asked(version: str) -> None:
    line = Line(make_server())
    line.initialize(version, {"elicitation": {}})
    assert text(line.ask("tools/call", CALL)).startswith("cancel")


def test_the_mode_is_only_told_to_the_version_that_has_it() -> None:
    line = Line(make_server())
    line.initialize("2025-06-18", {"elicitation": {}})
    line.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL})
    asked = line.wait(lambda message: message.get("method") == "elicitation/create")
    assert "mode" not in asked["params"]
    line.say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no window"}})
    assert text(line.wait(lambda message: message.get("id") == 1)).startswith("cancel")


def test_no_answer_in_time_is_a_cancel_and_a_late_answer_is_ignored() -> None:
    line = Line(make_server(dialog_seconds=0.01))
    line.initialize(capabilities={"elicitation": {"form": {}}})
    line.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL})
    assert text(line.wait(lambda message: message.get("id") == 1)).startswith("cancel")
    asked = line.wait(lambda message: message.get("method") == "elicitation/create")
    line.wait(lambda message: message.get("method") == "notifications/cancelled")
    line.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}})
    assert line.ask("ping")["result"] == {}


def test_a_modern_client_gets_input_required_and_comes_back_with_the_answer() -> None:
    line = Line(make_server())
    first = line.ask("tools/call", CALL, meta=FORMS)["result"]
    assert first["resultType"] == "input_required"
    assert "ttlMs" not in first
    assert all(message.get("method") != "elicitation/create" for message in line.sent)
    answer = {"answer": {"action": "accept", "content": {"yes": True}}, "other": {"action": "decline"}}
    back = {**CALL, "requestState": first["requestState"], "inputResponses": answer}
    assert text(line.ask("tools/call", back, meta=FORMS)) == 'accept {"yes": true}'
    replayed = line.ask("tools/call", back, meta=FORMS)
    assert replayed["error"]["code"] == -32602


def test_an_answer_without_sealed_state_counts_as_absent() -> None:
    line = Line(make_server())
    forged = {**CALL, "inputResponses": {"answer": {"action": "accept", "content": {"yes": True}}}}
    assert line.ask("tools/call", forged, meta=FORMS)["result"]["resultType"] == "input_required"


def test_a_missing_answer_is_asked_for_again() -> None:
    line = Line(make_server())
    state = line.ask("tools/call", CALL, meta=FORMS)["result"]["requestState"]
    again = line.ask("tools/call", {**CALL, "requestState": state, "inputResponses": {"x": {}}}, meta=FORMS)["result"]
    assert again["resultType"] == "input_required"
    assert again["requestState"] != state


def test_without_the_capability_the_answer_is_a_cancel() -> None:
    assert text(Line(make_server()).ask("tools/call", CALL, meta=MODERN)).startswith("cancel")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def seal(clock: Clock) -> Seal:
    return Seal("/root", now=clock, random=lambda n: b"r" * n)


def test_a_sealed_state_opens_for_the_same_call_once(seal: Seal) -> None:
    state = seal.close("tools/call", CALL, {"n": 1})
    assert seal.open(state, "tools/call", {**CALL, "_meta": {"x": 1}, "requestState": state}) == {"n": 1}
    with pytest.raises(Failure):
        seal.open(state, "tools/call", CALL)


def test_a_sealed_state_is_refused_for_another_call_method_key_or_root(seal: Seal, clock: Clock) -> None:
    state = seal.close("tools/call", CALL, None)
    other_root = Seal("/other", now=clock, random=lambda n: b"r" * n)
    other_key = Seal("/root", now=clock, random=lambda n: b"k" * n)
    for opener, method, params in (
        (seal, "tools/call", {"name": "confirms", "arguments": {"a": 2}}),
        (seal, "tools/call", {"name": "echo", "arguments": {"a": 1}}),
        (seal, "prompts/get", CALL),
        (other_root, "tools/call", CALL),
        (other_key, "tools/call", CALL),
    ):
        with pytest.raises(Failure) as refused:
            opener.open(state, method, params)
        assert refused.value.code == -32602


def test_a_sealed_state_expires_after_thirty_minutes(seal: Seal, clock: Clock) -> None:
    state = seal.close("tools/call", CALL, None)
    clock.now += SECONDS + 1
    with pytest.raises(Failure):
        seal.open(state, "tools/call", CALL)


def test_malformed_and_changed_states_are_refused(seal: Seal) -> None:
    good = seal.close("tools/call", CALL, {"n": 1})
    raw = bytearray(base64.urlsafe_b64decode(good))
    raw[-2] ^= 1
    changed = base64.urlsafe_b64encode(bytes(raw)).decode()
    for state in (changed, good[:-8], good + "AAAA", "", "x", "é", 7, None, [], {"a": 1}, "A" * 5000):
        with pytest.raises(Failure):
            seal.open(state, "tools/call", CALL)


def test_the_state_does_not_depend_on_the_order_of_arguments(seal: Seal) -> None:
    state = seal.close("tools/call", {"name": "x", "arguments": {"a": 1, "b": 2}}, None)
    assert seal.open(state, "tools/call", json.loads('{"arguments":{"b":2,"a":1},"name":"x"}')) is None
