"""Reading JSON with comments by position, and what no text may do to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.hosts.editing.documents import data_of, documents

from engram.hosts import foreign_file
from engram.hosts.editing import elements, json_text, members
from engram.hosts.editing.edit import Edit, Untouched
from engram.hosts.parts import Element, Member

MEMBER = Member(path="", keys=("mcpServers", "engram"), value={"command": "engram-mcp"})
ELEMENT = Element(path="", keys=("hooks", "PreToolUse"), value={"hooks": [{"command": "engram hook"}]}, beside={"v": 1})
NOISE = st.text(st.sampled_from('{}[]",:/*\\ \n\r\t01-.eEtrufalsn\ufeff\u2028'), max_size=40)


@given(documents())
def test_a_text_with_comments_says_what_it_says_without_them(text: str) -> None:
    page = json_text.read(text)

    assert page.value == data_of(text)
    assert len(page.plain) == len(text)
    assert json.loads(page.plain) == page.value


@given(NOISE)
@example('{"a": 1 /* b }')
@example('{"a": "//"}')
@example("{/**//**/}")
@example('{"a": 1,,}')
@example('{"a": [,]}')
@example("1,")
def test_what_is_read_from_any_text_stands_in_it(text: str) -> None:
    try:
        page = json_text.read(text)
    except Untouched:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
    else:
        assert json.loads(page.plain) == page.value


def _all(text: str) -> list[Edit]:
    edits: list[Callable[[], Edit]] = [
        lambda: members.put(text, MEMBER),
        lambda: members.take(text, MEMBER, containers=None),
        lambda: members.take(text, MEMBER, containers=((),)),
        lambda: elements.put(text, ELEMENT),
        lambda: elements.take(text, ELEMENT, containers=None),
    ]
    done = []
    for edit in edits:
        with suppress(Untouched):
            done.append(edit())
    return done


@given(st.one_of(NOISE, st.text(max_size=60), st.binary(max_size=60).map(lambda data: data.decode("utf-8", "replace"))))
def test_any_text_is_edited_or_left_alone(text: str) -> None:
    for edit in _all(text):
        edit.text.encode()


@given(documents(), st.integers(0, 400), st.integers(0, 400), NOISE)
def test_settings_that_were_damaged_are_edited_or_left_alone(text: str, begin: int, size: int, noise: str) -> None:
    for edit in _all(text[:begin] + noise + text[begin + size :]):
        edit.text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        '{"mcpServers":' * 500 + "{}" + "}" * 500,
        '{"a": ' + "[" * 101 + "]" * 101 + "}",
    ],
)
def test_what_is_nested_too_deeply_is_left_alone(text: str) -> None:
    for edit in (lambda: members.put(text, MEMBER), lambda: elements.put(text, ELEMENT)):
        with pytest.raises(Untouched, match="nested too deeply"):
            edit()


def test_ninety_levels_are_not_too_deep() -> None:
    text = '{"a": ' + "[" * 90 + "]" * 90 + "}"

    edit = members.put(text, MEMBER)

    assert members.take(edit.text, MEMBER, containers=edit.containers).text == text


_MEMBERS = ",\n".join(f'  "key {number}": "value \\" // {number}" /* , */' for number in range(40_000))


@pytest.mark.parametrize(
    "text",
    [
        "{\n" + _MEMBERS + "\n}\n",
        "{\n" + "// note\n" * 100_000 + "}\n",
        '{"a": [' + "1," * 800_000 + "]}",
        '{"a": "' + '\\"' * 2_000_000 + '"}',
        "{" + " " * 4_000_000 + "}",
    ],
    ids=["members", "comments", "numbers", "escapes", "blanks"],
)
def test_a_file_of_some_megabytes_is_edited_as_any_other(text: str) -> None:
    edit = members.put(text, MEMBER)

    assert edit.status == "written"
    if " " * 1000 not in text:
        assert members.take(edit.text, MEMBER, containers=edit.containers).text == text


@pytest.mark.parametrize(
    "text",
    ['{"a": "' + "\\a" * 2_000_000, "/*" * 2_000_000, "{" + "/* " * 1_000_000, "," * 4_000_000, " ," * 2_000_000 + "]"],
    ids=["string", "comments", "comment in an object", "commas", "commas and blanks"],
)
def test_a_broken_file_of_some_megabytes_is_left_alone(text: str) -> None:
    with pytest.raises(Untouched, match="cannot be parsed"):
        members.put(text, MEMBER)


def test_numbers_of_any_length_stay_as_they_are() -> None:
    text = '{"a": ' + "9" * 5000 + ', "b": 1e999, "c": -0.0}'

    edit = members.put(text, MEMBER)

    assert edit.text.startswith(text[:-1])
    assert members.take(edit.text, MEMBER, containers=edit.containers).text == text


def test_a_byte_order_mark_is_no_part_of_the_text_and_comes_back() -> None:
    found = foreign_file.Found(path="", target="", data=b'\xef\xbb\xbf{"a": 1}\r\n')

    edit = members.put(found.text, MEMBER)

    assert found.encoded(edit.text).startswith(b'\xef\xbb\xbf{"a": 1,')
    assert found.encoded(members.take(edit.text, MEMBER, containers=edit.containers).text) == found.data
