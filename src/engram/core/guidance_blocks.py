"""Read Markdown as blocks with their lines; what nobody would keep of a guidance file becomes a gap."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "prose",
    "blockquote_open": "prose",
    "bullet_list_open": "bullets",
    "ordered_list_open": "numbers",
    "list_item_open": "item",
    "fence": "code",
    "code_block": "code",
    "hr": "gap",
    "comment": "gap",
}
LISTED = re.compile(r"^\s*(?:[-*+]|\d+[.)])(?:\s+|$)(?:\[[ xX]\]\s)?")
LINK = re.compile(r"\[([^\[\]]{0,300})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
TAG = r"</?(?!https?:)[A-Za-z][^<>]{0,300}>"
_TOOL = (
    r"(?:[A-Z_]+=\S* )*(?:[\w.-]*/)*(?:npm|npx|pnpm|yarn|bun|deno|node|make|just|task|cargo|rustup|go|uvx?|pip3?|pipx|"
    r"poetry|hatch|tox|nox|python3?|pytest|ruff|mypy|pre-commit|git|gh|docker|docker-compose|podman|kubectl|helm|terraform|dotnet|"
    r"mvnw?|gradlew?|bundle|rake|rails|composer|php|cmake|ctest|bazel|nx|turbo|mix|swift|xcodebuild|flutter|dart|sh|bash|"
    r"sudo|brew|apt|apt-get|cd|curl|export|source|[\w.-]+\.sh)(?=[\s`:]|$)"
)
COMMAND = re.compile(rf"`(?:\$ )?{_TOOL}")
_COMMAND_LINE = re.compile(rf"\s*(?:[$>] )?{_TOOL}")
_SHELLS = frozenset("bash sh shell zsh fish console shell-session powershell ps1 cmd bat terminal".split())
_INTRODUCTION = re.compile(
    r"This file (?:provides|contains) (?:guidance|instructions|context) (?:to|for) .{1,80} when working .{1,60}",
    re.IGNORECASE,
)
_BEGIN_END = {"begin", "start", "end", "stop"}
_HAND_MADE = {"manual", "custom", "user", "your", "personal"}


class Block(NamedTuple):
    """A block of Markdown. `kind`: heading prose table code bullets numbers item, or gap for what is left out."""

    kind: str
    start: int
    end: int
    text: str
    level: int = 0
    shell: bool = False
    inside: tuple[Block, ...] = ()


def front_matter(lines: list[str]) -> tuple[int, list[str]]:
    """The line where the text begins, and what `description` and `globs` before it say; some files have it twice."""
    body = 0
    said: list[str] = []
    while body < len(lines) and lines[body].rstrip() == "---":
        end = next((at for at in range(body + 1, len(lines)) if lines[at].rstrip() in ("---", "...")), 0)
        written = [line for line in lines[body + 1 : end] if line.strip()]
        if not written or not all(re.match(r"[\w-]+:|\s|- |#", line) for line in written):
            break
        values = {match[1]: match[2] for line in written if (match := re.match(r"([\w-]+):\s*(.*)", line))}
        said += [values[name].strip("\"' []") for name in ("description", "globs") if values.get(name)]
        body = end + 1
    return body, said


def read_blocks(lines: list[str]) -> list[Block]:
    """The blocks of Markdown in `lines`, nested as they are written; each line with text on it is in one."""
    from markdown_it import MarkdownIt  # its import costs more than the start of a hook or server may

    parser = MarkdownIt("commonmark", {"html": False}).disable(["inline", "reference"])
    parser.block.ruler.before("fence", "comment", _comment, {"alt": ["paragraph", "blockquote", "list"]})
    level: list[list[Block]] = [[]]
    opened: list[Token] = []
    for token in parser.parse("\n".join(lines)):
        if token.nesting == 1:
            level.append([])
            opened.append(token)
            continue
        inside = tuple(level.pop()) if token.nesting == -1 else ()
        made = opened.pop() if token.nesting == -1 else token
        if made.map and made.type in _KINDS:
            level[-1].append(_block(lines, made, inside))
    return _without_managed(level[0])


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Rule of the parser: an HTML comment, which may hold blank lines; text behind it on its last line keeps it."""
    first = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith("<!--", first):
        return False
    close = state.src.find("-->", first, state.eMarks[end - 1])
    if close < 0:
        return False
    if not silent:
        state.line = next(at for at in range(start, end) if close < state.eMarks[at]) + 1
        behind = state.src[close + 3 : state.eMarks[state.line - 1]]
        state.push("paragraph_open" if behind.strip() else "comment", "", 0).map = [start, state.line]
    return True


def _block(lines: list[str], token: Token, inside: tuple[Block, ...]) -> Block:
    start, end = token.map or (0, 0)
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    text = "\n".join(lines[start:end])
    kind = _KINDS[token.type]
    if kind == "prose" and any(set(line) <= set(" \t|:-") and "|" in line and "-" in line for line in lines[start:end]):
        kind = "table"
    elif kind in ("prose", "bullets", "numbers") and (_is_boilerplate(text) or all(map(_is_noise, lines[start:end]))):
        kind = "gap"
    words = token.info.split() if kind == "code" else []
    shell = words[0].lower() in _SHELLS if words else kind == "code" and bool(_COMMAND_LINE.match(token.content))
    return Block(kind, start, end, text, int(token.tag[1]) if kind == "heading" else 0, shell, inside)


def _is_boilerplate(text: str) -> bool:
    """Whether `text` is the sentence that agent programs put above every file they make."""
    return ". " not in text and bool(_INTRODUCTION.fullmatch(" ".join(text.split())))


def _is_noise(line: str) -> bool:
    """Whether `line` holds nothing but links, images, tags or imports; of list items, links into this file."""
    line = line.strip()
    if LISTED.match(line):
        return not re.sub(r"\[[^\[\]]{0,300}\]\(#[^()]{0,300}\)|@[\w~./-]+$", "", LISTED.sub("", line, count=1)).strip()
    if re.fullmatch(r"@[\w~./-]+|<?https?://\S+", line):
        return True
    return not any(map(str.isalnum, re.sub(TAG, "", LINK.sub("", LINK.sub("", line)))))


def _without_managed(blocks: list[Block]) -> list[Block]:
    """`blocks`, with those between the begin and the end comment of a tool as gaps; a person's own part stays."""
    begun: dict[str, int] = {}
    kept = list(blocks)
    for at, block in enumerate(blocks):
        marked = block.kind == "gap" and block.text.lstrip().startswith("<!--")
        words = re.findall(r"[^\W_]+", block.text[:200].lower()) if marked else []
        marks = _BEGIN_END.intersection((*words[:2], *words[-1:]))
        name = next((word for word in words if word not in _BEGIN_END), "")
        if not marks or not name or _HAND_MADE.intersection(words):
            continue
        if marks & {"begin", "start"}:
            begun.setdefault(name, at)
        elif name in begun:
            for within in range(begun.pop(name), at + 1):
                kept[within] = blocks[within]._replace(kind="gap")
    return kept
