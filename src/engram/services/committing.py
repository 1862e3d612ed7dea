"""Carry out what a person has approved: look again, write all or nothing, say what became of each candidate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from engram.core.candidate import Candidate
from engram.core.memory import Memory, title_for
from engram.core.proposal import Plan, Proposal
from engram.core.standing import Standing, is_expired
from engram.core.verdict import Action, Verdict, decide
from engram.errors import EngramError, InvalidInput, NotFound, StoreUnavailable, Unsafe
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.services.planning import Planning
from engram.services.proposed import MEMORY, NOTE, Committed, Outcome
from engram.services.refusals import refuse, refuse_candidate, refuse_instructions
from engram.vault import folder, ledger, memory_file, setup
from engram.vault.ledger import FileChange, Line
from engram.vault.roots import inside


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A file that a plan changes, as it stands now."""

    path: str
    text: str
    memory: Memory
    standing: Standing


class Committing:
    """`new_batch` names a batch; times are RFC 3339 of `now`."""

    def __init__(
        self,
        roots: MemoryRoots,
        planning: Planning,
        *,
        now: Callable[[], str],
        new_batch: Callable[[], str],
    ) -> None:
        self._roots = roots
        self._planning = planning
        self._now = now
        self._new_batch = new_batch

    def write(self, proposal: Proposal, plans: Sequence[Plan], *, how: str) -> Committed:
        """One batch per root. The caller holds the lock of the pending record's root."""
        by_number = {candidate.number: candidate for candidate in proposal.candidates}
        for candidate in proposal.candidates:
            refuse_candidate(candidate) if proposal.kind == MEMORY else refuse_instructions(candidate.text)
        outcomes: list[Outcome] = []
        name = self._new_batch()
        for scope in dict.fromkeys(plan.scope for plan in plans):
            of_scope = [plan for plan in plans if plan.scope == scope]
            try:
                outcomes += self._write_one(proposal, by_number, of_scope, scope, how=how, name=name)
            except EngramError as error:
                if not _wrote(outcomes):
                    raise
                # The root before is written and stays so; an error alone would hide that.
                reason = f"the {scope} memories could not be written: {error.message}"
                outcomes += [
                    Outcome(number=plan.number, scope=scope, result="deferred", id=plan.id, reason=reason)
                    for plan in of_scope
                ]
        return Committed(outcomes=tuple(outcomes), batch=name if _wrote(outcomes) else "", kind=proposal.kind)

    def _write_one(
        self,
        proposal: Proposal,
        by_number: Mapping[int, Candidate],
        plans: Sequence[Plan],
        scope: str,
        *,
        how: str,
        name: str,
    ) -> list[Outcome]:
        """The batch of one root."""
        place = self._roots.named(scope)
        outcomes: list[Outcome] = []
        with self._locked_besides(place):
            if not place.root.exists:
                setup.create(place.root)
            place.refresh()
            changes: dict[str, FileChange] = {}
            for plan in plans:
                candidate = by_number[plan.number]
                if proposal.kind == NOTE:
                    outcome, made = self._note(proposal, candidate, plan)
                else:
                    outcome, made = self._carry_out(proposal, candidate, plan, place, how, taken=changes)
                outcomes.append(outcome)
                changes |= {change.path: change for change in made}
            if changes:
                line = Line(
                    event=ledger.COMMIT,
                    at=self._now(),
                    root=place.root.path,
                    how=how,
                    by=proposal.by,
                    batch=name,
                    changes=tuple(changes.values()),
                    data={"proposal": proposal.token_hash, "tool": proposal.tool},
                )
                place.write(line)
            with suppress(StoreUnavailable):  # they are not shown any more; what was written must be told
                purge_notes(place, today=self._now()[:10])
        return outcomes

    @contextmanager
    def _locked_besides(self, place: MemoryRoot) -> Iterator[None]:
        """The lock of a root, unless it is the one that is held already."""
        with ExitStack() as stack:
            if place.root.identity != self._roots.pending_root.root.identity:
                stack.enter_context(place.ledger.locked())
            yield

    def _carry_out(
        self,
        proposal: Proposal,
        candidate: Candidate,
        plan: Plan,
        place: MemoryRoot,
        how: str,
        *,
        taken: Mapping[str, FileChange],
    ) -> tuple[Outcome, list[FileChange]]:
        """What one plan changes now, after looking again whether it still means the same."""

        def ended(result: str, reason: str, related: Sequence[str] = (), id: str = "") -> Outcome:
            return Outcome(
                number=plan.number,
                scope=plan.scope,
                result=result,
                id=id or plan.id,
                reason=reason,
                related=tuple(related),
            )

        try:
            verdict = self._verdict_now(proposal, candidate, plan, place)
        except InvalidInput as error:
            return ended("deferred", error.message), []
        if verdict.action is Action.NOOP:
            return ended("skipped", verdict.line, id=verdict.target), []
        if verdict.line != plan.verdict.line:
            reason = f"the verdict was {plan.verdict.line} and is now {verdict.line}: propose again"
            return ended("deferred", reason, verdict.related), []
        if verdict.doubt:
            return ended("deferred", _ways_out(verdict), verdict.related), []
        if verdict.action is Action.SUPERSEDE and how == "force" and not candidate.supersedes:
            reason = f"would replace {verdict.target} ({verdict.reason}); SUPERSEDES: {verdict.target} says so"
            return ended("deferred", reason, [verdict.target]), []
        made = self._promoted(candidate, place)
        target: _Target | None = None
        if verdict.target:
            target = self._target(verdict.target, plan, place)
            if target is None:
                return ended("deferred", f"{verdict.target} was changed meanwhile: propose again", [verdict.target]), []
            if target.path in taken:
                reason = f"another candidate of this proposal changes {verdict.target}"
                return ended("deferred", reason, [verdict.target]), []
        try:
            changed = self._changed(candidate, verdict, target, plan, place, proposal.by)
        except EngramError as error:
            return ended("deferred", f"{verdict.target} cannot be changed: {error.message}", [verdict.target]), []
        if verdict.action is Action.UPDATE and target is not None:
            return replace(ended("updated", ""), id=verdict.target, path=target.path), [*made, *changed]
        if place.index.by_id(plan.id) or plan.path in taken or folder.stamp_of(place.root, plan.path) is not None:
            return ended("deferred", f"the id {plan.id} was taken meanwhile: propose again", [plan.id]), []
        memory = self._planning.new_memory(candidate, plan, proposal.by)
        result, reason = "written", ""
        if target is not None:
            memory = replace(memory, supersedes=(verdict.target,))
            made += changed
            result, reason = "superseded", f"replaces {verdict.target}"
        made.append(_file(plan.path, None, memory_file.render(memory, scope=plan.scope)))
        return replace(ended(result, reason), path=plan.path), made

    def _changed(
        self, candidate: Candidate, verdict: Verdict, target: _Target | None, plan: Plan, place: MemoryRoot, by: str
    ) -> list[FileChange]:
        """The change of the target's own file. Raises `Unsafe` where it would approve what nobody has looked at."""
        if target is None:
            return []
        if verdict.action is not Action.UPDATE:
            return [self._superseded(target, plan.id)]
        memory = target.memory
        has_more = bool(memory.extra or memory.origin or memory.variants or memory.always)
        if target.standing is Standing.EDITED or (has_more and target.standing is Standing.UNAPPROVED):
            raise Unsafe("it holds more that nobody has approved (engram review)")
        change = self._update(candidate, target, place, by)
        if target.standing is not Standing.APPROVED:
            refuse(change.after or "")
        return [change]

    def _verdict_now(self, proposal: Proposal, candidate: Candidate, plan: Plan, place: MemoryRoot) -> Verdict:
        """The verdict anew. It is a function of the candidate and the store: where the store is as it was, so is it."""
        if proposal.states.get(plan.scope) == place.state:
            return plan.verdict
        return decide(candidate, [one for one, _ in self._planning.known(candidate, place)])

    def _target(self, id: str, plan: Plan, place: MemoryRoot) -> _Target | None:
        """The file that a plan changes, if it still says what it said when the person saw the plan."""
        for row in place.index.by_id(id):
            if row.memory is None or row.memory.tier or row.memory.type != plan.verdict.target_type:
                continue
            try:
                text = folder.text_of(place.root, row.path)
                memory = memory_file.parse(text, path=row.path)
            except InvalidInput:
                return None
            if memory.actual_hash != plan.target_hash:
                return None
            return _Target(path=row.path, text=text, memory=memory, standing=place.standing(row))
        return None

    def _update(self, candidate: Candidate, target: _Target, place: MemoryRoot, by: str) -> FileChange:
        """The wording is replaced, never joined with the old one; lists grow; all else in the file stays."""
        memory = target.memory
        today = self._now()[:10]
        fields: dict[str, Any] = {"revision": memory.revision + 1, "updated": today, "last_confirmed": today}
        if memory.schema_version < 3:
            fields |= {
                "schema_version": 3,
                "id": memory.id,
                "type": memory.type,
                "scope": place.root.scope,
                "authority": memory.authority,
            }
        for name in ("tags", "triggers", "depends_on", "evidence_refs", "derived_from"):
            joined = tuple(dict.fromkeys((*getattr(memory, name), *getattr(candidate, name))))
            if joined != getattr(memory, name):
                fields[name] = joined
        for name in ("valid_from", "valid_until"):
            if getattr(candidate, name):
                fields[name] = getattr(candidate, name)
        if not candidate.valid_until and is_expired(memory, today=today):
            fields["valid_until"] = None  # who says it anew means it to hold
        if candidate.role:
            fields["role"] = candidate.role
        if candidate.always:
            fields["always"] = True
        if candidate.confidence:
            fields["confidence"] = candidate.confidence
        if not memory.author:
            fields["author"] = by
        # A title that was read off the old text would go on saying it.
        is_given = candidate.title != title_for(candidate.text)
        is_derived = memory.title.rstrip(".") == title_for(memory.text).rstrip(".")
        after = memory_file.change(
            target.text,
            fields,
            content=candidate.text,
            title=candidate.title if is_given or is_derived else None,
            origin=candidate.origin or None,
            variants=candidate.variants or None,
        )
        return _file(target.path, target.text, after)

    def _superseded(self, target: _Target, successor: str) -> FileChange:
        fields = {"lifecycle": "superseded", "superseded_by": successor, "updated": self._now()[:10]}
        return _file(target.path, target.text, memory_file.change(target.text, fields))

    def _promoted(self, candidate: Candidate, place: MemoryRoot) -> list[FileChange]:
        """A note that becomes a memory goes."""
        if not candidate.source.startswith("note:"):
            return []
        for row in place.index.by_id(candidate.source.removeprefix("note:")):
            if row.memory is not None and row.memory.tier:
                before = folder.text_of(place.root, row.path)
                return [FileChange(path=row.path, before=before, after=None, id=row.memory.id, type=row.memory.type)]
        return []

    def _note(self, proposal: Proposal, candidate: Candidate, plan: Plan) -> tuple[Outcome, list[FileChange]]:
        today = self._now()[:10]
        memory = Memory(
            id=plan.id,
            type=candidate.type,
            title=candidate.title,
            text=candidate.text,
            authority="reference",
            confidence="medium",
            created=today,
            updated=today,
            valid_from=today,
            valid_until=proposal.note["valid_until"],
            source="note",
            tier="working",
            objective=proposal.note["objective"],
            author=proposal.by,
        )
        text = memory_file.render(memory, scope=plan.scope)
        outcome = Outcome(
            number=1,
            scope=plan.scope,
            result="written",
            id=plan.id,
            path=plan.path,
            valid_until=memory.valid_until,
        )
        return outcome, [_file(plan.path, None, text)]


def _wrote(outcomes: Sequence[Outcome]) -> bool:
    return any(outcome.result not in ("deferred", "skipped") for outcome in outcomes)


def purge_notes(place: MemoryRoot, *, today: str) -> int:
    """Remove expired working notes; how many. The caller holds the lock."""
    gone = []
    for row in place.index.notes_at_work():
        if row.memory is not None and is_expired(row.memory, today=today):
            try:
                os.unlink(inside(place.root, row.path))
                gone.append(row.path)
            except (FileNotFoundError, NotFound):
                continue
            except OSError as error:
                raise StoreUnavailable(f"{row.path}: cannot be removed: {error.strerror}") from error
    if gone:
        place.took(gone)
    return len(gone)


def _file(path: str, before: str | None, after: str) -> FileChange:
    """A file as it will be, under the id and hash of the memory it then holds."""
    memory = memory_file.parse(after, path=path)
    return FileChange(
        path=path, before=before, after=after, id=memory.id, type=memory.type, content_hash=memory.actual_hash
    )


def _ways_out(verdict: Verdict) -> str:
    id = verdict.related[0] if verdict.related else ""
    answers = f"UPDATE: {id}, SUPERSEDES: {id}, DEPENDS_ON: {id} or KEEP: both" if id else "KEEP: both"
    return f"{verdict.doubt}; propose it again with {answers}"
