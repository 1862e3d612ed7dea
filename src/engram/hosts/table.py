"""All agent programs that can be linked, by name, and what each of them can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from engram.errors import InvalidInput
from engram.hosts import (
    agents_md,
    antigravity,
    claude,
    cline,
    codex,
    copilot,
    cursor,
    gemini,
    mcp,
    opencode,
    slash,
    vscode,
    windsurf,
)
from engram.hosts.host import Ability, Host

# The order in which they are listed, and linked by `all`.
HOSTS: tuple[Host, ...] = (
    claude.HOST,
    codex.HOST,
    gemini.HOST,
    cursor.HOST,
    windsurf.HOST,
    opencode.HOST,
    vscode.HOST,
    copilot.HOST,
    cline.HOST,
    antigravity.HOST,
    agents_md.HOST,
    mcp.HOST,
    slash.HOST,
)
ABILITIES: tuple[Ability, ...] = get_args(Ability)
YES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one program can do: for each ability `yes`, `yes; and a limit`, or the reason why not."""

    host: str
    cells: Mapping[Ability, str]


def named(name: str) -> Host:
    """The program of that name or alias, whatever its case. Raises `InvalidInput` that lists the names."""
    wanted = name.strip().lower()
    for host in HOSTS:
        if wanted in (host.name, *host.aliases):
            return host
    shown = f" `{wanted}`" if len(wanted) <= 40 and wanted.isprintable() and wanted else ""
    raise InvalidInput(f"host: no program{shown} is known", hint=f"one of: {', '.join(host.name for host in HOSTS)}")


def capabilities() -> tuple[Row, ...]:
    """A row for each program, in the order of `HOSTS`."""
    return tuple(Row(host=host.name, cells={ability: _cell(host, ability) for ability in ABILITIES}) for host in HOSTS)


def _cell(host: Host, ability: Ability) -> str:
    if ability not in host.abilities:
        return host.lacks[ability]
    limit = host.limits.get(ability)
    return f"{YES}; {limit}" if limit else YES
