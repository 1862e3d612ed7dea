"""`engram mcp` driven as a host drives it, through every tool, both eras, every profile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from engram.mcp_server.profiles import select
from tests.e2e.wire import MODERN, Wire

NAMES = [tool["name"] for tool in select("")]


def text(result: dict) -> str:
    return result["content"][0]["text"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_session_drives_all_fourteen_tools(data: Path, era: str) -> None:
    with Wire(data) as wire:
        if era == "legacy":
            assert wire.initialize()["result"]["protocolVersion"] == "2025-11-25"
        else:
            assert MODERN in wire.ask("server/discover", era=era)["result"]["supportedVersions"]
        schemas = {tool["name"]: tool["outputSchema"] for tool in wire.ask("tools/list", era=era)["result"]["tools"]}
        called = []

        def call(name: str, **arguments: object) -> dict:
            result = wire.tool(name, era=era, **arguments)
            assert not result.get("isError"), result
            jsonschema.validate(result["structuredContent"], schemas[name])
            called.append(name)
            return result

        call("mem_session_start", id="s1", project="shop", directory="/work/shop")
        key = call("mem_suggest_topic_key", type="architecture", title="Auth architecture")["structuredContent"]
        assert key == {"topic_key": "architecture/auth-architecture"}
        first = call("mem_save", title="Auth architecture", content="sessions in redis", topic_key=key["topic_key"])
        assert first["structuredContent"]["outcome"] == "created"
        assert first["structuredContent"]["session_id"] == "s1"
        again = call("mem_save", title="Auth architecture", content="signed tokens", topic_key=key["topic_key"])
        assert again["structuredContent"] | {"outcome": "updated", "revision_count": 2} == again["structuredContent"]
        id = again["structuredContent"]["id"]
        assert f"#{id}" in text(again)
        found = call("mem_search", query="which tokens do we sign?")
        assert found["structuredContent"]["results"][0]["id"] == id
        assert text(found).startswith("Found 1 memory")
        assert "signed tokens" in text(call("mem_get_observation", id=str(id)))
        call("mem_update", id=float(id), content="signed tokens, rotated")
        call("mem_save_prompt", content="make login survive a restart")
        captured = call(
            "mem_capture_passive",
            content="## Key Learnings:\n\n1. refresh tokens need one transaction to rotate\n",
            source="subagent-stop",
        )
        assert captured["structuredContent"]["extracted"] == 1
        around = call("mem_timeline", observation_id=id, before=0)
        assert around["structuredContent"]["before"] == []
        assert len(around["structuredContent"]["after"]) == 1
        call("mem_session_summary", content="## Goal\nlogin", project="shop")
        call("mem_session_end", id="s1", summary="done")
        context = call("mem_context", project="shop")
        assert f"#{id}" in text(context)
        assert "make login survive" in text(context)
        assert call("mem_stats")["structuredContent"]["observations"] == 3
        assert call("mem_delete", id=id)["structuredContent"]["outcome"] == "soft-deleted"
        gone = wire.tool("mem_get_observation", era=era, id=id)
        assert gone["isError"] is True
        assert text(gone).startswith(f"Observation #{id} not found")
        assert sorted(set(called)) == sorted(NAMES)
        status, stderr = wire.close()
        assert status == 0
        assert "Traceback" not in stderr


@pytest.mark.parametrize(
    "wanted", ["", "agent", "admin", "all", "agent,admin", "mem_save,mem_search", " agent , mem_stats "]
)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_profile_offers_its_tools_in_table_order_and_nothing_else(data: Path, wanted: str, era: str) -> None:
    with Wire(data, f"--tools={wanted}") as wire:
        listed = [tool["name"] for tool in wire.ask("tools/list", era=era)["result"]["tools"]]
        assert listed == [tool["name"] for tool in select(wanted)]
        for name in set(NAMES) - set(listed):
            assert wire.ask("tools/call", {"name": name, "arguments": {}}, era=era)["error"]["code"] == -32602


def test_the_profiles_have_eleven_three_and_eleven_tools() -> None:
    assert [len(select(name)) for name in ("", "agent", "admin", "governed", "all")] == [14, 11, 3, 11, 25]


def test_an_unknown_tools_name_ends_with_status_2_and_names_the_known_ones(data: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "engram", "mcp", "--tools=mem_sav"],
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "mem_sav" in done.stderr
    assert "mem_save" in done.stderr


BAD = [
    ("mem_save", {"title": " ", "content": "x"}, "title"),
    ("mem_save", {"title": "x"}, "content"),
    ("mem_save", {"title": "x", "content": "<private/> \n"}, "content"),
    ("mem_save", {"title": "x", "content": "y", "scope": "team"}, "scope"),
    ("mem_search", {"query": ""}, "query"),
    ("mem_search", {"query": " \u0000 "}, "query"),
    ("mem_get_observation", {"id": True}, "id"),
    ("mem_get_observation", {"id": 1.5}, "id"),
    ("mem_get_observation", {"id": -1}, "id"),
    ("mem_get_observation", {"id": "x"}, "id"),
    ("mem_get_observation", {"id": 10**400}, "id"),
    ("mem_get_observation", {"id": 999}, "999"),
    ("mem_update", {"id": 999, "title": "x"}, "999"),
    ("mem_update", {"id": 1}, "nothing to update"),
    ("mem_delete", {"id": 999}, "999"),
    ("mem_delete", {"id": 1, "hard_delete": "perhaps"}, "hard_delete"),
    ("mem_timeline", {"observation_id": 1, "before": 51}, "before"),
    ("mem_session_start", {"id": " ", "project": "p"}, "id"),
    ("mem_session_start", {"id": "s"}, "project"),
    ("mem_session_end", {"id": "never-seen"}, "never-seen"),
    ("mem_session_summary", {"content": "x"}, "project"),
    ("mem_save_prompt", {"content": "  "}, "content"),
    ("mem_capture_passive", {}, "content"),
    ("mem_suggest_topic_key", {"type": "bug"}, "title"),
]


@pytest.mark.parametrize(("name", "arguments", "named"), BAD)
def test_bad_arguments_are_a_result_that_names_the_thing_and_change_nothing(
    data: Path, name: str, arguments: dict, named: str
) -> None:
    with Wire(data) as wire:
        result = wire.tool(name, **arguments)
        assert result["isError"] is True
        assert named in text(result)
        # A client checks structure against the tool's schema even on errors, so there is none.
        assert "structuredContent" not in result
        totals = wire.tool("mem_stats")["structuredContent"]
        assert (totals["sessions"], totals["observations"], totals["prompts"]) == (0, 0, 0)


def test_stdout_is_json_only_also_after_bad_lines_and_warnings(data: Path) -> None:
    with Wire(data, PYTHONWARNINGS="always", PYTHONDEVMODE="1") as wire:
        for line in (
            b"{bad",
            b"[]",
            b"null",
            b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
            b"\xff\xfe",
            b'"\\ud800"',
        ):
            wire.send_raw(line)
            assert wire.read()["error"]["code"] in (-32700, -32600)
        assert wire.tool("mem_save", title="x \ud800 y", content="lone \udfff")["structuredContent"]["id"] == 1
        wire.close()
        for line in wire.lines:
            assert json.loads(line)["jsonrpc"] == "2.0"


def test_unknown_arguments_are_ignored_and_named(data: Path) -> None:
    with Wire(data) as wire:
        result = wire.tool("mem_save", title="x", content="y", colour="red")
        assert "colour" in text(result)
        assert not result.get("isError")


def test_the_fourteen_tools_cost_at_most_two_thousand_tokens_and_instructions_512_characters(data: Path) -> None:
    from engram.core.text import count_tokens

    with Wire(data) as wire:
        about = wire.initialize()["result"]
        assert len(about["instructions"]) <= 512
        tools = wire.ask("tools/list")["result"]["tools"]
    wire_form = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    assert count_tokens(wire_form) <= 2000
    for tool in tools:
        assert tool["title"]
        assert set(tool["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert tool["annotations"]["openWorldHint"] is False


def test_a_search_answer_costs_about_a_hundred_tokens_a_hit(data: Path) -> None:
    from engram.core.text import count_tokens

    with Wire(data) as wire:
        for number in range(12):
            wire.tool(
                "mem_save",
                title=f"Fixed the login timeout in service {number}",
                content=f"**What**: raised the pool size of service {number}. " + "The pool was too small. " * 40,
            )
        found = wire.tool("mem_search", query="login timeout pool", limit=10)
    assert len(found["structuredContent"]["results"]) == 10
    for form in (text(found), json.dumps(found["structuredContent"], ensure_ascii=False)):
        assert count_tokens(form) <= 10 * 100 + 40


def test_two_agents_share_one_store_and_a_later_one_finds_what_both_saved(data: Path) -> None:
    with Wire(data) as one, Wire(data) as other:
        one.tool("mem_save", title="From the first", content="alpha particle")
        other.tool("mem_save", title="From the second", content="beta particle")
    with Wire(data) as later:
        found = later.tool("mem_search", query="particle")["structuredContent"]["results"]
    assert {row["title"] for row in found} == {"From the first", "From the second"}
