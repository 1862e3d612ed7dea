"""What a link consists of: parts, each one piece in one file of an agent program.

A host module says which parts belong there; it never opens a file. `editing` knows how to put each kind of part in
place, to tell whether it is there, and to take it out again so that the bytes around it are as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Feature = Literal["instructions", "guide", "server", "hooks", "slash", "plugin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines of ours between two markers in a text that belongs to a person (Markdown, rules files).

    `heading` is front matter that the host needs (`alwaysApply: true`); it is merged into front matter that is there.
    """

    path: str
    text: str
    heading: Mapping[str, Any] = field(default_factory=dict)
    feature: Feature = "instructions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A file that is ours from the first byte to the last; `text` holds the mark by which it is known as ours."""

    path: str
    text: str
    feature: Feature = "guide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of an object in a JSON file, comments allowed: `keys` lead to it, `value` is what stands there.

    Members of `value` are ours; others that a person added beside them stay. One that stands there already counts as
    ours when `marks` occurs in its command or arguments, else it is somebody else's and stays as it is.
    """

    path: str
    keys: tuple[str, ...]
    value: Mapping[str, Any]
    marks: str = "engram-mcp"
    feature: Feature = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element of an array in a JSON file, comments allowed: `keys` lead to the array.

    An element is ours when `marks` occurs in one of its strings, at any depth. `beside` are members that the top level
    needs (`version: 1`) and gets when they are missing.
    """

    path: str
    keys: tuple[str, ...]
    value: Mapping[str, Any]
    marks: str = "engram hook"
    beside: Mapping[str, Any] = field(default_factory=dict)
    feature: Feature = "hooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with its sub-tables in a TOML file, between two marker comments."""

    path: str
    keys: tuple[str, ...]
    value: Mapping[str, Any]
    marks: str = "engram-mcp"
    feature: Feature = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Something that only the person, or a program of the host, may do: the command that does it, and the one that
    takes it back."""

    command: tuple[str, ...]
    why: str
    undo: tuple[str, ...] = ()
    why_undo: str = ""
    feature: Feature = "server"


Part = Block | Whole | Member | Element | Table | Told
