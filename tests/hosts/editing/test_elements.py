"""A hook in a JSON file of a person."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import assume, given
from tests.hosts.editing.documents import data_of, documents

from engram.hosts.editing import elements
from engram.hosts.editing.edit import Edit, Untouched
from engram.hosts.parts import Element

CALL = {"type": "command", "command": "engram hook claude pre-tool", "timeout": 10}
GROUP = {"matcher": "*", "hooks": [CALL]}
PART = Element(path="", keys=("hooks", "PreToolUse"), value=GROUP)
FLAT = Element(path="", keys=("hooks", "stop"), value={"command": "engram hook cursor stop"}, beside={"version": 1})
MINE = '{"hooks": [{"type": "command", "command": "mine"}]}'


def back(edit: Edit, part: Element = PART) -> str:
    return elements.take(edit.text, part, containers=edit.containers).text


def is_within(small: str, large: str) -> bool:
    rest = iter(large)
    return all(letter in rest for letter in small)


@given(documents())
def test_in_any_settings_only_our_hook_is_added_and_can_be_taken_out_again(text: str) -> None:
    before = data_of(text)
    hooks = before.get("hooks", {})
    assume(isinstance(hooks, dict) and isinstance(hooks.get("PreToolUse", []), list))

    edit = elements.put(text, PART)

    wanted = copy.deepcopy(before)
    wanted.setdefault("hooks", {}).setdefault("PreToolUse", []).append(GROUP)
    assert data_of(edit.text) == wanted
    assert is_within(text, edit.text)
    assert elements.put(edit.text, PART) == Edit(text=edit.text, status="unchanged")
    assert back(edit) == text


@given(documents())
def test_in_any_settings_what_is_needed_beside_is_added_and_taken_out_again(text: str) -> None:
    before = data_of(text)
    assume(isinstance(before.get("hooks", {}), dict) and not before.get("hooks"))

    edit = elements.put(text, FLAT)

    assert data_of(edit.text) == {**before, "hooks": {"stop": [FLAT.value]}, "version": 1}
    assert elements.put(edit.text, FLAT) == Edit(text=edit.text, status="unchanged")
    assert back(edit, FLAT) == text


def test_the_hooks_of_a_person_stay_before_and_after_ours_in_their_order() -> None:
    text = """{
    "hooks": {
        "PreToolUse": [
            {"matcher": "A", "hooks": []}, // first
            {"matcher": "*", "hooks": [{"type": "command", "command": "engram hook old", "timeout": 1e4}]},
            /* last */ {"matcher": "B", "hooks": []},
        ],
    },
}
"""

    edit = elements.put(text, PART)

    assert edit.status == "updated"
    assert edit.text == text.replace("engram hook old", "engram hook claude pre-tool").replace("1e4", "10")
    left = elements.take(edit.text, PART, containers=())
    assert left.text == "\n".join(line for line in text.split("\n") if "engram" not in line)


def test_beside_a_call_of_a_person_in_one_group_only_the_call_is_ours() -> None:
    text = """{"hooks": {"PreToolUse": [
  {"matcher": "Bash", "hooks": [
    {"command": "mine"},
    {"command": "engram hook old", "async": true}, // slow
    {"command": "mine too"}
  ]}
]}}"""

    edit = elements.put(text, PART)

    group = data_of(edit.text)["hooks"]["PreToolUse"]
    assert group == [
        {"matcher": "Bash", "hooks": [{"command": "mine"}, {**CALL, "async": True}, {"command": "mine too"}]}
    ]
    assert "// slow" in edit.text
    assert elements.put(edit.text, PART).status == "unchanged"
    left = data_of(elements.take(edit.text, PART, containers=None).text)
    assert left["hooks"]["PreToolUse"] == [{"matcher": "Bash", "hooks": [{"command": "mine"}, {"command": "mine too"}]}]


@pytest.mark.parametrize(
    "groups",
    [
        [GROUP, GROUP],
        [GROUP, {"hooks": [CALL, CALL]}],
        [{"hooks": [CALL, CALL]}],
        [{"hooks": [CALL, {"command": "mine"}, CALL]}, GROUP],
        [{"hooks": [{"command": "mine"}, CALL]}, {"hooks": [CALL, {"command": "mine"}]}, GROUP],
    ],
)
def test_ours_stands_there_once_however_often_it_did(groups: list[dict[str, Any]]) -> None:
    text = json.dumps({"hooks": {"PreToolUse": groups}}, indent=2)

    edit = elements.put(text, PART)

    assert edit.text.count("engram hook") == 1
    assert edit.text.count("mine") == text.count("mine")
    assert elements.put(edit.text, PART).status == "unchanged"
    for one in (text, edit.text):
        left = elements.take(one, PART, containers=()).text
        assert (left.count("engram hook"), left.count("mine")) == (0, text.count("mine"))


def test_a_group_that_only_speaks_of_ours_is_a_persons() -> None:
    text = '{"hooks": {"PreToolUse": [{"description": "after engram hook", "hooks": [{"command": "mine"}]}]}}'

    edit = elements.put(text, PART)

    assert edit.status == "written"
    assert back(edit) == text
    assert elements.take(text, PART, containers=None).status == "unchanged"


def test_thousands_of_ours_are_taken_out_at_once() -> None:
    text = json.dumps({"hooks": {"PreToolUse": [GROUP, {"hooks": []}] * 5_000}})

    left = elements.take(text, PART, containers=())

    assert data_of(left.text) == {"hooks": {"PreToolUse": [{"hooks": []}] * 5_000}}


def test_what_a_person_added_to_our_hook_survives_a_new_form() -> None:
    text = (
        '{"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", /* both */ "id": "x", '
        '"hooks": [{"command": "engram hook", "timeout": 10.0}]}]}}'
    )
    value = {"hooks": [{"type": "command", "command": "engram hook new", "timeout": 10}]}

    edit = elements.put(text, Element(path="", keys=PART.keys, value=value))

    assert edit.text == text.replace('"engram hook"', '"engram hook new"').replace("10.0", '10.0, "type": "command"')


def test_a_flat_hook_with_a_list_of_that_name_is_one_hook() -> None:
    text = (
        '{"version": 1, "hooks": {"stop": [{"command": "engram hook", "hooks": [1, "engram hook"]}, {"command": "b"}]}}'
    )

    edit = elements.put(text, FLAT)

    assert edit.status == "updated"
    assert data_of(elements.take(edit.text, FLAT, containers=()).text)["hooks"] == {"stop": [{"command": "b"}]}


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("[]", "skipped", "its top level is no object"),
        ('{"hooks": []}', "skipped", "`hooks` is no object"),
        ('{"hooks": null}', "skipped", "`hooks` is no object"),
        ('{"hooks": {"PreToolUse": {}}}', "skipped", "`hooks.PreToolUse` is no list"),
        ('{"hooks": {"PreToolUse": "engram hook"}}', "skipped", "`hooks.PreToolUse` is no list"),
        ('{"hooks": {"PreToolUse": [}}', "skipped", "cannot be parsed"),
        ('{"hooks": {}, "hooks": {}}', "conflict", "`hooks` stands there 2 times"),
        ('{"hooks": {"PreToolUse": [], "PreToolUse": []}}', "conflict", "`hooks.PreToolUse` stands there 2 times"),
        (
            '{"hooks": {"PreToolUse": [{"hooks": [{"command": "a", "command": "engram hook"}]}]}}',
            "conflict",
            "`hooks.PreToolUse.0.hooks.0.command` stands there 2 times",
        ),
    ],
)
def test_what_cannot_be_edited_is_left_alone_with_the_reason(text: str, status: str, reason: str) -> None:
    with pytest.raises(Untouched) as left:
        elements.put(text, PART)

    assert (left.value.status, left.value.reason.startswith(reason)) == (status, True), left.value.reason


def test_strings_in_the_list_are_a_persons() -> None:
    text = f'{{"hooks": {{"PreToolUse": ["x", null, {MINE}]}}}}'

    edit = elements.put(text, PART)

    assert data_of(edit.text)["hooks"]["PreToolUse"][:3] == data_of(text)["hooks"]["PreToolUse"]
    assert back(edit) == text


# -- beside and containers ---------------------------------------------------------------------------------------------


def test_a_version_that_a_person_wrote_is_neither_changed_nor_taken() -> None:
    text = '{"version": 2, "hooks": {}}'

    edit = elements.put(text, FLAT)

    assert data_of(edit.text)["version"] == 2
    assert back(edit, FLAT) == text


def test_our_version_stays_as_long_as_hooks_of_a_person_need_it() -> None:
    edit = elements.put("{}", FLAT)
    text = edit.text.replace('"stop": [', '"start": [{"command": "mine"}], "stop": [')

    left = elements.take(text, FLAT, containers=edit.containers)

    assert data_of(left.text) == {"hooks": {"start": [{"command": "mine"}]}, "version": 1}


def test_of_two_hooks_in_one_file_the_last_takes_all_that_was_made() -> None:
    other = Element(
        path="", keys=("hooks", "start"), value={"command": "engram hook cursor start"}, beside={"version": 1}
    )
    first = elements.put("{}\n", FLAT)
    second = elements.put(first.text, other)

    left = elements.take(second.text, other, containers=second.containers)

    assert left.text == first.text
    assert back(first, FLAT) == "{}\n"


def test_without_a_memory_of_what_was_made_the_emptied_list_goes_and_the_others_stay() -> None:
    text = f'{{"hooks": {{"Stop": [], "PreToolUse": [{json.dumps(GROUP)}]}}}}'

    assert elements.take(text, PART, containers=None).text == '{"hooks": {"Stop": []}}'
    assert elements.take(text, PART, containers=()).text == '{"hooks": {"Stop": [], "PreToolUse": []}}'
    assert elements.take(elements.put("{}", FLAT).text, FLAT, containers=None).text == "{}"


@pytest.mark.parametrize("text", ["", "\n", "// x", "{}", '{"hooks": {}}', f'{{"hooks": {{"PreToolUse": [{MINE}]}}}}'])
def test_where_nothing_is_ours_taking_changes_nothing(text: str) -> None:
    assert elements.take(text, PART, containers=None) == Edit(text=text, status="unchanged")


@pytest.mark.parametrize("text", ["", "\r\n", "  ", "// only this", "// only this\r\n"])
def test_a_file_without_any_value_gets_an_object_after_what_is_there(text: str) -> None:
    edit = elements.put(text, FLAT)

    assert edit.text.startswith(text)
    assert data_of(edit.text) == {"version": 1, "hooks": {"stop": [FLAT.value]}}
    assert back(edit, FLAT) == text
