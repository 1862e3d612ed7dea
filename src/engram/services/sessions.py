"""Sessions: started, found for a save, ended, summed up; and the prompts asked in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engram.core import times
from engram.core.clean import Clean, Redacted, clean, redact
from engram.core.observation import check_content
from engram.core.ports import Store, Writer
from engram.core.session import MAX_SESSION_ID, Prompt, Session, SessionCard, manual_session_id
from engram.errors import InvalidInput, NotFound
from engram.services.projects import Projects, Resolved

# Two hooks of one prompt run within moments of each other; a person who asks the same again takes longer.
SAME_PROMPT_SECONDS = 10.0
SAME_PROMPT_LOOK = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What a start or an end did. `outcome`: started, resumed, ended, already ended."""

    id: str
    outcome: str
    project: str
    project_source: str
    started_at: str
    ended_at: str | None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPrompt:
    id: int
    sync_id: str
    content: str
    session_id: str
    project: str
    project_source: str
    notices: tuple[str, ...] = ()


def redaction_notice(*found: Redacted) -> tuple[str, ...]:
    """One warning that names the kinds of secret that were replaced, never their value."""
    kinds = list(dict.fromkeys(kind for one in found for kind in one.kinds))
    return (f"replaced before saving: {', '.join(kinds)}",) if kinds else ()


class Sessions:
    def __init__(
        self,
        store: Store,
        projects: Projects,
        *,
        process: str,
        directory: str,
        now: Callable[[], str],
        new_id: Callable[[], str],
        max_content_bytes: int,
    ) -> None:
        self._store = store
        self._projects = projects
        self._process = process
        # A folder may be named in bytes that are no text; what is compared with the store is.
        self._directory = clean(directory)
        self._now = now
        self._new_id = new_id
        self._max_content_bytes = max_content_bytes

    def start(self, id: str, *, project: str | None, directory: str | None = None) -> SessionState:
        """Register a session. A known id keeps what it has and fills what is blank."""
        session_id = checked_id(id)
        wanted = self._projects.for_writing(project)
        place = clean(directory.strip()) if directory else clean("")
        with self._store.write() as tx:
            known = tx.session(session_id)
            if known is not None:
                tx.resume_session(session_id, directory=place, started_by=self._process)
                owner = tx.project(known.project)
                asked = self._projects.for_reading(tx, wanted.name)
                notices = (
                    (f"session `{session_id}` belongs to project `{owner.name if owner else known.project}`; kept",)
                    if asked != known.project
                    else ()
                )
                return SessionState(
                    id=session_id,
                    outcome="resumed",
                    project=owner.name if owner else known.project,
                    project_source="session",
                    started_at=known.started_at,
                    ended_at=known.ended_at,
                    notices=notices,
                )
            resolved = self._projects.ensure(tx, wanted)
            at = self._now()
            # Without a directory of its own the session is found by this process, not by whoever shares its folder.
            self._add(tx, session_id, resolved.key, directory=place, at=at)
        return SessionState(
            id=session_id,
            outcome="started",
            project=resolved.name,
            project_source=resolved.source,
            started_at=at,
            ended_at=None,
            notices=resolved.notices,
        )

    def end(self, id: str, *, summary: str | None = None) -> SessionState:
        """Mark a session ended. A second end keeps the first time and never erases a summary."""
        session_id = checked_id(id)
        told = redact(summary.strip()) if summary and summary.strip() else None
        if told is not None:
            check_content(told.text, max_bytes=self._max_content_bytes, field="summary")
        with self._store.write() as tx:
            known = tx.session(session_id)
            if known is None:
                raise NotFound(f"session `{session_id}` is not known", hint="`engram sessions` lists them")
            at = self._now()
            tx.end_session(session_id, at=at, summary=told.text if told else None)
            owner = tx.project(known.project)
        return SessionState(
            id=session_id,
            outcome="already ended" if known.ended_at else "ended",
            project=owner.name if owner else known.project,
            project_source="session",
            started_at=known.started_at,
            ended_at=known.ended_at or at,
            notices=redaction_notice(told) if told else (),
        )

    def attach(self, tx: Writer, session_id: str | None, project: Resolved) -> tuple[str, tuple[str, ...]]:
        """The session that a save belongs to, made when needed; a save never fails for want of one."""
        if session_id is not None:
            if tx.session(session_id) is not None:
                return session_id, ()
            self._add(tx, session_id, project.key, directory=clean(""), at=self._now())
            return session_id, (f"session `{session_id}` was not known and has been started",)
        running = tx.open_session(project.key, started_by=self._process, directory=self._directory)
        if running is not None:
            return running.id, ()
        manual = manual_session_id(project.name)
        if tx.session(manual) is None:
            self._add(tx, manual, project.key, directory=clean(""), at=self._now(), started_by="")
        return manual, ()

    def _add(
        self, tx: Writer, id: str, project: str, *, directory: Clean, at: str, started_by: str | None = None
    ) -> None:
        tx.add_session(
            Session(
                id=id,
                project=project,
                directory=directory,
                started_at=at,
                ended_at=None,
                summary=None,
                started_by=self._process if started_by is None else started_by,
            )
        )

    def save_prompt(
        self, content: str, *, session_id: str | None, project: str | None, once: bool = False
    ) -> SavedPrompt:
        """Keep what the user asked. `once` is for whoever may be told the same twice, as a hook that is registered in
        two places: what the session was asked less than `SAME_PROMPT_SECONDS` ago is not kept again."""
        told = redact(content.strip())
        check_content(told.text, max_bytes=self._max_content_bytes)
        chosen = checked_id(session_id) if session_id is not None else None
        wanted = self._projects.for_writing(project)
        sync_id = self._new_id()
        with self._store.write() as tx:
            resolved = self._projects.ensure(tx, wanted)
            session, notices = self.attach(tx, chosen, resolved)
            twin = self._just_asked(tx, resolved.key, session, told.text) if once else None
            if twin is not None:
                sync_id = twin.sync_id
            id = (
                twin.id
                if twin is not None
                else tx.add_prompt(
                    sync_id=sync_id, session_id=session, project=resolved.key, content=told.text, at=self._now()
                )
            )
        return SavedPrompt(
            id=id,
            sync_id=sync_id,
            content=told.text,
            session_id=session,
            project=resolved.name,
            project_source=resolved.source,
            notices=(*redaction_notice(told), *notices, *resolved.notices),
        )

    def _just_asked(self, tx: Writer, project: str, session: str, content: str) -> Prompt | None:
        for prompt in tx.recent_prompts(project, limit=SAME_PROMPT_LOOK):
            is_twin = prompt.session_id == session and prompt.content == content
            if is_twin and times.seconds_between(prompt.created_at, self._now()) <= SAME_PROMPT_SECONDS:
                return prompt
        return None

    def recent(self, *, project: str | None, limit: int) -> list[SessionCard]:
        with self._store.read() as tx:
            return tx.recent_sessions(self._projects.for_reading(tx, project), limit=limit)


def checked_id(id: str) -> Clean:
    """A session id that may be stored: not blank, one line, at most 200 characters, without secrets."""
    session_id = clean(" ".join(clean(id).split()))
    if not session_id:
        raise InvalidInput("session_id: must not be blank")
    if len(session_id) > MAX_SESSION_ID:
        raise InvalidInput(f"session_id: {len(session_id)} characters, at most {MAX_SESSION_ID} are allowed")
    return session_id
