"""Start an MCP server: read the few options by hand, build the tables, serve.

This is the path that a host waits for, so it imports nothing that `tools/list` does not need; the services come
with the first call.
"""

from __future__ import annotations

import _thread
import sys

from engram import paths, streams
from engram._version import __version__
from engram.errors import EngramError, InvalidInput
from engram.mcp_server import arguments, profiles
from engram.mcp_server.core import Prompt, Resource, Result, Server, Template, Tool
from engram.mcp_server.tools.memories import ABOUT_INDEX, GOVERNED, INDEX, MARKDOWN, ONE_MEMORY
from engram.mcp_server.wire import INTERNAL, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from engram.bootstrap import App
    from engram.mcp_server.core import Call

_OPTIONS = ("--tools", "--workspace", "--profile", "--http", "--token")
_FLAGS = ("--cost", "--always-load", "--no-elicitation")


def main(argv: list[str], *, is_governed: bool = False) -> int:
    """Serve until the client goes away; returns the exit status.

    `is_governed` for the command `engram-mcp`: it offers the `engram_*` tools unless others are asked for, and goes on
    past an option that it does not know, as hosts keep old ones in their files.
    """
    try:
        options = _parse(argv, forgiving=is_governed)
        default = profiles.MEMORIES if is_governed else profiles.OBSERVATIONS
        tools = profiles.select(options.get("--tools", ""), default=default)
        if "--cost" in options:
            return _cost(tools)
        open_app = _Opener(options.get("--workspace"), options.get("--profile", ""))
        server = build(
            tools,
            open_app,
            always_load="--always-load" in options,
            elicitation="--no-elicitation" not in options,
            root=paths.workspace(options.get("--workspace")),
        )
        if "--http" in options:
            return _serve_http(server, options["--http"], options.get("--token"), open_app.close)
        from engram.mcp_server import stdio

        stdio.serve(server, open_app.close)
    except EngramError as error:
        sys.stderr.write(f"engram mcp: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  next: {error.hint}\n")
        return 2 if error.exit_status == 3 else error.exit_status


def _parse(argv: list[str], *, forgiving: bool) -> dict[str, str]:
    """Options as `--name=value` or `--name value`. Anything else raises `InvalidInput`, or is noted on stderr."""
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
        elif forgiving:
            sys.stderr.write("engram-mcp: an option that is not known is ignored\n")
        elif name in _OPTIONS:
            raise InvalidInput(f"{name}: needs a value", hint="engram mcp --help")
        else:
            raise InvalidInput("an option that is not known", hint="engram mcp --help")
    return found


def build(
    tools: tuple[dict[str, Any], ...],
    open_app: Callable[[], App],
    *,
    always_load: bool = False,
    elicitation: bool = True,
    root: str = "",
) -> Server:
    """The server for these tools. The store is opened by the first call that needs it.

    With `engram_load` the memories are resources, too; with a tool that proposes there is the prompt `propose`.
    """
    memories = _Memories(open_app, asks=elicitation)
    names = {row["name"] for row in tools}
    reads, proposes = "engram_load" in names, bool(names & {"engram_save", "engram_save_session"})
    return Server(
        name="engram",
        version=__version__,
        instructions=profiles.instructions(tools),
        tools=[
            memories.tool(row, always_load=always_load) if row["profile"] == GOVERNED else _bind(row, open_app)
            for row in tools
        ],
        resources=memories.resources() if reads else (),
        templates=memories.templates() if reads else (),
        list_resources=memories.listed if reads else None,
        prompts=memories.prompts() if proposes else (),
        root=root,
    )


class _Memories:
    """The rows for governed memory; what serves them is imported by the first call."""

    def __init__(self, open_app: Callable[[], App], *, asks: bool) -> None:
        self._open_app = open_app
        self._asks = asks
        self._dialogs: Any = None

    def dialogs(self) -> Any:
        if self._dialogs is None:
            from engram.mcp_server.approval import Dialogs

            self._dialogs = Dialogs(is_on=self._asks)
        return self._dialogs

    def tool(self, row: dict[str, Any], *, always_load: bool) -> Tool:
        meta = dict(row.get("_meta", {}))
        if always_load and row["name"] == "engram_load":
            meta["anthropic/alwaysLoad"] = True

        def run(given: dict[str, Any], call: Call) -> Result:
            from engram.mcp_server import memory_calls

            try:
                values, unknown = arguments.check(row["inputSchema"], given)
                app = self._open_app()
            except EngramError as error:
                return memory_calls.failed(error)
            return memory_calls.run(row["name"], app, values, unknown, call, self.dialogs())

        return Tool(
            name=row["name"],
            title=row["title"],
            description=row["description"],
            input_schema=row["inputSchema"],
            annotations=row["annotations"],
            meta=meta or None,
            interactive=row["interactive"],
            run=run,
        )

    def _opened(self) -> App:
        """The app, or what is wrong with the environment as an error of the protocol."""
        try:
            return self._open_app()
        except EngramError as error:
            raise Failure(INTERNAL, error.sentence()) from error

    def listed(self) -> list[dict[str, Any]]:
        from engram.mcp_server import memory_calls

        return memory_calls.resources(self._opened())

    def resources(self) -> list[Resource]:
        def read(uri: str, values: dict[str, str], call: Call) -> list[dict[str, Any]]:
            from engram.mcp_server import memory_calls

            return [{"uri": uri, "mimeType": MARKDOWN, "text": memory_calls.read_index(self._opened())}]

        return [
            Resource(
                uri=INDEX,
                name="index",
                description=ABOUT_INDEX,
                mime_type=MARKDOWN,
                read=read,
            )
        ]

    def templates(self) -> list[Template]:
        def read(uri: str, values: dict[str, str], call: Call) -> list[dict[str, Any]]:
            from engram.mcp_server import memory_calls

            text = memory_calls.read_memory(self._opened(), uri, values["id"], call)
            return [{"uri": uri, "mimeType": MARKDOWN, "text": text}]

        return [
            Template(
                uri=ONE_MEMORY,
                name="memory",
                description="One memory in full",
                mime_type=MARKDOWN,
                read=read,
            )
        ]

    def prompts(self) -> list[Prompt]:
        def run(given: dict[str, Any], call: Call) -> dict[str, Any]:
            from engram.mcp_server import memory_calls

            return memory_calls.propose_prompt(given)

        return [
            Prompt(
                name="propose",
                description="How to propose memories for a person to approve",
                arguments=[{"name": "text", "description": "What it is about", "required": False}],
                run=run,
            )
        ]


class _Opener:
    """Opens the app once, when first called."""

    def __init__(self, workspace: str | None, profile: str) -> None:
        self._workspace = workspace
        self._profile = profile
        self._app: App | None = None
        self._lock = _thread.allocate_lock()

    def __call__(self) -> App:
        with self._lock:
            if self._app is None:
                from engram.bootstrap import open_app

                self._app = open_app(workspace=self._workspace, profile=self._profile)
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
        if ignored := arguments.ignored(unknown):
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
    lines = []
    for row in tools:
        wire = {key: value for key, value in row.items() if key not in ("profile", "interactive")}
        tokens = count_tokens(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))
        total += tokens
        lines.append(f"{tokens:>6}  {row['name']}\n")
    spoken = count_tokens(profiles.instructions(tools))
    lines.append(f"{total:>6}  tools/list, {len(tools)} tools\n{spoken:>6}  instructions\n")
    try:
        streams.write("".join(lines))
    except OSError as error:
        raise EngramError(f"the output cannot be written: {error.strerror}", hint="free some space") from error
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
