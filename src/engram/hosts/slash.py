"""The command `/engram` for the programs that have commands with arguments."""

from __future__ import annotations

from engram.hosts import claude, opencode
from engram.hosts.host import Ability, Host, Place, Wanted
from engram.hosts.parts import Part
from engram.hosts.pieces import command, skill

_OTHERS: tuple[Ability, ...] = ("instructions", "server", "startup", "prompt", "capture", "proof")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    of_claude, cursor, gemini, of_opencode = _folders(place)
    return [
        command(of_claude, "claude"),
        skill(of_claude, wanted),
        command(cursor, "cursor"),
        command(gemini, "gemini"),
        command(of_opencode, "opencode"),
    ]


def _folders(place: Place) -> tuple[str, str, str, str]:
    if place.is_global:
        return claude.folder(place), place.at_home(".cursor"), place.at_home(".gemini"), opencode.folder(place)
    within = place.in_workspace
    return within(".claude"), within(".cursor"), within(".gemini"), within(".opencode")


HOST = Host(
    name="slash",
    title="/engram",
    parts=parts,
    abilities=frozenset({"guide", "slash"}),
    lacks=dict.fromkeys(_OTHERS, "this target is the command alone"),
    in_all="always",
)
