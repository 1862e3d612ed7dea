"""Pieces that the modules of several hosts put together: server members, hook elements, shared guides."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from engram.hosts import texts
from engram.hosts.host import Place, Wanted
from engram.hosts.launching import powershell_line, shell_line
from engram.hosts.parts import Element, Member, Whole

NAME = "engram"
SECONDS = 10
ALWAYS_LOAD = "--always-load"


def server(path: str, wanted: Wanted, *, at: str = "mcpServers", **more: Any) -> Member:
    """The server as most hosts write it: `command` and `args`, and what else this one wants before them."""
    command, *options = wanted.server
    return Member(path=path, keys=(at, NAME), value={**more, "command": command, "args": options})


def shared_server(place: Place, wanted: Wanted) -> Member:
    """The server in the workspace's `.mcp.json`: one file that several hosts read, Claude Code among them. So it is
    the same whichever host is linked, `always_load` included."""
    command, *options = with_always_load(wanted)
    value = {"command": command, "args": options}
    return Member(path=place.in_workspace(".mcp.json"), keys=("mcpServers", NAME), value=value)


def with_always_load(wanted: Wanted) -> tuple[str, ...]:
    return (*wanted.server, ALWAYS_LOAD) if wanted.always_load else wanted.server


def hook_argv(wanted: Wanted, host: str, event: str) -> tuple[str, ...]:
    return (*wanted.engram, "hook", host, event)


def hook_line(place: Place, wanted: Wanted, host: str, event: str) -> str:
    return shell_line(hook_argv(wanted, host, event), place.platform)


def hook_shells(place: Place, wanted: Wanted, host: str, event: str, *, posix: str) -> dict[str, str]:
    """The line for hosts that know a shell of their own for Windows; `posix` is the key of the other one."""
    lines = {posix: hook_line(place, wanted, host, event)}
    if place.platform == "win32":
        lines["powershell"] = powershell_line(hook_argv(wanted, host, event))
    return lines


def mark(host: str, event: str) -> str:
    """By what a hook of ours is known. Neither the path of the program nor its quotes are part of it, since they
    differ between machines that share a file; host and event together are what another program will not have."""
    return f"hook {host} {event}"


def hook(path: str, host: str, event: str, value: Mapping[str, Any], **beside: Any) -> Element:
    return Element(path=path, keys=("hooks", event), value=value, marks=mark(host, event), beside=beside)


def nested_hook(
    path: str, place: Place, wanted: Wanted, host: str, event: str, *, timeout: int, **more: Any
) -> Element:
    """The shape of Claude Code, which Codex and Gemini CLI took over: groups of calls. `timeout` in the host's unit."""
    call = {"type": "command", "command": hook_line(place, wanted, host, event), "timeout": timeout}
    return hook(path, host, event, {**more, "hooks": [call]})


def shared_guide(place: Place, wanted: Wanted) -> Whole:
    """The guide for all hosts that have no folder of their own for it."""
    path = place.at_home(".agents", "engram.md") if place.is_global else place.in_workspace(".agents", "engram.md")
    return Whole(path=path, text=texts.guide(wanted))


def skill(folder: str, wanted: Wanted) -> Whole:
    """The skill in a host's folder of skills."""
    return Whole(path=os.path.join(folder, "skills", NAME, "SKILL.md"), text=texts.skill(wanted))


def command(folder: str, host: str) -> Whole:
    """The command `/engram` in a host's folder."""
    name = f"{NAME}.toml" if host == "gemini" else f"{NAME}.md"
    return Whole(path=os.path.join(folder, "commands", name), text=texts.slash(host), feature="slash")
