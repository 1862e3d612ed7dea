"""The end of a turn, of a sub-agent, of a session: learnings are kept once, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.hosts.transcripts import last_assistant_message
from tests.hook.host import PAYLOADS, Host, eventually
from tests.hook.test_answers import retold

ITEMS = ["Prices are kept in cents and rounded half up", "The cart test needs TZ set to UTC"]
LEARNT = f"Done.\n\n## Key Learnings:\n\n1. {ITEMS[0]}\n2. {ITEMS[1]}\n"
RECORDED = sorted(path for path in PAYLOADS.glob("*/*.json"))
# Other moments say nothing of the last message, and Qwen writes its message down after the hook has run.
TRANSCRIPTS = [
    path
    for path in sorted(PAYLOADS.glob("*/transcripts/*.jsonl"))
    if path.stem.startswith(("Stop", "AfterAgent")) and path.parts[-3] in ("claude", "codex", "gemini")
]


@pytest.fixture
def stored(app: App, shop: Path) -> App:
    """A store that is there."""
    app.sessions.start("s1", project="shop", directory=str(shop))
    app.close()
    return app


def learned(app: App) -> list[str]:
    with app.store.read() as tx:
        return sorted(row.content for row in tx.all_observations(deleted=False))


@pytest.mark.parametrize(
    ("name", "event", "field"),
    [
        ("claude", "Stop", "last_assistant_message"),
        ("claude", "SubagentStop", "last_assistant_message"),
        ("codex", "Stop", "last_assistant_message"),
        ("gemini", "AfterAgent", "prompt_response"),
        ("cursor", "afterAgentResponse", "text"),
        ("opencode", "Stop", "last_assistant_message"),
        ("vscode", "Stop", "last_assistant_message"),
        ("qwen", "Stop", "last_assistant_message"),
        ("copilot", "subagentStop", "response"),
    ],
)
def test_learnings_are_kept_once_however_often_the_host_tells(
    name: str, event: str, field: str, stored: App, host: Host
) -> None:
    for _ in range(2):
        assert host.tell(name, event, agent_type="explore", **{field: LEARNT}) == {}

    assert learned(stored) == ITEMS
    with stored.store.read() as tx:
        assert {row.session_id for row in tx.all_observations(deleted=False)} == {"s1"}
        assert {row.source for row in tx.all_observations(deleted=False)} == {f"hook-{name}"}


def test_a_message_without_learnings_keeps_nothing(stored: App, host: Host) -> None:
    host.tell("claude", "Stop", last_assistant_message="I was learning a lot, but list nothing.")
    host.tell("claude", "Stop")

    assert learned(stored) == []


def test_secrets_do_not_come_along(stored: App, host: Host, data: Path) -> None:
    text = "## Key Learnings\n1. The password of the shop is <private>hunter2</private> everywhere\n"
    host.tell("claude", "Stop", last_assistant_message=text)

    assert learned(stored) == ["The password of the shop is [REDACTED] everywhere"]
    assert not any(b"hunter2" in path.read_bytes() for path in data.rglob("*") if path.is_file())


def test_it_is_kept_under_the_project_of_the_payload_s_folder(
    make_app: Callable[..., App], stored: App, repository: Callable[..., Path]
) -> None:
    folder = repository("checkout", origin="https://example.org/kim/webshop.git")

    Host(folder, ENGRAM_PROJECT="").tell("claude", "Stop", last_assistant_message=LEARNT)

    with stored.store.read() as tx:
        assert {row.project for row in tx.all_observations(deleted=False)} == {"webshop"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_of_what_real_programs_send_every_learning_is_kept(path: Path, stored: App, host: Host, home: Path) -> None:
    name, event = path.parent.name, path.stem.partition("-")[0]
    text = path.read_text(encoding="utf-8")
    payload = json.loads(text)
    for field, ending in (
        ("transcript_path", ".jsonl"),
        ("transcriptPath", ".jsonl"),
        ("agent_transcript_path", ".agent.jsonl"),
    ):
        recorded = path.parent / "transcripts" / f"{path.stem}{ending}"
        if recorded.exists() and payload.get(field):
            there = Path(str(payload[field]).replace("/home/dev", str(home)))
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(recorded.read_bytes())

    host.run([name, event], retold(text, host.folder))

    said = str(payload.get("last_assistant_message") or payload.get("prompt_response") or payload.get("response") or "")
    ends = event.lower() in ("stop", "subagentstop", "afteragent", "sessionend", "agentstop", "afteragentresponse")
    if ends and "## Key Learnings" in said:
        assert learned(stored) != []
    elif not ends and not (name == "windsurf" and "with-learnings" in path.stem):
        assert learned(stored) == []
    tells = bool(said) or name in ("cursor", "windsurf")
    if "with-learnings" in path.stem and name != "opencode" and tells:
        assert len(learned(stored)) == 2


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_the_last_message_of_a_transcript_is_the_one_that_the_program_told(path: Path) -> None:
    told = json.loads((path.parents[1] / f"{path.stem}.json").read_text(encoding="utf-8"))
    said = str(told.get("last_assistant_message") or told.get("prompt_response") or "")

    assert last_assistant_message(str(path)).strip().startswith(said.strip())


def written(path: Path, *lines: object) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def claude(text: str, *, id: str = "m1", **more: object) -> dict[str, object]:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    return {"type": "assistant", "message": {"id": id, "role": "assistant", "content": content}, **more}


def test_transcripts_of_each_format(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    tool = {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}}
    codex = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "said"}]}
    cases: list[tuple[object, ...]] = [
        (claude("older", id="m0"), claude("said"), tool),
        (claude("older", id="m0"), claude("sa", id="m2"), claude("id", id="m2")),
        (claude("said"), claude("of a sub-agent", isSidechain=True)),
        ({"type": "response_item", "payload": codex}, {"type": "event_msg", "payload": {"type": "token_count"}}),
        ({"type": "event_msg", "payload": {"type": "agent_message", "message": "said"}},),
        (
            {"role": "user", "message": {"content": []}},
            {"role": "assistant", "message": {"content": [{"type": "text", "text": "said"}]}},
        ),
        ({"type": "planner_response", "planner_response": {"response": "said"}},),
        ({"type": "user", "content": "x"}, {"type": "gemini", "content": "said"}, {"$set": {"lastUpdated": "now"}}),
        (
            {
                "type": "assistant",
                "message": {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "said"}]},
            },
        ),
        ({"type": "assistant.message", "data": {"content": "said"}}, {"type": "assistant.turn_end", "data": {}}),
    ]
    for lines in cases:
        assert last_assistant_message(written(path, *lines)).replace("\n", "") == "said", lines
    document = {
        "sessionId": "1",
        "messages": [{"type": "user", "content": "x"}, {"type": "gemini", "content": [{"text": "said"}]}],
    }
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    assert last_assistant_message(str(path)) == "said"


def test_a_transcript_of_many_megabytes_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(3_000):
            file.write(json.dumps({"type": "user", "message": {"content": f"{number} " + "x" * 2_000}}) + "\n")
        file.write(json.dumps(claude("the last word")) + "\n")
        file.write('{"type": "user", "mess')  # being written at this moment

    assert last_assistant_message(str(path)) == "the last word"


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 100, b"{", b'{"messages": 3}', b"[]\n{}\nnull\n3\n"])
def test_a_transcript_that_is_none_says_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)

    assert last_assistant_message(str(path)) == ""


def test_the_transcript_is_read_where_the_host_tells_no_message(stored: App, host: Host, tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", claude("earlier", id="m0"), claude(LEARNT))

    host.tell("claude", "SessionEnd", transcript_path=path)
    host.tell("claude", "Stop", transcript_path=str(tmp_path / "not there"))
    host.tell("claude", "Stop", transcript_path=str(tmp_path))

    assert learned(stored) == ITEMS


def test_the_end_of_a_session_is_noted_and_that_of_a_turn_or_a_sub_agent_is_not(stored: App, host: Host) -> None:
    def is_open() -> bool:
        with stored.store.read() as tx:
            session = tx.session("s1")
        assert session is not None
        assert session.summary is None
        return session.ended_at is None

    host.tell("claude", "Stop", last_assistant_message=LEARNT)
    host.tell("claude", "SubagentStop", agent_type="explore", last_assistant_message=LEARNT)
    assert is_open()
    host.tell("claude", "SessionEnd", reason="exit")
    assert not is_open()
    host.tell("claude", "SessionEnd", reason="exit", session_id="never-heard-of")
    with stored.store.read() as tx:
        assert [session.id for session in tx.all_sessions()] == ["s1"]


def test_what_a_sub_agent_of_copilot_learns_belongs_to_the_session_it_works_for(stored: App, host: Host) -> None:
    host.tell("copilot", "subagentStop", session_id="sub", agentId="sub", parentAgentId="s1", response=LEARNT)

    with stored.store.read() as tx:
        assert {row.session_id for row in tx.all_observations(deleted=False)} == {"s1"}


def test_what_claude_does_while_it_compacts_is_no_sub_agent(stored: App, host: Host) -> None:
    host.tell("claude", "SubagentStop", agent_type="", agent_transcript_path="/nowhere", last_assistant_message=LEARNT)

    assert learned(stored) == []


def test_copilot_s_last_message_is_found_when_the_session_ends(stored: App, host: Host, home: Path) -> None:
    place = home / ".copilot" / "session-state" / "s1"
    place.mkdir(parents=True)
    written(place / "events.jsonl", {"type": "assistant.message", "data": {"content": LEARNT}})

    host.tell("copilot", "sessionEnd", reason="complete")

    assert learned(stored) == ITEMS


@pytest.mark.skipif(os.name != "posix", reason="nothing is handed on there")
def test_when_the_time_is_up_the_rest_is_done_by_a_process_of_its_own_and_nothing_is_lost(
    stored: App, host: Host, data: Path
) -> None:
    with stored.store.write():  # somebody else writes, for longer than the host would wait
        answer = host.tell("claude", "Stop", last_assistant_message=LEARNT, env={"ENGRAM_HOOK_DEADLINE_MS": "700"})
        assert answer == {}
    eventually(lambda: learned(stored) == ITEMS)

    host.tell("claude", "Stop", last_assistant_message=LEARNT)
    assert learned(stored) == ITEMS


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_hook_that_is_killed_leaves_all_or_nothing(stored: App, host: Host, data: Path) -> None:
    payload = json.dumps({"cwd": str(host.folder), "session_id": "s1", "last_assistant_message": LEARNT}).encode()
    for milliseconds in (30, 80, 130, 180, 230, 300, 400):
        process = subprocess.Popen(
            [sys.executable, "-m", "engram", "hook", "claude", "Stop"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **host.environ},
        )
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.close()
        time.sleep(milliseconds / 1000)
        process.kill()
        process.wait()
        assert learned(stored) in ([], ITEMS)

    host.tell("claude", "Stop", last_assistant_message=LEARNT)

    assert learned(stored) == ITEMS
    assert all(finding.level == "ok" for finding in stored.store.check(deep=True) if finding.id != "store.folder")
