"""Fields of memories: ids, slugs, titles, the hash of the meaning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.memory import (
    MAX_SUMMARY,
    Memory,
    check_id,
    default_authority,
    hash_of,
    is_hidden_by_role,
    is_readable_id,
    name_for,
    slug,
    summary,
    title_for,
)
from engram.errors import InvalidInput


@pytest.mark.parametrize("id", ["a", "use-pnpm", "a.b_c-9", "0x", "a" * 80])
def test_an_id_of_ours(id: str) -> None:
    assert check_id(id) == id


@pytest.mark.parametrize(
    "id", ["", "A", "-a", ".a", "a-", "a.", "a b", "a/b", "..", "a" * 81, "é", "記憶", "a\n", "a:b", "a\x00"]
)
def test_what_is_no_id_of_ours(id: str) -> None:
    with pytest.raises(InvalidInput, match="id: is not one"):
        check_id(id)


@pytest.mark.parametrize("id", ["Use_PNPM", "記憶", "правило-1", "a" * 120, "quy-tắc", "a..b"])
def test_an_id_of_another_tool_can_be_read(id: str) -> None:
    assert is_readable_id(id)


@pytest.mark.parametrize(
    "id", ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "a:b", "a%2f", "a?", "a#b", "a\n", "a" * 121]
)
def test_what_a_path_or_a_link_would_read_otherwise_is_no_id(id: str) -> None:
    assert not is_readable_id(id)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Always use pnpm!", "always-use-pnpm"),
        ("Use `httpOnly` cookies", "use-httponly-cookies"),
        ("Được phép dùng Redis", "duoc-phep-dung-redis"),
        ("Größe über alles", "große-uber-alles".replace("ß", "-").replace("--", "-")),
        ("データベース", ""),
        ("Правило о тестах", ""),
        ("API は 8080 番です、必ず確認", ""),
        ("!!!", ""),
        ("", ""),
        ("a" * 60, "a" * 40),
        ("one two three four five six seven eight nine ten", "one-two-three-four-five-six-seven-eight"),
    ],
)
def test_the_slug_of(text: str, expected: str) -> None:
    assert slug(text) == expected


@given(st.text(max_size=200), st.text(min_size=1, max_size=200))
def test_a_new_memory_always_gets_an_id(title: str, text: str) -> None:
    assert check_id(name_for("rule", title, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use pnpm.", "Use pnpm"),
        ("# Use pnpm\n\nIt is fast.", "Use pnpm"),
        ("- **Use** `pnpm`: it is fast", "Use pnpm: it is fast"),
        ("1. Build\n2. Tag", "Build"),
        ("> quoted", "quoted"),
        ("```\ncode\n```\nThen words", "code"),
        ("データベースは必ず移行する。次に", "データベースは必ず移行する。"),
        ("Version 1.5 is out", "Version 1.5 is out"),
        ("\n\n  spaced   out  \n", "spaced out"),
        ("!!!", "!!!"),
    ],
)
def test_the_title_of(text: str, expected: str) -> None:
    assert title_for(text) == expected


@given(st.text(min_size=1, max_size=400))
def test_a_title_is_one_short_line(text: str) -> None:
    title = title_for(text)

    assert len(title) <= 80
    assert "\n" not in title
    assert bool(title) or not text.strip()


@given(st.text(max_size=600))
def test_a_summary_is_one_line_of_at_most_120_characters(text: str) -> None:
    said = summary(Memory(id="a", type="rule", title="Title", text=text))

    assert said
    assert len(said) <= MAX_SUMMARY
    assert "\n" not in said


def test_rules_and_skills_instruct_and_knowledge_informs() -> None:
    assert [default_authority(type) for type in ("rule", "skill", "knowledge")] == [
        "instruction",
        "instruction",
        "reference",
    ]


# -- the hash ----------------------------------------------------------------------------------------------------------

MEANING: dict[str, Any] = {"type": "rule", "triggers": ["a"], "always": False, "valid_until": ""}


@pytest.mark.parametrize(
    ("meaning", "body"),
    [
        ({**MEANING, "triggers": ("a",)}, "text"),
        ({"type": "rule", "triggers": ["a"]}, "text"),
        ({**MEANING, "role": []}, "text"),
        ({**MEANING, "tags": ["new"], "updated": "2026-03-02", "author": "Ada", "revision": 9}, "text"),
        (MEANING, "text\n\n\n"),
        (MEANING, "\ntext"),
        (MEANING, "\r\ntext\r\n"),
    ],
)
def test_what_an_approval_is_not_about_changes_no_hash(meaning: dict[str, Any], body: str) -> None:
    assert hash_of(meaning, body) == hash_of(MEANING, "text")


@pytest.mark.parametrize(
    ("meaning", "body"),
    [
        (MEANING, "Text"),
        (MEANING, "te xt"),
        (MEANING, " text"),
        (MEANING, "text "),
        (MEANING, "te\nxt"),
        ({**MEANING, "type": "skill"}, "text"),
        ({**MEANING, "triggers": ["a", "b"]}, "text"),
        ({**MEANING, "triggers": ["ab"]}, "text"),
        ({**MEANING, "always": True}, "text"),
        ({**MEANING, "valid_until": "2026-03-02"}, "text"),
        ({**MEANING, "valid_from": "2026-03-02"}, "text"),
        ({**MEANING, "role": ["x"]}, "text"),
        ({**MEANING, "depends_on": ["x"]}, "text"),
        ({**MEANING, "supersedes": ["x"]}, "text"),
        ({**MEANING, "superseded_by": "x"}, "text"),
        ({**MEANING, "confidence": "low"}, "text"),
        ({**MEANING, "authority": "reference"}, "text"),
        ({**MEANING, "lifecycle": "archived"}, "text"),
        ({**MEANING, "tier": "working"}, "text"),
        ({**MEANING, "objective": "x"}, "text"),
    ],
)
def test_what_an_approval_is_about_changes_the_hash(meaning: dict[str, Any], body: str) -> None:
    assert hash_of(meaning, body) != hash_of(MEANING, "text")


def test_a_memory_without_a_hash_is_not_an_edited_one() -> None:
    assert not Memory(id="a", type="rule", title="A", text="x", actual_hash="sha256:1").is_edited
    assert Memory(id="a", type="rule", title="A", text="x", content_hash="z", actual_hash="sha256:1").is_edited


def test_roles_hide_only_where_both_sides_have_some() -> None:
    assert is_hidden_by_role(["a"], ["b"])
    assert not is_hidden_by_role(["A"], ["a", "b"])
    assert not is_hidden_by_role([], ["b"])
    assert not is_hidden_by_role(["a"], [])
