"""A table of a TOML text between two marker comments: put it there, and take it out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engram.hosts.editing.blocks import appended, without
from engram.hosts.editing.edit import Edit, Untouched, lines_of, newline_near
from engram.hosts.parts import Table

START, END = "# engram:start", "# engram:end"
_HEADER = re.compile(r"\s*\[\[?([^\]\[]+)\]\]?\s*(?:#.*)?")


def put(text: str, part: Table) -> Edit:
    """The block is replaced where it stands, with what a person has added to our table; a new one comes last. Raises
    `Untouched` for a text that does not parse, and where somebody else's table of that name stands."""
    before = read(text)
    span = _span(text)
    if span is None:
        if _at(before, part.keys) is not None:
            raise Untouched("kept", f"{_named(part)} is somebody else's; it was left as it is")
        whole = appended(text, _block(_rendered(part.keys, part.value)))
    else:
        begin, end = span
        inner = _updated(_inner(text, begin, end), part)
        if inner is None:
            return Edit(text=text, status="unchanged")
        whole = text[:begin] + _block(inner).replace("\n", newline_near(text, begin)) + text[end:]
    _check(before, whole, part, _merged(_at(before, part.keys), part.value))
    return Edit(text=whole, status="written" if span is None else "updated")


def take(text: str, part: Table) -> Edit:
    """The text without the block, and without the blank line that was put before it. What another program has put
    between the markers stays. Raises `Untouched` as `put`."""
    before = read(text)
    span = _span(text)
    if span is None:
        return Edit(text=text, status="unchanged")
    begin, end = span
    others = _others(_inner(text, begin, end), part.keys)
    left = (
        text[:begin] + others.replace("\n", newline_near(text, begin)) + text[end:] if others else without(text, *span)
    )
    outside = _at(read(left), part.keys)
    _check(before, left, part, outside)
    if outside is not None:
        raise Untouched("kept", f"a part of {_named(part)} that is a person's stands outside of the markers")
    return Edit(text=left, status="removed")


def _span(text: str) -> tuple[int, int] | None:
    """Where the block begins, and where its last line ends. Raises `Untouched` for markers that contradict each
    other."""
    marks = []
    at = 0
    for line in lines_of(text):
        bare = line.strip()
        if bare in (START, END):
            marks.append((bare, at, at + len(line.rstrip("\r\n"))))
        at += len(line)
    if not marks:
        return None
    if [mark for mark, _, _ in marks] != [START, END]:
        raise Untouched("conflict", f"the markers `{START}` and `{END}` do not stand there once each")
    return marks[0][1], marks[1][2]


def _inner(text: str, begin: int, end: int) -> str:
    """What stands between the markers, with `\\n` as line end."""
    return "".join(line.rstrip("\r\n") + "\n" for line in lines_of(text[begin:end])[1:-1])


def _updated(inner: str, part: Table) -> str | None:
    """What should stand between the markers; None when it does."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if not inner.strip():
        return _rendered(part.keys, part.value)
    try:
        document = tomlkit.parse(inner)
        at: Any = document
        for key in part.keys:
            at = at[key]
        if not _merge(at, part.value):
            return None
        return tomlkit.dumps(document).strip("\n")
    except (TOMLKitError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Untouched("conflict", f"something else than {_named(part)} stands between the markers") from error


def _merge(there: Any, ours: Mapping[str, Any]) -> bool:
    """Bring what is ours up to date; whether anything changed."""
    changed = False
    for key, value in ours.items():
        if isinstance(value, Mapping) and isinstance(there.get(key), Mapping):
            changed = _merge(there[key], value) or changed
        elif not _same(there.get(key), value):
            there[key] = value
            changed = True
    return changed


def _others(inner: str, keys: tuple[str, ...]) -> str:
    """The lines between the markers that belong to other tables than ours, with the comments right above them."""
    kept: list[str] = []
    above: list[str] = []
    is_ours = True
    for line in inner.split("\n"):
        if found := _HEADER.fullmatch(line):
            is_ours = _path(found.group(1))[: len(keys)] == keys
            if not is_ours:
                kept += above
        above = [*above, line] if is_ours and line.lstrip().startswith("#") else []
        if not is_ours:
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _path(header: str) -> tuple[str, ...]:
    """The keys of a table's header; none where it is no header."""
    path: list[str] = []
    try:
        value: Any = read(f"[{header}]")
    except Untouched:
        return ()
    while value:
        ((key, value),) = value.items()
        path.append(key)
    return tuple(path)


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


def _named(part: Table) -> str:
    return f"`{'.'.join(part.keys)}`"


def read(text: str) -> dict[str, Any]:
    """What the text says. Raises `Untouched` for one that does not parse."""
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise Untouched("skipped", f"cannot be parsed: {error}") from error


def _check(before: Mapping[str, Any], text: str, part: Table, wanted: Any) -> None:
    """Raises `Untouched` unless the text parses, `wanted` is what our table says, and everything else is as it was."""
    try:
        after = read(text)
        is_whole = _same(_beside(before, part.keys), _beside(after, part.keys))
    except (Untouched, RecursionError) as error:
        raise Untouched("skipped", f"cannot be edited: what is there leaves no room for {_named(part)}") from error
    if not is_whole or not _same(_at(after, part.keys), wanted):
        raise Untouched("conflict", "cannot be edited without touching what is beside")


def _merged(there: Any, ours: Any) -> Any:
    """What `_merge` makes of plain data."""
    if not isinstance(there, Mapping) or not isinstance(ours, Mapping):
        return ours
    return {**there, **{key: _merged(there.get(key), value) for key, value in ours.items()}}


def _beside(value: Any, keys: tuple[str, ...]) -> Any:
    """`value` without what is at `keys`, nor the tables on the way that held nothing else."""
    if not isinstance(value, Mapping) or keys[0] not in value:
        return value
    left = {key: one for key, one in value.items() if key != keys[0]}
    inner = _beside(value[keys[0]], keys[1:]) if len(keys) > 1 else {}
    return left if inner == {} else {**left, keys[0]: inner}


def _same(one: Any, other: Any) -> bool:
    """Equal as TOML: `1` is neither `true` nor `1.0`, and not-a-number is itself."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return _kind(one) == _kind(other) and (one == other or (one != one and other != other))


def _kind(value: Any) -> list[bool]:
    return [isinstance(value, kind) for kind in (bool, str, float, list, Mapping)]


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
