"""VS Code: instructions and servers of its own agent mode."""

from __future__ import annotations

import os

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Part, Whole
from engram.hosts.pieces import server, shared_guide


def folder(place: Place) -> str:
    """The default profile of a person."""
    if place.platform == "win32":
        roaming = place.environ.get("APPDATA", "").strip() or place.at_home("AppData", "Roaming")
        return os.path.join(roaming, "Code", "User")
    if place.platform == "darwin":
        return place.at_home("Library", "Application Support", "Code", "User")
    return os.path.join(place.chosen("XDG_CONFIG_HOME", ".config"), "Code", "User")


def parts(place: Place, wanted: Wanted) -> list[Part]:
    if place.is_global:
        return [
            Whole(
                path=os.path.join(folder(place), "prompts", "engram.instructions.md"),
                text=texts.instructions_file(wanted),
                feature="instructions",
            ),
            shared_guide(place, wanted),
            server(os.path.join(folder(place), "mcp.json"), wanted, at="servers", type="stdio"),
        ]
    return [
        copilot_block(place, wanted),
        shared_guide(place, wanted),
        server(place.in_workspace(".vscode", "mcp.json"), wanted, at="servers", type="stdio"),
    ]


def copilot_block(place: Place, wanted: Wanted) -> Block:
    """Copilot's other programs read the same file of a workspace."""
    path = place.in_workspace(".github", "copilot-instructions.md")
    return Block(path=path, text=texts.block(wanted, guide=".agents/engram.md"))


_PREVIEW = "VS Code's agent hooks are a preview whose format may still change"

HOST = Host(
    name="vscode",
    title="VS Code",
    parts=parts,
    aliases=("vs-code", "code"),
    programs=("code",),
    signs=lambda place: (folder(place),),
    abilities=frozenset({"instructions", "guide", "server"}),
    lacks={
        "startup": _PREVIEW,
        "prompt": _PREVIEW,
        "capture": _PREVIEW,
        "proof": _PREVIEW,
        "slash": "VS Code has prompt files; its agent finds the server's prompt",
    },
    checked="VS Code's MCP configuration reference (`servers`, `type: stdio`)",
)
