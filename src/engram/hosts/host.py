"""What an agent program is to us: which files it reads, and what a link puts into them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from engram.hosts.parts import Part

Ability = Literal["instructions", "guide", "server", "startup", "prompt", "capture", "proof", "slash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a link goes: into the home folder of a person, or into one workspace. All paths are absolute.

    `exists` tells whether a path is there, `is_file` whether it is a file; host modules ask nothing else of the disk.
    """

    home: str
    workspace: str
    is_global: bool
    environ: Mapping[str, str]
    platform: str
    exists: Callable[[str], bool] = os.path.exists
    is_file: Callable[[str], bool] = os.path.isfile

    @property
    def scope(self) -> str:
        return "global" if self.is_global else "workspace"

    def at_home(self, *names: str) -> str:
        return os.path.join(self.home, *names)

    def in_workspace(self, *names: str) -> str:
        return os.path.join(self.workspace, *names)

    def chosen(self, variable: str, *names: str) -> str:
        """The folder that an environment variable names, else the one of these names in the home folder."""
        said = self.environ.get(variable, "").strip()
        if said == "~" or said.startswith(("~/", "~\\")):
            said = said[2:]
        elif not said:
            said = os.path.join(*names)
        return os.path.join(self.home, said) if said else self.home


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be linked: the programs to start, and how much of Engram.

    `server` starts the MCP server, its options included; `always_load` is added by those hosts alone that understand
    it. `engram` starts the command line, for hooks. `has_observations`: the texts speak of `mem_*` tools too.
    """

    server: tuple[str, ...]
    engram: tuple[str, ...]
    version: str
    has_observations: bool = False
    always_load: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One agent program. `parts` says what a link consists of in a place; it opens no file.

    `signs` are paths by which an installed program is known, and `programs` the commands it has. `lacks` gives a
    sentence for each ability that this program does not have, `limits` one for each that it has in part, and `absent`
    one for a scope that has nothing to link. `checked` says what the shapes were compared with.
    """

    name: str
    title: str
    parts: Callable[[Place, Wanted], list[Part]]
    aliases: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    signs: Callable[[Place], tuple[str, ...]] = lambda place: ()
    abilities: frozenset[Ability] = frozenset()
    lacks: Mapping[Ability, str] = field(default_factory=dict)
    limits: Mapping[Ability, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    in_all: Literal["installed", "always", "never"] = "installed"
    checked: str = ""
