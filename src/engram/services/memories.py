"""Read memories: the right few for a task within a budget, one by its id, or a list of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast
from urllib.parse import unquote

from engram.core.intent import Intent, read_intent
from engram.core.memory import Memory, is_readable_id
from engram.core.memory_ports import FoundMemories, Indexed
from engram.core.pack import DISCLOSURES, MAX_BUDGET, MIN_BUDGET, Choice, Disclosure, Pack, build
from engram.core.query import Query, parse
from engram.core.quoting import defang
from engram.core.relevance import Relevance, relevant, task_weights
from engram.core.standing import Circumstances, why_card, why_hidden
from engram.core.text import count_tokens
from engram.errors import InvalidInput, NotFound
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.services.memory_showing import Entry, Seen, body_of, card_of, entry_of, heading_of, why_no_body
from engram.vault.config import Setting

POOL = 60
MAX_FULL = 32
MAX_SEARCH = 100
DEFAULT_SEARCH = 20
# Cards of a load without a task: what is newest and what is used most.
NEWEST_CARDS, MOST_USED_CARDS = 5, 5
MAX_PREREQUISITES = 32
# A memory that stands for what it says changes rarely between choosing and showing; then the choice is made again.
ATTEMPTS = 3


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
class _Scene:
    """What one operation sees: the settings, the roots (workspace first, up to date), and what decides in each."""

    settings: Mapping[str, Setting]
    places: Sequence[MemoryRoot]
    around: Mapping[str, Circumstances]


@dataclass(slots=True)
class _Selection:
    """What a task selects, before it is fitted into a budget."""

    matches: list[tuple[Seen, float, str]] = field(default_factory=list)
    always: list[Seen] = field(default_factory=list)
    needed: list[Seen] = field(default_factory=list)
    cards: list[Seen] = field(default_factory=list)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: list[tuple[Seen, float, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def everything(self) -> list[Seen]:
        return [*(seen for seen, _, _ in self.matches), *self.always, *self.needed, *self.cards]


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
    ) -> Loaded:
        """A pack for a task; without a task the always-on memories and cards of the newest and most used.

        `full` is the broad form: more matches, whole bodies, no budget. `objective` lets working notes of that
        objective appear as cards. Raises `InvalidInput` for a budget or disclosure that is not one.
        """
        if disclosure not in DISCLOSURES:
            raise InvalidInput("disclosure: is not one", hint=f"one of: {', '.join(DISCLOSURES)}")
        scene = self._scene()
        budget = budget_tokens if budget_tokens is not None else int(scene.settings["load.max_tokens"].value)
        if not MIN_BUDGET <= budget <= MAX_BUDGET:
            raise InvalidInput(f"budget_tokens: must be from {MIN_BUDGET} to {MAX_BUDGET:,}")
        limit = MAX_FULL if full else int(scene.settings["load.limit"].value)
        chosen = self._choose(query, scene, limit=limit, objective=objective, is_broad=full)
        choices = self._choices(chosen, scene.settings, full=full)

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
        chosen = _Selection()
        if len(wanted) > MAX_FULL:
            chosen.missing += wanted[MAX_FULL:]
        for name in wanted[:MAX_FULL]:
            found = self._named(name, scene)
            if not found:
                chosen.missing.append(name)
            for seen in found:
                if seen.key not in {other.key for other, _, _ in chosen.matches}:
                    chosen.matches.append((seen, 1.0, "asked for by id"))
        if not chosen.matches:
            near = self._near(wanted[0], scene)
            raise NotFound(
                f"no memory with the id {', '.join(f'`{defang(name)[:80]}`' for name in wanted[:5])}",
                hint=f"near: {', '.join(near)}" if near else "`engram_search` finds ids",
            )
        choices = self._choices(chosen, scene.settings, full=True, by_id=True)
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
        chosen = self._choose(task, scene, limit=int(scene.settings["load.limit"].value))
        scores = {seen.key: score for seen, score, _ in chosen.matches}
        matched = [seen for seen, _, _ in chosen.matches]
        order = _load_order([*chosen.always, *chosen.needed, *matched], chosen.needs)
        return Routed(intent=intent, entries=tuple(entry_of(seen, scores.get(seen.key, 0.0)) for seen in order))

    def search(self, query: str, *, limit: int = DEFAULT_SEARCH, type: str | None = None) -> FoundEntries:
        """Memories by words, best first; what is hidden is not found."""
        if not 1 <= limit <= MAX_SEARCH:
            raise InvalidInput(f"limit: must be from 1 to {MAX_SEARCH}")
        scene = self._scene()
        ranked = self._ranked(parse(query), scene, Intent(kind="unknown", confidence=0.0))
        shown = [
            (seen, score)
            for seen, score, _ in ranked
            if not seen.hidden and seen.memory.type == (type or seen.memory.type) and self._is_first(seen, scene)
        ]
        return FoundEntries(
            entries=tuple(entry_of(seen, score.score) for seen, score in shown[:limit]), total=len(shown)
        )

    def matching_cards(self, query: str, *, limit: int = 3) -> list[Entry]:
        """Up to three memories for a search of observations; nothing that is not relevant."""
        scene = self._scene()
        if not scene.places:
            return []
        chosen = self._choose(query, scene, limit=limit)
        return [entry_of(seen, score) for seen, score, _ in chosen.matches[:limit]]

    def index_cards(self) -> list[str]:
        """One line for each memory that may be seen, workspace first."""
        scene = self._scene()
        lines = []
        for place in scene.places:
            for row in place.index.everything():
                seen = self._seen(place, row, scene)
                if seen is not None and not seen.hidden and not seen.memory.tier:
                    lines.append(card_of(seen, ""))
        return lines

    def resources(self, limit: int) -> list[Entry]:
        """The memories that are used most, for a client's list; ties by the latest update, then id."""
        scene = self._scene()
        found: dict[str, tuple[Seen, int]] = {}
        for place in scene.places:
            for row in place.index.most_used(limit + POOL if limit else 0):
                seen = self._seen(place, row, scene)
                if seen is not None and not seen.hidden and f"{seen.memory.type}:{seen.memory.id}" not in found:
                    found[f"{seen.memory.type}:{seen.memory.id}"] = (seen, row.fetches)
        ordered = sorted(found.values(), key=lambda pair: pair[0].memory.id)
        ordered.sort(key=lambda pair: pair[0].memory.updated, reverse=True)
        ordered.sort(key=lambda pair: -pair[1])
        return [entry_of(seen, float(fetches)) for seen, fetches in ordered[:limit]]

    def _scene(self) -> _Scene:
        settings = self._roots.settings()
        places = self._roots.existing()
        today = self._now()[:10]
        around = {place.root.path: self._roots.circumstances(place, today=today, settings=settings) for place in places}
        return _Scene(settings=settings, places=places, around=around)

    # -- choosing --------------------------------------------------------------------------------------------------

    def _choose(
        self,
        query: str | None,
        scene: _Scene,
        *,
        limit: int,
        objective: str = "",
        is_broad: bool = False,
    ) -> _Selection:
        for _ in range(ATTEMPTS):
            chosen = self._chosen(query, scene, limit=limit, objective=objective, is_broad=is_broad)
            by_place: dict[str, tuple[MemoryRoot, list[Indexed]]] = {}
            for seen in chosen.everything():
                by_place.setdefault(seen.place.root.path, (seen.place, []))[1].append(seen.row)
            stale = [place for place, rows in by_place.values() if not place.are_fresh(rows)]
            if not stale:
                break
        return chosen

    def _chosen(self, query: str | None, scene: _Scene, *, limit: int, objective: str, is_broad: bool) -> _Selection:
        chosen = _Selection()
        taken: set[str] = set()
        for place in scene.places:
            for row in place.index.always():
                seen = self._seen(place, row, scene)
                if seen is None or seen.hidden or not self._is_first(seen, scene):
                    continue
                if seen.card_only:
                    chosen.cards.append(seen)
                else:
                    chosen.always.append(seen)
                taken.add(seen.key)
        if query is not None and query.strip():
            ranked = self._ranked(parse(query), scene, read_intent(query), is_broad=is_broad)
            for seen, place_in_order, hidden in ranked:
                if seen.key in taken:
                    continue
                reason = hidden or ("" if place_in_order.is_relevant else "too little in common with the task")
                if not reason and len(chosen.matches) >= limit:
                    reason = f"more than {limit} match better"
                if not reason and not self._is_first(seen, scene):
                    reason = "another one of the same id stands before it"
                if reason:
                    chosen.left_out.append((seen, place_in_order.score, reason))
                else:
                    chosen.matches.append((seen, place_in_order.score, place_in_order.why))
                    taken.add(seen.key)
        else:
            for place in scene.places:
                for row in (*place.index.most_used(MOST_USED_CARDS), *place.index.newest(NEWEST_CARDS)):
                    seen = self._seen(place, row, scene)
                    if seen is None or seen.hidden or seen.key in taken or seen.memory.confidence == "low":
                        continue
                    if self._is_first(seen, scene):
                        chosen.cards.append(seen)
                        taken.add(seen.key)
            if objective:
                self._notes_for(objective, scene, chosen)
        self._add_needed(chosen, scene, taken)
        return chosen

    def _notes_for(self, objective: str, scene: _Scene, chosen: _Selection) -> None:
        wanted = " ".join(objective.casefold().split())
        for place in scene.places:
            for row in place.index.notes_at_work():
                seen = self._seen(place, row, scene)
                suits = seen is not None and " ".join(seen.memory.objective.casefold().split()) == wanted
                if seen is not None and suits and not seen.hidden:
                    chosen.cards.append(seen)

    def _ranked(
        self, query: Query, scene: _Scene, intent: Intent, *, is_broad: bool = False
    ) -> list[tuple[Seen, Relevance, str]]:
        """Every candidate of every root with its relevance, best first, and why it is hidden, or ""."""
        found: list[tuple[MemoryRoot, FoundMemories]] = [
            (place, place.index.search(query, pool=POOL)) for place in scene.places
        ]
        if not found:
            return []
        length = min(len(one.counts) for _, one in found)
        counts = [sum(one.counts[at] for _, one in found) for at in range(length)]
        total = sum(one.total for _, one in found)
        task = task_weights(query, counts, total)
        best = max((one.best for _, one in found), default=0.0) or 1.0
        rows: list[tuple[Seen, Relevance, str]] = []
        for place, one in found:
            candidates = [replace(row, fit=row.fit * one.best / best) for row in one.candidates]
            by_row = {row.row: row for row in place.index.rows([candidate.id for candidate in candidates])}
            for candidate in candidates:
                row = by_row.get(candidate.id)
                seen = self._seen(place, row, scene) if row is not None else None
                if seen is None:
                    continue
                weighed = relevant(
                    candidate,
                    task,
                    query=query,
                    total=total,
                    text=f"{seen.memory.title} {seen.memory.text}",
                    triggers=seen.memory.triggers,
                    suits_intent=intent.is_known and _suits(seen.memory, intent),
                    is_workspace=seen.scope == "workspace",
                    is_broad=is_broad,
                )
                hidden = seen.hidden
                if not hidden and seen.memory.confidence == "low" and not is_broad:
                    hidden = "low confidence: never loaded by itself"
                rows.append((seen, weighed, hidden))
        rows.sort(key=lambda item: (-round(item[1].score, 9), item[0].key))
        return rows

    def _seen(self, place: MemoryRoot, row: Indexed, scene: _Scene) -> Seen | None:
        if row.memory is None:
            return None
        around = scene.around[place.root.path]
        stands = place.standing(row)
        hidden = why_hidden(row.memory, around, is_ignored=row.is_ignored)
        card_only = why_card(row.memory, stands, around)
        return Seen(place=place, row=row, memory=row.memory, standing=stands, hidden=hidden, card_only=card_only)

    def _is_first(self, seen: Seen, scene: _Scene) -> bool:
        """The workspace's memory stands before a global one of the same id and type, whatever has become of it; within
        a root the first file that is in use."""
        for place in scene.places:
            rows = [
                row
                for row in place.index.by_id(seen.memory.id)
                if row.memory is not None and (row.memory.type, row.memory.tier) == (seen.memory.type, seen.memory.tier)
            ]
            if place is not seen.place:
                if rows:
                    return False
                continue
            used = [row for row in rows if (one := self._seen(place, row, scene)) is not None and not one.hidden]
            return not used or used[0].row == seen.row.row
        return True

    def _add_needed(self, chosen: _Selection, scene: _Scene, taken: set[str]) -> None:
        """Prerequisites of what was chosen, of theirs, and so on, across roots; circles are walked once."""
        waiting = [*(seen for seen, _, _ in chosen.matches), *chosen.always]
        known = {seen.key: seen for seen in (*waiting, *chosen.cards)}
        while waiting:
            seen = waiting.pop(0)
            keys: list[str] = []
            for name in seen.memory.depends_on:
                found = [other for other in self._named(_bare(name), scene) if not other.memory.tier]
                if not found:
                    chosen.missing.append(f"{seen.memory.id} depends on `{defang(name)[:80]}`, which is not there")
                    continue
                other = found[0]
                if other.hidden:
                    chosen.missing.append(f"{seen.memory.id} depends on {other.memory.id}: {other.hidden}")
                    continue
                keys.append(other.key)
                if other.key not in known and len(chosen.needed) >= MAX_PREREQUISITES:
                    chosen.missing.append(f"{other.memory.id} is left out: more than {MAX_PREREQUISITES} prerequisites")
                elif other.key not in known:
                    known[other.key] = other
                    taken.add(other.key)
                    chosen.needed.append(other)
                    waiting.append(other)
            chosen.needs[seen.key] = tuple(keys)

    def _named(self, name: str, scene: _Scene) -> list[Seen]:
        """Memories that `name` means: an id, `scope:id`, `type:id` or `scope:type:id`. Workspace before global; a
        working note only when no memory has the id."""
        *qualifiers, id = unquote(name).split(":")
        if not is_readable_id(id) or len(qualifiers) > 2:
            return []
        found: list[Seen] = []
        for place in scene.places:
            for row in place.index.by_id(id):
                seen = self._seen(place, row, scene)
                if seen is not None and all(word in (seen.scope, seen.memory.type) for word in qualifiers):
                    found.append(seen)
        durable = [seen for seen in found if not seen.memory.tier]
        kept: dict[str, Seen] = {}
        for seen in durable or found:
            kept.setdefault(seen.memory.type, seen)
        return list(kept.values())

    def _near(self, name: str, scene: _Scene) -> list[str]:
        from difflib import get_close_matches

        ids = [
            row.memory.id
            for place in scene.places
            for row in place.index.everything()
            if row.memory is not None and not row.is_ignored
        ]
        starts = [id for id in ids if id.startswith(name)]
        return list(dict.fromkeys([*starts, *get_close_matches(name, ids, n=3, cutoff=0.5)]))[:3]

    # -- showing ---------------------------------------------------------------------------------------------------

    def _choices(
        self, chosen: _Selection, settings: Mapping[str, Setting], *, full: bool = False, by_id: bool = False
    ) -> list[Choice]:
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

    def _evidence_cards(self, query: str | None) -> str:
        if self._evidence is None or not query or not query.strip():
            return ""
        cards = self._evidence(query, 3)
        if not cards:
            return ""
        return "\n".join(["Evidence, not approved (observations; mem_get_observation):", *cards])

    def _count(self, chosen: _Selection, bodies: Iterable[str]) -> None:
        by_place: dict[str, tuple[MemoryRoot, list[tuple[str, str]]]] = {}
        shown = set(bodies)
        for seen in chosen.everything():
            if seen.key in shown:
                by_place.setdefault(seen.place.root.path, (seen.place, []))[1].append(
                    (seen.memory.type, seen.memory.id)
                )
        for place, keys in by_place.values():
            place.index.count_fetches(keys, at=self._now())


def _bare(name: str) -> str:
    """A prerequisite may be written as an id, a path or a file name."""
    return name.strip().replace("\\", "/").rpartition("/")[2].removesuffix(".md")


def _suits(memory: Memory, intent: Intent) -> bool:
    said = {tag.lower().removeprefix("task_type:") for tag in memory.tags} | {word.lower() for word in memory.triggers}
    return intent.kind in said


def _explained(chosen: _Selection, pack: Pack) -> tuple[Explained, ...]:
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
    notes = [*roots.problems, *(place.diagnostics if place is not None else ())]
    return notes + _untrusted(place) if place is not None else notes


def _untrusted(place: MemoryRoot) -> list[str]:
    if place.trust.is_trusted:
        return []
    counts = place.index.counts()
    if not counts["memories"]:
        return []
    return ["this workspace is not trusted: its memories are shown as cards only (a person runs `engram trust`)"]
