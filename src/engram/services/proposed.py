"""What proposing and approving give back."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.proposal import Plan, Proposal

MEMORY, NOTE = "memory", "note"


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
