"""One member of an object in a JSON text with comments, such as a server's entry: put it there, and take it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.hosts.editing import json_text
from engram.hosts.editing.edit import Edit, Keys, Untouched, newline_near
from engram.hosts.editing.json_text import Page
from engram.hosts.parts import Member

# Among the containers this is the object of the top level.
TOP: Keys = ()


def put(text: str, part: Member) -> Edit:
    """Members of the value are brought up to date, others beside them stay. Raises `Untouched` where somebody else's
    stands at the key, and for a text that cannot be edited."""
    opened, containers = with_top(text)
    page = json_text.read(opened)
    _, found = json_text.find(page, part.keys)
    if found != part.keys:
        whole, made = insert_at(page, part.keys, dict(part.value))
        return Edit(text=_checked(page, whole, part.keys), status="written", containers=(*containers, *made))
    there = page.value
    for key in part.keys:
        there = there[key]
    if not is_ours(there, part.marks):
        raise Untouched("kept", f"{json_text.named(part.keys)} is somebody else's; it was left as it is")
    whole = json_text.bring_up(text, part.keys, part.value)
    if whole == text:
        return Edit(text=text, status="unchanged")
    return Edit(text=_checked(page, whole, part.keys), status="updated")


def take(text: str, part: Member, *, containers: tuple[Keys, ...] | None) -> Edit:
    """The text without our member; of what is then empty, the `containers` that we made go too (None: unknown, so all
    that lead to it). Raises `Untouched` as `put`."""
    if json_text.is_blank(text):
        return Edit(text=text, status="unchanged")
    page = json_text.read(text)
    at, found = json_text.find(page, part.keys[:-1])
    if found != part.keys[:-1] or page.plain[at] != "{":
        return Edit(text=text, status="unchanged")
    child = json_text.member(page, at, part.keys)
    if child is None:
        return Edit(text=text, status="unchanged")
    if not is_ours(child.value, part.marks):
        raise Untouched("kept", f"{json_text.named(part.keys)} is somebody else's; it was left as it is")
    left = without_shells(json_text.cut(page, at, {child.number}), part.keys[:-1], containers)
    return Edit(text=without_top(_checked(page, left, part.keys), containers), status="removed")


# What a person may fill with words of ours without the server being ours.
_SETTINGS = ("env", "environment", "cwd", "headers", "url", "serverUrl", "httpUrl")


def is_ours(value: Any, mark: str) -> bool:
    """Whether `mark` occurs in an object, such as in the command of a server's entry; a folder or a variable of that
    name is no sign."""
    return isinstance(value, Mapping) and any(says(one, mark) for key, one in value.items() if key not in _SETTINGS)


def says(value: Any, mark: str) -> bool:
    """Whether `mark` occurs in one of the strings of `value`, at any depth."""
    if isinstance(value, str):
        return mark in value
    if isinstance(value, Mapping):
        return any(says(one, mark) for one in value.values())
    return isinstance(value, list) and any(says(one, mark) for one in value)


def with_top(text: str) -> tuple[str, tuple[Keys, ...]]:
    """The text, with an object at the end where there was none; and whether it is new, as containers. Raises
    `Untouched` for another top level."""
    if json_text.is_blank(text):
        end = newline_near(text, len(text))
        if text and not text.endswith(("\n", "\r")):  # it has no last line end, and is to have none
            return f"{text}{end}{{}}", (TOP,)
        return f"{text}{{}}{end}", (TOP,)
    page = json_text.read(text)
    if page.plain[page.start] != "{":
        raise Untouched("skipped", "its top level is no object")
    return text, ()


def without_top(text: str, containers: tuple[Keys, ...] | None) -> str:
    """The text without its object, when we made that and nothing is left in it: the way back from `with_top`."""
    if containers is None or TOP not in containers:
        return text
    page = json_text.read(text)
    if not json_text.is_bare(page, page.start):
        return text
    before, after = text[: page.start], text[page.end :]
    if after:
        return before + after.removeprefix(newline_near(text, len(text)))
    return before.removesuffix(newline_near(text, len(text)))


def insert_at(page: Page, keys: Keys, value: Any) -> tuple[str, tuple[Keys, ...]]:
    """The text with `value` at `keys`, objects on the way made where they are missing; and which those are."""
    at, found = json_text.find(page, keys)
    if page.plain[at] != "{":
        raise Untouched("skipped", f"{json_text.named(found)} is no object")
    missing = keys[len(found) :]
    for key in reversed(missing[1:]):
        value = {key: value}
    made = tuple(keys[: len(found) + depth] for depth in range(1, len(missing)))
    return json_text.insert(page, at, missing[0], value), made


def without_shells(text: str, keys: Keys, containers: tuple[Keys, ...] | None) -> str:
    """The text without the empty objects and arrays along `keys`, from the innermost on, as far as they are ours."""
    for depth in range(len(keys), 0, -1):
        if containers is not None and keys[:depth] not in containers:
            break
        page = json_text.read(text)
        at, found = json_text.find(page, keys[:depth])
        if found != keys[:depth] or page.plain[at] not in "{[" or not json_text.is_bare(page, at):
            break
        parent, _ = json_text.find(page, keys[: depth - 1])
        child = json_text.member(page, parent, keys[:depth])
        if child is not None:
            text = json_text.cut(page, parent, {child.number})
    return text


def is_shell(text: str, beside: Mapping[str, Any] | None = None) -> bool:
    """Whether nothing is left in the text but an empty object, or members that we put beside ours."""
    if not text.strip():
        return True
    page = json_text.read(text)
    if page.remarks or not isinstance(page.value, dict):
        return False
    return all(
        key in (beside or {}) and json_text.same(value, (beside or {})[key]) for key, value in page.value.items()
    )


def _checked(before: Page, text: str, keys: Keys) -> str:
    """The text, if it parses and nothing else in it has changed."""
    after = json_text.read(text)
    if not json_text.unharmed(before.value, after.value, keys):
        raise Untouched("skipped", "cannot be edited without touching what is beside")
    return text
