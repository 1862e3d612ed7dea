"""Choose what goes into a pack: bodies, cards and what is left out, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engram.core.text import count_tokens

Disclosure = Literal["auto", "cards", "bodies"]
DISCLOSURES = ("auto", "cards", "bodies")
MIN_BUDGET, MAX_BUDGET = 200, 16_000
# What always-on memories may take of the budget before the task's own matches are served.
ALWAYS_SHARE = 0.4
# Ids that the text names when the budget left them out; all are in the structure.
MAX_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A memory that could go into the pack.

    `kind`: `always`, `match`, `needed` (a prerequisite) or `card` (worth a line). `key` is unique, `name` what
    `id` takes. `body` and `card` are its renderings; `card_only` is the reason why its body may not be shown, or "".
    `needs` are keys of what must stand before it.
    """

    key: str
    name: str
    kind: str
    body: str
    card: str
    card_only: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """`text` never counts more than the budget; the three lists of keys are disjoint and together `selected`."""

    text: str
    selected: tuple[str, ...]
    bodies: tuple[str, ...]
    cards: tuple[str, ...]
    omitted: tuple[str, ...]
    tokens: int


def build(
    choices: Sequence[Choice],
    *,
    budget: int | None,
    disclosure: Disclosure = "auto",
    heading: Callable[[int, int, int], str],
    footer: str = "",
) -> Pack:
    """Fill a pack, best first.

    Always-on bodies have a share of their own; then the matches in order, then what they need, then cards. A match
    that does not fit becomes a card before anything that ranks below it is served, and a prerequisite becomes a card
    before its match does. `heading` gets the numbers of bodies, cards and omitted; `budget` None means no limit.
    """
    filling = _Filling(choices, budget, heading, footer)
    by_kind = {kind: [c for c in choices if c.kind == kind] for kind in ("always", "match", "needed", "card")}
    if disclosure != "cards":
        share = None if budget is None else int(budget * ALWAYS_SHARE)
        for choice in by_kind["always"]:
            filling.show_body(choice, within=share)
        for choice in (*by_kind["match"], *by_kind["always"], *by_kind["needed"]):
            # What does not fit has its card before anything that ranks below it is served.
            if not filling.show_body(choice) and disclosure == "auto":
                filling.show_card(choice)
    if disclosure != "bodies":
        for kind in ("match", "always", "needed", "card"):
            for choice in by_kind[kind]:
                filling.show_card(choice)
    return filling.pack()


class _Filling:
    """A pack being filled: what is shown so far and what it counts."""

    def __init__(
        self,
        choices: Sequence[Choice],
        budget: int | None,
        heading: Callable[[int, int, int], str],
        footer: str,
    ) -> None:
        self._choices = choices
        self._budget = budget
        self._heading = heading
        self._footer = footer
        self._bodies: dict[str, Choice] = {}
        self._cards: dict[str, Choice] = {}
        # The longest heading there can be, and room for the line of names that were left out.
        names = sorted((choice.name for choice in choices), key=len, reverse=True)[:MAX_NAMED]
        many = len(choices)
        self._spent = count_tokens(heading(many, many, many)) + count_tokens(_left_out(names, many)) + 2
        self._spent += count_tokens(footer) + 2

    def show_body(self, choice: Choice, *, within: int | None = None) -> bool:
        """Whether the body is shown now, if it fits."""
        if choice.key in self._bodies:
            return True
        if choice.card_only:
            return False
        cost = count_tokens(choice.body) + 1
        limit = self._budget if within is None else within
        if limit is None or self._spent + cost <= limit:
            self._bodies[choice.key] = choice
            self._spent += cost
        return choice.key in self._bodies

    def show_card(self, choice: Choice) -> None:
        if choice.key in self._bodies or choice.key in self._cards:
            return
        cost = count_tokens(choice.card) + 1
        if self._budget is None or self._spent + cost <= self._budget:
            self._cards[choice.key] = choice
            self._spent += cost

    def pack(self) -> Pack:
        while True:
            made = self._rendered()
            if self._budget is None or made.tokens <= self._budget or not (self._bodies or self._cards):
                return made
            # The count of a whole may differ from the sum of its parts by a token or two.
            (self._cards or self._bodies).popitem()

    def _rendered(self) -> Pack:
        order = needs_first(list(self._bodies), {key: choice.needs for key, choice in self._bodies.items()})
        bodies = [self._bodies[key] for key in order]
        cards = [choice for choice in self._choices if choice.key in self._cards]
        omitted = [
            choice for choice in self._choices if choice.key not in self._bodies and choice.key not in self._cards
        ]
        parts = [self._heading(len(bodies), len(cards), len(omitted))]
        parts += [choice.body for choice in bodies]
        if cards:
            parts.append("\n".join(choice.card for choice in cards))
        if omitted:
            parts.append(_left_out([choice.name for choice in omitted[:MAX_NAMED]], len(omitted)))
        if self._footer:
            parts.append(self._footer)
        text = "\n\n".join(parts)
        if self._budget is not None and count_tokens(text) > self._budget and not bodies and not cards:
            text = ""
        return Pack(
            text=text,
            selected=tuple(choice.key for choice in self._choices),
            bodies=tuple(choice.key for choice in bodies),
            cards=tuple(choice.key for choice in cards),
            omitted=tuple(choice.key for choice in omitted),
            tokens=count_tokens(text),
        )


def _left_out(names: Sequence[str], total: int) -> str:
    if not names:
        return ""
    more = f" and {total - len(names)} more" if total > len(names) else ""
    return f"Left out for the budget (engram_load with id): {', '.join(names)}{more}"


def needs_first(keys: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """In the given order, each after those of `keys` that it needs; a circle is cut where it is entered."""
    present = set(keys)
    ordered: dict[str, None] = {}
    entered: set[str] = set()
    for first in keys:
        if first in entered:
            continue
        # A stack of our own: a chain of prerequisites may be longer than Python's recursion allows.
        entered.add(first)
        stack = [(first, iter(needs.get(first, ())))]
        while stack:
            current, rest = stack[-1]
            for key in rest:
                if key in present and key not in entered:
                    entered.add(key)
                    stack.append((key, iter(needs.get(key, ()))))
                    break
            else:
                ordered[current] = None
                stack.pop()
    return list(ordered)
