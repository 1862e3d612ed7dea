"""The agent programs of these tests: which version of which package, and where they are installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram.files import locked
from tests.e2e.node import npm_install

# Set by `make test-hosts`: the folder that keeps the programs between runs. Without it nothing here runs.
CACHE = os.environ.get("ENGRAM_HOSTS_CACHE", "")

# Exact versions, since npm would take older ones for an older Node, and an answer is worth only with its version.
PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "opencode": "opencode-ai@1.18.33",
    "copilot": "@github/copilot@1.0.102",
    "qwen": "@qwen-code/qwen-code@0.24.4",
}


def folder_of(program: str) -> str:
    """The folder with the command of a program, installed first where it is not there yet."""
    package = PACKAGES[program]
    folder = Path(CACHE) / package.rpartition("/")[2].replace("@", "-")
    folder.mkdir(parents=True, exist_ok=True)
    commands = folder / "node_modules" / ".bin"
    mark = folder / "installed"
    with locked(f"{folder}.lock", seconds=600):
        if not mark.exists():
            done = npm_install(folder, package)
            if done.returncode != 0 or not (commands / program).exists():
                pytest.fail(f"npm could not install {package}: {done.stderr[-300:]}")
            mark.write_text(package)
    return str(commands)
