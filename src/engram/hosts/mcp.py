"""The server alone, in the `.mcp.json` of a workspace."""

from __future__ import annotations

from engram.hosts.host import Ability, Host, Place, Wanted
from engram.hosts.parts import Part
from engram.hosts.pieces import shared_server

_OTHERS: tuple[Ability, ...] = ("instructions", "guide", "startup", "prompt", "capture", "proof", "slash")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    return [] if place.is_global else [shared_server(place, wanted)]


HOST = Host(
    name="mcp",
    title=".mcp.json",
    parts=parts,
    abilities=frozenset({"server"}),
    lacks=dict.fromkeys(_OTHERS, "this target is the server alone"),
    absent={"global": ".mcp.json belongs to a workspace; link the programs themselves with --global"},
    in_all="always",
)
