"""What a link tells agents: the block in their instructions, the guide, the skill, the command, the plugin."""

from __future__ import annotations

import json
from importlib import resources

from engram.hosts.editing.wholes import MARK
from engram.hosts.host import Wanted

__all__ = ["MARK", "block", "guide", "instructions_file", "plugin", "shared_block", "short_block", "skill", "slash"]

# The places where the guide may be, for a file that several hosts share: it must say the same for all of them.
SHARED_GUIDE = "the engram skill, or engram.md in .agents or .opencode"
_HEADER = f"<!-- {MARK}: a link wrote this file and will write it again -->"
_SKILL = (
    "Recall and save what outlives a session: approved rules and decisions of this project, and what was learned "
    "before. Use before work, after decisions and fixes, when past work is mentioned, and before saying done."
)
_SLASH = "Engram: load, search, save or propose memory"
_ARGUMENTS = {"claude": "$ARGUMENTS", "opencode": "$ARGUMENTS", "gemini": "{{args}}", "cursor": "what follows /engram"}


def block(wanted: Wanted, *, guide: str) -> str:
    """The lines for a file of instructions; `guide` says where the rest is."""
    return _joined("block", "protocol" if wanted.has_observations else "").replace("{guide}", guide)


def shared_block(wanted: Wanted) -> str:
    """The lines for an `AGENTS.md` of a workspace, the same whichever host wrote them."""
    return block(wanted, guide=SHARED_GUIDE)


def short_block(wanted: Wanted) -> str:
    """For a file that a host cuts off: under 1,000 characters with its markers."""
    return _joined("short", "short-protocol" if wanted.has_observations else "")


def guide(wanted: Wanted) -> str:
    """The whole guide, as a file of ours."""
    return f"{_HEADER}\n\n{_body(wanted)}\n"


def skill(wanted: Wanted) -> str:
    """The guide as a skill: with the name and the description by which an agent chooses it."""
    return f"---\nname: engram\ndescription: {json.dumps(_SKILL)}\n---\n\n{_HEADER}\n\n{_body(wanted)}\n"


def instructions_file(wanted: Wanted) -> str:
    """The block as a file of VS Code's, which holds for every file."""
    heading = '---\ndescription: "Engram: memory of your projects"\napplyTo: "**"\n---'
    return f"{heading}\n\n{_HEADER}\n\n{block(wanted, guide='~/.agents/engram.md')}\n"


def slash(host: str) -> str:
    """The command `/engram` in the format of `host`: claude, cursor, gemini or opencode."""
    body = _read("slash.md").replace("{arguments}", _ARGUMENTS[host])
    if host == "gemini":
        return f'# {MARK}\ndescription = {json.dumps(_SLASH)}\nprompt = """\n{body}\n"""\n'
    heading = "" if host == "cursor" else f"---\ndescription: {json.dumps(_SLASH)}\n---\n\n"
    return f"{heading}{_HEADER}\n\n{body}\n"


def plugin(wanted: Wanted) -> str:
    """OpenCode's plugin, with the program that it calls put in."""
    return _read("opencode-plugin.js").replace('["engram"]', json.dumps(list(wanted.engram))) + "\n"


def _body(wanted: Wanted) -> str:
    return _joined("guide", "guide-observations" if wanted.has_observations else "")


def _joined(*names: str) -> str:
    return "\n\n".join(_read(f"{name}.md") for name in names if name)


def _read(name: str) -> str:
    return resources.files("engram.hosts").joinpath("templates", name).read_text(encoding="utf-8").strip("\n")
