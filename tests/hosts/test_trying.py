"""A registered server is started as an agent program would, and is gone afterwards."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from engram.hosts.trying import Tried, try_server

PYTHON = sys.executable


def tried(*words: str, folder: Path, seconds: float = 20.0) -> Tried:
    return try_server(words, folder=str(folder), environ=os.environ, seconds=seconds)


def test_a_healthy_server_says_its_name_its_version_and_its_tools(tmp_path: Path) -> None:
    from engram._version import __version__

    found = tried(PYTHON, "-m", "engram", "mcp", "--tools=governed", folder=tmp_path)

    assert (found.problem, found.name, found.version) == ("", "engram", __version__)
    assert {"engram_load", "engram_commit"} <= set(found.tools)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("no-such-program",), "cannot be started"),
        ((PYTHON, "-c", "import sys; sys.exit('no licence')"), "ended with status 1: no licence"),
        ((PYTHON, "-c", "print('hello')"), "ended with status 0"),
        ((PYTHON, "-c", "import time; time.sleep(60)"), "did not answer as an MCP server does within 1 s"),
        ((PYTHON, "-c", "import sys; print('[1]'); print(sys.stdin.readline()[:9])"), "ended with status 0"),
    ],
)
def test_what_is_no_server_is_told_in_a_sentence(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    assert tried(*words, folder=tmp_path, seconds=1.0).problem.startswith(problem)


def test_no_process_is_left_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    tried(PYTHON, "-c", script, folder=tmp_path, seconds=1.0)

    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_variables_that_hosts_scrub_are_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret-value")
    script = "import os, sys; sys.exit(os.environ.get('MY_TOKEN', 'scrubbed'))"

    assert tried(PYTHON, "-c", script, folder=tmp_path, seconds=5.0).problem == "ended with status 1: scrubbed"
