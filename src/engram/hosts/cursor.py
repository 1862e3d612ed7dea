"""Cursor: a rule, `mcp.json` and `hooks.json` in the workspace; for a person, one local plugin that holds all."""

from __future__ import annotations

import json
import os

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Element, Part, Whole
from engram.hosts.pieces import NAME, SECONDS, command, hook, hook_line, server, skill

# Of Cursor's events, these give context or end something; a prompt hook can only stop a prompt.
EVENTS = ("sessionStart", "stop", "subagentStop", "sessionEnd")
RULE = {"description": "The memory of this project (Engram)", "alwaysApply": True}


def parts(place: Place, wanted: Wanted) -> list[Part]:
    return _plugin(place, wanted) if place.is_global else _workspace(place, wanted)


def _workspace(place: Place, wanted: Wanted) -> list[Part]:
    rule = place.in_workspace(".cursor", "rules", "engram.mdc")
    return [
        Block(path=rule, text=texts.block(wanted, guide=".cursor/engram.md"), heading=RULE),
        Whole(path=place.in_workspace(".cursor", "engram.md"), text=texts.guide(wanted)),
        command(place.in_workspace(".cursor"), "cursor"),
        server(place.in_workspace(".cursor", "mcp.json"), wanted, type="stdio"),
        *_hooks(place.in_workspace(".cursor", "hooks.json"), place, wanted),
    ]


def _plugin(place: Place, wanted: Wanted) -> list[Part]:
    """The folder is ours; the files that Cursor reads as JSON are merged all the same, since they can hold no mark."""
    folder = place.at_home(".cursor", "plugins", "local", NAME)
    manifest = {
        "name": NAME,
        "displayName": "Engram",
        "version": wanted.version,
        "description": f"Persistent memory for AI coding agents. {texts.MARK}",
    }
    rule = os.path.join(folder, "rules", "engram.mdc")
    return [
        Whole(
            path=os.path.join(folder, ".cursor-plugin", "plugin.json"),
            text=json.dumps(manifest, indent=2) + "\n",
            feature="plugin",
        ),
        Block(path=rule, text=texts.block(wanted, guide="the engram skill"), heading=RULE),
        skill(folder, wanted),
        command(folder, "cursor"),
        server(os.path.join(folder, "mcp.json"), wanted, type="stdio"),
        *_hooks(os.path.join(folder, "hooks", "hooks.json"), place, wanted),
    ]


def _hooks(path: str, place: Place, wanted: Wanted) -> list[Element]:
    return [
        hook(
            path,
            "cursor",
            event,
            {"command": hook_line(place, wanted, "cursor", event), "timeout": SECONDS},
            version=1,
        )
        for event in EVENTS
    ]


HOST = Host(
    name="cursor",
    title="Cursor",
    parts=parts,
    programs=("cursor", "cursor-agent"),
    signs=lambda place: (place.at_home(".cursor"),),
    abilities=frozenset({"instructions", "guide", "server", "startup", "capture", "proof", "slash"}),
    lacks={"prompt": "Cursor's prompt hook can stop a prompt, but adds nothing to it"},
    checked="Cursor's pages on hooks (version 1, timeout in seconds) and local plugins",
)
