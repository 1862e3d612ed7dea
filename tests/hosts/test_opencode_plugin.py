"""The plugin in a real JavaScript runtime, with a program in the place of ours that answers what a test says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engram.hosts import texts
from tests.e2e.node import node
from tests.hosts.worlds import wanted

FAKE = """
import json, pathlib, sys, time
here = pathlib.Path(__file__).parent
payload = sys.stdin.read()
with open(here / "calls.jsonl", "a", encoding="utf-8") as calls:
    calls.write(json.dumps([sys.argv[1:], json.loads(payload)]) + "\\n")
answers = json.loads((here / "answers.json").read_text(encoding="utf-8"))
waiting = answers.get(sys.argv[-1], [])
answer = waiting.pop(0) if waiting else "{}"
(here / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
if answer == "hang":
    time.sleep(60)
if answer == "flood":
    sys.stdout.write("x" * 3_000_000)
if answer == "fail":
    print(json.dumps({"engramHook": {"action": "clear"}}))
    sys.exit(3)
print(answer)
"""


@dataclass(frozen=True)
class Played:
    """What the hooks left in their outputs, and what our program was asked: event and payload."""

    outputs: list[Any]
    calls: list[tuple[list[str], dict[str, Any]]]
    exports: list[str]

    @property
    def events(self) -> list[str]:
        return [argv[-1] for argv, _ in self.calls]


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    folder = tmp_path / "my shop"
    folder.mkdir()

    def played(
        *steps: list[Any],
        words: dict[str, Any] | None = None,
        command: tuple[str, ...] = (),
        copies: int = 1,
        **answers: list[str],
    ) -> Played:
        (tmp_path / "engram.py").write_text(FAKE, encoding="utf-8")
        (tmp_path / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        (tmp_path / "calls.jsonl").write_text("", encoding="utf-8")
        argv = command or (sys.executable, str(tmp_path / "engram.py"))
        text = texts.plugin(wanted(engram=argv)).replace("10_000", "2_000")
        (tmp_path / "package.json").write_text('{"type": "module"}')
        (tmp_path / "engram.js").write_text(text, encoding="utf-8")
        (tmp_path / "steps.json").write_text(
            json.dumps({"words": words or {}, "play": steps, "copies": copies}), encoding="utf-8"
        )
        host = Path(__file__).parent / "opencode_host.mjs"
        done = subprocess.run(
            [node(), str(host), str(tmp_path / "engram.js"), str(tmp_path / "steps.json"), str(folder)],
            capture_output=True,
            text=True,
            timeout=60,
            encoding="utf-8",
        )
        assert (done.returncode, done.stderr) == (0, "")
        said = json.loads(done.stdout)
        calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()]
        return Played(outputs=said["outputs"], calls=calls, exports=said["exports"])

    return played


def context(text: str, action: str = "replace") -> str:
    return json.dumps({"hookSpecificOutput": {"additionalContext": text}, "engramHook": {"action": action}})


def message(text: str, session: str = "s1", **more: Any) -> list[Any]:
    return ["chat.message", {"sessionID": session}, {"message": {}, "parts": [{"type": "text", "text": text, **more}]}]


def system(*before: str, session: str | None = "s1") -> list[Any]:
    about = {"sessionID": session} if session else {}
    return ["experimental.chat.system.transform", about, {"system": list(before)}]


def event(kind: str, **properties: Any) -> list[Any]:
    return ["event", {"event": {"type": kind, "properties": properties}}]


def test_a_message_begins_the_session_once_and_then_asks_about_the_prompt(play: Callable[..., Played]) -> None:
    played = play(message('héllo\n"you"'), message("again"), message("other", session="s2"))

    assert played.exports == ["EngramPlugin"], "OpenCode takes every export for a plugin"
    assert [argv for argv, _ in played.calls][:2] == [
        ["hook", "opencode", "SessionStart"],
        ["hook", "opencode", "UserPromptSubmit"],
    ]
    assert played.events == ["SessionStart", *["UserPromptSubmit"] * 2, "SessionStart", "UserPromptSubmit"]
    _, payload = played.calls[1]
    assert payload["prompt"] == 'héllo\n"you"'
    assert payload["session_id"] == "s1"
    assert payload["hook_event_name"] == "UserPromptSubmit"
    assert payload["cwd"].endswith("my shop")
    assert played.calls[0][1]["source"] == "startup"


def test_what_is_said_goes_to_the_end_of_the_last_system_text(play: Callable[..., Played]) -> None:
    played = play(message("hello"), system("you are", "a helper"), system(), SessionStart=[context("Engram: 1 of 1")])

    assert played.outputs[1]["system"] == ["you are", "a helper\n\nEngram: 1 of 1"]
    assert played.outputs[2]["system"] == ["Engram: 1 of 1"]


def test_a_plugin_that_is_linked_twice_asks_and_speaks_once(play: Callable[..., Played]) -> None:
    compacting = ["experimental.session.compacting", {"sessionID": "s1"}, {"context": []}]
    played = play(
        message("hello"),
        system("a"),
        compacting,
        event("session.idle", sessionID="s1"),
        copies=2,
        SessionStart=[context("note")],
        PreCompact=[context("first"), context("second")],
    )

    assert played.events == ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop"]
    assert played.outputs[1:3] == [{"system": ["a\n\nnote"]}, {"context": ["first"]}]


def test_sessions_do_not_hear_of_each_other(play: Callable[..., Played]) -> None:
    played = play(
        message("hello"), system("a", session="s2"), system("a", session=None), SessionStart=[context("note")]
    )
    assert [output["system"] for output in played.outputs[1:]] == [["a"], ["a"]]


@pytest.mark.parametrize(
    ("second", "left"),
    [
        (context("new"), "new"),
        (context("new", "retain"), "old"),
        (context("", "clear"), ""),
        (context("", "replace"), "old"),
        ("{}", "old"),
        ("no json", "old"),
        ("[1]", "old"),
        ("null", "old"),
        ("", "old"),
        ("fail", "old"),
        ("hang", "old"),
        ("flood", "old"),
        (json.dumps({"hookSpecificOutput": {"additionalContext": 3}, "engramHook": {"action": "replace"}}), "old"),
    ],
    ids="replace retain clear blank empty text list null nothing failure late flood number".split(),
)
def test_an_answer_replaces_keeps_or_clears_and_a_failure_keeps(
    play: Callable[..., Played], second: str, left: str
) -> None:
    played = play(message("a"), system("x"), SessionStart=[context("old")], UserPromptSubmit=[second])
    assert played.outputs[1]["system"] == [f"x\n\n{left}" if left else "x"]


@pytest.mark.parametrize("command", [("/no/such/engram",), ("",)])
def test_a_program_that_is_not_there_changes_nothing(play: Callable[..., Played], command: tuple[str, ...]) -> None:
    played = play(
        message("a"),
        system("x"),
        event("session.idle", sessionID="s1"),
        ["experimental.session.compacting", {"sessionID": "s1"}, {"context": []}],
        command=command,
    )
    assert played.outputs[1:] == [{"system": ["x"]}, None, {"context": []}]


def test_a_session_whose_beginning_failed_begins_with_the_next_message(play: Callable[..., Played]) -> None:
    played = play(message("a"), message("b"), system("x"), SessionStart=["fail", context("here")])

    assert played.events == ["SessionStart", "UserPromptSubmit"] * 2
    assert played.outputs[2]["system"] == ["x\n\nhere"]


def test_what_the_host_added_to_a_message_is_not_the_persons_prompt(play: Callable[..., Played]) -> None:
    parts = [
        {"type": "text", "text": "typed"},
        {"type": "text", "text": "added", "synthetic": True},
        {"type": "file", "url": "x"},
    ]
    played = play(
        ["chat.message", {"sessionID": "s1"}, {"message": {}, "parts": parts}],
        message("made up", synthetic=True),
        ["chat.message", {}, {"parts": parts}],
    )
    assert played.events == ["SessionStart", "UserPromptSubmit"]
    assert played.calls[1][1]["prompt"] == "typed"


def test_sessions_of_sub_agents_are_not_begun_but_their_last_words_are_heard(play: Callable[..., Played]) -> None:
    said = [
        {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "early"}]},
        {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "## Key Learnings:"}, {"type": "tool"}]},
        {"info": {"role": "user"}, "parts": [{"type": "text", "text": "mine"}]},
    ]
    played = play(
        event("session.created", info={"id": "child", "parentID": "s1"}),
        message("task", session="child"),
        event("session.idle", sessionID="child"),
        event("session.idle", sessionID="s1"),
        words={"child": said},
    )
    assert [(argv[-1], payload["session_id"]) for argv, payload in played.calls] == [
        ("SubagentStop", "child"),
        ("Stop", "s1"),
    ]
    assert [payload["last_assistant_message"] for _, payload in played.calls] == ["## Key Learnings:", ""]


def test_after_compaction_the_session_begins_anew(play: Callable[..., Played]) -> None:
    played = play(
        message("a"),
        ["experimental.session.compacting", {"sessionID": "s1"}, {"context": ["theirs"]}],
        event("session.compacted", sessionID="s1"),
        system("x"),
        SessionStart=[context("first"), context("again")],
        PreCompact=[context("save the summary first")],
    )
    assert played.outputs[1]["context"] == ["theirs", "save the summary first"]
    assert played.outputs[3]["system"] == ["x\n\nagain"]
    assert [payload.get("source") for argv, payload in played.calls if argv[-1] == "SessionStart"] == [
        "startup",
        "compact",
    ]


def test_a_deleted_session_is_ended_and_forgotten(play: Callable[..., Played]) -> None:
    played = play(
        message("a"),
        event("session.deleted", info={"id": "s1"}),
        event("session.deleted", info={"id": "unknown"}),
        system("x"),
        SessionStart=[context("old")],
    )
    assert played.events == ["SessionStart", "UserPromptSubmit", "SessionEnd"]
    assert played.outputs[3]["system"] == ["x"]


@pytest.mark.parametrize(
    "step",
    [
        ["event", {}],
        ["event", {"event": None}],
        event("session.created"),
        event("message.updated", info={"id": "m1"}),
        ["chat.message", None, None],
        ["chat.message", {"sessionID": "s1"}, {"parts": [None, {"type": "text"}]}],
        ["experimental.chat.system.transform", None, None],
        ["experimental.session.compacting", None, None],
    ],
)
def test_an_unexpected_call_is_no_error(play: Callable[..., Played], step: list[Any]) -> None:
    assert len(play(step).outputs) == 1
