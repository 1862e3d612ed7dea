"""The table of verdicts: what remembering a candidate means, given what is known."""

# ruff: noqa: E501  # a table

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.candidate import Candidate, plain_candidate
from engram.core.verdict import (
    CLOSE,
    LIKELY,
    RELATED,
    Action,
    Known,
    Verdict,
    contradicts,
    decide,
    normalised,
)
from engram.errors import InvalidInput


@dataclass(frozen=True)
class Case:
    """`known` are (id, type, text); `line` the verdict; `doubt` whether a person is asked before both are kept."""

    name: str
    text: str
    known: tuple[tuple[str, str, str], ...]
    line: str
    type: str = "rule"
    update: str = ""
    supersedes: str = ""
    depends_on: tuple[str, ...] = ()
    parent: tuple[str, ...] = ()
    keep_both: bool = False
    doubt: bool = False


def one(text: str, *, type: str = "rule", id: str = "old") -> tuple[tuple[str, str, str], ...]:
    return ((id, type, text),)


PNPM = "Always use pnpm for installing packages in this repository."

CASES = (
    # nothing known, or nothing like it
    Case("the first memory of a root is added", PNPM, (), "ADD"),
    Case("an unrelated memory changes nothing", PNPM, one("Release notes are written in English."), "ADD"),
    Case("an unrelated memory of another type changes nothing", PNPM, one("The API listens on port 8080.", type="knowledge"), "ADD"),
    Case("one common word is chance", "Sessions expire after two hours.", one("Sessions are stored in Redis behind the gateway."), "ADD"),
    Case("stop words in common are nothing in common", "It is not for this but for that of ours.", one("This is what we have for you in the end."), "ADD"),
    Case("an unrelated Japanese text is added", "データベースの移行は必ずレビューを受けること。", one("本番環境へのデプロイは金曜日に行わない。"), "ADD"),
    Case("an unrelated Russian text is added", "Всегда пишите тесты перед исправлением ошибки.", one("Журналы хранятся тридцать дней."), "ADD"),
    Case("an unrelated Vietnamese text is added", "Luôn dùng pnpm để cài đặt gói.", one("Máy chủ dữ liệu đặt tại Hà Nội."), "ADD"),
    # the same
    Case("the same text is known already", PNPM, one(PNPM), "NOOP duplicate of old"),
    Case("case and punctuation say nothing new", "always use PNPM for installing packages, in this repository", one(PNPM), "NOOP duplicate of old"),
    Case("white space and bullets say nothing new", f"  -  {PNPM}\n", one(PNPM), "NOOP duplicate of old"),
    Case("emphasis says nothing new", "Always use **pnpm** for installing packages in this repository.", one(PNPM), "NOOP duplicate of old"),
    Case("the same text of another type is known already", "The API listens on port 8080.", one("The API listens on port 8080.", type="knowledge"), "NOOP duplicate of old"),
    Case("full width letters are the same letters", "Ａｌｗａｙｓ use pnpm for installing packages in this repository.", one(PNPM), "NOOP duplicate of old"),
    Case("the same Japanese text is known already", "本番環境へのデプロイは金曜日に行わない。", one("本番環境へのデプロイは金曜日に行わない"), "NOOP duplicate of old"),
    Case("the same Russian text is known already", "Журналы хранятся тридцать дней", one("журналы хранятся тридцать дней."), "NOOP duplicate of old"),
    Case("the same Vietnamese text is known already", "Luôn dùng pnpm để cài đặt gói", one("luôn dùng pnpm để cài đặt gói."), "NOOP duplicate of old"),
    Case("the same text is found among others", PNPM, (("a", "rule", "Release notes are written in English."), ("b", "rule", PNPM), ("c", "rule", "Tests run before a merge.")), "NOOP duplicate of b"),
    Case("of two memories that say it, the first by id is named", PNPM, (("a", "rule", PNPM), ("b", "rule", PNPM)), "NOOP duplicate of a"),
    # contained
    Case("what a longer memory holds already is no news", "Always use pnpm for installing packages.", one(PNPM + " Commit the lockfile together with the change, and never edit it by hand."), "NOOP duplicate of old"),
    Case("a part of a procedure is no news", "Tag the commit and push the tag to origin.", one("1. Update the changelog.\n2. Tag the commit and push the tag to origin.\n3. Announce the release.", type="skill"), "NOOP duplicate of old", type="skill"),
    Case("what holds a memory and more rewrites it", PNPM + " Commit the lockfile together with the change, and never edit it by hand.", one(PNPM), "UPDATE old"),
    Case("one more step rewrites a procedure", "1. Update the changelog.\n2. Tag the commit and push the tag to origin.\n3. Announce the release in chat.", one("1. Update the changelog.\n2. Tag the commit and push the tag to origin.", type="skill"), "UPDATE old", type="skill"),
    Case("containment in a memory of another type is only a hint", "Always use pnpm for installing packages.", one(PNPM + " Commit the lockfile together with the change.", type="skill"), "ADD"),
    Case("a remark of two words is contained in nothing", "use pnpm", one(PNPM + " Commit the lockfile together with the change."), "ADD"),
    # polarity
    Case("always became never", "Never use pnpm for installing packages in this repository.", one(PNPM), "SUPERSEDE old"),
    Case("a negation turns a rule around", "Do not squash commits when merging pull requests.", one("Squash commits when merging pull requests."), "SUPERSEDE old"),
    Case("a lifted prohibition turns a rule around", "Squash commits when merging pull requests.", one("Do not squash commits when merging pull requests."), "SUPERSEDE old"),
    Case("enable became disable", "Disable strict mode in the TypeScript compiler of the web client.", one("Enable strict mode in the TypeScript compiler of the web client."), "SUPERSEDE old"),
    Case("before became after", "Run the migrations after the deployment of the backend.", one("Run the migrations before the deployment of the backend."), "SUPERSEDE old"),
    Case("required became optional", "A second review is optional for changes of the billing module.", one("A second review is required for changes of the billing module."), "SUPERSEDE old"),
    Case("a Japanese prohibition turns a rule around", "本番環境へのデプロイは金曜日に行わないこと。", one("本番環境へのデプロイは金曜日に行うこと。"), "SUPERSEDE old"),
    Case("a Russian prohibition turns a rule around", "Не используйте общие учётные записи для развёртывания сервиса.", one("Используйте общие учётные записи для развёртывания сервиса."), "SUPERSEDE old"),
    Case("a Vietnamese prohibition turns a rule around", "Không dùng pnpm để cài đặt gói trong kho này.", one("Luôn dùng pnpm để cài đặt gói trong kho này."), "SUPERSEDE old"),
    Case("a contained text that says the opposite is no repetition", "Do not edit the lockfile by hand.", one("Edit the lockfile by hand when a merge of the lockfile fails."), "SUPERSEDE old"),
    # numbers
    Case("another port replaces the old one", "The API listens on port 9090 in staging.", one("The API listens on port 8080 in staging.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another number of days replaces the old one", "Logs are kept for 90 days on the archive server.", one("Logs are kept for 30 days on the archive server.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another version replaces the old one", "The backend is built with Python 3.13 and uv.", one("The backend is built with Python 3.11 and uv.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another number in a Russian text replaces the old one", "Журналы хранятся на сервере архива 90 дней.", one("Журналы хранятся на сервере архива 30 дней.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another number in a Vietnamese text replaces the old one", "Nhật ký được giữ trên máy chủ 90 ngày.", one("Nhật ký được giữ trên máy chủ 30 ngày.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another number in a Japanese text replaces the old one", "ログはアーカイブサーバーに90日間保存する。", one("ログはアーカイブサーバーに30日間保存する。", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another indentation replaces the old one", "Indent Python code with 2 spaces in all services.", one("Indent Python code with 4 spaces in all services."), "SUPERSEDE old"),
    # named values
    Case("another host replaces the old one", "Deploys of the shop go to AWS.", one("Deploys of the shop go to Fly.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another database replaces the old one", "The orders service stores its data in MySQL.", one("The orders service stores its data in Postgres.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("another tool replaces the old one", "Always use yarn for installing packages in this repository.", one(PNPM), "SUPERSEDE old"),
    Case("two tools that changed places replace the rule", "Use npm and not pnpm for installing packages.", one("Use pnpm and not npm for installing packages."), "SUPERSEDE old"),
    # paraphrase
    Case("another form of the same words is no news", "Always use pnpm to install packages in this repository.", one(PNPM), "NOOP duplicate of old"),
    Case("another wording of a rule rewrites it", "In this repository, packages are always installed through pnpm workspaces.", one(PNPM), "UPDATE old"),
    Case("another verb for the same act rewrites it", "Always run pnpm for installing packages in this repository.", one(PNPM), "UPDATE old"),
    Case("an added word rewrites it", "Always use pnpm for installing packages in this repository and its examples.", one(PNPM), "UPDATE old"),
    Case("two sentences in other order say the same", "Commit the lockfile. Tests run before each merge.", one("Tests run before each merge. Commit the lockfile."), "NOOP duplicate of old"),
    # likely the same: a person is asked
    Case("a likely repetition waits for an answer", "Install packages with pnpm; the lockfile is committed with them.", one("Packages are installed with pnpm in every workspace, lockfile included."), "ADD", doubt=True),
    Case("KEEP answers a likely repetition", "Install packages with pnpm; the lockfile is committed with them.", one("Packages are installed with pnpm in every workspace, lockfile included."), "ADD", keep_both=True),
    Case("DEPENDS_ON answers a likely repetition", "Install packages with pnpm; the lockfile is committed with them.", one("Packages are installed with pnpm in every workspace, lockfile included."), "ADD", depends_on=("old",)),
    Case("a scoped DEPENDS_ON answers it too", "Install packages with pnpm; the lockfile is committed with them.", one("Packages are installed with pnpm in every workspace, lockfile included."), "ADD", depends_on=("workspace:old",)),
    Case("a declared child is never a repetition", "Install packages with pnpm; the lockfile is committed with them.", one("Packages are installed with pnpm in every workspace, lockfile included."), "ADD", parent=("old",)),
    Case("an announced dependency that is not named waits", "This depends on the staging database dump of the billing service.", one("The staging database dump is made each night.", type="knowledge"), "ADD", type="knowledge", doubt=True),
    Case("a named dependency is answered", "This depends on the staging database dump of the billing service.", one("The staging database dump is made each night.", type="knowledge"), "ADD", type="knowledge", depends_on=("old",)),
    Case("a dependency on nothing known is just text", "This depends on the weather.", one("Release notes are written in English."), "ADD"),
    # as the candidate says
    Case("an explicit UPDATE wins over likeness", "Something else entirely.", one(PNPM), "UPDATE old", update="old"),
    Case("an explicit UPDATE wins over contradiction", "Never use pnpm for installing packages in this repository.", one(PNPM), "UPDATE old", update="old"),
    Case("an explicit UPDATE wins over a better match", PNPM, (("near", "rule", PNPM), ("old", "rule", "Release notes are in English.")), "UPDATE old", update="old"),
    Case("an explicit UPDATE with the same words changes nothing", PNPM, one(PNPM), "NOOP duplicate of old", update="old"),
    Case("an explicit SUPERSEDES wins", "Something else entirely.", one(PNPM), "SUPERSEDE old", supersedes="old"),
    Case("SUPERSEDES may change the type", "Packages come from the company mirror.", one(PNPM), "SUPERSEDE old", type="knowledge", supersedes="old"),
    # siblings: the same said of something else
    Case("another service on another port is a fact of its own", "The orders service listens on port 9090.", one("The billing service listens on port 8080.", type="knowledge"), "ADD", type="knowledge", doubt=True),
    Case("another subject of the same rule is a rule of its own", "In JavaScript code, indent with 2 spaces.", one("In Python code, indent with 4 spaces."), "ADD", doubt=True),
    Case("KEEP keeps a sibling fact", "The orders service listens on port 9090.", one("The billing service listens on port 8080.", type="knowledge"), "ADD", type="knowledge", keep_both=True),
    Case("KEEP keeps a sibling rule", "Run the linter on Markdown files before each commit.", one("Run the linter on Python files before each commit."), "ADD", keep_both=True),
    # signs that carry meaning
    Case("a version sign is a difference", "Write native plugins in C++ for the editor.", one("Write native plugins in C for the editor."), "SUPERSEDE old"),
    Case("an operator is a difference", "Compare values with `===` in JavaScript code.", one("Compare values with `==` in JavaScript code."), "SUPERSEDE old"),
    Case("a sign before a number is a difference", "The offset of the sensor is -5 degrees.", one("The offset of the sensor is 5 degrees.", type="knowledge"), "SUPERSEDE old", type="knowledge"),
    Case("the order of two acts is a difference", "Run the deployment before the migrations on the server.", one("Run the migrations before the deployment on the server."), "SUPERSEDE old"),
    Case("texts of signs alone are compared as they are", "🚀🚀", one("🔥"), "ADD"),
)  # fmt: skip


def candidate_of(case: Case) -> Candidate:
    made = plain_candidate(case.text, type=case.type)
    return replace(
        made,
        update=case.update,
        supersedes=case.supersedes,
        depends_on=case.depends_on,
        parent=case.parent,
        keep_both=case.keep_both,
    )


def verdict_of(case: Case) -> Verdict:
    known = [Known(id=id, type=type, text=text) for id, type, text in case.known]
    return decide(candidate_of(case), known)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_verdict_of(case: Case) -> None:
    verdict = verdict_of(case)

    assert (verdict.line, bool(verdict.doubt)) == (case.line, case.doubt)
    assert verdict.reason


def test_the_table_is_long_enough() -> None:
    assert len(CASES) >= 50
    assert {case.line.split()[0] for case in CASES} == {str(action) for action in Action}
    assert 0 < RELATED < LIKELY < CLOSE < 1


def test_an_update_of_what_is_not_there_is_refused_by_number_and_name() -> None:
    with pytest.raises(InvalidInput, match="candidate 1: no memory `gone`"):
        decide(replace(plain_candidate(PNPM), update="gone"), [Known(id="old", type="rule", text=PNPM)])


def test_an_update_of_another_type_is_refused_and_names_the_way_out() -> None:
    with pytest.raises(InvalidInput, match="`old` is a skill, not a rule") as raised:
        decide(replace(plain_candidate(PNPM, type="rule"), update="old"), [Known(id="old", type="skill", text="x")])

    assert "SUPERSEDES" in (raised.value.hint or "")


def test_related_memories_are_named_nearest_first_at_most_three() -> None:
    known = [
        Known(id=id, type="knowledge", text=text)
        for id, text in (
            ("a", "The billing service stores invoices in Postgres, in one schema per customer."),
            ("b", "The billing service sends invoices by mail."),
            ("c", "The billing service stores invoices for ten years."),
            ("d", "The billing service is written in Go."),
        )
    ]

    verdict = decide(plain_candidate("The billing service stores invoices in Postgres.", type="rule"), known)

    assert verdict.action is Action.ADD
    assert verdict.related[0] in ("a", "c")
    assert 1 <= len(verdict.related) <= 3


def test_twelve_notes_of_one_pattern_never_become_one() -> None:
    """Fault 19 of the earlier system: similar notes were merged silently."""
    topics = "invoices sessions uploads exports webhooks avatars refunds coupons reports backups search mails".split()
    known = [
        Known(id=topic, type="knowledge", text=f"The {topic} module has its own queue, named after it.")
        for topic in topics
    ]

    verdicts = [
        decide(plain_candidate(f"The {one} module retries {two} times.", type="knowledge"), known)
        for one, two in (("payments", "three"), ("tickets", "five"))
    ]

    assert [verdict.action for verdict in verdicts] == [Action.ADD, Action.ADD]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café is open", "cafe\u0301 is open."),
        ("TIMEOUT: 30 s", "timeout 30 s"),
        ("# Heading\n\ntext", "heading text"),
        ("ﬁle names", "file names"),
    ],
)
def test_normalised_texts_are_the_same(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs", "Use spaces"),
        ("Wait 10 s", "Wait 1 0 0 s"),
        ("データ", "データベース"),
        ("còn", "con"),
        ("ห้ามใช้ม้า", "ห้ามใช้ม่า"),
        ("लिखो कि", "लिखो की"),
    ],
)  # fmt: skip
def test_texts_that_differ_in_a_letter_are_not_the_same(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_a_text_never_contradicts_itself() -> None:
    for case in CASES:
        assert contradicts(case.text, case.text) == "", case.name


SENTENCES = [case.text for case in CASES] + [text for case in CASES for _, _, text in case.known]


@st.composite
def stores(draw: st.DrawFn) -> list[Known]:
    texts = draw(st.lists(st.sampled_from(SENTENCES), max_size=6))
    return [
        Known(id=f"m{at}", type=draw(st.sampled_from(("rule", "skill", "knowledge"))), text=text)
        for at, text in enumerate(texts)
    ]


def test_of_several_memories_that_say_the_same_the_order_of_the_store_decides_nothing() -> None:
    known = [Known(id="a", type="rule", text=PNPM), Known(id="b", type="rule", text=PNPM)]

    assert decide(plain_candidate(PNPM), known[::-1]) == decide(plain_candidate(PNPM), known)


@given(text=st.sampled_from(SENTENCES), known=stores(), data=st.data())
def test_the_order_of_the_store_never_changes_the_verdict(text: str, known: list[Known], data: st.DataObject) -> None:
    known = list({normalised(memory.text): memory for memory in known}.values())
    candidate = plain_candidate(text)
    shuffled = data.draw(st.permutations(known))

    assert decide(candidate, shuffled) == decide(candidate, known)


@given(text=st.text(min_size=1, max_size=80), others=st.lists(st.text(max_size=80), max_size=4))
def test_any_text_gets_a_verdict_about_a_memory_that_is_there(text: str, others: list[str]) -> None:
    known = [Known(id=f"m{at}", type="rule", text=other) for at, other in enumerate(others)]

    verdict = decide(plain_candidate(text, type="rule"), known)

    assert (verdict.target in {memory.id for memory in known}) == (verdict.action is not Action.ADD)
    assert verdict.target not in verdict.related
    assert set(verdict.related) <= {memory.id for memory in known}


@given(text=st.sampled_from(SENTENCES), known=stores())
def test_what_was_added_is_known_the_next_time(text: str, known: list[Known]) -> None:
    candidate = plain_candidate(text)
    after = [*known, Known(id="new", type=candidate.type, text=candidate.text)]

    assert decide(candidate, after).action is Action.NOOP
