"""Gemini CLI: `GEMINI.md`, server and hooks in `settings.json`."""

from __future__ import annotations

import os

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Part, Whole
from engram.hosts.pieces import SECONDS, command, nested_hook, server, shared_guide, skill

# PreCompress is left out: Gemini CLI fires it before every request, not only before one that is shortened.
EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    """`trust` is never written: it would take away the question before `engram_commit`."""
    found: list[Part]
    if place.is_global:
        settings = place.at_home(".gemini", "settings.json")
        # It reads both folders of skills, and complains about one name in two.
        found = [global_block(place, wanted), shared_guide(place, wanted), skill(place.at_home(".agents"), wanted)]
    else:
        settings = place.in_workspace(".gemini", "settings.json")
        found = [
            Block(path=place.in_workspace("GEMINI.md"), text=texts.block(wanted, guide=".gemini/engram.md")),
            Whole(path=place.in_workspace(".gemini", "engram.md"), text=texts.guide(wanted)),
        ]
    found.append(command(os.path.dirname(settings), "gemini"))
    found.append(server(settings, wanted))
    for event in EVENTS:  # milliseconds here
        found.append(nested_hook(settings, place, wanted, "gemini", event, timeout=SECONDS * 1000, matcher="*"))
    return found


def global_block(place: Place, wanted: Wanted) -> Block:
    """Antigravity reads the same file."""
    return Block(path=place.at_home(".gemini", "GEMINI.md"), text=texts.block(wanted, guide="~/.agents/engram.md"))


HOST = Host(
    name="gemini",
    title="Gemini CLI",
    parts=parts,
    aliases=("gemini-cli",),
    programs=("gemini",),
    signs=lambda place: (place.at_home(".gemini", "settings.json"), place.at_home(".gemini", "GEMINI.md")),
    abilities=frozenset({"instructions", "guide", "server", "startup", "prompt", "capture", "proof", "slash"}),
    limits={"server": "in a folder that Gemini CLI does not trust, it starts no server and runs no hook"},
    checked="Gemini CLI 0.61; hooks reference: timeout in milliseconds",
)
