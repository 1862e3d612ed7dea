"""The official conformance suite against the protocol core, for every protocol version that it offers."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.node import node, packages

SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The fixture server, on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = Path(__file__).parent / "everything.py"
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, str(script), str(port)], cwd=root) as server:
        for _ in range(200):
            assert server.poll() is None
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://localhost:{port}/mcp"
        server.terminate()


def judge(version: str, address: str, *arguments: str) -> str:
    suite = packages(f"conformance-{version}", f"@modelcontextprotocol/conformance@{version}") / SUITE
    done = subprocess.run(
        [node(), str(suite), "server", "--url", address, *arguments], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("requirements", ["2025-11-25", "2026-07-28"])
def test_every_scored_server_scenario_passes(address: str, requirements: str) -> None:
    told = judge("0.2.0-alpha.12", address, "--requirements", requirements, "--timeout", "60000")
    scored = told.partition("Not scored")[0]
    failed = [
        line
        for line in scored.splitlines()
        if line.startswith("✗") and "tasks-" not in line and "custom-header" not in line
    ]
    assert failed == []


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_the_active_suite_passes_for_every_version_it_offers(address: str, version: str) -> None:
    judge("0.2.0-alpha.12", address, "--suite", "active", "--spec-version", version)


@pytest.mark.slow
def test_the_released_suite_passes_whole(address: str) -> None:
    judge("0.1.16", address, "--suite", "all")
