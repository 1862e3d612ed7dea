"""Claude Code: `CLAUDE.md`, `.mcp.json`, hooks in `settings.json`; a person's own servers only through its command."""

from __future__ import annotations

import os

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Part, Told, Whole
from engram.hosts.pieces import (
    NAME,
    SECONDS,
    command,
    nested_hook,
    shared_guide,
    shared_server,
    skill,
    with_always_load,
)

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "SessionEnd", "PreCompact")


def folder(place: Place) -> str:
    """Where a person's own files are."""
    return place.chosen("CLAUDE_CONFIG_DIR", ".claude")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    found: list[Part]
    if place.is_global:
        settings = os.path.join(folder(place), "settings.json")
        found = [
            Block(path=os.path.join(folder(place), "CLAUDE.md"), text=texts.block(wanted, guide="~/.agents/engram.md")),
            shared_guide(place, wanted),
            skill(folder(place), wanted),
            command(folder(place), "claude"),
            Told(
                command=("claude", "mcp", "add", "--scope", "user", NAME, "--", *with_always_load(wanted)),
                why="Claude Code keeps a person's servers in a file of its own, which only its command may change",
                undo=("claude", "mcp", "remove", "--scope", "user", NAME),
                why_undo="it was registered by Claude Code's own command, which takes it out again",
            ),
        ]
    else:
        settings = place.in_workspace(".claude", "settings.json")
        found = [
            Block(path=place.in_workspace("CLAUDE.md"), text=texts.block(wanted, guide=".claude/engram.md")),
            Whole(path=place.in_workspace(".claude", "engram.md"), text=texts.guide(wanted)),
            command(place.in_workspace(".claude"), "claude"),
            shared_server(place, wanted),
        ]
    return found + [nested_hook(settings, place, wanted, "claude", event, timeout=SECONDS) for event in EVENTS]


HOST = Host(
    name="claude",
    title="Claude Code",
    parts=parts,
    programs=("claude",),
    signs=lambda place: (folder(place), place.at_home(".claude.json")),
    abilities=frozenset({"instructions", "guide", "server", "startup", "prompt", "capture", "proof", "slash"}),
    limits={
        "server": "in the workspace it is asked about before it starts; globally `claude mcp add` registers it",
    },
    checked="Claude Code 2.1.332; hooks reference: command hooks, timeout in seconds",
)
