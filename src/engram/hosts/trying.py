"""Start a registered server as an agent program would, and ask it who it is and what it offers."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

PROTOCOL = "2025-06-18"
# What agent programs leave of the environment; some scrub all the rest.
_PASSED = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "TMPDIR", "LANG")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What the server said of itself, and the names of its tools; or the `problem` in a sentence."""

    words: tuple[str, ...]
    name: str = ""
    version: str = ""
    protocol: str = ""
    tools: tuple[str, ...] = ()
    problem: str = ""


def try_server(
    words: Sequence[str],
    *,
    folder: str,
    environ: Mapping[str, str],
    seconds: float = 20.0,
    clock: Callable[[], float] = time.monotonic,
) -> Tried:
    """`initialize` and `tools/list` over its pipes, then the end of its input. The process is gone afterwards."""
    said = tuple(words)
    passed = {
        name: value for name, value in environ.items() if name.upper() in _PASSED or name.startswith(("ENGRAM_", "LC_"))
    }
    try:
        running = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=passed,
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        return Tried(words=said, problem=f"cannot be started: {error.strerror}")
    answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    told: list[bytes] = []
    threads = [
        threading.Thread(target=_collect, args=(running.stdout, answers), daemon=True),
        threading.Thread(target=_drain, args=(running.stderr, told), daemon=True),
    ]
    for thread in threads:
        thread.start()
    until = clock() + seconds
    try:
        hello = _asked(running, answers, 1, "initialize", _HELLO, until, clock)
        if hello is None:
            return Tried(words=said, problem=_trouble(running, told, threads[1], seconds))
        _send(running, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = _asked(running, answers, 2, "tools/list", {}, until, clock)
        if listed is None:
            return Tried(words=said, problem=_trouble(running, told, threads[1], seconds))
        about = hello.get("serverInfo", {})
        return Tried(
            words=said,
            name=str(about.get("name", "")),
            version=str(about.get("version", "")),
            protocol=str(hello.get("protocolVersion", "")),
            tools=tuple(str(tool.get("name", "")) for tool in listed.get("tools", [])),
        )
    finally:
        _end(running, threads)


_HELLO = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "engram-setup", "version": "1"}}


def _asked(
    running: subprocess.Popen[bytes],
    answers: queue.SimpleQueue[dict[str, Any] | None],
    id: int,
    method: str,
    params: dict[str, Any],
    until: float,
    clock: Callable[[], float],
) -> dict[str, Any] | None:
    """The result of a request; None when the server ended, failed or did not answer in time."""
    if not _send(running, {"jsonrpc": "2.0", "id": id, "method": method, "params": params}):
        return None
    while (left := until - clock()) > 0:
        try:
            answer = answers.get(timeout=left)
        except queue.Empty:
            return None
        if answer is None:
            return None
        if answer.get("id") == id:
            result = answer.get("result")
            return result if isinstance(result, dict) else None
    return None


def _send(running: subprocess.Popen[bytes], message: dict[str, Any]) -> bool:
    assert running.stdin is not None
    try:
        running.stdin.write(json.dumps(message).encode() + b"\n")
        running.stdin.flush()
    except OSError:  # it has ended
        return False
    return True


def _collect(stream: IO[bytes], answers: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    for line in stream:
        with suppress(ValueError):  # no JSON: a server that prints to stdout is told by its missing answer
            answer = json.loads(line)
            if isinstance(answer, dict):
                answers.put(answer)
    answers.put(None)


def _drain(stream: IO[bytes], told: list[bytes]) -> None:
    for line in stream:
        told.append(line)
        del told[:-20]


def _trouble(running: subprocess.Popen[bytes], told: list[bytes], drain: threading.Thread, seconds: float) -> str:
    with suppress(subprocess.TimeoutExpired):
        running.wait(timeout=0.5)
    if running.poll() is None:
        return f"did not answer as an MCP server does within {seconds:.0f} s"
    drain.join(timeout=1.0)
    last = b"".join(told).decode("utf-8", "replace").strip().splitlines()
    return f"ended with status {running.returncode}" + (f": {last[-1]}" if last else "")


def _end(running: subprocess.Popen[bytes], threads: Sequence[threading.Thread]) -> None:
    """The process is gone, and what it has started, too; its pipes are closed."""
    assert running.stdin is not None
    with suppress(OSError):  # it has ended
        running.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        running.wait(timeout=2.0)
    if os.name == "posix":
        with suppress(OSError):  # nothing is left of it
            os.killpg(running.pid, signal.SIGKILL)
    running.kill()
    running.wait()
    for thread, stream in zip(threads, (running.stdout, running.stderr), strict=True):
        thread.join(timeout=1.0)
        if stream is not None and not thread.is_alive():
            stream.close()
