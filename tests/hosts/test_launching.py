"""How our programs are started from a host's configuration, however they were installed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from engram.hosts.installed import this_installation
from engram.hosts.launching import (
    Installation,
    engram_command,
    powershell_line,
    server_command,
    shell_line,
)

VENV, LOCAL = "/home/a/.venv/bin", "/home/a/.local/bin"


def installation(programs: Collection[str] = (), **more: Any) -> Installation:
    about: dict[str, Any] = {
        "distribution": "engram-keep",
        "version": "1.2.3",
        "search_path": f"/usr/bin:{LOCAL}",
        "scripts": VENV,
        "from_index": True,
        "platform": "linux",
        "is_program": lambda path: path in programs,
    }
    return Installation(**{**about, **more})


SCRIPTS = (f"{VENV}/engram-mcp", f"{VENV}/engram")
PINNED = ("uvx", "--from", "engram-keep==1.2.3", "engram-mcp")


@pytest.mark.parametrize(
    ("programs", "more", "server"),
    [
        ([f"{LOCAL}/engram-mcp", *SCRIPTS], {}, ("engram-mcp",)),
        ([f"{LOCAL}/engram-mcp", *SCRIPTS], {"from_index": False}, ("engram-mcp",)),
        ([f"{LOCAL}/uvx", *SCRIPTS], {}, PINNED),
        (SCRIPTS, {}, (f"{VENV}/engram-mcp",)),
        ([f"{LOCAL}/uvx", *SCRIPTS], {"from_index": False}, (f"{VENV}/engram-mcp",)),
        ((), {}, PINNED),
        ((), {"from_index": False}, ("engram-mcp",)),
        ([f"{LOCAL}/engram-mcp", *SCRIPTS], {"is_temporary": True}, PINNED),
        (["./engram-mcp", "engram-mcp", *SCRIPTS], {"search_path": ".::"}, (f"{VENV}/engram-mcp",)),
    ],
    ids=[
        "on PATH",
        "a checkout on PATH",
        "from an index, uvx is there",
        "from an index, no uvx",
        "a checkout",
        "from an index, no script",
        "nothing is known",
        "a folder made for one run",
        "PATH of relative folders",
    ],
)
def test_the_server_is_started_by_what_will_still_be_there(
    programs: Collection[str], more: dict[str, Any], server: tuple[str, ...]
) -> None:
    assert server_command(installation(programs, **more)) == server
    assert server_command(installation(programs, **more), "--tools=governed") == (*server, "--tools=governed")


@pytest.mark.parametrize(
    ("programs", "more", "command"),
    [
        ([f"{LOCAL}/engram", *SCRIPTS], {}, (f"{LOCAL}/engram",)),
        ([f"{LOCAL}/uvx", *SCRIPTS], {}, (f"{VENV}/engram",)),
        ([f"{LOCAL}/engram", *SCRIPTS], {"is_temporary": True}, ("uvx", "--from", "engram-keep==1.2.3", "engram")),
        ((), {"from_index": False}, ("engram",)),
    ],
    ids=["on PATH", "not on PATH", "a folder made for one run", "nothing is known"],
)
def test_hooks_call_the_command_line_by_an_absolute_path(
    programs: Collection[str], more: dict[str, Any], command: tuple[str, ...]
) -> None:
    assert engram_command(installation(programs, **more)) == command


def test_programs_of_windows_end_in_exe() -> None:
    scripts = "C:\\Users\\A B\\Scripts"
    here = installation(
        [f"{scripts}\\engram-mcp.exe", f"{scripts}\\engram.exe"],
        platform="win32",
        search_path='"C:\\Windows";relative;C:\\bin\\',
        scripts=scripts,
        from_index=False,
    )

    assert server_command(here) == (f"{scripts}\\engram-mcp.exe",)
    assert engram_command(here) == (f"{scripts}\\engram.exe",)


def test_a_quoted_folder_of_path_counts_on_windows() -> None:
    here = installation(["C:\\my bin\\engram.exe"], platform="win32", search_path='x;"C:\\my bin"')
    assert engram_command(here) == ("C:\\my bin\\engram.exe",)


@pytest.mark.skipif(sys.platform == "win32", reason="symlinks need rights there")
def test_a_path_is_never_followed_through_symlinks(tmp_path: Path) -> None:
    cellar, folder = tmp_path / "cellar" / "1.2.3", tmp_path / "bin"
    cellar.mkdir(parents=True)
    folder.mkdir()
    (cellar / "engram").write_text("#!/bin/sh\n")
    (cellar / "engram").chmod(0o755)
    (folder / "engram").symlink_to(cellar / "engram")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "engram").write_text("no program")

    here = Installation(
        distribution="engram-keep",
        version="1.2.3",
        search_path=f"{tmp_path / 'plain'}:{folder}",
        scripts=str(cellar),
        from_index=False,
        platform="linux",
    )

    assert engram_command(here) == (str(folder / "engram"),)


def test_this_installation_is_read_from_what_it_is_told() -> None:
    here = this_installation(environ={"PATH": "/a:/b"}, executable=sys.executable, version="9", platform=sys.platform)

    assert (here.search_path, here.version, here.scripts) == ("/a:/b", "9", str(Path(sys.executable).parent))
    assert here.from_index is False, "these tests run from a checkout"
    assert here.is_temporary is False


@pytest.mark.parametrize(
    ("executable", "is_temporary"),
    [
        ("/home/a/.cache/uv/archive-v0/x9/bin/python", True),
        ("/home/a/.cache/uv/environments-v2/x9/bin/python", True),
        ("/home/a/.cache/pipx/x9/bin/python", True),
        ("/home/a/.local/share/uv/tools/engram-keep/bin/python", False),
        ("/home/a/.local/share/pipx/venvs/engram-keep/bin/python", False),
    ],
)
def test_a_folder_that_was_made_for_one_run_is_known(executable: str, is_temporary: bool) -> None:
    here = this_installation(environ={}, executable=executable, version="9", platform="linux")
    assert here.is_temporary is is_temporary


WORDS = ("/a b/engram", "it's", 'say "so"', "$HOME", "`x`", "a\\b", "a;b", "*", "", "ü")


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
def test_a_line_for_sh_gives_back_the_words() -> None:
    program = (sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))")

    done = subprocess.run(["sh", "-c", shell_line((*program, *WORDS), "linux")], capture_output=True, text=True)

    assert json.loads(done.stdout) == list(WORDS)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("engram", "engram"),
        ("C:/bin/engram.exe", "C:/bin/engram.exe"),
        ("C:\\bin\\engram.exe", '"C:\\bin\\engram.exe"'),
        ("C:\\A & B\\engram.exe", '"C:\\A & B\\engram.exe"'),
        ("a b\\", '"a b\\\\"'),
        ('say "so"', '"say \\"so\\""'),
        ('x\\"', '"x\\\\\\""'),
        ("", '""'),
    ],
)
def test_a_line_for_windows_quotes_what_its_shells_would_change(word: str, said: str) -> None:
    assert shell_line((word, "hook"), "win32") == f"{said} hook"


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh, as Git for Windows has it")
def test_a_line_for_windows_means_the_same_to_the_shell_of_git() -> None:
    path = "C:\\Users\\A B\\Scripts\\engram.exe"
    done = subprocess.run(
        ["bash", "-c", f"printf '%s|' {shell_line((path, 'hook', 'claude', 'Stop'), 'win32')}"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{path}|hook|claude|Stop|"


def test_a_line_for_powershell_calls_what_is_quoted() -> None:
    assert powershell_line(("C:\\it's\\engram.exe", "hook")) == "& 'C:\\it''s\\engram.exe' 'hook'"


def test_a_plain_line_reads_as_it_was_typed() -> None:
    argv = ("/home/a/bin/engram", "hook", "claude", "Stop")
    assert shell_line(argv, "linux") == " ".join(argv)
    assert shlex.split(shell_line(("/a b/engram", "hook"), "darwin")) == ["/a b/engram", "hook"]
