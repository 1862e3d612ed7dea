"""Whatever a hook is sent, it answers one JSON object, ends with 0 and says nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engram.bootstrap import App
from engram.hook.payload import MAX_BYTES
from tests.hook.host import PAYLOADS, Host, context_of, eventually, everything_in
from tests.services.governed import save

RECORDED = sorted(path for path in PAYLOADS.glob("*/*.json"))
START = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}


def retold(text: str, folder: Path) -> bytes:
    """A payload as if it had been sent from the workspace at hand."""
    return text.replace("/home/dev/shop", str(folder)).replace("/home/dev", str(folder.parent / "home")).encode()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_real_programs_send_is_answered_in_the_form_of_that_program(
    path: Path, app: App, shop: Path, host: Host
) -> None:
    save(app, "TYPE: rule | TEXT: Round prices half up, and only when they are shown. | TRIGGERS: round prices")
    app.observations.save(title="Prices", content="They are kept in cents.", project="shop")
    app.close()
    name = path.parent.name
    event = path.stem.partition("-")[0]

    answer = host.run([name, event], retold(path.read_text(encoding="utf-8"), shop))

    assert set(answer) <= {
        "claude": {"hookSpecificOutput", "suppressOutput"},
        "cursor": {"additional_context"},
        "copilot": {"additionalContext"},
        "windsurf": {"proof"},
        "opencode": {"hookSpecificOutput", "suppressOutput", "engramHook"},
    }.get(name, {"hookSpecificOutput", "suppressOutput"})
    if event.lower() in ("sessionstart", "userpromptsubmit", "beforeagent"):
        if "hookSpecificOutput" in answer:
            assert answer["hookSpecificOutput"]["hookEventName"] == event
        if event.lower() == "sessionstart":
            assert "half up" in context_of(answer)
    else:
        assert answer == {}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"garbage",
        b"[]",
        b"null",
        b'"SessionStart"',
        b'{"cwd": 3, "session_id": [], "hook_event_name": {}}',
        b"\xff\xfe\x00",
        b'{"hook_event_name": "SessionStart", "cwd": "/no/such/folder"}',
        b'{"hook_event_name": "SessionStart", "cwd": "\\u0000"}',
        b'{"hook_event_name": "NoSuchEvent"}',
        b"[" * 100_000,
    ],
    ids=lambda raw: raw[:30].decode("latin-1"),
)
def test_what_makes_no_sense_is_answered_with_nothing(raw: bytes, app: App, shop: Path, host: Host) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages.")
    app.close()

    assert host.run(["claude"], raw) == {}


def test_more_than_any_host_sends_is_read_to_its_end_and_not_looked_at(host: Host, shop: Path) -> None:
    raw = json.dumps({**START, "cwd": str(shop), "prompt": "x" * (MAX_BYTES + 1)}).encode()

    assert host.run(["claude"], raw) == {}


@pytest.mark.parametrize(
    "arguments", [[], ["nobody"], ["--host"], ["--host", "nobody"], ["claude", "NoSuchEvent"], ["--refresh"]]
)
def test_an_unknown_host_or_event_is_answered_with_nothing(arguments: list[str], shop: Path, host: Host) -> None:
    assert host.run(arguments, json.dumps({**START, "cwd": str(shop)}).encode()) == {}


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("hook", ["claude", "SessionStart"]),
        ("hook", ["claude", "session-start"]),
        ("hook", ["CLAUDE", "SESSIONSTART"]),
        ("hook", ["claude-code"]),
        ("hook", ["claude"]),
        ("agent-hook", ["--host", "claude"]),
        ("agent-hook", ["--host=claude", "sessionstart"]),
        ("agent-hook", ["session_start", "--host", "claude"]),
    ],
)
def test_hosts_and_events_are_known_in_any_case_and_by_both_commands(
    command: str, arguments: list[str], app: App, shop: Path, host: Host
) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages.")
    app.close()

    answer = host.run(arguments, json.dumps({**START, "cwd": str(shop)}).encode(), command=command)

    assert "pnpm" in context_of(answer)


def test_the_event_of_the_command_line_counts_before_that_of_the_payload(app: App, shop: Path, host: Host) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages.")
    app.close()

    answer = host.run(["claude", "SessionStart"], json.dumps({"cwd": str(shop), "hook_event_name": "Stop"}).encode())

    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("claude", {"hookSpecificOutput": {"hookEventName", "additionalContext"}, "suppressOutput": True}),
        ("codex", {"hookSpecificOutput": {"hookEventName", "additionalContext"}, "suppressOutput": True}),
        ("gemini", {"hookSpecificOutput": {"hookEventName", "additionalContext"}, "suppressOutput": True}),
        ("cursor", {"additional_context": None}),
        ("copilot", {"additionalContext": None}),
    ],
)
def test_each_host_is_answered_in_its_own_form(
    name: str, shape: dict[str, Any], app: App, shop: Path, host: Host
) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages.")
    app.close()

    answer = host.tell(name, "SessionStart")

    assert set(answer) == set(shape)
    assert "pnpm" in context_of(answer)
    if "hookSpecificOutput" in shape:
        assert set(answer["hookSpecificOutput"]) == shape["hookSpecificOutput"]
        assert answer["suppressOutput"] is True


def test_opencode_is_told_what_to_do_with_its_system_prompt(app: App, shop: Path, host: Host) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages. | TRIGGERS: install packages")
    app.trust.change_setting("hook.proof", "off")
    app.close()

    begun = host.tell("opencode", "SessionStart")
    asked = host.tell("opencode", "UserPromptSubmit", prompt="install packages please")
    other = host.tell("opencode", "UserPromptSubmit", prompt="what about the moon and its phases")
    app.trust.change_setting("hook.read", "off")
    off = host.tell("opencode", "UserPromptSubmit", prompt="install packages please")

    assert begun["engramHook"] == {"action": "replace"}
    assert asked["engramHook"] == {"action": "replace"}
    assert "</memory>" in context_of(asked)
    assert context_of(begun) in context_of(asked)  # it keeps one text, so what it began with comes again
    assert other == {"engramHook": {"action": "retain"}}
    assert off == {"engramHook": {"action": "clear"}}


def test_windsurf_gets_no_context_and_a_proof_that_says_so(app: App, shop: Path, host: Host) -> None:
    save(app, "TYPE: rule | TEXT: Round prices half up, and only when they are shown. | TRIGGERS: round prices")
    app.close()
    asked = {"tool_info": {"user_prompt": "round prices"}, "agent_action_name": "pre_user_prompt"}

    silent = host.tell("cascade", "pre_user_prompt", **asked)
    app.trust.change_setting("hook.proof", "compact")
    told = host.tell("windsurf", "pre_user_prompt", **asked)

    assert silent == {}
    assert set(told) == {"proof"}
    assert "takes no memories" in told["proof"]


def test_nothing_is_made_in_a_folder_that_does_not_use_engram(host: Host, data: Path, home: Path) -> None:
    host.folder.mkdir()
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact"):
        answer = host.tell(
            "claude", event, prompt="hello", last_assistant_message="## Key Learnings\n1. one two three four five"
        )
        assert answer == {}

    assert everything_in(host.folder) == []
    assert everything_in(home) == []
    assert not data.exists()


def test_no_database_is_made_where_there_is_none(app: App, shop: Path, host: Host, data: Path) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages. | TRIGGERS: install packages")
    app.trust.change_setting("hook.save_prompts", True)
    app.close()
    before = everything_in(shop)

    host.start()
    host.ask("install packages please")
    host.tell("claude", "Stop", last_assistant_message="## Key Learnings\n1. The cart test needs the TZ variable set")
    host.tell("claude", "SessionEnd")

    assert not (data / "engram.db").exists()
    assert everything_in(shop) == before


def test_a_database_that_cannot_be_read_is_answered_with_nothing_and_noted(
    app: App, shop: Path, host: Host, data: Path
) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages.")
    app.close()
    (data / "engram.db").write_bytes(b"this is no database, and long enough to be looked at" * 40)

    assert host.start() == ""
    log = (data / "engram-hook.log").read_text(encoding="utf-8")
    assert "claude SessionStart: NotADBError at hook/record.py" in log


def test_the_log_holds_no_word_of_what_was_asked_and_does_not_grow_for_ever(
    app: App, shop: Path, host: Host, data: Path
) -> None:
    app.close()
    data.mkdir(exist_ok=True)
    (data / "engram.db").write_bytes(b"this is no database, and long enough to be looked at" * 40)
    (data / "engram-hook.log").write_text("2026-01-01T00:00:00Z claude Stop: something\n" * 5_000, encoding="utf-8")

    host.ask("the secret word is xylophone")

    log = (data / "engram-hook.log").read_text(encoding="utf-8")
    assert "xylophone" not in log
    assert "UserPromptSubmit: NotADBError" in log
    assert len(log) < 128 * 1024


def test_no_module_of_a_workspace_is_ever_imported(app: App, shop: Path, host: Host) -> None:
    """What the hook starts by itself runs where the agent works, and not what lies there."""
    (shop / "engram").mkdir()
    (shop / "engram" / "__init__.py").write_text("raise SystemExit(7)\n", encoding="utf-8")
    (shop / "apsw.py").write_text("raise SystemExit(7)\n", encoding="utf-8")
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages.")
    app.close()
    for path in (Path(os.environ["ENGRAM_DATA_DIR"]) / "cache").glob("*.db*"):
        path.unlink()

    host.start()  # nothing is ready: a process is started that reads the memories

    eventually(lambda: "pnpm" in host.start())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_no_child_is_left_to_the_host(app: App, shop: Path, host: Host) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages.")
    app.close()
    for path in (Path(os.environ["ENGRAM_DATA_DIR"]) / "cache").glob("*.db*"):
        path.unlink()

    host.start()

    assert not any(_parent(place) == os.getpid() for place in Path("/proc").glob("[0-9]*"))
    eventually(lambda: "pnpm" in host.start())


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_host_that_never_ends_its_payload_is_answered_when_the_time_is_up(shop: Path, host: Host) -> None:
    environ = {**os.environ, "ENGRAM_HOOK_DEADLINE_MS": "300"}
    process = subprocess.Popen(
        [sys.executable, "-m", "engram", "hook", "claude", "SessionStart"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    )
    assert process.stdin is not None
    process.stdin.write(b'{"cwd":')
    process.stdin.flush()
    process.wait(timeout=60)  # with its standard input open all the while
    assert process.stdout is not None
    assert process.stderr is not None

    assert (process.returncode, process.stdout.read(), process.stderr.read()) == (0, b"{}", b"")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
