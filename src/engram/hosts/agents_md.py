"""Any program that reads `AGENTS.md` and `.mcp.json`."""

from __future__ import annotations

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Part
from engram.hosts.pieces import shared_guide, shared_server


def parts(place: Place, wanted: Wanted) -> list[Part]:
    if place.is_global:
        return []
    return [
        Block(path=place.in_workspace("AGENTS.md"), text=texts.shared_block(wanted)),
        shared_guide(place, wanted),
        shared_server(place, wanted),
    ]


_ANY = "a file that any program may read has no hooks"

HOST = Host(
    name="agents-md",
    title="AGENTS.md",
    parts=parts,
    abilities=frozenset({"instructions", "guide", "server"}),
    lacks={
        "startup": _ANY,
        "prompt": _ANY,
        "capture": _ANY,
        "proof": _ANY,
        "slash": "a file that any program may read has no commands",
    },
    absent={"global": "AGENTS.md belongs to a workspace; link the programs themselves with --global"},
    in_all="never",
)
