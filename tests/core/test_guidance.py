"""Passages of guidance files: what stays together, what is left out, what it is called, and that nothing is lost."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.core.guidance import GROUP, SHORT, WHOLE, Passage, passages

LONG = " ".join(["The parser keeps its own table of names because the host may reload it at any moment."] * 4)


def of(text: str) -> list[tuple[str, str]]:
    return [(passage.type, passage.text) for passage in passages(text)]


def texts(text: str) -> list[str]:
    return [passage.text for passage in passages(text)]


def only(text: str) -> Passage:
    (passage,) = passages(text)
    return passage


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("# Style\n\n- Use tabs\n- Prefer short names\n- Avoid globals\n", "rule"),
        ("# Data\n\nEvery row **must** carry a tenant.\n", "rule"),
        ("# Names\n\nDon't shorten names of tables.\n", "rule"),
        ("# Estilo\n\nNunca subas claves al repositorio.\n", "rule"),
        ("# 规则\n\n- 禁止使用全局变量\n- 必须写测试\n", "rule"),
        ("# Naming conventions\n\n- Tables: plural\n- Columns: must be snake case\n", "rule"),
        ("# Releasing\n\n1. Bump the version\n2. Tag the commit\n3. Push the tag\n", "skill"),
        ("# 发布流程\n\n1. 修改版本\n2. 打标签\n", "skill"),
        ("# Commands\n\n```bash\nmake test\nmake lint\n```\n", "skill"),
        ("# Commands\n\n- `npm test` runs everything\n- Lint: `npm run lint`\n", "skill"),
        ("# Layout\n\n- `src/` holds the code\n- `web/` holds the pages\n", "knowledge"),
        ("# Providers\n\n1. The theme of the person\n2. The session with its token\n3. The router\n", "knowledge"),
        ("# Working rules\n\n1. Never push to main\n2. Think before you edit\n3. Test the whole flow\n", "rule"),
        ("# Packages\n\nThe hook enforces it everywhere. Always use the one tool.\n", "rule"),
        ("# Working rules\n\n- Truth is temporal\n- Everything is scoped\n", "rule"),
        ("# Snapshots\n\nUpdate them as follows:\n\n- Run the tests\n- Review what is new\n", "skill"),
        ("# Shape\n\n```python\nclass A: ...\n```\n", "knowledge"),
    ],
)
def test_wording_tells_rules_procedures_and_facts_apart(text: str, type: str) -> None:
    assert [passage.type for passage in passages(text)] == [type]


@pytest.mark.parametrize(
    "dropped",
    [
        "## Only a heading",
        "[![Build](https://ci.example/b.svg)](https://ci.example) [![Docs](d.svg)](d)",
        '<p align="center"><img src="logo.png"></p>',
        "<https://docs.example/start>",
        "@docs/conventions.md",
        "- @docs/conventions.md\n- @~/own.md",
        "<!-- a note\n\nto ourselves -->",
        "## Contents\n\n- Testing\n- Style",
        "- [Testing](#testing)\n  - [Unit](#unit)\n- [Style](#style)",
        "* * *",
        "This file provides guidance to Coding Agent (agent.example/code)\nwhen working with code in this repository.",
        "<!-- engram:start -->\n## Memory\n\nAsk first.\n<!-- engram:end -->",
        "<!-- BEGIN ISSUE TOOL v:1 hash:ab12 -->\n# Issues\n\n- Use the tool\n<!-- END ISSUE TOOL -->",
        "<!-- workspace configuration start-->\n\nUse the workspace.\n\n<!-- workspace configuration end-->",
    ],
)
def test_what_nobody_would_keep_is_left_out(dropped: str) -> None:
    text = f"# Project\n\nThe shop runs on two machines.\n\n{dropped}\n\n# Data\n\nPrices are in cents.\n"

    assert texts(text) == ["The shop runs on two machines.", "Prices are in cents."]


@pytest.mark.parametrize(
    "kept",
    [
        "<!-- MANUAL ADDITIONS START -->\nKeep this\n<!-- MANUAL ADDITIONS END -->",
        "<!-- BEGIN TOOL -->\nKeep this",
        "<!-- an aside --> Keep this",
        "<!-- never closed, Keep this",
        "```\n<!-- BEGIN X -->\nKeep this\n<!-- END X -->\n```",
        "Keep this, see @docs/data.md and [the page](page.md)",
        "- [Keep this](docs/architecture.md)",
        "[keep this]: https://docs.example 'Keep this'",
    ],
)
def test_what_only_resembles_them_stays(kept: str) -> None:
    assert any("Keep this" in text for text in texts(f"# Project\n\n{kept}\n"))


def test_front_matter_gives_title_and_triggers_and_no_passage() -> None:
    found = only(
        '---\ndescription: Handlers of the API\nglobs: "src/api/**/*.ts"\nalwaysApply: false\n---\nReturn JSON.\n'
    )

    assert found.text == "Return JSON."
    assert found.line == 6
    assert found.title == "Handlers of the API"
    assert {"handlers", "api", "ts"} <= set(found.triggers)


def test_a_line_across_the_page_is_no_front_matter() -> None:
    assert texts("---\nPrices are in cents.\n\n---\nTaxes are not.\n") == ["Prices are in cents.", "Taxes are not."]


def test_a_short_section_stays_in_one_piece_with_all_its_parts() -> None:
    body = "Run them often.\n\n- unit tests: fast\n- the rest: slow\n\n```bash\nmake test\n```"

    assert texts(f"# Shop\n\n## Testing\n\n{body}\n\n## Data\n\nPrices are in cents.\n") == [
        body,
        "Prices are in cents.",
    ]


def test_small_sections_of_one_type_stay_with_their_parent() -> None:
    text = "# Shop\n\n## Style\n\n### Names\n\n- Use nouns\n\n### Errors\n\n- Never hide one\n\n## Data\n\nCents.\n"

    assert texts(text) == ["### Names\n\n- Use nouns\n\n### Errors\n\n- Never hide one", "Cents."]


def test_sections_of_different_types_part() -> None:
    text = "# Shop\n\n## Work\n\n### Names\n\n- Use nouns\n\n### Check\n\n```sh\nmake\n```\n"

    assert of(text) == [("rule", "- Use nouns"), ("skill", "```sh\nmake\n```")]


def test_sixty_short_bullets_are_ten_passages_rather_than_sixty() -> None:
    text = "# Style\n\n" + "".join(f"- Use the helper number {n} of the kit for it\n" for n in range(60))

    found = texts(text)

    assert 4 <= len(found) <= 12
    assert all(len(each) <= GROUP for each in found)


def test_long_items_stand_alone_and_keep_what_is_nested_in_them() -> None:
    first = f"- Never reload by hand. {LONG}"
    second = f"- Ask the host:\n\n  ```bash\n  host reload\n  ```\n\n  - {LONG}"

    assert texts(f"# Reload\n\n{LONG}\n\n{first}\n{second}\n- Short one\n") == [
        LONG,
        first,
        second,
        "- Short one",
    ]


def test_an_item_of_several_screens_is_parted_at_its_own_items() -> None:
    nested = "".join(f"   - Part {n}: {LONG}\n" for n in range(6))

    found = passages(f"# Work\n\n1. Testing\n{nested}2. Style\n   - Use nouns\n")

    assert found[0].text.startswith("1. Testing\n   - Part 0")
    assert found[1].text.startswith("- Part 1")
    assert found[1].title.startswith("Work: Testing: Part 1")


def test_a_procedure_stays_whole_however_long_it_is() -> None:
    steps = "\n".join(f"{n}. Run part {n} of it. {LONG}" for n in range(1, 9))

    found = passages(f"# Deployment\n\nIt takes an hour.\n\n{steps}\n\nThen tell the others.\n")

    assert [("skill", steps) for passage in found if passage.type == "skill"] == [("skill", steps)]


@pytest.mark.parametrize(
    "lead", ["Before every commit:", "**Before every commit:**", "**Before every commit**", "Before every commit"]
)
def test_a_line_that_announces_a_list_or_code_stays_with_it(lead: str) -> None:
    announced = f"{lead}\n\n```bash\nmake lint\n```"

    assert announced in texts(f"# Work\n\n{LONG} {LONG} {LONG}\n\n{announced}\n\n{LONG}\n")


def test_a_sentence_that_refers_back_stays_with_what_it_refers_to() -> None:
    pair = "The nightly job rebuilds the index.\n\nIt needs the lock, so never start two."

    assert pair in texts(f"# Jobs\n\n{LONG} {LONG}\n\n{pair}\n\n{LONG}\n")


@pytest.mark.parametrize(
    "block", ["| a | b |\n| - | - |\n" + "| 1 | 2 |\n" * 200, "```\n" + "x = 1\n\n" * 300 + "```\n"]
)
def test_tables_and_code_are_never_cut(block: str) -> None:
    assert any(block.strip() in text for text in texts(f"# T\n\n{LONG}\n\n{block}\n{LONG}\n"))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "# Shop\n\n## Testing\n\nRun unit tests before a commit. They are fast.\n",
            "Testing: Run unit tests before a commit",
        ),
        ("# AGENTS.md\n\nPrices are in cents.\n", "Prices are in cents"),
        ("# Shop\n\n## How prices are kept\n\nIn cents.\n", "How prices are kept"),
        ("# Shop\n\n## Client library\n\n### Errors\n\nNever hide one.\n", "Client library: Errors"),
        ("# Shop\n\n## 🚀 2. **Run** the `make <name>` tool ##\n\nx y.\n", "Run the make <name> tool"),
        ("# Shop\n\n## Overview\n\nPrices are in cents.\n", "Overview: Prices are in cents"),
        ("# Shop\n\n## Build\n\n```sh\n# --- all of it\nmake all   # slow\n```\n", "Build: make all"),
        ("# Shop\n\n## Macros\n\nInline format! args. Always.\n", "Macros: Inline format! args"),
        ("# Shop\n\n## Source\n\nFork: <https://forge.example/x>\n", "Source: Fork: <https://forge.example/x>"),
        ("Prices\n------\n\n- [ ] See [the page](p.md) of `prices_*`\n", "Prices: See the page of prices_*"),
    ],
)
def test_titles_name_the_place_and_add_first_words_where_one_word_says_too_little(text: str, title: str) -> None:
    assert passages(text)[-1].title == title


def test_titles_differ_even_if_texts_do_not() -> None:
    found = passages("# A b\n\nSame.\n\n# A b\n\nSame.\n\n# A b\n\nSame.\n")

    assert len({passage.title for passage in found}) == len(found) == 3


def test_triggers_are_words_of_the_headings_nearest_first() -> None:
    found = passages("# Shop\n\n## Payment Gateway\n\n### Retry policy\n\nThree times.\n\n## Data\n\nCents.\n")

    assert found[0].triggers == ("retry policy", "payment gateway", "retry", "policy", "payment", "gateway")


def test_the_line_above_a_list_or_code_names_it_too() -> None:
    fences = "\n\n".join(f"**{name} checks (all):**\n\n```sh\nmake {LONG}\n```" for name in ("Quality", "Speed"))

    found = passages(f"# Shop\n\n## Commands\n\n{fences}\n\n{LONG}\n")

    assert [passage.title for passage in found][:2] == [
        "Commands: Quality checks (all)",
        "Commands: Speed checks (all)",
    ]
    assert found[1].triggers[:2] == ("speed checks", "speed")


def test_line_ends_and_the_mark_of_byte_order_change_nothing() -> None:
    text = "# Shop\n\n## Style\n\n- Use nouns\n\n  and verbs\n\n## Data\n\nCents.\n"

    assert passages("\ufeff" + text.replace("\n", "\r\n")) == passages(text) == passages(text.replace("\n", "\r"))


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "---", "---\na: b\n---", "# \n", "-\n-\n", "<!--", "> \n", "```"])
def test_nothing_gives_no_passages(text: str) -> None:
    assert passages(text) == ()


WORDS = st.integers(0, 10**6).map(lambda n: f"w{n}w")
SENTENCE = st.tuples(
    st.sampled_from(["", "Never ", "It ", "**Use** ", "用 ", "also "]),
    st.lists(WORDS, min_size=1, max_size=25),
    st.sampled_from([".", ":", "", "\nand so on", " <!-- x -->"]),
).map(lambda parts: parts[0] + " ".join(parts[1]) + parts[2])
BLOCK = st.one_of(
    SENTENCE,
    st.tuples(st.sampled_from(["- ", "1. ", "* ", "   - ", "> "]), st.lists(SENTENCE, min_size=1, max_size=12)).map(
        lambda parts: "\n".join(parts[0] + each.replace("\n", " ") for each in parts[1])
    ),
    st.tuples(st.sampled_from(["- ", "2) "]), SENTENCE, SENTENCE).map(
        lambda parts: f"{parts[0]}{parts[1]}\n\n   {parts[2]}\n\n   - {parts[2]}\n\n   ```sh\n   make\n   ```"
    ),
    SENTENCE.map(lambda each: f"```bash\n{each}\n\n# {each}\n```"),
    SENTENCE.map(lambda each: f"| a | b |\n|---|---|\n| {' '.join(each.split())} | x |"),
    st.tuples(st.integers(1, 4), WORDS).map(lambda parts: f"{'#' * parts[0]} heading{parts[1]}"),
    st.sampled_from(["<!-- note -->", "---", "    indented w1w", "@import.md", "[![b](b.svg)](b)"]),
)
FILES = st.lists(BLOCK, max_size=30).map("\n\n".join)
ANYTHING = st.one_of(
    st.text(),
    FILES,
    st.lists(st.sampled_from("# - > 1. ``` <!-- --> --- | : [a](b) * \n \t x @ \x00".split(" "))).map("".join),
)


def _words(text: str) -> list[str]:
    return re.findall(r"(?<!heading)\bw\d+w\b", text)


@settings(max_examples=150, deadline=None)
@given(FILES)
def test_no_word_of_prose_is_lost_or_repeated(text: str) -> None:
    assert _words(" ".join(texts(text))) == _words(text)


@settings(max_examples=200, deadline=None)
@given(ANYTHING)
def test_every_text_is_lines_of_the_source_in_order(text: str) -> None:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")

    found = passages(text)

    assert found == passages(text)
    before = 0
    for passage in found:
        cut_out = passage.text.split("\n")
        source = lines[passage.line - 1 : passage.line - 1 + len(cut_out)]
        margin = len(source[0]) - len(cut_out[0])
        assert not source[0][:margin].strip()
        assert cut_out == [line.removeprefix(source[0][:margin]) for line in source]
        assert passage.line > before
        before = passage.line + len(cut_out) - 1
        assert 0 < len(passage.title) <= 80
        assert "\n" not in passage.title
        assert len(passage.triggers) <= 6
        assert passage.type in ("rule", "skill", "knowledge")
    assert len({passage.title for passage in found}) == len(found)


@pytest.mark.parametrize(
    "piece",
    ["a:\n\n", "- a\n", "`A=", "[", "<!-- ", "<a", "# a\n", "> ", "- ", "1. a\n   ", "|-|\n", "*", " ", "\t\n",
     "same.\n\n", "# a\n\nb\n\n", "---\na: b\n---\n", "![[", "```\n", "\\", "<!-- BEGIN a -->\n", "<!-- x\n--> y\n\n"],
)  # fmt: skip
def test_hostile_text_takes_no_more_than_its_share_of_time(piece: str) -> None:
    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        passages(text)
        return time.process_time() - began

    cost(1000)
    small = cost(25_000)

    assert cost(200_000) < 40 * max(small, 0.01)


def test_the_sizes_are_in_order() -> None:
    assert SHORT < GROUP < WHOLE
