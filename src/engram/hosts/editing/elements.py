"""One element of an array in a JSON text with comments, such as a hook: put it there, and take it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engram.hosts.editing import json_text, members
from engram.hosts.editing.edit import Edit, Keys, Untouched
from engram.hosts.editing.json_text import Child, Page
from engram.hosts.parts import Element


@dataclass(frozen=True, slots=True)
class _Spot:
    """Our element: the array that holds it, where it begins, and the part of our value that belongs there."""

    keys: Keys
    at: int
    child: Child
    value: Any


def put(text: str, part: Element) -> Edit:
    """One element of ours stands in the array; those of others stay, in their order. Raises `Untouched` for a text
    that cannot be edited."""
    text = text if text.strip() else "{\n}\n"
    page = json_text.read(text)
    if page.plain[page.start] != "{":
        raise Untouched("skipped", "its top level is no object")
    ours = _ours(page, part)
    containers: tuple[Keys, ...] = ()
    if not ours:
        at, found = json_text.find(page, part.keys)
        if found == part.keys:
            whole = json_text.insert(page, at, "", dict(part.value))
        else:
            whole, made = members.insert_at(page, part.keys, [dict(part.value)])
            containers = (*made, part.keys)
    else:
        whole = text
        for _ in ours[1:]:  # more than one of ours would run twice
            whole = _without(json_text.read(whole), _ours(json_text.read(whole), part)[-1])
        page = json_text.read(whole)
        spot = _ours(page, part)[0]
        if not _covers(spot.child.value, spot.value):
            whole = json_text.exchange(page, spot.child, _merged(spot.child.value, spot.value))
    for key, value in part.beside.items():
        page = json_text.read(whole)
        if isinstance(page.value, dict) and key not in page.value:
            whole = json_text.insert(page, page.start, key, value)
    if whole == text:
        return Edit(text=text, status="unchanged")
    json_text.read(whole)
    return Edit(text=whole, status="updated" if ours else "written", containers=containers)


def take(text: str, part: Element, *, containers: tuple[Keys, ...] | None) -> Edit:
    """The text without our elements of the array; of what is then empty, the `containers` that we made go too (None:
    unknown, so all that lead to it)."""
    if not text.strip():
        return Edit(text=text, status="unchanged")
    whole = text
    while ours := _ours(json_text.read(whole), part):
        whole = _without(json_text.read(whole), ours[-1])
    if whole == text:
        return Edit(text=text, status="unchanged")
    return Edit(text=members.without_shells(whole, part.keys, containers), status="removed")


def _ours(page: Page, part: Element) -> list[_Spot]:
    at, found = json_text.find(page, part.keys)
    if found != part.keys:
        return []
    if page.plain[at] != "[":
        raise Untouched("skipped", f"`{'.'.join(part.keys)}` is no list")
    found_here = []
    for child in json_text.children(page, at):
        if not members.is_ours(child.value, part.marks):
            continue
        inner = _beside_others(page, child, part)
        found_here.append(inner or _Spot(part.keys, at, child, dict(part.value)))
    return found_here


def _beside_others(page: Page, child: Child, part: Element) -> _Spot | None:
    """Our call where a person has put others into the same group (`hooks`): then only the call is ours."""
    calls = child.value.get("hooks") if isinstance(child.value, dict) else None
    if not isinstance(calls, list) or len(calls) < 2:
        return None
    for member in json_text.children(page, child.at):
        if member.key == "hooks" and page.plain[member.at] == "[":
            for call in json_text.children(page, member.at):
                if members.is_ours(call.value, part.marks):
                    return _Spot((*part.keys, "hooks"), member.at, call, part.value["hooks"][0])
    return None


def _without(page: Page, spot: _Spot) -> str:
    return json_text.cut(page, spot.at, spot.child)


def _covers(there: Any, ours: Any) -> bool:
    """Whether everything of ours stands there; a person may have added more."""
    if isinstance(ours, dict):
        return isinstance(there, dict) and all(key in there and _covers(there[key], ours[key]) for key in ours)
    if isinstance(ours, list):
        return isinstance(there, list) and len(there) == len(ours) and all(map(_covers, there, ours))
    return json_text.same(there, ours)


def _merged(there: Any, ours: Any) -> Any:
    if isinstance(there, dict) and isinstance(ours, dict):
        return {**there, **{key: _merged(there.get(key), value) for key, value in ours.items()}}
    if isinstance(there, list) and isinstance(ours, list) and len(there) == len(ours):
        return [_merged(one, other) for one, other in zip(there, ours, strict=True)]
    return ours
