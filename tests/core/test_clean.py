"""Redaction: control characters, private blocks, secrets; and that the result is final."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.core.clean import Redacted, clean, redact
from tests.core.corpus import INNOCENTS, SECRETS, canary_values


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_of_the_corpus_survives(name):
    assert canary_values[name] not in clean(SECRETS[name])


@pytest.mark.parametrize("text", INNOCENTS)
def test_innocent_text_comes_back_as_it_was(text):
    assert clean(text) == text


def test_a_secret_leaves_its_kind_behind():
    token = canary_values["github-ghp"]

    redacted = redact(f"push with {token}, then {token}, and {canary_values['npm']}")

    assert redacted == Redacted(
        text="push with [REDACTED:github-token], then [REDACTED:github-token], and [REDACTED:npm-token]",
        kinds=("github-token", "npm-token"),
    )


def test_private_is_no_kind_of_secret():
    assert redact("a <private>b</private> c") == Redacted("a [REDACTED] c", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <private>b</private> c", "a [REDACTED] c"),
        ("<PRIVATE>b</Private>", "[REDACTED]"),
        ("< private >b</ private >c", "[REDACTED]c"),
        ("<private x=1>b</private>c", "[REDACTED]c"),
        ("<private\nnote='a>b'>c</private>d", "[REDACTED]d"),
        ('<private note="<b>">c</private>d', "[REDACTED]d"),
        ("<private>a<private>b</private>c</private>d", "[REDACTED]d"),
        ("<private>a</private>b<private>c</private>d", "[REDACTED]b[REDACTED]d"),
        ("a <private>never closed", "a [REDACTED]"),
        ("a <private>b<private>c</private>d", "a [REDACTED]"),
        ("a</private> b", "a b"),
        ("a <private/> b", "a  b"),
        ("a <private x=1 /> b", "a  b"),
        ("<private>a<private/>b</private>c", "[REDACTED]c"),
        ("<private my secret</private> tail", "[REDACTED] tail"),
        ("<private></private>", "[REDACTED]"),
        ("<pri</private>vate>hidden</private>!", "[REDACTED]"),
        ("<privateer>a</privateer>", "<privateer>a</privateer>"),
        ("<private-key>a</private-key>", "<private-key>a</private-key>"),
        ("a <private method of the class", "a <private method of the class"),
        ("private: yes, if a < private_limit", "private: yes, if a < private_limit"),
        ("  kept blanks \n", "  kept blanks \n"),
        ("", ""),
    ],
)
def test_private_blocks_are_redacted(text, expected):
    assert clean(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("a\tb", "a\tb"),
        ("a\x00b\x1b[31mc\x7f\x85d", "ab[31mcd"),
        ("a\ud800b\udfffc", "abc"),
        ("<pri\x00vate>hidden</private>", "[REDACTED]"),
        ("emoji 👩‍👩‍👧 and ‮ stay", "emoji 👩‍👩‍👧 and ‮ stay"),
    ],
)
def test_control_characters_and_lone_surrogates_are_removed(text, expected):
    assert clean(text) == expected


def test_a_control_character_inside_a_secret_does_not_save_it():
    token = canary_values["github-ghp"]

    assert clean(token[:9] + "\x00" + token[9:]) == "[REDACTED:github-token]"


_PIECES = st.sampled_from(
    [
        *SECRETS.values(),
        *canary_values.values(),
        *INNOCENTS[:60],
        *"=:\"'`\\<>@/-_.\n\r\t []",
        *("<private>", "</private>", "<private ", "<private/>", "<pri", "vate>", "< / private >", "[REDACTED", "]"),
        *(
            "token",
            "key=",
            "password: ",
            "://",
            "-----BEGIN PRIVATE KEY-----",
            "Authorization: Bearer ",
            "engram:allow",
        ),
    ]
)
_ANY_TEXT = st.lists(st.one_of(_PIECES, st.text(st.characters(), max_size=20)), max_size=12).map("".join)


@settings(max_examples=400)
@given(_ANY_TEXT)
def test_cleaning_twice_changes_nothing_more(text):
    once = clean(text)

    assert clean(once) == once
    assert redact(once).kinds == ()


@given(_ANY_TEXT)
def test_the_result_can_always_be_written(text):
    clean(text).encode("utf-8")


_CANARY = "zebrafish"
_SPACE = st.sampled_from(["", " ", "\n", "  "])
_FILLER = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]), max_size=12)


@st.composite
def _private_block(draw: st.DrawFn, depth: int = 2) -> str:
    name = draw(st.sampled_from(["private", "PRIVATE", "Private"]))
    attributes = draw(st.sampled_from(["", " x=1", " note='a > b'", ' a="<b>"', "\nreason=x", f" why={_CANARY}"]))
    inside = [draw(_FILLER), _CANARY, draw(_FILLER)]
    if depth and draw(st.booleans()):
        inside.insert(draw(st.integers(0, 3)), draw(_private_block(depth - 1)))
    gap = draw(_SPACE)
    return f"<{gap}{name}{attributes}{draw(_SPACE)}>{''.join(inside)}<{gap}/{draw(_SPACE)}{name}{gap}>"


@given(_FILLER, _private_block(), _FILLER, _private_block(), st.booleans())
def test_nothing_inside_a_private_block_survives(before, first, between, second, closed):
    if not closed:
        second = second[: second.rfind("<")]

    result = clean(before + first + between + second)

    assert _CANARY not in result


@pytest.mark.parametrize(
    "unit",
    [
        "<private>",
        "</private>",
        "<pri</private>vate>",
        "< ",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "a",
        "=",
        " ",
        "eyJ",
        "-eyJ.",
        "key=",
        "token=a1",
        'token="',
        "://a:b@",
        "sk-",
        "AKIA",
        "A1b2C3d4",
        "\\n",
        "Bearer a1",
        "[REDACTED",
    ],
)
def test_hostile_repetition_of_a_quarter_megabyte_comes_to_an_end_and_is_stable(unit):
    # No clock here: anything worse than linear would take minutes and be noticed.
    once = clean(unit * (262_144 // len(unit)))

    assert clean(once) == once
