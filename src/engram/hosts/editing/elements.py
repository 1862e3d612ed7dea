"""One element of an array in a JSON text with comments, such as a hook: put it there, and take it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engram.hosts.editing import json_text, members
from engram.hosts.editing.edit import Edit, Keys, Untouched
from engram.hosts.editing.json_text import Child, Page, Path
from engram.hosts.parts import Element


@dataclass(frozen=True, slots=True)
class _Spot:
    """Our element: the path to it, where the array that holds it begins, and the part of our value that belongs
    there."""

    path: Path
    array: int
    child: Child
    value: Any


def put(text: str, part: Element) -> Edit:
    """One element of ours stands in the array; those of others stay, in their order. Raises `Untouched` for a text
    that cannot be edited."""
    whole, containers = members.with_top(text)
    page = json_text.read(whole)
    ours = _ours(page, part)
    if ours:
        whole = _without(page, ours[1:])  # more than one of ours would run twice
        whole = json_text.bring_up(whole, ours[0].path, ours[0].value)
    else:
        at, found = json_text.find(page, part.keys)
        if found == part.keys:
            whole = json_text.insert(page, at, "", dict(part.value))
        else:
            whole, made = members.insert_at(page, part.keys, [dict(part.value)])
            containers = (*containers, *made, part.keys)
    for key, value in part.beside.items():
        now = json_text.read(whole)
        if key not in now.value:
            whole = json_text.insert(now, now.start, key, value)
            containers = (*containers, (key,))
    if whole == text:
        return Edit(text=text, status="unchanged")
    _check(page, whole, part)
    return Edit(text=whole, status="updated" if ours else "written", containers=containers)


def take(text: str, part: Element, *, containers: tuple[Keys, ...] | None) -> Edit:
    """The text without our elements of the array; of what is then empty, the `containers` that we made go too (None:
    unknown, so all that lead to it). Raises `Untouched` as `put`."""
    if json_text.is_blank(text):
        return Edit(text=text, status="unchanged")
    page = json_text.read(text)
    ours = _ours(page, part)
    if not ours:
        return Edit(text=text, status="unchanged")
    left = members.without_shells(_without(page, ours), part.keys, containers)
    left = _without_beside(left, part, containers)
    _check(page, left, part)
    return Edit(text=members.without_top(left, containers), status="removed")


def _ours(page: Page, part: Element) -> list[_Spot]:
    at, found = json_text.find(page, part.keys)
    if found != part.keys:
        return []
    if page.plain[at] != "[":
        raise Untouched("skipped", f"{json_text.named(part.keys)} is no list")
    spots: list[_Spot] = []
    for number, child in enumerate(json_text.children(page, at)):
        if members.says(child.value, part.marks):
            path: Path = (*part.keys, number)
            spots += _beside_others(page, child, path, part) or [_Spot(path, at, child, dict(part.value))]
    return spots


def _beside_others(page: Page, group: Child, path: Path, part: Element) -> list[_Spot]:
    """Our calls where a person has put others into the same group (`hooks`): then only the calls are ours."""
    if "hooks" not in part.value or not isinstance(group.value, dict):
        return []
    path = (*path, "hooks")
    calls = json_text.member(page, group.at, path)
    if calls is None or page.plain[calls.at] != "[":
        return []
    all_calls = list(enumerate(json_text.children(page, calls.at)))
    ours = [(number, call) for number, call in all_calls if members.says(call.value, part.marks)]
    if len(ours) == len(all_calls):
        return []
    return [_Spot((*path, number), calls.at, call, part.value["hooks"][0]) for number, call in ours]


def _without(page: Page, spots: Sequence[_Spot]) -> str:
    """The text without `spots`. From the last array on, so that those before stay where they are."""
    text = page.text
    arrays = sorted({spot.array for spot in spots}, reverse=True)
    for array in arrays:
        gone = [spot.child for spot in spots if spot.array == array]
        text = json_text.cut(page, array, gone)
        page = json_text.read(text)
    return text


def _without_beside(text: str, part: Element, containers: tuple[Keys, ...] | None) -> str:
    """The text without what we put beside our elements, when there is nothing left for which it would be needed."""
    for key, value in part.beside.items():
        page = json_text.read(text)
        child = json_text.member(page, page.start, (key,))
        is_made = containers is None or (key,) in containers
        if child and is_made and json_text.same(child.value, value) and not page.value.get(part.keys[0]):
            text = json_text.cut(page, page.start, [child])
    return text


def _check(before: Page, text: str, part: Element) -> None:
    """Raises `Untouched` unless the text parses and everything in it but our element is as it was."""
    beside = part.beside.keys()
    was, now = (
        {k: v for k, v in value.items() if k not in beside} for value in (before.value, json_text.read(text).value)
    )
    if not json_text.unharmed(was, now, part.keys) or not json_text.same(*(_others(one, part) for one in (was, now))):
        raise Untouched("skipped", "cannot be edited without touching what is beside")


def _others(value: Any, part: Element) -> list[Any]:
    """The elements of the array that are not ours, in their order."""
    for key in part.keys:
        value = value.get(key, {})
    return [one for one in value if not members.says(one, part.marks)]
