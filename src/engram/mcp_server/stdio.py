"""Serve one client over stdin and stdout, until it goes away."""

from __future__ import annotations

import os
import signal
import sys
import threading

from engram import streams
from engram.mcp_server.core import Peer, Server, encode
from engram.mcp_server.wire import INVALID_REQUEST, failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

MAX_LINE = 4 * 1024 * 1024


def serve(server: Server, closing: Callable[[], None]) -> NoReturn:
    """Read lines from descriptor 0 and write lines to descriptor 1, then end the process with status 0.

    `closing` is called once the last accepted call has ended, not after a signal.

    From here on nothing else reaches the client: both descriptors are private copies, descriptor 1 and `sys.stdout`
    point at stderr, descriptor 0 at nothing.
    """
    streams.open_missing()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.stdout = sys.stderr
    if server.report is None:
        server.report = report_failure
    ending = threading.Lock()

    def end() -> NoReturn:
        ending.acquire()  # never released: who comes second waits for the process to be gone
        try:
            if peer.close():
                closing()
            sys.stderr.flush()
        except Exception as error:
            peer.report(error)
        # Not through the interpreter's long goodbye: a call that hangs must not keep the process.
        os._exit(0)

    peer = Peer(server, _Writer(sink, end))
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, _leave)
    for line in _lines(source, peer):
        peer.receive(line)
    end()


def _leave(number: int, frame: FrameType | None) -> None:
    """A signal asks us to end. What was acknowledged is on the disk; what was not is rolled back when next opened."""
    os._exit(0)


class _Writer:
    """Whole lines, one at a time. When the client has closed its end, the rest is dropped and `gone` called beside:
    calls that were accepted still finish."""

    def __init__(self, sink: int, gone: Callable[[], None]) -> None:
        self._sink = sink
        self._gone = gone
        self._is_broken = False
        self._lock = threading.Lock()

    def __call__(self, message: Any) -> None:
        data = encode(message) + b"\n"
        with self._lock:
            if self._is_broken:
                return
            try:
                self._write(memoryview(data))
            except OSError:
                self._is_broken = True
                threading.Thread(target=self._gone, name="engram-end", daemon=True).start()

    def _write(self, rest: memoryview) -> None:
        while rest:
            try:
                rest = rest[os.write(self._sink, rest) :]
            except BlockingIOError:
                # Some hosts hand over a pipe that does not block.
                import select

                select.select([], [self._sink], [])


def _lines(source: int, peer: Peer) -> Any:
    """Lines from `source` until its end or the parent's; too long ones are answered and skipped."""
    pending = bytearray()
    skipping = False
    wait = _waiter(source)
    while wait():
        try:
            chunk = os.read(source, 1 << 16)
        except BlockingIOError:
            continue
        except OSError:
            break
        if not chunk:
            break
        pending += chunk
        while (end := pending.find(b"\n")) >= 0:
            line = bytes(pending[:end])
            del pending[: end + 1]
            if skipping:
                skipping = False
            elif len(line) > MAX_LINE:
                peer.send(failure(None, INVALID_REQUEST, "a line is at most 4 MiB"))
            elif line.strip():
                yield line
        if len(pending) > MAX_LINE:
            if not skipping:
                peer.send(failure(None, INVALID_REQUEST, "a line is at most 4 MiB"))
            skipping = True
            pending.clear()
    if pending.strip() and not skipping:
        yield bytes(pending)


def _waiter(source: int) -> Any:
    """A function that waits for input; False when the parent has died, which not every closed pipe tells."""
    if sys.platform == "win32":
        return lambda: True
    import select

    parent = os.getppid()
    poll = select.poll()
    poll.register(source, select.POLLIN)
    death = -1
    if parent > 1 and hasattr(os, "pidfd_open"):
        try:
            death = os.pidfd_open(parent)
            poll.register(death, select.POLLIN)
        except OSError:
            death = -1
    # Without a descriptor for the parent, look once a second.
    timeout = None if death >= 0 or parent <= 1 else 1000

    def wait() -> bool:
        while True:
            ready = poll.poll(timeout)
            if any(descriptor == source for descriptor, _ in ready):
                return True
            if any(descriptor == death for descriptor, _ in ready) or os.getppid() != parent:
                return False

    return wait


def report_failure(error: BaseException) -> None:
    """A failure of ours, for the log: where it happened and what, with secrets replaced."""
    import traceback

    from engram.core.clean import clean

    sys.stderr.write(clean("".join(traceback.format_exception(error))))
    sys.stderr.flush()
