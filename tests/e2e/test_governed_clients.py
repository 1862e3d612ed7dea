"""The official clients, Python and TypeScript, carry a person's answer to a dialog of `engram-mcp`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.governed import GOVERNED, memories, waiting
from tests.e2e.node import ROOT, node, packages

CANDIDATES = "\n".join(
    (
        "TYPE: rule | TEXT: Always install packages with pnpm in this repository.",
        "TYPE: knowledge | TEXT: Deploys of the shop go to Frankfurt on Tuesdays.",
        "TYPE: skill | TEXT: To release: first tag the commit, then push the tag.",
    )
)
NOTE = {"text": "the parser is half done"}


def folders(root: Path) -> list[str]:
    return [path.split("/")[0] for path in memories(root)]


# -- Python ------------------------------------------------------------------------------------------------------------


def form_of(schema: dict[str, Any]) -> dict[str, Any]:
    """The first and the third candidate, or a yes to the note."""
    if "save" in schema["properties"]:
        return {"save": True}
    if "approve" in schema["properties"]:
        return {"approve": ["1", "3"]}
    return {name: name != "candidate_2" for name in schema["properties"]}


def python_client(shop: Path, mode: str, answer: str) -> tuple[list[Any], list[Any]]:
    """The forms that were shown, and the results of a proposal and of a note."""
    from mcp import Client, StdioServerParameters
    from mcp import types as mcp_types

    shown: list[Any] = []

    async def person(context: Any, params: Any) -> Any:
        shown.append(params)
        content = form_of(params.requested_schema) if answer == "accept" else None
        return mcp_types.ElicitResult(action=answer, content=content)

    async def drive() -> list[Any]:
        server = StdioServerParameters(
            command=GOVERNED[0], args=GOVERNED[1:], env={**os.environ, "ENGRAM_PROJECT": "shop"}, cwd=str(shop)
        )
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            return [
                await client.call_tool("engram_save_session", {"text": CANDIDATES}),
                await client.call_tool("engram_note", NOTE),
            ]

    return shown, asyncio.run(drive())


PYTHON = pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])


@PYTHON
@pytest.mark.filterwarnings("ignore")  # the client library's own
def test_the_python_client_accepts_some(shop: Path, root: Path, mode: str) -> None:
    shown, (saved, noted) = python_client(shop, mode, "accept")
    assert len(shown) == 2
    assert not saved.is_error
    assert [row["n"] for row in saved.structured_content["data"]["written"]] == [1, 3]
    assert "valid_until" in noted.structured_content["data"]
    assert folders(root) == ["rules", "skills", "working"]
    assert waiting(root) == []


@PYTHON
@pytest.mark.filterwarnings("ignore")  # the client library's own
def test_the_python_client_declines(shop: Path, root: Path, mode: str) -> None:
    shown, results = python_client(shop, mode, "decline")
    assert len(shown) == 2
    assert [result.structured_content["data"]["status"] for result in results] == ["declined", "declined"]
    assert folders(root) == waiting(root) == []


@PYTHON
@pytest.mark.filterwarnings("ignore")  # the client library's own
def test_the_python_client_cancels_and_gets_a_token(shop: Path, root: Path, mode: str) -> None:
    _, results = python_client(shop, mode, "cancel")
    for result in results:
        assert result.content[0].text.startswith("nothing was saved")
        assert result.structured_content["data"]["approval_token"]
    assert folders(root) == []


# -- TypeScript --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def script() -> Path:
    folder = packages(
        "clients",
        "@modelcontextprotocol/client@2.4.0",
        "@modelcontextprotocol/sdk@1.32.2",
        "@modelcontextprotocol/inspector@2.12.0",
    )
    # Node looks for packages beside the script.
    return Path(shutil.copy(ROOT / "tests" / "e2e" / "test_governed_dialog.mjs", folder))


def typescript_client(script: Path, shop: Path, flavour: str, answer: str) -> dict[str, Any]:
    done = subprocess.run(
        [node(), str(script), flavour, answer, *GOVERNED],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=shop,
        env={**os.environ, "ENGRAM_PROJECT": "shop", "CANDIDATES": CANDIDATES},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


TYPESCRIPT = pytest.mark.parametrize("flavour", ["legacy", "auto", "pin", "sdk1"])


@pytest.mark.slow
@TYPESCRIPT
def test_the_typescript_client_accepts_some(script: Path, shop: Path, root: Path, flavour: str) -> None:
    told = typescript_client(script, shop, flavour, "accept")
    assert len(told["forms"]) == 2
    assert [row["n"] for row in told["saved"]["structuredContent"]["data"]["written"]] == [1, 3]
    assert "valid_until" in told["noted"]["structuredContent"]["data"]
    assert folders(root) == ["rules", "skills", "working"]
    assert waiting(root) == []


@pytest.mark.slow
@TYPESCRIPT
def test_the_typescript_client_declines(script: Path, shop: Path, root: Path, flavour: str) -> None:
    told = typescript_client(script, shop, flavour, "decline")
    assert len(told["forms"]) == 2
    for result in (told["saved"], told["noted"]):
        assert result["structuredContent"]["data"]["status"] == "declined"
    assert folders(root) == waiting(root) == []


@pytest.mark.slow
@TYPESCRIPT
def test_the_typescript_client_cancels_and_gets_a_token(script: Path, shop: Path, root: Path, flavour: str) -> None:
    told = typescript_client(script, shop, flavour, "cancel")
    for result in (told["saved"], told["noted"]):
        assert result["content"][0]["text"].startswith("nothing was saved")
    assert folders(root) == []
