"""A link makes the program itself say that it is connected, and after `unlink` it no longer knows the server."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.e2e.fake_models import FakeModels
from tests.e2e.hosts.app_server import ask_codex
from tests.e2e.hosts.person import Person

Linked = Callable[..., str]


def about_engram(said: str) -> str:
    """The line of a list that speaks of our server; "" when there is none."""
    return next((line for line in said.splitlines() if "engram:" in line or " engram " in line), "")


def test_claude_asks_about_the_server_of_a_workspace_and_then_connects(
    person: Person, link: Linked, unlink: Linked
) -> None:
    link("claude")
    assert "Pending approval" in about_engram(person.run("claude", "mcp", "list"))

    person.approves_in_claude()
    assert "Connected" in about_engram(person.run("claude", "mcp", "list"))

    unlink("claude")
    assert about_engram(person.run("claude", "mcp", "list")) == ""


def test_claude_connects_everywhere_when_its_own_command_registered_the_server(
    person: Person, link: Linked, unlink: Linked
) -> None:
    link("claude", "--global", "--apply")
    assert "Connected" in about_engram(person.run("claude", "mcp", "list", cwd=person.home))

    unlink("claude", "--global", "--apply")
    assert about_engram(person.run("claude", "mcp", "list", cwd=person.home)) == ""


def test_codex_connects_and_sees_all_tools(person: Person, link: Linked, unlink: Linked) -> None:
    link("codex", "--global")
    (server,) = ask_codex(person, "mcpServerStatus/list", {})
    assert server["serverInfo"]["name"] == "engram"
    assert {"engram_load", "engram_commit", "mem_save"} <= set(server["tools"])

    unlink("codex", "--global")
    assert ask_codex(person, "mcpServerStatus/list", {}) == []


def test_codex_finds_nothing_to_complain_about_in_our_hooks(person: Person, link: Linked) -> None:
    link("codex", "--global")
    (found,) = ask_codex(person, "hooks/list", {"cwds": [str(person.shop)]})

    assert (found["errors"], found["warnings"]) == ([], [])
    assert {hook["eventName"]: hook["timeoutSec"] for hook in found["hooks"]} == {
        "sessionStart": 10,
        "userPromptSubmit": 10,
        "stop": 10,
        "subagentStop": 10,
        "sessionEnd": 3,
    }
    # Codex runs a hook only after the person has looked at it (`/hooks`); a link must not answer for them.
    assert {hook["trustStatus"] for hook in found["hooks"]} == {"untrusted"}


@pytest.mark.parametrize("options", [(), ("--global",)])
def test_gemini_connects_in_a_trusted_folder_only(
    person: Person, link: Linked, unlink: Linked, options: tuple[str, ...]
) -> None:
    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    link("gemini", *options)
    assert "Connected" not in person.run("gemini", "mcp", "list")
    assert "Connected" in about_engram(person.run("gemini", "mcp", "list", **trusted))

    unlink("gemini", *options)
    assert about_engram(person.run("gemini", "mcp", "list", **trusted)) == ""


@pytest.mark.parametrize("options", [(), ("--global",)])
def test_opencode_connects(person: Person, link: Linked, unlink: Linked, options: tuple[str, ...]) -> None:
    link("opencode", *options)
    assert "connected" in about_engram(person.run("opencode", "mcp", "list"))

    unlink("opencode", *options)
    assert about_engram(person.run("opencode", "mcp", "list")) == ""


def test_copilot_offers_the_tools_to_its_model(person: Person, link: Linked, unlink: Linked) -> None:
    link("copilot", "--global")
    listed = json.loads(person.run("copilot", "mcp", "list", "--json"))
    assert listed["mcpServers"]["engram"]["enabled"] is True
    with FakeModels() as models:
        person.talk("copilot", models, "Hello")
        assert "engram-engram_load" in models.turns[0].tools

    unlink("copilot", "--global")
    with FakeModels() as models:
        person.talk("copilot", models, "Hello")
        assert not [tool for tool in models.turns[0].tools if tool.startswith("engram")]


def test_qwen_connects_through_the_portable_file_once_it_is_approved(
    person: Person, link: Linked, unlink: Linked
) -> None:
    person.engram("link", "mcp")
    assert "Pending approval" in about_engram(person.run("qwen", "mcp", "list"))

    person.run("qwen", "mcp", "approve", "engram")
    assert "Connected" in about_engram(person.run("qwen", "mcp", "list"))

    unlink("mcp")
    assert about_engram(person.run("qwen", "mcp", "list")) == ""
