"""A place and a wish for tests of host modules, and parts as lines that can be read."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from engram.hosts.host import Host, Place, Wanted
from engram.hosts.parts import Block, Element, Member, Part, Table, Told, Whole

HOME, SHOP = "/home/a", "/home/a/shop"
ENGRAM = "/home/a/.local/bin/engram"


def place(
    scope: str, *, platform: str = "linux", there: Collection[str] = (), files: Collection[str] = (), **environ: str
) -> Place:
    return Place(
        home=HOME,
        workspace=SHOP,
        is_global=scope == "global",
        environ=environ,
        platform=platform,
        exists=lambda path: path in there or path in files,
        is_file=lambda path: path in files,
    )


def wanted(**more: Any) -> Wanted:
    return Wanted(**{"server": ("engram-mcp", "--x"), "engram": (ENGRAM,), "version": "1.2.3", **more})


def lines(host: Host, scope: str, **environ: str) -> list[str]:
    return [line(part, scope) for part in host.parts(place(scope, **environ), wanted())]


def line(part: Part, scope: str) -> str:
    """`kind path: keys = value`; texts are told by their kind alone, and where a hook stands by its command."""
    if isinstance(part, Told):
        return f"told {' '.join(part.command)}"
    path = shortened(part.path)
    if isinstance(part, Block):
        heading = f" {json.dumps(dict(part.heading))}" if part.heading else ""
        return f"block {path}{heading}"
    if isinstance(part, Whole):
        return f"whole {path} {part.feature}"
    value = json.dumps(part.value).replace(ENGRAM, "ENGRAM")
    beside = f" beside {json.dumps(dict(part.beside))}" if isinstance(part, Element) and part.beside else ""
    kind = {Member: "member", Element: "element", Table: "table"}[type(part)]
    return f"{kind} {path}: {'.'.join(part.keys)} = {value}{beside}"


def shortened(path: str) -> str:
    """Relative to the workspace, or from `~` on."""
    return path.removeprefix(f"{SHOP}/") if path.startswith(f"{SHOP}/") else path.replace(HOME, "~", 1)
