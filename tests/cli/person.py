"""A person at a terminal: the command runs on a pseudo terminal, and answers are typed when it asks."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cli.terminal import Ended

PATIENCE = 60.0


def at_terminal(*arguments: str, types: Sequence[str | Callable[[], str]], cwd: Path, **environment: str) -> Ended:
    """Run one command and type an answer at each question; a callable does something first and gives the answer.
    `err` is all that the terminal showed, `out` what went to stdout."""
    main, other = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "engram", *arguments],
        stdin=other,
        stdout=subprocess.PIPE,
        stderr=other,
        cwd=cwd,
        env={**os.environ, "ENGRAM_PROJECT": "shop", **environment},
    )
    os.close(other)
    shown = b""
    waiting = list(types)
    asked_at = 0
    try:
        while True:
            ready, _, _ = select.select([main], [], [], PATIENCE)
            assert ready, f"nothing came any more after: {shown.decode()}"
            try:
                block = os.read(main, 65536)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            shown += block
            question = shown[asked_at:]
            if waiting and question.rstrip(b" ").endswith((b"[y/N]", b">")):
                said = waiting.pop(0)
                answer = said if isinstance(said, str) else said()
                asked_at = len(shown)
                os.write(main, answer.encode() + (b"" if answer == "\x04" else b"\n"))
        out = running.stdout.read() if running.stdout is not None else b""
        status = running.wait(PATIENCE)
    finally:
        running.kill()
        os.close(main)
        if running.stdout is not None:
            running.stdout.close()
    assert not waiting, f"not asked for {waiting}: {shown.decode()}"
    return Ended(status, out.decode(), shown.decode().replace("\r\n", "\n"))
