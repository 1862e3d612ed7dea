"""A file that is ours from the first byte to the last."""

from __future__ import annotations

from engram.hosts.editing.edit import Edit, Untouched
from engram.hosts.parts import Whole

MARK = "engram:generated"


def put(text: str | None, part: Whole, *, known: str, force: bool) -> Edit:
    """The file as it should be. `text` is what stands there, `known` what we last wrote ("" when nobody remembers).
    Raises `Untouched` for a file of a person, or one of ours that a person has edited, unless `force`."""
    if text is None:
        return Edit(text=part.text, status="written")
    if text == part.text:
        return Edit(text=text, status="unchanged")
    if not force and MARK not in text:
        raise Untouched("kept", "somebody else's file of that name stands there; --force replaces it")
    if not force and known and text != known:
        raise Untouched("kept", "it was edited by hand; --force replaces it")
    return Edit(text=part.text, status="updated")


def take(text: str, part: Whole, *, known: str, force: bool) -> Edit:
    """Raises `Untouched` as `put`."""
    if not force and MARK not in text:
        raise Untouched("kept", "it is somebody else's file")
    if not force and known and text != known:
        raise Untouched("kept", "it was edited by hand; --force removes it")
    return Edit(text="", status="removed")
