"""One memory and its Markdown file: read, written new, and changed without losing anything else in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engram.core.memory import (
    CONFIDENCES,
    FOLDERS,
    LIFECYCLES,
    MAX_TITLE,
    SCHEMA_VERSION,
    TYPE_WORDS,
    VARIANTS,
    Memory,
    default_authority,
    hash_of,
    is_readable_id,
    title_for,
)
from engram.core.text import cut
from engram.errors import InvalidInput
from engram.vault import front_matter
from engram.vault.front_matter import Value

# Ends the content when the text has headings of its own, so that they do not read as sections of the file.
END_OF_CONTENT = "<!-- /Content -->"
MAX_FILE_BYTES = 1024 * 1024
MAX_LISTED = 100

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^(#{1,3})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_NOTHING = frozenset(("null", "Null", "NULL", "~"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """`start` and `end` are line numbers of the body, the heading's line left out; `level` is 1 to 3."""

    name: str
    level: int
    heading: int
    start: int
    end: int


def parse(text: str, *, path: str) -> Memory:
    """The memory in a file. `path` is relative to its root and fills in what the header does not say.

    Raises `InvalidInput` that says why it cannot be read.
    """
    parts = front_matter.take_apart(text)
    has_marks = "\n<<<<<<< " in "\n" + text and "\n>>>>>>> " in text
    if has_marks and parts.header is not None and "<<<<<<< " in parts.header:
        raise InvalidInput(_UNFINISHED, hint=_CHOOSE)
    fields = front_matter.read(parts.header) if parts.header is not None else {}
    folder, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.removesuffix(".md")
    id = _text(fields.get("id")) or stem
    if not is_readable_id(id):
        raise InvalidInput("its id cannot be used as one", hint="letters, digits, `.`, `_`, `-`")
    kind = TYPE_WORDS.get(_text(fields.get("type")).lower() or folder.split("/")[0].lower())
    if kind is None:
        raise InvalidInput("its type is none of rule, skill, knowledge")
    found = _read_body(parts.body)
    if not found.text.strip() and not found.variants:
        raise InvalidInput("says nothing: its content is blank")
    meaning = {name: _read_meaning(name, fields.get(name)) for name in fields}
    actual_hash = hash_of({**meaning, "type": kind}, parts.body)
    # What was approved with such lines in it explains a merge; else it is one.
    if has_marks and _text(fields.get("content_hash")) != actual_hash:
        raise InvalidInput(_UNFINISHED, hint=_CHOOSE)
    confidence = _text(fields.get("confidence")).lower()
    lifecycle = _text(fields.get("lifecycle")).lower()
    return Memory(
        id=id,
        type=kind,
        title=found.title or title_for(found.text) or id,
        text=found.text,
        extra=found.extra,
        origin=found.origin,
        variants=found.variants,
        tags=_list(fields.get("tags")),
        triggers=_list(fields.get("triggers")),
        role=_list(fields.get("role")),
        depends_on=_list(fields.get("depends_on")),
        supersedes=_list(fields.get("supersedes")),
        superseded_by=_text(fields.get("superseded_by")),
        evidence_refs=_list(fields.get("evidence_refs")),
        derived_from=_list(fields.get("derived_from")),
        confidence=confidence if confidence in CONFIDENCES else "medium",
        authority=_authority(_text(fields.get("authority")), kind),
        lifecycle=lifecycle if lifecycle in LIFECYCLES else "active",
        always=_text(fields.get("always")).lower() in ("true", "yes"),
        schema_version=_whole(fields.get("schema_version"), 1 if found.is_first_schema else 2),
        revision=_whole(fields.get("revision"), 1),
        created=_text(fields.get("created")),
        updated=_text(fields.get("updated")) or _text(fields.get("created")),
        valid_from=_text(fields.get("valid_from")),
        valid_until=_text(fields.get("valid_until")),
        last_confirmed=_text(fields.get("last_confirmed")),
        source=_text(fields.get("source")),
        author=_author(fields),
        tier="working" if _text(fields.get("tier")).lower() == "working" else "",
        objective=_text(fields.get("objective")),
        content_hash=_text(fields.get("content_hash")),
        actual_hash=actual_hash,
    )


_UNFINISHED, _CHOOSE = "holds an unfinished merge", "choose a side, then `engram review`"


def render(memory: Memory, *, scope: str) -> str:
    """The file of a new memory, with the hash of its content."""
    body = _new_body(memory)
    fields: dict[str, Value] = {
        "schema_version": SCHEMA_VERSION,
        "id": memory.id,
        "type": memory.type,
        "scope": scope,
        "tags": memory.tags,
        "triggers": memory.triggers,
        "role": memory.role,
        "confidence": memory.confidence,
        "authority": memory.authority,
        "always": memory.always,
        "depends_on": memory.depends_on,
        "revision": memory.revision,
        "created": memory.created,
        "updated": memory.updated,
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
        "last_confirmed": memory.last_confirmed,
        "lifecycle": "" if memory.tier else memory.lifecycle,
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
        "evidence_refs": memory.evidence_refs,
        "derived_from": memory.derived_from,
        "source": memory.source,
        "author": memory.author,
        "tier": memory.tier,
        "objective": memory.objective,
    }
    fields = {name: _folded(value) for name, value in fields.items()}
    if not memory.always:
        del fields["always"]
    fields["content_hash"] = hash_of(fields, body)
    return f"---\n{front_matter.write(fields)}---\n\n{body}"


def change(
    text: str,
    fields: Mapping[str, Value | None],
    *,
    content: str | None = None,
    title: str | None = None,
    origin: str | None = None,
    variants: Mapping[str, str] | None = None,
) -> str:
    """A file with some fields and, where given, its content, title, origin or some wordings changed, and the hash of
    what it says then. All else in it stays as it is."""
    parts = front_matter.take_apart(text)
    body = parts.body
    if content is not None:
        body = _with_content(body, content)
    if origin:
        body = _with_section(body, "Origin", _harmless(origin))
    if variants:
        body = _with_variants(body, variants)
    if title is not None:
        body = _with_title(body, title)
    wanted = {name: None if value is None else _folded(value) for name, value in fields.items()}
    known: dict[str, Any] = front_matter.read(parts.header or "")
    meaning = {name: _read_meaning(name, value) for name, value in known.items()}
    meaning |= wanted
    kind = TYPE_WORDS.get(_text(meaning.get("type")).lower(), "")
    changes = {**wanted, "content_hash": hash_of({**meaning, "type": kind}, body)}
    header = front_matter.rewrite(parts.header or "", changes)
    return front_matter.put_together(replace(parts, header=header, body=body))


def place_for(memory: Memory) -> str:
    """Where a new memory's file goes, relative to its root."""
    return f"working/{memory.id}.md" if memory.tier == "working" else f"{FOLDERS[memory.type]}/{memory.id}.md"


# -- the body ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    title: str
    text: str
    extra: str
    origin: str
    variants: Mapping[str, str]
    is_first_schema: bool


def _read_body(body: str) -> _Body:
    lines = body.split("\n")
    found = _sections(lines)
    title = next((section.name for section in found if section.level == 1), "").replace("\\#", "#")
    named = {section.name.lower(): section for section in reversed(found) if section.level == 2}
    content = _content_span(lines, found)
    extra: list[str] = []
    for section in found:
        inside = content[0] <= section.heading < content[1]
        if section.level == 2 and not inside and section.name.lower() not in _OWN_SECTIONS:
            extra.append("\n".join(lines[section.heading : section.end]).strip("\n"))
    origin = named.get("origin") or named.get("context")
    variants = named.get("rule variants")
    return _Body(
        title=cut(title, MAX_TITLE),
        text="\n".join(lines[content[0] : content[1]]).strip("\n"),
        extra="\n\n".join(extra),
        origin="\n".join(lines[origin.start : origin.end]).strip("\n") if origin and "content" in named else "",
        variants={
            section.name.lower(): "\n".join(lines[section.start : section.end]).strip("\n")
            for section in found
            if variants
            and section.level == 3
            and variants.start <= section.heading < variants.end
            and section.name.lower() in VARIANTS
        },
        is_first_schema="context" in named and "example" in named,
    )


_OWN_SECTIONS = frozenset(("content", "origin", "context", "rule variants"))


def _sections(lines: Sequence[str]) -> list[Section]:
    """Headings of level 1 to 3 outside of code; a section ends where one of its level or higher begins."""
    heads: list[tuple[int, int, str]] = []
    fence = ""
    last_end = max((at for at, line in enumerate(lines) if line.strip() == END_OF_CONTENT), default=-1)
    in_content = False
    for at, line in enumerate(lines):
        if in_content and at < last_end:
            continue
        in_content = False
        before, fence = fence, _fence_after(fence, line)
        if not before and not fence and (heading := _HEADING.match(line)):
            heads.append((at, len(heading.group(1)), heading.group(2).strip()))
            in_content = heads[-1][1:] == (2, "Content")
    found = []
    for number, (at, level, name) in enumerate(heads):
        end = next((later for later, other, _ in heads[number + 1 :] if other <= level), len(lines))
        found.append(Section(name=name, level=level, heading=at, start=at + 1, end=end))
    return found


def _fence_after(fence: str, line: str) -> str:
    """The code fence that is open after `line`: its signs, or ""."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark.group(1)
    return "" if mark.group(1).startswith(fence) and not line.strip().strip("`~") else fence


def _leaves_a_fence_open(text: str) -> bool:
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(fence, line)
    return bool(fence)


def _content_span(lines: Sequence[str], found: Sequence[Section]) -> tuple[int, int]:
    """The lines of the text: the Content section up to its end mark, else all that follows the title."""
    content = next((s for s in found if s.level == 2 and s.name.lower() == "content"), None)
    if content is not None:
        marks = [at for at in range(content.start, content.end) if lines[at].strip() == END_OF_CONTENT]
        return content.start, marks[-1] if marks else content.end
    first = next((line for line in range(len(lines)) if lines[line].strip()), 0)
    titled = next((s for s in found if s.level == 1 and s.heading == first), None)
    return (titled.start if titled is not None else 0), len(lines)


def _fenced_text(text: str) -> str:
    """`text`, with the end mark behind it when it could read as sections or as the mark itself."""
    has_headings = any(re.match(r" {0,3}#{1,2}(?:[ \t]|$)", line) for line in text.split("\n"))
    # A fence that is left open would swallow the sections after it.
    needs_mark = has_headings or _leaves_a_fence_open(text) or END_OF_CONTENT in text
    return f"{text}\n{END_OF_CONTENT}" if needs_mark else text


def _new_body(memory: Memory) -> str:
    parts = [_title_line(memory.title)]
    if memory.origin:
        parts.append(f"## Origin\n\n{_harmless(memory.origin)}")
    if memory.variants:
        wordings = [
            f"### {name.title()}\n\n{_harmless(memory.variants[name])}" for name in VARIANTS if name in memory.variants
        ]
        parts.append("\n\n".join(["## Rule Variants", *wordings]))
    parts.append(f"## Content\n\n{_fenced_text(memory.text)}")
    return "\n\n".join(parts) + "\n"


def _harmless(text: str) -> str:
    """Headings, and fences where one is left open, escaped as Markdown does it: only the content may have its own."""
    text = re.sub(r"^( {0,3})#", r"\1\\#", text, flags=re.MULTILINE)
    if _leaves_a_fence_open(text):
        text = re.sub(r"^( {0,3})(?=`{3}|~{3})", r"\1\\", text, flags=re.MULTILINE)
    return text


def _title_line(title: str) -> str:
    """A heading; number signs at its end would read as the end of the heading."""
    return "# " + re.sub(r"(^|[ \t])(#+)$", r"\1\\\2", title)


def _with_title(body: str, title: str) -> str:
    lines = body.split("\n")
    first = next((section for section in _sections(lines) if section.level == 1), None)
    if first is None:
        return f"{_title_line(title)}\n\n{body.lstrip(chr(10))}"
    lines[first.heading] = _title_line(title)
    return "\n".join(lines)


def _with_section(body: str, name: str, text: str) -> str:
    """The section `## name` with another text, made before the content where there is none."""
    lines = body.split("\n")
    found = _sections(lines)
    same = next((s for s in found if s.level == 2 and s.name.lower() == name.lower()), None)
    if same is not None:
        return "\n".join([*lines[: same.start], "", *text.split("\n"), "", *lines[same.end :]])
    content = next((s for s in found if s.level == 2 and s.name.lower() == "content"), None)
    at = content.heading if content is not None else len(lines)
    return "\n".join([*lines[:at], f"## {name}", "", *text.split("\n"), "", *lines[at:]])


def _with_variants(body: str, variants: Mapping[str, str]) -> str:
    known = {**_read_body(body).variants, **{name: _harmless(text) for name, text in variants.items()}}
    wordings = [f"### {name.title()}\n\n{known[name]}" for name in VARIANTS if name in known]
    return _with_section(body, "Rule Variants", "\n\n".join(wordings))


def _with_content(body: str, content: str) -> str:
    lines = body.split("\n")
    found = _sections(lines)
    start, end = _content_span(lines, found)
    after = lines[end:]
    if after and after[0].strip() == END_OF_CONTENT:
        after = after[1:]
    while after and not after[0].strip():
        del after[0]
    before = lines[:start]
    between = [""] if before and before[-1].strip() else []
    tail = ["", *after] if after else [""]
    return "\n".join([*before, *between, *_fenced_text(content).split("\n"), *tail])


# -- fields ------------------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    """One line; "" for what other tools write for nothing."""
    return "" if not isinstance(value, str) or value in _NOTHING else _word(value)


def _word(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())[:400].strip()


def _list(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [] if value in _NOTHING else value.split(",")
    if not isinstance(value, list):
        return ()
    kept = (_word(part) for part in value[:MAX_LISTED] if isinstance(part, str))
    return tuple(dict.fromkeys(part for part in kept if part))


def _folded(value: Value) -> Value:
    """A value as it will be read back, so that its hash is the same then."""
    if isinstance(value, str):
        return _text(value)
    return value if isinstance(value, (bool, int)) else _list(list(value))


def _whole(value: Any, default: int) -> int:
    text = _text(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else default


def _authority(given: str, kind: str) -> str:
    return given if given in ("instruction", "reference") else default_authority(kind)


def _author(fields: Mapping[str, Any]) -> str:
    if author := _text(fields.get("author")):
        return author
    name, mail = _text(fields.get("author_name")), _text(fields.get("author_email"))
    return f"{name} <{mail}>" if name and mail else name or mail


def _read_meaning(name: str, value: Any) -> Any:
    """A field as the hash takes it: the same whether it was just made or read back as text."""
    if isinstance(value, list):
        return list(_list(value))
    text = _text(value)
    return text.lower() in ("true", "yes") if name == "always" else text
