"""Windsurf: a rule and hooks; servers only in the file of a person."""

from __future__ import annotations

from engram.hosts import texts
from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Element, Part, Whole
from engram.hosts.pieces import hook, hook_shells, server

# Whether Windsurf shows what the hook prints: the proof line is meant to be seen, the capture is not.
EVENTS = {"pre_user_prompt": True, "post_cascade_response": False}


def parts(place: Place, wanted: Wanted) -> list[Part]:
    if place.is_global:
        return [
            Block(
                path=place.at_home(".codeium", "windsurf", "memories", "global_rules.md"),
                text=texts.short_block(wanted),
            ),
            server(place.at_home(".codeium", "windsurf", "mcp_config.json"), wanted),
            *_hooks(place.at_home(".codeium", "windsurf", "hooks.json"), place, wanted),
        ]
    return [
        Block(
            path=place.in_workspace(".windsurf", "rules", "engram.md"),
            text=texts.block(wanted, guide=".windsurf/engram.md"),
            heading={"trigger": "always_on"},
        ),
        Whole(path=place.in_workspace(".windsurf", "engram.md"), text=texts.guide(wanted)),
        *_hooks(place.in_workspace(".windsurf", "hooks.json"), place, wanted),
    ]


def _hooks(path: str, place: Place, wanted: Wanted) -> list[Element]:
    return [
        hook(
            path,
            "windsurf",
            event,
            {**hook_shells(place, wanted, "windsurf", event, posix="command"), "show_output": is_shown},
        )
        for event, is_shown in EVENTS.items()
    ]


HOST = Host(
    name="windsurf",
    title="Windsurf",
    parts=parts,
    aliases=("cascade",),
    programs=("windsurf",),
    signs=lambda place: (place.at_home(".codeium", "windsurf"),),
    abilities=frozenset({"instructions", "guide", "server", "capture", "proof"}),
    lacks={
        "startup": "Windsurf's hooks cannot add to what the model sees",
        "prompt": "Windsurf's hooks cannot add to what the model sees; the proof line is shown to the person",
        "slash": "Windsurf has workflows instead of commands with arguments",
    },
    limits={
        "server": "with --global only: Windsurf documents no servers of a workspace",
        "guide": "in the workspace only: its global rules are one short file",
    },
    checked="Windsurf's page on Cascade hooks; global rules hold under 1,000 characters of ours",
)
