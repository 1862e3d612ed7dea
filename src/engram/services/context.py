"""What went on lately, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engram.core import times
from engram.core.observation import Observation, check_scope
from engram.core.ports import Filters, Reader, Store
from engram.core.quoting import defang
from engram.core.session import Prompt, SessionCard
from engram.core.text import count_tokens, preview
from engram.errors import InvalidInput
from engram.services.observations import SUMMARY
from engram.services.projects import Projects

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
SESSIONS = 5
PROMPTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the context: `text` is complete and names the id; `kind` is session, prompt or observation."""

    kind: str
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Lines that fit, in order of worth, and how many were left out for want of room."""

    project: str
    all_projects: bool
    lines: Sequence[Line]
    omitted: int
    tokens: int
    budget_tokens: int


class ContextService:
    def __init__(self, store: Store, projects: Projects, *, now: Callable[[], str], budget_tokens: int) -> None:
        self._store = store
        self._projects = projects
        self._now = now
        self._budget = budget_tokens

    def recent(self, *, project: str | None = None, scope: str | None = None, limit: int = DEFAULT_LIMIT) -> Context:
        """Recent sessions with summaries, prompts and observations.

        With a project: that one only. Without: the current project first, then the others, each row labelled.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInput(f"limit: must be from 1 to {MAX_LIMIT}")
        wanted = check_scope(scope) if scope is not None else "project"
        with self._store.read() as tx:
            key = self._projects.for_reading(tx, project)
            here = key if key is not None else self._projects.current_key(tx)
            lines = self._lines(tx, here, wanted, limit, only_here=key is not None)
            owner = tx.project(here)
        kept, tokens = _within(lines, self._budget)
        return Context(
            project=owner.name if owner else here,
            all_projects=key is None,
            lines=kept,
            omitted=len(lines) - len(kept),
            tokens=tokens,
            budget_tokens=self._budget,
        )

    def _lines(self, tx: Reader, here: str, scope: str, limit: int, *, only_here: bool) -> list[Line]:
        now = self._now()
        names: dict[str, str] = {}

        def label(key: str) -> str:
            """Empty for the project at hand; the name of any other, so that nobody takes it for this one."""
            if key == here:
                return ""
            if key not in names:
                owner = tx.project(key)
                names[key] = owner.name if owner else key
            return f" [{names[key]}]"

        # Personal notes belong to the person: they come along whichever project one asks about.
        filters = Filters(project=None if scope == "personal" else here, scope=scope)
        # A summary stands with its session.
        own = tx.recent_observations(filters, limit=limit, without_type=SUMMARY)
        sessions = tx.recent_sessions(here, limit=SESSIONS)
        prompts = tx.recent_prompts(here, limit=PROMPTS)
        lines = _section(sessions, prompts, own, label, now)
        if not only_here:
            rest: list[Observation] = []
            if scope != "personal" and len(own) < limit:
                rest = tx.recent_observations(
                    Filters(scope=scope), limit=limit - len(own), besides=here, without_type=SUMMARY
                )
            others = tx.recent_sessions(None, limit=max(0, SESSIONS - len(sessions)), besides=here)
            asked = tx.recent_prompts(None, limit=max(0, PROMPTS - len(prompts)), besides=here)
            lines += _section(others, asked, rest, label, now)
        return lines


def _section(
    sessions: Sequence[SessionCard],
    prompts: Sequence[Prompt],
    observations: Sequence[Observation],
    label: Callable[[str], str],
    now: str,
) -> list[Line]:
    lines = []
    for card in sessions:
        told = f": {preview(card.summary, 400)[0]}" if card.summary else ""
        state = "ended" if card.ended_at else "open"
        lines.append(
            Line(
                kind="session",
                id=card.id,
                text=f"- session {card.id}{label(card.project)} ({times.age(card.active_at, now)}, {state}, "
                f"{card.observations} saved){told}",
            )
        )
    for prompt in prompts:
        lines.append(
            Line(
                kind="prompt",
                id=str(prompt.id),
                text=f"- prompt {prompt.id}{label(prompt.project)} ({times.age(prompt.created_at, now)}): "
                f"{preview(prompt.content, 200)[0]}",
            )
        )
    for row in observations:
        lines.append(
            Line(
                kind="observation",
                id=str(row.id),
                text=f"- #{row.id} [{row.type}] {row.title}{label(row.project)} "
                f"({times.age(row.last_seen_at, now)}): {preview(row.content, 300)[0]}",
            )
        )
    return lines


def _within(lines: Sequence[Line], budget: int) -> tuple[list[Line], int]:
    """The lines that fit, skipping one too long for what is left in favour of shorter ones after it."""
    kept: list[Line] = []
    # Headings and the closing note.
    spent = 60
    for line in lines:
        # As it will be shown: marks on what reads like an order cost tokens, too.
        cost = count_tokens(defang(line.text)) + 1
        if spent + cost <= budget:
            kept.append(line)
            spent += cost
    return kept, spent
