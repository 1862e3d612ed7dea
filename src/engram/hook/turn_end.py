"""The end of a turn, of a sub-agent or of a session: keep what was learned."""

from __future__ import annotations

import os
import stat

from engram.hook import record, shapes
from engram.hook.events import Event

# Of a transcript this much is looked through for a heading that lists learnings, before anything heavy is imported.
_TAIL = 4 * 1024 * 1024
_WORDS = ("learning", "aprendizaje")


def keep(event: Event) -> None:
    """Save the learnings that the last message lists, and note the end of a session that is known.

    Without a store nothing is kept, and none is made.
    """
    if not record.has_store(event.data_folder) or _is_own_work(event):
        return
    text = event.fields["said"]
    transcript, is_agents = _transcript(event)
    lists = _mentions(text) if text else bool(transcript) and _mentions(_tail(transcript))
    ends = event.kind == shapes.END and _is_open(event)
    if not lists and not ends:
        return
    from engram.bootstrap import open_app

    app = open_app(workspace=event.folder)
    try:
        if lists:
            whole = text or app.turns.last_said(transcript, of_subagent=is_agents)
            app.turns.learned(whole, session=event.session, source=f"hook-{event.host}")
        if ends:
            app.turns.ended(event.session)
    finally:
        app.close()


def _is_own_work(event: Event) -> bool:
    """Whether the program itself used an agent: Claude does while it compacts, and gives that one no type."""
    is_agents = event.kind == shapes.SUBAGENT_STOP and bool(event.fields["agent_transcript"])
    return event.host == "claude" and is_agents and not event.fields["agent_type"]


def _transcript(event: Event) -> tuple[str, bool]:
    """The transcript to look into, "" for none, and whether it is a sub-agent's own."""
    if event.kind == shapes.SUBAGENT_STOP:
        return event.fields["agent_transcript"], True
    if event.fields["agent"]:  # the end of a sub-agent's turn, told with the transcript of the whole session
        return "", False
    if event.fields["transcript"] or event.host != "copilot":
        return event.fields["transcript"], False
    # Copilot tells no path at the end of a session, and before that the file may lack the last message.
    session = event.fields["session"]
    if event.kind != shapes.END or not session.replace("-", "").isalnum():
        return "", False
    home = os.environ.get("COPILOT_HOME", "").strip() or os.path.join(event.home, ".copilot")
    return os.path.join(home, "session-state", session, "events.jsonl"), False


def _mentions(text: str) -> bool:
    lowered = text.casefold()
    return any(word in lowered for word in _WORDS)


def _tail(path: str) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return ""
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            return ""
        os.lseek(handle, max(0, state.st_size - _TAIL), os.SEEK_SET)
        return os.read(handle, _TAIL).decode("utf-8", "replace")
    finally:
        os.close(handle)


def _is_open(event: Event) -> bool:
    """Whether the store knows this session as one that goes on."""
    connection = record.opened(event.data_folder)
    if connection is None:
        return False
    try:
        return record.is_open(connection, event.session)
    finally:
        connection.close()
