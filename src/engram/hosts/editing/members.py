"""One member of an object in a JSON text with comments, such as a server's entry: put it there, and take it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.hosts.editing import json_text
from engram.hosts.editing.edit import Edit, Keys, Untouched
from engram.hosts.editing.json_text import Page
from engram.hosts.parts import Member


def put(text: str, part: Member) -> Edit:
    """Members of the value are brought up to date, others beside them stay. Raises `Untouched` where somebody else's
    stands at the key, and for a text that cannot be edited."""
    text, page = _opened(text)
    at, found = json_text.find(page, part.keys)
    if found != part.keys:
        text, containers = insert_at(page, part.keys, dict(part.value))
        return Edit(text=_checked(page, text, part.keys), status="written", containers=containers)
    there = _value_at(page.value, part.keys)
    if not is_ours(there, part.marks):
        raise Untouched("kept", f"`{'.'.join(part.keys)}` is somebody else's; it was left as it is")
    whole = text
    for key, value in part.value.items():
        page = json_text.read(whole)
        at, _ = json_text.find(page, part.keys)
        child = next((child for child in json_text.children(page, at) if child.key == key), None)
        if child is None:
            whole = json_text.insert(page, at, key, value)
        elif not json_text.same(child.value, value):
            whole = json_text.exchange(page, child, value)
    if whole == text:
        return Edit(text=text, status="unchanged")
    return Edit(text=_checked(json_text.read(text), whole, part.keys), status="updated")


def take(text: str, part: Member, *, containers: tuple[Keys, ...] | None) -> Edit:
    """The text without our member; of what is then empty, the `containers` that we made go too (None: unknown, so all
    that lead to it). Raises `Untouched` as `put`."""
    if not text.strip():
        return Edit(text=text, status="unchanged")
    page = json_text.read(text)
    at, found = json_text.find(page, part.keys[:-1])
    if found != part.keys[:-1] or page.plain[at] != "{":
        return Edit(text=text, status="unchanged")
    child = next((child for child in json_text.children(page, at) if child.key == part.keys[-1]), None)
    if child is None:
        return Edit(text=text, status="unchanged")
    if not is_ours(child.value, part.marks):
        raise Untouched("kept", f"`{'.'.join(part.keys)}` is somebody else's; it was left as it is")
    left = json_text.cut(page, at, child)
    return Edit(text=without_shells(left, part.keys[:-1], containers), status="removed")


def is_ours(value: Any, mark: str) -> bool:
    """Whether `mark` occurs in one of the strings of `value`, at any depth."""
    if isinstance(value, str):
        return mark in value
    if isinstance(value, Mapping):
        return any(is_ours(one, mark) for one in value.values())
    return isinstance(value, list) and any(is_ours(one, mark) for one in value)


def insert_at(page: Page, keys: Keys, value: Any) -> tuple[str, tuple[Keys, ...]]:
    """The text with `value` at `keys`, objects on the way made where they are missing; and which those are."""
    at, found = json_text.find(page, keys)
    if page.plain[at] != "{":
        raise Untouched("skipped", f"`{'.'.join(found) or 'the top level'}` is no object")
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
        child = next(child for child in json_text.children(page, parent) if child.key == keys[depth - 1])
        text = json_text.cut(page, parent, child)
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


def _opened(text: str) -> tuple[str, Page]:
    text = text if text.strip() else "{\n}\n"
    page = json_text.read(text)
    if page.plain[page.start] != "{":
        raise Untouched("skipped", "its top level is no object")
    return text, page


def _value_at(value: Any, keys: Keys) -> Any:
    for key in keys:
        value = value[key]
    return value


def _checked(before: Page, text: str, keys: Keys) -> str:
    """The text, if it parses and nothing else in it has changed."""
    after = json_text.read(text)
    if not json_text.unharmed(before.value, after.value, keys):
        raise Untouched("skipped", "cannot be edited without touching what is beside")
    return text
