"""The command `/engram` for the programs that have commands with arguments."""

from __future__ import annotations

import os

from engram.hosts import claude, opencode, texts
from engram.hosts.host import Ability, Host, Place, Wanted
from engram.hosts.parts import Part, Whole
from engram.hosts.pieces import skill

_OTHERS: tuple[Ability, ...] = ("instructions", "server", "startup", "prompt", "capture", "proof")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    of_claude, cursor, gemini, of_opencode = _folders(place)
    return [
        _command(os.path.join(of_claude, "commands", "engram.md"), "claude"),
        skill(of_claude, wanted),
        _command(os.path.join(cursor, "commands", "engram.md"), "cursor"),
        _command(os.path.join(gemini, "commands", "engram.toml"), "gemini"),
        _command(os.path.join(of_opencode, "commands", "engram.md"), "opencode"),
    ]


def _folders(place: Place) -> tuple[str, str, str, str]:
    if place.is_global:
        return claude.folder(place), place.at_home(".cursor"), place.at_home(".gemini"), opencode.folder(place)
    within = place.in_workspace
    return within(".claude"), within(".cursor"), within(".gemini"), within(".opencode")


def _command(path: str, host: str) -> Whole:
    return Whole(path=path, text=texts.slash(host), feature="slash")


HOST = Host(
    name="slash",
    title="/engram",
    parts=parts,
    abilities=frozenset({"guide", "slash"}),
    lacks=dict.fromkeys(_OTHERS, "this target is the command alone"),
    in_all="always",
)
