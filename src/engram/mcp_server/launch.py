"""Start an MCP server: read the few options by hand, build the tables, serve.

This is the path that a host waits for, so it imports nothing that `tools/list` does not need; the services come
with the first call.
"""

from __future__ import annotations

import _thread
import sys

from engram._version import __version__
from engram.errors import EngramError, InvalidInput
from engram.mcp_server import arguments, profiles
from engram.mcp_server.core import Result, Server, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from engram.bootstrap import App
    from engram.mcp_server.core import Call

_OPTIONS = ("--tools", "--workspace", "--http", "--token")
_FLAGS = ("--cost",)


def main(argv: list[str]) -> int:
    """Serve until the client goes away; returns the exit status."""
    try:
        options = _parse(argv)
        tools = profiles.select(options.get("--tools", ""))
        if "--cost" in options:
            return _cost(tools)
        open_app = _Opener(options.get("--workspace"))
        server = build(tools, open_app)
        if "--http" in options:
            return _serve_http(server, options["--http"], options.get("--token"), open_app.close)
        from engram.mcp_server import stdio

        stdio.serve(server, open_app.close)
    except EngramError as error:
        sys.stderr.write(f"engram mcp: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  next: {error.hint}\n")
        return 2 if error.exit_status == 3 else error.exit_status


def _parse(argv: list[str]) -> dict[str, str]:
    """Options as `--name=value` or `--name value`. Raises `InvalidInput` for anything else."""
    found: dict[str, str] = {}
    rest = list(argv)
    while rest:
        name, given, value = rest.pop(0).partition("=")
        if name in _FLAGS and not given:
            found[name] = ""
        elif name in _OPTIONS and given:
            found[name] = value
        elif name in _OPTIONS and rest:
            found[name] = rest.pop(0)
        elif name in _OPTIONS:
            raise InvalidInput(f"{name}: needs a value", hint="engram mcp --help")
        else:
            raise InvalidInput("an option that is not known", hint="engram mcp --help")
    return found


def build(tools: tuple[dict[str, Any], ...], open_app: Callable[[], App]) -> Server:
    """The server for these tools. The store is opened by the first call that needs it."""
    return Server(
        name="engram",
        version=__version__,
        instructions=profiles.instructions(tools),
        tools=[_bind(row, open_app) for row in tools],
    )


class _Opener:
    """Opens the app once, when first called."""

    def __init__(self, workspace: str | None) -> None:
        self._workspace = workspace
        self._app: App | None = None
        self._lock = _thread.allocate_lock()

    def __call__(self) -> App:
        with self._lock:
            if self._app is None:
                from engram.bootstrap import open_app

                self._app = open_app(workspace=self._workspace)
            return self._app

    def close(self) -> None:
        """Fold the write-ahead log back, if a store was opened."""
        if self._app is not None:
            self._app.close()


def _bind(row: dict[str, Any], open_app: Callable[[], App]) -> Tool:
    def run(given: dict[str, Any], call: Call) -> Result:
        values, unknown = arguments.check(row["inputSchema"], given)
        from engram.mcp_server.calls import CALLS

        text, data = CALLS[row["name"]](open_app(), values)
        if unknown:
            from engram.core.clean import clean

            ignored = f"ignored, not a parameter: {', '.join(clean(name)[:60] for name in unknown[:10])}"
            text, data = f"{text}\nNote: {ignored}", {**data, "ignored": ignored}
        return Result(text, structured=data)

    return Tool(
        name=row["name"],
        title=row["title"],
        description=row["description"],
        input_schema=row["inputSchema"],
        output_schema=row["outputSchema"],
        annotations=row["annotations"],
        run=run,
    )


def _cost(tools: tuple[dict[str, Any], ...]) -> int:
    """Print what the tools cost a model's context, each and together."""
    import json

    from engram.core.text import count_tokens

    total = 0
    for row in tools:
        wire = {key: value for key, value in row.items() if key != "profile"}
        tokens = count_tokens(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))
        total += tokens
        sys.stdout.write(f"{tokens:>6}  {row['name']}\n")
    spoken = count_tokens(profiles.instructions(tools))
    sys.stdout.write(f"{total:>6}  tools/list, {len(tools)} tools\n{spoken:>6}  instructions\n")
    return 0


def _serve_http(server: Server, address: str, token: str | None, closing: Callable[[], None]) -> int:
    import os
    import secrets

    from engram.errors import Unsupported

    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InvalidInput("--http: must be HOST:PORT", hint="like 127.0.0.1:7437")
    try:
        from engram.mcp_server import http
    except ImportError as error:
        raise Unsupported("--http needs the `web` extra", hint="pip install 'engram-keep[web]'") from error
    chosen = token or os.environ.get("ENGRAM_HTTP_TOKEN", "").strip()
    if not chosen:
        chosen = secrets.token_urlsafe(32)
        sys.stderr.write(f"engram mcp: bearer token for this run: {chosen}\n")
    return http.serve_http(server, host.strip("[]"), int(port), chosen, closing=closing)
