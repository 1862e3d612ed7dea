"""The entry of a server in a JSON file of a person."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.hosts.editing.documents import data_of, documents

from engram.hosts.editing import members
from engram.hosts.editing.edit import Edit, Untouched
from engram.hosts.parts import Member

OURS = {"command": "engram-mcp", "args": ["--tools=governed"]}
PART = Member(path="x.json", keys=("mcpServers", "engram"), value=OURS)


def back(edit: Edit, part: Member = PART) -> str:
    return members.take(edit.text, part, containers=edit.containers).text


def is_within(small: str, large: str) -> bool:
    rest = iter(large)
    return all(letter in rest for letter in small)


@given(documents())
def test_in_any_settings_only_our_entry_is_added_and_can_be_taken_out_again(text: str) -> None:
    before = data_of(text)
    servers = before.get("mcpServers", {})
    assume(isinstance(servers, dict) and "engram" not in servers)

    edit = members.put(text, PART)

    wanted = copy.deepcopy(before)
    wanted.setdefault("mcpServers", {})["engram"] = OURS
    assert data_of(edit.text) == wanted
    assert edit.status == "written"
    assert is_within(text, edit.text)
    assert members.put(edit.text, PART) == Edit(text=edit.text, status="unchanged")
    assert back(edit) == text


@given(
    documents(),
    st.sampled_from([{"command": "uvx", "args": ["--from", "x==1", "engram-mcp"]}, {"command": "engram-mcp"}]),
)
def test_in_any_settings_an_older_entry_is_brought_up_to_date_and_nothing_else(
    text: str, older: dict[str, Any]
) -> None:
    before = data_of(text)
    assume(isinstance(before.get("mcpServers", {}), dict) and "engram" not in before.get("mcpServers", {}))
    older = {**older, "env": {"A": "1"}}
    linked = members.put(text, Member(path="", keys=PART.keys, value=older))

    edit = members.put(linked.text, PART)

    before.setdefault("mcpServers", {})["engram"] = {**older, **OURS}
    assert data_of(edit.text) == before
    assert (edit.status, edit.containers) == ("updated", ())
    assert members.put(edit.text, PART).status == "unchanged"
    assert members.take(edit.text, PART, containers=linked.containers).text == text


# -- styles ------------------------------------------------------------------------------------------------------------

STYLES = {
    "two blanks": (
        '{\n  "a": 1.0\n}\n',
        '{\n  "a": 1.0,\n  "mcpServers": {\n    "engram": {\n      "command": "engram-mcp",\n      "args": [\n'
        '        "--tools=governed"\n      ]\n    }\n  }\n}\n',
    ),
    "four blanks": (
        '{\n    "mcpServers": {\n        "b": {"command": "b"}\n    }\n}',
        '{\n    "mcpServers": {\n        "b": {"command": "b"},\n        "engram": {\n'
        '            "command": "engram-mcp",\n'
        '            "args": [\n                "--tools=governed"\n            ]\n        }\n    }\n}',
    ),
    "tabs and CRLF": (
        '{\r\n\t"a": 1e3\r\n}\r\n',
        '{\r\n\t"a": 1e3,\r\n\t"mcpServers": {\r\n\t\t"engram": {\r\n\t\t\t"command": "engram-mcp",\r\n'
        '\t\t\t"args": [\r\n'
        '\t\t\t\t"--tools=governed"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n',
    ),
    "one line": (
        '{"a":[1,2],"mcpServers":{}}',
        '{"a":[1,2],"mcpServers":{"engram": {"command": "engram-mcp", "args": ["--tools=governed"]}}}',
    ),
    "trailing commas": (
        '{\n  "mcpServers": {\n    "b": {}, // mine\n  },\n}\n',
        '{\n  "mcpServers": {\n    "b": {}, // mine\n    "engram": {\n      "command": "engram-mcp",\n      "args": [\n'
        '        "--tools=governed"\n      ]\n    },\n  },\n}\n',
    ),
    "a comment before the brace": (
        '{\n  "a": 1 // "b": "2,\n  /* "c": 3 */\n}\n',
        '{\n  "a": 1, // "b": "2,\n  /* "c": 3 */\n  "mcpServers": {\n    "engram": {\n      "command": "engram-mcp",\n'
        '      "args": [\n        "--tools=governed"\n      ]\n    }\n  }\n}\n',
    ),
    "only comments inside": (
        "{ // nothing yet\n}\n",
        '{ // nothing yet\n  "mcpServers": {\n    "engram": {\n      "command": "engram-mcp",\n      "args": [\n'
        '        "--tools=governed"\n      ]\n    }\n  }\n}\n',
    ),
    "an empty object": (
        "{}",
        '{\n  "mcpServers": {\n    "engram": {\n      "command": "engram-mcp",\n      "args": [\n'
        '        "--tools=governed"\n      ]\n    }\n  }\n}',
    ),
}


@pytest.mark.parametrize("name", STYLES)
def test_an_entry_is_written_in_the_style_of_the_file(name: str) -> None:
    text, wanted = STYLES[name]

    edit = members.put(text, PART)

    assert edit.text == wanted
    assert back(edit) == text


@pytest.mark.parametrize("text", ["", "\n", "  ", " \r\n\r\n", "// only this\n", "// only this", "/* a\r\n{ */\r\n"])
def test_a_file_without_any_value_gets_an_object_after_what_is_there(text: str) -> None:
    edit = members.put(text, PART)

    assert edit.status == "written"
    assert edit.text.startswith(text)
    assert data_of(edit.text) == {"mcpServers": {"engram": OURS}}
    assert ("\r\n" in edit.text, edit.text.count("\n")) == (
        "\r\n" in text,
        len(edit.text.splitlines()) - (text != "" and not text.endswith("\n")),
    )
    assert back(edit) == text


def test_white_space_alone_in_an_object_is_not_remembered() -> None:
    """The limit of an edit of text: the file that linking remembers byte by byte is another matter."""
    assert back(members.put('{"mcpServers": { }}', PART)) == '{"mcpServers": {}}'


def test_a_name_that_is_written_with_escapes_is_that_name() -> None:
    text = '{"mcp\\u0053ervers": {"\\u0065ngram": {"command": "x/engram-mcp", "note": "\\u00e9\\ud83d\\ude00"}}}'

    edit = members.put(text, PART)

    assert edit.text == text.replace('"x/engram-mcp"', '"engram-mcp"').replace(
        '\\ude00"', '\\ude00", "args": ["--tools=governed"]'
    )


# -- what is not ours --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("[]", "skipped", "its top level is no object"),
        ('"mcpServers"', "skipped", "its top level is no object"),
        ('{"mcpServers": []}', "skipped", "`mcpServers` is no object"),
        ('{"mcpServers": "x"}', "skipped", "`mcpServers` is no object"),
        ('{"mcpServers": null}', "skipped", "`mcpServers` is no object"),
        ('{"a": 1', "skipped", "cannot be parsed: line 1, Expecting ',' delimiter"),
        ('{\n"a": 1\n"b": 2}', "skipped", "cannot be parsed: line 3, Expecting ',' delimiter"),
        ('{"a": "b\n"}', "skipped", "cannot be parsed: line 1, a string that does not end"),
        ("{\n/* }", "skipped", "cannot be parsed: line 2, a comment that does not end"),
        ('{"a": NaN}', "skipped", "cannot be parsed: line 1, NaN is no value"),
        ("{'a': 1}", "skipped", "cannot be parsed: line 1, Expecting property name enclosed in double quotes"),
        ('{"a": 1} {}', "skipped", "cannot be parsed: line 1, something follows the value"),
        ('{"a": ,}', "skipped", "cannot be parsed: line 1, Expecting value"),
        ("{,}", "skipped", "cannot be parsed: line 1, Expecting property name enclosed in double quotes"),
        ('{"mcpServers": {}, "mcpServers": {"b": {}}}', "conflict", "`mcpServers` stands there 2 times"),
        (
            '{"mcpServers": {"engram": {"command": "engram-mcp"}, "engram": {}}}',
            "conflict",
            "`mcpServers.engram` stands there 2 times",
        ),
        (
            '{"mcpServers": {"engram": {"command": "engram-mcp", "args": [], "args": [1]}}}',
            "conflict",
            "`mcpServers.engram.args` stands there 2 times",
        ),
    ],
)
def test_what_cannot_be_edited_is_left_alone_with_the_reason(text: str, status: str, reason: str) -> None:
    with pytest.raises(Untouched) as left:
        members.put(text, PART)

    assert (left.value.status, left.value.reason.startswith(reason)) == (status, True), left.value.reason


@pytest.mark.parametrize(
    "theirs",
    [
        {"command": "my-engram"},
        {"command": "node", "args": ["engram.js"], "cwd": "/src/engram-mcp"},
        {"command": "x", "env": {"WAS": "engram-mcp"}},
        {"url": "https://engram-mcp.example"},
        {},
        None,
        "engram-mcp",
    ],
)
def test_a_persons_own_server_of_that_name_is_left_and_named(theirs: Any) -> None:
    text = json.dumps({"mcpServers": {"engram": theirs}})

    for edit in (lambda: members.put(text, PART), lambda: members.take(text, PART, containers=())):
        with pytest.raises(Untouched) as left:
            edit()
        assert left.value.status == "kept"
        assert left.value.reason == "`mcpServers.engram` is somebody else's; it was left as it is"


def test_duplicate_names_elsewhere_stay_as_they_are() -> None:
    text = '{"a": 1, "a": {"b": 1, "b": 2}}'

    edit = members.put(text, PART)

    assert edit.text.startswith(text[:-1])
    assert back(edit) == text


# -- what a person has added to ours -----------------------------------------------------------------------------------

PINNED = """{
  "mcpServers": {
    "engram": { // by hand: longer
      "timeout": 6e4, "disabled": false,
      "command": "uvx",
      "env": {"TOKEN": "\\u0041", /* and */ "B": "1"},
      "args": ["--from", "engram==1.0", "engram-mcp"],
      "cwd": "/p" // here
    }
  }
}
"""


def test_a_new_version_is_pinned_and_all_that_a_person_added_stays() -> None:
    value = {"command": "uvx", "args": ["--from", "engram==2.0", "engram-mcp"], "env": {"B": "2"}}

    edit = members.put(PINNED, Member(path="", keys=PART.keys, value=value))

    assert edit.status == "updated"
    assert edit.text == PINNED.replace("1.0", "2.0").replace('"B": "1"', '"B": "2"')


def test_numbers_that_are_equal_are_not_written_anew() -> None:
    value = {"command": "uvx", "timeout": 60000}

    assert members.put(PINNED, Member(path="", keys=PART.keys, value=value)).status == "unchanged"
    assert members.put(PINNED, Member(path="", keys=PART.keys, value={"disabled": 0})).status == "updated"


def test_arguments_of_another_number_are_exchanged_in_the_style_of_the_old_ones() -> None:
    edit = members.put(PINNED, PART)

    assert edit.text == PINNED.replace('"uvx"', '"engram-mcp"').replace(
        '["--from", "engram==1.0", "engram-mcp"]', '["--tools=governed"]'
    )


def test_an_entry_that_a_person_edited_is_taken_out_with_the_edits() -> None:
    edit = members.take(PINNED, PART, containers=(("mcpServers",),))

    assert (edit.text, edit.status) == ("{}\n", "removed")


# -- taking out without the registry -----------------------------------------------------------------------------------


def test_without_a_memory_of_what_was_made_empty_objects_on_the_way_go_and_no_others() -> None:
    text = '{"z": {}, "mcpServers": {"engram": {"command": "engram-mcp"}}}'

    assert members.take(text, PART, containers=None).text == '{"z": {}}'
    assert members.take(text, PART, containers=()).text == '{"z": {}, "mcpServers": {}}'


def test_an_object_with_a_comment_in_it_is_not_empty() -> None:
    text = '{"mcpServers": { /* mine */ "engram": {"command": "engram-mcp"}}}'

    assert members.take(text, PART, containers=None).text == '{"mcpServers": { /* mine */}}'


@pytest.mark.parametrize(
    "text", ["", " \n", "// x\n", "{}", '{"mcpServers": {}}', '{"mcpServers": []}', '{"mcpServers": 1}']
)
def test_where_nothing_is_ours_taking_changes_nothing(text: str) -> None:
    assert members.take(text, PART, containers=None) == Edit(text=text, status="unchanged")


def test_an_entry_between_others_leaves_them_with_their_comments() -> None:
    text = (
        '{\n  "mcpServers": {\n    "a": {}, // a\n    // ours\n    "engram": {"command": "engram-mcp"}, // e\n'
        '    "b": {} // b\n  }\n}\n'
    )

    edit = members.take(text, PART, containers=(("mcpServers",),))

    assert edit.text == '{\n  "mcpServers": {\n    "a": {}, // a\n    // ours\n     // e\n    "b": {} // b\n  }\n}\n'


@pytest.mark.parametrize(
    ("text", "beside", "is_shell"),
    [
        ("", {}, True),
        (" \n", {}, True),
        ("{ }\n", {}, True),
        ('{"version": 1}', {"version": 1}, True),
        ('{"version": 2}', {"version": 1}, False),
        ('{"version": 1}', {}, False),
        ("{ /* mine */ }", {}, False),
        ("[]", {}, False),
    ],
)
def test_a_shell_is_a_text_in_which_nothing_of_a_person_is_left(
    text: str, beside: dict[str, Any], is_shell: bool
) -> None:
    assert members.is_shell(text, beside) == is_shell
