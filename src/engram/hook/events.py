"""One event of a host, from its arguments and payload to the answer."""

from __future__ import annotations

import os
import time

from engram import paths
from engram.hook import detached, memories, payload, shapes, shown_before
from engram.hook.modes import Modes, modes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.hook.run import Watch

NOTHING = "{}"
# For this program itself: look the index of a folder over, without payload and answer.
REFRESH = "--refresh"


class Event:
    """What happened: `kind` of `shapes`, `name` as the host writes it, `fields` of the payload, in `folder`."""

    def __init__(self, host: str, kind: str, name: str, fields: dict[str, str], folder: str) -> None:
        self.host = host
        self.kind = kind
        self.name = name
        self.fields = fields
        self.folder = folder
        self.data_folder = paths.data_folder()
        self.home = os.path.expanduser("~")
        self.modes = Modes()

    @property
    def session(self) -> str:
        """The session that it belongs to; what a sub-agent does belongs to the one that it works for."""
        return self.fields["parent"] or self.fields["session"] or os.environ.get("GEMINI_SESSION_ID", "")


def answered(arguments: list[str], watch: Watch) -> str:
    """The answer to what stands on stdin, as JSON."""
    began = time.monotonic()
    if arguments[:1] == [REFRESH]:
        _refresh(arguments[1])
        return NOTHING
    host, name = named(arguments)
    raw = payload.read()
    if not host or raw is None:
        return NOTHING
    fields = payload.fields(raw)
    if fields is None:
        return NOTHING
    kind, name = shapes.event_named(host, name or fields["event"])
    if not kind:
        return NOTHING
    watch.event = f"{host} {name}"
    event = Event(host, kind, name, fields, payload.directory(fields["cwd"]))
    # Whoever has no data folder has never used Engram here.
    if not event.folder or not os.path.isdir(event.data_folder):
        return NOTHING
    root = memories.root_of(event.folder, home=event.home, data_folder=event.data_folder)
    ready = memories.ready(root, data_folder=event.data_folder) if root else memories.Ready()
    layers = [memories.global_root(event.data_folder), event.data_folder, *([root] if ready.is_trusted else [])]
    event.modes = modes(host, [layer for layer in layers if layer])
    if event.modes.deadline_ms and not os.environ.get("ENGRAM_HOOK_DEADLINE_MS"):
        watch.set_deadline(event.modes.deadline_ms, since=began)
    if kind == shapes.START:
        return _start(event, root, ready)
    if kind == shapes.COMPACTION:
        if shapes.is_compaction(host, fields["source"]):
            shown_before.forget(event.data_folder, host, event.folder, event.session)
        return NOTHING
    # What must be written is handed on when the time is up, so that nothing is lost and the host does not wait.
    watch.before_end = lambda: _hand_on(arguments, raw)
    if kind == shapes.PROMPT:
        from engram.hook.prompt import answer

        return answer(event, root)
    from engram.hook.turn_end import keep

    keep(event)
    return NOTHING


def _hand_on(arguments: list[str], raw: bytes) -> None:
    detached.start(arguments, stdin=raw)


def _start(event: Event, root: str, ready: memories.Ready) -> str:
    shown_before.forget(event.data_folder, event.host, event.folder, event.session)
    mode = event.modes.read
    if mode in ("manual", "off"):
        proof = f"Engram: skipped, read mode {mode}" if event.modes.has_proof else ""
        return shapes.without_context(event.host, event.kind, event.name, proof=proof, clears=True)
    from engram.hook import session_start

    found = session_start.shown(
        event.folder,
        root,
        ready,
        session=event.session,
        source=event.fields["source"].lower(),
        home=event.home,
        data_folder=event.data_folder,
    )
    if found.is_behind:
        detached.start([REFRESH, event.folder])
    if not found.text:
        proof = "Engram: skipped, nothing is stored for this folder" if event.modes.has_proof else ""
        return shapes.without_context(event.host, event.kind, event.name, proof=proof)
    text = found.text
    if event.modes.has_proof:
        text = f"{proof_of('loaded', found.shown, found.there_are, mode, signature_of(text))}\n\n{text}"
    return shapes.with_context(event.host, event.name, text)


def signature_of(text: str) -> str:
    from engram.places import sha256_hex

    return sha256_hex(text.encode("utf-8", "replace"))


def proof_of(what: str, shown: int, there_are: int, mode: str, signature: str) -> str:
    return f"Engram: {what} {shown}/{there_are} memories via hook {mode} ({signature[:8]})"


def named(arguments: list[str]) -> tuple[str, str]:
    """(host, event) of a command line: `HOST [EVENT]`, `--host HOST [EVENT]`, `--host=HOST [EVENT]`; "" for none."""
    words = list(arguments)
    host = ""
    for at, word in enumerate(words):
        if word == "--host" and at + 1 < len(words):
            host = words[at + 1]
            del words[at : at + 2]
            break
        if word.startswith("--host="):
            host = word.removeprefix("--host=")
            del words[at]
            break
    plain = [word for word in words if not word.startswith("-")]
    if not host and plain:
        host = plain.pop(0)
    return shapes.host_named(host), plain[0] if plain else ""


def _refresh(folder: str) -> None:
    """Look the memories of a folder over and keep ready what a session start shows; one process at a time."""
    from engram import files
    from engram.bootstrap import open_app

    place = os.path.join(paths.data_folder(), shown_before.FOLDER)
    files.private_folder(place)
    with files.locked(os.path.join(place, "refresh.lock"), seconds=0.0):
        app = open_app(workspace=folder)
        try:
            app.starting.keep_ready()
        finally:
            app.close()
