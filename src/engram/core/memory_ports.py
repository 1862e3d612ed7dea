"""What services ask of the index of memories: everything in it can be made again from the files and the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engram.core.memory import Memory
from engram.core.query import Query
from engram.core.ranking import Candidate

REVOKED = "revoked"

Stamp = tuple[int, int]  # size in bytes, time of change in nanoseconds
Stated = tuple[str, int, int]  # a path, its size and its time of change, as `engram.places.watched` gives them


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A file as the index knows it: its memory, or the `problem` why it cannot be read.

    `approved_at` and `approved_how` say when and how this very content was approved on this machine, or are "";
    `was_approved` whether any content of this id was. `fetches` counts how often its body was given out.
    """

    row: int
    path: str
    memory: Memory | None
    problem: str = ""
    is_ignored: bool = False
    approved_at: str = ""
    approved_how: str = ""
    was_approved: bool = False
    fetches: int = 0
    last_fetched: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file that was just read."""

    path: str
    stamp: Stamp
    memory: Memory | None
    problem: str = ""
    is_ignored: bool = False
    said_hash: str = ""
    search_terms: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What the ledger says of one content: `content_hash` of memory `id` of `type` was approved, or with `how` as
    `REVOKED` is so no longer."""

    id: str
    type: str
    content_hash: str
    at: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemories:
    """Candidates of one root. `best` is the engine's score of the best one, for comparing roots; `counts` and
    `total` are as in a search of observations."""

    candidates: Sequence[Candidate]
    best: float
    counts: Sequence[int]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRow:
    """A memory as a session start shows it: `text` is whole, and counts `tokens`. `file` is its absolute path, `stamp`
    how that was when the text was made; it speaks up to the day `valid_until` ("" for no end). A working
    note has the `objective` that it is about; `is_body` says that the text is the memory itself and not a line."""

    file: str
    stamp: Stamp
    text: str
    tokens: int
    is_body: bool
    objective: str = ""
    valid_until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a session start shows of memories, ranked and ready, and what must be as it was for it to be so.

    `seen_by` is what decided in the environment, `state` what was known of the files. `ledgers` say who is
    trusted, and `decisive` are other files that decide what may be shown at all: while one of these differs, nothing
    is. `folders` tell that files came or went. On the day
    `stale_on` a memory begins to be valid ("" for none). `is_trusted` is about the workspace, `untrusted` how many
    memories of it nobody trusted; `selected` how many were chosen.
    """

    seen_by: str
    state: str
    ledgers: Sequence[Stated]
    decisive: Sequence[Stated]
    folders: Sequence[Stated]
    stale_on: str
    is_trusted: bool
    untrusted: int
    selected: int
    rows: Sequence[StartRow]


class MemoryIndex(Protocol):
    """The cache of one root. Reading and refreshing may happen in several processes at once."""

    def note(self, name: str) -> str:
        """A word that was kept beside the index, or ""."""

    def stamps(self) -> dict[str, Stamp]: ...
    def has_stamp(self, path: str, stamp: Stamp | None) -> bool:
        """Whether the file was read with this stamp; None asks whether there is no such file."""

    def refresh(
        self, *, changed: Iterable[ReadFile], removed: Sequence[str], notes: dict[str, str] | None = None
    ) -> None:
        """Take in files that are new or differ, forget removed ones, in one transaction."""

    def add_approvals(self, approvals: Sequence[Approval], *, notes: dict[str, str]) -> None:
        """Take in approvals and revocations, in order."""

    def forget_approvals(self, *, notes: dict[str, str]) -> None:
        """For reading a ledger from its beginning again; the notes that say how far it was read go in one step."""

    def is_approved(self, *, id: str, type: str, content_hash: str) -> bool: ...
    def search(self, query: Query, *, pool: int) -> FoundMemories:
        """Live memories only: readable, not ignored, not superseded or archived."""

    def rows(self, rows: Sequence[int]) -> list[Indexed]:
        """In the order of `rows`; those that are gone are left out."""

    def by_id(self, id: str) -> list[Indexed]:
        """All files that hold `id`, working notes after memories."""

    def saying(self, said_hash: str) -> list[Indexed]:
        """Live memories whose text is the same but for case, punctuation and space."""

    def always(self) -> list[Indexed]: ...
    def newest(self, limit: int) -> list[Indexed]: ...
    def most_used(self, limit: int) -> list[Indexed]: ...
    def notes_at_work(self) -> list[Indexed]:
        """Working notes, newest first."""

    def everything(self) -> list[Indexed]:
        """All files, by path."""

    def counts(self) -> dict[str, int]:
        """Rows by `memories`, `rule`, `skill`, `knowledge`, `notes`, `unreadable`, `ignored`."""

    def count_fetches(self, keys: Sequence[tuple[str, str]], *, at: str) -> None:
        """One more fetch of each (type, id)."""

    def begins_after(self, today: str) -> str:
        """The first day after `today` on which a memory begins to be valid, or ""."""

    def start(self, seen_by: str) -> Start | None:
        """What a session start shows, as it was kept last for the same circumstances."""

    def keep_start(self, start: Start) -> None:
        """Keep what a session start shows, in place of what was kept for the same circumstances."""

    def close(self) -> None: ...
