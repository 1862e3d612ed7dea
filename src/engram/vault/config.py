"""The few settings of memories: their defaults, who set them, and the sparse files that hold them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engram import files
from engram.core.memory import VARIANTS
from engram.errors import InvalidInput, SettingsError, StoreUnavailable

FILE = "engram.config.json"
DEFAULT = "default"
_ROLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A setting: its default, what reads a value (or raises `InvalidInput`), and a line about it."""

    default: Any
    read: Callable[[Any], Any]
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value and where it came from: `default` or the path of a file. `problem` says what was wrong there."""

    value: Any
    origin: str
    problem: str = ""


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        is_digits = isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 10
        number = int(value) if is_digits else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise InvalidInput(f"must be a whole number from {least:,} to {most:,}")
        return number

    return read


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value.strip().lower() not in words:
            raise InvalidInput(f"must be one of: {', '.join(words)}")
        return value.strip().lower()

    return read


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise InvalidInput("must be true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 1000 or value != value.encode("utf-8", "replace").decode():
        raise InvalidInput("must be a short text")
    return " ".join(value.split())


def roles(value: Any) -> list[str]:
    """Names of roles from a list or a text with commas; `none`, `all` and an empty one mean no filter."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise InvalidInput("roles: must be names", hint="like `backend,reviewer`; `none` clears")
    names = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
    if [name.lower() for name in names] in (["none"], ["all"]):
        return []
    for name in names:
        if not _ROLE.fullmatch(name):
            raise InvalidInput("roles: one is not a name", hint="letters, digits, `.`, `_`, `-`; at most 64")
    return names


READ_MODES = ("auto", "startup", "always", "manual", "off")
PROOF_MODES = ("off", "compact")
HOOK_HOSTS = ("claude", "codex", "gemini", "cursor", "windsurf", "opencode", "vscode", "copilot", "qwen")


def _modes_by_host(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not set(value) <= set(HOOK_HOSTS):
        raise InvalidInput(f"must be modes by host: {', '.join(HOOK_HOSTS)}")
    read = _one_of(*READ_MODES)
    return {str(host): read(mode) for host, mode in value.items()}


KEYS: dict[str, Key] = {
    "scope": Key(default="workspace", read=_one_of("workspace", "global", "both"), help="where proposals are saved"),
    "default_profile": Key(default="", read=_text, help="the profile whose global root this workspace uses"),
    "roles": Key(default=[], read=roles, help="show only memories of these roles, and those of none"),
    "load.limit": Key(default=8, read=_whole(1, 32), help="how many memories may match a task"),
    "load.max_tokens": Key(default=1600, read=_whole(200, 16_000), help="budget of a pack in tokens"),
    "load.working_ttl_days": Key(default=14, read=_whole(1, 365), help="days until a working note expires"),
    "mcp.resource_limit": Key(default=20, read=_whole(0, 200), help="memories listed as MCP resources"),
    "rule_variants.enabled": Key(default=False, read=_boolean, help="show rules in one of their wordings"),
    "rule_variants.active": Key(default="balanced", read=_one_of(*VARIANTS), help="which wording"),
    "trust.team": Key(default="load", read=_one_of("load", "card"), help="what came by Git: load it, or cards only"),
    "hook.read": Key(default="auto", read=_one_of(*READ_MODES), help="when hooks bring memories by themselves"),
    "hook.read_for": Key(default={}, read=_modes_by_host, help="the same, for some hosts"),
    "hook.proof": Key(default="off", read=_one_of(*PROOF_MODES), help="a line that says what a hook did"),
    "hook.save_prompts": Key(default=False, read=_boolean, help="keep what the user asks, redacted"),
    "hook.deadline_ms": Key(default=1500, read=_whole(100, 60_000), help="when a hook answers at the latest"),
    "author.name": Key(default="", read=_text, help="who approves, if Git does not know"),
    "author.email": Key(default="", read=_text, help="their address"),
}


def check_key(name: str) -> Key:
    if name not in KEYS:
        raise InvalidInput("config: no such setting", hint=f"one of: {', '.join(KEYS)}")
    return KEYS[name]


def read_value(name: str, value: Any) -> Any:
    """A value for the setting. Raises `InvalidInput` that names it."""
    try:
        return check_key(name).read(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error.message.removeprefix('roles: ')}", hint=error.hint) from error


def effective(folders: Sequence[str], *, problems: list[str] | None = None) -> dict[str, Setting]:
    """Every setting; the file of a later folder wins. A wrong value in a file counts as not given and is named.

    A file that is no JSON object is noted in `problems` and passed over; without that list it raises `SettingsError`.
    """
    found = {name: Setting(value=key.default, origin=DEFAULT) for name, key in KEYS.items()}
    for folder in folders:
        path = os.path.join(folder, FILE)
        try:
            values = read_file(path)
        except SettingsError as error:
            if problems is None:
                raise
            problems.append(error.sentence())
            continue
        for name, value in _flat(values).items():
            if name not in KEYS:
                continue
            try:
                found[name] = Setting(value=KEYS[name].read(value), origin=path)
            except InvalidInput as error:
                kept = found[name]
                found[name] = Setting(value=kept.value, origin=kept.origin, problem=f"{path}: {name} {error.message}")
    return found


def read_file(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            found = json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: cannot be read as JSON", hint="mend or remove it") from error
    if not isinstance(found, dict):
        raise SettingsError(f"{path}: must be a JSON object", hint="mend or remove it")
    return found


def change_file(path: str, name: str, value: Any) -> None:
    """Set one value in a file (None takes it out); all else in it stays."""
    whole = read_file(path)
    *groups, last = name.split(".")
    if groups:
        whole.pop(name, None)  # the other spelling of the same
    at = whole
    for group in groups:
        inner = at.get(group)
        if not isinstance(inner, dict):
            inner = {}
            at[group] = inner
        at = inner
    if value is None:
        at.pop(last, None)
        if groups and not at:
            whole.pop(groups[0], None)
    else:
        at[last] = value
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"{os.path.dirname(path)}: cannot be created: {error.strerror}; nothing was changed",
            hint="check permissions",
        ) from error
    files.write_whole(path, json.dumps(whole, ensure_ascii=False, indent=2) + "\n", mode=0o644)


def _flat(found: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, dict) and f"{before}{name}" not in KEYS:
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat
