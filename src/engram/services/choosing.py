"""Choose which memories a task needs: relevance, ids, prerequisites, and what stands before what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from engram.core.intent import Intent, read_intent
from engram.core.memory import Memory, is_readable_id
from engram.core.memory_ports import FoundMemories, Indexed
from engram.core.query import Query, parse
from engram.core.quoting import defang
from engram.core.relevance import Relevance, relevant, task_weights
from engram.core.standing import Circumstances, why_card, why_hidden
from engram.services.memory_roots import MemoryRoot
from engram.services.memory_showing import Seen
from engram.vault.config import Setting

POOL = 60
# Cards of a load without a task: what is newest and what is used most.
NEWEST_CARDS, MOST_USED_CARDS = 5, 5
MAX_PREREQUISITES = 32
# A memory that stands for what it says changes rarely between choosing and showing; then the choice is made again.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What one operation sees: the settings, the roots (workspace first, up to date), and what decides in each."""

    settings: Mapping[str, Setting]
    places: Sequence[MemoryRoot]
    around: Mapping[str, Circumstances]


@dataclass(slots=True)
class Selection:
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


def choose(
    query: str | None,
    scene: Scene,
    *,
    limit: int,
    objective: str = "",
    is_broad: bool = False,
) -> Selection:
    """What a task selects; without a task what is always on, and cards of the newest and the most used. Files that
    changed meanwhile are read again."""
    for _ in range(ATTEMPTS):
        chosen = _chosen(query, scene, limit=limit, objective=objective, is_broad=is_broad)
        by_place: dict[str, tuple[MemoryRoot, list[Indexed]]] = {}
        for seen in chosen.everything():
            by_place.setdefault(seen.place.root.path, (seen.place, []))[1].append(seen.row)
        stale = [place for place, rows in by_place.values() if not place.are_fresh(rows)]
        if not stale:
            break
    return chosen


def _chosen(query: str | None, scene: Scene, *, limit: int, objective: str, is_broad: bool) -> Selection:
    chosen = Selection()
    taken: set[str] = set()
    for place in scene.places:
        for row in place.index.always():
            seen = seen_in(place, row, scene)
            if seen is None or seen.hidden or not is_first(seen, scene):
                continue
            if seen.card_only:
                chosen.cards.append(seen)
            else:
                chosen.always.append(seen)
            taken.add(seen.key)
    if query is not None and query.strip():
        order = ranked(parse(query), scene, read_intent(query), is_broad=is_broad)
        for seen, place_in_order, hidden in order:
            if seen.key in taken:
                continue
            reason = hidden or ("" if place_in_order.is_relevant else "too little in common with the task")
            if not reason and len(chosen.matches) >= limit:
                reason = f"more than {limit} match better"
            if not reason and not is_first(seen, scene):
                reason = "another one of the same id stands before it"
            if reason:
                chosen.left_out.append((seen, place_in_order.score, reason))
            else:
                chosen.matches.append((seen, place_in_order.score, place_in_order.why))
                taken.add(seen.key)
    else:
        for place in scene.places:
            for row in (*place.index.most_used(MOST_USED_CARDS), *place.index.newest(NEWEST_CARDS)):
                seen = seen_in(place, row, scene)
                if seen is None or seen.hidden or seen.key in taken or seen.memory.confidence == "low":
                    continue
                if is_first(seen, scene):
                    chosen.cards.append(seen)
                    taken.add(seen.key)
        if objective:
            _notes_for(objective, scene, chosen)
    _add_needed(chosen, scene, taken)
    return chosen


def _notes_for(objective: str, scene: Scene, chosen: Selection) -> None:
    wanted = " ".join(objective.casefold().split())
    for place in scene.places:
        for row in place.index.notes_at_work():
            seen = seen_in(place, row, scene)
            suits = seen is not None and " ".join(seen.memory.objective.casefold().split()) == wanted
            if seen is not None and suits and not seen.hidden:
                chosen.cards.append(seen)


def ranked(query: Query, scene: Scene, intent: Intent, *, is_broad: bool = False) -> list[tuple[Seen, Relevance, str]]:
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
            seen = seen_in(place, row, scene) if row is not None else None
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


def seen_in(place: MemoryRoot, row: Indexed, scene: Scene) -> Seen | None:
    """A row as this operation sees it; None for a file that cannot be read."""
    if row.memory is None:
        return None
    around = scene.around[place.root.path]
    stands = place.standing(row)
    hidden = why_hidden(row.memory, around, is_ignored=row.is_ignored)
    card_only = why_card(row.memory, stands, around)
    return Seen(place=place, row=row, memory=row.memory, standing=stands, hidden=hidden, card_only=card_only)


def is_first(seen: Seen, scene: Scene) -> bool:
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
        used = [row for row in rows if (one := seen_in(place, row, scene)) is not None and not one.hidden]
        return not used or used[0].row == seen.row.row
    return True


def _add_needed(chosen: Selection, scene: Scene, taken: set[str]) -> None:
    """Prerequisites of what was chosen, of theirs, and so on, across roots; circles are walked once."""
    waiting = [*(seen for seen, _, _ in chosen.matches), *chosen.always]
    known = {seen.key: seen for seen in (*waiting, *chosen.cards)}
    while waiting:
        seen = waiting.pop(0)
        keys: list[str] = []
        for name in seen.memory.depends_on:
            found = [other for other in named(_bare(name), scene) if not other.memory.tier]
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


def named(name: str, scene: Scene) -> list[Seen]:
    """Memories that `name` means: an id, `scope:id`, `type:id` or `scope:type:id`. Workspace before global; a
    working note only when no memory has the id."""
    *qualifiers, id = unquote(name).split(":")
    if not is_readable_id(id) or len(qualifiers) > 2:
        return []
    found: list[Seen] = []
    for place in scene.places:
        for row in place.index.by_id(id):
            seen = seen_in(place, row, scene)
            if seen is not None and all(word in (seen.scope, seen.memory.type) for word in qualifiers):
                found.append(seen)
    durable = [seen for seen in found if not seen.memory.tier]
    kept: dict[str, Seen] = {}
    for seen in durable or found:
        kept.setdefault(seen.memory.type, seen)
    return list(kept.values())


def near(name: str, scene: Scene) -> list[str]:
    """Up to three ids that `name` may have meant."""
    from difflib import get_close_matches

    ids = [
        row.memory.id
        for place in scene.places
        for row in place.index.everything()
        if row.memory is not None and not row.is_ignored
    ]
    starts = [id for id in ids if id.startswith(name)]
    return list(dict.fromkeys([*starts, *get_close_matches(name, ids, n=3, cutoff=0.5)]))[:3]


def _bare(name: str) -> str:
    """A prerequisite may be written as an id, a path or a file name."""
    return name.strip().replace("\\", "/").rpartition("/")[2].removesuffix(".md")


def _suits(memory: Memory, intent: Intent) -> bool:
    said = {tag.lower().removeprefix("task_type:") for tag in memory.tags} | {word.lower() for word in memory.triggers}
    return intent.kind in said
