"""The YAML header of a memory file: read as text, and rewritten so that whatever is not ours stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engram.errors import InvalidInput

Value = str | int | bool | Sequence[str]

MAX_HEADER = 64 * 1024
# What YAML 1.2 takes as plain text, and nobody as something else: no sign of its syntax, no number, no yes.
_BARE = re.compile(r"[A-Za-z_./][A-Za-z0-9_./@+:-]*[A-Za-z0-9_./@+-]|[A-Za-z_]")
# The first element of a list that stands below its field, indented.
_LISTED = re.compile(r":[ \t]*(?:#[^\n]*)?\n( +)- ")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n", "~"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A file taken apart: `header` is None when it has none. Line ends are `\\n` in both, `newline` in the file."""

    header: str | None
    body: str
    newline: str
    bom: str


def take_apart(text: str) -> Parts:
    """Header and body. Raises `InvalidInput` for a header without an end."""
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix("\ufeff")
    newline = "\r\n" if "\r\n" in text[:4096] else "\n"
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return Parts(header=None, body=text, newline=newline, bom=bom)
    end = text.find("\n---", 3)
    while end >= 0 and text[end + 4 : end + 5] not in ("", "\n"):
        end = text.find("\n---", end + 4)
    if end < 0 or end > MAX_HEADER:
        raise InvalidInput("its header has no end", hint="a line `---` ends it")
    return Parts(header=text[4 : end + 1], body=text[end + 4 :].removeprefix("\n"), newline=newline, bom=bom)


def put_together(parts: Parts) -> str:
    text = parts.body if parts.header is None else f"---\n{parts.header}---\n{parts.body}"
    return parts.bom + (text.replace("\n", parts.newline) if parts.newline != "\n" else text)


def read(header: str) -> dict[str, Any]:
    """The fields, every scalar as the text that stands there. Raises `InvalidInput` for what is no mapping."""
    plain = _read_own(header)
    if plain is not None:
        return plain
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        found = yaml.load(header, Loader=loader)  # a loader of plain text: it makes no objects
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        place = getattr(error, "problem_mark", None)
        where = f" (line {place.line + 2})" if place is not None else ""
        raise InvalidInput(f"its header is not YAML{where}") from error
    if found in (None, ""):
        return {}
    if not isinstance(found, dict):
        raise InvalidInput("its header is no list of fields")
    return {str(name): value for name, value in found.items()}


_OWN_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*): (.+)")
_OWN_BARE = r"[A-Za-z0-9_./+][A-Za-z0-9_./@+:-]*(?<!:)"
_OWN_TEXT = r'"(?:[^"\\]|\\.)*"'
_OWN_VALUE = re.compile(f"{_OWN_BARE}|{_OWN_TEXT}")
_OWN_LIST = re.compile(rf"\[(?:(?:{_OWN_BARE}|{_OWN_TEXT})(?:, (?={_OWN_BARE}|{_OWN_TEXT}))?)*\]")


def _read_own(header: str) -> dict[str, Any] | None:
    """What `write` has made, or None for any other form: a fifth of the time that the library takes, which is most of
    what reading ten thousand files costs."""
    found: dict[str, Any] = {}
    for line in header.splitlines():
        match = _OWN_LINE.fullmatch(line)
        if match is None:
            return None
        name, value = match.groups()
        try:
            if _OWN_VALUE.fullmatch(value):
                found[name] = json.loads(value) if value[0] == '"' else value
            elif _OWN_LIST.fullmatch(value):
                parts = _OWN_VALUE.findall(value)
                found[name] = [json.loads(part) if part[0] == '"' else part for part in parts]
            else:
                return None
        except ValueError:  # an escape that only YAML knows
            return None
    return found


def write(fields: Mapping[str, Value]) -> str:
    """A new header: fields in the given order, lists on one line, empty ones left out."""
    lines = []
    for name, value in fields.items():
        if _is_empty(value):
            continue
        lines.append(f"{name}: {_spelled(value)}\n")
    return "".join(lines)


def _spelled(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return value if _is_plain(value) else _quoted(value)
    return "[" + ", ".join(_spelled(part) for part in value) + "]"


def _is_plain(text: str) -> bool:
    """Whether YAML takes `text` as this very text without quotes."""
    return _is_day(text) or (bool(_BARE.fullmatch(text)) and text.lower() not in _WORDS)


def _quoted(text: str) -> str:
    """JSON's text, which YAML reads too; what YAML takes for a line's end or forbids is spelled out."""
    said = json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)
    if said.isprintable():
        return said
    return "".join(char if char.isprintable() else _escaped(ord(char)) for char in said)


def _escaped(number: int) -> str:
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def rewrite(header: str, changes: Mapping[str, Value | None]) -> str:
    """`header` with some fields changed, added at the end, or (None) taken out; every byte of the others stays.

    Lines are exchanged where the fields stand, and the library is asked whether the result says what it should; where
    it does not, the library writes the header itself, which keeps comments, order and quotes. Raises `InvalidInput` for
    a header that it cannot read.
    """
    kept = {name: value for name, value in changes.items() if value is not None and not _is_empty(value)}
    gone = [name for name in changes if name not in kept]
    exchanged = _exchanged(header, kept, gone)
    if exchanged is not None:
        wanted = {name: value for name, value in read(header).items() if name not in gone}
        wanted |= {name: _as_read(value) for name, value in kept.items()}
        try:
            if read(exchanged) == wanted:
                return exchanged
        except InvalidInput:
            pass  # the library knows better where the fields end
    return _by_library(header, kept, gone)


def _is_empty(value: Value) -> bool:
    return value == "" or (not isinstance(value, (str, int)) and not value)


def _as_read(value: Value) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    return [str(part) for part in value]


_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?=[ \t\n]|$)")
_REMARK = re.compile(r"[^\"'#\n]*?([ \t]+#[^\n]*)")


def _exchanged(header: str, kept: Mapping[str, Value], gone: Sequence[str]) -> str | None:
    """The header with the lines of some fields exchanged, or None where a field stands twice."""
    lines = header.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    starts = [(at, match.group(1)) for at, line in enumerate(lines) if (match := _KEY.match(line))]
    names = [name for _, name in starts]
    if any(names.count(name) > 1 for name in (*kept, *gone)):
        return None
    made: list[str] = []
    done = 0
    for at, name in starts:
        if name not in kept and name not in gone:
            continue
        end = at + 1
        while end < len(lines) and (lines[end][:1] in " \t" or lines[end].startswith("-")) and lines[end].strip():
            end += 1
        made += lines[done:at]
        if name in kept:
            remark = _REMARK.fullmatch(lines[at].rstrip("\n")) if end == at + 1 else None
            made.append(f"{name}: {_spelled(kept[name])}{remark.group(1) if remark else ''}\n")
        done = end
    made += lines[done:]
    made += [f"{name}: {_spelled(value)}\n" for name, value in kept.items() if name not in names]
    return "".join(made)


def _by_library(header: str, kept: Mapping[str, Value], gone: Sequence[str]) -> str:
    from io import StringIO

    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    try:
        yaml = YAML(typ="rt")
        yaml.preserve_quotes = True
        yaml.width = 1_000_000
        yaml.allow_unicode = True
        if (listed := _LISTED.search(header)) is not None:
            offset = len(listed.group(1))
            yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
        data = yaml.load(header)
        if not isinstance(data, CommentedMap):
            if data:
                raise InvalidInput("its header is no list of fields", hint="mend the file by hand")
            data = CommentedMap()
        for name in gone:
            data.pop(name, None)
        for name, value in kept.items():
            data[name] = _native(value)
        stream = StringIO()
        yaml.dump(data, stream)
    except (YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput("its header is not YAML", hint="mend the file by hand") from error
    return stream.getvalue()


def _native(value: Value) -> Any:
    """A value as the library writes it the way we do: dates bare, odd words in quotes, lists on one line."""
    from datetime import date

    from ruamel.yaml.comments import CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, str):
        if _is_day(value):
            return date.fromisoformat(value)
        return value if _is_plain(value) else DoubleQuotedScalarString(value)
    if isinstance(value, (bool, int)):
        return value
    row = CommentedSeq(_native(part) for part in value)
    row.fa.set_flow_style()
    return row


def _is_day(text: str) -> bool:
    from datetime import date

    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
