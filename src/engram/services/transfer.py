"""Bring observations in from other places, and write them out: each import may be repeated at will."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import TextIO, TypeVar

from engram import gitio
from engram.core.ports import Store, Writer
from engram.errors import InvalidInput
from engram.services import exports, intake
from engram.services.exports import Exported
from engram.services.intake import Arrived, ArrivedPrompt, Intake
from engram.services.merging import Merger, Rehearsal
from engram.services.projects import Detected, Projects
from engram.services.sources import JsonExport, Row, Source

# A batch is one transaction: others wait for about half a second, and memory stays small.
BATCH_ROWS = 2_500
BATCH_CHARACTERS = 8_000_000
MAX_NOTES = 30
MAX_FILES = 40

COMMIT = "commit"
_SQLITE = b"SQLite format 3\x00"

Progress = Callable[[int, int | None], None]
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Rows of one kind by what became of them."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did, or in a dry run would do. `redacted`: how many texts held a secret of each kind."""

    source: str
    format: str
    is_dry_run: bool
    sessions: Tally
    observations: Tally
    prompts: Tally
    redacted: dict[str, int]
    notes: tuple[str, ...]


class Transfer:
    """`open_database` reads the database of the Go program; `detect` says what project a folder is."""

    def __init__(
        self,
        store: Store,
        projects: Projects,
        *,
        now: Callable[[], str],
        max_content_bytes: int,
        open_database: Callable[[str], Source],
        detect: Callable[[str], Detected],
    ) -> None:
        self._store = store
        self._projects = projects
        self._now = now
        self._max_content_bytes = max_content_bytes
        self._open_database = open_database
        self._detect = detect

    def import_file(
        self, path: str, *, dry_run: bool, project: str | None = None, progress: Progress | None = None
    ) -> Imported:
        """Take in a JSON export (0.1.0, 0.2.0) or an `engram.db` of the Go program, under `project` if one is named.

        All of the file is looked at before anything is written: a damaged one raises `InvalidInput` that names the
        row and field, and changes nothing.
        """
        name = self._projects.for_writing(project).name if project is not None else None
        with self._open(path) as source:
            sessions: list[Row] = []
            counts: Counter[str] = Counter()
            for kind, row in source.rows():
                intake.check(path, kind, counts[kind], row)
                counts[kind] += 1
                if kind == "sessions":
                    sessions.append(row)
            arriving = self._intake(name)
            merger = self._merge(
                arriving,
                sessions,
                _cleaned(arriving, source),
                total=counts["observations"] + counts["prompts"],
                dry_run=dry_run,
                progress=progress,
            )
            return _imported(path, source.format, merger, arriving, is_dry_run=dry_run, notes=source.notes)

    def import_git(
        self,
        folder: str,
        *,
        dry_run: bool,
        project: str | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Make an observation of each commit reachable from HEAD (merges left out), the newest `limit` of them.

        They lie in one session, `git-import-<project>`; a commit's id decides that it comes in once.
        """
        if limit is not None and limit < 1:
            raise InvalidInput("limit: must be at least 1")
        if not os.path.isdir(folder):
            raise InvalidInput(f"{folder}: is not a folder", hint="give the folder of a repository")
        detected = project if project is not None else self._detect(folder).name
        name = self._projects.for_writing(detected).name
        arriving = self._intake(name)
        history = gitio.history(folder, limit=limit)
        newest = next(history, None)
        commits = history if newest is None else chain((newest,), history)
        rows = (arriving.observation(_commit_row(one, name), f"commit {_short(one)}", fixed=True) for one in commits)
        merger = self._merge(
            arriving,
            [] if newest is None else [_commit_session(newest, name)],
            (row for row in rows if row is not None),
            total=limit,
            dry_run=dry_run,
            progress=progress,
        )
        return _imported(folder, "git", merger, arriving, is_dry_run=dry_run)

    def export(
        self, target: str | TextIO, *, project: str | None = None, include_deleted: bool = False, force: bool = False
    ) -> Exported:
        """Write Engram JSON 0.2.0 to a new file (an existing one only with `force`) or to an open stream."""
        with self._store.read() as tx:
            key = self._projects.for_reading(tx, project)
            if key is not None and tx.project(key) is None:
                raise InvalidInput(f"project: `{key}` is not known", hint="`engram projects list` shows all")
            if not isinstance(target, str):
                return exports.write(
                    tx, target, path="-", exported_at=self._now(), project=key, include_deleted=include_deleted
                )
            with exports.new_file(target, overwrite=force) as out:
                return exports.write(
                    tx, out, path=target, exported_at=self._now(), project=key, include_deleted=include_deleted
                )

    def _open(self, path: str) -> Source:
        try:
            with open(path, "rb") as file:
                is_database = file.read(len(_SQLITE)) == _SQLITE
        except OSError as error:
            raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
        return self._open_database(path) if is_database else JsonExport(path)

    def _intake(self, project: str | None) -> Intake:
        return Intake(now=self._now(), max_content_bytes=self._max_content_bytes, project=project)

    def _merge(
        self,
        arriving: Intake,
        sessions: Sequence[Row],
        rows: Iterable[Arrived | ArrivedPrompt],
        *,
        total: int | None,
        dry_run: bool,
        progress: Progress | None,
    ) -> Merger:
        """Batch by batch, each cleaned before its transaction begins."""
        merger = Merger(self._projects, now=self._now(), notes=arriving.notes)
        cleaned = (arriving.session(row, f"sessions[{number}]") for number, row in enumerate(sessions))
        done = 0
        with self._transactions(dry_run=dry_run) as transaction:
            for batch in _batches(session for session in cleaned if session is not None):
                with transaction() as tx:
                    merger.sessions(tx, batch)
            for part in _batches(rows):
                with transaction() as tx:
                    merger.rows(tx, part)
                done += len(part)
                if progress is not None:
                    progress(done, total)
        return merger

    @contextmanager
    def _transactions(self, *, dry_run: bool) -> Iterator[Callable[[], AbstractContextManager[Writer]]]:
        """What opens a transaction for a batch; in a dry run all batches share one rehearsal."""
        if not dry_run:
            yield self._store.write
            return
        with self._store.read() as reader:
            rehearsal = Rehearsal(reader).as_writer()
            yield lambda: nullcontext(rehearsal)


def _cleaned(arriving: Intake, source: Source) -> Iterator[Arrived | ArrivedPrompt]:
    counts: Counter[str] = Counter()
    for kind, row in source.rows():
        label = f"{kind}[{counts[kind]}]"
        counts[kind] += 1
        found: Arrived | ArrivedPrompt | None = None
        if kind == "observations":
            found = arriving.observation(row, label)
        elif kind == "prompts":
            found = arriving.prompt(row, label)
        if found is not None:
            yield found


def _batches(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    batch: list[_Row] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += len(getattr(row, "content", ""))
        if len(batch) >= BATCH_ROWS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _commit_session(newest: gitio.Commit, project: str) -> Row:
    """Over with its newest commit, and of no folder: nothing that is saved later may end up in it."""
    at = newest.committed_at
    return {"id": _git_session(project), "project": project, "started_at": at, "ended_at": at}


def _git_session(project: str) -> str:
    return f"git-import-{project}"


def _commit_row(commit: gitio.Commit, project: str) -> Row:
    files = ", ".join(commit.files[:MAX_FILES])
    if len(commit.files) > MAX_FILES:
        files += f", … and {len(commit.files) - MAX_FILES:,} more"
    subject = commit.subject.strip()
    parts = [commit.body.strip(), f"Files: {files}" if files else ""]
    return {
        "sync_id": "obs-" + hashlib.sha256(f"git commit {commit.id}".encode()).hexdigest()[:32],
        "session_id": _git_session(project),
        "type": COMMIT,
        "title": subject or f"(no subject) {_short(commit)}",
        "content": "\n\n".join(part for part in parts if part) or subject or f"(empty commit) {commit.id}",
        "tool_name": f"git:{_short(commit)}",
        "created_at": commit.committed_at,
    }


def _short(commit: gitio.Commit) -> str:
    return commit.id[:12]


def _imported(
    source: str, form: str, merger: Merger, arriving: Intake, *, is_dry_run: bool, notes: Sequence[str] = ()
) -> Imported:
    lines = [*notes, *merger.warnings, *arriving.notes.lines()]
    if len(lines) > MAX_NOTES:
        lines = [*lines[:MAX_NOTES], f"and {len(lines) - MAX_NOTES} more notes"]
    tallies = {
        kind: Tally(**{**counted, "skipped": counted["skipped"] + arriving.skipped[kind]})
        for kind, counted in merger.tally.items()
    }
    return Imported(
        source=source,
        format=form,
        is_dry_run=is_dry_run,
        **tallies,
        redacted=dict(arriving.redacted),
        notes=tuple(lines),
    )
