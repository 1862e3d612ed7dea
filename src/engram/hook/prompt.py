"""A prompt: note the session, keep what was asked if that is wanted, and bring the memories that it needs."""

from __future__ import annotations

import os

from engram import places
from engram.hook import detached, log, memories, project, record, session_start, shapes, shown_before
from engram.hook.events import Event, proof_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.bootstrap import App
    from engram.services.turns import Routed

# What programs put in place of a person's prompt: notices of tasks, output of commands, reminders.
_BY_MACHINES = (
    *("task-notification", "system-reminder", "system_reminder", "command-name", "command-message", "command-args"),
    *("local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout"),
    *("bash-stderr", "user-prompt-submit-hook", "environment_context", "user_instructions", "turn_aborted"),
    *("subagent_notification", "teammate-message", "ide_opened_file", "ide_selection"),
)
TRANSCRIPTS = "engram.transcripts.json"


def is_by_a_person(event: Event) -> bool:
    """Whether a person asked this: not a notice of the program, nor a task that an agent gives to another one."""
    text = event.fields["prompt"].lstrip()
    if not text.strip() or event.fields["agent"]:
        return False
    if not text.startswith("<"):
        return True
    tag = text[1:80].partition(">")[0].split()
    return not tag or tag[0].lower() not in _BY_MACHINES


def answer(event: Event, root: str) -> str:
    """`root` is where what a session here is shown is kept, "" where there are no memories."""
    if not is_by_a_person(event):
        return _without(event, "")
    mode = event.modes.read
    routes = mode in ("auto", "always") and bool(root) and not detached.is_one()
    routes = routes and shapes.takes_context(event.host, event.kind)
    writes = _must_write(event)
    keeps_trace = _wants_traces(event)
    if not routes and not writes and not keeps_trace:
        return _without(event, _why_not(event, mode, root))
    from engram.bootstrap import open_app

    app = open_app(workspace=event.folder)
    try:
        if writes:
            app.turns.begun(event.session)
            if event.modes.saves_prompts:
                app.turns.asked(event.fields["prompt"], session=event.session)
        if keeps_trace:
            _keep_trace(event, app)
        if not routes:
            return _without(event, _why_not(event, mode, root))
        found = app.turns.routed(event.fields["prompt"])
    finally:
        app.close()
    if not found.text:
        return _without(event, "skipped, no memory suits")
    if event.host == "opencode":
        return _instead(event, root, found)
    before = shown_before.signature(event.data_folder, event.host, event.folder, event.session)
    if mode == "auto" and before == found.signature:
        return _without(event, f"reused {found.shown}/{found.selected} memories, unchanged ({found.signature[:8]})")
    shown_before.remember(event.data_folder, event.host, event.folder, event.session, found.signature)
    text = found.text
    if event.modes.has_proof:
        text = f"{proof_of('loaded', found.shown, found.selected, mode, found.signature)}\n\n{text}"
    return shapes.with_context(event.host, event.name, text)


def _instead(event: Event, root: str, found: Routed) -> str:
    """For a host that keeps one text in its system prompt: what the session began with comes again, before the rest."""
    ready = memories.ready(root, data_folder=event.data_folder)
    start = session_start.shown(
        event.folder, root, ready, session=event.session, source="", home=event.home, data_folder=event.data_folder
    )
    proof = proof_of("loaded", found.shown, found.selected, event.modes.read, found.signature)
    parts = [proof] if event.modes.has_proof else []
    return shapes.with_context(event.host, event.name, "\n\n".join([*parts, start.text, found.text]))


def _must_write(event: Event) -> bool:
    """Whether there is something to keep: a prompt, or a session of a folder that uses Engram and that the store does
    not know yet."""
    if not record.has_store(event.data_folder):
        return False
    if event.modes.saves_prompts:
        return True
    connection = record.opened(event.data_folder)
    if connection is None or not event.session:
        return False
    try:
        if record.knows_session(connection, event.session):
            return False
        if places.workspace_root(event.folder, home=event.home):
            return True
        key = project.key_of(event.folder, home=event.home, data_folder=event.data_folder)
        return bool(record.project_in(connection, key))
    finally:
        connection.close()


def _wants_traces(event: Event) -> bool:
    """Whether there is a file that may ask for prompts to be kept as evidence; what it says is read by the service."""
    place = places.workspace_root(event.folder, home=event.home)
    return bool(place) and os.path.isfile(os.path.join(os.path.dirname(place), TRANSCRIPTS))


def _keep_trace(event: Event, app: App) -> None:
    """That it fails must not keep the memories from the model."""
    from engram.errors import EngramError

    fields = event.fields
    try:
        app.transcripts.take(fields["prompt"], host=event.host, session=event.session, turn=fields["turn"])
    except EngramError as error:
        log.failure(f"{event.host} {event.name}", error)


def _without(event: Event, said: str) -> str:
    proof = f"Engram: {said}" if said and event.modes.has_proof else ""
    clears = event.modes.read in ("manual", "off")
    return shapes.without_context(event.host, event.kind, event.name, proof=proof, clears=clears)


def _why_not(event: Event, mode: str, root: str) -> str:
    if mode in ("manual", "off"):
        return f"skipped, read mode {mode}"
    if not shapes.takes_context(event.host, event.kind):
        return "skipped, this host takes no memories from a hook; engram_load brings them"
    return "skipped, startup only" if mode == "startup" else "" if root else "skipped, no memories here"
