"""Secrets and private text entered through every door are in no byte of the data folder, the log or the output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.corpus import SECRETS, canary_values
from tests.e2e.wire import Wire

MARK = "CANARY7f3a"
PRIVATE = {
    "plain": f"before <private>{MARK}</private> after",
    "nested": f"a <private>x <private>y</private> {MARK}</private> b",
    "unclosed": f"a <private> {MARK} to the end",
    "attributes": f'a < PRIVATE reason="x" >{MARK}</ private > b',
    "across lines": f"a <private>\n{MARK}\n\n{MARK}\n</private> b",
}
ACROSS_ITEMS = (
    f"## Key Learnings:\n\n1. the first thing is <private>worth {MARK}\n2. {MARK} still</private> and known well\n"
)


def stored_bytes(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()


def assert_nowhere(values: list[str], folder: Path, *outputs: bytes) -> None:
    for value in values:
        needle = value.encode()
        for path, held in stored_bytes(folder):
            assert needle not in held, f"a canary is in {path.name}"
        for output in outputs:
            assert needle not in output, "a canary is in the output"


def through_every_tool(wire: Wire, number: int, secret: str) -> None:
    """`secret` in every text parameter of every tool; answers may be refusals, never the value."""
    one = " ".join(secret.split())
    saved = wire.tool(
        "mem_save",
        title=f"n{number} {one}",
        content=f"found n{number}: {secret}",
        type=f"t {one}"[:55],
        topic_key=f"bug/{one}",
        session_id=f"s {one}",
        project=f"p {one}",
    )
    wire.tool("mem_save", title=f"plain {number}", content=f"kept n{number}: {secret}", scope=one)
    kept = wire.tool("mem_save", title=f"kept {number}", content=f"again n{number}: {secret}")
    id = (kept.get("structuredContent") or saved.get("structuredContent") or {}).get("id", 1)
    wire.tool("mem_update", id=id, title=f"u {one}", content=f"updated n{number} {secret}", topic_key=f"u/{one}")
    wire.tool("mem_search", query=secret, type=one, project=one)
    wire.tool("mem_search", query=secret)
    wire.tool("mem_context", project=one)
    wire.tool("mem_session_start", id=f"z {one}", project="shop", directory=one)
    wire.tool("mem_session_end", id=f"z {one}", summary=secret)
    wire.tool("mem_session_end", id=f"unknown {one}")
    wire.tool("mem_session_summary", content=secret, project="shop")
    wire.tool("mem_get_observation", id=one)
    wire.tool("mem_suggest_topic_key", title=one, content=secret)
    wire.tool("mem_save_prompt", content=f"please use {secret}")
    wire.tool(
        "mem_capture_passive",
        content=f"## Key Learnings:\n\n1. the service n{number} is reached with {secret}\n",
        source=one,
    )
    wire.tool("mem_timeline", observation_id=id)
    wire.tool("mem_stats")


def test_the_corpus_has_at_least_forty_formats() -> None:
    assert len(canary_values) >= 40
    assert all(canary_values[name] in SECRETS[name] for name in canary_values)


@pytest.mark.slow
def test_secrets_through_every_tool_reach_no_byte(data: Path) -> None:
    with Wire(data) as wire:
        for number, name in enumerate(canary_values):
            through_every_tool(wire, number, SECRETS[name])
        assert_nowhere(list(canary_values.values()), data, *wire.lines)
        _, stderr = wire.close()
    assert_nowhere(list(canary_values.values()), data, *wire.lines, stderr.encode())


def test_private_text_through_every_tool_reaches_no_byte(data: Path) -> None:
    with Wire(data) as wire:
        for number, text in enumerate(PRIVATE.values()):
            through_every_tool(wire, number, text)
        wire.tool("mem_capture_passive", content=ACROSS_ITEMS)
        assert_nowhere([MARK], data, *wire.lines)
        _, stderr = wire.close()
    assert_nowhere([MARK], data, *wire.lines, stderr.encode())


def engram(data: Path, *arguments: str, given: bytes = b"") -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "engram", *arguments],
        input=given,
        capture_output=True,
        timeout=60,
        env={**os.environ, "ENGRAM_DATA_DIR": str(data)},
    )
    assert b"Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_secrets_through_the_command_line_reach_no_byte(data: Path, tmp_path: Path) -> None:
    outputs = []
    together = "\n".join(SECRETS[name] for name in canary_values)
    values = list(canary_values.values())
    first = values[0]
    outputs.append(engram(data, "save", "all of them", "-", given=together.encode()))
    outputs.append(engram(data, "save", f"t {first}", f"c {first}", "--topic", first, "--project", first))
    outputs.append(engram(data, "update", "1", "--title", f"u {first}", "--content", "-", given=together.encode()))
    outputs.append(engram(data, "capture", "-", given=("## Learnings\n\n- we now log in with " + first).encode()))
    for command in (
        ("search", first),
        ("show", first),
        ("save", "--limit", first),
        (first,),
        ("search", "x", f"--{first}"),
    ):
        outputs.append(engram(data, *command))
        outputs.append(engram(data, *command, "--json"))
    outputs.append(engram(data, "show", "1"))
    outputs.append(engram(data, "history", "1"))
    outputs.append(engram(data, "doctor", "--deep"))
    assert_nowhere(values, data, *outputs)


@pytest.mark.slow
def test_secrets_in_an_imported_file_reach_no_byte(data: Path, tmp_path: Path) -> None:
    at = "2026-01-02 03:04:05"
    texts = [*(SECRETS[name] for name in canary_values), *PRIVATE.values()]
    rows = [
        {
            "id": n,
            "session_id": f"s {text}",
            "type": "bugfix",
            "title": f"n{n} {text}",
            "content": f"c{n} {text}",
            "tool_name": text,
            "project": f"p {text}"[:150],
            "scope": "project",
            "topic_key": f"k{n}/{text}",
            "revision_count": 1,
            "duplicate_count": 1,
            "created_at": at,
            "updated_at": at,
        }
        for n, text in enumerate(texts, 1)
    ]
    sessions = [
        {
            "id": row["session_id"],
            "project": row["project"],
            "directory": texts[0],
            "started_at": at,
            "summary": texts[n],
        }
        for n, row in enumerate(rows)
    ]
    prompts = [
        {
            "id": n,
            "session_id": row["session_id"],
            "content": row["content"],
            "project": row["project"],
            "created_at": at,
        }
        for n, row in enumerate(rows, 1)
    ]
    file = tmp_path / "export.json"
    whole = {"version": "0.1.0", "exported_at": at, "sessions": sessions, "observations": rows, "prompts": prompts}
    file.write_text(json.dumps(whole))
    outputs = [engram(data, "import", str(file)), engram(data, "search", "anything"), engram(data, "export", "-")]
    assert_nowhere([*canary_values.values(), MARK], data, *outputs)
