"""Observations, and what saving one means given what is already known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from engram.core.clean import Clean
from engram.errors import InvalidInput

MAX_CONTENT_BYTES = 1024 * 1024
MAX_TITLE = 500
MAX_TYPE = 60
DEDUPE_WINDOW_MINUTES = 15

Scope = Literal["project", "personal"]


class Outcome(StrEnum):
    """What a save did."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A row as stored. Times are RFC 3339 in UTC with milliseconds; `content_hash` is SHA-256 hex."""

    id: int
    sync_id: str
    session_id: str
    type: str
    title: str
    content: str
    source: str | None
    project: str
    scope: str
    topic_key: str | None
    content_hash: str
    revision_count: int
    duplicate_count: int
    pinned: bool
    created_at: str
    updated_at: str
    last_seen_at: str
    deleted_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What an observation said before a revision; version 1 is the first text."""

    version: int
    type: str
    title: str
    content: str
    session_id: str
    replaced_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An observation about to be saved: cleaned, validated, with its project known."""

    title: Clean
    content: Clean
    type: Clean
    project: str
    scope: Scope
    topic_key: str | None
    source: Clean | None
    content_hash: str


@dataclass(frozen=True, slots=True)
class Create:
    """Nothing known says the same: a new row."""


@dataclass(frozen=True, slots=True)
class Revise:
    """The topic is known and says something else: keep the old text as a version, then replace it."""

    id: int


@dataclass(frozen=True, slots=True)
class Touch:
    """The same again: count it. `adopt` is the topic key that the row takes on, if any."""

    id: int
    outcome: Outcome
    adopt: str | None = None


Decision = Create | Revise | Touch


def decide_save(draft: Draft, *, topic: Observation | None, twin: Observation | None) -> Decision:
    """What saving `draft` means.

    `topic`: the live row under the draft's topic key; `twin`: the newest live row with the same content hash,
    project, scope, type and title that was seen within the window.
    """
    if topic is not None:
        same = (topic.title, topic.content, topic.type) == (draft.title, draft.content, draft.type)
        return Touch(topic.id, Outcome.UNCHANGED) if same else Revise(topic.id)
    if twin is None:
        return Create()
    if draft.topic_key is None or twin.topic_key == draft.topic_key:
        return Touch(twin.id, Outcome.DUPLICATE)
    if twin.topic_key is None:
        return Touch(twin.id, Outcome.DUPLICATE, adopt=draft.topic_key)
    # The same words filed under two topics are two observations: answering "duplicate" would lose the new key.
    return Create()


def check_title(title: str) -> None:
    if not title.strip():
        raise InvalidInput("title: must not be blank", hint="give a short, searchable title")
    if len(title) > MAX_TITLE:
        raise InvalidInput(
            f"title: {len(title):,} characters, at most {MAX_TITLE} are kept",
            hint="put the rest into content",
        )


def check_content(content: str, *, max_bytes: int = MAX_CONTENT_BYTES, field: str = "content") -> None:
    if not content.strip():
        raise InvalidInput(f"{field}: must not be blank")
    size = len(content.encode())
    if size > max_bytes:
        raise InvalidInput(
            f"{field}: {size:,} bytes, at most {max_bytes:,} are kept whole",
            hint="save the essence, or raise ENGRAM_MAX_CONTENT_BYTES",
        )


def check_type(kind: str) -> None:
    if not kind.strip():
        raise InvalidInput("type: must not be blank")
    if len(kind) > MAX_TYPE:
        raise InvalidInput(f"type: {len(kind)} characters, at most {MAX_TYPE} are allowed")


def check_scope(scope: str) -> Scope:
    """`project` or `personal`, any case; anything else is refused rather than guessed."""
    wanted = scope.strip().lower()
    if wanted == "project":
        return "project"
    if wanted == "personal":
        return "personal"
    raise InvalidInput("scope: must be `project` or `personal`")
