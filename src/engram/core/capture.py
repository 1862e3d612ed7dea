"""Find the learnings that an agent listed at the end of its text."""

from __future__ import annotations

import re

MIN_ITEM = 20
MIN_WORDS = 4

# For a line with its runs of white space made single: a pattern with several of them side by side backtracks.
_SECTION = re.compile(r"^ ?###? (?:aprendizajes(?: clave)?|(?:key )?learnings?) ?:?(?: ?#+)? ?$", re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#{1,3}\s+\S")
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
_NUMBERED = re.compile(r"^(?P<indent>\s*)\d{1,3}[.)]\s+(?P<text>\S.*)$")
_BULLET = re.compile(r"^(?P<indent>\s*)[-*+•]\s+(?P<text>\S.*)$")
# Bounded, or a text full of opening marks would be read once for each of them.
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,300}?)(?<=\S)\1")


def learnings(text: str) -> list[str]:
    """Items of the last learnings section that has any, in order, wrapped lines joined.

    A section starts at a level 2 or 3 heading that says Key Learnings, Learnings or Aprendizajes (Clave) and
    ends at the next heading of level 1 to 3. What stands inside code fences is an example, not a learning.
    Items of fewer than 20 characters or four words are noise and are left out.
    """
    sections: list[list[str]] = []
    current: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
            continue
        if fence:
            if mark and mark.group(1)[0] == fence[0] and len(mark.group(1)) >= len(fence):
                fence = ""
            continue
        if _is_section(line):
            current = []
            sections.append(current)
        elif _HEADING.match(line):
            current = None
        elif current is not None:
            current.append(line)
    for lines in reversed(sections):
        items = _items(lines)
        if items:
            return items
    return []


def _is_section(line: str) -> bool:
    indent = len(line) - len(line.lstrip())
    return indent <= 3 and _SECTION.match(" ".join(line[:200].split())) is not None and not line[200:].strip()


def _items(lines: list[str]) -> list[str]:
    found = _listed(lines, _NUMBERED) or _listed(lines, _BULLET)
    return [item for item in found if len(item) >= MIN_ITEM and _long_enough(item)]


def _long_enough(item: str) -> bool:
    # Scripts written without spaces have no words to count.
    return len(item.split()) >= MIN_WORDS or any(ord(char) >= 0x2E80 for char in item)


def _listed(lines: list[str], marker: re.Pattern[str]) -> list[str]:
    items: list[list[str]] = []
    open_item = False
    for line in lines:
        start = marker.match(line)
        if start:
            items.append([start.group("text")])
            open_item = True
        elif not line.strip():
            open_item = False
        elif items and not (_NUMBERED.match(line) or _BULLET.match(line)) and (open_item or line[:1].isspace()):
            items[-1].append(line.strip())
    return [_BOLD.sub(r"\2", " ".join(" ".join(parts).split())) for parts in items]
