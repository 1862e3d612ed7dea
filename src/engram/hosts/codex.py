"""Codex: `AGENTS.md`, hooks in `hooks.json`, the server as a table of a person's own `config.toml`."""

from __future__ import annotations

import os

from engram.hosts import texts
from engram.hosts.gates import TOOL
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Part, Table
from engram.hosts.pieces import NAME, SECONDS, nested_hook, shared_guide, skill

# SessionEnd may take three seconds; Codex warns at every start about more.
EVENTS = {
    "SessionStart": SECONDS,
    "UserPromptSubmit": SECONDS,
    "Stop": SECONDS,
    "SubagentStop": SECONDS,
    "SessionEnd": 3,
}


def folder(place: Place) -> str:
    return place.chosen("CODEX_HOME", ".codex")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    found: list[Part]
    if place.is_global:
        hooks = os.path.join(folder(place), "hooks.json")
        found = [
            Block(path=os.path.join(folder(place), "AGENTS.md"), text=texts.block(wanted, guide="~/.agents/engram.md")),
            shared_guide(place, wanted),
            skill(place.at_home(".agents"), wanted),
            _server(os.path.join(folder(place), "config.toml"), wanted),
        ]
    else:
        hooks = place.in_workspace(".codex", "hooks.json")
        found = [
            Block(path=place.in_workspace("AGENTS.md"), text=texts.shared_block(wanted)),
            shared_guide(place, wanted),
            skill(place.in_workspace(".agents"), wanted),
        ]
    return found + [
        nested_hook(hooks, place, wanted, "codex", event, timeout=seconds) for event, seconds in EVENTS.items()
    ]


def _server(path: str, wanted: Wanted) -> Table:
    """`prompt` asks a person before the tool runs. `approve` would run it without one, whatever its name says."""
    command, *options = wanted.server
    return Table(
        path=path,
        keys=("mcp_servers", NAME),
        value={"command": command, "args": options, "tools": {TOOL: {"approval_mode": "prompt"}}},
    )


HOST = Host(
    name="codex",
    title="Codex",
    parts=parts,
    programs=("codex",),
    signs=lambda place: (folder(place),),
    abilities=frozenset({"instructions", "guide", "server", "startup", "prompt", "capture", "proof"}),
    lacks={"slash": "Codex has no commands of a project; the skill answers to its name"},
    limits={
        "server": "with --global only: Codex reads servers from its own config.toml, not from .mcp.json",
        "startup": "new hooks run once they are trusted in Codex (`/hooks`)",
    },
    checked="Codex 0.171; hooks page: timeout in seconds, at most 3 for SessionEnd",
)
