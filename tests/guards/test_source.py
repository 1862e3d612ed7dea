"""What the source promises about itself, seen from outside."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from engram import errors
from engram.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "engram"
FILES = sorted(SOURCE.rglob("*.py"))

HEAVY = (
    "argparse json re apsw sqlite3 subprocess asyncio dataclasses typing pathlib logging tempfile importlib.metadata"
)


PATH = {"PYTHONPATH": str(SOURCE.parent)}


def modules_after(code: str, *flags: str) -> set[str]:
    """Names in `sys.modules` after `code` in a fresh interpreter, those of a bare one left out."""
    program = (
        f"import sys\nbare = set(sys.modules)\n{code}\nsys.stderr.write('\\n'.join(sorted(set(sys.modules) - bare)))"
    )
    done = subprocess.run([sys.executable, *flags, "-c", program], capture_output=True, text=True, check=True, env=PATH)
    return set(done.stderr.split("\n"))


def test_asking_for_the_version_loads_nothing_heavy() -> None:
    loaded = modules_after(
        "sys.argv = ['engram', '--version']\nfrom engram.__main__ import main\nassert main() == 0", "-S"
    )

    assert "engram._version" in loaded
    assert loaded & set(HEAVY.split()) == set()
    assert {name for name in loaded if name.startswith("engram")} == {
        "engram",
        "engram.__main__",
        "engram._version",
        "engram.streams",
    }


SMALL = set("dataclasses typing re logging argparse pathlib subprocess asyncio json threading hashlib enum".split())


@pytest.mark.parametrize("payload", ["{}", "garbage", '{"hook_event_name": "SessionStart", "cwd": "CWD"}'])
def test_a_session_start_loads_only_the_small_language(payload: str, tmp_path: Path) -> None:
    """Static rules do not see what a library brings along; this one does."""
    (tmp_path / "shop" / ".agents" / ".engram" / "rules").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    raw = payload.replace("CWD", str(tmp_path / "shop"))
    library = sysconfig.get_path("platlib")
    code = (
        "import os\n"
        f"sys.path.append({library!r})\n"
        f"os.environ.update(ENGRAM_DATA_DIR={str(tmp_path / 'data')!r}, HOME={str(tmp_path)!r})\n"
        "os.environ['ENGRAM_HOOK_DETACHED'] = '1'\n"
        "reading, writing = os.pipe()\n"
        f"os.write(writing, {raw.encode()!r})\n"
        "os.close(writing)\n"
        "os.dup2(reading, 0)\n"
        "from engram.hook.run import main\n"
        "assert main(['claude']) == 0\n"
    )
    loaded = modules_after(code, "-S")

    assert "apsw" in loaded
    assert ("engram.hook.session_start" in loaded) is ("SessionStart" in payload)
    assert loaded & SMALL == set()
    floors = {name.split(".")[1] for name in loaded if name.startswith("engram.")}
    assert floors <= {"hook", "paths", "places", "streams", "files", "errors", "_version"}


def test_the_help_of_all_commands_needs_no_store() -> None:
    loaded = modules_after(
        "sys.argv = ['engram', '--help']\nfrom engram.__main__ import main\nassert main() == 0", "-S"
    )

    assert not {name for name in loaded if name.startswith(("apsw", "engram.storage", "engram.services", "argparse"))}


def test_the_core_needs_no_other_floor() -> None:
    names = ", ".join(f"engram.core.{file.stem}" for file in (SOURCE / "core").glob("[a-z]*.py"))
    loaded = modules_after(f"import {names}")

    ours = {name.split(".")[1] for name in loaded if name.startswith("engram.")}
    assert ours <= {"core", "errors", "_version"}


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", [*COMMANDS, "status"])
def test_every_command_has_a_module_with_a_promise_and_an_example(name: str) -> None:
    module = importlib.import_module(f"engram.cli.commands.{COMMANDS[name][0] if name in COMMANDS else name}")
    first, _, rest = (module.__doc__ or "").partition("\n")

    assert first.startswith("engram")
    assert ": " in first
    assert "example: engram" in rest
    assert callable(module.add_arguments)
    assert callable(module.run)


def test_every_module_of_commands_is_in_the_table() -> None:
    modules = {file.stem for file in (SOURCE / "cli" / "commands").glob("*.py")} - {"__init__", "status"}
    assert modules == {entry[0] for entry in COMMANDS.values()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_file_begins_with_a_promise_and_prints_only_where_it_may(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)

    if file.name not in ("_version.py",):
        assert ast.get_docstring(tree), "the first line is a promise"
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if file.parent.name != "cli" and file.parent.parent.name != "cli":
        assert "print" not in calls
    if file.name != "streams.py":  # a reader who has gone is dealt with there
        assert not re.search(r"\bsys\.stdout\.write\b", text)
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text)
    assert not re.search(r"(?<![\w.])/(?:work|root|home/(?!a/))\b[\w/]*", text)
    assert not text.isspace()
    assert "\t" not in text or "sql" in file.name


@pytest.mark.parametrize("kind", [errors.EngramError, *errors.EngramError.__subclasses__()])
def test_every_error_code_is_documented_with_its_status(kind: type[errors.EngramError]) -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")

    assert re.search(rf"^\| `{kind.code}` \| {kind.exit_status} \|", page, re.MULTILINE)


def test_error_codes_are_distinct() -> None:
    codes = [kind.code for kind in errors.EngramError.__subclasses__()]
    assert len(codes) == len(set(codes))


def test_nothing_happens_at_import(tmp_path: Path) -> None:
    names = [
        "engram." + ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for file in FILES
        if file.name != "__main__.py" and not {"web", "mcp_server"} & set(file.parts)
    ]
    code = (
        "import importlib, json, os, sys\n"
        "opened = []\n"
        "def hook(event, args):\n"
        "    if event == 'open' and isinstance(args[0], str) and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR):\n"
        "        opened.append(args[0])\n"
        "    if event in ('socket.connect', 'subprocess.Popen', 'os.mkdir'):\n"
        "        opened.append(event)\n"
        "sys.dont_write_bytecode = True\n"
        "sys.addaudithook(hook)\n"
        f"for name in json.loads({json.dumps(json.dumps(names))}):\n"
        "    importlib.import_module(name.removesuffix('.__init__'))\n"
        "print(json.dumps(opened))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout), done.stderr, sorted(tmp_path.iterdir())) == ([], "", [tmp_path / "home"])
