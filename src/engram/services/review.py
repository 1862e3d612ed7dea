"""What a person looks after: what waits, what was changed by hand, what is missing; approve it, or put it away."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from engram import gitio
from engram.core.memory_ports import Indexed
from engram.core.ports import Finding
from engram.core.standing import Standing
from engram.errors import Conflict, InvalidInput, NotFound
from engram.services.memory_roots import MemoryRoot, MemoryRoots, author
from engram.services.proposals import Proposals
from engram.services.proposed import Committed, Outcome, Proposed
from engram.services.refusals import refuse
from engram.vault import folder, ledger, memory_file, pending
from engram.vault.ledger import FileChange, Line

SCOPES = ("workspace", "global", "all")
OK, EDITED, UNAPPROVED, MISSING, UNREADABLE, EXTRA = "ok", "edited", "unapproved", "missing", "unreadable", "extra"
WRONG = (EDITED, UNAPPROVED, MISSING, UNREADABLE, EXTRA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One file of a root and what is the matter with it: ok, edited, unapproved, missing, unreadable or extra."""

    scope: str
    path: str
    state: str
    id: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All files that were looked at. `notes` speak of the ledger itself."""

    rows: tuple[Checked, ...]
    notes: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[Checked, ...]:
        return tuple(row for row in self.rows if row.state in WRONG)

    def count(self, state: str) -> int:
        return sum(row.state == state for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A memory whose content nobody has approved here: its standing, and the difference to what was approved last."""

    scope: str
    id: str
    type: str
    path: str
    standing: str
    diff: str
    text_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Everything that waits for a person."""

    proposals: tuple[Proposed, ...]
    changed: tuple[Changed, ...]
    unreadable: tuple[Checked, ...]
    notes: tuple[Checked, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.proposals or self.changed or self.unreadable)


class Review:
    """`new_batch` names a batch; times are RFC 3339 of `now`."""

    def __init__(
        self, roots: MemoryRoots, proposals: Proposals, *, now: Callable[[], str], new_batch: Callable[[], str]
    ) -> None:
        self._roots = roots
        self._proposals = proposals
        self._now = now
        self._new_batch = new_batch

    def verify(self, scope: str = "all") -> Verified:
        """Read every file again and compare it with what was approved."""
        if scope not in SCOPES:
            raise InvalidInput("scope: is not one", hint=f"one of: {', '.join(SCOPES)}")
        rows: list[Checked] = []
        notes: list[str] = []
        for place in self._roots.existing():
            if scope not in ("all", place.root.scope):
                continue
            place.refresh(anew=True)
            rows += self._checked(place)
            if broken := int(place.index.note("broken") or 0):
                notes.append(
                    f"{place.root.scope}: {broken} lines of the ledger were changed or damaged; they count for nothing"
                )
        return Verified(rows=tuple(rows), notes=tuple(notes))

    def _checked(self, place: MemoryRoot) -> list[Checked]:
        scope = place.root.scope
        rows = []
        present = set()
        for row in place.index.everything():
            present.add(row.path)
            if row.memory is None:
                rows.append(Checked(scope=scope, path=row.path, state=UNREADABLE, detail=row.problem))
                continue
            stands = place.standing(row)
            state = {Standing.EDITED: EDITED, Standing.UNAPPROVED: UNAPPROVED}.get(stands, OK)
            detail = "came by Git" if stands is Standing.TEAM else ""
            rows.append(Checked(scope=scope, path=row.path, state=state, id=row.memory.id, detail=detail))
        rows += [
            Checked(scope=scope, path=path, state=EXTRA, detail="no memory file, or a link that leads out")
            for path in place.strays
        ]
        lost = [(path, id) for path, id in _approved_files(place).items() if path not in present]
        elsewhere = gitio.in_history(place.root.path, [path for path, _ in lost]) if lost else frozenset()
        for path, id in lost:
            if path in elsewhere:
                rows.append(Checked(scope=scope, path=path, state=OK, id=id, detail="in Git, not in this checkout"))
            else:
                rows.append(
                    Checked(scope=scope, path=path, state=MISSING, id=id, detail="approved here, and the file is gone")
                )
        return rows

    def findings(self) -> list[Finding]:
        """What `engram doctor` says of memories: files, ledger, notes, and what must not be in Git."""
        places = self._roots.existing()
        if not places:
            return [Finding(id="memories.files", level="ok", message="no memories here")]
        verified = self.verify()
        wrong = verified.wrong
        shown = "; ".join(f"{row.path} is {row.state}" for row in wrong[:5])
        found = [
            Finding(
                id="memories.files",
                level="warning" if wrong else "ok",
                message=f"{len(wrong)} memory files to look at: {shown}"
                if wrong
                else f"{len(verified.rows)} memory files, all as they were approved or committed",
                remedy="engram review" if wrong else "",
            )
        ]
        found += [
            Finding(id="memories.ledger", level="error", message=note, remedy="engram review")
            for note in verified.notes
        ]
        for place in places:
            tracked = gitio.tracked(place.root.path, [pending.FILE, folder.WORKING])
            if tracked:
                found.append(
                    Finding(
                        id="memories.git",
                        level="warning",
                        message=f"{place.root.scope}: Git tracks what is yours alone: {', '.join(tracked[:5])}",
                        remedy=f"git -C {place.root.path} rm --cached -r {pending.FILE} {folder.WORKING}",
                    )
                )
        return found

    def inbox(self) -> Inbox:
        """What waits: proposals, memories that nobody approved as they are, files that cannot be read, and the
        working notes."""
        waiting = {Standing.EDITED, Standing.UNAPPROVED}
        if self._roots.setting("trust.team") == "card":
            waiting.add(Standing.TEAM)
        changed: list[tuple[MemoryRoot, Indexed]] = []
        unreadable: list[Checked] = []
        notes: list[Checked] = []
        for place in self._roots.existing():
            place.refresh(whole=True)
            for row in place.index.everything():
                if row.memory is None:
                    unreadable.append(
                        Checked(scope=place.root.scope, path=row.path, state=UNREADABLE, detail=row.problem)
                    )
                    continue
                stands = place.standing(row)
                if stands is Standing.NOTE:
                    notes.append(
                        Checked(
                            scope=place.root.scope,
                            path=row.path,
                            state=OK,
                            id=row.memory.id,
                            detail=f"until {row.memory.valid_until}",
                        )
                    )
                elif stands in waiting:
                    changed.append((place, row))
        return Inbox(
            proposals=tuple(self._proposals.waiting()),
            changed=tuple(_changed(changed)),
            unreadable=tuple(unreadable),
            notes=tuple(notes),
        )

    def look_at(self, id: str) -> list[Changed]:
        """The memories with this id, each with its difference to what was approved last."""
        return _changed(self._named(id))

    def approve_memory(self, id: str, *, how: str, shown: Sequence[Changed] | None = None) -> Committed:
        """Approve a memory as its file says it now, or as it was `shown` to the person. Raises `Unsafe` when it holds
        what no memory may hold, `Conflict` when it was changed since it was shown."""
        named = self._named(id)
        memories = [(place, row) for place, row in named if row.memory is not None and not row.memory.tier]
        if not memories:
            raise Conflict(f"`{id}` is a working note", hint=f"engram promote {id}")
        found = [(place, row) for place, row in memories if place.standing(row) is not Standing.APPROVED]
        if not found:
            raise Conflict(f"`{id}` is approved as it is", hint="`engram review` lists what waits")
        return self._approve_rows(found, how=how, shown=shown)

    def approve_all(self, *, how: str, shown: Sequence[Changed] | None = None) -> Committed:
        """Approve every memory that nobody has approved as it is, or those that were `shown`."""
        found = []
        for place in self._roots.existing():
            place.refresh(whole=True)
            found += [
                (place, row)
                for row in place.index.everything()
                if row.memory is not None
                and place.standing(row) in (Standing.EDITED, Standing.UNAPPROVED, Standing.TEAM)
            ]
        if shown is not None:
            paths = {(one.scope, one.path) for one in shown}
            found = [(place, row) for place, row in found if (place.root.scope, row.path) in paths]
        if not found:
            raise Conflict("nothing waits for approval")
        return self._approve_rows(found, how=how, shown=shown)

    def _approve_rows(
        self, found: Sequence[tuple[MemoryRoot, Indexed]], *, how: str, shown: Sequence[Changed] | None
    ) -> Committed:
        seen = {(one.scope, one.path): one.text_hash for one in shown} if shown is not None else None
        outcomes: list[Outcome] = []
        name = self._new_batch()
        for place in dict.fromkeys(place for place, _ in found):
            with place.ledger.locked():
                place.refresh(whole=True)
                changes = []
                for row in (row for other, row in found if other is place):
                    change = self._approved(place, row)
                    if seen is not None and seen.get((place.root.scope, row.path)) != _digest(change.before or ""):
                        raise Conflict(f"{row.path}: was changed since it was shown", hint="engram review")
                    changes.append(change)
                    outcomes.append(
                        Outcome(
                            number=len(outcomes) + 1,
                            scope=place.root.scope,
                            result="approved",
                            id=changes[-1].id,
                            path=row.path,
                        )
                    )
                self._write(place, changes, how=how, name=name)
        return Committed(outcomes=tuple(outcomes), batch=name)

    def _approved(self, place: MemoryRoot, row: Indexed) -> FileChange:
        """The file as it is, with the hash of what it says now."""
        before = folder.text_of(place.root, row.path)
        refuse(before)
        memory = memory_file.parse(before, path=row.path)
        after = before
        if memory.is_edited or not memory.content_hash:
            fields: dict[str, Any] = {"updated": self._now()[:10], "last_confirmed": self._now()[:10]}
            if memory.is_edited:
                fields["revision"] = memory.revision + 1
            fields |= {"id": memory.id, "type": memory.type} if memory.schema_version < 3 else {}
            after = memory_file.change(before, fields)
            memory = memory_file.parse(after, path=row.path)
        return FileChange(
            path=row.path,
            before=before,
            after=after,
            id=memory.id,
            type=memory.type,
            content_hash=memory.actual_hash,
        )

    def archive(self, id: str, *, reason: str = "", how: str = "terminal") -> Committed:
        """Move a memory out of use, into `archive/`; `engram undo` brings it back."""
        found = [(place, row) for place, row in self._named(id) if row.memory is not None and not row.memory.tier]
        if not found:
            raise NotFound(f"no memory `{id}`", hint="`engram search` finds ids")
        if len(found) > 1:
            names = ", ".join(f"{p.root.scope}:{r.memory.type}:{id}" for p, r in found if r.memory is not None)
            raise Conflict(f"several memories are called `{id}`", hint=f"say which: {names}")
        place, row = found[0]
        with place.ledger.locked():
            place.refresh()
            before = folder.text_of(place.root, row.path)
            fields: dict[str, Any] = {"lifecycle": "archived", "archived_at": self._now()[:10]}
            if reason:
                refuse(reason)
                fields["archived_reason"] = " ".join(reason.split())
            after = memory_file.change(before, fields)
            target = _free_place(place, f"archive/{row.path}", self._now())
            changes = [
                FileChange(path=target, before=None, after=after),
                FileChange(path=row.path, before=before, after=None),
            ]
            name = self._new_batch()
            self._write(place, changes, how=how, name=name)
        outcome = Outcome(number=1, scope=place.root.scope, result="archived", id=id, path=target)
        return Committed(outcomes=(outcome,), batch=name)

    def _write(self, place: MemoryRoot, changes: Sequence[FileChange], *, how: str, name: str) -> None:
        by, _ = author(self._roots.folder, self._roots.settings())
        line = Line(
            event=ledger.COMMIT,
            at=self._now(),
            root=place.root.path,
            how=how,
            by=by,
            batch=name,
            changes=tuple(changes),
        )
        place.write(line)

    def _named(self, id: str) -> list[tuple[MemoryRoot, Indexed]]:
        *qualifiers, name = id.split(":")
        found = []
        for place in self._roots.existing():
            place.refresh(whole=True)
            for row in place.index.by_id(name):
                if row.memory is not None and all(q in (place.root.scope, row.memory.type) for q in qualifiers):
                    found.append((place, row))
        if not found:
            raise NotFound(f"no memory `{name}`", hint="`engram search` finds ids")
        return found

    def reindex(self) -> dict[str, int]:
        """Read everything again; how many files each root has."""
        counts = {}
        for place in self._roots.existing():
            place.read_anew()
            counts[place.root.scope] = len(place.index.stamps())
        return counts


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _approved_files(place: MemoryRoot) -> dict[str, str]:
    """Path → id of what the ledger says should be in this folder now."""
    should: dict[str, str] = {}
    for line in place.ledger.lines():
        if line.root != place.root.path or not line.is_sealed:
            continue
        for change in line.changes:
            if change.path.startswith((f"{folder.WORKING}/", "archive/")):
                continue
            if change.after is None:
                should.pop(change.path, None)
            else:
                should[change.path] = change.id
    return should


def _changed(rows: Sequence[tuple[MemoryRoot, Indexed]]) -> list[Changed]:
    """Each memory with its difference to what was approved last. A root's ledger is read once for all of them."""
    approved = {place: _last_approved(place) for place in dict.fromkeys(place for place, _ in rows)}
    return [_difference(place, row, approved[place].get(row.path)) for place, row in rows]


def _difference(place: MemoryRoot, row: Indexed, before: str | None) -> Changed:
    assert row.memory is not None
    now = folder.text_of(place.root, row.path)
    lines = unified_diff(
        (before or "").splitlines(), now.splitlines(), "approved" if before else "nothing", row.path, lineterm=""
    )
    return Changed(
        scope=place.root.scope,
        id=row.memory.id,
        type=row.memory.type,
        path=row.path,
        standing=str(place.standing(row)),
        diff="\n".join(lines),
        text_hash=_digest(now),
    )


def _last_approved(place: MemoryRoot) -> dict[str, str | None]:
    """Path → the text that was approved last, None for a file that was taken away."""
    return {
        change.path: change.after
        for line in place.ledger.lines()
        if line.is_sealed and line.how in (*ledger.BY_A_PERSON, "force", "undo")
        for change in line.changes
    }


def _free_place(place: MemoryRoot, path: str, now: str) -> str:
    if folder.stamp_of(place.root, path) is None:
        return path
    stamp = now[:19].replace(":", "").replace("-", "").replace("T", "-")
    return f"{path.removesuffix('.md')}-{stamp}.md"
