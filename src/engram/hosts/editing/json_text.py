"""Where things stand in a JSON text with comments and trailing commas, and how to cut and insert there.

The parse is the standard library's: comments and trailing commas are blanked out, so that every position stays, and
what is left has to be JSON. Nothing is ever written anew that was not asked for.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from engram.hosts.editing.edit import Keys, Untouched, newline_near

Path = tuple[str | int, ...]

# Beyond this many levels a text is no settings file, and the parser would run out of stack.
DEEPEST = 100

_SPACE = " \t\r\n"
_STRING = r'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+"'
# Each takes as much as it can in one go: there may be a million strings.
_UP_TO_REMARK = re.compile(rf'(?:[^"/]++|{_STRING})*+')
_UP_TO_LAST_COMMA = re.compile(rf'(?:[^",]++|{_STRING}|,(?![ \t\r\n]*+[}}\]]))*+')
_ALL_BUT_BRACKETS = re.compile(rf'(?:[^"\[\]{{}}]++|{_STRING})++')
_REMARK = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_INDENTED = re.compile(r'[\r\n]([ \t]+)["{\[]')


@dataclass(frozen=True, slots=True)
class Page:
    """A text that parsed. `plain` is the same text, as long, without comments and trailing commas."""

    text: str
    plain: str
    remarks: tuple[tuple[int, int], ...]
    commas: tuple[int, ...]
    start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object, or an element of an array (without a key). `number` counts from 0, `start` is where its
    key stands."""

    number: int
    key: str
    start: int
    at: int
    end: int
    value: Any


def read(text: str) -> Page:
    """Raises `Untouched` for what no parser of such files would take."""
    plain, remarks = _without_remarks(text)
    plain, commas = _without_last_commas(plain)
    _need_shallow(plain)
    start = _skip(plain, 0)
    try:
        value, end = _decoded(plain, start)
        rest = _skip(plain, end)
        if rest < len(plain):
            raise json.JSONDecodeError("something follows the value", plain, rest)
    except json.JSONDecodeError as error:
        raise Untouched("skipped", f"cannot be parsed: line {error.lineno}, {error.msg}") from error
    return Page(text, plain, remarks, commas, start, end, value)


def is_blank(text: str) -> bool:
    """Whether there is nothing in `text` but white space and comments. Raises `Untouched` as `read`."""
    return not _without_remarks(text)[0].strip(_SPACE)


def _without_remarks(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text with its comments as blanks, and where those are."""
    pieces: list[str] = []
    remarks: list[tuple[int, int]] = []
    at = 0
    while (stop := _end_of(_UP_TO_REMARK, text, at)) < len(text):
        remark = _REMARK.match(text, stop)
        if remark is None:
            line = text.count("\n", 0, stop) + 1
            what = {'"': "a string that does not end", "/*": "a comment that does not end"}
            said = what.get(text[stop]) or what.get(text[stop : stop + 2]) or "Expecting value"
            raise Untouched("skipped", f"cannot be parsed: line {line}, {said}")
        remarks.append(remark.span())
        pieces += text[at:stop], _as_blanks(remark.group())
        at = remark.end()
    return "".join((*pieces, text[at:])), tuple(remarks)


def _as_blanks(piece: str) -> str:
    return re.sub(r"[^\r\n]", " ", piece) if _breaks(piece) else " " * len(piece)


def _without_last_commas(text: str) -> tuple[str, tuple[int, ...]]:
    """The text with a blank for each comma between the last child and the bracket, and where those are."""
    pieces: list[str] = []
    commas: list[int] = []
    at = 0
    while (stop := _end_of(_UP_TO_LAST_COMMA, text, at)) < len(text):
        before = stop - 1
        while before >= 0 and text[before] in _SPACE:
            before -= 1
        is_one = before >= 0 and text[before] not in "{[,:"
        if is_one:
            commas.append(stop)
        pieces += text[at:stop], " " if is_one else ","
        at = stop + 1
    return "".join((*pieces, text[at:])), tuple(commas)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what `pattern` takes from `at` on ends; it may take nothing."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _need_shallow(text: str) -> None:
    depth = 0
    for bracket in _ALL_BUT_BRACKETS.sub("", text):
        depth += 1 if bracket in "{[" else -1
        if depth > DEEPEST:
            raise Untouched("skipped", "is nested too deeply to be edited")


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _refuse(word: str) -> Any:
    raise json.JSONDecodeError(f"{word} is no value", word, 0)


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at `at`, and where it ends."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a whole number of more digits than Python takes
        return _DECODER_OF_LONG_NUMBERS.raw_decode(text, at)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_DECODER_OF_LONG_NUMBERS = json.JSONDecoder(parse_constant=_refuse, parse_int=float)


def children(page: Page, at: int) -> list[Child]:
    """What stands directly in the object or array that begins at `at`."""
    plain = page.plain
    found: list[Child] = []
    is_object, close = plain[at] == "{", "}" if plain[at] == "{" else "]"
    at = _skip(plain, at + 1)
    while plain[at] != close:
        start, key = at, ""
        if is_object:
            key, at = _decoded(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)  # over the colon
        value, end = _decoded(plain, at)
        found.append(Child(len(found), key, start, at, end, value))
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)
    return found


def closing(page: Page, at: int) -> int:
    """Where the object or array that begins at `at` has its closing bracket."""
    return _decoded(page.plain, at)[1] - 1


def find(page: Page, keys: Keys) -> tuple[int, Keys]:
    """The place of the value at `keys`, or of the innermost object on the way that is there; and the keys that lead
    to what was found. Raises `Untouched` where an object is expected and something else stands, or a key stands twice.
    """
    at = page.start
    for depth in range(len(keys)):
        if page.plain[at] != "{":
            raise Untouched("skipped", f"{named(keys[:depth])} is no object")
        child = member(page, at, keys[: depth + 1])
        if child is None:
            return at, keys[:depth]
        at = child.at
    return at, keys


def member(page: Page, at: int, path: Path) -> Child | None:
    """The member of the object at `at` to which `path` leads. Raises `Untouched` where it stands twice: programs do
    not agree on which one counts."""
    same = [child for child in children(page, at) if child.key == path[-1]]
    if len(same) > 1:
        raise Untouched("conflict", f"{named(path)} stands there {len(same)} times")
    return same[0] if same else None


def named(path: Path) -> str:
    return f"`{'.'.join(map(str, path))}`" if path else "the top level"


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: `1` is `1.0`, and is not `true`."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return isinstance(one, bool) == isinstance(other, bool) and one == other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# --- inserting and exchanging


def bring_up(text: str, path: Path, value: Any) -> str:
    """The text in which all of `value` stands at `path`, where something stands already. What a person has added beside
    it stays, and what is equal is not written anew. Raises `Untouched` as `find`."""
    page = read(text)
    there = _child_at(page, path)
    if isinstance(value, Mapping) and isinstance(there.value, dict):
        for key, one in value.items():
            page = read(text)
            at = _child_at(page, path).at
            if member(page, at, (*path, key)) is None:
                text = insert(page, at, key, one)
            else:
                text = bring_up(text, (*path, key), one)
        return text
    if isinstance(value, list) and isinstance(there.value, list) and len(value) == len(there.value):
        for number, one in enumerate(value):
            text = bring_up(text, (*path, number), one)
        return text
    return text if same(there.value, value) else _exchange(page, there, value)


def _child_at(page: Page, path: Path) -> Child:
    child = Child(0, "", page.start, page.start, page.end, page.value)
    for depth, step in enumerate(path):
        inner = children(page, child.at)[step] if isinstance(step, int) else member(page, child.at, path[: depth + 1])
        if inner is None:
            raise KeyError(path)
        child = inner
    return child


def insert(page: Page, at: int, key: str, value: Any) -> str:
    """The text with one more member (or element) at the end of the object or array at `at`."""
    text, kids, close = page.text, children(page, at), closing(page, at)
    within = [span for span in page.remarks if (kids[-1].end if kids else at) <= span[0] < close]
    name = f"{json.dumps(key, ensure_ascii=False)}: " if page.plain[at] == "{" else ""
    if not kids and not within:
        inner = text[at + 1 : close]
        if not _breaks(inner):
            if at != page.start and not _breaks(text[page.start : page.end]):
                return f"{text[: at + 1]}{name}{_inline(value)}{text[close:]}"
            end = newline_near(text, at)
            deep = _indent_at(text, at) + unit(page)
            made = f"{end}{deep}{name}{_spread(value, deep, end, unit(page))}{end}{_indent_at(text, at)}"
            return text[: at + 1] + made + text[close:]
    lead = _lead(page, at, kids)
    spot = max([at + 1, *([kids[-1].end] if kids else []), *(end for _, end in within)])
    comma = next((spot for spot in page.commas if kids and kids[-1].end <= spot < close), -1)
    spot = max(spot, comma + 1)
    if not _breaks(lead) and within and text.startswith("//", within[-1][0]) and spot == within[-1][1]:
        lead = newline_near(text, spot) + _indent_at(text, at) + unit(page)
    if _breaks(lead):
        deep = lead.lstrip("\r\n")
        said = _spread(value, deep, lead[: len(lead) - len(deep)], unit(page))
    else:
        said = _inline(value)
    made = f"{lead}{name}{said}"
    if not kids:
        return text[:spot] + made + text[spot:]
    if comma >= 0:
        return f"{text[:spot]}{made},{text[spot:]}"
    last = kids[-1].end
    return f"{text[:last]},{text[last:spot]}{made}{text[spot:]}"


def _exchange(page: Page, child: Child, value: Any) -> str:
    """The text with another value in the place of that of `child`."""
    text = page.text
    if _breaks(text[child.at : child.end]) or (isinstance(value, dict) and _breaks(text[page.start : page.end])):
        end = newline_near(text, child.at)
        said = _spread(value, _indent_at(text, child.at), end, unit(page))
    else:
        said = _inline(value)
    return text[: child.at] + said + text[child.end :]


def unit(page: Page) -> str:
    """One step of indentation in this text: that of the first child on a line of its own."""
    kids = children(page, page.start) if page.plain[page.start : page.start + 1] in ("{", "[") else []
    for child in kids:
        step = _indent_at(page.text, child.start)
        if step and _breaks(page.text[page.start : child.start]):
            return "\t" if "\t" in step else step[:8]
    found = _INDENTED.search(page.text)
    if found is None:
        return "  "
    return "\t" if "\t" in found.group(1) else found.group(1)[:8]


def _lead(page: Page, at: int, kids: list[Child]) -> str:
    """The white space that a new child gets in front: that of the one before it, without blank lines."""
    text = page.text
    if not kids:
        if _breaks(text[at : closing(page, at)]):
            return newline_near(text, at + 1) + _indent_at(text, at) + unit(page)
        return " "
    start = kids[-1].start
    begin = start
    while text[begin - 1] in _SPACE:
        begin -= 1
    run = text[begin:start]
    if _breaks(run):
        indent = start
        while text[indent - 1] in " \t":
            indent -= 1
        return newline_near(text, indent) + text[indent:start]
    return run or " "


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def _indent_at(text: str, at: int) -> str:
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    end = begin
    while end < at and text[end] in " \t":
        end += 1
    return text[begin:end]


def _inline(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _spread(value: Any, deep: str, end: str, step: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", end + deep)


# --- taking out


def cut(page: Page, at: int, gone: Collection[int | str]) -> str:
    """The text without the children of the object or array at `at` whose numbers are in `gone`, their commas and the
    white space in front of them."""
    text, kids = page.text, children(page, at)
    kept = [kid for kid in kids if kid.number not in gone]
    close = closing(page, at)
    spans = []
    for kid, following in zip(kids, [*kids[1:], None], strict=True):
        if kid.number not in gone:
            continue
        spans.append((_lead_start(page, kid), kid.end))
        comma = -1
        if following is not None:
            comma = page.plain.index(",", kid.end)
        elif trailing := [spot for spot in page.commas if kid.end <= spot < close]:
            comma = trailing[0]
        elif kept:  # the last one left needs its comma no longer
            comma = page.plain.index(",", kept[-1].end)
        if comma >= 0:
            spans.append((comma, comma + 1))
    pieces, done = [], 0
    for begin, end in sorted(spans):
        pieces.append(text[done:begin])
        done = end
    text = "".join((*pieces, text[done:]))
    if kept:
        return text
    end = closing(read(text), at)
    return text if text[at + 1 : end].strip(_SPACE) else text[: at + 1] + text[end:]


def _lead_start(page: Page, child: Child) -> int:
    """Where the white space before `child` begins; it stays when a comment that ends with its line would swallow what
    comes after."""
    text, begin = page.text, child.start
    number = bisect_right(page.remarks, child.start, key=lambda span: span[1])
    remark = page.remarks[number - 1] if number else (0, 0)
    while begin > remark[1] and text[begin - 1] in _SPACE:
        begin -= 1
    if begin == remark[1] and text.startswith("//", remark[0]):
        rest = child.end
        while rest < len(text) and text[rest] in " \t,":
            rest += 1
        if rest < len(text) and text[rest] not in "\r\n":
            return child.start
    return begin


def is_bare(page: Page, at: int) -> bool:
    """Whether the object or array at `at` holds nothing, no comment either."""
    return not page.text[at + 1 : closing(page, at)].strip(_SPACE)


def unharmed(before: Any, after: Any, keys: Keys) -> bool:
    """Whether everything beside the path `keys` has the value that it had; what is at its end is not compared."""
    if not keys or not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return True
    others = {key: value for key, value in before.items() if key != keys[0]}
    left = {key: value for key, value in after.items() if key != keys[0]}
    return same(others, left) and unharmed(before.get(keys[0], {}), after.get(keys[0], {}), keys[1:])
