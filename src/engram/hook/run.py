"""Answer one event of a host: in time, with one JSON object, whatever happens.

`_thread` rather than `threading`, and no `signal`: the hook has milliseconds, and a watcher is all that it needs.
"""

from __future__ import annotations

import _thread
import os
import time

from engram import streams
from engram.hook import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY = "{}"
DEADLINE_VARIABLE = "ENGRAM_HOOK_DEADLINE_MS"
DEFAULT_DEADLINE_MS, LEAST_DEADLINE_MS, MOST_DEADLINE_MS = 1500, 100, 60_000
_TICK = 0.02


class Watch:
    """The time that is left. When it is up, what is `ready` is said and the process ends; `before_end` is called
    first."""

    def __init__(self) -> None:
        self.ready = EMPTY
        self.event = ""
        self.before_end: Callable[[], None] | None = None
        self._gate = _thread.allocate_lock()
        self._ends_at = time.monotonic() + deadline_ms(os.environ.get(DEADLINE_VARIABLE, "")) / 1000

    def begin(self) -> None:
        _thread.start_new_thread(self._keep, ())

    def set_deadline(self, milliseconds: int, *, since: float) -> None:
        """Another deadline, counted from the moment `since` of the monotonic clock."""
        self._ends_at = since + milliseconds / 1000

    def _keep(self) -> None:
        while (left := self._ends_at - time.monotonic()) > 0:
            time.sleep(min(left, _TICK))
        if not self._gate.acquire(False):  # it is being answered at this moment
            return
        try:
            log.note(self.event, "deadline passed")
            streams.answer(self.ready.encode())
            if self.before_end is not None:
                self.before_end()
        finally:
            os._exit(0)

    def say(self, text: str) -> None:
        """Answer; from now on the watcher keeps still."""
        self._gate.acquire()
        streams.answer(text.encode("utf-8", "replace"))


def deadline_ms(text: str) -> int:
    """A deadline in milliseconds from a setting; the default for what is none."""
    plain = text.strip()
    number = int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 8 else DEFAULT_DEADLINE_MS
    return max(LEAST_DEADLINE_MS, min(number, MOST_DEADLINE_MS))


def main(arguments: list[str]) -> int:
    """`engram hook HOST EVENT`, `engram hook --host HOST [EVENT]`. Always 0."""
    watch = Watch()
    watch.begin()
    try:
        from engram.hook.events import answered

        said = answered(arguments, watch)
    except BaseException as error:  # whatever it is, the host must not feel it
        log.failure(watch.event, error)
        said = EMPTY
    try:
        watch.say(said)
    except OSError as error:
        log.failure(watch.event, error)
    return 0
