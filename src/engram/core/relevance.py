"""How well a memory fits a task, and whether it fits at all: an unrelated task must find nothing.

Admission is a logistic score over a handful of counts. Its weights were fitted on questions and commit messages of real
repositories, with stores of 40, 300 and up to 6,000 memories: own questions against their memory, questions of other
repositories and of conversations against nothing (bench/memories.py measures it again).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from engram.core.query import Query
from engram.core.ranking import COVERAGE, TITLE_COVERAGE, Candidate, weights

# What orders the admitted.
TRIGGER = 0.2
INTENT = 0.1
WORKSPACE = 0.05

# What admits: see `evidence`.
BIAS = -1.63
COVERED = 2.2
COVERED_BY_TITLE = 3.2
WEIGHT = 0.25
RAREST = -0.12
NEIGHBOURS = 0.13
WORDS_ASKED = -0.87
WORDS_FOUND = 0.82
LENGTH = -0.59
STORE = -0.35
# The evidence that a memory needs among LARGE memories; the fewer there are, the less likely one fits by chance.
LARGE = 3000
NEEDED = 0.9
LESS_NEEDED = 0.12
LESS_NEEDED_POWER = 1.8
BROAD_BONUS = 2.0
# A trigger of several words admits by itself. One word does when it is this share of what the task is about (headings
# give triggers such as "add" and "style", which stand in many tasks); else it adds so much to the evidence.
TRIGGER_SHARE = 0.3
TRIGGERED = 0.7

# Verbs and nouns of every task, which say little about which one it is.
GENERIC_WEIGHT = 0.25
GENERIC = frozenset(
    """
    fix fixes fixing add adding implement change changing update create make build write remove use support improve
    refactor help need want please allow work works working get set new issue problem bug feature task code
    """.split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """`score` orders, `is_relevant` admits, `why` names the words in common."""

    score: float
    is_relevant: bool
    why: str


def task_weights(query: Query, counts: Sequence[int], total: int) -> list[float]:
    """The weight of each of the task's words, by the number of memories that have it: rare ones weigh more, those of
    every task little. A word that stands nowhere weighs no more than one that stands once, or a few strange words would
    outweigh all that a small store knows."""
    rarity = weights([max(count, 1) for count in counts], total)
    return [
        weight * (GENERIC_WEIGHT if at < len(query.terms) and query.terms[at].word in GENERIC else 1.0)
        for at, weight in enumerate(rarity)
    ]


def needed(total: int) -> float:
    """The evidence that admits a memory among `total`."""
    missing = max(0.0, log(LARGE + 1) - log(max(total, 1) + 1))
    return NEEDED - LESS_NEEDED * float(missing**LESS_NEEDED_POWER)


def relevant(
    candidate: Candidate,
    task: Sequence[float],
    *,
    query: Query,
    total: int,
    text: str,
    triggers: Sequence[str],
    suits_intent: bool,
    is_workspace: bool,
    is_broad: bool = False,
) -> Relevance:
    """Relevance of one candidate among `total` memories; `task` holds the weights of the task's words, `text` is what
    the memory says. A trigger that stands whole in the task and is a good part of it admits by itself."""
    everything = sum(task) or 1.0
    matched = sorted(at for at in candidate.matched if at < len(task))
    coverage = sum(task[at] for at in matched) / everything
    in_title = sum(task[at] for at in candidate.in_title if at < len(task)) / everything
    trigger, admits = _trigger(triggers, query, task)
    score = candidate.fit + COVERAGE * coverage + TITLE_COVERAGE * in_title
    score += TRIGGER * bool(trigger) + INTENT * suits_intent + WORKSPACE * is_workspace
    seen = evidence(
        coverage=coverage,
        in_title=in_title,
        weight=sum(task[at] for at in matched),
        rarest=max((task[at] for at in matched), default=0.0),
        neighbours=_side_by_side(query, task, text),
        asked=len(task),
        found=len(matched),
        length=len(text),
        total=total,
    )
    seen += TRIGGERED * bool(trigger)
    least = needed(total) - BROAD_BONUS * is_broad
    # What is common to all tasks is no reason to load anything.
    says_something = any(query.terms[at].word not in GENERIC for at in matched if at < len(query.terms))
    words = list(dict.fromkeys(query.terms[at].word for at in matched if at < len(query.terms)))
    why = f"shares {', '.join(words[:6])}" + (f"; trigger `{trigger}`" if trigger else "")
    return Relevance(score=score, is_relevant=admits or (says_something and seen >= least), why=why)


def _trigger(triggers: Sequence[str], query: Query, task: Sequence[float]) -> tuple[str, bool]:
    """The trigger that stands whole in the task, in the singular or the plural, or ""; and whether it admits by
    itself."""
    asked = f" {_folded(query.text)} "
    there = [(t, folded) for t in triggers if len(t) > 2 and f" {(folded := _folded(t))} " in asked]
    everything = sum(task) or 1.0
    shares = {_singular(term.word): weight / everything for term, weight in zip(query.terms, task, strict=False)}
    strong = next((t for t, folded in there if shares.get(folded, 1.0) >= TRIGGER_SHARE), "")
    return strong or (there[0][0] if there else ""), bool(strong)


def _folded(text: str) -> str:
    return " ".join(_singular(word.strip(".,;:!?()\"'`")) for word in text.casefold().split())


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def evidence(
    *,
    coverage: float,
    in_title: float,
    weight: float,
    rarest: float,
    neighbours: float,
    asked: int,
    found: int,
    length: int,
    total: int,
) -> float:
    """The log-odds that a memory is what the task is about.

    Shares of the task's weight covered by the memory and by its title; the weight itself, that of its rarest word and
    of words that stand side by side in both; numbers of words asked and found; the memory's length in characters; the
    number of memories.
    """
    return (
        BIAS
        + COVERED * coverage
        + COVERED_BY_TITLE * in_title
        + WEIGHT * weight
        + RAREST * rarest
        + NEIGHBOURS * neighbours
        + WORDS_ASKED * log(max(asked, 1))
        + WORDS_FOUND * found
        + LENGTH * log(1 + length / 6)
        + STORE * log(max(total, 1) + 1)
    )


def _side_by_side(query: Query, task: Sequence[float], text: str) -> float:
    places = {term.word: at for at, term in enumerate(query.terms[: len(task)])}
    said = text.casefold()
    total = 0.0
    for phrase in query.phrases:
        one, _, other = phrase.partition(" ")
        if one in places and other in places and phrase in said:
            total += min(task[places[one]], task[places[other]])
    return total
