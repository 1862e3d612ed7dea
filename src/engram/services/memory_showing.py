"""Show memories: whole and quoted, as one line, or as a row of a list; and why one is not shown whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engram.core.instructions import find_instructions
from engram.core.memory import Memory, summary, title_for
from engram.core.memory_ports import Indexed
from engram.core.quoting import defang
from engram.core.secrets import find_secrets
from engram.core.standing import IS_NOTE, Standing
from engram.core.text import preview
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.vault.config import Setting
from engram.vault.roots import mended


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A memory in its place: how far it may be trusted, why it is hidden or only a card ("" for neither)."""

    place: MemoryRoot
    row: Indexed
    memory: Memory
    standing: Standing
    hidden: str
    card_only: str

    @property
    def scope(self) -> str:
        return self.place.root.scope

    @property
    def key(self) -> str:
        """Unique among all memories: `workspace:rule:use-pnpm`."""
        return f"{self.scope}:{self.memory.type}:{self.memory.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A hit of a search or a step of a route."""

    id: str
    type: str
    scope: str
    score: float
    title: str
    summary: str
    standing: str
    note: str = ""


def _why_unsafe(memory: Memory) -> str:
    whole = f"{memory.title}\n{memory.text}\n{memory.extra}"
    if suspects := find_instructions(whole):
        return f"holds text that forges instructions: {suspects[0].kind}"
    if findings := find_secrets(whole):
        return f"holds a secret: {findings[0].kind}"
    return ""


NOT_ASKED_FOR = "low confidence: shown whole by id only"


def why_no_body(seen: Seen, *, by_id: bool, is_broad: bool) -> str:
    """Why a memory that was chosen is shown as a line only, or ""."""
    reason = seen.hidden or seen.card_only
    if by_id and reason == IS_NOTE:
        reason = ""  # whoever asks for a note by name may read it, labelled as what it is
    if not reason and not by_id and not is_broad and seen.memory.confidence == "low":
        return NOT_ASKED_FOR
    # What nobody approved here is looked through before it may speak.
    if not reason and seen.standing is not Standing.APPROVED:
        return _why_unsafe(seen.memory)
    return reason


_LABELS = {
    Standing.APPROVED: "approved",
    Standing.TEAM: "team, not reviewed here",
    Standing.EDITED: "changed, not approved",
    Standing.UNAPPROVED: "not approved",
    Standing.NOTE: "working note, not approved",
}


def wording(memory: Memory, settings: Mapping[str, Setting]) -> str:
    """The text of a memory: of a rule with variants the active one, where those are enabled."""
    if memory.variants and settings["rule_variants.enabled"].value:
        for name in (str(settings["rule_variants.active"].value), "balanced", "light", "strict"):
            if name in memory.variants:
                return memory.variants[name]
    return memory.text or next(iter(memory.variants.values()), "")


def body_of(seen: Seen, settings: Mapping[str, Setting], *, full: bool) -> str:
    memory = seen.memory
    text = wording(memory, settings)
    if memory.extra:
        text = f"{text}\n\n{memory.extra}"
    if seen.standing is not Standing.APPROVED:
        text = defang(text)
    attributes = [f'id="{memory.id}"', f'type="{memory.type}"', f'scope="{seen.scope}"']
    attributes.append(f'state="{_LABELS[seen.standing]}"')
    if memory.title.rstrip(".") != title_for(memory.text).rstrip("."):
        attributes.append(f'title="{_attribute(memory.title)}"')
    if full:
        attributes += [f'authority="{memory.authority}"', f'confidence="{memory.confidence}"']
        attributes += [f'updated="{_attribute(memory.updated)}"'] if memory.updated else []
        attributes += [f'tags="{_attribute(", ".join(memory.tags))}"'] if memory.tags else []
        attributes += [f'depends_on="{_attribute(", ".join(memory.depends_on))}"'] if memory.depends_on else []
    return f"<memory {' '.join(attributes)}>\n{_kept_inside(text)}\n</memory>"


def _attribute(text: str) -> str:
    return defang(text).replace('"', "'").replace("<", "‹").replace(">", "›").replace("\n", " ")


def _kept_inside(text: str) -> str:
    """No text can end its own quotation."""
    return text.replace("</memory", "<\\/memory") if "</memory" in text else text


def card_of(seen: Seen, reason: str, *, name: str = "") -> str:
    memory = seen.memory
    title, said = _spoken(seen)
    if title and not said.casefold().startswith(title.casefold().rstrip("…")[:40]):
        said = preview(f"{title}: {said}", 120)[0]
    if not title:
        said = f"text withheld: {_why_unsafe(memory)}"
    label = reason or ("" if seen.standing is Standing.APPROVED else _LABELS[seen.standing])
    end = f" ({label})" if label else ""
    return f"- {name or memory.id} · {memory.type} · {seen.scope} · {said}{end}"


def _spoken(seen: Seen) -> tuple[str, str]:
    """Title and summary as they may be shown; both "" for a text that nobody approved here and that holds a secret or
    forges instructions."""
    if seen.standing is not Standing.APPROVED and _why_unsafe(seen.memory):
        return "", ""
    return defang(seen.memory.title), defang(summary(seen.memory))


def entry_of(seen: Seen, score: float) -> Entry:
    title, said = _spoken(seen)
    return Entry(
        id=seen.memory.id,
        type=seen.memory.type,
        scope=seen.scope,
        score=round(score, 4),
        title=title or seen.memory.id,
        summary=said or f"text withheld: {_why_unsafe(seen.memory)}",
        standing=str(seen.standing),
        note=seen.hidden or seen.card_only,
    )


def heading_of(query: str | None, bodies: int, cards: int, omitted: int, selected: int) -> str:
    if not selected:
        return "No memory matches this task." if query else "No memories yet."
    parts = [f"{bodies} of {'1 memory' if selected == 1 else f'{selected:,} memories'} in full"]
    if cards:
        parts.append(f"{cards} as card{'s' if cards > 1 else ''} (engram_load with id shows it whole)")
    if omitted:
        parts.append(f"{omitted} left out")
    return "Engram: " + ", ".join(parts) + "."


def missing_profile(roots: MemoryRoots) -> list[str]:
    """That the global memories are left out because their profile is missing here, and what mends it."""
    root = roots.global_.root
    return [f"{root.problem}; its memories are left out: {mended(root.profile)}"] if root.problem else []
