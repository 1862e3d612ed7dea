"""A block of ours in a Markdown text of a person."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from engram.hosts.editing import blocks
from engram.hosts.editing.edit import Edit, Untouched
from engram.hosts.parts import Block

PART = Block(path="", text="Use it.\n\n```\ncode\n```\n")
BLOCK = f"{blocks.START}\nUse it.\n\n```\ncode\n```\n{blocks.END}"
OLD = f"{blocks.START}\nOld.\n{blocks.END}"
RULE = Block(path="", text="Use it.", heading={"description": "Memory", "alwaysApply": True})
HEADING = "---\ndescription: Memory\nalwaysApply: true\n---\n\n"

_LINES = st.sampled_from(
    [
        "",
        "text",
        "  indented",
        "# Title",
        "- point",
        "```",
        "```py",
        "~~~",
        "````",
        "---",
        "a: b",
        "<!-- x -->",
        "\u2028",
        "\x0c",
    ]
)
_ENDS = st.sampled_from(["\n", "\r\n"])
TEXTS = st.builds(
    lambda lines, end, last: end.join(lines) + last * end, st.lists(_LINES, max_size=12), _ENDS, st.integers(0, 3)
)
ANY = st.one_of(
    TEXTS,
    st.text(st.sampled_from("`~-: \n\ra<!"), max_size=60),
    st.lists(st.sampled_from([blocks.START, blocks.END, "\n", "\r\n", "```", "a", " ", "---"]), max_size=12).map(
        "".join
    ),
)


def back(edit: Edit, part: Block = PART) -> str:
    return blocks.take(edit.text, part, containers=edit.containers).text


@given(TEXTS, st.sampled_from([PART, RULE]))
@example("```\nnever closed", PART)
@example("---\nnever: closed\n", RULE)
@example("---\n---\n", RULE)
@example("---\r\nalwaysApply: false\r\n---", RULE)
@example("a\r\nb\n", RULE)
def test_in_any_text_only_the_block_is_added_and_can_be_taken_out_again(text: str, part: Block) -> None:
    edit = blocks.put(text, part)

    end = "\r\n" if "\r\n" in text[-2:] else "\n"
    assert edit.status == "written"
    assert edit.text.count(blocks.START) == edit.text.count(blocks.END) == 1
    assert part.heading or edit.text.startswith(text)
    assert edit.text.endswith("\n") == (text == "" or text.endswith("\n"))
    assert end in edit.text
    assert blocks.put(edit.text, part) == Edit(text=edit.text, status="unchanged")
    assert back(edit, part) == text


@given(ANY, st.sampled_from([PART, RULE]))
def test_any_text_is_edited_or_left_alone(text: str, part: Block) -> None:
    try:
        edit = blocks.put(text, part)
    except Untouched as left:
        with pytest.raises(Untouched, match="do not stand there once each"):
            blocks.take(text, part)
        assume(left.status != "conflict")
    else:
        assert blocks.put(edit.text, part).status == "unchanged"
        assert blocks.START not in blocks.take(edit.text, part).text.replace("`", "") or text.count(blocks.START) > 0


def test_a_block_in_the_middle_is_replaced_where_it_stands() -> None:
    text = f"# Mine\n\n{OLD}\n\nMore of mine\n"

    edit = blocks.put(text, PART)

    assert edit == Edit(text=text.replace(OLD, BLOCK), status="updated")
    assert blocks.take(edit.text, PART).text == "# Mine\n\n\nMore of mine\n"


def test_in_a_file_with_crlf_the_block_has_crlf() -> None:
    edit = blocks.put("# Mine\r\n", PART)

    assert edit.text == "# Mine\r\n\r\n" + BLOCK.replace("\n", "\r\n") + "\r\n"
    assert blocks.put(edit.text.replace("Use", "Do"), PART).text == edit.text


def test_what_a_person_wrote_after_the_block_stays() -> None:
    edit = blocks.put("# Mine", PART)

    assert edit.text == f"# Mine\n\n{BLOCK}"
    assert blocks.take(edit.text + "\nmore", PART).text == "# Mine\n\nmore"
    assert blocks.take(edit.text + "\n", PART).text == "# Mine\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{OLD}\n{OLD}\n",
        f"{blocks.START}\n",
        f"a\n{blocks.END}\n",
        f"{blocks.END}\n{blocks.START}\n",
        f"{blocks.START}\n{OLD}\n",
        f"{OLD}\n{blocks.END}",
    ],
)
def test_markers_that_contradict_each_other_are_a_conflict(text: str) -> None:
    for edit in (blocks.put, blocks.take):
        with pytest.raises(Untouched) as left:
            edit(text, PART)
        assert left.value.status == "conflict"


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{OLD}\n```\n",
        f"````md\n```\n{OLD}\n```\n````\n",
        f"~~~\n```\n{OLD}\n~~~\n",
        f"```\n{blocks.START}\n```\n",
        f"Write `{blocks.START}` and `{blocks.END}`.\n",
    ],
)
def test_markers_that_are_quoted_are_text_of_a_person(text: str) -> None:
    edit = blocks.put(text, PART)

    assert edit.text == f"{text}\n{BLOCK}\n"
    assert blocks.put(edit.text, PART).status == "unchanged"
    assert back(edit) == text
    assert blocks.take(text, PART).status == "unchanged"


@pytest.mark.parametrize("before", ["```\nnever closed\n", "``` `not a fence`\n", "    ```\n", "~~~\n```\n"])
def test_a_fence_that_is_never_closed_hides_no_block(before: str) -> None:
    text = f"{before}\n{OLD}\n"

    assert blocks.put(text, PART).text == text.replace(OLD, BLOCK)


def test_markers_between_other_line_ends_than_those_of_editors_do_not_count() -> None:
    text = f"a\u2028{blocks.START}\u2028b\n"

    assert back(blocks.put(text, PART)) == text


# -- front matter ------------------------------------------------------------------------------------------------------


def test_front_matter_that_is_missing_is_made_and_goes_again() -> None:
    edit = blocks.put("", RULE)

    assert edit.text == f"{HEADING}{blocks.START}\nUse it.\n{blocks.END}\n"
    assert edit.containers == (blocks.FRONT_MATTER,)
    assert blocks.take(edit.text, RULE).text.strip() == ""
    assert back(edit, RULE) == ""
    assert back(blocks.put("# Mine\n", RULE), RULE) == "# Mine\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_of_a_person_gets_only_what_it_lacks(end: str) -> None:
    text = end.join(["---", "# mine", "description: My own", "globs: '*.py'", "---", "", "Body", ""])

    edit = blocks.put(text, RULE)

    assert edit.text.startswith(text.replace(f"'*.py'{end}", f"'*.py'{end}alwaysApply: true{end}"))
    assert edit.containers == (("alwaysApply",),)
    assert edit.text.count("\n") == edit.text.count(end)
    assert back(edit, RULE) == text


def test_without_a_memory_of_what_was_made_the_front_matter_of_a_text_stays() -> None:
    edit = blocks.put("---\nglobs: x\n---\nBody\n", RULE)

    assert blocks.take(edit.text, RULE).text == ("---\nglobs: x\ndescription: Memory\nalwaysApply: true\n---\nBody\n")


def test_a_line_of_ours_that_a_person_changed_stays() -> None:
    edit = blocks.put("", RULE)
    text = edit.text.replace("alwaysApply: true", "alwaysApply: false")

    assert blocks.put(text, RULE).status == "unchanged"
    assert blocks.take(text, RULE, containers=edit.containers).text == "---\nalwaysApply: false\n---\n"


def test_a_large_text_is_edited_as_any_other() -> None:
    for text in ("line `x`\n" * 400_000, "`" * 3_000_000 + "a`", "```\n" * 600_001, "a" * 3_000_000):
        assert back(blocks.put(text, PART)) == text
