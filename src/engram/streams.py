"""Write to the streams of this process as to a reader who may have gone: a closed pipe is a normal end."""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# Windows says EINVAL of a pipe that nobody reads any more.
_GONE = (errno.EPIPE, errno.ESHUTDOWN, *((errno.EINVAL,) if os.name == "nt" else ()))


def open_missing() -> None:
    """Standard descriptors that the parent left closed lead nowhere, so that no file of ours takes their number and is
    written into; what is written to such a stream is dropped."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115  # never closed


def write(text: str) -> None:
    """Write to stdout, at once. Raises `OSError` when that fails and somebody is there to read it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        hush(sys.stdout)
        if not is_gone(error):
            raise


def tell(text: str) -> None:
    """Write to stderr, if anybody listens."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        hush(sys.stderr)


def is_gone(error: OSError) -> bool:
    """Whether a write failed because the reader has seen enough (`engram search … | head`)."""
    return isinstance(error, BrokenPipeError) or error.errno in _GONE


def hush(stream: TextIO) -> None:
    """Drop what `stream` still holds: Python would complain of it once more at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


def answer(said: bytes) -> None:
    """Write bytes to the standard output, whatever Python's stream is set to; a reader who has gone is a normal end."""
    left = memoryview(said)
    try:
        while left:
            left = left[os.write(1, left) :]
    except OSError as error:
        if not is_gone(error):
            raise


def silence_errors() -> None:
    """Let what anybody writes to stderr from now on lead nowhere."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
