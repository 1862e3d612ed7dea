"""Take back what was written, as long as nobody has changed it since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from engram.errors import Conflict, NotFound
from engram.services.memory_roots import MemoryRoot, MemoryRoots, author
from engram.services.proposed import Committed, Outcome
from engram.vault import ledger
from engram.vault.ledger import FileChange, Line

_NOTHING = "nothing to take back"
_ONLY_HERE = "`engram undo` takes back writes of this machine only"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToUndo:
    """A batch that would be taken back: its name, when, how and by whom it was written, and its files."""

    batch: str
    at: str
    how: str
    by: str
    files: tuple[ToRestore, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRestore:
    """A file of such a batch: `result` is removed or restored, `diff` the way back of what would be restored."""

    scope: str
    path: str
    id: str
    result: str
    diff: str


class Undoing:
    """`new_batch` names a batch; times are RFC 3339 of `now`."""

    def __init__(self, roots: MemoryRoots, *, now: Callable[[], str], new_batch: Callable[[], str]) -> None:
        self._roots = roots
        self._now = now
        self._new_batch = new_batch

    def undo(self, *, scope: str | None = None, name: str | None = None) -> Committed:
        """Take back the last batch of a root, or the one named; of a batch of both scopes, both halves. Raises
        `Conflict` when its files were changed since, `NotFound` when there is nothing to take back."""
        place, others = self._places(scope)
        line = self._undone(place, name)
        if line is None:
            raise NotFound(_NOTHING, hint=_ONLY_HERE)
        outcomes = _taken_back(place, line, 1)
        for other in others:
            half = self._undone(other, line.data["of"])
            outcomes += _taken_back(other, half, len(outcomes) + 1) if half is not None else []
        return Committed(outcomes=tuple(outcomes), batch=line.batch, is_undo=True)

    def to_undo(self, *, scope: str | None = None, name: str | None = None) -> ToUndo:
        """What `undo` would take back now. Raises `NotFound` when there is nothing."""
        place, others = self._places(scope)
        for one in (place, *others):
            one.refresh()
        line = _last_batch(place, name)
        if line is None:
            raise NotFound(_NOTHING, hint=_ONLY_HERE)
        halves = [(place, line), *((one, _last_batch(one, line.batch)) for one in others)]
        files = [
            _to_restore(one, change) for one, half in halves if half is not None for change in ledger.undo_of(half)
        ]
        return ToUndo(batch=line.batch, at=line.at, how=line.how, by=line.by, files=tuple(files))

    def _places(self, scope: str | None) -> tuple[MemoryRoot, list[MemoryRoot]]:
        """The root whose last batch is meant, and those that may hold another half of it."""
        place = self._roots.named(scope or ("workspace" if self._roots.workspace is not None else "global"))
        return place, [] if scope else [one for one in self._roots.existing() if one.root.path != place.root.path]

    def _undone(self, place: MemoryRoot, name: str | None) -> Line | None:
        """The line that takes back a batch of one root, carried out; None when there is no such batch."""
        with place.ledger.locked():
            place.refresh()
            line = _last_batch(place, name)
            if line is None:
                return None
            undone = Line(
                event=ledger.UNDO,
                at=self._now(),
                root=place.root.path,
                how="undo",
                by=author(self._roots.folder, self._roots.settings())[0],
                batch=self._new_batch(),
                changes=tuple(ledger.undo_of(line)),
                data={"of": line.batch, "revoked": _revoked(place, line)},
            )
            try:
                place.write(undone)
            except Conflict as error:
                raise Conflict(
                    error.message.replace("meanwhile", "since"), hint="take the change back by hand, or with Git"
                ) from error
            return undone


def _to_restore(place: MemoryRoot, change: FileChange) -> ToRestore:
    diff = ""
    if change.after is not None:
        now, then = (change.before or "").splitlines(), change.after.splitlines()
        diff = "\n".join(list(unified_diff(now, then, "now", "then", lineterm="", n=1))[2:])
    return ToRestore(
        scope=place.root.scope,
        path=change.path,
        id=change.id,
        result="removed" if change.after is None else "restored",
        diff=diff,
    )


def _taken_back(place: MemoryRoot, line: Line, first: int) -> list[Outcome]:
    return [
        Outcome(
            number=at,
            scope=place.root.scope,
            result="removed" if change.after is None else "restored",
            id=change.id,
            path=change.path,
        )
        for at, change in enumerate(line.changes, first)
    ]


def _revoked(place: MemoryRoot, undone: Line) -> list[list[str]]:
    """The approvals that go with a batch: those that no other batch has given which still stands."""
    given = {(one.type, one.id, one.content_hash) for one in undone.changes if one.content_hash}
    lines = [line for line in place.ledger.lines() if line.is_sealed]
    taken_back = _batches_taken_back(lines)
    for line in lines:
        if line.event == ledger.COMMIT and line.batch not in (undone.batch, *taken_back):
            given -= {(one.type, one.id, one.content_hash) for one in line.changes}
    return sorted([kind, id, said] for kind, id, said in given)


def _last_batch(place: MemoryRoot, name: str | None) -> Line | None:
    lines = [line for line in place.ledger.lines() if line.root == place.root.path and line.is_sealed]
    taken_back = _batches_taken_back(lines)
    for line in reversed(lines):
        if line.event == ledger.COMMIT and line.batch not in taken_back and name in (None, line.batch):
            return line
    return None


def _batches_taken_back(lines: Sequence[Line]) -> set[str]:
    return {str(line.data.get("of", "")) for line in lines if line.event == ledger.UNDO}
