"""`engram mcp` as a process: its pipes, its end, and what it loads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.wire import Wire

posix = pytest.mark.skipif(os.name != "posix", reason="signals and descriptors of POSIX")
FIXTURE = """
import sys, warnings
from tests.mcp.peers import make_server, tool
from engram.mcp_server.core import Result
from engram.mcp_server import stdio
def noisy(arguments, call):
    print("a stray print")
    sys.stdout.write("and a write")
    import os
    os.write(1, b"and raw bytes")
    warnings.warn("and a warning")
    return Result("quiet")
stdio.serve(make_server(tool("noisy", noisy)), lambda: None)
"""


def test_the_end_of_input_ends_the_process_after_the_accepted_calls_were_answered(data: Path) -> None:
    lines = [
        {
            "jsonrpc": "2.0",
            "id": n,
            "method": "tools/call",
            "params": {"name": "mem_save", "arguments": {"title": f"t{n}", "content": "c"}},
        }
        for n in range(30)
    ]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(
        [sys.executable, "-m", "engram", "mcp"], input=given, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(30))
    assert done.stderr == ""


def test_a_last_line_without_its_end_is_served() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "engram", "mcp"],
        input='{"jsonrpc":"2.0","id":1,"method":"ping"}',
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_nothing_but_messages_reaches_stdout(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "noisy", "arguments": {}}}
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", FIXTURE],
        input=json.dumps(call) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1]
    for said in ("a stray print", "and a write", "and raw bytes", "and a warning"):
        assert said in done.stderr


def test_a_line_of_more_than_four_mebibytes_is_refused_and_the_next_one_served(data: Path) -> None:
    with Wire(data) as wire:
        wire.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (5 << 20) + b'"}}')
        refused = wire.read()
        assert refused["id"] is None
        assert refused["error"]["code"] == -32600
        assert wire.ask("ping")["result"] == {}


def test_a_line_of_nearly_four_mebibytes_is_served(data: Path) -> None:
    with Wire(data) as wire:
        too_much = wire.tool("mem_save", title="large", content="x" * (4 * 1024 * 1024 - 500))
        assert too_much["isError"] is True
        assert "1,048,576" in too_much["content"][0]["text"]


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_without_a_traceback(data: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "engram", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err == b""


@posix
def test_the_death_of_the_parent_ends_the_process_even_when_somebody_holds_its_input_open() -> None:
    keeper_in, keeper_out = os.pipe()
    script = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-m', 'engram', 'mcp'], stdin={keeper_in}, stdout=subprocess.PIPE)\n"
        "print(p.pid, flush=True)\n"
        "p.stdout.readline()\n"
        "print('up', flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, pass_fds=[keeper_in])
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.write(keeper_out, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert parent.stdout.readline() == b"up\n"
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    ended = not _alive(child)
    os.close(keeper_in)
    os.close(keeper_out)
    assert ended


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@posix
def test_a_client_that_stops_reading_ends_the_process_quietly(data: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "engram", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert process.wait(timeout=20) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


HEAVY = set(
    "re typing dataclasses enum logging datetime hashlib pathlib asyncio inspect argparse subprocess traceback apsw "
    "classifinder_engine starlette uvicorn mcp yaml textual".split()
)


def test_until_tools_list_is_answered_nothing_heavy_is_loaded() -> None:
    script = (
        "import sys, json\n"
        "before = set(sys.modules)\n"
        "from engram.mcp_server import launch, profiles\n"
        "from engram.mcp_server.core import Peer, encode\n"
        "from engram.mcp_server import stdio\n"
        "sent = []\n"
        "peer = Peer(launch.build(profiles.select(''), lambda: None), sent.append)\n"
        'peer.receive(b\'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\')\n'
        'peer.receive(b\'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\')\n'
        "assert len(sent) == 2\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(json.loads(done.stdout))
    # `json` brings `re` and with it `enum`; what it needs is not ours to avoid.
    assert loaded & (HEAVY - {"re", "enum"}) == set()


def test_the_options_of_the_server_are_checked() -> None:
    for wrong in (["--nonsense"], ["--tools"], ["extra"], ["--http", "nowhere"], ["--http=0.0.0.0:80"]):
        done = subprocess.run(
            [sys.executable, "-m", "engram", "mcp", *wrong],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("engram mcp: ")


def test_cost_counts_the_tokens_of_each_tool() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "engram", "mcp", "--cost"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "mem_save" in done.stdout
    total = next(line for line in done.stdout.splitlines() if "14 tools" in line)
    assert int(total.split()[0]) <= 2000
