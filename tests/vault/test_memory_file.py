"""Memory files: what was approved is read back byte for byte, and a change loses nothing else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engram.core.clean import clean
from engram.core.memory import Memory
from engram.errors import EngramError, InvalidInput
from engram.vault import folder, memory_file
from engram.vault.memory_file import END_OF_CONTENT, change, parse, render
from engram.vault.roots import root_at

ENGLISH = " ".join(f"Sentence number {at} stays where it is." for at in range(1, 13))
TEXTS = {
    "twelve sentences": ENGLISH,
    "Japanese": "本番環境へのデプロイは金曜日に行わないこと。\n\n理由：週末に対応できる人がいない。",
    "Vietnamese": "Luôn dùng pnpm để cài đặt gói.\nĐừng sửa tệp khóa bằng tay.",
    "Russian": "Никогда не пушьте в main.\n\nИначе сборка ломается.",
    "Arabic": "لا تستخدم كلمات المرور في الشيفرة.\n‏أبدًا‏",
    "Hindi and Thai": "हमेशा परीक्षण लिखें।\nอย่าแก้ไขไฟล์ล็อกด้วยมือ",
    "emoji": "👩‍👩‍👧 ship it 🇻🇳",
    "a leading back-tick": "`pnpm` installs packages.",
    "leading punctuation": "…and «quoted», (then) more",
    "a fence": "Run:\n\n```sh\n# not a heading\npnpm install\n```\n\nDone.",
    "an open fence": "Run:\n\n```sh\npnpm install",
    "a fence in a fence": "````md\n```\ninner\n```\n````",
    "a tilde fence left open after another": "```\n~~~\ncode",
    "a fence that an info string does not close": "```\ncode\n```python\n# x\n```",
    "a table": "| name | port |\n| --- | ---: |\n| api | 8080 |",
    "headings": "# One\n\n## Content\n\n### Light\n\n## Origin\n\nnot the origin\n\n# Two",
    "a heading under a rule of dashes": "Title\n---\n\n---\n\ntext\n---",
    "the end mark": f"before\n{END_OF_CONTENT}\nafter\n{END_OF_CONTENT}",
    "only the end mark": END_OF_CONTENT,
    "trailing spaces": "a line  \nanother\t\n   indented",
    "blank lines": "one\n\n\n\ntwo",
    "a list of ten": "\n".join(f"- point {at}" for at in range(10)),
    "front matter": "---\nid: other\ntype: skill\n---\n\ntext",
    "html": "<private>no</private> <memory id=x> </memory> <!-- comment -->",
    "a long line": "word " * 4000 + "end",
    "a merge mark that is quoted": "<<<<<<< HEAD\nours\n=======",
    "unusual spaces": "a\u00a0b\u3000c\u2028d\u0085e",
    "bars and colons": "TYPE: rule | TEXT: x\nkey: value",
}
HEADER = {
    "id": "a",
    "type": "rule",
    "title": "A title",
    "tags": ("tag", "多言語", "c++", "@types/node", "a: b", "null", "1.5", "yes", "-x", "#y", "'q'", '"q"'),
    "depends_on": ("b", "global:c"),
    "author": "Ada <ada@example.org>",
    "created": "2026-03-02",
    "updated": "2026-03-02",
    "valid_until": "2026-12-31",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_is_read_back_byte_for_byte(text: str) -> None:
    memory = Memory(**{**HEADER, "text": text})

    again = parse(render(memory, scope="workspace"), path="rules/a.md")

    assert again.text == text
    assert not again.is_edited
    assert again.content_hash
    assert replace(again, content_hash="", actual_hash="") == memory


LINES = st.sampled_from(
    ["text", "# Heading", "## Content", "## Origin", "### Light", "```", "```sh", "````", "~~~", "    ```", "   ## x",
     END_OF_CONTENT, f" {END_OF_CONTENT} ", "---", "", "  ", "- item", "記憶", "id: x", "#", "##", "## Content ##"]
) | st.text(max_size=30)  # fmt: skip


def as_approved(lines: list[str]) -> str:
    """What a candidate's text can be: cleaned, without blank lines around it."""
    return clean("\n".join(lines)).strip("\n")


WORDS = st.text(max_size=20).map(lambda text: " ".join(clean(text).split()))
HASHED = st.lists(WORDS.filter(bool), max_size=3, unique=True).map(tuple)


@given(
    lines=st.lists(LINES, min_size=1, max_size=8),
    triggers=HASHED,
    tags=HASHED,
    always=st.booleans(),
    type=st.sampled_from(("rule", "skill", "knowledge")),
)
@example(lines=["```", "~~~", "x"], triggers=(), tags=(), always=False, type="rule")
def test_any_text_is_read_back_and_its_hash_is_valid(
    lines: list[str], triggers: tuple[str, ...], tags: tuple[str, ...], always: bool, type: str
) -> None:
    text = as_approved(lines)
    if not text.strip():
        return
    memory = Memory(id="a", type=type, title="A title", text=text, triggers=triggers, tags=tags, always=always)

    again = parse(render(memory, scope="workspace"), path=f"{type}s/a.md")

    assert again.text == text
    assert (again.triggers, again.tags, again.always, again.type) == (triggers, tags, always, type)
    assert not again.is_edited


@pytest.mark.parametrize("trigger", ["a  b", "認証　トークン", "a\u00a0b", "x " * 250])
def test_a_field_with_unusual_spaces_does_not_make_a_new_file_an_edited_one(trigger: str) -> None:
    memory = Memory(id="a", type="rule", title="A", text="Use pnpm.", triggers=(trigger.strip(),))

    assert not parse(render(memory, scope="workspace"), path="rules/a.md").is_edited


@pytest.mark.parametrize("word", ["@types/node", "@ada"])
@pytest.mark.parametrize("field", ["triggers", "tags", "author"])
def test_a_word_that_begins_with_an_at_sign_leaves_the_file_changeable(field: str, word: str) -> None:
    value: Any = word if field == "author" else (word,)
    text = render(Memory(id="a", type="rule", title="A", text="Use pnpm.", **{field: value}), scope="workspace")

    assert parse(change(text, {"revision": 2}), path="rules/a.md").revision == 2


@pytest.mark.parametrize(
    "word", [".5", "a:b", "=", "<<", "1e3", "0x1F", "1_000", "12:30", "2026-03-02", "~", "[x]", "{x}",
             "a#b", "a #b", "!x", "&x", "*x", "%x", ", x", "- x", "true", "No", "", ".inf", "\\", "a\\b", "é"]
)  # fmt: skip
def test_any_word_in_a_header_stays_itself_through_a_change(word: str) -> None:
    words = (word,) if word else ()
    text = render(Memory(id="a", type="rule", title="A", text="Use pnpm.", tags=words), scope="workspace")

    changed = parse(change(text, {"revision": 2, "triggers": words}), path="rules/a.md")

    assert (changed.tags, changed.triggers, changed.revision, changed.is_edited) == (words, words, 2, False)


@pytest.mark.parametrize(
    ("word", "_why"),
    [("2026-02-30", "a plain date that no calendar has cannot be loaded for a change"),
     ("?x", "`?` is written plain and read as a mapping: the trigger is lost, the file an edited one")],
)  # fmt: skip
def test_an_odd_word_in_a_header_stays_itself_through_a_change(word: str, _why: str) -> None:
    text = render(Memory(id="a", type="rule", title="A", text="Use pnpm.", tags=(word,)), scope="workspace")

    changed = parse(change(text, {"revision": 2, "triggers": (word,)}), path="rules/a.md")

    assert (changed.tags, changed.triggers, changed.is_edited) == ((word,), (word,), False)


@pytest.mark.parametrize("title", ["Use C#", "F# #", "##", "a #"])
def test_a_title_keeps_its_last_characters(title: str) -> None:
    again = parse(render(Memory(id="a", type="rule", title=title, text="x"), scope="workspace"), path="rules/a.md")

    assert again.title == title


@pytest.mark.parametrize("origin", ["plain", "two\n\nparagraphs", "- a list"])
def test_an_origin_is_read_back(origin: str) -> None:
    memory = Memory(id="a", type="rule", title="A", text="Use pnpm.", origin=origin)

    assert parse(render(memory, scope="workspace"), path="rules/a.md").origin == origin


@pytest.mark.parametrize(
    "fields", [{"origin": "see\n```\nopen"}, {"variants": {"strict": "see\n```\nopen"}}], ids=["origin", "variant"]
)
def test_an_open_fence_before_the_content_does_not_swallow_it(fields: dict[str, Any]) -> None:
    memory = Memory(id="a", type="rule", title="A", text="Use pnpm.", **fields)

    assert parse(render(memory, scope="workspace"), path="rules/a.md").text == "Use pnpm."


def test_the_wordings_of_a_rule_are_read_back() -> None:
    variants = {"light": "Prefer pnpm.", "balanced": "Use pnpm.", "strict": "Only pnpm.\n\nNo exceptions."}
    memory = Memory(id="a", type="rule", title="A", text="Use pnpm.", variants=variants)

    again = parse(render(memory, scope="workspace"), path="rules/a.md")

    assert (again.variants, again.text) == (variants, "Use pnpm.")


# -- changing ----------------------------------------------------------------------------------------------------------

THEIRS = """\
---
# who reads this: everybody
type: rule   # the kind
custom_field: 1.10
"quoted key": 'kept'
id: theirs
nested:
  deep: [x, y]
  when: 2026-03-01T10:00:00Z
author: mail@example.org
tags:
- one
- two   # the second
content_hash: sha256:0000
# before the dates
created: 2025-01-01
updated: 2025-01-02
long: >
  folded
  text
zero: 007
# the end
---

Preface that nobody asked for.

# Their title

## Origin

Why it is so.

## Content

Old text.

## Human Note

Written by hand.

### Below it

More.

## Rule Variants

### Light

Prefer it.
"""


def test_a_change_touches_what_it_is_about_and_nothing_else() -> None:
    changed = change(THEIRS, {"updated": "2026-03-02"}, content="New text.")

    expected = (
        THEIRS.replace("updated: 2025-01-02", "updated: 2026-03-02")
        .replace("Old text.", "New text.")
        .replace("sha256:0000", parse(changed, path="rules/theirs.md").content_hash)
    )
    assert changed == expected
    again = parse(changed, path="rules/theirs.md")
    assert not again.is_edited
    assert (again.text, again.origin, again.variants) == ("New text.", "Why it is so.", {"light": "Prefer it."})
    assert "Written by hand." in again.extra


def test_a_field_that_is_new_stands_at_the_end_and_one_that_goes_is_gone() -> None:
    changed = change(THEIRS, {"revision": 3, "author": None})

    header = changed.partition("\n---\n")[0].splitlines()
    assert header[-1] == "revision: 3"
    assert not any(line.startswith("author") for line in header)
    assert "# the end" in header


@pytest.mark.parametrize("line", ["gone: null", "gone: ~", "flow: {a: 1,b: 2}", "spaced:   value", "- a\n-   b"])
def test_a_change_leaves_the_spelling_of_other_fields(line: str) -> None:
    said = line if ":" in line else f"list:\n{line}"
    text = f"---\nid: a\ntype: rule\n{said}\nupdated: 2025-01-01\n---\n\n# A\n\n## Content\n\nText.\n"

    assert f"\n{said}\n" in change(text, {"updated": "2026-03-02"})


CONTENTS = {name: text for name, text in TEXTS.items() if name not in ("a tilde fence left open after another",)}


@pytest.mark.parametrize("text", CONTENTS.values(), ids=CONTENTS)
def test_any_content_can_take_the_place_of_the_old_one(text: str) -> None:
    changed = change(THEIRS, {}, content=text)
    again = parse(changed, path="rules/theirs.md")

    assert again.text == text
    assert (again.origin, again.title, again.is_edited) == ("Why it is so.", "Their title", False)
    assert "Written by hand." in again.extra
    assert changed.endswith(THEIRS.partition("## Human Note")[2])
    assert change(changed, {}, content="Old text.") == change(THEIRS, {}, content="Old text.")


@pytest.mark.parametrize("text", ["```\n~~~\ncode", "```\ncode\n```python", "~~~\n```", "````\n```"])
def test_a_fence_that_is_left_open_swallows_no_section_behind_it(text: str) -> None:
    again = parse(change(THEIRS, {}, content=text), path="rules/theirs.md")

    assert again.text == text
    assert "Written by hand." in again.extra


@given(lines=st.lists(LINES, min_size=1, max_size=6), other=st.lists(LINES, min_size=1, max_size=6))
def test_changing_to_and_fro_leaves_the_rest_as_it_was(lines: list[str], other: list[str]) -> None:
    one, two = as_approved(lines), as_approved(other)
    if not one.strip() or not two.strip() or "```" in one + two or "~~~" in one + two:
        return

    once = change(THEIRS, {}, content=one)
    back = change(change(once, {}, content=two), {}, content=one)

    assert parse(once, path="rules/theirs.md").text == one
    assert back == once


def test_windows_line_ends_and_a_byte_order_mark_stay() -> None:
    theirs = "\ufeff" + THEIRS.replace("\n", "\r\n")

    changed = change(theirs, {"updated": "2026-03-02"}, content="New\ntext.")

    assert changed.startswith("\ufeff---\r\n")
    assert changed.count("\n") == changed.count("\r\n")
    assert parse(changed, path="rules/theirs.md").text == "New\ntext."
    unix = change(THEIRS, {"updated": "2026-03-02"}, content="New\ntext.")
    assert changed == "\ufeff" + unix.replace("\n", "\r\n")
    assert parse(changed, path="rules/theirs.md") == parse(unix, path="rules/theirs.md")


def test_a_file_is_the_same_memory_with_both_kinds_of_line_ends() -> None:
    text = render(Memory(**{**HEADER, "text": TEXTS["a fence"]}), scope="workspace")

    assert parse(text.replace("\n", "\r\n"), path="rules/a.md") == parse(text, path="rules/a.md")


# -- files of other tools ----------------------------------------------------------------------------------------------

FIRST_SCHEMA = """\
---
id: Use_PNPM
type: rule
tags: [task_type:dependencies, pnpm]
created: 2024-05-01
---

# Use pnpm

## Context

The lockfile broke twice.

## Content

- Use pnpm for installs.

## Example

pnpm add left-pad
"""
SECOND_SCHEMA = """\
---
author_email: ada@example.org
author_name: Ada
confidence: high
created: "2025-02-03"
depends_on: [node-version, "global:mirror"]
id: release-steps
lifecycle: active
review_after: 2025-08-03
role: []
source: manual
type: workflow
updated: "2025-02-04"
---

# Release steps

## Content

1. Tag.
2. Push.
"""
THIRD_SCHEMA = """\
---
authority: reference
confidence: medium
content_note: unknown to us
evidence_refs: [tr_abc]
evidence_status: verified
id: api-port
last_confirmed: 2026-01-05
lifecycle: review_due
revision: 4
schema_version: 3
scope: workspace
task_types: [api]
type: knowledge
valid_from: 2026-01-01
---

# API port

## Origin

Seen in the logs.

## Content

The API listens on 8080.

## Human Note

Ask Bo.
"""


def test_a_file_of_the_first_schema_is_read() -> None:
    memory = parse(FIRST_SCHEMA, path="rules/use-pnpm.md")

    assert (memory.id, memory.type, memory.schema_version) == ("Use_PNPM", "rule", 1)
    assert (memory.text, memory.origin) == ("- Use pnpm for installs.", "The lockfile broke twice.")
    assert "pnpm add left-pad" in memory.extra
    assert (memory.updated, memory.confidence, memory.authority) == ("2024-05-01", "medium", "instruction")


def test_a_file_of_the_second_schema_is_read() -> None:
    memory = parse(SECOND_SCHEMA, path="skills/release-steps.md")

    assert (memory.type, memory.schema_version, memory.revision) == ("skill", 2, 1)
    assert memory.text == "1. Tag.\n2. Push."
    assert memory.author == "Ada <ada@example.org>"
    assert memory.depends_on == ("node-version", "global:mirror")
    assert (memory.created, memory.updated) == ("2025-02-03", "2025-02-04")


def test_a_file_of_the_third_schema_is_read() -> None:
    memory = parse(THIRD_SCHEMA, path="knowledge/api-port.md")

    assert (memory.schema_version, memory.revision, memory.lifecycle) == (3, 4, "review_due")
    assert (memory.authority, memory.valid_from, memory.last_confirmed) == ("reference", "2026-01-01", "2026-01-05")
    assert memory.evidence_refs == ("tr_abc",)


@pytest.mark.parametrize("text", [FIRST_SCHEMA, SECOND_SCHEMA, THIRD_SCHEMA], ids=["1", "2", "3"])
def test_a_file_of_another_tool_keeps_what_is_unknown_to_us(text: str) -> None:
    changed = change(text, {"updated": "2026-03-02"}, content="New text.")

    kept = [line for line in text.splitlines() if not line.startswith(("updated:", "- Use", "1. ", "2. ", "The API l"))]
    assert [line for line in kept if line not in changed.splitlines()] == []
    assert parse(changed, path="knowledge/x.md").text == "New text."


@pytest.mark.parametrize("word", ["null", "~"])
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("superseded_by", ""),
        ("valid_from", ""),
        ("tier", ""),
        ("role", ()),
        ("depends_on", ()),
        ("triggers", ()),
        ("author", ""),
    ],
)
def test_an_empty_value_as_other_tools_write_it_is_no_value(field: str, expected: Any, word: str) -> None:
    memory = parse(f"---\nid: a\ntype: rule\n{field}: {word}\n---\n\n# A\n\n## Content\n\nText.\n", path="rules/a.md")

    assert getattr(memory, field) == expected


def test_a_file_without_a_header_is_a_memory_of_its_folder() -> None:
    memory = parse("# Use pnpm\n\nAlways.\n", path="rules/tools/use-pnpm.md")

    assert (memory.id, memory.type, memory.title, memory.text) == ("use-pnpm", "rule", "Use pnpm", "Always.")
    assert not memory.is_edited
    again = parse(change("# Use pnpm\n\nAlways.\n", {"id": "use-pnpm", "type": "rule"}), path="rules/x.md")
    assert (again.id, again.text, again.is_edited) == ("use-pnpm", "Always.", False)


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("", "rules/a.md", "says nothing"),
        ("---\nid: a\n---\n\n# Title\n\n## Content\n\n\n", "rules/a.md", "says nothing"),
        ("---\nid: a\ntext without an end", "rules/a.md", "its header has no end"),
        ("---\n: : :\n\t- x\n---\ntext", "rules/a.md", "its header is not YAML"),
        ("---\n- a\n- b\n---\ntext", "rules/a.md", "its header is no list of fields"),
        ("---\nid: ../up\n---\ntext", "rules/a.md", "its id cannot be used"),
        ("---\nid: a b\n---\ntext", "rules/a.md", "its id cannot be used"),
        ("---\ntype: habit\n---\ntext", "other/a.md", "its type is none of"),
        ("---\nid: a\n---\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", "rules/a.md", "holds an unfinished merge"),
        ("---\n<<<<<<< ours\nid: a\n=======\nid: b\n>>>>>>> theirs\n---\nx", "rules/a.md", "holds an unfinished merge"),
        ("---\na: " + "[" * 20_000 + "\n---\nx", "rules/a.md", "its header is not YAML"),
        ("---\na: " + "x" * 70_000 + "\n---\nx", "rules/a.md", "its header has no end"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_why(text: str, path: str, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse(text, path=path)

    assert raised.value.message.startswith(said)


@given(raw=st.binary(max_size=400) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
@example(raw=b"\xff\xfe")
@example(raw=b"---\n\x00: \x01\n---\ntext")
@example(raw=b'---\nid: "\\u0000"\n---\ntext')
@example(raw=b"---\nid: &a [*a]\n---\ntext")
@example(raw=b"---\n? {a: b}\n: c\n---\ntext")
@example(raw=b"---\n" + b"a: b\n" * 3 + b"a: c\n---\ntext")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_in_a_file_can_do_harm(tmp_path: Path, raw: bytes) -> None:
    root = root_at(str(tmp_path), scope="workspace")
    (tmp_path / "rules").mkdir(exist_ok=True)
    (tmp_path / "rules" / "a.md").write_bytes(raw)

    read = folder.read(root, "rules/a.md", (0, 0))

    assert (read.memory is None) == bool(read.problem)


PIECES = ["id: ", "type: rule\n", "a", ": ", "\n", "[", "]", "- ", "'", '"', "&x ", "*x", "# c\n", "{", "}", "\\", "é",
          "!!python/object ", ">\n"]  # fmt: skip


@given(header=st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_no_header_can_do_harm(header: str) -> None:
    text = f"---\nkind: x\n{header}\n---\n\n# A\n\n## Content\n\nText.\n"
    try:
        memory = parse(text, path="rules/a.md")
        changed = change(text, {"id": memory.id, "type": memory.type, "revision": 2})
    except EngramError:
        return

    again = parse(changed, path="rules/a.md")
    assert (again.text, again.revision) == (memory.text, 2)


@pytest.mark.parametrize("header", ["|", '""'])
def test_a_header_that_holds_nothing_can_be_changed(header: str) -> None:
    text = f"---\n{header}\n---\n\n# A\n\n## Content\n\nText.\n"

    assert parse(text, path="rules/a.md").text == "Text."
    assert parse(change(text, {"id": "a", "type": "rule"}), path="rules/a.md").text == "Text."


def test_a_file_that_is_too_long_or_no_text_or_gone_has_a_problem(tmp_path: Path) -> None:
    root = root_at(str(tmp_path), scope="workspace")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "long.md").write_text("x" * (1024 * 1024 + 1), encoding="utf-8")
    (tmp_path / "rules" / "latin.md").write_bytes("é".encode("latin-1"))
    os.mkdir(tmp_path / "rules" / "folder.md")

    problems = {
        name: folder.read(root, f"rules/{name}.md", (0, 0)).problem for name in ("long", "latin", "folder", "gone")
    }

    assert problems == {
        "long": "is longer than 1024 KB",
        "latin": "is not UTF-8",
        "folder": "cannot be read: Is a directory",
        "gone": "cannot be read: No such file or directory",
    }


def test_a_working_note_outside_of_its_folder_and_a_memory_inside_of_it_are_problems(tmp_path: Path) -> None:
    root = root_at(str(tmp_path), scope="workspace")
    note = Memory(id="n", type="knowledge", title="N", text="x", tier="working")
    for place, memory in (("rules", note), ("working", replace(note, tier=""))):
        (tmp_path / place).mkdir()
        (tmp_path / place / "n.md").write_text(memory_file.render(memory, scope="workspace"), encoding="utf-8")

    for place in ("rules", "working"):
        assert "working note" in folder.read(root, f"{place}/n.md", (0, 0)).problem
