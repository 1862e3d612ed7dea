"""Make rows of other programs ours: check their shape, clean every text, complete what is missing."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from engram.core import times
from engram.core.clean import PRIVATE_MARK, Clean, Redacted, redact
from engram.core.observation import MAX_TITLE, MAX_TYPE, Version
from engram.core.project import MAX_NAME, display_name
from engram.core.session import MAX_SESSION_ID
from engram.core.text import content_hash, cut, preview
from engram.core.topic_key import normalise_topic_key
from engram.errors import InvalidInput
from engram.services.sources import Row

UNTITLED = "(untitled)"

_MAX_COUNT = 2**31 - 1
_CACHED = 20_000
_SYNC_ID = re.compile(r"(?:obs|prompt)-[0-9a-f]{8,64}")

# field → (kind of value, whether the row must have it)
_SHAPES: dict[str, dict[str, tuple[str, bool]]] = {
    "sessions": {
        "id": ("text", True),
        "project": ("text", False),
        "directory": ("text", False),
        "started_at": ("text", False),
        "ended_at": ("text", False),
        "summary": ("text", False),
    },
    "observations": {
        "sync_id": ("text", False),
        "session_id": ("text", True),
        "type": ("text", False),
        "title": ("text", True),
        "content": ("text", True),
        "tool_name": ("text", False),
        "project": ("text", False),
        "scope": ("text", False),
        "topic_key": ("text", False),
        "revision_count": ("count", False),
        "duplicate_count": ("count", False),
        "pinned": ("flag", False),
        "last_seen_at": ("text", False),
        "created_at": ("text", True),
        "updated_at": ("text", False),
        "deleted_at": ("text", False),
    },
    "prompts": {
        "sync_id": ("text", False),
        "session_id": ("text", True),
        "content": ("text", True),
        "project": ("text", False),
        "created_at": ("text", True),
    },
    "versions": {
        "version": ("count", True),
        "type": ("text", True),
        "title": ("text", True),
        "content": ("text", True),
        "session_id": ("text", True),
        "replaced_at": ("text", True),
    },
}
_WORDS = {"text": "text", "count": "a whole number", "flag": "true or false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedSession:
    """A session from elsewhere, cleaned. `project` is a name or blank; `started_at` None when nobody knows."""

    id: Clean
    project: str
    directory: Clean
    started_at: str | None
    ended_at: str | None
    summary: Clean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """An observation from elsewhere, cleaned. `project` is a name or blank, `session_id` may be blank.

    One that `gives_way` never takes the place of another: none of its moments could be read, or it cannot change.
    """

    label: str
    sync_id: str
    session_id: Clean
    type: str
    title: str
    content: str
    source: Clean | None
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
    gives_way: bool
    versions: tuple[Version, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedPrompt:
    label: str
    sync_id: str
    session_id: Clean
    project: str
    content: Clean
    created_at: str


def check(where: str, kind: str, number: int, row: Any) -> None:
    """Raise `InvalidInput` that names file, row and field unless `row` has the shape of its kind."""
    if not isinstance(row, dict):
        raise InvalidInput(f"{where}: {kind}[{number}]: must be an object; nothing was changed")
    for field, (wanted, must) in _SHAPES[kind].items():
        if field not in row:
            if must:
                raise InvalidInput(f"{where}: {kind}[{number}].{field}: is missing; nothing was changed")
        elif row[field] is not None and not _fits(row[field], wanted):
            raise InvalidInput(f"{where}: {kind}[{number}].{field}: must be {_WORDS[wanted]}; nothing was changed")
    if kind == "observations" and row.get("versions") is not None:
        if not isinstance(row["versions"], list):
            raise InvalidInput(f"{where}: {kind}[{number}].versions: must be an array; nothing was changed")
        for at, version in enumerate(row["versions"]):
            check(f"{where}: {kind}[{number}]", "versions", at, version)


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "text":
        return isinstance(value, str)
    if wanted == "flag":
        return isinstance(value, bool) or value in (0, 1)
    if isinstance(value, bool):
        return False
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and abs(value) <= _MAX_COUNT


class Notes:
    """What the person should know: each reason once, how often, and where first."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, list[str]] = {}

    def add(self, reason: str, label: str) -> None:
        self._counts[reason] += 1
        first = self._first.setdefault(reason, [])
        if len(first) < 3:
            first.append(label)

    def lines(self) -> list[str]:
        found = []
        for reason, count in self._counts.items():
            shown = ", ".join(self._first[reason])
            found.append(f"{reason}: {count:,} ({shown}{', …' if count > len(self._first[reason]) else ''})")
        return found


class Intake:
    """Cleans rows that `check` has let through, and counts what it had to replace."""

    def __init__(self, *, now: str, max_content_bytes: int, project: str | None) -> None:
        self._now = now
        self._max_content_bytes = max_content_bytes
        self._project = project
        self._short: dict[str, Redacted] = {}
        self._times: dict[str, str | None] = {}
        self.notes = Notes()
        self.redacted: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def _skip(self, kind: str, reason: str, label: str) -> None:
        self.skipped[kind] += 1
        self.notes.add(f"{reason}: skipped", label)

    def session(self, row: Row, label: str) -> ArrivedSession | None:
        id = self._session_id(row["id"] or "")
        if not id:
            self._skip("sessions", "session without an id", label)
            return None
        summary = self._text(row.get("summary") or "")
        started = self._time(row.get("started_at"))
        if started is None:
            self.notes.add("start of a session unknown", label)
        return ArrivedSession(
            id=id,
            project=self._project_name(row),
            directory=Clean(self._brief(row.get("directory")).strip()),
            started_at=started,
            ended_at=self._time(row.get("ended_at")),
            summary=summary if summary.strip() else None,
        )

    def observation(self, row: Row, label: str, *, fixed: bool = False) -> Arrived | None:
        """None when nothing of it can be kept; the notes say why. `fixed`: what it says never changes at its source."""
        content: str = self._text(row["content"] or "")
        title: str = self._text(" ".join((row["title"] or "").split())).strip()
        if not content.strip():
            self._skip("observations", "content is blank", label)
            return None
        if len(title) > MAX_TITLE:
            self.notes.add(f"title over {MAX_TITLE} characters: kept whole at the head of the content", label)
            content = f"{title}\n\n{content}"
            title, _ = preview(title, MAX_TITLE)
        if not title:
            self.notes.add(f"title is blank: {UNTITLED}", label)
            title = UNTITLED
        if len(content) * 4 > self._max_content_bytes and len(content.encode()) > self._max_content_bytes:
            self._skip("observations", f"content over {self._max_content_bytes:,} bytes", label)
            return None
        kind = " ".join(self._brief(row.get("type")).split()) or "manual"
        if len(kind) > MAX_TYPE:
            self.notes.add(f"type over {MAX_TYPE} characters: cut", label)
            kind = cut(kind, MAX_TYPE).rstrip()
        created, updated = self._time(row["created_at"]), self._time(row.get("updated_at"))
        deleted = self._time(row.get("deleted_at"))
        changed = updated or created or deleted
        if created is None:
            self.notes.add("time of creation unknown: now", label)
        if row.get("deleted_at") and deleted is None:
            deleted = changed or self._now
        at = created or changed or self._now
        key = self._brief(row.get("topic_key"))
        return Arrived(
            label=label,
            sync_id=self._sync_id(row, "obs", ("session_id", "created_at", "type", "title", "content")),
            session_id=self._session_id(row["session_id"] or ""),
            type=kind,
            title=title,
            content=content,
            source=Clean(self._brief(row.get("tool_name")).strip()) or None,
            project=self._project_name(row),
            scope=self._scope(row.get("scope"), label),
            topic_key=normalise_topic_key(key) if key else None,
            content_hash=content_hash(content),
            revision_count=max(1, int(row.get("revision_count") or 1)),
            duplicate_count=max(1, int(row.get("duplicate_count") or 1)),
            pinned=bool(row.get("pinned")),
            created_at=at,
            updated_at=changed or at,
            last_seen_at=self._time(row.get("last_seen_at")) or changed or at,
            deleted_at=deleted,
            gives_way=fixed or changed is None,
            versions=tuple(self._version(version) for version in row.get("versions") or ()),
        )

    def _version(self, row: Row) -> Version:
        return Version(
            version=max(1, int(row["version"] or 1)),
            type=self._brief(row["type"]) or "manual",
            title=self._text(row["title"] or "") or UNTITLED,
            content=self._text(row["content"] or ""),
            session_id=self._session_id(row["session_id"] or ""),
            replaced_at=self._time(row["replaced_at"]) or self._now,
        )

    def prompt(self, row: Row, label: str) -> ArrivedPrompt | None:
        content = self._text(row["content"] or "")
        if not content.strip():
            self._skip("prompts", "content is blank", label)
            return None
        if len(content.encode()) > self._max_content_bytes:
            self._skip("prompts", f"content over {self._max_content_bytes:,} bytes", label)
            return None
        created = self._time(row["created_at"])
        if created is None:
            self.notes.add("time of creation unknown: now", label)
        return ArrivedPrompt(
            label=label,
            sync_id=self._sync_id(row, "prompt", ("session_id", "created_at", "content")),
            session_id=self._session_id(row["session_id"] or ""),
            project=self._project_name(row),
            content=content,
            created_at=created or self._now,
        )

    def _text(self, raw: str) -> Clean:
        return self._counted(redact(raw), raw)

    def _brief(self, raw: str | None) -> Clean:
        """For texts that many rows share."""
        if not raw:
            return Clean("")
        known = self._short.get(raw)
        if known is None:
            if len(self._short) >= _CACHED:
                self._short.clear()
            known = self._short[raw] = redact(raw)
        return self._counted(known, raw)

    def _counted(self, told: Redacted, raw: str) -> Clean:
        if told.kinds:
            self.redacted.update(told.kinds)
        if PRIVATE_MARK in told.text and told.text.count(PRIVATE_MARK) > raw.count(PRIVATE_MARK):
            self.redacted["private"] += 1
        return told.text

    def _time(self, raw: str | None) -> str | None:
        if not raw:
            return None
        if raw not in self._times:
            if len(self._times) >= _CACHED:
                self._times.clear()
            self._times[raw] = times.normalise(raw)
        return self._times[raw]

    def _session_id(self, raw: str) -> Clean:
        id = " ".join(self._brief(raw).split())
        if len(id) > MAX_SESSION_ID:
            id = f"{id[: MAX_SESSION_ID - 20]}-{_digest(id)[:16]}"
        return Clean(id)

    def _project_name(self, row: Row) -> str:
        """The name that the row goes under, or blank when its session must say."""
        if self._project is not None:
            return self._project
        return cut(display_name(self._brief(row.get("project"))), MAX_NAME).strip()

    def _scope(self, raw: str | None, label: str) -> str:
        scope = (raw or "").strip().lower()
        if scope not in ("", "project", "personal"):
            self.notes.add("scope is neither project nor personal: project", label)
        return "personal" if scope == "personal" else "project"

    def _sync_id(self, row: Row, prefix: str, fields: tuple[str, ...]) -> str:
        """The row's own id, or one that follows from its original text: the same row never comes twice."""
        own = row.get("sync_id")
        if own:
            return str(own) if _SYNC_ID.fullmatch(own) else f"{prefix}-{_digest(own)[:32]}"
        parts = [self._time(row.get(f)) or row.get(f) or "" if f == "created_at" else row.get(f) or "" for f in fields]
        return f"{prefix}-{_digest(*parts)[:32]}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
