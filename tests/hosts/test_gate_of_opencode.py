"""OpenCode asks before `engram_commit` once it is linked, and we see that it does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engram.hosts.editing import members
from engram.hosts.gates import open_gates
from engram.hosts.parts import Member
from engram.hosts.table import named
from tests.hosts.worlds import HOME, SHOP, place, wanted


def gates(config: dict[str, Any]) -> list[str]:
    files = {f"{SHOP}/opencode.json": {"mcp": {"engram": {}}, **config}}
    return [gate.finding for gate in open_gates(home=HOME, workspace=SHOP, environ={}, read=files.get)]


@pytest.mark.parametrize(
    ("permission", "is_open"),
    [
        ({"engram_engram_commit": {"*": "ask"}}, False),
        ({"*": "allow", "engram_engram_commit": {"*": "ask"}}, False),
        ({"engram_engram_commit": {"*": "ask"}, "engram_*": "allow"}, True),
        ({"engram_engram_commit": {"*": "allow"}}, True),
        ({"engram_engram_commit": {"*": "ask", "x": "allow"}}, False),
        ({"engram_engram_commit": {}}, True),
        ({"engram_engram_commit": 3}, True),
    ],
)
def test_patterns_of_a_permission_are_understood(permission: dict[str, Any], is_open: bool) -> None:
    assert gates({"permission": permission}) == (["host.opencode_allow"] if is_open else [])


@pytest.mark.parametrize("before", ["", '{"permission": {"*": "allow", "bash": "ask"}}', '{"permission": {}}'])
def test_a_link_closes_the_gate_and_leaves_other_permissions(before: str) -> None:
    text = before
    for part in named("opencode").parts(place("workspace"), wanted()):
        if isinstance(part, Member):
            text = members.put(text, part).text

    config = json.loads(text)
    assert gates(config) == []
    assert list(config["permission"])[-1] == "engram_engram_commit"
    others = {key: value for key, value in config["permission"].items() if key != "engram_engram_commit"}
    assert others == (json.loads(before)["permission"] if before else {})
