"""A table of a TOML text between two marker comments: put it there, and take it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.hosts.editing.edit import Edit, Untouched, newline_near, unified
from engram.hosts.parts import Table

START, END = "# engram:start", "# engram:end"


def put(text: str, part: Table) -> Edit:
    """The block is replaced where it stands, with what a person has added to our table; a new one comes last. Raises
    `Untouched` for a text that does not parse, and where somebody else's table of that name stands."""
    read(text)
    span = _span(text)
    if span is None:
        if _at(read(text), part.keys) is not None:
            raise Untouched("kept", f"`{'.'.join(part.keys)}` is somebody else's; it was left as it is")
        whole = _appended(text, _block(_rendered(part.keys, part.value)))
        _check(whole)
        return Edit(text=whole, status="written")
    begin, end = span
    inner = unified(text[begin:end]).split("\n", 1)[1].rpartition(END)[0]
    block = _block(_updated(inner, part)).replace("\n", newline_near(text, begin))
    whole = text[:begin] + block + text[end:]
    if whole == text:
        return Edit(text=text, status="unchanged")
    _check(whole)
    return Edit(text=whole, status="updated")


def take(text: str, part: Table) -> Edit:
    """The text without the block, and without the blank line that was put before it."""
    span = _span(text)
    if span is None:
        return Edit(text=text, status="unchanged")
    begin, end = span
    before, after = text[:begin], text[end:]
    after = after.removeprefix("\r\n") if after.startswith("\r\n") else after.removeprefix("\n")
    if not after.strip():
        stripped = before.rstrip("\r\n")
        before = stripped + (newline_near(text, len(stripped)) if stripped else "")
    _check(before + after)
    return Edit(text=before + after, status="removed")


def _span(text: str) -> tuple[int, int] | None:
    """Where the block begins, and where its last line ends. Raises `Untouched` for markers that contradict each
    other."""
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.strip() == START]
    ends = [number for number, line in enumerate(lines) if line.strip() == END]
    if not starts and not ends:
        return None
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        raise Untouched("conflict", f"the markers `{START}` and `{END}` do not stand there once each")
    begin = sum(map(len, lines[: starts[0]]))
    return begin, begin + sum(map(len, lines[starts[0] : ends[0]])) + len(lines[ends[0]].rstrip("\r\n"))


def _updated(inner: str, part: Table) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(inner)
        at: Any = document
        for key in part.keys:
            at = at[key]
    except (TOMLKitError, KeyError, TypeError):
        return _rendered(part.keys, part.value)
    if _merge(at, part.value):
        return tomlkit.dumps(document).strip("\n")
    return inner.strip("\n")


def _merge(there: Any, ours: Mapping[str, Any]) -> bool:
    """Bring what is ours up to date; whether anything changed."""
    changed = False
    for key, value in ours.items():
        if isinstance(value, Mapping) and isinstance(there.get(key), Mapping):
            changed = _merge(there[key], value) or changed
        elif there.get(key) != value:
            there[key] = value
            changed = True
    return changed


def _rendered(keys: tuple[str, ...], value: Mapping[str, Any]) -> str:
    """`[a.b]` with its plain values, then a header for each table inside."""
    import tomlkit

    plain = {key: one for key, one in value.items() if not isinstance(one, Mapping)}
    lines = []
    if plain:
        lines = [f"[{'.'.join(map(_key, keys))}]", tomlkit.dumps(plain).strip("\n")]
    for key, one in value.items():
        if isinstance(one, Mapping):
            lines += ["", _rendered((*keys, key), one)] if lines else [_rendered((*keys, key), one)]
    return "\n".join(lines)


def _key(name: str) -> str:
    import tomlkit

    return tomlkit.key(name).as_string()


def _block(inner: str) -> str:
    return f"{START}\n{inner}\n{END}"


def _appended(text: str, block: str) -> str:
    end = newline_near(text, len(text))
    before = "" if not text.strip() else text + ("" if text.endswith(("\n", "\r")) else end) + end
    return before + block.replace("\n", end) + end


def read(text: str) -> dict[str, Any]:
    """What the text says. Raises `Untouched` for one that does not parse."""
    import tomllib

    try:
        return tomllib.loads(unified(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Untouched("skipped", f"cannot be parsed: {error}") from error


def _check(text: str) -> None:
    try:
        read(text)
    except Untouched as error:
        raise Untouched("skipped", "cannot be edited: what is there leaves no room for another table") from error


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
