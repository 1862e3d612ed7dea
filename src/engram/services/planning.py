"""What approving a candidate would do: its verdict, id and file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from engram.core.candidate import Candidate
from engram.core.memory import (
    Memory,
    default_authority,
    name_for,
)
from engram.core.memory_ports import Indexed
from engram.core.proposal import Plan
from engram.core.query import parse
from engram.core.standing import Standing, why_hidden
from engram.core.text import content_hash
from engram.core.verdict import Action, Known, Verdict, decide, normalised
from engram.errors import Conflict, InvalidInput
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.vault import memory_file

# Memories that a verdict looks at.
LIKE_IT = 20


class Planning:
    """Plans candidates against the roots as they are."""

    def __init__(self, roots: MemoryRoots, *, now: Callable[[], str]) -> None:
        self._roots = roots
        self._now = now

    def typed(self, candidate: Candidate, places: Sequence[MemoryRoot]) -> Candidate:
        """A candidate that rewrites a memory and does not say its own type has that memory's."""
        if candidate.is_typed or not candidate.update:
            return candidate
        rows = [row for place in places for row in place.index.by_id(candidate.update)]
        types = {row.memory.type for row in rows if row.memory is not None and not row.memory.tier}
        return replace(candidate, type=types.pop()) if len(types) == 1 else candidate

    def plan(
        self, candidate: Candidate, place: MemoryRoot, by: str, *, earlier: Sequence[tuple[Candidate, Plan]]
    ) -> Plan:
        """What approving a candidate would do, beside those `earlier` in the proposal. Raises `InvalidInput` for one
        that could not be written."""
        known = self.known(candidate, place)
        verdict = _beside(candidate, decide(candidate, [one for one, _ in known]), earlier)
        target = next((row for one, row in known if (one.id, one.type) == (verdict.target, verdict.target_type)), None)
        if verdict.action in (Action.UPDATE, Action.NOOP):
            id, path = verdict.target, target.path if target is not None else ""
        else:
            id = candidate.id or self.free_id(
                name_for(candidate.type, candidate.title, candidate.text)[:70],
                f"{candidate.text}\0{by}\0{self._now()[:10]}",
                place,
            )
            if candidate.id and (place.index.by_id(id) or id in {plan.id for _, plan in earlier}):
                raise InvalidInput(
                    f"candidate {candidate.number}: the id `{candidate.id}` is taken", hint="UPDATE: it, or another ID"
                )
            path = memory_file.place_for(Memory(id=id, type=candidate.type, title="", text=""))
        plan = Plan(
            number=candidate.number,
            scope=place.root.scope,
            verdict=verdict,
            id=id,
            path=path,
            target_hash=target.memory.actual_hash if target is not None and target.memory is not None else "",
        )
        if verdict.action is not Action.NOOP:
            _check_writable(candidate, memory_file.render(self.new_memory(candidate, plan, by), scope=plan.scope), path)
        return plan

    def free_id(self, base: str, about: str, place: MemoryRoot) -> str:
        """`base` and four hex digits: two people who save offline never make the same file of different texts."""
        digest = hashlib.sha256(about.encode("utf-8", "replace")).hexdigest()
        for length in (4, 8, 16, 32):
            id = f"{base}-{digest[:length]}"
            if not place.index.by_id(id):
                return id
        raise Conflict(f"no free id for `{base}`", hint="give the candidate an ID")

    def known(self, candidate: Candidate, place: MemoryRoot) -> list[tuple[Known, Indexed]]:
        """Live memories of a root that a verdict could be about."""
        rows: dict[int, Indexed] = {}
        for name in (candidate.update, candidate.supersedes):
            for row in place.index.by_id(name) if name else ():
                rows[row.row] = row
        for row in place.index.saying(content_hash(normalised(candidate.text))):
            rows[row.row] = row
        # Words alone: other spellings cost as much again and change no verdict.
        query = replace(parse(f"{candidate.title}\n{candidate.text}"), forms=())
        found = place.index.search(query, pool=LIKE_IT)
        for row in place.index.rows([one.id for one in found.candidates]):
            rows[row.row] = row
        known = []
        settings = self._roots.settings()
        around = self._roots.circumstances(place, today=self._now()[:10], settings=settings)
        for row in rows.values():
            memory = row.memory
            if memory is None or memory.tier or memory.superseded_by or memory.lifecycle in ("superseded", "archived"):
                continue
            # What never loads is no reason to leave out what would, unless the candidate means it by name.
            is_named = memory.id in (candidate.update, candidate.supersedes)
            if not is_named and (
                why_hidden(memory, around, is_ignored=row.is_ignored)
                or place.standing(row) in (Standing.EDITED, Standing.UNAPPROVED)
            ):
                continue
            one = Known(id=memory.id, type=memory.type, text=memory.text, content_hash=memory.actual_hash)
            known.append((one, row))
        known.sort(key=lambda pair: (pair[0].id, pair[0].type))
        return known

    def new_memory(self, candidate: Candidate, plan: Plan, by: str) -> Memory:
        today = self._now()[:10]
        return Memory(
            id=plan.id,
            type=candidate.type,
            title=candidate.title,
            text=candidate.text,
            origin=candidate.origin,
            variants=candidate.variants,
            tags=candidate.tags,
            triggers=candidate.triggers,
            role=candidate.role,
            depends_on=candidate.depends_on,
            evidence_refs=candidate.evidence_refs,
            derived_from=candidate.derived_from,
            confidence=candidate.confidence or "high",
            authority=default_authority(candidate.type),
            always=candidate.always,
            created=today,
            updated=today,
            valid_from=candidate.valid_from or today,
            valid_until=candidate.valid_until,
            last_confirmed=today,
            source=candidate.source or "agent",
            author=by,
        )


def _beside(candidate: Candidate, verdict: Verdict, earlier: Sequence[tuple[Candidate, Plan]]) -> Verdict:
    """The verdict of a candidate, given also those before it in the proposal: they are not there yet, so one that says
    the same is left out, and one that clashes waits for an answer."""
    if verdict.action is Action.NOOP or not earlier:
        return verdict
    others = {plan.id: one for one, plan in earlier if plan.verdict.action is not Action.NOOP}
    known = [Known(id=id, type=one.type, text=one.text) for id, one in others.items()]
    among = decide(replace(candidate, update="", supersedes=""), known)
    if among.action is Action.NOOP:
        return replace(among, reason=f"candidate {others[among.target].number} says the same")
    if among.action is Action.ADD:
        return verdict
    return replace(verdict, doubt=f"clashes with candidate {others[among.target].number} ({among.reason})")


def _check_writable(candidate: Candidate, text: str, path: str) -> None:
    """Raises `InvalidInput` for a candidate of which the file could not be read again as it was approved."""
    try:
        if len(text.encode()) > memory_file.MAX_FILE_BYTES:
            raise InvalidInput(f"is longer than {memory_file.MAX_FILE_BYTES // 1024} KB with all its fields")
        read = memory_file.parse(text, path=path)
        if read.text != candidate.text or read.is_edited:
            raise InvalidInput("would not be read as it was approved")
    except InvalidInput as error:
        raise InvalidInput(f"candidate {candidate.number}: {error.message}", hint="shorten or reword it") from error
