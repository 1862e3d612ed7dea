"""The only way a memory is written: propose, let a person approve, commit; and take it back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from engram.core import proposal as waiting
from engram.core import times
from engram.core.candidate import MAX_CANDIDATES, Candidate, Parsed, one_candidate, parse_candidates, plain_candidate
from engram.core.clean import clean, redact
from engram.core.instructions import find_instructions
from engram.core.memory import (
    MAX_TEXT_BYTES,
    TYPE_WORDS,
    TYPES,
    Memory,
    default_authority,
    is_readable_id,
    name_for,
    title_for,
)
from engram.core.memory_ports import Indexed
from engram.core.proposal import Plan, Proposal, hash_token, numbers_of, same_digits, seal, unseal
from engram.core.query import parse
from engram.core.secrets import find_secrets
from engram.core.standing import Standing, is_expired, why_hidden
from engram.core.text import content_hash
from engram.core.verdict import Action, Known, Verdict, decide, normalised
from engram.errors import Conflict, EngramError, InvalidInput, NotFound, StoreUnavailable, Unsafe
from engram.services.memory_roots import SETTLED, MemoryRoot, MemoryRoots, author
from engram.vault import batch, folder, ledger, memory_file, pending, setup
from engram.vault.config import roles
from engram.vault.ledger import FileChange, Line
from engram.vault.roots import inside

MEMORY, NOTE = "memory", "note"
SAVE_SCOPES = ("workspace", "global", "both")
# Memories that a verdict looks at.
LIKE_IT = 20
MAX_OBJECTIVE = 200
DECLINED_TEXT = "approval was declined in the approval dialog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What waits for a person. `files` are the texts that would be written, by plan; `token` is known to the caller
    only."""

    proposal: Proposal
    token: str
    previews: tuple[Preview, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A plan with what it shows: the text before (for an UPDATE or SUPERSEDE) and after, and the `rest` of a file that
    nobody has approved as it is, which an UPDATE approves as well."""

    plan: Plan
    before: str
    after: str
    rest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one plan: written, updated, superseded, skipped or deferred, with the reason."""

    number: int
    scope: str
    result: str
    id: str
    path: str = ""
    reason: str = ""
    related: tuple[str, ...] = ()
    valid_until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """`batch` is "" when nothing was written."""

    outcomes: tuple[Outcome, ...]
    batch: str
    kind: str = MEMORY
    is_undo: bool = False
    notices: tuple[str, ...] = ()

    @property
    def wrote(self) -> bool:
        return any(outcome.result in ("written", "updated", "superseded") for outcome in self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A file that a plan changes, as it stands now."""

    path: str
    text: str
    memory: Memory
    standing: Standing


class Proposals:
    """`new_token` gives 32 random bytes as text, `new_batch` a name for a batch; times are RFC 3339 of `now`."""

    def __init__(
        self,
        roots: MemoryRoots,
        *,
        now: Callable[[], str],
        new_token: Callable[[], str],
        new_batch: Callable[[], str],
    ) -> None:
        self._roots = roots
        self._now = now
        self._new_token = new_token
        self._new_batch = new_batch

    # -- proposing -------------------------------------------------------------------------------------------------

    def propose(
        self,
        text: str,
        *,
        type: str | None = None,
        scope: str | None = None,
        roles: Sequence[str] = (),
        is_single: bool = False,
        tool: str = "engram_save_session",
    ) -> Proposed:
        """Candidates out of `text` as a proposal. Raises `Unsafe` for secrets and forged instructions, all named."""
        parsed = self._read(text, type=type, is_single=is_single)
        candidates = [replace(one, role=one.role or tuple(roles)) for one in parsed.candidates]
        return self.propose_candidates(candidates, scope=scope, tool=tool, notices=parsed.notes)

    def _read(self, text: str, *, type: str | None, is_single: bool) -> Parsed:
        if type is not None and type.strip().lower() not in TYPE_WORDS:
            raise InvalidInput("type: is not one", hint=f"one of: {', '.join(TYPES)} (`workflow` means skill)")
        if not clean(text[:10_000]).strip() and not text[10_000:].strip():
            raise InvalidInput("text: must not be blank")
        if len(text) > MAX_CANDIDATES * MAX_TEXT_BYTES:
            raise InvalidInput(f"text: is longer than {MAX_CANDIDATES * MAX_TEXT_BYTES // 1024} KB", hint="split it")
        refuse(text)
        if is_single:
            return Parsed(candidates=(one_candidate(text, type=type),), notes=())
        return parse_candidates(text, type=type)

    def propose_candidates(
        self, candidates: Sequence[Candidate], *, scope: str | None, tool: str, notices: Sequence[str] = ()
    ) -> Proposed:
        drafted, notice = self._drafted(candidates, scope=scope, tool=tool)
        return self._wait(drafted, (*notices, notice))

    def preview(self, candidates: Sequence[Candidate], *, scope: str | None, tool: str) -> Proposed:
        """What a proposal of these would say; nothing waits for a person by that."""
        drafted, _ = self._drafted(candidates, scope=scope, tool=tool)
        return Proposed(proposal=drafted, token="", previews=self._previews(drafted), notices=())

    def _drafted(self, candidates: Sequence[Candidate], *, scope: str | None, tool: str) -> tuple[Proposal, str]:
        """The proposal, not yet waiting, and a notice about its author."""
        for candidate in candidates:
            refuse_candidate(candidate)
        chosen, places = self._targets(scope)
        for place in places:
            place.refresh()
        by, notice = self._author()
        plans: list[Plan] = []
        for place in places:
            known: list[tuple[Candidate, Plan]] = []
            for candidate in candidates:
                plan = self._plan(candidate, place, by, earlier=known)
                known.append((candidate, plan))
                plans.append(plan)
        plans.sort(key=lambda plan: plan.number)
        return Proposal(
            token_hash="",
            root="",
            kind=MEMORY,
            tool=tool,
            scope=chosen,
            status=waiting.WAITING,
            created_at="",
            expires_at="",
            candidates=tuple(candidates),
            plans=tuple(plans),
            by=by,
            states={place.root.scope: place.state for place in places},
        ), notice

    def propose_note(
        self, text: str, *, objective: str | None = None, type: str | None = None, scope: str | None = None
    ) -> Proposed:
        """A short task note: redacted, refused when it forges instructions, written after one yes."""
        kind = (type or "knowledge").strip().lower()
        if kind not in TYPE_WORDS:
            raise InvalidInput("type: is not one", hint=f"one of: {', '.join(TYPES)}")
        if scope not in (None, "workspace", "global"):
            raise InvalidInput("scope: must be workspace or global")
        said = redact(text)
        if not said.text.strip():
            raise InvalidInput("text: must not be blank")
        refuse_instructions(f"{text}\n{objective or ''}")
        place = self._roots.named(scope or ("workspace" if self._roots.workspace is not None else "global"))
        body = clean(said.text).strip()
        title = title_for(body)
        today = self._now()[:10]
        id = self._free_id(f"note-{name_for(TYPE_WORDS[kind], title, body)}"[:66], f"{body}{self._now()}", place)
        days = int(self._roots.setting("load.working_ttl_days"))
        note = {
            "objective": " ".join(clean(objective or "").split())[:MAX_OBJECTIVE],
            "valid_until": (date.fromisoformat(today) + timedelta(days=days)).isoformat(),
        }
        candidate = replace(plain_candidate(body, type=TYPE_WORDS[kind], title=title), id=id, source="note")
        plan = Plan(
            number=1,
            scope=place.root.scope,
            verdict=Verdict(action=Action.ADD, reason="a working note"),
            id=id,
            path=f"{folder.WORKING}/{id}.md",
        )
        by, notice = self._author()
        notices = [f"replaced before saving: {', '.join(said.kinds)}"] if said.kinds else []
        return self._wait(
            Proposal(
                token_hash="",
                root="",
                kind=NOTE,
                tool="engram_note",
                scope=place.root.scope,
                status=waiting.WAITING,
                created_at="",
                expires_at="",
                candidates=(candidate,),
                plans=(plan,),
                by=by,
                note=note,
            ),
            (*notices, notice),
        )

    def _targets(self, scope: str | None) -> tuple[str, list[MemoryRoot]]:
        """The scope that is meant and its roots. A scope that nobody named falls back on the settings."""
        chosen = scope or str(self._roots.setting("scope"))
        if chosen not in SAVE_SCOPES:
            raise InvalidInput("scope: is not one", hint=f"one of: {', '.join(SAVE_SCOPES)}")
        if chosen != "global" and self._roots.workspace is None:
            raise NotFound(
                "this workspace has no memories yet", hint="a person runs `engram init`; or propose with scope global"
            )
        names = ("workspace", "global") if chosen == "both" else (chosen,)
        return chosen, [self._roots.named(name) for name in names]

    def _plan(
        self, candidate: Candidate, place: MemoryRoot, by: str, *, earlier: Sequence[tuple[Candidate, Plan]]
    ) -> Plan:
        """What approving a candidate would do, beside those `earlier` in the proposal. Raises `InvalidInput` for one
        that could not be written."""
        known = self._known(candidate, place)
        verdict = _beside(candidate, decide(candidate, [one for one, _ in known]), earlier)
        target = next((row for one, row in known if (one.id, one.type) == (verdict.target, verdict.target_type)), None)
        if verdict.action in (Action.UPDATE, Action.NOOP):
            id, path = verdict.target, target.path if target is not None else ""
        else:
            id = candidate.id or self._free_id(
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
            _check_writable(candidate, memory_file.render(self._memory(candidate, plan, by), scope=plan.scope), path)
        return plan

    def _free_id(self, base: str, about: str, place: MemoryRoot) -> str:
        """`base` and four hex digits: two people who save offline never make the same file of different texts."""
        digest = hashlib.sha256(about.encode("utf-8", "replace")).hexdigest()
        for length in (4, 8, 16, 32):
            id = f"{base}-{digest[:length]}"
            if not place.index.by_id(id):
                return id
        raise Conflict(f"no free id for `{base}`", hint="give the candidate an ID")

    def _known(self, candidate: Candidate, place: MemoryRoot) -> list[tuple[Known, Indexed]]:
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

    def _wait(self, proposal: Proposal, notices: Sequence[str]) -> Proposed:
        home = self._home(proposal)
        now = self._now()
        token = self._new_token()
        expires = times.stamp(times.read(now) + timedelta(minutes=waiting.MINUTES))
        proposal = replace(
            proposal,
            token_hash=hash_token(token),
            root=home.root.identity,
            created_at=now,
            expires_at=expires,
        )
        previews = self._previews(proposal)
        with home.ledger.locked():
            setup.complete(home.root)
            kept = [record for record in pending.read(home.root) if str(record.get("expires_at", "")) > now]
            records = [*kept[-(waiting.MAX_WAITING - 1) :], seal(proposal, home.ledger.key())]
            pending.write(home.root, records)
        return Proposed(
            proposal=proposal, token=token, previews=previews, notices=tuple(part for part in notices if part)
        )

    def _home(self, proposal: Proposal) -> MemoryRoot:
        """Where the pending record lies: the workspace's root if there is one."""
        found = self._roots.workspace
        return found if found is not None else self._roots.global_

    def _previews(self, proposal: Proposal) -> tuple[Preview, ...]:
        shown = []
        by_number = {candidate.number: candidate for candidate in proposal.candidates}
        for plan in proposal.plans:
            place = self._roots.named(plan.scope)
            before = rest = ""
            for row in place.index.by_id(plan.verdict.target) if plan.verdict.target else ():
                memory = row.memory
                if memory is None or memory.type != plan.verdict.target_type:
                    continue
                before = memory.text
                if plan.verdict.action is Action.UPDATE and place.standing(row) is not Standing.APPROVED:
                    rest = "\n\n".join(
                        part for part in (memory.origin, *memory.variants.values(), memory.extra) if part
                    )
                break
            shown.append(Preview(plan=plan, before=before, after=by_number[plan.number].text, rest=rest))
        return tuple(shown)

    # -- approving -------------------------------------------------------------------------------------------------

    def commit(self, token: str, approve: Any, *, how: str = "token", scope: str | None = None) -> Committed:
        """Write the approved candidates of the proposal that `token` belongs to.

        `approve` is "all" or candidate numbers; `scope` may narrow the proposal's. Everything wrong with the call is
        an error that leaves the token as it was; an attempted write uses it up.
        """
        wanted = hash_token(token.strip())
        return self._commit(
            lambda record: same_digits(str(record.get("token_hash", "")), wanted), approve, how=how, scope=scope
        )

    def approve(self, name: str, approve: Any, *, how: str) -> Committed:
        """As `commit`, for a person who names the proposal by its first digits."""
        return self._commit(lambda record: _is_named(record, name), approve, how=how, scope=None)

    def _commit(
        self, is_meant: Callable[[Mapping[str, Any]], bool], approve: Any, *, how: str, scope: str | None
    ) -> Committed:
        home = self._home_now()
        with home.ledger.locked():
            records = pending.read(home.root)
            at = next((at for at, record in enumerate(records) if is_meant(record)), None)
            if at is None:
                raise NotFound(
                    "no such proposal waits in this workspace", hint="propose again; a token works once, for 30 minutes"
                )
            proposal = self._opened(records[at], home)
            numbers = numbers_of(approve, len(proposal.candidates))
            if numbers is None:
                raise InvalidInput(
                    f'approve: must be "all" or numbers from 1 to {len(proposal.candidates)}',
                    hint='like "all" or [1, 3]; nothing was written, and the token still works',
                )
            plans = [plan for plan in proposal.plans if plan.number in numbers and _fits(plan, proposal, scope)]
            self._mark(home, records, at, proposal, waiting.USED)
            return self._write(proposal, plans, how=how)

    def _opened(self, record: Mapping[str, Any], home: MemoryRoot) -> Proposal:
        """A record that may still be approved. Distinct errors for every reason why not."""
        status = record.get("status")
        if status == waiting.DECLINED:
            raise Unsafe(DECLINED_TEXT, hint="a person said no; if the host answers by itself, use --no-elicitation")
        if status == waiting.USED:
            raise Conflict("this approval was used already; a token works once", hint="propose again")
        now = self._now()
        if str(record.get("expires_at", "")) <= now or str(record.get("created_at", "")) > _later(now, minutes=5):
            raise Conflict("this approval has expired; a token works for 30 minutes", hint="propose again")
        home.catch_up()
        digest = str(record.get("token_hash", ""))
        if home.index.is_approved(id=digest, type=SETTLED, content_hash=digest):
            raise Conflict("this approval was answered already; a token works once", hint="propose again")
        if record.get("root") != home.root.identity:
            raise Unsafe("this approval belongs to another workspace", hint="propose again here")
        return unseal(record, home.ledger.key())

    def decline(self, token: str) -> None:
        """A person said no: the token is dead."""
        wanted = hash_token(token)
        self._settle(lambda record: same_digits(str(record.get("token_hash", "")), wanted))

    def reject(self, name: str) -> Proposal:
        """As `decline`, for a person who names the proposal."""
        return self._settle(lambda record: _is_named(record, name))

    def _settle(self, is_meant: Callable[[Mapping[str, Any]], bool]) -> Proposal:
        home = self._home_now()
        with home.ledger.locked():
            records = pending.read(home.root)
            at = next((at for at, record in enumerate(records) if is_meant(record)), None)
            if at is None:
                raise NotFound("no such proposal waits in this workspace", hint="engram review")
            proposal = self._opened(records[at], home)
            self._mark(home, records, at, proposal, waiting.DECLINED)
            said = Line(
                event=ledger.DECLINED,
                at=self._now(),
                root=home.root.path,
                data={"proposal": proposal.token_hash},
            )
            home.ledger.append(said, lasting=False)
            return proposal

    def _mark(
        self, home: MemoryRoot, records: Sequence[Mapping[str, Any]], at: int, proposal: Proposal, status: str
    ) -> None:
        # What is settled is kept to say so, without what it was about.
        settled = seal(replace(proposal, status=status, candidates=(), plans=(), note={}), home.ledger.key())
        now = self._now()
        rest = [settled if n == at else record for n, record in enumerate(records)]
        pending.write(home.root, [row for row in rest if str(row.get("expires_at", "")) > now])

    def _home_now(self) -> MemoryRoot:
        found = self._roots.workspace
        return found if found is not None else self._roots.global_

    def waiting(self) -> list[Proposed]:
        """Proposals that a person may approve now, oldest first; damaged ones are left out."""
        home = self._home_now()
        found = []
        for place in self._roots.existing():
            place.refresh()
        for record in pending.read(home.root):
            try:
                proposal = self._opened(record, home)
            except EngramError:
                continue
            found.append(Proposed(proposal=proposal, token="", previews=self._previews(proposal), notices=()))
        return found

    def force(
        self, text: str, *, type: str | None = None, scope: str | None = None, roles: Sequence[str] = ()
    ) -> Committed:
        """Write without asking: the explicit exception of `save-session --force`. What a person would have to answer
        (possible duplicates, replacements, dependencies) is deferred all the same, and the ledger says `force`."""
        proposed = self.propose(text, type=type, scope=scope, roles=roles, tool="save-session")
        proposal = proposed.proposal
        home = self._home_now()
        with home.ledger.locked():
            records = pending.read(home.root)
            at = next(n for n, row in enumerate(records) if row.get("token_hash") == proposal.token_hash)
            self._mark(home, records, at, proposal, waiting.USED)
            done = self._write(proposal, proposal.plans, how="force")
        return replace(done, notices=proposed.notices)

    # -- writing ---------------------------------------------------------------------------------------------------

    def _write(self, proposal: Proposal, plans: Sequence[Plan], *, how: str) -> Committed:
        """One batch per root. The caller holds the lock of the pending record's root."""
        by_number = {candidate.number: candidate for candidate in proposal.candidates}
        for candidate in proposal.candidates:
            refuse_candidate(candidate) if proposal.kind == MEMORY else refuse_instructions(candidate.text)
        outcomes: list[Outcome] = []
        name = self._new_batch()
        for scope in dict.fromkeys(plan.scope for plan in plans):
            place = self._roots.named(scope)
            with self._locked_besides(place):
                if not place.root.exists:
                    setup.create(place.root)
                place.refresh()
                changes: dict[str, FileChange] = {}
                for plan in (plan for plan in plans if plan.scope == scope):
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
                    batch.commit(place.root, place.ledger, line)
                    place.took(tuple(changes))
                purge_notes(place, today=self._now()[:10])
        wrote = any(outcome.result not in ("deferred", "skipped") for outcome in outcomes)
        return Committed(outcomes=tuple(outcomes), batch=name if wrote else "", kind=proposal.kind)

    @contextmanager
    def _locked_besides(self, place: MemoryRoot) -> Iterator[None]:
        """The lock of a root, unless it is the one that is held already."""
        with ExitStack() as stack:
            if place.root.identity != self._home_now().root.identity:
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
        memory = self._memory(candidate, plan, proposal.by)
        result, reason = "written", ""
        if target is not None:
            memory = replace(memory, supersedes=(verdict.target,))
            made += changed
            result, reason = "superseded", f"replaces {verdict.target}"
        made.append(_new_file(plan.path, memory_file.render(memory, scope=plan.scope)))
        return replace(ended(result, reason), path=plan.path), made

    def _changed(
        self, candidate: Candidate, verdict: Verdict, target: _Target | None, plan: Plan, place: MemoryRoot, by: str
    ) -> list[FileChange]:
        """The change of the target's own file. Raises `Unsafe` where it would approve what nobody has looked at."""
        if target is None:
            return []
        if verdict.action is not Action.UPDATE:
            return [self._superseded(target, plan.id)]
        change = self._update(candidate, target, place, by)
        if target.standing is not Standing.APPROVED:
            refuse(change.after or "")
        return [change]

    def _verdict_now(self, proposal: Proposal, candidate: Candidate, plan: Plan, place: MemoryRoot) -> Verdict:
        """The verdict anew. It is a function of the candidate and the store: where the store is as it was, so is it."""
        if proposal.states.get(plan.scope) == place.state:
            return plan.verdict
        return decide(candidate, [one for one, _ in self._known(candidate, place)])

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

    def _memory(self, candidate: Candidate, plan: Plan, by: str) -> Memory:
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
        return _changed_file(target.path, target.text, after)

    def _superseded(self, target: _Target, successor: str) -> FileChange:
        fields = {"lifecycle": "superseded", "superseded_by": successor, "updated": self._now()[:10]}
        return _changed_file(target.path, target.text, memory_file.change(target.text, fields))

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
        return outcome, [_new_file(plan.path, text)]

    def _author(self) -> tuple[str, str]:
        return author(self._roots.folder, self._roots.settings())

    # -- taking back -----------------------------------------------------------------------------------------------

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
                by=self._author()[0],
                batch=self._new_batch(),
                changes=tuple(ledger.undo_of(line)),
                data={"of": line.batch, "revoked": _revoked(place, line)},
            )
            try:
                batch.commit(place.root, place.ledger, undone)
            except Conflict as error:
                raise Conflict(
                    error.message.replace("meanwhile", "since"), hint="take the change back by hand, or with Git"
                ) from error
            place.took(tuple(change.path for change in undone.changes))
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


def refuse(text: str) -> None:
    """Raises `Unsafe` that lists every secret and every forged instruction by line and kind, never its value."""
    found = [f"line {one.line}: {one.kind}" for one in find_secrets(text)]
    if found:
        raise Unsafe(
            f"a memory must not hold secrets ({'; '.join(found)}); nothing was saved",
            hint="say where the secret is kept instead, or mark a line that only looks like one with engram:allow",
        )
    refuse_instructions(text)


def refuse_instructions(text: str) -> None:
    found = [f"line {one.line}: {one.kind}" for one in find_instructions(text)]
    if found:
        raise Unsafe(
            f"reads like instructions to the model instead of knowledge ({'; '.join(found)}); nothing was saved",
            hint="say in plain words what is true or wanted in the project",
        )


def refuse_candidate(candidate: Candidate) -> None:
    """Every field that reaches the file."""
    refuse(candidate.text)
    others = [candidate.title, candidate.origin, *candidate.triggers, *candidate.tags, *candidate.role]
    refuse("\n".join((*others, *candidate.variants.values(), *candidate.depends_on)))


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


def _new_file(path: str, text: str) -> FileChange:
    memory = memory_file.parse(text, path=path)
    return FileChange(
        path=path, before=None, after=text, id=memory.id, type=memory.type, content_hash=memory.actual_hash
    )


def _changed_file(path: str, before: str, after: str) -> FileChange:
    memory = memory_file.parse(after, path=path)
    return FileChange(
        path=path, before=before, after=after, id=memory.id, type=memory.type, content_hash=memory.actual_hash
    )


def _fits(plan: Plan, proposal: Proposal, scope: str | None) -> bool:
    """Whether a plan is inside the scope that was chosen, which may narrow the proposal's and never widen it."""
    if scope in (None, "", "both") and (scope != "both" or proposal.scope == "both"):
        return True
    if scope not in ("workspace", "global") or proposal.scope not in ("both", scope):
        raise InvalidInput("scope: can only be narrowed", hint=f"proposed was {proposal.scope}")
    return plan.scope == scope


def _is_named(record: Mapping[str, Any], name: str) -> bool:
    return len(name) >= 4 and is_readable_id(name) and str(record.get("token_hash", "")).startswith(name.lower())


def _later(at: str, *, minutes: int) -> str:
    return times.stamp(times.read(at) + timedelta(minutes=minutes))


def _ways_out(verdict: Verdict) -> str:
    id = verdict.related[0] if verdict.related else ""
    answers = f"UPDATE: {id}, SUPERSEDES: {id}, DEPENDS_ON: {id} or KEEP: both" if id else "KEEP: both"
    return f"{verdict.doubt}; propose it again with {answers}"


def _revoked(place: MemoryRoot, undone: Line) -> list[list[str]]:
    """The approvals that go with a batch: those that no other batch has given."""
    given = {(one.type, one.id, one.content_hash) for one in undone.changes if one.content_hash}
    for line in place.ledger.lines():
        if line.event == ledger.COMMIT and line.is_sealed and line.batch != undone.batch:
            given -= {(one.type, one.id, one.content_hash) for one in line.changes}
    return sorted([kind, id, said] for kind, id, said in given)


def _last_batch(place: MemoryRoot, name: str | None) -> Line | None:
    taken_back = set()
    found: list[Line] = []
    for line in place.ledger.lines():
        if line.root != place.root.path or not line.is_sealed:
            continue
        if line.event == ledger.UNDO:
            taken_back.add(str(line.data.get("of", "")))
        elif line.event == ledger.COMMIT:
            found.append(line)
    for line in reversed(found):
        if line.batch not in taken_back and (name is None or line.batch == name):
            return line
    return None


def role_names(text: str) -> list[str]:
    """Roles out of a text with commas. Raises `InvalidInput` for what is no name."""
    return roles(text)
