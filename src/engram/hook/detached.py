"""Work that goes on when the host has its answer: a process that is nobody's child, and ends by itself."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DEADLINE_MS = 30_000
# Set for such a process: it starts no further one.
MARK = "ENGRAM_HOOK_DETACHED"


def is_one() -> bool:
    return bool(os.environ.get(MARK))


def start(arguments: Sequence[str], *, stdin: bytes = b"") -> bool:
    """Start `engram hook ARGUMENTS` in a session of its own, with its streams leading nowhere. Whether it was.

    When this process ends, the other one belongs to the system and not to the host. Where that cannot be had, as on
    Windows, nothing is started.
    """
    if is_one() or not sys.executable or not hasattr(os, "posix_spawn"):
        return False
    reading, writing = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        environ = {**os.environ, MARK: "1", "ENGRAM_HOOK_DEADLINE_MS": str(DEADLINE_MS)}
        actions = [
            (os.POSIX_SPAWN_DUP2, reading, 0),
            (os.POSIX_SPAWN_DUP2, nothing, 1),
            (os.POSIX_SPAWN_DUP2, nothing, 2),
        ]
        # -P: a folder `engram` where the agent works is not ours.
        command = [sys.executable, "-P", "-m", "engram", "hook", *arguments]
        os.posix_spawn(sys.executable, command, environ, file_actions=actions, setsid=True)
        os.close(reading)
        reading = -1
        left = memoryview(stdin)
        while left:
            left = left[os.write(writing, left) :]
        return True
    except (OSError, NotImplementedError):
        return False
    finally:
        for handle in (reading, writing, nothing):
            if handle >= 0:
                os.close(handle)
