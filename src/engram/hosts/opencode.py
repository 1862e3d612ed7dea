"""OpenCode: `AGENTS.md`, server and permission in `opencode.json`, a plugin in the place of hooks."""

from __future__ import annotations

import os

from engram.hosts import texts
from engram.hosts.gates import TOOL
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Member, Part, Whole
from engram.hosts.pieces import NAME, command, skill


def folder(place: Place) -> str:
    """Where a person's own files are; the same on every platform."""
    return os.path.join(place.chosen("XDG_CONFIG_HOME", ".config"), "opencode")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    if place.is_global:
        config, home = _config(place, folder(place)), folder(place)
        guide = "~/.config/opencode/engram.md"
        entry = Block(path=os.path.join(home, "AGENTS.md"), text=texts.block(wanted, guide=guide))
    else:
        config, home = _config(place, place.workspace), place.in_workspace(".opencode")
        entry = Block(path=place.in_workspace("AGENTS.md"), text=texts.shared_block(wanted))
    return [
        entry,
        Whole(path=os.path.join(home, "engram.md"), text=texts.guide(wanted)),
        skill(home, wanted),
        command(home, "opencode"),
        # OpenCode does not look at `args`: all of the command stands in `command`.
        Member(
            path=config,
            keys=("mcp", NAME),
            value={"type": "local", "command": list(wanted.server), "args": [], "enabled": True},
        ),
        # It runs every tool unasked unless told otherwise; tools are named server_tool.
        Member(path=config, keys=("permission", f"{NAME}_{TOOL}"), value={"*": "ask"}, marks="ask"),
        Whole(path=os.path.join(home, "plugins", "engram.js"), text=texts.plugin(wanted), feature="hooks"),
    ]


def _config(place: Place, home: str) -> str:
    """The file that is there; a new one may hold comments."""
    plain = os.path.join(home, "opencode.json")
    return plain if place.exists(plain) else os.path.join(home, "opencode.jsonc")


HOST = Host(
    name="opencode",
    title="OpenCode",
    parts=parts,
    aliases=("open-code",),
    programs=("opencode",),
    signs=lambda place: (folder(place),),
    abilities=frozenset({"instructions", "guide", "server", "startup", "prompt", "capture", "proof", "slash"}),
    checked="OpenCode 1.18; its pages on permissions and plugins",
)
