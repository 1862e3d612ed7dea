"""Choose the surface, and import only that one."""

from __future__ import annotations

import sys

from engram import streams


def main() -> int:
    """The `engram` command."""
    streams.open_missing()
    arguments = sys.argv[1:]
    first = arguments[0] if arguments else ""
    if first in ("--version", "-V", "version"):
        from engram._version import __version__

        try:
            streams.write(f"engram {__version__}\n")
        except OSError:
            return 1
        return 0
    if first in ("hook", "agent-hook"):
        if "--help" not in arguments and "-h" not in arguments:
            _hook(arguments[1:])
        arguments = ["hook", "--help"]
    if first == "mcp" and "--help" not in arguments and "-h" not in arguments:
        from engram.mcp_server import launch

        return launch.main(arguments[1:])
    from engram.cli import main as run

    return run(arguments)


def _hook(arguments: list[str]) -> None:
    """Answer a host, and end at once: what Python tidies up at its end costs the host a tenth of the time."""
    import os

    streams.silence_errors()
    try:
        from engram.hook.run import main as run

        run(arguments)
    finally:
        os._exit(0)


def main_mcp() -> int:
    """The `engram-mcp` command: the same server, with the governed tools unless others are asked for."""
    streams.open_missing()
    if "--help" in sys.argv or "-h" in sys.argv:
        from engram.cli import main as run

        return run(["mcp", "--help"])
    from engram.mcp_server import launch

    return launch.main(sys.argv[1:], is_governed=True)


if __name__ == "__main__":
    sys.exit(main())
