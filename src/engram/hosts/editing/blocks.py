"""Lines of ours between two markers in a Markdown text, and front matter that a host needs above them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engram.hosts.editing.edit import Edit, Untouched, newline_near, unified
from engram.hosts.parts import Block

START, END = "<!-- engram:start -->", "<!-- engram:end -->"
_FENCE = "---"


def put(text: str, part: Block) -> Edit:
    """The block is replaced where it stands; a new one comes last, after one blank line. Raises `Untouched` for markers
    that contradict each other."""
    body = f"{START}\n{part.text.strip(chr(10))}\n{END}"
    span = _span(text)
    if span is None:
        end = newline_near(text, len(text))
        lead = "" if not text else end if text.endswith(("\n", "\r")) else end + end
        whole = text + lead + body.replace("\n", end) + end
    else:
        begin, stop = span
        whole = text[:begin] + body.replace("\n", newline_near(text, begin)) + text[stop:]
    whole = _with_heading(whole, part.heading)
    if whole == text:
        return Edit(text=text, status="unchanged")
    return Edit(text=whole, status="written" if span is None else "updated")


def take(text: str, part: Block) -> Edit:
    """The text without the block and the blank line before it, and without our front matter where nothing else is
    left. Raises `Untouched` as `put`."""
    span = _span(text)
    if span is None:
        return Edit(text=text, status="unchanged")
    before, after = text[: span[0]], text[span[1] :]
    after = after[2:] if after.startswith("\r\n") else after[1:] if after[:1] in ("\n", "\r") else after
    if not after.strip():
        before = _without_blank_line(before)
    left = before + after
    if part.heading:
        left = _without_heading(left, part.heading)
    return Edit(text=left, status="removed")


def _span(text: str) -> tuple[int, int] | None:
    """Where the block stands. A marker counts when it is a line of its own, outside of what a fence quotes."""
    starts: list[int] = []
    ends: list[int] = []
    at, fence = 0, ""
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        mark = bare[:3] if bare[:3] in ("```", "~~~") else ""
        if fence:
            fence = "" if mark == fence and not bare.strip(mark[0]) else fence
        elif mark:
            fence = mark
        elif bare.removeprefix("\ufeff") == START:
            starts.append(at + line.index("<"))
        elif bare == END:
            ends.append(at + line.index("<") + len(END))
        at += len(line)
    if not starts and not ends:
        return None
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        raise Untouched("conflict", f"the markers `{START}` and `{END}` do not stand there once each")
    return starts[0], ends[0]


def _without_blank_line(text: str) -> str:
    """Two line ends at the end become one: the second was put there before the block."""
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end + end):
            return text[: -len(end)]
    return text


def _heading_end(lines: list[str]) -> int:
    """The number of the line that closes the front matter; 0 when there is none."""
    if not lines or lines[0].lstrip("\ufeff").rstrip() != _FENCE:
        return 0
    return next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), 0)


def _with_heading(text: str, heading: Mapping[str, Any]) -> str:
    if not heading:
        return text
    lines = text.splitlines(keepends=True)
    last = _heading_end(lines)
    end = newline_near(text, 0)
    if last == 0:
        return end.join((_FENCE, *_said(heading), _FENCE, "", "")) + text
    present = {line.partition(":")[0].strip() for line in lines[1:last]}
    missing = {key: value for key, value in heading.items() if key not in present}
    return "".join((*lines[:last], *(line + end for line in _said(missing)), *lines[last:]))


def _without_heading(text: str, heading: Mapping[str, Any]) -> str:
    """A text in which only our front matter is left is blank."""
    lines = unified(text).split("\n")
    last = _heading_end(lines)
    rest = "\n".join(lines[last + 1 :]) if last else text
    if last and not rest.strip() and set(lines[1:last]) <= {*_said(heading), ""}:
        return ""
    return text


def _said(heading: Mapping[str, Any]) -> list[str]:
    return [f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in heading.items()]
