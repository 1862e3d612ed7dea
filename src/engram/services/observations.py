"""Save, revise, read and delete observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engram.core import times
from engram.core.capture import learnings
from engram.core.clean import Clean, clean, redact
from engram.core.observation import (
    DEDUPE_WINDOW_MINUTES,
    Create,
    Draft,
    Observation,
    Outcome,
    Revise,
    Touch,
    Version,
    check_content,
    check_scope,
    check_title,
    check_type,
    decide_save,
)
from engram.core.ports import Store, Writer
from engram.core.text import content_hash, preview
from engram.core.topic_key import normalise_topic_key, suggest_topic_key
from engram.errors import Conflict, InvalidInput, NotFound
from engram.services.projects import Projects, Resolved
from engram.services.sessions import Sessions, checked_id, redaction_notice

MAX_NEIGHBOURS = 50
SUMMARY = "session_summary"
LEARNING = "passive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a save did, with everything needed to find the row again."""

    id: int
    sync_id: str
    outcome: Outcome
    type: str
    title: str
    scope: str
    topic_key: str | None
    revision_count: int
    duplicate_count: int
    session_id: str
    project: str
    project_source: str
    suggested_topic_key: str | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """`outcome`: soft-deleted, already deleted, permanently deleted."""

    id: int
    sync_id: str
    title: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Learnings found in a text: how many, which were new, which were known."""

    extracted: int
    saved: tuple[int, ...]
    duplicates: int
    session_id: str | None
    project: str
    project_source: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """One observation, whole, with its project's name and its earlier versions."""

    observation: Observation
    project: str
    versions: Sequence[Version]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What was saved around one observation in its session, oldest first. `total`: rows of the session."""

    focus: Observation
    before: Sequence[Observation]
    after: Sequence[Observation]
    total: int
    session_id: str
    project: str
    session_started_at: str
    session_ended_at: str | None


class Observations:
    def __init__(
        self,
        store: Store,
        projects: Projects,
        sessions: Sessions,
        *,
        now: Callable[[], str],
        new_id: Callable[[], str],
        max_content_bytes: int,
    ) -> None:
        self._store = store
        self._projects = projects
        self._sessions = sessions
        self._now = now
        self._new_id = new_id
        self._max_content_bytes = max_content_bytes

    def save(
        self,
        *,
        title: str,
        content: str,
        type: str | None = None,
        project: str | None = None,
        scope: str | None = None,
        topic_key: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
    ) -> Saved:
        """Save one observation: create it, revise its topic, or count it as seen again."""
        told_title, told = redact(" ".join(title.split())), redact(content.strip())
        kind = clean(" ".join((type or "manual").split()))
        check_title(told_title.text)
        check_content(told.text, max_bytes=self._max_content_bytes)
        check_type(kind)
        chosen_scope = check_scope(scope) if scope is not None else "project"
        key, key_notices = _topic(topic_key)
        chosen_session = checked_id(session_id) if session_id is not None else None
        wanted = self._projects.for_writing(project)
        with self._store.write() as tx:
            resolved = self._projects.ensure(tx, wanted)
            draft = Draft(
                title=told_title.text,
                content=told.text,
                type=kind,
                project=resolved.key,
                scope=chosen_scope,
                topic_key=key,
                source=clean(source) if source else None,
                content_hash=content_hash(told.text),
            )
            session, notices = self._sessions.attach(tx, chosen_session, resolved)
            id, outcome = self._perform(tx, draft, session)
            row = tx.observation(id)
        assert row is not None
        suggestion = None
        if outcome is Outcome.CREATED and row.topic_key is None and kind not in ("manual", SUMMARY, LEARNING):
            suggestion = suggest_topic_key(kind=kind, title=row.title, content=row.content)
        return _saved(
            row,
            outcome,
            resolved,
            notices=(*redaction_notice(told_title, told), *key_notices, *notices, *resolved.notices),
            suggestion=suggestion,
        )

    def _perform(self, tx: Writer, draft: Draft, session_id: str) -> tuple[int, Outcome]:
        at = self._now()
        topic = tx.live_topic(draft.project, draft.scope, draft.topic_key) if draft.topic_key else None
        since = times.earlier(at, minutes=DEDUPE_WINDOW_MINUTES)
        twin = tx.recent_twin(draft, since=since) if topic is None else None
        match decide_save(draft, topic=topic, twin=twin):
            case Create():
                id = tx.add_observation(draft, session_id=session_id, sync_id=self._new_id(), at=at)
                return id, Outcome.CREATED
            case Revise(id):
                assert topic is not None
                tx.keep_version(topic, at=at)
                tx.revise(id, draft, session_id=session_id, at=at)
                return id, Outcome.UPDATED
            case Touch(id, outcome, adopt):
                tx.touch(id, at=at, adopt=adopt)
                return id, outcome

    def save_summary(self, content: str, *, project: str, session_id: str | None = None) -> Saved:
        """Keep a session's summary as an observation titled after the project."""
        name = self._projects.for_writing(project).name
        return self.save(
            title=f"Session summary: {name}",
            content=content,
            type=SUMMARY,
            project=project,
            session_id=session_id,
        )

    def update(
        self,
        id: int,
        *,
        title: str | None = None,
        content: str | None = None,
        type: str | None = None,
        project: str | None = None,
        scope: str | None = None,
        topic_key: str | None = None,
    ) -> Saved:
        """Correct fields of one observation; the old text stays as a version.

        Raises `InvalidInput` when no field is given, `NotFound`, and `Conflict` when another live observation
        holds the topic key.
        """
        if all(field is None for field in (title, content, type, project, scope, topic_key)):
            raise InvalidInput(
                "nothing to update",
                hint="give at least one of title, content, type, project, scope, topic_key",
            )
        told_title = redact(" ".join(title.split())) if title is not None else None
        told = redact(content.strip()) if content is not None else None
        if told_title is not None:
            check_title(told_title.text)
        if told is not None:
            check_content(told.text, max_bytes=self._max_content_bytes)
        kind = clean(" ".join(type.split())) if type is not None else None
        if kind is not None:
            check_type(kind)
        chosen_scope = check_scope(scope) if scope is not None else None
        key, key_notices = _topic(topic_key)
        wanted = self._projects.for_writing(project) if project is not None else None
        with self._store.write() as tx:
            old = tx.observation(id)
            if old is None:
                raise _not_found(id)
            moved = self._projects.ensure(tx, wanted) if wanted is not None else None
            text = told.text if told else clean(old.content)
            draft = Draft(
                title=told_title.text if told_title else clean(old.title),
                content=text,
                type=kind or clean(old.type),
                project=moved.key if moved else old.project,
                scope=chosen_scope or check_scope(old.scope),
                topic_key=key or old.topic_key,
                source=None,
                content_hash=content_hash(text),
            )
            outcome = self._edit(tx, old, draft)
            row = tx.observation(id)
            owner = tx.project(draft.project)
        assert row is not None
        resolved = moved or Resolved(
            key=draft.project, name=owner.name if owner else draft.project, source="observation"
        )
        given = [one for one in (told_title, told) if one is not None]
        return _saved(row, outcome, resolved, notices=(*redaction_notice(*given), *key_notices, *resolved.notices))

    def _edit(self, tx: Writer, old: Observation, draft: Draft) -> Outcome:
        new = (draft.title, draft.content, draft.type, draft.project, draft.scope, draft.topic_key)
        if new == (old.title, old.content, old.type, old.project, old.scope, old.topic_key):
            return Outcome.UNCHANGED
        if draft.topic_key is not None:
            holder = tx.live_topic(draft.project, draft.scope, draft.topic_key)
            if holder is not None and holder.id != old.id:
                raise Conflict(
                    f"topic_key: `{draft.topic_key}` belongs to observation #{holder.id} already",
                    hint=f"update #{holder.id}, or choose another key",
                )
        at = self._now()
        revised = (draft.title, draft.content, draft.type) != (old.title, old.content, old.type)
        if revised:
            tx.keep_version(old, at=at)
        tx.edit(old.id, draft, revised=revised, at=at)
        return Outcome.UPDATED

    def get(self, id: int, *, deleted: bool = False) -> Detail:
        with self._store.read() as tx:
            row = tx.observation(id, deleted=deleted)
            if row is None:
                raise _not_found(id)
            owner = tx.project(row.project)
            versions = tx.versions(id)
        return Detail(observation=row, project=owner.name if owner else row.project, versions=versions)

    def delete(self, id: int, *, hard: bool = False) -> Deleted:
        """Hide an observation, or with `hard` remove row, versions and index entries for good."""
        with self._store.write() as tx:
            row = tx.observation(id, deleted=True)
            if row is None:
                raise _not_found(id)
            if hard:
                tx.hard_delete(id, at=self._now())
                outcome = "permanently deleted"
            elif row.deleted_at is not None:
                outcome = "already deleted"
            else:
                tx.soft_delete(id, at=self._now())
                outcome = "soft-deleted"
        return Deleted(id=id, sync_id=row.sync_id, title=row.title, outcome=outcome)

    def timeline(self, id: int, *, before: int = 5, after: int = 5) -> Timeline:
        for field, count in (("before", before), ("after", after)):
            if not 0 <= count <= MAX_NEIGHBOURS:
                raise InvalidInput(f"{field}: must be from 0 to {MAX_NEIGHBOURS}")
        with self._store.read() as tx:
            focus = tx.observation(id)
            if focus is None:
                raise _not_found(id)
            earlier, later = tx.neighbours(focus, before=before, after=after)
            session = tx.session(focus.session_id)
            owner = tx.project(focus.project)
            total = tx.session_size(focus.session_id)
        return Timeline(
            focus=focus,
            before=earlier,
            after=later,
            total=total,
            session_id=focus.session_id,
            project=owner.name if owner else focus.project,
            session_started_at=session.started_at if session else focus.created_at,
            session_ended_at=session.ended_at if session else None,
        )

    def capture(
        self,
        content: str,
        *,
        project: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
    ) -> Captured:
        """Save each learning that a text lists. One transaction: all or nothing.

        An item whose content the project already has, of any age, is counted and skipped.
        """
        if not content.strip():
            raise InvalidInput("content: must not be blank")
        # Redacted before it is split: a private block may reach across several items.
        told = redact(content)
        check_content(told.text, max_bytes=self._max_content_bytes)
        items = learnings(told.text)
        chosen = checked_id(session_id) if session_id is not None else None
        wanted = self._projects.for_writing(project)
        if not items:
            return Captured(
                extracted=0,
                saved=(),
                duplicates=0,
                session_id=None,
                project=wanted.name,
                project_source=wanted.source,
                notices=redaction_notice(told),
            )
        origin = clean(source) if source else clean("mcp-passive")
        with self._store.write() as tx:
            resolved = self._projects.ensure(tx, wanted)
            session, notices = self._sessions.attach(tx, chosen, resolved)
            saved: list[int] = []
            for item in items:
                draft = _learning(clean(item), resolved, origin)
                if tx.same_content(resolved.key, draft.content_hash) is None:
                    at = self._now()
                    id = tx.add_observation(draft, session_id=session, sync_id=self._new_id(), at=at)
                    saved.append(id)
        return Captured(
            extracted=len(items),
            saved=tuple(saved),
            duplicates=len(items) - len(saved),
            session_id=session,
            project=resolved.name,
            project_source=resolved.source,
            notices=(*redaction_notice(told), *notices, *resolved.notices),
        )

    def suggest_topic_key(self, *, type: str | None, title: str | None, content: str | None) -> str:
        told_title, told = clean(title or "").strip(), clean(content or "").strip()
        if not told_title and not told:
            raise InvalidInput("title: must not be blank", hint="give a title, or content to take one from")
        return suggest_topic_key(kind=clean(type or ""), title=told_title, content=told)


def _learning(item: Clean, project: Resolved, source: Clean) -> Draft:
    title, _ = preview(item, 80)
    return Draft(
        title=clean(title),
        content=item,
        type=clean(LEARNING),
        project=project.key,
        scope="project",
        topic_key=None,
        source=source,
        content_hash=content_hash(item),
    )


def _topic(given: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The key to file under, and a notice when what was given cannot be one."""
    if given is None or not given.strip():
        return None, ()
    key = normalise_topic_key(clean(given))
    return key, () if key else ("topic_key held private text or nothing that can be kept, and was left out",)


def _not_found(id: int) -> NotFound:
    return NotFound(f"Observation #{id} not found", hint="search lists the ids that exist")


def _saved(
    row: Observation,
    outcome: Outcome,
    project: Resolved,
    *,
    notices: tuple[str, ...] = (),
    suggestion: str | None = None,
) -> Saved:
    return Saved(
        id=row.id,
        sync_id=row.sync_id,
        outcome=outcome,
        type=row.type,
        title=row.title,
        scope=row.scope,
        topic_key=row.topic_key,
        revision_count=row.revision_count,
        duplicate_count=row.duplicate_count,
        session_id=row.session_id,
        project=project.name,
        project_source=project.source,
        suggested_topic_key=suggestion,
        notices=notices,
    )
