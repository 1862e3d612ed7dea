"""Memories: what a person approved, the rules of their fields, and the hash that notices an edit."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engram.core.text import cut, preview
from engram.errors import InvalidInput

SCHEMA_VERSION = 3
TYPES = ("rule", "skill", "knowledge")
SCOPES = ("workspace", "global")
FOLDERS = {"rule": "rules", "skill": "skills", "knowledge": "knowledge"}
# `workflow` is another word for skill in the files and candidates of other tools.
TYPE_WORDS = {
    "rule": "rule",
    "rules": "rule",
    "skill": "skill",
    "skills": "skill",
    "workflow": "skill",
    "workflows": "skill",
    "knowledge": "knowledge",
}
CONFIDENCES = ("high", "medium", "low")
LIFECYCLES = ("active", "review_due", "superseded", "archived")
VARIANTS = ("light", "balanced", "strict")

MAX_ID = 80
MAX_TITLE = 120
MAX_SUMMARY = 120
MAX_TEXT_BYTES = 256 * 1024

Authority = Literal["instruction", "reference"]

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
# Ids of other tools may be any word without what a path or a link gives a meaning to.
_FOREIGN_ID = re.compile(r"[^\s/\\:%?#\x00-\x1f\x7f]{1,120}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory as its file says it.

    Dates are text as written (`2026-03-01`), "" where there is none. `text` is what was approved, `variants` the
    wordings of a rule by name. `content_hash` is what the file claims; `actual_hash` what its content gives.
    """

    id: str
    type: str
    title: str
    text: str
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    evidence_refs: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    variants: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""
    origin: str = ""
    confidence: str = "medium"
    authority: str = "reference"
    lifecycle: str = "active"
    always: bool = False
    schema_version: int = SCHEMA_VERSION
    revision: int = 1
    created: str = ""
    updated: str = ""
    valid_from: str = ""
    valid_until: str = ""
    last_confirmed: str = ""
    source: str = ""
    author: str = ""
    tier: str = ""
    objective: str = ""
    content_hash: str = ""
    actual_hash: str = ""

    @property
    def is_edited(self) -> bool:
        """Whether the content is not what the file's own hash was made of."""
        return bool(self.content_hash) and self.content_hash != self.actual_hash


def check_id(text: str) -> str:
    """An id as we make them. Raises `InvalidInput`."""
    if not _ID.fullmatch(text) or text.endswith((".", "-")):
        raise InvalidInput(
            "id: is not one", hint=f"lower-case letters, digits, `.`, `_`, `-`; at most {MAX_ID} characters"
        )
    return text


def is_readable_id(text: str) -> bool:
    """Whether an id in somebody's file can name a memory here."""
    return bool(_FOREIGN_ID.fullmatch(text)) and not text.startswith(".")


def slug(text: str) -> str:
    """`Always use pnpm!` → `always-use-pnpm`; "" for a text without Latin letters or digits.

    Accents are dropped; the cut is at a word's end. A text that is mostly in another script has no slug: what is
    left of it would name something else.
    """
    spelled = unicodedata.normalize("NFKD", text.replace("Đ", "D").replace("đ", "d"))
    letters = [char for char in spelled if char.isalnum()]
    latin = sum(char.isascii() for char in letters)
    if not letters or latin < len(letters) * 0.6:
        return ""
    bare = "".join(char for char in spelled if not unicodedata.combining(char)).lower()
    words = re.findall(r"[a-z0-9]+", bare)
    kept = ""
    for word in words:
        longer = f"{kept}-{word}" if kept else word
        if len(longer) > 40:
            break
        kept = longer
    return kept or (words[0][:40] if words else "")


def name_for(type: str, title: str, text: str) -> str:
    """The id of a new memory: the slug of its title, else its type and eight digits of the hash of its text."""
    return slug(title) or f"{type}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


_MARKS = re.compile(r"^(?:[-*+]\s+|\d{1,3}[.)]\s+|>\s*|#{1,6}\s+)+")
_EMPHASIS = re.compile(r"\*\*|__|`")
_SENTENCE_END = re.compile(r"(?<=[^\s.][.!?])\s|(?<=[。！？])|[.!?。！？]$")


def title_for(text: str) -> str:
    """A title for `text`: its first sentence on one line, without Markdown signs, at most 80 characters."""
    for line in text.split("\n"):
        bare = _EMPHASIS.sub("", _MARKS.sub("", line.strip())).strip()
        if not re.search(r"\w", bare) or bare.startswith(("```", "~~~", "|--")):
            continue
        sentence = _SENTENCE_END.split(bare, maxsplit=1)[0].strip(" \t|:;,")
        return preview(sentence or bare, 80)[0]
    return preview(text, 80)[0]


def summary(memory: Memory) -> str:
    """One sentence of at most 120 characters that says what the memory holds."""
    words = _EMPHASIS.sub("", _MARKS.sub("", " ".join(memory.text.split())))
    return preview(words, MAX_SUMMARY)[0] or cut(memory.title, MAX_SUMMARY)


def default_authority(type: str) -> Authority:
    return "reference" if type == "knowledge" else "instruction"


# What an approval is about. Dates of bookkeeping, tags and provenance may change without a person having to look.
_MEANING = (
    "type",
    "triggers",
    "role",
    "depends_on",
    "supersedes",
    "superseded_by",
    "confidence",
    "authority",
    "lifecycle",
    "always",
    "valid_from",
    "valid_until",
    "tier",
    "objective",
)


def hash_of(meaning: Mapping[str, Any], body: str) -> str:
    """`sha256:` and the hex digest of a memory's meaning-bearing fields and the body of its file.

    `meaning` maps field names to text, lists of text or booleans; absent and empty are the same. The body is
    compared without its line ends and trailing blank lines, which Git and editors change by themselves.
    """
    fields = {name: value for name in _MEANING if (value := _plain(meaning.get(name)))}
    said = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    text = body.replace("\r\n", "\n").strip("\n")
    return "sha256:" + hashlib.sha256(f"{said}\n{text}".encode("utf-8", "replace")).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [str(part) for part in value]
    return value if isinstance(value, bool) else str(value or "")


def is_hidden_by_role(memory_roles: Sequence[str], wanted: Sequence[str]) -> bool:
    """A memory for certain roles is hidden from a person who has set others."""
    return bool(memory_roles) and bool(wanted) and not {r.lower() for r in memory_roles} & {r.lower() for r in wanted}
