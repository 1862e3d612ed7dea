"""The grammar of candidates, and what kind of memory a text without a type is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.candidate import MAX_CANDIDATES, Candidate, classify, one_candidate, parse_candidates, plain_candidate
from engram.core.clean import clean
from engram.errors import InvalidInput

TEXT = "Use httpOnly cookies for sessions."


def parsed(text: str, **given: Any) -> list[Candidate]:
    return list(parse_candidates(text, **given).candidates)


def only(text: str, **given: Any) -> Candidate:
    (candidate,) = parsed(text, **given)
    return candidate


# -- fields and their synonyms -----------------------------------------------------------------------------------------

SYNONYMS: dict[str, tuple[tuple[str, ...], str, str, Any]] = {
    # field: (names, what is written, the attribute, what it gives)
    "type": (("TYPE", "KIND", "MEMORY TYPE", "MEMORY_TYPE"), "skill", "type", "skill"),
    "title": (("TITLE",), "Session cookies", "title", "Session cookies"),
    "id": (("ID",), "session-cookies", "id", "session-cookies"),
    "origin": (("ORIGIN", "CONTEXT", "WHY", "RATIONALE"), "Scripts read the token", "origin", "Scripts read the token"),
    "triggers": (
        ("TRIGGERS", "TRIGGER", "RETRIEVE_WHEN", "RETRIEVE WHEN", "USE FOR", "USE-FOR", "RETRIEVAL_HINTS"),
        "auth cookies; login",
        "triggers",
        ("auth cookies", "login"),
    ),
    "tags": (("TAGS",), "auth, web", "tags", ("auth", "web")),
    "depends_on": (
        ("DEPENDS_ON", "DEPENDS ON", "DEPENDS-ON", "DEPENDS", "DEPENDENCY", "DEPENDENCIES", "PREREQUISITE",
         "PREREQUISITES"),
        "auth-model, global:tls",
        "depends_on",
        ("auth-model", "global:tls"),
    ),
    "level": (("LEVEL", "DEPTH", "DEPENDENCY_DEPTH"), "foundation", "level", "foundation"),
    "update": (("UPDATE", "UPDATE_ID", "MERGE_WITH", "EXISTING"), "old-one", "update", "old-one"),
    "supersedes": (("SUPERSEDES", "SUPERSEDE", "REPLACES"), "old-one", "supersedes", "old-one"),
    "parent": (("PARENT", "PARENT_IDS", "CHILDREN", "CHILD_IDS"), "a, b", "parent", ("a", "b")),
    "keep": (("KEEP", "KEEP_BOTH"), "both", "keep_both", True),
    "role": (("ROLE", "ROLES"), "backend, reviewer", "role", ("backend", "reviewer")),
    "confidence": (("CONFIDENCE",), "low", "confidence", "low"),
    "always": (("ALWAYS",), "yes", "always", True),
    "valid_from": (("VALID_FROM", "VALID FROM"), "2026-04-01", "valid_from", "2026-04-01"),
    "valid_until": (("VALID_UNTIL", "EXPIRES"), "2026-05-01", "valid_until", "2026-05-01"),
    "evidence": (("EVIDENCE", "EVIDENCE_REFS"), "obs-1, obs-2", "evidence_refs", ("obs-1", "obs-2")),
    "light": (("LIGHT",), "Prefer it.", "variants", {"light": "Prefer it."}),
    "balanced": (("BALANCED",), "Do it.", "variants", {"balanced": "Do it."}),
    "strict": (("STRICT",), "Always do it.", "variants", {"strict": "Always do it."}),
}  # fmt: skip
EACH_NAME = [(name, row) for row in SYNONYMS.values() for name in row[0]]


@pytest.mark.parametrize(("name", "row"), EACH_NAME, ids=[name for name, _ in EACH_NAME])
def test_every_name_of_a_field_is_read_between_bars(name: str, row: tuple[Any, str, str, Any]) -> None:
    _, said, attribute, expected = row

    candidate = only(f"{name}: {said} | TEXT: {TEXT}" if attribute == "type" else f"TEXT: {TEXT} | {name}: {said}")

    assert (getattr(candidate, attribute), candidate.text) == (expected, TEXT)


@pytest.mark.parametrize(("name", "row"), EACH_NAME, ids=[name for name, _ in EACH_NAME])
def test_every_name_of_a_field_is_read_in_a_block(name: str, row: tuple[Any, str, str, Any]) -> None:
    _, said, attribute, expected = row

    candidate = only(f"{name}: {said}\nTEXT: {TEXT}" if attribute == "type" else f"TEXT: {TEXT}\n{name}: {said}")

    assert (getattr(candidate, attribute), candidate.text) == (expected, TEXT)


@pytest.mark.parametrize("name", ["TEXT", "MEMORY", "SUMMARY", "CONTENT"])
@pytest.mark.parametrize("form", ["TYPE: rule | {}: {}", "TYPE: rule\n{}: {}", "- TYPE: rule | {}: {}"])
def test_every_name_of_the_text_is_read(name: str, form: str) -> None:
    candidate = only(form.format(name, TEXT))

    assert (candidate.type, candidate.text) == ("rule", TEXT)


@pytest.mark.parametrize("form", ["type: rule | text: {}", "Type: rule | Text: {}", "type: rule\ntext: {}"])
def test_names_in_lower_case_are_read_where_a_candidate_begins_so(form: str) -> None:
    candidate = only(form.format(TEXT))

    assert (candidate.type, candidate.text) == ("rule", TEXT)


@pytest.mark.parametrize(
    ("word", "type"),
    [("rule", "rule"), ("Rules", "rule"), ("SKILL", "skill"), ("skills", "skill"), ("workflow", "skill"),
     ("Workflows", "skill"), ("knowledge", "knowledge"), ("KNOWLEDGE", "knowledge")],
)  # fmt: skip
def test_every_word_for_a_type_is_read(word: str, type: str) -> None:
    assert only(f"TYPE: {word} | TEXT: {TEXT}").type == type
    assert only(f"{word}: {TEXT}").type == type
    assert only(f"- {word}: {TEXT}").type == type


def test_a_whole_line_of_the_grammar_gives_every_field() -> None:
    candidate = only(
        "TYPE: rule | TEXT: Use httpOnly cookies. | TITLE: Cookies | TRIGGERS: auth, login | DEPENDS_ON: auth-model"
        " | ROLE: backend | CONFIDENCE: medium | ALWAYS: true | VALID_UNTIL: 2026-12-31 | KEEP: both"
    )

    assert candidate == Candidate(
        number=1,
        type="rule",
        title=clean("Cookies"),
        text=clean("Use httpOnly cookies."),
        triggers=("auth", "login"),
        depends_on=("auth-model",),
        role=("backend",),
        confidence="medium",
        always=True,
        valid_until="2026-12-31",
        keep_both=True,
    )


def test_what_is_not_given_has_a_default() -> None:
    candidate = only("TYPE: knowledge | TEXT: The API listens on port 8080. It is behind a proxy.")

    assert candidate.title.startswith("The API listens on port 8080")
    assert (candidate.confidence, candidate.always, candidate.keep_both) == ("", False, False)
    assert (candidate.id, candidate.update, candidate.valid_until, candidate.triggers) == ("", "", "", ())


def test_a_type_that_is_handed_in_fills_only_what_is_missing() -> None:
    first, second = parsed(f"TEXT: {TEXT}\nTYPE: rule | TEXT: Never log tokens.", type="knowledge")

    assert (first.type, second.type) == ("knowledge", "rule")


# -- forms -------------------------------------------------------------------------------------------------------------


def test_lines_blocks_and_bullets_can_stand_together() -> None:
    found = parsed(
        "- TYPE: rule | TEXT: Use httpOnly cookies. | TRIGGERS: auth\n"
        "1. TYPE: rule | TEXT: Never log tokens.\n"
        "\n"
        "TYPE: skill\n"
        "TEXT: 1. Build.\n2. Tag.\n"
        "TRIGGERS: release\n"
        "\n"
        "* knowledge: The API listens on port 8080."
    )

    assert [(one.number, one.type, one.text) for one in found] == [
        (1, "rule", "Use httpOnly cookies."),
        (2, "rule", "Never log tokens."),
        (3, "skill", "1. Build.\n2. Tag."),
        (4, "knowledge", "The API listens on port 8080."),
    ]
    assert found[2].triggers == ("release",)


def test_a_block_may_begin_its_text_on_the_next_line() -> None:
    candidate = only("TYPE: skill\nTEXT:\n1. Build.\n\n2. Tag.\n\nTRIGGERS: release")

    assert candidate.text == "1. Build.\n\n2. Tag."


def test_a_block_may_list_its_triggers_below_each_other() -> None:
    candidate = only(f"TYPE: rule\nTEXT: {TEXT}\nTRIGGERS:\nauth\nlogin")

    assert candidate.triggers == ("auth", "login")


def test_windows_line_ends_are_line_ends() -> None:
    assert parsed("TYPE: skill\r\nTEXT: 1. Build.\r\n2. Tag.\r\nTRIGGERS: release\r\n") == parsed(
        "TYPE: skill\nTEXT: 1. Build.\n2. Tag.\nTRIGGERS: release\n"
    )


def test_fields_inside_a_fence_are_text() -> None:
    text = "TYPE: skill\nTEXT: Write this header:\n```yaml\nTYPE: rule\nTEXT: not a field\n| TAGS: x\n```\nand save."

    candidate = only(text)

    assert candidate.type == "skill"
    assert candidate.text == text.partition("TEXT: ")[2]


def test_a_fence_inside_a_longer_fence_does_not_end_it() -> None:
    text = "Show it so:\n````\n```\nTYPE: rule | TEXT: inner\n```\n````\nDone."

    assert only(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Run `cat log | grep error | wc -l` to count errors.",
        "| name | port |\n| --- | --- |\n| api | 8080 |",
        "a | b || c",
        "The union `string | number` is accepted.",
    ],
)
def test_bars_inside_a_text_belong_to_it(text: str) -> None:
    assert only(text).text == text
    assert only(f"TYPE: knowledge\nTEXT: {text}\nTAGS: x") == replace(
        plain_candidate(text, type="knowledge"), tags=("x",)
    )


def test_only_a_bar_before_a_field_ends_a_text() -> None:
    candidate = only("TYPE: rule | TEXT: Pipe `a | b`, see x | y: z | TRIGGERS: shell")

    assert (candidate.text, candidate.triggers) == ("Pipe `a | b`, see x | y: z", ("shell",))


@pytest.mark.parametrize(
    "text",
    [
        "--force is never used when pushing.",
        "-----BEGIN PUBLIC KEY----- blocks are kept in vault/keys.",
        "-h prints the help.",
        "- a bullet\n- another",
        "@file is a mention.",
        "$(whoami) is not run.",
        "; rm -rf is only a text",
        "# Heading\n\nwith a paragraph",
        "---\nfront: matter\n---\n\nbody",
    ],
)
def test_a_text_that_looks_like_an_option_or_markup_is_text(text: str) -> None:
    assert only(text).text == text
    assert only(f"TYPE: rule\nTEXT: {text}").text == text


PROSE = (
    "We moved the sessions to cookies in March. The reason was an audit.\n"
    "\n"
    "Note: the mobile app still sends a header; see docs/auth.md for the details.\n"
    "Why not tokens? Because scripts can read them.\n"
    "\n"
    "  Indented lines, `code`, \"quotes\", tabs\there and a trailing colon:\n"
    "    def f(x): return x | 1\n"
    "\n"
    "Update the tests before the code. Always: never the other way round. http://example.org/a:b?c=d|e\n"
    "Last line."
)  # fmt: skip


def test_plain_prose_of_several_paragraphs_is_one_candidate_word_for_word() -> None:
    assert only(PROSE).text == PROSE
    assert one_candidate(PROSE, type="knowledge").text == PROSE
    assert plain_candidate(PROSE).text == PROSE


@pytest.mark.parametrize(
    "line",
    [
        "Memory: 512 MB per pod",
        "Summary: it works",
        "Content: JSON only",
        "Trigger: every push to main",
        "Dependencies: Python 3.11 and Postgres",
        "Existing: three services",
        "Type: a string",
        "Rules: see the wiki",
        "Skills: Python and SQL",
    ],
)
def test_a_line_of_prose_that_begins_like_a_field_stays_where_it_is(line: str) -> None:
    text = f"How the pods are set up, in short.\n\n{line}\nCPU: two cores\n\nNothing else is needed."

    assert only(text).text == text


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters=":\r")), min_size=1, max_size=6))
def test_a_text_without_a_colon_is_one_candidate(lines: list[str]) -> None:
    text = "\n".join(lines)
    expected = clean(text)
    if not expected.strip():
        return

    candidate = only(text)

    assert candidate.text.split() == expected.split()
    assert plain_candidate(text).text == expected


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    try:
        found = parse_candidates(text).candidates
    except InvalidInput as error:
        found, said = (), error.message
    else:
        said = ""

    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert bool(found) != bool(said)


@given(
    st.lists(st.sampled_from(["TYPE: rule", " | ", "TEXT:", "\n", "- ", "```", "a b", "UPDATE: x", "TRIGGERS: t", "|"]))
)
def test_any_mixture_of_the_grammar_is_read_or_refused_with_a_reason(pieces: list[str]) -> None:
    try:
        found = parse_candidates("".join(pieces)).candidates
    except InvalidInput as error:
        found, said = (), error.message
    else:
        said = ""

    assert bool(found) != bool(said)


# -- numbers, repetitions, wrong values --------------------------------------------------------------------------------


def grammar(count: int) -> str:
    return "\n".join(f"TYPE: rule | TEXT: Rule number {at} holds." for at in range(count))


def test_eight_candidates_fit_a_proposal_and_nine_do_not() -> None:
    assert len(parsed(grammar(MAX_CANDIDATES))) == 8
    with pytest.raises(InvalidInput, match="holds 9 candidates, at most 8"):
        parse_candidates(grammar(9))


def test_an_exact_repetition_is_dropped_and_said() -> None:
    read = parse_candidates(f"{grammar(8)}\nTYPE: rule | TEXT: Rule number 7 holds.")

    assert len(read.candidates) == 8
    assert read.notes == ("a repetition of candidate 8 was dropped",)


def test_the_note_on_a_repetition_names_the_candidate_that_is_repeated() -> None:
    read = parse_candidates(f"{grammar(3)}\nTYPE: rule | TEXT: Rule number 0 holds.")

    assert read.notes == ("a repetition of candidate 1 was dropped",)


def test_a_field_that_is_given_twice_counts_as_last_given_and_is_said() -> None:
    read = parse_candidates(f"TYPE: rule | TEXT: {TEXT} | TAGS: a | TAGS: b")

    assert read.candidates[0].tags == ("b",)
    assert read.notes == ("candidate 1: TAGS is given twice, the last one counts",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "text: there is nothing to save"),
        (" \n\n ", "text: there is nothing to save"),
        ("TYPE: rule", "text: there is nothing to save"),
        ("TYPE: rule | TEXT: ", "text: there is nothing to save"),
        (f"TYPE: habit | TEXT: {TEXT}", "candidate 1: TYPE: is not one"),
        (f"TYPE: rule | TEXT: {TEXT}\nTYPE: trick | TEXT: Two.", "candidate 2: TYPE: is not one"),
        (f"TEXT: {TEXT} | CONFIDENCE: total", "candidate 1: CONFIDENCE: is not one"),
        (f"TEXT: {TEXT} | VALID_UNTIL: tomorrow", "candidate 1: VALID_UNTIL: is no date"),
        (f"TEXT: {TEXT} | VALID_UNTIL: 2026-3-1", "candidate 1: VALID_UNTIL: is no date"),
        (f"TEXT: {TEXT} | VALID_FROM: 31.12.2026", "candidate 1: VALID_FROM: is no date"),
        (f"TEXT: {TEXT} | UPDATE: ../../etc/passwd", "candidate 1: UPDATE: is no id"),
        (f"TEXT: {TEXT} | SUPERSEDES: two words", "candidate 1: SUPERSEDES: is no id"),
        (f"TEXT: {TEXT} | DEPENDS_ON: two words", "candidate 1: DEPENDS_ON: holds something that is no id"),
        (f"TEXT: {TEXT} | PARENT: ../x", "candidate 1: PARENT: holds something that is no id"),
        (f"TEXT: {TEXT} | ID: Not An Id", "id: is not one"),
        (f"TEXT: {TEXT} | ID: ../up", "id: is not one"),
        ("TEXT: " + "x" * (256 * 1024 + 1), "candidate 1: TEXT: is longer than 256 KB"),
    ],
)
def test_a_wrong_value_is_named_with_its_candidate(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_candidates(text)

    assert raised.value.message.startswith(said)


@pytest.mark.parametrize("date", ["2026-02-30", "2026-13-01", "0000-00-00"])
def test_a_day_that_does_not_exist_is_no_date(date: str) -> None:
    with pytest.raises(InvalidInput):
        parse_candidates(f"TEXT: {TEXT} | VALID_UNTIL: {date}")


@pytest.mark.parametrize("text", ["TEXT: \x00\x01", "\x07", "</private>"])
def test_a_text_of_which_cleaning_leaves_nothing_is_nothing_to_save(text: str) -> None:
    with pytest.raises(InvalidInput, match="nothing to save"):
        parse_candidates(text)


def test_one_candidate_refuses_several() -> None:
    with pytest.raises(InvalidInput, match="holds several candidates"):
        one_candidate(grammar(2))


def test_a_title_that_is_handed_in_is_one_line_and_cut() -> None:
    candidate = one_candidate(TEXT, title="A title\n  over lines " + "x" * 200)

    assert candidate.title.startswith("A title over lines x")
    assert len(candidate.title) == 120


def test_a_plain_candidate_reads_nothing_as_a_field() -> None:
    text = "TYPE: rule | TEXT: quoted"

    assert plain_candidate(text, type="knowledge").text == text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("a, b; c、d，e", ("a", "b", "c", "d", "e")),
        ("[a, b]", ("a", "b")),
        ("`a`, 'b', \"c\"", ("a", "b", "c")),
        ("none", ()),
        ("a, , a", ("a",)),
        ("認証, đăng nhập, вход, تسجيل الدخول", ("認証", "đăng nhập", "вход", "تسجيل الدخول")),
    ],
)
def test_lists_are_read_in_the_ways_that_people_write_them(said: str, expected: tuple[str, ...]) -> None:
    assert only(f"TEXT: {TEXT} | TRIGGERS: {said}").triggers == expected


# -- classification ----------------------------------------------------------------------------------------------------

CLASSES = [
    ("Always use pnpm.", "rule"),
    ("Never commit generated files.", "rule"),
    ("You must run the linter before a push.", "rule"),
    ("Secrets must not be logged.", "rule"),
    ("We should prefer composition over inheritance.", "rule"),
    ("Avoid global state in tests.", "rule"),
    ("Don't use floats for money.", "rule"),
    ("Do not merge on Fridays.", "rule"),
    ("From now on answer in English.", "rule"),
    ("Force pushes are not allowed on main.", "rule"),
    ("Make sure that every endpoint has a test.", "rule"),
    ("Use tabs in Makefiles.", "rule"),
    ("- Keep functions short.", "rule"),
    ("Nunca uses secretos en el código.", "rule"),
    ("Всегда пишите тесты.", "rule"),
    ("Никогда не пушьте в main.", "rule"),
    ("必ずテストを書くこと。", "rule"),
    ("本番で直接編集しないこと。", "rule"),
    ("Luôn viết kiểm thử trước.", "rule"),
    ("1. Build the image.\n2. Push it.\n3. Restart the service.", "skill"),
    ("1) Stop the workers\n2) Run the migration\n3) Start the workers", "skill"),
    ("Step 1 build\nStep 2 tag", "skill"),
    ("Release workflow: first bump the version, then tag, then publish.", "skill"),
    ("How to restore a backup: first stop the app, then run pg_restore.", "skill"),
    ("Runbook for outages. First check the dashboard, then page the owner.", "skill"),
    ("The API listens on port 8080.", "knowledge"),
    ("Invoices are stored in Postgres.", "knowledge"),
    ("We chose Redis for sessions because of its TTL.", "knowledge"),
    ("The staging host is staging.example.org.", "knowledge"),
    ("ログは三十日間保存される。", "knowledge"),
    ("Журналы хранятся тридцать дней.", "knowledge"),
    ("Máy chủ đặt tại Hà Nội.", "knowledge"),
    ("There are three services: shop, billing and mail.", "knowledge"),
    ("The first release was in 2019, the second in 2020.", "knowledge"),
    ("A workflow engine runs in the cluster.", "knowledge"),
]


@pytest.mark.parametrize(("text", "type"), CLASSES)
def test_a_text_without_a_type_is(text: str, type: str) -> None:
    assert classify(text) == type
    assert plain_candidate(text).type == type
