"""Take back what was written, as long as nobody has changed it since."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engram.errors import Conflict, NotFound
from engram.services.memory_roots import MemoryRoot, MemoryRoots, author
from engram.services.proposed import Committed, Outcome
from engram.vault import ledger
from engram.vault.ledger import Line


class Undoing:
    """`new_batch` names a batch; times are RFC 3339 of `now`."""

    def __init__(self, roots: MemoryRoots, *, now: Callable[[], str], new_batch: Callable[[], str]) -> None:
        self._roots = roots
        self._now = now
        self._new_batch = new_batch

    def undo(self, *, scope: str | None = None, name: str | None = None) -> Committed:
        """Take back the last batch of a root, or the one named; of a batch of both scopes, both halves. Raises
        `Conflict` when its files were changed since, `NotFound` when there is nothing to take back."""
        place = self._roots.named(scope or ("workspace" if self._roots.workspace is not None else "global"))
        others = [] if scope else [one for one in self._roots.existing() if one.root.path != place.root.path]
        line = self._undone(place, name)
        if line is None:
            raise NotFound("nothing to take back", hint="`engram undo` takes back writes of this machine only")
        outcomes = _taken_back(place, line, 1)
        for other in others:
            half = self._undone(other, line.data["of"])
            outcomes += _taken_back(other, half, len(outcomes) + 1) if half is not None else []
        return Committed(outcomes=tuple(outcomes), batch=line.batch, is_undo=True)

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
