"""Cline: a rules file, and servers in the file of a person."""

from __future__ import annotations

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Member, Part
from engram.hosts.pieces import NAME, shared_guide


def parts(place: Place, wanted: Wanted) -> list[Part]:
    if place.is_global:
        path = place.at_home("Documents", "Cline", "Rules", "engram.md")
        return [
            Block(path=path, text=texts.block(wanted, guide="~/.agents/engram.md")),
            shared_guide(place, wanted),
            _server(place.at_home(".cline", "data", "settings", "cline_mcp_settings.json"), wanted),
        ]
    rules = place.in_workspace(".clinerules")
    path = rules if place.is_file(rules) else place.in_workspace(".clinerules", "engram.md")
    return [Block(path=path, text=texts.block(wanted, guide=".agents/engram.md")), shared_guide(place, wanted)]


def _server(path: str, wanted: Wanted) -> Member:
    command, *options = wanted.server
    value = {"transport": {"type": "stdio", "command": command, "args": options}}
    return Member(path=path, keys=("mcpServers", NAME), value=value)


_SCRIPTS = "Cline's hooks are scripts in a folder of its own, one a person may have written for each event"

HOST = Host(
    name="cline",
    title="Cline",
    parts=parts,
    programs=("cline",),
    signs=lambda place: (place.at_home(".cline"), place.at_home("Documents", "Cline")),
    abilities=frozenset({"instructions", "guide", "server"}),
    lacks={
        "startup": _SCRIPTS,
        "prompt": _SCRIPTS,
        "capture": _SCRIPTS,
        "proof": _SCRIPTS,
        "slash": "Cline's workflows take no arguments",
    },
    limits={"server": "with --global only: Cline reads no servers of a workspace"},
    checked="Cline 3.0.65",
)
