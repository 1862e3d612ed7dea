"""engram demo: watch one session save, a later one find, and what is approved come back, on a temporary store.

example: engram demo
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from engram.cli.output import Result
from engram.errors import StoreUnavailable

if TYPE_CHECKING:
    from engram.bootstrap import App

_NOTES: tuple[tuple[str, str, str, str | None], ...] = (
    (
        "Switched from sessions to JWT",
        "decision",
        "**What**: replaced server sessions with signed tokens\n**Why**: session storage did not scale over several "
        "instances\n**Where**: src/middleware/auth.ts\n**Learned**: set httpOnly and secure on the cookie",
        "architecture/auth-model",
    ),
    (
        "Fixed N+1 query in the article feed",
        "bugfix",
        "**What**: the feed loads authors in one joined query\n**Why**: 200 queries for 200 articles\n"
        "**Where**: src/feed/loadArticles.ts\n**Learned**: watch the query count in tests",
        None,
    ),
    (
        "Staging database password",
        "config",
        "The staging database is reached through the bastion. <private>The password is on the yellow note.</private>",
        None,
    ),
)
_REVISION = (
    "Switched from sessions to JWT",
    "decision",
    "**What**: tokens are now rotated at each refresh\n**Why**: two tabs refreshed at once and one was logged out\n"
    "**Where**: src/middleware/auth.ts\n**Learned**: rotate inside one transaction",
    "architecture/auth-model",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--keep", metavar="DIR", help="keep the demo's store in DIR instead of a temporary folder")


def run(args: Namespace, app: App) -> Result:
    if args.keep:
        return _tell(os.path.abspath(args.keep))
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        return _tell(folder)


def _tell(folder: str) -> Result:
    lines = ["Session 1: an agent works and saves what it learns (engram mcp, over stdio)"]
    with _Agent(folder) as agent:
        tools = agent.ask("tools/list", {})["tools"]
        lines.append(f"  {len(tools)} tools offered")
        agent.tool("mem_session_start", id="monday", project="shop")
        for title, kind, content, topic in (*_NOTES, _REVISION):
            given = {"title": title, "type": kind, "content": content, "project": "shop", "session_id": "monday"}
            answer = agent.tool("mem_save", **given, **({"topic_key": topic} if topic else {}))
            lines += ["  > mem_save " + title, *_indented(answer)]
        agent.tool(
            "mem_session_summary",
            content="## Goal\nMake login survive several instances\n## Accomplished\n- tokens, rotation, faster feed",
            project="shop",
            session_id="monday",
        )
        agent.tool("mem_session_end", id="monday")
    lines += ["", "Session 2: another agent, later, in another process"]
    with _Agent(folder) as agent:
        for name, given in (
            ("mem_context", {"project": "shop"}),
            ("mem_search", {"query": "why do we rotate tokens when two tabs refresh?"}),
            ("mem_search", {"query": "loadArticles"}),
            ("mem_search", {"query": "where is the password"}),
        ):
            lines += [f"  > {name} {json.dumps(given)}", *_indented(agent.tool(name, **given))]
    found = [line for line in lines if "rotated at each refresh" in line]
    if not found or any("yellow note" in line for line in lines):
        raise StoreUnavailable("the demo did not find what it had saved", hint="engram doctor")
    lines += ["", "The second session found the revised decision; the private block never reached the disk."]
    lines += _remember(folder)
    return Result(data={"transcript": lines}, text="\n".join(lines))


_CANDIDATES = """\
TYPE: rule | TEXT: Rotate refresh tokens inside one transaction. | TRIGGERS: login, refresh token
TYPE: knowledge | TEXT: The article feed loads authors in one joined query. | TRIGGERS: article feed"""


def _remember(folder: str) -> list[str]:
    """The other half: memories in the repository, which an agent may only propose."""
    workspace = os.path.join(folder, "shop")
    os.makedirs(os.path.join(workspace, ".agents", ".engram"), exist_ok=True)
    lines = ["", "Session 3: an agent proposes what shall last (engram-mcp); here the demo answers for the person"]
    with _Agent(folder, "--tools=governed", "--workspace", workspace) as agent:
        proposed = agent.tool("engram_save_session", text=_CANDIDATES)
        lines += ["  > engram_save_session", *_indented(proposed)]
        token = next(line.split(": ", 1)[1] for line in proposed.split("\n") if line.startswith("approval_token: "))
        lines += ["  > engram_commit", *_indented(agent.tool("engram_commit", approval_token=token, approve="all"))]
    lines += ["", "Session 4: another agent asks before it works"]
    with _Agent(folder, "--tools=governed", "--workspace", workspace) as agent:
        loaded = agent.tool("engram_load", query="fix the login: tabs are logged out at refresh token rotation")
        lines += ["  > engram_load", *_indented(loaded)]
        unrelated = agent.tool("engram_load", query="which fonts does the poster use?")
        lines += ["  > engram_load, a task that has nothing to do with it", *_indented(unrelated)]
    if "inside one transaction" not in loaded or "inside one transaction" in unrelated:
        raise StoreUnavailable("the demo did not load what was approved", hint="engram doctor")
    return [*lines, "", "The rule came with the task that needs it, and with no other."]


def _indented(text: str) -> list[str]:
    return ["    " + line for line in text.split("\n")]


class _Agent:
    """An agent's side of the wire: starts `engram mcp` as a host would, and asks."""

    def __init__(self, folder: str, *arguments: str) -> None:
        environment = {**os.environ, "ENGRAM_DATA_DIR": folder, "PYTHONUTF8": "1"}
        environment["ENGRAM_GLOBAL_DIR"] = os.path.join(folder, "global")
        for name in ("ENGRAM_DATABASE_URL", "ENGRAM_PROJECT", "ENGRAM_PROFILE"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engram", "mcp", *(arguments or ("--workspace", folder))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._next = 0

    def __enter__(self) -> _Agent:
        self.ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "engram-demo", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=20)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdout is not None
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        line = self._process.stdout.readline()
        reply = json.loads(line) if line else {}
        if "result" not in reply:
            raise StoreUnavailable(f"the server did not answer {method}", hint="engram doctor")
        result: dict[str, Any] = reply["result"]
        return result

    def tool(self, name: str, **arguments: Any) -> str:
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        text = str(result["content"][0]["text"])
        if result.get("isError"):
            raise StoreUnavailable(f"{name}: {text}", hint="engram doctor")
        return text
