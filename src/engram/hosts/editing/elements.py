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
    for child in json_text.children(page, at):
        left = _rest(child.value, part)
        path: Path = (*part.keys, child.number)
        if not left:
            spots.append(_Spot(path, at, dict(part.value)))
        elif left[0] is not child.value:
            spots += _calls_of_ours(page, child, path, part)
    return spots


def _rest(value: Any, part: Element) -> list[Any]:
    """What of one element is a person's: the element, nothing, or the group (`hooks`) without our calls."""
    if not members.says(value, part.marks):
        return [value]
    calls = value.get("hooks") if isinstance(value, dict) and "hooks" in part.value else None
    if not isinstance(calls, list):
        return []
    others = [call for call in calls if not members.says(call, part.marks)]
    if len(others) == len(calls):  # our mark stands somewhere else in it, such as in a remark
        return [value]
    return [{**value, "hooks": others}] if others else []


def _calls_of_ours(page: Page, group: Child, path: Path, part: Element) -> list[_Spot]:
    """Our calls in a group into which a person has put others: only the calls are ours."""
    path = (*path, "hooks")
    calls = json_text.member(page, group.at, path)
    if calls is None:
        return []
    return [
        _Spot((*path, call.number), calls.at, part.value["hooks"][0])
        for call in json_text.children(page, calls.at)
        if members.says(call.value, part.marks)
    ]


def _without(page: Page, spots: Sequence[_Spot]) -> str:
    """The text without `spots`. From the last array on, so that those before stay where they are."""
    text = page.text
    for array in sorted({spot.array for spot in spots}, reverse=True):
        text = json_text.cut(json_text.read(text), array, {spot.path[-1] for spot in spots if spot.array == array})
    return text


def _without_beside(text: str, part: Element, containers: tuple[Keys, ...] | None) -> str:
    """The text without what we put beside our elements, when there is nothing left for which it would be needed."""
    for key, value in part.beside.items():
        page = json_text.read(text)
        child = json_text.member(page, page.start, (key,))
        is_made = containers is None or (key,) in containers
        if child and is_made and json_text.same(child.value, value) and not page.value.get(part.keys[0]):
            text = json_text.cut(page, page.start, {child.number})
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
    """What is not ours of the array, in its order."""
    for key in part.keys:
        value = value.get(key, {})
    return [left for one in value for left in _rest(one, part)]
