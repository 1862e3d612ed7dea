"""Lines of ours between two markers in a Markdown text, and front matter that a host needs above them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from engram.hosts.editing.edit import Edit, Keys, Untouched, lines_of, newline_near
from engram.hosts.parts import Block

START, END = "<!-- engram:start -->", "<!-- engram:end -->"
_DASHES = "---"
# Among the containers this is front matter that was not there at all; a key alone is a line that was not.
FRONT_MATTER: Keys = (_DASHES,)
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")


def put(text: str, part: Block) -> Edit:
    """The block is replaced where it stands; a new one comes last, after one blank line. Raises `Untouched` for markers
    that contradict each other."""
    body = f"{START}\n{part.text.strip(chr(10))}\n{END}"
    span = _span(text)
    if span is None:
        whole = appended(text, body)
    else:
        begin, stop = span
        whole = text[:begin] + body.replace("\n", newline_near(text, begin)) + text[stop:]
    whole, containers = _with_heading(whole, part.heading)
    if whole == text:
        return Edit(text=text, status="unchanged")
    return Edit(text=whole, status="written" if span is None else "updated", containers=containers)


def take(text: str, part: Block, *, containers: tuple[Keys, ...] | None = None) -> Edit:
    """The text without the block and the blank line before it, and without the lines of front matter that `containers`
    says are ours (None: unknown, so only where nothing else is left). Raises `Untouched` as `put`."""
    span = _span(text)
    if span is None:
        return Edit(text=text, status="unchanged")
    left = without(text, *span)
    if part.heading:
        left = _without_heading(left, part.heading, containers)
    return Edit(text=left, status="removed")


def appended(text: str, body: str) -> str:
    """`text` with the lines of `body` after one blank line. A text without a last line end has none afterwards."""
    end = newline_near(text, len(text))
    body = body.replace("\n", end)
    if not text:
        return body + end
    return text + end + body + end if text.endswith(("\n", "\r")) else text + end + end + body


def without(text: str, begin: int, stop: int) -> str:
    """The way back from `appended`; what stands after the lines, if anything does, follows on what was before."""
    before, after = text[:begin], text[stop:]
    end = newline_near(text, begin)
    if not after:
        return before.removesuffix(end).removesuffix(end)
    after = after.removeprefix(lines_of(after)[0]) if after[0] in "\r\n" else after
    return (before if after.strip() else before.removesuffix(end)) + after


def _span(text: str) -> tuple[int, int] | None:
    """Where the block stands. A marker counts when it is a line of its own, outside of what a fence quotes; a fence
    that is never closed quotes nothing. Fences between two markers are those of the block."""
    lines = lines_of(text)
    markers = [(number, mark) for number, line in enumerate(lines) if (mark := line.strip()) in (START, END)]
    ours = {one: other for (one, mark), (other, next_) in pairwise(markers) if (mark, next_) == (START, END)}
    marks: list[tuple[str, int]] = []
    quoted: list[tuple[str, int]] = []
    at, fence, end_of_ours = 0, "", -1
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare in (START, END):
            (quoted if fence else marks).append((bare, at + line.index("<")))
            end_of_ours = ours.get(number, end_of_ours)
        elif number > end_of_ours and (found := _FENCE.match(line.rstrip("\r\n"))):
            mark, info = found.groups()
            if not fence:
                fence = mark
            elif mark.startswith(fence) and not info.strip():
                fence, quoted = "", []
        at += len(line)
    marks = sorted(marks + quoted, key=lambda mark: mark[1])
    if not marks:
        return None
    if [mark for mark, _ in marks] != [START, END]:
        raise Untouched("conflict", f"the markers `{START}` and `{END}` do not stand there once each")
    return marks[0][1], marks[1][1] + len(END)


def _heading_end(lines: list[str]) -> int:
    """The number of the line that closes the front matter; 0 when there is none."""
    if not lines or lines[0].rstrip() != _DASHES:
        return 0
    return next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _DASHES), 0)


def _with_heading(text: str, heading: Mapping[str, Any]) -> tuple[str, tuple[Keys, ...]]:
    if not heading:
        return text, ()
    lines = lines_of(text)
    last = _heading_end(lines)
    end = newline_near(text, 0)
    if last == 0:
        return end.join((_DASHES, *_said(heading), _DASHES, "", "")) + text, (FRONT_MATTER,)
    present = {line.partition(":")[0].strip() for line in lines[1:last]}
    missing = {key: value for key, value in heading.items() if key not in present}
    whole = "".join((*lines[:last], *(line + end for line in _said(missing)), *lines[last:]))
    return whole, tuple((key,) for key in missing)


def _without_heading(text: str, heading: Mapping[str, Any], containers: tuple[Keys, ...] | None) -> str:
    lines = lines_of(text)
    last = _heading_end(lines)
    if last == 0:
        return text
    bare = {line.strip() for line in lines[1:last]}
    is_only_ours = bare <= {*_said(heading), ""}
    rest = "".join(lines[last + 1 :])
    is_made = FRONT_MATTER in containers if containers is not None else not rest.strip()
    if is_made and is_only_ours:
        return rest.removeprefix(newline_near(text, 0))
    made = heading.keys() if is_made else [key for key in heading if (key,) in (containers or ())]
    gone = set(_said({key: heading[key] for key in made}))
    return "".join((lines[0], *(line for line in lines[1:last] if line.strip() not in gone), *lines[last:]))


def _said(heading: Mapping[str, Any]) -> Iterable[str]:
    return [f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in heading.items()]
