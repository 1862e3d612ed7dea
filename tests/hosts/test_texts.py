"""What a link tells agents: short, complete, and only of what exists."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
import yaml

from engram.cli import COMMANDS, build_parser
from engram.core.text import count_tokens
from engram.hosts import texts
from engram.hosts.editing import blocks
from engram.hosts.host import Wanted
from engram.hosts.parts import Block
from engram.hosts.table import HOSTS, named
from engram.mcp_server.profiles import ALL_TOOLS
from tests.hosts.worlds import place, wanted

PLAIN, BOTH = wanted(), wanted(has_observations=True)
COMMANDS_OF = ("claude", "cursor", "gemini", "opencode")
EVERY = {
    f"{name}-{'both' if wish.has_observations else 'plain'}": text
    for wish in (PLAIN, BOTH)
    for name, text in {
        "block": texts.shared_block(wish),
        "short": texts.short_block(wish),
        "guide": texts.guide(wish),
        "skill": texts.skill(wish),
        "file": texts.instructions_file(wish),
        **{f"slash-{host}": texts.slash(host) for host in COMMANDS_OF},
    }.items()
}
ALL_TEXTS = pytest.mark.parametrize("text", EVERY.values(), ids=EVERY.keys())


def all_blocks(wish: Wanted) -> list[Block]:
    parts = [part for host in HOSTS for scope in ("workspace", "global") for part in host.parts(place(scope), wish)]
    return [part for part in parts if isinstance(part, Block)]


def test_blocks_are_short() -> None:
    assert all_blocks(PLAIN)
    assert max(count_tokens(part.text) for part in all_blocks(PLAIN)) <= 120
    assert max(count_tokens(part.text) for part in all_blocks(BOTH)) <= 350


def test_guides_and_skills_hold_their_budget() -> None:
    for wish in (PLAIN, BOTH):
        assert count_tokens(texts.guide(wish)) <= 900
        assert count_tokens(texts.skill(wish)) <= 900
    for host in COMMANDS_OF:
        assert count_tokens(texts.slash(host)) <= 450


@pytest.mark.parametrize("wish", [PLAIN, BOTH], ids=["plain", "both"])
def test_the_block_in_windsurfs_global_rules_stays_below_its_limit(wish: Wanted) -> None:
    part = next(part for part in named("windsurf").parts(place("global"), wish) if isinstance(part, Block))
    assert len(blocks.put("", part).text) < 1000


@ALL_TEXTS
def test_every_tool_that_is_named_exists(text: str) -> None:
    tools = {tool["name"] for tool in ALL_TOOLS}
    named_here = set(re.findall(r"\b(?:engram|mem)_[a-z_]+\b", text))

    assert named_here
    assert named_here <= tools


@ALL_TEXTS
def test_every_command_that_is_named_exists(text: str) -> None:
    assert set(re.findall(r"`engram ([a-z][a-z-]*)", text)) <= set(COMMANDS)


@pytest.mark.parametrize(
    "line",
    [
        "save-session --query-level 50 --force",
        "save-session --force --file -",
        "load TASK",
        "search WORDS",
        "save TITLE TEXT",
        "note TEXT",
        "review",
        "approve ID",
        "undo",
        "verify",
    ],
)
def test_lines_in_the_texts_are_understood_by_the_command_line(line: str) -> None:
    name, *rest = line.split()

    assert any(f"`engram {line}`" in text for text in EVERY.values())
    assert build_parser(name).parse_args(rest)


@ALL_TEXTS
def test_nothing_is_left_to_fill_in(text: str) -> None:
    assert not re.search(r"\{(guide|arguments)\}", text)
    assert "\r" not in text


@pytest.mark.parametrize(
    "text", [texts.shared_block(PLAIN), texts.short_block(PLAIN), texts.guide(PLAIN), texts.skill(PLAIN)]
)
def test_without_observations_no_tool_of_theirs_is_named(text: str) -> None:
    assert "mem_" not in text
    assert "`engram_load`" in text


@pytest.mark.parametrize("text", [texts.shared_block(BOTH), texts.guide(BOTH), texts.short_block(BOTH)])
def test_the_protocol_says_what_an_agent_has_to_do(text: str) -> None:
    plain = text.lower()

    assert plain.index("decision") < plain.index("before you say done") < plain.index("after compaction")
    assert "title" in plain
    assert "past work is mentioned" in plain
    assert re.search(r"sub-agents (never|do not) write", plain)
    assert "visible conversation outranks" in plain
    after = plain[plain.index("after compaction") :]
    assert after.index("mem_session_summary") < after.index("mem_context")


@pytest.mark.parametrize("wish", [PLAIN, BOTH], ids=["plain", "both"])
def test_every_text_keeps_the_commit_for_the_person(wish: Wanted) -> None:
    for text in (texts.shared_block(wish), texts.short_block(wish), texts.guide(wish), texts.slash("claude")):
        assert re.search(r"`engram_commit`", text)
        assert re.search(r"before the person approved|Only after a clear yes", text)


@pytest.mark.parametrize("text", [texts.guide(PLAIN), texts.slash("claude")])
def test_force_is_only_the_persons_and_goes_through_the_command_line(text: str) -> None:
    assert "ss -f last 50 sessions` is `engram save-session --query-level 50 --force`" in text
    assert re.search(r"only when the person typed|counts only when it stands in the arguments", text)


def test_a_skill_has_the_front_matter_by_which_it_is_found() -> None:
    _, heading, body = texts.skill(BOTH).split("---\n", 2)
    said = yaml.safe_load(heading)

    assert said["name"] == "engram"
    assert 0 < len(said["description"]) <= 1024
    assert texts.MARK in body


def test_commands_have_the_format_of_their_host() -> None:
    gemini = tomllib.loads(texts.slash("gemini"))
    assert "{{args}}" in gemini["prompt"]
    assert gemini["description"]
    for host in ("claude", "opencode"):
        assert yaml.safe_load(texts.slash(host).split("---\n")[1])["description"]
        assert "$ARGUMENTS" in texts.slash(host)
    assert "$ARGUMENTS" not in texts.slash("cursor")


def test_the_file_for_vs_code_holds_for_every_file() -> None:
    assert yaml.safe_load(texts.instructions_file(PLAIN).split("---\n")[1])["applyTo"] == "**"


def test_the_plugin_gets_its_command_as_a_list() -> None:
    argv = ("/a b/engram", 'x"y', "ü", "C:\\bin")
    first, *rest = texts.plugin(wanted(engram=argv)).splitlines()

    assert first.startswith(f"// {texts.MARK}")
    line = next(line for line in rest if line.startswith("const COMMAND = "))
    assert json.loads(line.removeprefix("const COMMAND = ").removesuffix(";")) == list(argv)
