"""How well a memory fits a task, and whether it fits at all: an unrelated task must find nothing.

The constants were chosen on questions and commit messages of real repositories (bench/memories.py): own questions must
find their memory, questions of other collections nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engram.core.query import Term
from engram.core.ranking import COVERAGE, TITLE_COVERAGE, Candidate

TRIGGER = 0.2
INTENT = 0.1
WORKSPACE = 0.05

# Share of the task's weight (rare words weigh more) that a memory must cover to be loaded by itself.
FLOOR = 0.35
# In a long task much is said beside the point; more words need a smaller share, down to this one.
LOWEST_FLOOR = 0.2
LONG_TASK = 12
# Words that a memory must share with a task of more than two words.
LEAST_WORDS = 2
BROAD = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """`score` orders, `is_relevant` admits, `why` names the words in common."""

    score: float
    is_relevant: bool
    why: str


def relevant(
    candidate: Candidate,
    idf: Sequence[float],
    *,
    terms: Sequence[Term],
    phrases: Sequence[str],
    query: str,
    suits_intent: bool,
    is_workspace: bool,
    is_broad: bool = False,
) -> Relevance:
    """Relevance of one candidate. `phrases` are its triggers; one that stands whole in the task admits it."""
    everything = sum(idf) or 1.0
    matched = [at for at in candidate.matched if at < len(idf)]
    coverage = sum(idf[at] for at in matched) / everything
    in_title = sum(idf[at] for at in candidate.in_title if at < len(idf)) / everything
    asked = f" {' '.join(query.casefold().split())} "
    trigger = next((p for p in phrases if f" {' '.join(p.casefold().split())} " in asked and len(p) > 2), "")
    score = candidate.fit + COVERAGE * coverage + TITLE_COVERAGE * in_title
    score += TRIGGER * bool(trigger) + INTENT * suits_intent + WORKSPACE * is_workspace
    floor = floor_for(len(idf)) * (BROAD if is_broad else 1.0)
    enough = len(matched) >= min(LEAST_WORDS, len(idf))
    words = list(dict.fromkeys(terms[at].word for at in sorted(matched) if at < len(terms)))
    why = f"shares {', '.join(words[:6])}" + (f"; trigger `{trigger}`" if trigger else "")
    return Relevance(score=score, is_relevant=bool(trigger) or (enough and coverage >= floor), why=why)


def floor_for(words: int) -> float:
    """The share of a task of so many words that must be covered."""
    if words <= 4:
        return FLOOR
    steps = min(words, LONG_TASK) - 4
    return FLOOR - (FLOOR - LOWEST_FLOOR) * steps / (LONG_TASK - 4)
