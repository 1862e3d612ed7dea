"""Antigravity: rules and skills in `.agents`, and for a person what lies under `.gemini`."""

from __future__ import annotations

from engram.hosts import texts
from engram.hosts.gemini import global_block
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Part
from engram.hosts.pieces import server, shared_guide, skill


def parts(place: Place, wanted: Wanted) -> list[Part]:
    if place.is_global:
        return [
            global_block(place, wanted),
            shared_guide(place, wanted),
            skill(place.at_home(".gemini", "antigravity"), wanted),
            server(place.at_home(".gemini", "config", "mcp_config.json"), wanted),
        ]
    path = place.in_workspace(".agents", "rules", "engram.md")
    return [
        Block(path=path, text=texts.block(wanted, guide=".agents/engram.md")),
        shared_guide(place, wanted),
        skill(place.in_workspace(".agents"), wanted),
    ]


_UNKNOWN = "Antigravity documents hooks around tools, none that begins or ends a session"

HOST = Host(
    name="antigravity",
    title="Antigravity",
    parts=parts,
    aliases=("antigravity-cli",),
    programs=("antigravity", "agy"),
    signs=lambda place: (place.at_home(".gemini", "antigravity"), place.at_home(".gemini", "config")),
    abilities=frozenset({"instructions", "guide", "server"}),
    lacks={
        "startup": _UNKNOWN,
        "prompt": _UNKNOWN,
        "capture": _UNKNOWN,
        "proof": _UNKNOWN,
        "slash": "Antigravity has workflows instead of commands with arguments",
    },
    limits={"server": "with --global only: the server stands in ~/.gemini/config/mcp_config.json"},
    checked="paths as two independent installers write them; not tried with the program",
)
