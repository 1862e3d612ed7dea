"""A table of ours in a TOML file of a person."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.hosts.editing import tables
from engram.hosts.editing.edit import Edit, Untouched
from engram.hosts.parts import Table

OURS: dict[str, Any] = {
    "command": "engram-mcp",
    "args": ["--tools=governed"],
    "tools": {"engram_commit": {"approval_mode": "prompt"}},
}
PART = Table(path="", keys=("mcp_servers", "engram"), value=OURS)
LINES = """# engram:start
[mcp_servers.engram]
command = "engram-mcp"
args = ["--tools=governed"]

[mcp_servers.engram.tools.engram_commit]
approval_mode = "prompt"
# engram:end
"""
MINE = """# mine
model = "x" # here
n = 1e3
when = 1979-05-27T07:32:00Z
not_a_number = nan
a.b."c d" = 0x1F
inline = { x = 1, "y.z" = [1, 2,] }
text = \"\"\"
[mcp_servers.engram]
\"\"\"

[[many]]
x = 1
[[many]]
x = 2 # two

[mcp_servers.other]
command = 'o'
"""
_PIECES = [
    "# note",
    "",
    '"" = 0',
    "b = 1.0",
    'c = "# engram"',
    "d = '''\n[x]\n'''",
    "e.f = true",
    "g = { h = [ {} ] }",
    "i = [\n  1, # one\n]",
]
_TABLES = [
    "[k]",
    "[k.l]\nm = 1",
    "[[o]]\np = inf",
    "[[o]] # again",
    "[mcp_servers]",
    "[mcp_servers.q]\nx = 1",
    "[mcp_servers.q.env]",
    '["mcp_servers".r]',
    "[projects.'/p']\ntrust_level = \"trusted\"",
]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A text that tomllib takes: members first, then tables."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    pieces = draw(st.lists(st.sampled_from(_PIECES), unique=True, max_size=5))
    pieces += draw(st.lists(st.sampled_from(_TABLES), unique=True, max_size=5))
    text = end.join(piece.replace("\n", end) for piece in pieces) + end * draw(st.integers(0, 3))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return MINE
    return text


def without_nan(text: str) -> Any:
    return tomllib.loads(text.replace("= nan", '= "nan"'))


@given(documents())
def test_in_any_file_only_our_table_is_added_and_can_be_taken_out_again(text: str) -> None:
    edit = tables.put(text, PART)

    wanted = without_nan(text)
    wanted.setdefault("mcp_servers", {})["engram"] = OURS
    assert without_nan(edit.text) == wanted
    assert edit.text.startswith(text)
    assert edit.text.endswith("\n") == (text == "" or text.endswith("\n"))
    assert edit.text.count("\r\n") in (0, edit.text.count("\n")) or "\r\n" not in text
    assert tables.put(edit.text, PART) == Edit(text=edit.text, status="unchanged")
    assert tables.take(edit.text, PART) == Edit(text=text, status="removed")


@given(documents(), documents())
def test_in_any_file_an_older_form_is_brought_up_to_date_where_it_stands(before: str, after: str) -> None:
    older = Table(path="", keys=PART.keys, value={"command": "uvx", "args": ["engram-mcp"], "env": {"A": "1"}})
    text = (
        f"{before}\n# engram:start\n[mcp_servers.engram]\nstartup_timeout_sec = 1e1 # mine\n# engram:end\n[z]\n{after}"
    )
    try:
        data = without_nan(text)
        linked = tables.put(text, older)
    except (tomllib.TOMLDecodeError, Untouched):
        return

    edit = tables.put(linked.text, PART)

    data["mcp_servers"]["engram"] = {**older.value, **OURS, "startup_timeout_sec": 10.0}
    assert without_nan(edit.text) == data
    assert "startup_timeout_sec = 1e1 # mine" in edit.text
    assert (edit.text.startswith(before), edit.text.endswith(after)) == (True, True)
    assert tables.put(edit.text, PART).status == "unchanged"


@given(
    st.one_of(
        st.text(max_size=60),
        st.text(st.sampled_from("[]{}=\"'#.\n\r\tab1\\,"), max_size=40),
        st.lists(
            st.sampled_from([*_PIECES, *_TABLES, tables.START, tables.END, '"""', "[mcp_servers.engram]"]), max_size=9
        ).map("\n".join),
    )
)
def test_any_text_is_edited_or_left_alone(text: str) -> None:
    for edit in (tables.put, tables.take):
        try:
            tomllib.loads(edit(text, PART).text)
        except Untouched:
            assert tables.START not in text or tables.END not in text or "mcp_servers" in text or _is_odd(text)


def _is_odd(text: str) -> bool:
    """Whether the text does not parse, or the markers do not enclose an empty block."""
    return tables.START + "\n" + tables.END not in text or text.count(tables.START) > 1


# -- by example --------------------------------------------------------------------------------------------------------


def test_a_table_comes_last_after_a_blank_line() -> None:
    edit = tables.put(MINE, PART)

    assert edit == Edit(text=f"{MINE}\n{LINES}", status="written")
    assert tables.take(edit.text, PART).text == MINE


@pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n", "a = 1", "# only this", "a = 1\r\n", "a = 1\n\n\n"])
def test_what_was_there_comes_back_to_the_byte(text: str) -> None:
    edit = tables.put(text, PART)

    assert tables.put(edit.text, PART).status == "unchanged"
    assert tables.take(edit.text, PART).text == text


def test_in_a_file_with_crlf_the_block_has_crlf() -> None:
    edit = tables.put("a = 1\r\n", PART)

    assert edit.text == "a = 1\r\n\r\n" + LINES.replace("\n", "\r\n")
    assert tables.put(edit.text.replace("governed", "x"), PART).text == edit.text


def test_names_that_need_quotes_get_them() -> None:
    edit = tables.put("", Table(path="", keys=("a b", "c.d"), value={"e f": 1}))

    assert tomllib.loads(edit.text) == {"a b": {"c.d": {"e f": 1}}}


def test_a_new_version_is_pinned_and_all_that_a_person_added_stays() -> None:
    text = (
        "[a]\n# engram:start\n[mcp_servers.engram] # mine\n# why\ncommand = 'uvx' # old\n"
        'args = [\n  "engram-mcp", # one\n]\n'
        'startup_timeout_sec = 2_0.0\n\n[mcp_servers.engram.env]\nTOKEN = "\\u0041"\n# engram:end\n\n[b] # after\n'
    )

    edit = tables.put(text, PART)

    data = tomllib.loads(edit.text)
    assert data["mcp_servers"]["engram"] == {**OURS, "startup_timeout_sec": 20.0, "env": {"TOKEN": "A"}}
    assert (data["a"], data["b"]) == ({}, {})
    for kept in ("[mcp_servers.engram] # mine\n# why\n", "startup_timeout_sec = 2_0.0\n", 'TOKEN = "\\u0041"\n'):
        assert kept in edit.text
    assert tables.put(edit.text, PART).status == "unchanged"
    assert tables.take(edit.text, PART).text == "[a]\n\n[b] # after\n"


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("a = ", "skipped", "cannot be parsed: Invalid value"),
        ("a = 1\na = 2\n", "skipped", "cannot be parsed: Cannot overwrite a value"),
        ("a = " + "9" * 5000, "skipped", "cannot be parsed: Exceeds the limit"),
        ("a = " + "[" * 100_000, "skipped", "cannot be parsed"),
        ("a = 1\rb = 2\n", "skipped", "cannot be parsed"),
        ("mcp_servers = { }\n", "skipped", "cannot be edited: what is there leaves no room for `mcp_servers.engram`"),
        ("mcp_servers = { x = 1 }\n", "skipped", "cannot be edited: what is there leaves no room"),
        ("mcp_servers = 1\n", "skipped", "cannot be edited: what is there leaves no room"),
        ("[[mcp_servers]]\n", "conflict", "cannot be edited without touching what is beside"),
        ("mcp_servers = { engram = { command = 'engram-mcp' } }\n", "kept", "`mcp_servers.engram` is somebody else's"),
        ("[mcp_servers.engram]\ncommand = 'x'\n", "kept", "`mcp_servers.engram` is somebody else's"),
        ("mcp_servers.engram.command = 'x'\n", "kept", "`mcp_servers.engram` is somebody else's"),
        ("[mcp_servers]\nengram = 1\n", "kept", "`mcp_servers.engram` is somebody else's"),
        ("[mcp_servers.engram.env]\nA = '1'\n", "kept", "`mcp_servers.engram` is somebody else's"),
        (
            "# engram:start\n",
            "conflict",
            "the markers `# engram:start` and `# engram:end` do not stand there once each",
        ),
        ("# engram:end\n# engram:start\n", "conflict", "the markers"),
        (LINES + "# engram:start\n# engram:end\n", "conflict", "the markers"),
        (
            "# engram:start\n[other]\n# engram:end\n",
            "conflict",
            "something else than `mcp_servers.engram` stands between",
        ),
        (
            't = """\n# engram:start\n# engram:end\n"""\n',
            "conflict",
            "cannot be edited without touching what is beside",
        ),
    ],
)
def test_what_cannot_be_edited_is_left_alone_with_the_reason(text: str, status: str, reason: str) -> None:
    with pytest.raises(Untouched) as left:
        tables.put(text, PART)

    assert (left.value.status, left.value.reason.startswith(reason)) == (status, True), left.value.reason


def test_a_line_after_the_block_belongs_to_our_table_and_is_not_moved() -> None:
    text = "# engram:start\n[mcp_servers.engram]\ncommand = 'engram-mcp'\n# engram:end\nmodel = 'x'\n"

    for edit in (tables.put, tables.take):
        with pytest.raises(Untouched) as left:
            edit(text, PART)
        assert left.value.status == "conflict"


def test_a_part_of_our_table_that_stands_outside_needs_it() -> None:
    """A server with variables and without a command: the program of the host would not start."""
    text = f"{LINES}\n[mcp_servers.engram.env]\nA = '1'\n"

    assert tables.put(text, PART).status == "unchanged"
    with pytest.raises(Untouched) as left:
        tables.take(text, PART)
    assert left.value.status == "kept"
    assert left.value.reason == "a part of `mcp_servers.engram` that is a person's stands outside of the markers"


def test_what_another_program_put_between_the_markers_stays() -> None:
    """A program that adds a server at the end of the file writes before the last comment in it."""
    theirs = '# theirs\n[mcp_servers.docs]\ncommand = "d"\nargs = [\n  ["x"],\n]\n'
    text = f"a = 1\n\n{LINES}".replace("# engram:end", theirs + "# engram:end")

    assert tables.put(text, PART).status == "unchanged"
    left = tables.take(text, PART).text

    assert left == f"a = 1\n\n{theirs}"
    assert tables.put(left, PART).text == f"{left}\n{LINES}"


def test_a_block_that_a_person_emptied_is_filled_again() -> None:
    assert tables.put("# engram:start\n# engram:end\n", PART) == Edit(text=LINES, status="updated")


@pytest.mark.parametrize("text", ["", "a = 1\n", "[mcp_servers.engram]\ncommand = 'x'\n"])
def test_where_nothing_is_ours_taking_changes_nothing(text: str) -> None:
    assert tables.take(text, PART) == Edit(text=text, status="unchanged")


def test_a_file_that_was_broken_after_linking_is_left_alone() -> None:
    with pytest.raises(Untouched, match="cannot be parsed"):
        tables.take(f"a =\n{LINES}", PART)


def test_a_large_file_is_edited_as_any_other() -> None:
    text = "".join(f"[projects.'/p/{number}']\ntrust_level = \"trusted\" # {number}\n" for number in range(20_000))

    edit = tables.put(text, PART)

    assert tables.take(edit.text, PART).text == text


def test_a_name_of_many_parts_is_edited_or_left_alone() -> None:
    text = ".".join("a" * 5_000) + " = 1\n"

    with pytest.raises(Untouched):
        tables.put(text, PART)
