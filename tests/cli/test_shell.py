"""The command line in a shell: pipes, bytes, no terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engram import __version__
from engram.cli import COMMANDS
from tests.cli.terminal import engram


@pytest.mark.parametrize("flag", ["--version", "-V", "version"])
def test_the_version_is_one_line(flag: str) -> None:
    ended = engram(flag)
    assert (ended.status, ended.out, ended.err) == (0, f"engram {__version__}\n", "")


ENDS = {
    "": 0,
    "--json": 0,
    "--help": 0,
    "--version": 0,
    "show 1": 0,
    "load word": 0,
    "load --json word": 0,
    "load --help": 0,
    "save --help": 0,
    "search word": 0,
    "stats --json": 0,
    "verify --json": 0,
    "export -": 0,
    "mcp --cost": 0,
    "completion bash": 0,
    "nonsense": 2,
    "load --bad --json": 2,
    "show 99 --json": 7,
}


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes descriptors")
@pytest.mark.parametrize("closed", ["| true", ">&-", ">&- 2>&-", "2>&1 | true", "<&- >&-"])
def test_a_closed_stream_is_a_normal_end(tmp_path: Path, closed: str) -> None:
    engram("init", cwd=tmp_path)
    engram("save", "Title", "word " * 5000)
    for command, status in ENDS.items():
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; '{sys.executable}' -m engram {command} {closed}"],
            capture_output=True,
            timeout=60,
            cwd=tmp_path,
        )
        assert b"Traceback" not in done.stderr, command
        assert b"ignored" not in done.stderr, command
        assert done.returncode == status, command


@pytest.mark.parametrize(
    "command", ["stats", "--help", "--version", "load --bad --json", "show 9 --json", "mcp --cost", "export -"]
)
def test_a_full_output_device_is_an_error_not_a_traceback(command: str) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "engram", *command.split()], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr


COMPLETE = {
    "save": ["T", "-"],
    "search": ["x"],
    "timeline": ["1"],
    "show": ["1"],
    "update": ["1", "--content", "-"],
    "delete": ["1"],
    "history": ["1"],
    "capture": ["-"],
    "completion": ["bash"],
    "import": ["-"],
    "export": ["-"],
    "demo": ["--help"],
    "mcp": ["--cost"],
}


@pytest.mark.parametrize("name", [*COMMANDS, ""])
def test_no_command_waits_for_input_without_a_terminal(name: str, tmp_path: Path) -> None:
    ended = engram(*([name] if name else []), *COMPLETE.get(name, []), cwd=tmp_path)
    assert "Traceback" not in ended.err


@pytest.mark.skipif(os.name != "posix", reason="terminals")
@pytest.mark.parametrize("arguments", [["save", "T", "-"], ["capture", "-"], ["update", "1", "--content", "-"]])
def test_a_terminal_is_never_waited_for(arguments: list[str]) -> None:
    main, other = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "engram", *arguments], stdin=other, capture_output=True, timeout=60, text=True
        )
    finally:
        os.close(main)
        os.close(other)
    assert done.returncode == 2
    assert "piped in" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="names of bytes")
def test_arguments_of_any_bytes_are_text_or_a_sentence(tmp_path: Path) -> None:
    bad = b"caf\xe9"
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + bad))
    place.mkdir()
    for arguments in (
        [b"save", bad, bad, b"--type", bad, b"--project", bad, b"--session", bad, b"--topic", bad],
        [b"search", bad, b"--type", bad, b"--project", bad],
        [b"context", b"--project", bad],
        [b"sessions", b"--project", bad],
        [b"projects", b"merge", bad, bad],
        [b"projects", b"alias", bad, b"caf"],
        [b"capture", bad],
        [b"stats", b"--workspace", os.fsencode(place)],
        [b"", bad],
        [bad],
    ):
        done = subprocess.run(
            [os.fsencode(sys.executable), b"-m", b"engram", *arguments], capture_output=True, timeout=60, cwd=place
        )
        assert b"Traceback" not in done.stderr, (arguments, done.stderr)


def test_output_is_utf8_whatever_the_locale() -> None:
    ended = engram("save", "Größe 数据", "🦊", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert ended.status == 0
    assert "Größe 数据" in ended.out


def test_the_workspace_decides_the_project(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".engram").mkdir(parents=True)
    (tmp_path / "shop" / ".engram" / "config.json").write_text('{"project_name": "configured"}')

    ended = engram("projects", "--workspace", str(tmp_path / "shop"), "current", ENGRAM_PROJECT="")
    assert ended.out == "configured (from config)\n"
    assert engram("projects", "current", cwd=tmp_path / "shop", ENGRAM_PROJECT="").out == ended.out


def test_a_broken_config_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / ".engram").mkdir()
    (tmp_path / ".engram" / "config.json").write_text("{")

    ended = engram("save", "T", "C", cwd=tmp_path, ENGRAM_PROJECT="")
    assert ended.status == 3
    assert "config.json" in ended.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_read_by_its_shell(shell: str, tmp_path: Path) -> None:
    ended = engram("completion", shell)
    assert ended.status == 0
    assert all(name in ended.out for name in COMMANDS)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / f"engram.{shell}"
    script.write_text(ended.out)
    done = subprocess.run([shell, "--no-execute" if shell == "fish" else "-n", str(script)], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("engram sea", "search"),
        ("engram save --to", "--topic"),
        ("engram projects --js", "--json"),
        ("engram --v", "--version"),
    ],
)
def test_bash_offers_commands_and_options(words: str, offered: str, tmp_path: Path) -> None:
    script = tmp_path / "engram.bash"
    script.write_text(engram("completion", "bash").out)
    parts = words.split()
    ask = f"source {script}; COMP_WORDS=({words}); COMP_CWORD={len(parts) - 1}; _engram; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60)

    assert done.stdout.split() == [offered]
    assert done.stderr == ""


def test_the_demo_runs_the_whole_loop_and_leaves_nothing(tmp_path: Path, data: Path) -> None:
    ended = engram("demo", TMPDIR=str(tmp_path))

    assert ended.status == 0, ended.err
    assert "The second session found the revised decision" in ended.out
    assert not data.exists()
    assert [file for file in tmp_path.iterdir() if file.name.startswith("engram-demo")] == []
