"""One event of a host, from its arguments and payload to the answer."""

from __future__ import annotations

from engram.hook import payload, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.hook.run import Watch

NOTHING = "{}"


def answered(arguments: list[str], watch: Watch) -> str:
    """The answer to what stands on stdin, as JSON."""
    host, event = named(arguments)
    raw = payload.read()
    if not host or raw is None:
        return NOTHING
    found = payload.fields(raw)
    if found is None:
        return NOTHING
    kind, event = shapes.event_named(host, event or found["event"])
    if not kind:
        return NOTHING
    watch.event = f"{host} {event}"
    return NOTHING


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
