"""The only way a memory is written: propose, let a person approve, commit; and take it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from engram.core import proposal as waiting
from engram.core import times
from engram.core.candidate import MAX_CANDIDATES, Candidate, Parsed, one_candidate, parse_candidates, plain_candidate
from engram.core.clean import clean, redact
from engram.core.memory import MAX_TEXT_BYTES, TYPE_WORDS, TYPES, is_readable_id, name_for, title_for
from engram.core.proposal import Plan, Proposal, hash_token, numbers_of, same_digits, seal, unseal
from engram.core.standing import Standing
from engram.core.verdict import Action, Verdict
from engram.errors import Conflict, EngramError, InvalidInput, NotFound, Unsafe
from engram.services.committing import Committing
from engram.services.memory_roots import SETTLED, MemoryRoot, MemoryRoots, author
from engram.services.planning import Planning
from engram.services.proposed import MEMORY, NOTE, Committed, Preview, Proposed
from engram.services.refusals import refuse, refuse_candidate, refuse_instructions
from engram.services.undoing import Undoing
from engram.vault import folder, ledger, pending, setup
from engram.vault.config import roles
from engram.vault.ledger import Line

SAVE_SCOPES = ("workspace", "global", "both")
MAX_OBJECTIVE = 200
DECLINED_TEXT = "approval was declined in the approval dialog"


# Whether a pending record is the one that a person means.
_IsMeant = Callable[[Mapping[str, Any]], bool]


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
        self._planning = Planning(roots, now=now)
        self._committing = Committing(roots, self._planning, now=now, new_batch=new_batch)
        self._undoing = Undoing(roots, now=now, new_batch=new_batch)

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
        evidence: Sequence[str] = (),
        derived_from: Sequence[str] = (),
    ) -> Proposed:
        """Candidates out of `text` as a proposal. `evidence` and `derived_from` are what each of them cites besides.
        Raises `Unsafe` for secrets and forged instructions, all named."""
        parsed = self._read(text, type=type, is_single=is_single)
        candidates = [
            replace(
                one,
                role=one.role or tuple(roles),
                evidence_refs=tuple(dict.fromkeys((*one.evidence_refs, *evidence))),
                derived_from=tuple(dict.fromkeys((*one.derived_from, *derived_from))),
            )
            for one in parsed.candidates
        ]
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
        """These candidates as a proposal that waits for a person; raises as `propose`."""
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
        # Before the plans: what another process changes while they are made must not look as if they knew it.
        states = {place.root.scope: place.state for place in places}
        by, notice = self._author()
        candidates, plans = self._planned(candidates, places, by)
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
            states=states,
        ), notice

    def are_known(self, candidates: Sequence[Candidate], *, scope: str | None) -> list[bool]:
        """Whether the memories say already what each of these says, each looked at by itself."""
        if not candidates:
            return []
        for candidate in candidates:
            refuse_candidate(candidate)
        _, places = self._targets(scope)
        for place in places:
            place.refresh()
        by, _ = self._author()
        return [
            all(plan.verdict.action is Action.NOOP for plan in self._planned([candidate], places, by)[1])
            for candidate in candidates
        ]

    def _planned(
        self, candidates: Sequence[Candidate], places: Sequence[MemoryRoot], by: str
    ) -> tuple[list[Candidate], list[Plan]]:
        """The candidates with their types, and what approving each would do in each root, by number."""
        candidates = [self._planning.typed(candidate, places) for candidate in candidates]
        plans: list[Plan] = []
        for place in places:
            known: list[tuple[Candidate, Plan]] = []
            for candidate in candidates:
                plan = self._planning.plan(candidate, place, by, earlier=known)
                known.append((candidate, plan))
                plans.append(plan)
        plans.sort(key=lambda plan: plan.number)
        return candidates, plans

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
        id = self._planning.free_id(
            f"note-{name_for(TYPE_WORDS[kind], title, body)}"[:66], f"{body}{self._now()}", place
        )
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

    def _wait(self, proposal: Proposal, notices: Sequence[str]) -> Proposed:
        home = self._roots.pending_root
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
        return self._commit(_with_token(token.strip()), approve, how=how, scope=scope)

    def approve(self, name: str, approve: Any, *, how: str) -> Committed:
        """As `commit`, for a person who names the proposal by its first digits."""
        return self._commit(_with_name(name), approve, how=how, scope=None)

    def _commit(self, is_meant: _IsMeant, approve: Any, *, how: str, scope: str | None) -> Committed:
        home = self._roots.pending_root
        with home.ledger.locked():
            records = pending.read(home.root)
            at = _place_of(records, is_meant, hint="propose again; a token works once, for 30 minutes")
            proposal = self._opened(records[at], home)
            numbers = numbers_of(approve, len(proposal.candidates))
            if numbers is None:
                raise InvalidInput(
                    f'approve: must be "all" or numbers from 1 to {len(proposal.candidates)}',
                    hint='like "all" or [1, 3]; nothing was written, and the token still works',
                )
            plans = [plan for plan in proposal.plans if plan.number in numbers and _fits(plan, proposal, scope)]
            self._mark(home, records, at, proposal, waiting.USED)
            return self._committing.write(proposal, plans, how=how)

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
        self._settle(_with_token(token))

    def reject(self, name: str) -> Proposal:
        """As `decline`, for a person who names the proposal."""
        return self._settle(_with_name(name))

    def _settle(self, is_meant: _IsMeant) -> Proposal:
        home = self._roots.pending_root
        with home.ledger.locked():
            records = pending.read(home.root)
            at = _place_of(records, is_meant, hint="engram review")
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

    def waiting(self) -> list[Proposed]:
        """Proposals that a person may approve now, oldest first; damaged ones are left out."""
        home = self._roots.pending_root
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
        self,
        text: str,
        *,
        type: str | None = None,
        scope: str | None = None,
        roles: Sequence[str] = (),
        evidence: Sequence[str] = (),
        derived_from: Sequence[str] = (),
    ) -> Committed:
        """Write without asking: the explicit exception of `save-session --force`. What a person would have to answer
        (possible duplicates, replacements, dependencies) is deferred all the same, and the ledger says `force`."""
        proposed = self.propose(
            text,
            type=type,
            scope=scope,
            roles=roles,
            tool="save-session",
            evidence=evidence,
            derived_from=derived_from,
        )
        proposal = proposed.proposal
        home = self._roots.pending_root
        with home.ledger.locked():
            records = pending.read(home.root)
            at = _place_of(records, _with_token(proposed.token), hint="propose again")
            self._mark(home, records, at, proposal, waiting.USED)
            done = self._committing.write(proposal, proposal.plans, how="force")
        return replace(done, notices=proposed.notices)

    def undo(self, *, scope: str | None = None, name: str | None = None) -> Committed:
        """Take back the last batch of a root, or the one named; see `Undoing.undo`."""
        return self._undoing.undo(scope=scope, name=name)

    def _author(self) -> tuple[str, str]:
        return author(self._roots.folder, self._roots.settings())


def _fits(plan: Plan, proposal: Proposal, scope: str | None) -> bool:
    """Whether a plan is inside the scope that was chosen, which may narrow the proposal's and never widen it."""
    if scope in (None, "", "both") and (scope != "both" or proposal.scope == "both"):
        return True
    if scope not in ("workspace", "global") or proposal.scope not in ("both", scope):
        raise InvalidInput("scope: can only be narrowed", hint=f"proposed was {proposal.scope}")
    return plan.scope == scope


def _with_token(token: str) -> _IsMeant:
    wanted = hash_token(token)
    return lambda record: same_digits(str(record.get("token_hash", "")), wanted)


def _with_name(name: str) -> _IsMeant:
    if len(name) < 4 or not is_readable_id(name):
        return lambda record: False
    return lambda record: str(record.get("token_hash", "")).startswith(name.lower())


def _place_of(records: Sequence[Mapping[str, Any]], is_meant: _IsMeant, *, hint: str) -> int:
    """Where among the pending records the one that is meant stands. Raises `NotFound` with the hint."""
    for at, record in enumerate(records):
        if is_meant(record):
            return at
    raise NotFound("no such proposal waits in this workspace", hint=hint)


def _later(at: str, *, minutes: int) -> str:
    return times.stamp(times.read(at) + timedelta(minutes=minutes))


def role_names(text: str) -> list[str]:
    """Roles out of a text with commas. Raises `InvalidInput` for what is no name."""
    return roles(text)
