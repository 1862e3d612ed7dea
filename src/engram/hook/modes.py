"""What a person set for hooks, out of the sparse files that hold it."""

from __future__ import annotations

import os

from engram import places
from engram.hook import sql

READ = ("auto", "startup", "always", "manual", "off")
_MOST = 256 * 1024


class Modes:
    """`read`: auto, startup, always, manual, off. `has_proof`: say what was done. `saves_prompts`; `deadline_ms`, or
    0 where none is set."""

    def __init__(self) -> None:
        self.read = "auto"
        self.has_proof = False
        self.saves_prompts = False
        self.deadline_ms = 0


def modes(host: str, folders: list[str]) -> Modes:
    """Effective modes for a host; the file of a later folder wins. What is no value counts as not given."""
    found = Modes()
    for folder in folders:
        text = _text(os.path.join(folder, places.SETTINGS))
        if text:
            _take(found, host, text)
    return found


def _take(found: Modes, host: str, text: str) -> None:
    if not sql.is_object(text):
        return
    names = (
        "hook.read",
        '"hook.read"',
        f"hook.read_for.{host}",
        f'"hook.read_for".{host}',
        "hook.proof",
        '"hook.proof"',
    )
    values = [value.strip().lower() for value in sql.texts_of(text, ["$." + name for name in names])]
    for mode in values[:4]:  # the one for this host speaks last
        if mode in READ:
            found.read = mode
    for mode in values[4:]:
        if mode in ("off", "compact"):
            found.has_proof = mode == "compact"
    for name in ("hook.save_prompts", '"hook.save_prompts"'):
        said = sql.scalar(text, "$." + name)
        if said in ("true", "false"):
            found.saves_prompts = said == "true"
    for name in ("hook.deadline_ms", '"hook.deadline_ms"'):
        said = sql.scalar(text, "$." + name)
        if said.isdigit() and len(said) < 8:
            found.deadline_ms = int(said)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""
