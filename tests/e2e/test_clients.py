"""The official clients, Python and TypeScript, and the Inspector's command line, against `engram mcp`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engram.mcp_server.profiles import select
from tests.e2e.node import ROOT, node, packages

NAMES = [tool["name"] for tool in select("")]
SERVER = [sys.executable, "-m", "engram", "mcp"]
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@pytest.fixture(scope="module")
def clients() -> Path:
    folder = packages(
        "clients",
        "@modelcontextprotocol/client@2.4.0",
        "@modelcontextprotocol/sdk@1.32.2",
        "@modelcontextprotocol/inspector@2.12.0",
    )
    # Node looks for packages beside the script.
    shutil.copy(ROOT / "tests" / "e2e" / "clients" / "every_tool.mjs", folder / "every_tool.mjs")
    return folder


def environment(data: Path) -> dict[str, str]:
    return {**os.environ, "ENGRAM_DATA_DIR": str(data), "ENGRAM_PROJECT": "shop"}


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["legacy", "auto", "pin", "sdk1"])
def test_the_typescript_clients_list_and_call_every_tool(clients: Path, data: Path, flavour: str) -> None:
    done = subprocess.run(
        [node(), str(clients / "every_tool.mjs"), flavour, *SERVER],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(data),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["tools"] == NAMES
    assert sorted(told["called"]) == sorted(NAMES)
    assert told["missing"] is True
    assert "mem_search" in told["instructions"]


@pytest.mark.slow
@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_the_inspector_lists_and_calls_tools(clients: Path, data: Path, era: str) -> None:
    def inspect(*arguments: str) -> dict:
        done = subprocess.run(
            [
                node(),
                str(clients / INSPECTOR),
                "--cli",
                "-q",
                "--protocol-era",
                era,
                *SERVER,
                *arguments,
                "--format",
                "json",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment(data),
        )
        assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
        return json.loads(done.stdout)

    listed = inspect("--method", "tools/list")
    assert NAMES[0] in json.dumps(listed)
    saved = inspect(
        "--method",
        "tools/call",
        "--tool-name",
        "mem_save",
        "--tool-arg",
        "title=From outside",
        "--tool-arg",
        "content=x y",
    )
    assert "created" in json.dumps(saved)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.filterwarnings("ignore")  # the client library's own
def test_the_python_client_lists_and_calls_every_tool(data: Path, mode: str) -> None:
    from mcp import Client, StdioServerParameters

    calls: list[tuple[str, dict]] = [
        ("mem_session_start", {"id": "s1", "project": "shop"}),
        ("mem_suggest_topic_key", {"title": "Auth architecture"}),
        ("mem_save", {"title": "Auth architecture", "content": "signed tokens", "topic_key": "architecture/auth"}),
        ("mem_search", {"query": "signed tokens"}),
        ("mem_context", {"limit": 3}),
        ("mem_get_observation", {"id": 1}),
        ("mem_update", {"id": 1, "type": "architecture"}),
        ("mem_save_prompt", {"content": "make login survive"}),
        ("mem_capture_passive", {"content": "## Learnings\n\n- refresh tokens rotate in one transaction\n"}),
        ("mem_timeline", {"observation_id": 1}),
        ("mem_session_summary", {"content": "## Goal\nlogin", "project": "shop"}),
        ("mem_session_end", {"id": "s1"}),
        ("mem_stats", {}),
        ("mem_delete", {"id": 1, "hard_delete": True}),
    ]

    async def drive() -> None:
        server = StdioServerParameters(command=SERVER[0], args=SERVER[1:], env=environment(data))
        async with Client(server, mode=mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == NAMES
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                assert not result.is_error, (name, result)
                assert result.structured_content is not None
            missing = await client.call_tool("mem_get_observation", {"id": 999})
            assert missing.is_error

    asyncio.run(drive())
    assert sorted(name for name, _ in calls) == sorted(NAMES)
