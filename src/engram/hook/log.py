"""What went wrong in hooks, for the person who looks: kinds of error and places in our code, never what was said."""

from __future__ import annotations

import os
import time

from engram import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

FILE = "engram-hook.log"
MOST_BYTES = 128 * 1024


def failure(event: str, error: BaseException) -> None:
    """Note an error: its kind, our code for it, and where in our sources it was raised."""
    code = getattr(error, "code", "")
    kind = type(error).__name__ + (f" ({code})" if isinstance(code, str) and code else "")
    note(event, f"{kind} at {_place(error.__traceback__)}")


def _place(trace: TracebackType | None) -> str:
    """`hook/run.py:12`, the innermost line of ours."""
    found = "?"
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename.replace("\\", "/")
        if "/engram/" in name:
            found = f"{name.rpartition('/engram/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def note(event: str, what: str) -> None:
    """Add a line to the log, if there is a data folder; the older half goes when it grows too long."""
    folder = paths.data_folder()
    path = os.path.join(folder, FILE)
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {event or '-'}: {what}\n"
    try:
        if not os.path.isdir(folder):
            return
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        try:
            size = os.fstat(handle).st_size
            if size > MOST_BYTES:
                os.lseek(handle, size - MOST_BYTES // 2, os.SEEK_SET)
                kept = os.read(handle, MOST_BYTES // 2).partition(b"\n")[2]
                os.ftruncate(handle, 0)
                os.write(handle, kept)
            os.write(handle, line.encode("utf-8", "replace"))
        finally:
            os.close(handle)
    except OSError:
        return  # a log that cannot be written must not stop a host
