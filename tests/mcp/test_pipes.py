"""stdio when the other side is odd: closed descriptors, pipes that do not block, a client that stops reading."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors of POSIX")
ROOT = Path(__file__).parents[2]
SERVER = """
import sys
from tests.mcp.peers import make_server, tool
from engram.mcp_server.core import Result
from engram.mcp_server import stdio
def saves(arguments, call):
    with open(sys.argv[1], "a") as file:
        file.write("saved\\n")
    return Result("saved")
def closing():
    with open(sys.argv[1], "a") as file:
        file.write("closed\\n")
stdio.serve(make_server(tool("saves", saves)), closing)
"""


def request(id: int, name: str, **arguments: Any) -> bytes:
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode() + b"\n"


def command(log: Path) -> list[str]:
    return [sys.executable, "-c", SERVER, str(log)]


def test_accepted_saves_are_finished_and_the_store_closed_when_the_client_has_stopped_reading(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with subprocess.Popen(
        command(log), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(b"".join(request(n, "saves") for n in range(20)), timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert log.read_text().split() == ["saved"] * 20 + ["closed"]


def test_a_pipe_that_does_not_block_gets_every_byte(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = "x" * 1_000_000
    with subprocess.Popen(
        command(tmp_path / "log"), stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        os.close(writer)
        assert process.stdin is not None
        process.stdin.write(request(1, "echo", text=text))
        process.stdin.flush()
        with os.fdopen(reader, "rb") as lines:
            reply = json.loads(lines.readline())
            assert reply["result"]["structuredContent"]["text"] == text
            _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_descriptor_that_is_closed_at_the_start_is_no_failure(tmp_path: Path, closed: str) -> None:
    script = f'"$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command(tmp_path / "log")],
        input=request(1, "saves"),
        capture_output=True,
        timeout=60,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    replies = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert replies == ([1] if closed == "2>&-" else [])
    assert (tmp_path / "log").read_text().split()[-1] == "closed"
