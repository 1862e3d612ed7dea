"""A prompt: the memories that it needs, once; the session noted; the prompt kept only where that is wanted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.core.text import count_tokens
from engram.hook import shown_before
from tests.hook.host import PAYLOADS, Host
from tests.hook.test_answers import retold
from tests.services.governed import root_of, save

ASKED = "please install packages for the shop"
RECORDED = sorted(path for path in PAYLOADS.glob("*/*.json"))


@pytest.fixture
def taught(app: App, shop: Path) -> App:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages. | TRIGGERS: install packages")
    save(app, "TYPE: knowledge | TEXT: The warehouse service speaks gRPC on port 7000. | TRIGGERS: warehouse service")
    return app


def prompts_of(app: App) -> list[str]:
    with app.store.read() as tx:
        return [prompt.content for prompt in tx.recent_prompts(None, limit=50)]


def sessions_of(app: App) -> list[str]:
    with app.store.read() as tx:
        return sorted(session.id for session in tx.all_sessions())


def test_a_prompt_brings_what_it_needs_and_the_same_is_not_brought_twice(taught: App, host: Host) -> None:
    taught.close()

    assert "Use pnpm" in host.ask(ASKED)
    assert host.ask(ASKED) == ""
    assert "gRPC" in host.ask("which port has the warehouse service?")
    assert "Use pnpm" in host.ask(ASKED)
    assert host.ask("what about the moon and its phases") == ""
    assert "Use pnpm" in host.ask(ASKED, session_id="another")
    assert "Use pnpm" in host.ask(ASKED, "codex")


def test_it_is_brought_again_when_its_text_changed(taught: App, host: Host) -> None:
    taught.keep_ready()
    assert "Use pnpm" in host.ask(ASKED)

    (id,) = [entry.id for entry in taught.memories.search("pnpm").entries]
    save(taught, f"TYPE: rule | UPDATE: {id} | TEXT: Use pnpm 9, never npm, to install packages.")
    taught.close()

    assert "Use pnpm 9" in host.ask(ASKED)


@pytest.mark.parametrize("source", ["compact", "clear", "resume", "startup"])
def test_a_new_beginning_forgets_what_was_brought(source: str, taught: App, host: Host) -> None:
    taught.close()
    host.ask(ASKED)
    assert host.ask(ASKED) == ""

    host.start(source=source)

    assert "Use pnpm" in host.ask(ASKED)


@pytest.mark.parametrize(
    ("name", "event", "trigger", "forgets"),
    [
        ("claude", "PreCompact", "manual", True),
        ("codex", "PostCompact", "auto", True),
        ("gemini", "PreCompress", "auto", False),  # fires before every request, compressed or not
        ("gemini", "PreCompress", "manual", True),
    ],
)
def test_a_compaction_forgets_what_was_brought(
    name: str, event: str, trigger: str, forgets: bool, taught: App, host: Host
) -> None:
    taught.close()
    prompt_event = "BeforeAgent" if name == "gemini" else "UserPromptSubmit"
    host.tell(name, prompt_event, prompt=ASKED)

    assert host.tell(name, event, trigger=trigger) == {}

    assert bool(host.tell(name, prompt_event, prompt=ASKED)) is forgets


def test_read_modes(taught: App, host: Host) -> None:
    def in_mode(mode: str) -> list[bool]:
        taught.trust.change_setting("hook.read", mode)
        host.start()
        return [bool(host.ask(ASKED)), bool(host.ask(ASKED))]

    assert in_mode("auto") == [True, False]
    assert in_mode("always") == [True, True]
    assert in_mode("startup") == [False, False]
    assert in_mode("manual") == [False, False]
    assert in_mode("off") == [False, False]


def test_proof_tells_the_three_cases_apart(taught: App, host: Host) -> None:
    taught.trust.change_setting("hook.proof", "compact")
    taught.keep_ready()

    loaded = host.ask(ASKED).splitlines()[0]
    reused = host.ask(ASKED)
    none = host.ask("what about the moon and its phases")
    taught.trust.change_setting("hook.read", "startup")
    taught.close()
    startup = host.ask(ASKED)

    signature = loaded.rpartition("(")[2]
    assert loaded.startswith("Engram: loaded 1/1 memories via hook auto (")
    assert reused == f"Engram: reused 1/1 memories, unchanged ({signature}"
    assert none == "Engram: skipped, no memory suits"
    assert startup == "Engram: skipped, startup only"


def test_the_cache_holds_hashes_only(taught: App, host: Host, data: Path) -> None:
    taught.close()
    host.ask(ASKED + " xylophone")

    (record,) = [path for path in (data / shown_before.FOLDER).iterdir() if len(path.name) == 64]
    assert len(record.read_text(encoding="ascii").strip()) == 64
    assert set(record.read_text(encoding="ascii").strip() + record.name) <= set("0123456789abcdef")
    assert os.name != "posix" or record.stat().st_mode & 0o077 == 0


def test_a_damaged_record_is_as_if_it_were_not_there(taught: App, host: Host, data: Path) -> None:
    taught.close()
    host.ask(ASKED)
    (record,) = [path for path in (data / shown_before.FOLDER).iterdir() if len(path.name) == 64]
    record.write_bytes(b"\xff\x00 rubbish")

    assert "Use pnpm" in host.ask(ASKED)
    assert host.ask(ASKED) == ""


def test_records_are_bounded_in_number_and_age(tmp_path: Path) -> None:
    folder = tmp_path / shown_before.FOLDER
    for number in range(shown_before.MOST_RECORDS + 20):
        shown_before.remember(str(tmp_path), "claude", "/shop", f"s{number}", "a" * 64)
        path = shown_before._path(str(tmp_path), "claude", "/shop", f"s{number}")
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    shown_before.remember(str(tmp_path), "claude", "/shop", "now", "b" * 64)

    assert len(list(folder.iterdir())) == 1  # all others are older than a month
    assert shown_before.signature(str(tmp_path), "claude", "/shop", "now") == "b" * 64
    for number in range(shown_before.MOST_RECORDS + 20):
        shown_before.remember(str(tmp_path), "claude", "/shop", f"s{number}", "a" * 64)
    assert len(list(folder.iterdir())) == shown_before.MOST_RECORDS


def test_prompts_are_kept_only_where_that_is_wanted_redacted_and_once(taught: App, host: Host) -> None:
    taught.observations.save(title="Here", content="A store that is there.", project="shop")
    host.ask("nobody wants this kept")
    assert prompts_of(taught) == []

    taught.trust.change_setting("hook.save_prompts", True)
    taught.keep_ready()
    host.ask("use the key <private>hunter2</private> for it")
    host.ask("use the key <private>hunter2</private> for it")  # a hook that is registered twice
    host.ask("and now the discounts")

    assert prompts_of(taught) == ["and now the discounts", "use the key [REDACTED] for it"]
    assert sessions_of(taught) == ["manual-save-shop", "s1"]


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "<task-notification>\n<status>completed</status></task-notification>"},
        {"prompt": "  <system-reminder>be good</system-reminder>"},
        {"prompt": "<local-command-stdout></local-command-stdout>"},
        {"prompt": "find where prices are rounded", "agent_id": "a1"},
        {"prompt": "   "},
        {},
    ],
    ids=str,
)
def test_what_no_person_asked_is_neither_kept_nor_answered(fields: dict[str, str], taught: App, host: Host) -> None:
    taught.observations.save(title="Here", content="A store that is there.", project="shop")
    taught.trust.change_setting("hook.save_prompts", True)
    taught.trust.change_setting("hook.read", "always")
    taught.close()

    for name in ("claude", "codex"):
        assert host.tell(name, "UserPromptSubmit", **fields) == {}
    assert prompts_of(taught) == []


def test_a_prompt_in_markup_by_a_person_is_a_prompt(taught: App, host: Host) -> None:
    taught.observations.save(title="Here", content="A store that is there.", project="shop")
    taught.trust.change_setting("hook.save_prompts", True)
    taught.close()

    host.ask("<div> why is this tag not closed?")

    assert prompts_of(taught) == ["<div> why is this tag not closed?"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_of_what_real_programs_send_only_a_person_s_words_are_kept(path: Path, taught: App, host: Host) -> None:
    taught.observations.save(title="Here", content="A store that is there.", project="shop")
    taught.trust.change_setting("hook.save_prompts", True)
    taught.close()
    name, event = path.parent.name, path.stem.partition("-")[0]

    host.run([name, event], retold(path.read_text(encoding="utf-8"), host.folder))

    is_asked = event.lower() in (
        *("userpromptsubmit", "userpromptsubmitted", "beforeagent", "beforesubmitprompt", "pre_user_prompt"),
    )
    is_by_machine = any(word in path.stem for word in ("subagent", "task-notification", "empty"))
    expected = (
        []
        if not is_asked or is_by_machine
        else ["And discounts?" if "resumed" in path.stem else "Where do we round prices?"]
    )
    assert prompts_of(taught) == expected


def test_the_session_is_noted_so_that_later_saves_belong_to_it(taught: App, host: Host) -> None:
    taught.observations.save(title="Here", content="A store that is there.", project="shop")
    host.ask("what about the moon and its phases", session_id="of-the-host")

    saved = taught.observations.save(title="New", content="Without a session named.", project="shop")

    assert saved.session_id == "of-the-host"


def test_no_session_is_noted_in_a_folder_that_does_not_use_engram(app: App, tmp_path: Path) -> None:
    app.observations.save(title="Here", content="A store that is there.", project="shop")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    Host(elsewhere, ENGRAM_PROJECT="elsewhere").ask("hello")

    assert sessions_of(app) == ["manual-save-shop"]


def test_an_untrusted_checkout_answers_no_prompt(taught: App, host: Host) -> None:
    taught.trust.trust(revoke=True)
    taught.close()

    assert host.ask(ASKED) == ""


def test_what_a_prompt_brings_fits_the_hosts(taught: App, host: Host) -> None:
    for number in range(12):
        save(taught, f"TYPE: rule | TEXT: To install packages number {number}, " + f"call step{number} first. " * 60)
    taught.close()

    told = host.ask(ASKED)

    assert 0 < count_tokens(told) <= 1_600
    assert len(told) <= 9_500


def test_settings_that_cannot_be_read_are_as_if_they_were_not_there(taught: App, host: Host) -> None:
    taught.close()
    (root_of(taught) / "engram.config.json").write_text('{"hook": {"read": 3, "read_for": []', encoding="utf-8")

    assert "Use pnpm" in host.ask(ASKED)
