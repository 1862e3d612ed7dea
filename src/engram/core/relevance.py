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
from engram.core.ranking import COVERAGE, TITLE_COVERAGE, Candidate

# What orders the admitted.
TRIGGER = 0.2
INTENT = 0.1
WORKSPACE = 0.05

# What admits: see `evidence`.
BIAS = -2.1
COVERED = 2.7
COVERED_BY_TITLE = 3.8
WEIGHT = 1.3
RAREST = -1.6
NEIGHBOURS = 0.9
WORDS_ASKED = -0.63
WORDS_FOUND = 0.9
LENGTH = -0.71
STORE = -0.2
ADMITTED = 0.25
# In a small store a doubtful memory costs little and misses more.
SMALL_STORE = 300
SMALL_STORE_BONUS = 0.75
BROAD_BONUS = 2.0

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


def task_weights(query: Query, idf: Sequence[float]) -> list[float]:
    """The weight of each of the task's words: rare ones weigh more, those of every task little."""
    return [
        weight * (GENERIC_WEIGHT if at < len(query.terms) and query.terms[at].word in GENERIC else 1.0)
        for at, weight in enumerate(idf)
    ]


def relevant(
    candidate: Candidate,
    weights: Sequence[float],
    *,
    query: Query,
    total: int,
    text: str,
    triggers: Sequence[str],
    suits_intent: bool,
    is_workspace: bool,
    is_broad: bool = False,
) -> Relevance:
    """Relevance of one candidate among `total` memories; `weights` are those of the task's words, `text` is what the
    memory says. A trigger that stands whole in the task admits by itself."""
    everything = sum(weights) or 1.0
    matched = sorted(at for at in candidate.matched if at < len(weights))
    coverage = sum(weights[at] for at in matched) / everything
    in_title = sum(weights[at] for at in candidate.in_title if at < len(weights)) / everything
    asked = f" {' '.join(query.text.casefold().split())} "
    trigger = next((t for t in triggers if len(t) > 2 and f" {' '.join(t.casefold().split())} " in asked), "")
    score = candidate.fit + COVERAGE * coverage + TITLE_COVERAGE * in_title
    score += TRIGGER * bool(trigger) + INTENT * suits_intent + WORKSPACE * is_workspace
    size = log(max(total, 1) + 1)
    least = ADMITTED - SMALL_STORE_BONUS * max(0.0, 1 - size / log(SMALL_STORE + 1)) - BROAD_BONUS * is_broad
    seen = evidence(
        coverage=coverage,
        in_title=in_title,
        weight=sum(weights[at] for at in matched) / size,
        rarest=max((weights[at] for at in matched), default=0.0) / size,
        neighbours=_side_by_side(query, weights, text) / size,
        asked=len(weights),
        found=len(matched),
        length=len(text),
        size=size,
    )
    words = list(dict.fromkeys(query.terms[at].word for at in matched if at < len(query.terms)))
    why = f"shares {', '.join(words[:6])}" + (f"; trigger `{trigger}`" if trigger else "")
    return Relevance(score=score, is_relevant=bool(trigger) or (bool(matched) and seen >= least), why=why)


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
    size: float,
) -> float:
    """The log-odds that a memory is what the task is about.

    Shares of the task's weight covered by the memory and by its title; the weight itself, that of its rarest word and
    of words that stand side by side in both, over the logarithm of the store's size; numbers of words asked and
    found; the memory's length in characters.
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
        + STORE * size
    )


def _side_by_side(query: Query, weights: Sequence[float], text: str) -> float:
    places = {term.word: at for at, term in enumerate(query.terms[: len(weights)])}
    said = text.casefold()
    total = 0.0
    for phrase in query.phrases:
        one, _, other = phrase.partition(" ")
        if one in places and other in places and phrase in said:
            total += min(weights[places[one]], weights[places[other]])
    return total
