"""Read memories: the right few for a task within a budget, one by its id, or a list of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from engram.core.intent import Intent, read_intent
from engram.core.pack import DISCLOSURES, MAX_BUDGET, MIN_BUDGET, Choice, Disclosure, Pack, build
from engram.core.query import parse
from engram.core.quoting import defang
from engram.core.text import count_tokens
from engram.errors import InvalidInput, NotFound
from engram.services.choosing import POOL, Scene, Selection, choose, is_first, named, near, ranked, seen_in
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.services.memory_showing import (
    Entry,
    Seen,
    body_of,
    card_of,
    entry_of,
    heading_of,
    missing_profile,
    why_no_body,
)
from engram.vault.config import Setting

MAX_FULL = 32
MAX_SEARCH = 100
DEFAULT_SEARCH = 20
# Hosts cut what is longer than 10,000 characters.
LONGEST_INDEX = 9_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Why a memory is in a pack or not: `place` is body, card, omitted or left out."""

    id: str
    type: str
    scope: str
    score: float
    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A pack and where its memories are: keys as `scope:type:id`, and ids as `engram_load` takes them. `budget` is what
    all that is said about it may count, None for no limit."""

    pack: Pack
    card_ids: tuple[str, ...]
    omitted_ids: tuple[str, ...]
    explained: tuple[Explained, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """What kind of task it is, and the memories it routes to, in the order in which they would be loaded."""

    intent: Intent
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntries:
    entries: tuple[Entry, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Cards of what there is, and how many more there are."""

    cards: tuple[str, ...]
    more: int


class Memories:
    """`evidence` gives cards of observations for a task: their lines, at most so many as asked for."""

    def __init__(
        self,
        roots: MemoryRoots,
        *,
        now: Callable[[], str],
        evidence: Callable[[str, int], Sequence[str]] | None = None,
    ) -> None:
        self._roots = roots
        self._now = now
        self._evidence = evidence

    # -- loading ---------------------------------------------------------------------------------------------------

    def load(
        self,
        query: str | None = None,
        *,
        budget_tokens: int | None = None,
        disclosure: str = "auto",
        full: bool = False,
        explain: bool = False,
        objective: str = "",
        unasked: bool = False,
    ) -> Loaded:
        """A pack for a task; without a task the always-on memories and cards of the newest and most used.

        `full` is the broad form: more matches, whole bodies, no budget. `objective` lets working notes of that
        objective appear as cards. `unasked` is for a pack that nobody called for: out of trusted roots only, and
        without what is always on, which the session began with. Raises `InvalidInput` for a budget or disclosure that
        is not one.
        """
        if disclosure not in DISCLOSURES:
            raise InvalidInput("disclosure: is not one", hint=f"one of: {', '.join(DISCLOSURES)}")
        scene = self._scene(trusted_only=unasked)
        budget = budget_tokens if budget_tokens is not None else int(scene.settings["load.max_tokens"].value)
        if not MIN_BUDGET <= budget <= MAX_BUDGET:
            raise InvalidInput(f"budget_tokens: must be from {MIN_BUDGET} to {MAX_BUDGET:,}")
        limit = MAX_FULL if full else int(scene.settings["load.limit"].value)
        chosen = choose(query, scene, limit=limit, objective=objective, is_broad=full)
        if unasked:
            chosen.always.clear()
            chosen.cards.clear()
        choices = choices_of(chosen, scene.settings, full=full)

        def packed(footer: str) -> Pack:
            return build(
                choices,
                budget=None if full else budget,
                disclosure=cast("Disclosure", "auto" if full else disclosure),
                heading=lambda bodies, cards, omitted: heading_of(query, bodies, cards, omitted, len(choices)),
                footer=footer,
            )

        footer = self._evidence_cards(query) if not full and disclosure != "bodies" else ""
        pack = packed(footer)
        if footer and pack.omitted:  # evidence comes only when room is left
            pack = packed("")
        names = {choice.key: choice.name for choice in choices}
        self._count(chosen, pack.bodies)
        return Loaded(
            pack=pack,
            card_ids=tuple(names[key] for key in pack.cards),
            omitted_ids=tuple(names[key] for key in pack.omitted),
            explained=_explained(chosen, pack) if explain else (),
            missing=tuple(dict.fromkeys(chosen.missing)),
            notes=tuple(dict.fromkeys(_trust_notes(self._roots))),
            budget=None if full else budget,
        )

    def fetch(self, ids: str) -> Loaded:
        """Memories by id (several with commas), whole, whatever the budget. Unknown ids are named in `missing`; safety
        holds: what may not be shown comes as a card with the reason. Raises `NotFound` when none is there."""
        wanted = [id.strip() for id in ids.split(",") if id.strip()]
        if not wanted:
            raise InvalidInput("id: must not be blank")
        scene = self._scene()
        chosen = Selection()
        if len(wanted) > MAX_FULL:
            chosen.missing += wanted[MAX_FULL:]
        for name in wanted[:MAX_FULL]:
            found = named(name, scene)
            if not found:
                chosen.missing.append(name)
            for seen in found:
                if seen.key not in {other.key for other, _, _ in chosen.matches}:
                    chosen.matches.append((seen, 1.0, "asked for by id"))
        if not chosen.matches:
            close = near(wanted[0], scene)
            raise NotFound(
                f"no memory with the id {', '.join(f'`{defang(name)[:80]}`' for name in wanted[:5])}",
                hint=f"near: {', '.join(close)}" if close else "`engram_search` finds ids",
            )
        choices = choices_of(chosen, scene.settings, full=True, by_id=True)
        pack = build(choices, budget=None, heading=lambda bodies, cards, omitted: "")
        pack = replace(pack, text=pack.text.strip(), tokens=count_tokens(pack.text.strip()))
        names = {choice.key: choice.name for choice in choices}
        self._count(chosen, pack.bodies)
        return Loaded(
            pack=pack,
            card_ids=tuple(names[key] for key in pack.cards),
            omitted_ids=(),
            missing=tuple(f"not found: {defang(name)[:80]}" for name in chosen.missing),
            notes=(f"only the first {MAX_FULL} ids were looked for",) if len(wanted) > MAX_FULL else (),
        )

    def route(self, task: str) -> Routed:
        """What kind of task it is, and what it would load."""
        scene = self._scene()
        intent = read_intent(task)
        chosen = choose(task, scene, limit=int(scene.settings["load.limit"].value))
        scores = {seen.key: score for seen, score, _ in chosen.matches}
        matched = [seen for seen, _, _ in chosen.matches]
        order = _load_order([*chosen.always, *chosen.needed, *matched], chosen.needs)
        return Routed(intent=intent, entries=tuple(entry_of(seen, scores.get(seen.key, 0.0)) for seen in order))

    def search(self, query: str, *, limit: int = DEFAULT_SEARCH, type: str | None = None) -> FoundEntries:
        """Memories by words, best first; what is hidden is not found."""
        if not 1 <= limit <= MAX_SEARCH:
            raise InvalidInput(f"limit: must be from 1 to {MAX_SEARCH}")
        scene = self._scene()
        order = ranked(parse(query), scene, Intent(kind="unknown", confidence=0.0))
        shown = [
            (seen, score)
            for seen, score, _ in order
            if not seen.hidden and seen.memory.type == (type or seen.memory.type) and is_first(seen, scene)
        ]
        return FoundEntries(
            entries=tuple(entry_of(seen, score.score) for seen, score in shown[:limit]), total=len(shown)
        )

    def matching_cards(self, query: str, *, limit: int = 3) -> list[Entry]:
        """Up to three memories for a search of observations; nothing that is not relevant."""
        scene = self._scene()
        if not scene.places:
            return []
        chosen = choose(query, scene, limit=limit)
        return [entry_of(seen, score) for seen, score, _ in chosen.matches[:limit]]

    def index(self) -> Listed:
        """One line for each memory that may be seen, workspace first, as many as LONGEST_INDEX characters hold."""
        scene = self._scene()
        cards: list[str] = []
        length = more = 0
        for place in scene.places:
            for row in place.index.everything():
                seen = seen_in(place, row, scene)
                if seen is None or seen.hidden or seen.memory.tier:
                    continue
                if not more:
                    cards.append(card_of(seen, ""))
                    length += len(cards[-1]) + 1
                if length > LONGEST_INDEX:
                    more += 1
        if more:
            cards.pop()  # the one that did not fit
        return Listed(cards=tuple(cards), more=more)

    def resources(self, limit: int) -> list[Entry]:
        """The memories that are used most, for a client's list; ties by the latest update, then id."""
        scene = self._scene()
        found: dict[str, tuple[Seen, int]] = {}
        for place in scene.places:
            for row in place.index.most_used(limit + POOL if limit else 0):
                seen = seen_in(place, row, scene)
                if seen is not None and not seen.hidden and f"{seen.memory.type}:{seen.memory.id}" not in found:
                    found[f"{seen.memory.type}:{seen.memory.id}"] = (seen, row.fetches)
        ordered = sorted(found.values(), key=lambda pair: pair[0].memory.id)
        ordered.sort(key=lambda pair: pair[0].memory.updated, reverse=True)
        ordered.sort(key=lambda pair: -pair[1])
        return [entry_of(seen, float(fetches)) for seen, fetches in ordered[:limit]]

    def _scene(self, *, trusted_only: bool = False) -> Scene:
        settings = self._roots.settings()
        places = [place for place in self._roots.existing() if place.trust.is_trusted or not trusted_only]
        today = self._now()[:10]
        around = {place.root.path: self._roots.circumstances(place, today=today, settings=settings) for place in places}
        return Scene(settings=settings, places=places, around=around)

    # -- showing ---------------------------------------------------------------------------------------------------

    def _evidence_cards(self, query: str | None) -> str:
        if self._evidence is None or not query or not query.strip():
            return ""
        cards = self._evidence(query, 3)
        if not cards:
            return ""
        return "\n".join(["Evidence, not approved (observations; mem_get_observation):", *cards])

    def _count(self, chosen: Selection, bodies: Iterable[str]) -> None:
        by_place: dict[str, tuple[MemoryRoot, list[tuple[str, str]]]] = {}
        shown = set(bodies)
        for seen in chosen.everything():
            if seen.key in shown:
                by_place.setdefault(seen.place.root.path, (seen.place, []))[1].append(
                    (seen.memory.type, seen.memory.id)
                )
        for place, keys in by_place.values():
            place.index.count_fetches(keys, at=self._now())


def choices_of(
    chosen: Selection, settings: Mapping[str, Setting], *, full: bool = False, by_id: bool = False
) -> list[Choice]:
    """What was chosen, rendered both ways, for the budget to decide."""
    everything = chosen.everything()
    ids = [seen.memory.id for seen in everything]
    choices = []
    kinds = {
        **{seen.key: "card" for seen in chosen.cards},
        **{seen.key: "needed" for seen in chosen.needed},
        **{seen.key: "always" for seen in chosen.always},
        **{seen.key: "match" for seen, _, _ in chosen.matches},
    }
    for seen in everything:
        reason = why_no_body(seen, by_id=by_id, is_broad=full)
        name = seen.memory.id if ids.count(seen.memory.id) == 1 else seen.key
        choices.append(
            Choice(
                key=seen.key,
                name=name,
                kind=kinds[seen.key],
                body=body_of(seen, settings, full=full) if not reason else "",
                card=card_of(seen, reason, name=name),
                card_only=reason,
                needs=chosen.needs.get(seen.key, ()),
            )
        )
    return choices


def _explained(chosen: Selection, pack: Pack) -> tuple[Explained, ...]:
    places = (
        dict.fromkeys(pack.bodies, "body") | dict.fromkeys(pack.cards, "card") | dict.fromkeys(pack.omitted, "omitted")
    )
    reasons: dict[str, tuple[Seen, float, str]] = {}
    for seen, score, why in chosen.matches:
        reasons[seen.key] = (seen, score, why)
    for kind, group in (("always on", chosen.always), ("a prerequisite", chosen.needed), ("a card", chosen.cards)):
        for seen in group:
            reasons.setdefault(seen.key, (seen, 0.0, kind))
    rows = [
        Explained(
            id=seen.memory.id,
            type=seen.memory.type,
            scope=seen.scope,
            score=round(score, 4),
            place=places[key],
            reason="; ".join(part for part in (why, seen.card_only) if part),
        )
        for key, (seen, score, why) in reasons.items()
    ]
    rows += [
        Explained(
            id=seen.memory.id,
            type=seen.memory.type,
            scope=seen.scope,
            score=round(score, 4),
            place="left out",
            reason=why,
        )
        for seen, score, why in chosen.left_out
    ]
    return tuple(rows)


def _load_order(seen: Sequence[Seen], needs: Mapping[str, tuple[str, ...]]) -> list[Seen]:
    """Each after what it needs, as bodies stand in a pack."""
    from engram.core.pack import needs_first

    by_key = {one.key: one for one in seen}
    return [by_key[key] for key in needs_first(list(by_key), needs)]


def _trust_notes(roots: MemoryRoots) -> list[str]:
    """What a person should know about the roots themselves."""
    place = roots.workspace
    notes = [*roots.problems, *missing_profile(roots), *(place.diagnostics if place is not None else ())]
    return notes + _untrusted(place) if place is not None else notes


def _untrusted(place: MemoryRoot) -> list[str]:
    if place.trust.is_trusted:
        return []
    counts = place.index.counts()
    if not counts["memories"]:
        return []
    return ["this workspace is not trusted: its memories are shown as cards only (a person runs `engram trust`)"]
