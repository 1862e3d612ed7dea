"""What a host tells while an agent works: a prompt was asked, a turn ended, a session ended."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from engram.core.capture import learnings
from engram.errors import NotFound
from engram.hosts import transcripts
from engram.services.memories import Memories
from engram.services.observations import Captured, Observations
from engram.services.projects import Projects
from engram.services.sessions import Sessions

# Hosts cut or refuse what is longer than 10,000 characters.
LONGEST = 9_400
SMALLER_BUDGET = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """What a prompt brings: `text` is "" when no memory suits it. `signature` is the SHA-256 of what the text holds,
    in any order; `shown` of `selected` memories are in it."""

    text: str
    signature: str
    shown: int
    selected: int


class Turns:
    """`has_store` says whether there is a store; none is ever made here. `directory` is where the agent works."""

    def __init__(
        self,
        *,
        memories: Callable[[], Memories],
        sessions: Callable[[], Sessions],
        observations: Callable[[], Observations],
        projects: Callable[[], Projects],
        has_store: Callable[[], bool],
        has_root: Callable[[], bool],
        directory: str,
    ) -> None:
        self._memories = memories
        self._sessions = sessions
        self._observations = observations
        self._projects = projects
        self._has_store = has_store
        self._has_root = has_root
        self._directory = directory

    def begun(self, session: str) -> bool:
        """Note that a session is at work here, so that what is saved without naming one belongs to it. Only where
        Engram is used: the folder has memories, or the store knows its project. Whether it was noted."""
        if not session or not self._has_store() or not (self._has_root() or self._knows_project()):
            return False
        self._sessions().start(session, project=None, directory=self._directory)
        return True

    def _knows_project(self) -> bool:
        here = self._projects().for_writing(None).name
        return any(here.casefold() in (one.key, one.name.casefold()) for one in self._projects().list())

    def asked(self, prompt: str, *, session: str) -> bool:
        """Keep a prompt, once. Whether there is a store to keep it in."""
        if not prompt.strip() or not self._has_store():
            return False
        self._sessions().save_prompt(prompt, session_id=session or None, project=None, once=True)
        return True

    def routed(self, prompt: str) -> Routed:
        """The memories that a prompt needs, nothing when none suits it."""
        loaded = self._memories().load(prompt, unasked=True)
        if len(loaded.pack.text) > LONGEST:
            loaded = self._memories().load(prompt, unasked=True, budget_tokens=SMALLER_BUDGET)
        pack = loaded.pack
        if not pack.bodies and not pack.cards:
            return Routed(text="", signature="", shown=0, selected=len(pack.selected))
        blocks = sorted(block.strip() for block in pack.text.split("\n\n")[1:])  # the heading counts, it says nothing
        return Routed(
            text=pack.text,
            signature=hashlib.sha256("\n\n".join(blocks).encode()).hexdigest(),
            shown=len(pack.bodies) + len(pack.cards),
            selected=len(pack.selected),
        )

    def learned(self, text: str, *, session: str, source: str) -> Captured | None:
        """Save what an agent listed as learned; None when there is no store or nothing is listed."""
        if not text.strip() or not self._has_store():
            return None
        if not learnings(text):
            return None
        if session:  # with its directory, so that later saves find it
            self._sessions().start(session, project=None, directory=self._directory)
        return self._observations().capture(text, session_id=session or None, source=source)

    def last_said(self, transcript: str, *, of_subagent: bool = False) -> str:
        """What the assistant (or the sub-agent whose transcript it is) said last; "" when it cannot be read."""
        try:
            return transcripts.last_assistant_message(transcript, of_subagent=of_subagent)
        except OSError:
            return ""

    def ended(self, session: str) -> bool:
        """Note the end of a session, if it was ever noted. Whether it was."""
        if not session or not self._has_store():
            return False
        try:
            self._sessions().end(session)
        except NotFound:
            return False
        return True
