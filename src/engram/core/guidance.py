"""Turn a guidance file (CLAUDE.md, AGENTS.md, an editor's rules) into passages that a person can approve."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from engram.core.guidance_blocks import Block, front_matter, read_blocks
from engram.core.guidance_wording import is_procedure, lead_in, leans, name_for, plain, triggers_from, type_of

WHOLE = 900  # characters of a section, or of a sentence with its list, that stay in one piece
GROUP = 600  # characters of a list, or of short neighbours, that stay in one piece
SHORT = 120

_CONTENTS = re.compile(r"(?:table of )?contents|toc|目录|目次|índice|inhalt(?:sverzeichnis)?", re.IGNORECASE)
_FILE_NAME = re.compile(r"\.mdc?$|cursorrules|\b(?:claude|agents|gemini|copilot|cursor)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Some lines of the source, word for word; `line` counts from 1, `type` is rule, skill or knowledge."""

    text: str
    title: str
    type: str
    line: int
    triggers: tuple[str, ...]


class _Atom(NamedTuple):
    """A block that is not parted. A lead announces what follows; one that clings leans on what stands before."""

    block: Block
    label: str = ""
    lead: bool = False
    clings: bool = False


class _Piece(NamedTuple):
    blocks: Sequence[Block]
    path: tuple[str, ...]
    label: str = ""
    whole: bool = False


@dataclass(slots=True)
class _Section:
    level: int
    path: tuple[str, ...] = ()
    own: list[Block] = field(default_factory=list)
    subs: list[_Section] = field(default_factory=list)
    heading: Block | None = None

    def blocks(self) -> list[Block]:
        """All blocks of the section in order, with the headings below its own."""
        return self.own + [
            block for sub in self.subs for block in ([sub.heading] if sub.heading else []) + sub.blocks()
        ]


def passages(text: str) -> tuple[Passage, ...]:
    """The passages of `text` in the order of their lines; never raises, and no prose is lost.

    Left out: front matter, headings (they are in the titles), comments, blocks that tools keep between begin and end
    comments, tables of contents, and paragraphs that hold nothing but links, badges, tags or imports.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    body, described = front_matter(lines)
    root = _sections(read_blocks([""] * body + lines[body:]))
    titled = len(root.subs) == 1 and all(block.kind == "gap" for block in root.own)
    found: list[Passage] = []
    taken: dict[str, int] = {}
    for piece in _pieces(root):
        path = piece.path
        if titled and path and (len(path) > 1 or _FILE_NAME.search(path[0])):
            path = path[1:]
        verbatim = _verbatim(lines, piece.blocks)
        if not any(map(str.isalnum, verbatim)):
            continue
        title = name_for(path or tuple(described[:1]), piece.label, verbatim, whole=piece.whole, taken=taken)
        taken.setdefault(title, 1)
        label = piece.label if len(piece.label.split()) < 6 else ""
        found.append(
            Passage(
                text=verbatim,
                title=title,
                type=type_of(piece.blocks, " ".join((*piece.path[-1:], piece.label))),
                line=piece.blocks[0].start + 1,
                triggers=triggers_from((label, *reversed(path), *described)) or triggers_from(piece.path),
            )
        )
    return tuple(found)


def _sections(blocks: list[Block]) -> _Section:
    root = _Section(0)
    branch = [root]
    for block in blocks:
        if block.kind != "heading":
            branch[-1].own.append(block)
            continue
        while branch[-1].level >= block.level:
            branch.pop()
        section = _Section(block.level, (*branch[-1].path, plain(block.text)), heading=block)
        branch[-1].subs.append(section)
        branch.append(section)
    return root


def _pieces(section: _Section, *, top: bool = True) -> Iterator[_Piece]:
    """All of a section if it is short and of one type, else its own parts, then its sections.

    `top` is the file itself or its one title: they hold many topics however short they are.
    """
    path, blocks = section.path, section.blocks()
    if path and not section.subs and _CONTENTS.fullmatch(path[-1]):
        return
    while blocks and blocks[-1].kind in ("gap", "heading"):
        blocks.pop()
    while blocks and blocks[0].kind == "gap":
        del blocks[0]
    if blocks and _fits(blocks, WHOLE) and (not section.subs or (not top and _is_one_topic(section))):
        yield _Piece(blocks, path, whole=True)
        return
    runs = [list(run) for is_gap, run in groupby(section.own, lambda block: block.kind == "gap") if not is_gap]
    for run in runs:
        if _fits(run, WHOLE):
            yield _Piece(run, path, whole=len(runs) == 1)
        else:
            yield from _groups(run, path)
    for sub in section.subs:
        yield from _pieces(sub, top=top and len(section.subs) == 1 and bool(sub.subs))


def _fits(blocks: Sequence[Block], limit: int) -> bool:
    return sum(len(block.text) + 2 for block in blocks) <= limit + 2 and all(block.kind != "gap" for block in blocks)


def _is_one_topic(section: _Section) -> bool:
    parts = [(sub.blocks(), sub.path[-1]) for sub in section.subs]
    if sum(len(block.text) for block in section.own) > SHORT:
        parts.append((section.own, section.path[-1]))
    return len(parts) > 1 and len({type_of(blocks, about) for blocks, about in parts}) == 1


def _groups(run: list[Block], path: tuple[str, ...]) -> Iterator[_Piece]:
    """The atoms of `run`, put together where one would make no sense, or not be worth a question, without the other."""
    group: list[_Atom] = []
    for atom in _atoms(run, path[-1] if path else ""):
        if group and not _joins(group, atom):
            yield _piece(group, path)
            group = []
        group.append(atom)
    if group:
        yield _piece(group, path)


def _piece(group: list[_Atom], path: tuple[str, ...]) -> _Piece:
    label = plain(group[0].block.text) if group[0].lead and not group[0].label else group[-1].label
    return _Piece([each.block for each in group], path, label)


def _joins(group: list[_Atom], atom: _Atom) -> bool:
    blocks = [*(each.block for each in group), atom.block]
    if group[-1].lead and not atom.lead:
        return True
    if group[-1].lead or (atom.clings and not atom.lead):
        return _fits(blocks, WHOLE)
    are_short = len(atom.block.text) < SHORT and len(group[-1].block.text) < SHORT
    return are_short and not atom.lead and _fits(blocks, GROUP)


def _atoms(blocks: Sequence[Block], about: str, label: str = "") -> Iterator[_Atom]:
    """What is not parted: paragraphs, code, procedures, short or announced lists, and the items of other lists."""
    lead: Block | None = None
    for at, block in enumerate(blocks):
        if block.kind in ("bullets", "numbers") and block.inside and not _stays_whole(block, lead, about):
            named = plain(lead.text) if lead else label
            for item in block.inside:
                if len(item.text) > 2 * WHOLE and len(item.inside) > 1:
                    yield from _atoms(item.inside, about, lead_in(item.text))
                else:
                    yield _Atom(item, named, clings=leans(item))
            lead = None
        else:
            is_item_head = bool(label) and at == 0
            announces = at + 1 < len(blocks) and (is_item_head or _announces(block, blocks[at + 1]))
            lead = block if announces else None
            yield _Atom(block, label, lead=announces, clings=leans(block))


def _stays_whole(block: Block, lead: Block | None, about: str) -> bool:
    announced = lead is not None and _fits((lead, block), WHOLE)
    return announced or len(block.text) <= GROUP or is_procedure(block, f"{about} {lead.text if lead else ''}")


def _announces(block: Block, following: Block) -> bool:
    """Whether `block` is half a thought: it ends in a colon, or is a label in bold or without an end."""
    text = block.text.strip()
    if block.kind != "prose" or text.rstrip("*_ ")[-1:] in (":", "："):
        return block.kind == "prose"
    is_line = "\n" not in text and len(text) <= 80
    is_bold = text.startswith("**") and text.endswith("**") and text.count("**") == 2
    return is_line and (is_bold or (following.kind in ("bullets", "numbers", "code") and text[-1:] not in ".!?。！？"))


def _verbatim(lines: list[str], blocks: Sequence[Block]) -> str:
    """The lines of `blocks`, without the indentation that they share."""
    cut_out = lines[blocks[0].start : blocks[-1].end]
    margins = {line[: len(line) - len(line.lstrip())] for line in cut_out if line.strip()}
    margin = min(margins, key=len, default="")
    if blocks[0].kind == "code" or not all(each.startswith(margin) for each in margins):
        margin = ""
    return "\n".join(line.removeprefix(margin) for line in cut_out)
