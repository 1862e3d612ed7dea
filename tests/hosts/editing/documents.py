"""Settings documents as people write them: data, and a text of it with comments, trailing commas and a style."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(
    ["a", "b", "url", "theme", "mcpServers", "hooks", "engram", "PreToolUse", "ä", 'q"\\', "//x", ""]
)
_STRINGS = st.sampled_from(["", "x", "http://h/p", "/* no */", 'say "it"', "a,]}", "{", "\\", "é☃", "\U0001f600", "\n"])
_NUMBERS = st.sampled_from(["0", "-1", "1.0", "1e3", "1E+2", "123456789012345678901234567890"])
_LITERALS = st.sampled_from(["true", "false", "null"])
_REMARKS = [
    "// plain",
    '// "mcpServers": {"engram": 1},',
    "//",
    "// it's \"half",
    "// , ] }",
    "/* one */",
    '/* "a": {, */',
    "/**/",
]
_BLOCKS = [remark for remark in _REMARKS if remark.startswith("/*")]


@dataclass(frozen=True)
class Style:
    end: str
    step: str  # "" for a text of one line
    colon: str
    has_commas: bool
    has_last_end: bool
    has_remarks: bool


STYLES = st.builds(
    Style,
    end=st.sampled_from(["\n", "\r\n"]),
    step=st.sampled_from(["  ", "    ", "\t", ""]),
    colon=st.sampled_from([": ", ":", " : "]),
    has_commas=st.booleans(),
    has_last_end=st.booleans(),
    has_remarks=st.booleans(),
)


@st.composite
def _value(draw: st.DrawFn, style: Style, deep: int) -> str:
    kind = draw(
        st.sampled_from(["string", "number", "literal", "object", "array"] if deep < 4 else ["string", "number"])
    )
    match kind:
        case "string":
            return json.dumps(draw(_STRINGS), ensure_ascii=draw(st.booleans()))
        case "number":
            return draw(_NUMBERS)
        case "literal":
            return draw(_LITERALS)
        case "object":
            return draw(objects(style, deep))
    size = draw(st.integers(0, 3))
    return _joined(draw, style, deep, "[]", [draw(_value(style, deep + 1)) for _ in range(size)])


@st.composite
def objects(draw: st.DrawFn, style: Style, deep: int = 0, fixed: dict[str, str] | None = None) -> str:
    """An object with members by chance; `fixed` are texts of members that it has in any case."""
    names = draw(st.lists(NAMES.filter(lambda name: name not in (fixed or {})), unique=True, max_size=4))
    texts = [(name, draw(_value(style, deep + 1))) for name in names] + list((fixed or {}).items())
    texts = draw(st.permutations(texts))
    said = [json.dumps(name, ensure_ascii=draw(st.booleans())) + style.colon + text for name, text in texts]
    return _joined(draw, style, deep, "{}", said)


def _joined(draw: st.DrawFn, style: Style, deep: int, brackets: str, pieces: list[str]) -> str:
    is_spread = bool(style.step) and (deep == 0 or draw(st.booleans()))

    def remark() -> str:
        if not style.has_remarks or not draw(st.booleans()):
            return ""
        return draw(st.sampled_from(_REMARKS if is_spread else _BLOCKS))

    lead = style.end + style.step * (deep + 1) if is_spread else ""
    made = brackets[0] + (f" {said}" if (said := remark()) and is_spread else said)
    for number, piece in enumerate(pieces):
        above = f"{lead}{said}" if (said := remark()) else ""
        comma = "," if number + 1 < len(pieces) or (style.has_commas and draw(st.booleans())) else ""
        after = f" {said}" if (said := remark()) else ""
        made += f"{above}{lead}{piece}{comma}{after}"
    below = f"{lead}{said}" if (said := remark()) else ""
    made += below
    if is_spread and made != brackets[0]:
        made += style.end + style.step * deep
    return made + brackets[1]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A text with an object at the top level. Sometimes it has a place for servers and hooks already."""
    style = draw(STYLES)
    fixed = {}
    if draw(st.booleans()):
        fixed["mcpServers"] = draw(objects(style, 1))
    if draw(st.booleans()):
        groups = _joined(draw, style, 2, "[]", [draw(objects(style, 3)) for _ in range(draw(st.integers(0, 2)))])
        fixed["hooks"] = draw(objects(style, 1, {"PreToolUse": groups}))
    text = draw(objects(style, 0, fixed))
    if style.has_remarks and draw(st.booleans()):
        text = f"// above{style.end}{text} /* below */"
    return text + (style.end if style.has_last_end else "")


def data_of(text: str) -> Any:
    """What the text says, by another way than the one that is tested: character by character."""
    bare, at = [], 0
    while at < len(text):
        if text[at] == '"':
            stop = at + 1
            while text[stop] != '"':
                stop += 2 if text[stop] == "\\" else 1
            bare.append(text[at : stop + 1])
            at = stop + 1
        elif text.startswith("//", at):
            while at < len(text) and text[at] not in "\r\n":
                at += 1
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        else:
            if text[at] in "]}":
                while bare and not bare[-1].strip():
                    bare.pop()
                if bare and bare[-1] == ",":
                    bare.pop()
            bare.append(text[at])
            at += 1
    return json.loads("".join(bare))
