"""Packs: what is a body, what a card, what is left out; and never more than the budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.core.pack import ALWAYS_SHARE, MAX_BUDGET, MIN_BUDGET, Choice, Disclosure, Pack, build, needs_first
from engram.core.text import count_tokens


def heading(bodies: int, cards: int, omitted: int) -> str:
    return f"Engram: {bodies} in full, {cards} as cards, {omitted} left out."


def words(count: int) -> str:
    return "word " * count


def choice(
    key: str, kind: str = "match", size: int = 20, *, needs: tuple[str, ...] = (), card_only: str = ""
) -> Choice:
    return Choice(
        key=key,
        name=key,
        kind=kind,
        body="" if card_only else f"<{key}> {words(size)}",
        card=f"- {key} ({card_only})" if card_only else f"- {key}",
        card_only=card_only,
        needs=needs,
    )


def pack(*choices: Choice, budget: int | None = 400, disclosure: Disclosure = "auto", footer: str = "") -> Pack:
    return build(choices, budget=budget, disclosure=disclosure, heading=heading, footer=footer)


# -- by example --------------------------------------------------------------------------------------------------------


def test_nothing_chosen_is_a_heading_alone() -> None:
    made = pack()

    assert (made.text, made.selected, made.bodies, made.cards, made.omitted) == (heading(0, 0, 0), (), (), (), ())


def test_what_fits_is_shown_in_full() -> None:
    made = pack(choice("a"), choice("b", "needed"), choice("c", "card"))

    assert (made.bodies, made.cards, made.omitted) == (("a", "b"), ("c",), ())
    assert made.text.startswith(heading(2, 1, 0))
    assert made.tokens == count_tokens(made.text)


def test_a_memory_larger_than_the_budget_becomes_a_card() -> None:
    """Fault 12 of the earlier system: nothing was loaded then."""
    made = pack(choice("huge", size=5000), choice("small"))

    assert (made.bodies, made.cards, made.omitted) == (("small",), ("huge",), ())


def test_a_prerequisite_becomes_a_card_before_its_match_does() -> None:
    made = pack(choice("match", size=200, needs=("base",)), choice("base", "needed", size=200))

    assert (made.bodies, made.cards) == (("match",), ("base",))


def test_what_is_needed_stands_before_what_needs_it() -> None:
    made = pack(choice("c", needs=("b",)), choice("b", "needed", needs=("a",)), choice("a", "needed"))

    assert made.bodies == ("a", "b", "c")
    assert made.text.index("<a>") < made.text.index("<b>") < made.text.index("<c>")


def test_a_circle_of_prerequisites_is_shown_once_each() -> None:
    made = pack(choice("a", needs=("b",)), choice("b", "needed", needs=("c",)), choice("c", "needed", needs=("a",)))

    assert sorted(made.bodies) == ["a", "b", "c"]


def test_always_on_bodies_take_no_more_than_their_share_before_the_matches() -> None:
    budget = 400
    always = [choice(f"on{at}", "always", size=60) for at in range(6)]

    made = pack(*always, choice("match", size=180), budget=budget)

    assert "match" in made.bodies
    shown = sum(count_tokens(one.body) for one in always if one.key in made.bodies)
    assert 0 < shown <= budget * ALWAYS_SHARE


def test_always_on_bodies_may_use_what_the_matches_leave() -> None:
    made = pack(choice("on1", "always", size=120), choice("on2", "always", size=120), choice("match", size=10))

    assert set(made.bodies) == {"on1", "on2", "match"}


def test_a_body_that_may_not_be_shown_is_a_card_with_its_reason() -> None:
    made = pack(choice("a", card_only="not approved"))

    assert (made.bodies, made.cards) == ((), ("a",))
    assert "- a (not approved)" in made.text


def test_cards_alone_show_no_body() -> None:
    made = pack(choice("a"), choice("b", "always"), choice("c", "needed"), disclosure="cards")

    assert (made.bodies, made.cards) == ((), ("a", "b", "c"))
    assert "word" not in made.text


def test_bodies_alone_show_no_card() -> None:
    made = pack(choice("a"), choice("b", card_only="not approved"), choice("c", "card"), disclosure="bodies")

    assert (made.bodies, made.cards, made.omitted) == (("a",), (), ("b", "c"))
    assert "- b" not in made.text


def test_no_budget_means_everything() -> None:
    made = pack(*(choice(f"m{at}", size=3000) for at in range(20)), budget=None)

    assert len(made.bodies) == 20


def test_what_was_left_out_is_named_up_to_ten_and_counted() -> None:
    made = pack(*(choice(f"memory-number-{at:02}", size=5000) for at in range(60)), budget=MIN_BUDGET)

    assert made.omitted
    assert f"and {len(made.omitted) - 10} more" in made.text
    assert made.tokens <= MIN_BUDGET


def test_a_chain_of_ten_thousand_prerequisites_is_put_in_order() -> None:
    keys = [f"m{at}" for at in range(10_000)]
    needs = {key: (f"m{at + 1}",) for at, key in enumerate(keys[:-1])}

    assert needs_first(keys, needs) == keys[::-1]


def test_the_best_match_gets_at_least_a_card_before_lower_ones_get_a_body() -> None:
    best = Choice(key="best", name="best", kind="match", body=words(5000), card=f"- best {words(60)}")
    others = [choice(f"m{at}", size=9) for at in range(40)]

    made = pack(best, *others, budget=MIN_BUDGET)

    assert "best" in made.cards


# -- in general --------------------------------------------------------------------------------------------------------

BODIES = st.sampled_from((words(3), words(60), words(400), "記憶" * 50, "{}!\n" * 30))
KINDS = ("always", "match", "needed", "card")


@st.composite
def choice_lists(draw: st.DrawFn) -> list[Choice]:
    count = draw(st.integers(0, 14))
    keys = [f"k{at}" for at in range(count)]
    made = []
    for key in keys:
        reason = draw(st.sampled_from(("", "", "", "not approved")))
        made.append(
            Choice(
                key=key,
                name=draw(st.sampled_from((key, f"{key}-{'very-' * 8}long-name", f"記憶-{key}"))),
                kind=draw(st.sampled_from(KINDS)),
                body="" if reason else draw(BODIES),
                card=f"- {key} " + draw(st.sampled_from(("", words(30), "記憶" * 30))),
                card_only=reason,
                needs=tuple(draw(st.lists(st.sampled_from(keys), max_size=3))),
            )
        )  # fmt: skip
    return made


BUDGETS = st.integers(MIN_BUDGET, MAX_BUDGET) | st.integers(MIN_BUDGET, 600)
DISCLOSURE = st.sampled_from(("auto", "cards", "bodies"))
FOOTERS = st.sampled_from(("", "Evidence, not approved:\n- #1 something\n- #2 something else"))


@given(choices=choice_lists(), budget=BUDGETS, disclosure=DISCLOSURE, footer=FOOTERS)
def test_a_pack_keeps_its_budget_and_loses_nothing(
    choices: list[Choice], budget: int, disclosure: Disclosure, footer: str
) -> None:
    made = pack(*choices, budget=budget, disclosure=disclosure, footer=footer)

    assert made.tokens == count_tokens(made.text) <= budget
    assert made.selected == tuple(one.key for one in choices)
    assert sorted((*made.bodies, *made.cards, *made.omitted)) == sorted(made.selected)
    by_key = {one.key: one for one in choices}
    assert all(not by_key[key].card_only and by_key[key].kind != "card" for key in made.bodies)
    assert disclosure != "cards" or not made.bodies
    assert disclosure != "bodies" or not made.cards
    assert all(by_key[key].body in made.text for key in made.bodies)
    assert all(by_key[key].card in made.text for key in made.cards)


@given(choices=choice_lists(), budget=BUDGETS)
def test_a_match_never_loses_to_its_prerequisite_or_to_a_lower_match_of_its_size(
    choices: list[Choice], budget: int
) -> None:
    made = pack(*choices, budget=budget)

    shown = set(made.bodies)
    ranked = [one for kind in ("match", "needed") for one in choices if one.kind == kind and not one.card_only]
    for at, better in enumerate(ranked):
        if better.key not in shown:
            for lower in ranked[at + 1 :]:
                assert lower.key not in shown or count_tokens(lower.body) < count_tokens(better.body)


@given(choices=choice_lists(), budget=BUDGETS)
def test_what_is_needed_stands_first_unless_they_need_each_other(choices: list[Choice], budget: int) -> None:
    made = pack(*choices, budget=budget)

    at = {key: place for place, key in enumerate(made.bodies)}
    by_key = {one.key: one for one in choices}
    for key in made.bodies:
        for needed in by_key[key].needs:
            if needed in at and key not in _reachable(needed, by_key, at):
                assert at[needed] < at[key]


def _reachable(key: str, by_key: dict[str, Choice], present: dict[str, int]) -> set[str]:
    seen: set[str] = set()
    waiting = [key]
    while waiting:
        for needed in by_key[waiting.pop()].needs:
            if needed in present and needed not in seen:
                seen.add(needed)
                waiting.append(needed)
    return seen


@given(choices=choice_lists(), budget=BUDGETS, disclosure=DISCLOSURE)
def test_the_same_choices_always_give_the_same_pack(choices: list[Choice], budget: int, disclosure: Disclosure) -> None:
    assert pack(*choices, budget=budget, disclosure=disclosure) == pack(*choices, budget=budget, disclosure=disclosure)


@given(choices=choice_lists(), budget=st.integers(MIN_BUDGET, 2000))
def test_a_larger_budget_never_shows_fewer_memories_at_all(choices: list[Choice], budget: int) -> None:
    small, large = pack(*choices, budget=budget), pack(*choices, budget=budget + 14_000)

    assert len(large.omitted) <= len(small.omitted)
