"""Settings of agent programs that would run `engram_commit` without a person."""

from __future__ import annotations

from typing import Any

import pytest

from engram.hosts.gates import OpenGate, open_gates

HOME, SHOP = "/home/dev", "/home/dev/shop"


def found(files: dict[str, Any], **environ: str) -> list[OpenGate]:
    return open_gates(home=HOME, workspace=SHOP, environ=environ, read=files.get)


def codex(**tables: Any) -> dict[str, Any]:
    return {f"{HOME}/.codex/config.toml": {"mcp_servers": {"engram": {"command": "engram-mcp", **tables}}}}


@pytest.mark.parametrize(
    ("files", "finding", "element"),
    [
        ({f"{HOME}/.gemini/settings.json": {"mcpServers": {"engram": {"trust": True}}}}, "host.gemini_trust", ""),
        ({f"{SHOP}/.gemini/settings.json": {"mcpServers": {"engram": {"trust": True}}}}, "host.gemini_trust", ""),
        (
            {f"{HOME}/.gemini/settings.json": {"tools": {"allowed": ["ls", "engram_commit"]}}},
            "host.gemini_allowed",
            "engram_commit",
        ),
        *(
            ({f"{place}": {"permissions": {"allow": ["Bash(ls)", name]}}}, "host.claude_allow", name)
            for place in (f"{HOME}/.claude/settings.json", f"{SHOP}/.claude/settings.local.json")
            for name in ("mcp__engram", "mcp__engram__*", "mcp__engram__engram_commit", "mcp__*")
        ),
        (codex(tools={"engram_commit": {"approval_mode": "approve"}}), "host.codex_approval", ""),
        (codex(default_tools_approval_mode="approve"), "host.codex_approval", ""),
        (
            {f"{HOME}/.cursor/cli-config.json": {"permissions": {"allow": ["Mcp(engram:*)"]}}},
            "host.cursor_allow",
            "Mcp(engram:*)",
        ),
        (
            {f"{HOME}/.cursor/permissions.json": {"mcpAllowlist": ["engram:engram_commit"]}},
            "host.cursor_allow",
            "engram:engram_commit",
        ),
        ({f"{SHOP}/opencode.json": {"mcp": {"engram": {}}}}, "host.opencode_allow", ""),
        (
            {f"{SHOP}/opencode.json": {"mcp": {"engram": {}}, "permission": {"*": "ask", "engram_*": "allow"}}},
            "host.opencode_allow",
            "",
        ),
        (
            {f"{HOME}/.config/opencode/opencode.jsonc": {"mcp": {"engram": {}}, "permission": "allow"}},
            "host.opencode_allow",
            "",
        ),
        (
            {f"{HOME}/.codeium/windsurf/mcp_config.json": {"mcpServers": {"engram": {"alwaysAllow": ["*"]}}}},
            "host.windsurf_allow",
            "*",
        ),
        (
            {
                f"{HOME}/.cline/data/settings/cline_mcp_settings.json": {
                    "mcpServers": {"engram": {"autoApprove": ["engram_commit"]}}
                }
            },
            "host.cline_allow",
            "engram_commit",
        ),
    ],
)
def test_a_setting_that_takes_the_question_away_is_found(files: dict[str, Any], finding: str, element: str) -> None:
    gates = found(files)

    assert [(gate.finding, gate.element) for gate in gates] == [(finding, element)]
    assert gates[0].path in files
    assert gates[0].path in gates[0].said


@pytest.mark.parametrize(
    "files",
    [
        {},
        {f"{HOME}/.gemini/settings.json": {"mcpServers": {"other": {"trust": True}, "engram": {"trust": False}}}},
        {
            f"{HOME}/.claude/settings.json": {
                "permissions": {"allow": ["mcp__engram__engram_load", "Bash(engram load)"]}
            }
        },
        {f"{HOME}/.claude/settings.json": {"permissions": {"deny": ["mcp__engram__engram_commit"]}}},
        codex(tools={"engram_commit": {"approval_mode": "prompt"}}, default_tools_approval_mode="approve"),
        codex(tools={"engram_load": {"approval_mode": "approve"}}),
        {f"{HOME}/.cursor/cli-config.json": {"permissions": {"allow": ["Mcp(other:*)", "Shell(ls)", "engram"]}}},
        {
            f"{SHOP}/opencode.json": {
                "mcp": {"engram": {}},
                "permission": {"engram_*": "allow", "engram_engram_commit": "ask"},
            }
        },
        {f"{SHOP}/opencode.json": {"permission": "allow"}},
        {f"{SHOP}/opencode.json": {"mcp": {"engram": {}}, "permission": "ask"}},
        {f"{HOME}/.claude/settings.json": ["not", "an", "object"]},
        {f"{HOME}/.claude/settings.json": {"permissions": {"allow": "mcp__engram"}}},
    ],
)
def test_what_leaves_the_question_in_place_is_no_finding(files: dict[str, Any]) -> None:
    assert found(files) == []


def test_the_folders_that_a_host_was_moved_to_are_looked_at() -> None:
    files = {"/opt/claude/settings.json": {"permissions": {"allow": ["mcp__engram"]}}}

    assert found(files) == []
    assert [gate.host for gate in found(files, CLAUDE_CONFIG_DIR="/opt/claude")] == ["claude"]
