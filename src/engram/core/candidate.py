"""Candidates: what an agent proposes to remember, read from the grammar that agents write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from engram.core.clean import Clean, clean
from engram.core.memory import (
    CONFIDENCES,
    MAX_TEXT_BYTES,
    MAX_TITLE,
    TYPE_WORDS,
    TYPES,
    VARIANTS,
    check_id,
    is_readable_id,
    title_for,
)
from engram.core.text import cut
from engram.errors import InvalidInput

MAX_CANDIDATES = 8

_FIELDS = {
    "type": ("type", "kind", "memory type"),
    "text": ("text", "memory", "summary", "content"),
    "title": ("title",),
    "id": ("id",),
    "origin": ("origin", "context", "why", "rationale"),
    "triggers": ("triggers", "trigger", "retrieve when", "use for", "retrieval hints"),
    "tags": ("tags",),
    "depends_on": ("depends on", "depends", "dependency", "dependencies", "prerequisite", "prerequisites"),
    "level": ("level", "depth", "dependency depth"),
    "update": ("update", "update id", "merge with", "existing"),
    "supersedes": ("supersedes", "supersede", "replaces"),
    "parent": ("parent", "parent ids", "children", "child ids"),
    "keep": ("keep", "keep both"),
    "role": ("role", "roles"),
    "confidence": ("confidence",),
    "always": ("always",),
    "valid_from": ("valid from",),
    "valid_until": ("valid until", "expires"),
    "evidence": ("evidence", "evidence refs"),
    "light": ("light",),
    "balanced": ("balanced",),
    "strict": ("strict",),
}
_NAMES = {synonym: name for name, synonyms in _FIELDS.items() for synonym in synonyms}
_LISTS = ("triggers", "tags", "depends_on", "parent", "role", "evidence")
# A name that other text seldom has before a colon, in the forms `DEPENDS_ON:`, `depends on:`, `Depends-On:`.
_FIELD = re.compile(r"(?P<name>[A-Za-z][A-Za-z _-]{1,20}?)\s*:(?=\s|$)\s*")
_TYPED = re.compile(r"(?:[-*+]\s+)?(?P<type>rules?|skills?|workflows?|knowledge)\s*:\s+(?P<rest>\S.*)", re.IGNORECASE)
_BULLET = re.compile(r"^\s{0,3}(?:[-*+]|\d{1,2}[.)])\s+")
_BAR = re.compile(r"\s\|\s")
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_YES = frozenset(("yes", "true", "both", "1", "keep"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One thing to remember, cleaned and complete; `number` counts from 1 within its proposal.

    `confidence` is "" where the candidate does not say. `update` and `supersedes` name the memory that this one
    rewrites or takes the place of; `keep_both` answers a possible duplicate. `is_typed` is False where the type was
    read off the text.
    """

    number: int
    type: str
    title: Clean
    text: Clean
    id: str = ""
    origin: str = ""
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    parent: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    evidence_refs: tuple[str, ...] = ()
    update: str = ""
    supersedes: str = ""
    keep_both: bool = False
    confidence: str = ""
    always: bool = False
    level: str = ""
    valid_from: str = ""
    valid_until: str = ""
    variants: dict[str, str] = field(default_factory=dict)
    source: str = ""
    derived_from: tuple[str, ...] = ()
    is_typed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Candidates in order, and notes on what was dropped or repeated."""

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]


def parse_candidates(text: str, *, type: str | None = None, most: int = MAX_CANDIDATES) -> Parsed:
    """Candidates out of `TYPE: … | TEXT: …` lines, blocks of `FIELD: value`, or plain text (then it is one).

    `type` overrides what a candidate does not say itself. Exact repetitions are dropped. Raises `InvalidInput` that
    names the candidate for a field that cannot be read, and for more than `most` candidates.
    """
    notes: list[str] = []
    found: list[Candidate] = []
    if len(text) > most * MAX_TEXT_BYTES:
        raise InvalidInput(f"text: is longer than {most * MAX_TEXT_BYTES // 1024} KB", hint="split it")
    for raw in _split(_unbroken(text)):
        if not clean(raw.get("text", "")).strip():
            continue
        made = _candidate(raw, number=len(found) + 1, type=type)
        same = next((other for other in found if replace(made, number=other.number) == other), None)
        if same is not None:
            notes.append(f"a repetition of candidate {same.number} was dropped")
            continue
        notes += [f"candidate {made.number}: {note}" for note in raw.get("_notes", "").split("\n") if note]
        found.append(made)
    if not found:
        raise InvalidInput("text: there is nothing to save in it", hint="TYPE: rule | TEXT: what to remember")
    if len(found) > most:
        raise InvalidInput(f"text: holds {len(found)} candidates, at most {most} fit one proposal", hint="split it")
    return Parsed(candidates=tuple(found), notes=tuple(notes))


def one_candidate(text: str, *, type: str | None = None, title: str | None = None) -> Candidate:
    """The whole of `text` as one candidate, unless it is itself written in the grammar.

    Raises `InvalidInput` when it holds several.
    """
    parsed = parse_candidates(text, type=type).candidates
    if len(parsed) > 1:
        raise InvalidInput("text: holds several candidates", hint="`engram_save_session` takes up to 8")
    made = parsed[0]
    return replace(made, title=clean(_one_line(title))) if title else made


def plain_candidate(
    text: str, *, number: int = 1, type: str | None = None, title: str = "", triggers: Sequence[str] = ()
) -> Candidate:
    """`text` as one candidate, word for word: nothing in it is read as a field."""
    raw = {"text": text, "title": title, "triggers": "\n".join(triggers)}
    return _candidate({name: value for name, value in raw.items() if value}, number=number, type=type)


def classify(text: str) -> str:
    """rule, skill or knowledge: a procedure is a skill, modal wording a rule, all else knowledge."""
    lines = [line for line in text.split("\n") if line.strip()]
    steps = sum(bool(re.match(r"\s*(?:\d{1,2}[.)]|step \d+)\s", line, re.IGNORECASE)) for line in lines)
    signs = 2 if steps >= 2 else 0
    signs += bool(re.search(r"\b(?:workflow|procedure|how to|runbook|step by step|checklist)\b", text, re.IGNORECASE))
    order = r"\bfirst\b.{1,200}\bthen\b|\bthen\b.{1,200}\bfinally\b|\bafter that\b|\bnext,"
    signs += bool(re.search(order, text, re.IGNORECASE | re.DOTALL))
    if signs >= 2:
        return "skill"
    return "rule" if _MODAL.search(text) else "knowledge"


_MODAL = re.compile(
    r"\b(?:always|never|must(?:n't)?|should(?:n't)?|shall|avoid|prefer|do not|don't|from now on|required to|"
    r"is forbidden|not allowed|only ever|make sure|ensure that|no longer use|siempre|nunca|jamais|"
    r"toujours|immer|niemals)\b"
    r"|^(?:[-*]\s+)?(?:use|run|keep|write|put|name|call|add|check|ask|treat|wrap|return|log|test)\s+\S"
    r"|(?:しないこと|してください|すること|必ず|禁止|必须|不要|应该|всегда|никогда|нельзя|luôn|không được|"
    r"دائما|لا تستخدم)",
    re.IGNORECASE,
)


# -- taking text apart -------------------------------------------------------------------------------------------------


def _unbroken(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class _Raw:
    """The fields of one candidate as they stand, each as lines; `is_loose` when its names are in lower case, `is_plain`
    when it began with a line of text."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    open_field: str = "text"
    is_plain: bool = False
    is_loose: bool = False


def _split(text: str) -> list[dict[str, str]]:
    """Raw fields of each candidate. `_notes` collects repeated fields."""
    found: list[_Raw] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark:
            fence = "" if fence and mark.group(1).startswith(fence) else fence or mark.group(1)
        current = found[-1] if found else None
        read = _line(line, current) if not fence and not mark else None
        if read is None:
            if current is None:
                found.append(_Raw(fields={"text": [line]}, is_plain=True))
            else:
                current.fields.setdefault(current.open_field, []).append(line)
            continue
        names = [name for name, _ in read.pairs]
        begins = names[0] == "type" or (current is not None and "text" in names and "text" in current.fields)
        # `TEXT:` after the plain first line of a block is another candidate; other fields belong to the one above.
        if current is None or begins:
            current = _Raw(is_loose=read.is_loose)
            found.append(current)
        for name, value in read.pairs:
            if name in current.fields and not (name == "text" and not "".join(current.fields[name]).strip()):
                current.notes.append(f"{name.upper()} is given twice, the last one counts")
            current.fields[name] = [value]
        current.open_field = names[-1]
    return [
        {name: _trimmed("\n".join(lines)) for name, lines in raw.fields.items()} | {"_notes": "\n".join(raw.notes)}
        for raw in found
    ]


def _trimmed(value: str) -> str:
    """Without blank lines around it and white space at its ends; the inside is left as it is."""
    lines = value.rstrip().split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    return "\n".join(lines).strip(" \t") if len(lines) == 1 else "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Read:
    """The fields that a line gives; `is_loose` when their names are not in capitals."""

    pairs: tuple[tuple[str, str], ...]
    is_loose: bool


def _line(line: str, current: _Raw | None) -> _Read | None:
    """The fields that a line gives, or None for a line of text.

    Prose is full of `Summary: …` and `Dependencies: …`; so names in lower case count only at the very beginning, and
    inside of what began that way.
    """
    is_prose = current is not None and not current.is_loose
    bare = _BULLET.sub("", line)
    first = _named(bare)
    if first is None:
        typed = _TYPED.fullmatch(line.strip())
        if typed is None or (current is not None and current.is_plain):
            return None
        parts = _parts(typed.group("rest"))
        pairs = (("type", typed.group("type")), ("text", parts[0]), *_fields(parts[1:]))
        return _Read(pairs, is_loose=current.is_loose if current is not None else False)
    name, value = first
    match = _FIELD.match(bare)
    assert match is not None  # that is what named it
    is_loose = match.group("name").upper() != match.group("name")
    # In a block only names that stand at the beginning of the line count, but a bullet may begin a candidate.
    if bare != line and name != "type":
        return None
    parts = _parts(value)
    if is_loose:
        has_bars = len(parts) > 1
        begins = name == "type" and parts[0].strip().lower() in TYPE_WORDS
        is_plain = current is not None and current.is_plain
        if is_prose and (is_plain or not ((begins and has_bars) or _spelled(match.group("name")) in _OWN_NAMES)):
            return None
        if current is None and not (begins or (name == "text" and _spelled(match.group("name")) == "text")):
            return None
    return _Read(((name, parts[0]), *_fields(parts[1:])), is_loose=is_loose)


# Names in lower case that count inside of what began with capitals; their synonyms are words of prose.
_OWN_NAMES = ("text", "triggers", "depends on", "update", "supersedes")


def _spelled(name: str) -> str:
    return " ".join(re.split(r"[\s_-]+", name.strip().lower()))


def _named(text: str) -> tuple[str, str] | None:
    match = _FIELD.match(text)
    if match is None:
        return None
    name = _NAMES.get(_spelled(match.group("name")))
    return None if name is None else (name, text[match.end() :])


def _parts(value: str) -> list[str]:
    """`value | FIELD: other` at each bar that a field follows; other bars belong to the text."""
    parts: list[str] = []
    at = start = 0
    for bar in _BAR.finditer(value):
        if bar.start() >= at and _named(value[bar.end() :]) is not None:
            parts.append(value[start : bar.start()])
            start = bar.end()
        at = bar.start() + 1
    parts.append(value[start:])
    return parts


def _fields(parts: Sequence[str]) -> list[tuple[str, str]]:
    named = [_named(part) for part in parts]
    return [pair for pair in named if pair is not None]  # `_parts` cuts at names only


# -- making candidates -------------------------------------------------------------------------------------------------


def _candidate(raw: dict[str, str], *, number: int, type: str | None) -> Candidate:
    def fail(name: str, problem: str, hint: str = "") -> InvalidInput:
        return InvalidInput(f"candidate {number}: {name}: {problem}", hint=hint)

    text = clean(raw["text"])
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise fail("TEXT", f"is longer than {MAX_TEXT_BYTES // 1024} KB", "split it, or keep the long part in a file")
    word = raw.get("type", "").strip().lower() or (type or "").strip().lower()
    if word and word not in TYPE_WORDS:
        raise fail("TYPE", "is not one", f"one of: {', '.join(TYPES)} (`workflow` means skill)")
    kind = TYPE_WORDS[word] if word else classify(text)
    confidence = raw.get("confidence", "").strip().lower()
    if confidence and confidence not in CONFIDENCES:
        raise fail("CONFIDENCE", "is not one", f"one of: {', '.join(CONFIDENCES)}")
    lists = {name: _list(raw.get(name, "")) for name in _LISTS}
    for name in ("depends_on", "parent"):
        for id in lists[name]:
            if not is_readable_id(id.removeprefix("workspace:").removeprefix("global:").removesuffix(".md")):
                raise fail(name.upper(), "holds something that is no id")
    wanted = raw.get("id", "").strip()
    for name in ("update", "supersedes"):
        if (target := raw.get(name, "").strip()) and not is_readable_id(target):
            raise fail(name.upper(), "is no id")
    dates = {name: raw.get(name, "").strip() for name in ("valid_from", "valid_until")}
    for name, said in dates.items():
        if said and not _is_day(said):
            raise fail(name.upper(), "is no date", "like 2026-03-31")
    return Candidate(
        number=number,
        type=kind,
        title=clean(_one_line(raw.get("title", "")) or title_for(text)),
        text=text,
        id=check_id(wanted) if wanted else "",
        origin=clean(raw.get("origin", "")),
        tags=lists["tags"],
        triggers=lists["triggers"],
        depends_on=lists["depends_on"],
        parent=lists["parent"],
        role=lists["role"],
        evidence_refs=lists["evidence"],
        update=raw.get("update", "").strip(),
        supersedes=raw.get("supersedes", "").strip(),
        keep_both=raw.get("keep", "").strip().lower() in _YES,
        confidence=confidence,
        always=raw.get("always", "").strip().lower() in _YES,
        level=clean(raw.get("level", "")).strip()[:20],
        variants={name: clean(raw[name]) for name in VARIANTS if raw.get(name, "").strip()},
        valid_from=dates["valid_from"],
        valid_until=dates["valid_until"],
        is_typed=bool(word),
    )


def _is_day(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


def _one_line(text: str) -> str:
    return cut(" ".join(text.split()), MAX_TITLE)


def _list(value: str) -> tuple[str, ...]:
    value = value.strip().removeprefix("[").removesuffix("]")
    parts = (part.strip().strip("\"'`").strip() for part in re.split(r"[,;\n、，]", value))
    return tuple(dict.fromkeys(clean(part)[:120] for part in parts if part and part.lower() != "none"))
