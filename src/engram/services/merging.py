"""Merge rows from elsewhere into a store: the last writer wins, deletions hold, one row a topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from engram.core.clean import Clean
from engram.core.observation import Observation
from engram.core.ports import Reader, Revision, StoredObservation, Writer
from engram.core.project import UNSCOPED, Project, project_key
from engram.core.session import Session, manual_session_id
from engram.services.intake import Arrived, ArrivedPrompt, ArrivedSession, Notes
from engram.services.projects import Detected, Projects

NEWER = "newer here, kept"
DELETED = "deleted here, stays deleted"
TOPIC = "topic key is held by a newer observation: kept without it"
RELEASED = "topic key taken over from an older observation, which keeps its text"
UNKNOWN_SESSION = "session that the file does not describe: added"


class Merged(StrEnum):
    """What merging a row did."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Merged
    reason: str = ""


def decide(row: Arrived, *, known: Revision | None, buried_at: str | None) -> Verdict:
    """What an arriving row means, given the state that is here (`known`) and when it was deleted for good."""
    if known is None:
        if buried_at is not None and (row.gives_way or _changed_at(row) <= buried_at):
            return Verdict(Merged.SKIPPED, DELETED)
        return Verdict(Merged.CREATED)
    mine, theirs = _stamp(known), _stamp(row)
    if theirs == mine or row.gives_way:
        return Verdict(Merged.UNCHANGED)
    return Verdict(Merged.UPDATED) if theirs > mine else Verdict(Merged.SKIPPED, NEWER)


def _changed_at(row: Arrived | Revision) -> str:
    return max(row.updated_at, row.deleted_at or "")


def _stamp(row: Arrived | Revision) -> tuple[str, int, str]:
    return _changed_at(row), row.revision_count, row.content_hash


class Merger:
    """Takes in batches, each inside the transaction that it is given, and counts outcomes by kind."""

    def __init__(self, projects: Projects, *, now: str, notes: Notes) -> None:
        self._projects = projects
        self._now = now
        self._notes = notes
        self.tally: dict[str, Counter[str]] = {"sessions": Counter(), "observations": Counter(), "prompts": Counter()}
        self.warnings: dict[str, None] = {}

    def sessions(self, tx: Writer, batch: Sequence[ArrivedSession]) -> None:
        places = _Places(tx, self)
        for arrived in batch:
            known = tx.session(arrived.id)
            session = Session(
                id=arrived.id,
                project=known.project if known else places.project(arrived.project),
                directory=arrived.directory,
                started_at=arrived.started_at or arrived.ended_at or self._now,
                ended_at=arrived.ended_at,
                summary=arrived.summary,
                started_by="",
            )
            outcome = Merged.CREATED if known is None else _filling(known, session)
            if outcome is not Merged.UNCHANGED:
                tx.put_session(session)
            self.tally["sessions"][outcome] += 1

    def rows(self, tx: Writer, batch: Sequence[Arrived | ArrivedPrompt]) -> None:
        """Observations and prompts. A session that is not there is added."""
        places = _Places(tx, self)
        for arrived in batch:
            if isinstance(arrived, Arrived):
                outcome = self._observation(tx, arrived, places)
                self.tally["observations"][outcome] += 1
            else:
                outcome = self._prompt(tx, arrived, places)
                self.tally["prompts"][outcome] += 1

    def _observation(self, tx: Writer, row: Arrived, places: _Places) -> Merged:
        known = tx.revision(row.sync_id)
        verdict = decide(row, known=known, buried_at=tx.tombstone(row.sync_id) if known is None else None)
        if verdict.reason:
            self._notes.add(verdict.reason, row.label)
        if verdict.outcome in (Merged.UNCHANGED, Merged.SKIPPED):
            return verdict.outcome
        project, session_id = places.of(row)
        topic_key = row.topic_key
        if topic_key is not None and row.deleted_at is None and not self._takes_topic(tx, row, project):
            topic_key = None
        old = tx.observation(known.id, deleted=True) if known else None
        observation = Observation(
            id=0,
            sync_id=row.sync_id,
            session_id=session_id,
            type=row.type,
            title=row.title,
            content=row.content,
            source=row.source,
            project=project,
            scope=row.scope,
            topic_key=topic_key,
            content_hash=row.content_hash,
            revision_count=row.revision_count,
            duplicate_count=row.duplicate_count,
            pinned=row.pinned,
            created_at=row.created_at,
            updated_at=row.updated_at,
            last_seen_at=row.last_seen_at,
            deleted_at=row.deleted_at,
        )
        tx.put_observation(StoredObservation(observation=observation, versions=row.versions))
        if old is not None:
            texts = {(version.title, version.content) for version in row.versions}
            if (old.title, old.content) not in {*texts, (row.title, row.content)}:
                # Two wrote apart from each other: the text that gives way is not lost.
                tx.keep_version(old, at=self._now)
        return verdict.outcome

    def _takes_topic(self, tx: Writer, row: Arrived, project: str) -> bool:
        """Whether `row` holds its topic key from now on; an older holder gives it up."""
        holder = tx.topic_holder(project, row.scope, row.topic_key or "")
        if holder is None or holder.sync_id == row.sync_id:
            return True
        if row.gives_way or (*_stamp(row), row.sync_id) < (*_stamp(holder), holder.sync_id):
            self._notes.add(TOPIC, row.label)
            return False
        tx.release_topic(holder.id)
        self._notes.add(RELEASED, row.label)
        return True

    def _prompt(self, tx: Writer, row: ArrivedPrompt, places: _Places) -> Merged:
        if tx.has_prompt(row.sync_id):
            return Merged.UNCHANGED
        if tx.tombstone(row.sync_id) is not None:
            self._notes.add(DELETED, row.label)
            return Merged.SKIPPED
        project, session_id = places.of(row)
        tx.add_prompt(
            sync_id=row.sync_id, session_id=session_id, project=project, content=row.content, at=row.created_at
        )
        return Merged.CREATED

    def ensure_project(self, tx: Writer, name: str) -> str:
        resolved = self._projects.ensure(tx, Detected(name=name or UNSCOPED, source="import"))
        self.warnings.update(dict.fromkeys(resolved.notices))
        return resolved.key

    def add_session(
        self, tx: Writer, id: Clean, project: str, row: Arrived | ArrivedPrompt, *, is_manual: bool
    ) -> None:
        """For rows whose session nobody describes; it is over, but for the one that saves without a session share."""
        tx.put_session(
            Session(
                id=id,
                project=project,
                directory="",
                started_at=row.created_at,
                ended_at=None if is_manual else row.created_at,
                summary=None,
                started_by="",
            )
        )
        self.tally["sessions"][Merged.CREATED] += 1
        if not is_manual:
            self._notes.add(UNKNOWN_SESSION, row.label)


def _filling(known: Session, arrived: Session) -> Merged:
    """Whether an arriving session says something that the known one leaves blank."""
    fills = (
        (arrived.directory and not known.directory)
        or (arrived.ended_at and known.ended_at is None)
        or (arrived.summary and known.summary is None)
    )
    return Merged.UPDATED if fills else Merged.UNCHANGED


class _Places:
    """Projects and sessions already looked up in this transaction."""

    def __init__(self, tx: Writer, merger: Merger) -> None:
        self._tx = tx
        self._merger = merger
        self._keys: dict[str, str] = {}
        self._owners: dict[str, str] = {}

    def project(self, name: str) -> str:
        key = self._keys.get(name)
        if key is None:
            key = self._keys[name] = self._merger.ensure_project(self._tx, name)
        return key

    def of(self, row: Arrived | ArrivedPrompt) -> tuple[str, str]:
        """Project key and session id of a row; both exist afterwards."""
        id = row.session_id
        if not id:
            key = self.project(row.project)
            owner = self._tx.project(key)
            id = Clean(manual_session_id(owner.name if owner else key))
        if id not in self._owners:
            known = self._tx.session(id)
            self._owners[id] = known.project if known else self.project(row.project)
            if known is None:
                self._merger.add_session(self._tx, id, self._owners[id], row, is_manual=not row.session_id)
        return self.project(row.project) if row.project else self._owners[id], id


class Rehearsal:
    """Stands in for a writer in a dry run: answers as if everything had been written, and writes nothing."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._projects: dict[str, Project] = {}
        self._sessions: dict[str, Session] = {}
        self._rows: dict[str, Revision] = {}
        self._topics: dict[tuple[str, str, str], Revision | None] = {}
        self._held: dict[int, tuple[str, str, str]] = {}
        self._prompts: set[str] = set()

    def as_writer(self) -> Writer:
        """For the verbs that a `Merger` uses; the others are not there."""
        return cast("Writer", self)

    def project(self, key: str) -> Project | None:
        return self._projects.get(key) or self._reader.project(key)

    def project_keys(self) -> list[str]:
        return [*self._reader.project_keys(), *self._projects]

    def add_project(self, project: Project, *, at: str) -> None:
        self._projects[project_key(project.key)] = project

    def session(self, id: str) -> Session | None:
        return self._sessions.get(id) or self._reader.session(id)

    def put_session(self, session: Session) -> None:
        known = self.session(session.id)
        self._sessions[session.id] = Session(
            id=session.id,
            project=known.project if known else session.project,
            directory=(known.directory if known else "") or session.directory,
            started_at=known.started_at if known else session.started_at,
            ended_at=(known.ended_at if known else None) or session.ended_at,
            summary=(known.summary if known else None) or session.summary,
            started_by=known.started_by if known else session.started_by,
        )

    def observation(self, id: int, *, deleted: bool = False) -> Observation | None:
        return None  # texts that give way are of no interest to the counts

    def revision(self, sync_id: str) -> Revision | None:
        return self._rows.get(sync_id) or self._reader.revision(sync_id)

    def tombstone(self, sync_id: str) -> str | None:
        return self._reader.tombstone(sync_id)

    def topic_holder(self, project: str, scope: str, topic_key: str) -> Revision | None:
        place = (project, scope, topic_key)
        if place not in self._topics:
            found = self._reader.topic_holder(project, scope, topic_key)
            # A row that was put since would be known here if it still held the key.
            self._hold(place, found if found and found.sync_id not in self._rows else None)
        return self._topics[place]

    def _hold(self, place: tuple[str, str, str], holder: Revision | None) -> None:
        self._topics[place] = holder
        if holder is not None:
            self._held[holder.id] = place

    def release_topic(self, id: int) -> None:
        place = self._held.pop(id, None)
        if place is not None:
            self._topics[place] = None

    def put_observation(self, stored: StoredObservation) -> int:
        row = stored.observation
        known = self.revision(row.sync_id)
        if known is not None:
            self.release_topic(known.id)
        put = Revision(
            id=known.id if known else -1 - len(self._rows),
            sync_id=row.sync_id,
            updated_at=row.updated_at,
            revision_count=row.revision_count,
            content_hash=row.content_hash,
            deleted_at=row.deleted_at,
        )
        self._rows[row.sync_id] = put
        if row.topic_key and row.deleted_at is None:
            self._hold((row.project, row.scope, row.topic_key), put)
        return put.id

    def has_prompt(self, sync_id: str) -> bool:
        return sync_id in self._prompts or self._reader.has_prompt(sync_id)

    def add_prompt(self, *, sync_id: str, session_id: str, project: str, content: Clean, at: str) -> int:
        self._prompts.add(sync_id)
        return 0
