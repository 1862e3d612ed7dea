"""GitHub Copilot CLI: instructions, the portable `.mcp.json`, and hooks of a person."""

from __future__ import annotations

import os

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Element, Part
from engram.hosts.pieces import SECONDS, hook, hook_shells, server, shared_guide, shared_server
from engram.hosts.vscode import copilot_block

EVENTS = ("sessionStart", "userPromptSubmitted", "agentStop", "subagentStop", "sessionEnd", "preCompact")


def folder(place: Place) -> str:
    return place.chosen("COPILOT_HOME", ".copilot")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    """No hooks in a workspace: the cloud agent would run them too, on a machine that has no Engram."""
    if not place.is_global:
        return [copilot_block(place, wanted), shared_guide(place, wanted), shared_server(place, wanted)]
    home = folder(place)
    return [
        Block(
            path=os.path.join(home, "copilot-instructions.md"), text=texts.block(wanted, guide="~/.agents/engram.md")
        ),
        shared_guide(place, wanted),
        server(os.path.join(home, "mcp-config.json"), wanted, type="local", tools=["*"]),
        *_hooks(os.path.join(home, "hooks", "engram.json"), place, wanted),
    ]


def _hooks(path: str, place: Place, wanted: Wanted) -> list[Element]:
    return [
        hook(
            path,
            "copilot",
            event,
            {
                "type": "command",
                **hook_shells(place, wanted, "copilot", event, posix="bash"),
                "timeoutSec": SECONDS,
            },
            version=1,
        )
        for event in EVENTS
    ]


_ONLY_GLOBAL = "with --global only: hooks of a workspace would also run in Copilot's cloud agent"

HOST = Host(
    name="copilot",
    title="GitHub Copilot CLI",
    parts=parts,
    aliases=("copilot-cli",),
    programs=("copilot",),
    signs=lambda place: (folder(place),),
    abilities=frozenset({"instructions", "guide", "server", "startup", "capture", "proof"}),
    lacks={
        "prompt": "Copilot drops what a prompt hook answers",
        "slash": "Copilot CLI has no commands of a project",
    },
    limits=dict.fromkeys(("startup", "capture", "proof"), _ONLY_GLOBAL),
    checked="Copilot CLI 1.0.102; GitHub's hooks reference (version 1, timeoutSec)",
)
