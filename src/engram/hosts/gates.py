"""Which settings of agent programs would run `engram_commit` without asking a person.

The person's yes is asked for by the host, before the tool runs. Each of these settings, known to the hosts' own
documentation, takes that question away; none of them is ever written by a link.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TOOL = "engram_commit"
SERVER = "engram"

# What a settings file says, read as JSON with comments or as TOML; None where there is none, or none that can be read.
Read = Callable[[str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGate:
    """A setting that lets the tool run unasked: in which file, at which keys, and the element of a list there that
    says it ("" when the value itself does)."""

    host: str
    path: str
    keys: tuple[str, ...]
    element: str = ""
    finding: str

    @property
    def said(self) -> str:
        where = ".".join(self.keys)
        return f"{self.path}: {where}" + (f" lists `{self.element}`" if self.element else "")


def open_gates(*, home: str, workspace: str, environ: Mapping[str, str], read: Read) -> list[OpenGate]:
    """All of them, in the files of this user and of this workspace."""
    found: list[OpenGate] = []
    for look in (_claude, _codex, _gemini, _cursor, _opencode, _listed):
        found += look(home, workspace, environ, read)
    return found


def _claude(home: str, workspace: str, environ: Mapping[str, str], read: Read) -> Iterator[OpenGate]:
    """`permissions.allow` holds names like `mcp__engram` (the whole server), `mcp__engram__*` or the tool's own.

    Newer versions ask for this tool all the same (`requiresUserInteraction`); older ones do not know that mark.
    """
    folder = environ.get("CLAUDE_CONFIG_DIR", "").strip() or os.path.join(home, ".claude")
    places = [os.path.join(folder, "settings.json")]
    places += [os.path.join(workspace, ".claude", name) for name in ("settings.json", "settings.local.json")]
    for path in dict.fromkeys(places):
        for name in _strings(_at(read(path), "permissions", "allow")):
            rule = name.split("(")[0].strip()
            if rule == f"mcp__{SERVER}" or (
                rule.startswith("mcp__") and fnmatch.fnmatch(f"mcp__{SERVER}__{TOOL}", rule)
            ):
                yield OpenGate(
                    host="claude", path=path, keys=("permissions", "allow"), element=name, finding="host.claude_allow"
                )


def _codex(home: str, workspace: str, environ: Mapping[str, str], read: Read) -> Iterator[OpenGate]:
    """`approval_mode = "approve"` runs a tool without a person; so does that as the server's default, where the tool
    has no value of its own."""
    folder = environ.get("CODEX_HOME", "").strip() or os.path.join(home, ".codex")
    for path in (os.path.join(folder, "config.toml"), os.path.join(workspace, ".codex", "config.toml")):
        server = _at(read(path), "mcp_servers", SERVER)
        own = _at(server, "tools", TOOL, "approval_mode")
        if own == "approve":
            at: tuple[str, ...] = ("mcp_servers", SERVER, "tools", TOOL, "approval_mode")
            yield OpenGate(host="codex", path=path, keys=at, finding="host.codex_approval")
        elif own is None and _at(server, "default_tools_approval_mode") == "approve":
            at = ("mcp_servers", SERVER, "default_tools_approval_mode")
            yield OpenGate(host="codex", path=path, keys=at, finding="host.codex_approval")


def _gemini(home: str, workspace: str, environ: Mapping[str, str], read: Read) -> Iterator[OpenGate]:
    """`trust: true` skips every confirmation of a server; `tools.allowed` those of the tools that it names."""
    for folder in (home, workspace):
        path = os.path.join(folder, ".gemini", "settings.json")
        said = read(path)
        if _at(said, "mcpServers", SERVER, "trust") is True:
            yield OpenGate(host="gemini", path=path, keys=("mcpServers", SERVER, "trust"), finding="host.gemini_trust")
        for name in _strings(_at(said, "tools", "allowed")):
            if name.split("(")[0].strip() in (TOOL, f"{SERVER}__{TOOL}", f"mcp_{SERVER}_{TOOL}"):
                yield OpenGate(
                    host="gemini", path=path, keys=("tools", "allowed"), element=name, finding="host.gemini_allowed"
                )


def _cursor(home: str, workspace: str, environ: Mapping[str, str], read: Read) -> Iterator[OpenGate]:
    """Its command line reads `permissions.allow` with `Mcp(server:tool)`, the editor an `mcpAllowlist` of
    `server:tool`, each with `*` for any."""
    places = (
        (os.path.join(home, ".cursor", "cli-config.json"), ("permissions", "allow")),
        (os.path.join(workspace, ".cursor", "cli.json"), ("permissions", "allow")),
        (os.path.join(home, ".cursor", "permissions.json"), ("mcpAllowlist",)),
    )
    for path, keys in places:
        for name in _strings(_at(read(path), *keys)):
            said = name.strip().removeprefix("Mcp(").removesuffix(")")
            server, _, tool = said.partition(":")
            if fnmatch.fnmatch(SERVER, server.strip()) and fnmatch.fnmatch(TOOL, tool.strip() or "*"):
                if keys == ("permissions", "allow") and not name.strip().startswith("Mcp("):
                    continue
                yield OpenGate(host="cursor", path=path, keys=keys, element=name, finding="host.cursor_allow")


def _opencode(home: str, workspace: str, environ: Mapping[str, str], read: Read) -> Iterator[OpenGate]:
    """It runs every tool unasked unless `permission` says otherwise: one word for all, or names with `*` mapped to
    allow, ask or deny, of which the last one that fits counts."""
    config = environ.get("XDG_CONFIG_HOME", "").strip() or os.path.join(home, ".config")
    places = [
        os.path.join(folder, name)
        for folder in (os.path.join(config, "opencode"), workspace)
        for name in ("opencode.json", "opencode.jsonc")
    ]
    registered, answer = "", "allow"
    for path in places:
        said = read(path)
        if _at(said, "mcp", SERVER) is not None:
            registered = path
        rules = _at(said, "permission")
        if isinstance(rules, str):
            answer = rules
        for rule, value in rules.items() if isinstance(rules, Mapping) else ():
            if fnmatch.fnmatch(f"{SERVER}_{TOOL}", rule):
                answer = _opencode_answer(value, answer)
    if registered and answer == "allow":
        keys = ("permission", f"{SERVER}_{TOOL}")
        yield OpenGate(host="opencode", path=registered, keys=keys, finding="host.opencode_allow")


def _opencode_answer(value: Any, answer: str) -> str:
    """A rule is a word, or patterns of what the tool is called with, each with a word; a server's tool has `*`."""
    patterns = {"*": value} if isinstance(value, str) else value if isinstance(value, Mapping) else {}
    words = [word for pattern, word in patterns.items() if pattern == "*" and isinstance(word, str)]
    return words[-1] if words else answer


def _listed(home: str, workspace: str, environ: Mapping[str, str], read: Read) -> Iterator[OpenGate]:
    """Cline and Windsurf keep a list of tools that run unasked beside the server."""
    places = (
        ("cline", os.path.join(home, ".cline", "data", "settings", "cline_mcp_settings.json"), "autoApprove"),
        ("windsurf", os.path.join(home, ".codeium", "windsurf", "mcp_config.json"), "alwaysAllow"),
        ("windsurf", os.path.join(home, ".codeium", "windsurf", "mcp_config.json"), "autoApprove"),
    )
    for host, path, key in places:
        for name in _strings(_at(read(path), "mcpServers", SERVER, key)):
            if name in (TOOL, "*"):
                keys = ("mcpServers", SERVER, key)
                yield OpenGate(host=host, path=path, keys=keys, element=name, finding=f"host.{host}_allow")


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _strings(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
