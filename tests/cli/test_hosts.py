"""Linking as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Ended, engram

BIN = str(Path(sys.executable).parent)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    return place


def run(shop: Path, *arguments: str) -> Ended:
    return engram(*arguments, cwd=shop, PATH=f"{BIN}:/usr/bin:/bin")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if ".git" not in path.parts)


def test_setup_starts_what_it_has_registered_and_says_what_it_verified(shop: Path) -> None:
    ended = run(shop, "setup", "claude")

    assert (ended.status, ended.err) == (0, "")
    assert "verified     claude: `engram-mcp --tools=governed,agent` answers as engram" in ended.out
    assert "engram init" in ended.out


def test_setup_says_when_the_registered_server_does_not_run(shop: Path) -> None:
    run(shop, "setup", "mcp")
    path = shop / ".mcp.json"
    said = json.loads(path.read_text())
    said["mcpServers"]["engram"]["command"] = "/gone/engram-mcp"
    path.write_text(json.dumps(said))
    path.chmod(0o444)

    ended = run(shop, "setup", "mcp", "--json")

    assert ended.status == 1
    assert ended.json["ok"] is False
    (verified,) = ended.json["data"]["verified"]
    assert "cannot be started" in verified["tried"]["problem"]


def test_unlink_gives_back_an_empty_folder_and_keeps_other_files(shop: Path) -> None:
    (shop / "CLAUDE.md").write_text("# Mine\n")
    run(shop, "link", "claude", "slash", "codex")

    ended = run(shop, "unlink", "all")

    assert ended.status == 0
    assert [name for name in files(shop) if not name.endswith(".bak")] == ["CLAUDE.md"]
    assert (shop / "CLAUDE.md").read_text() == "# Mine\n"


def test_a_link_goes_to_the_top_of_the_repository(shop: Path) -> None:
    below = shop / "src" / "deep"
    below.mkdir(parents=True)

    run(below, "link", "mcp")

    assert (shop / ".mcp.json").exists()
    assert files(below) == []


def test_an_unknown_host_is_exit_two_and_nothing_is_made(shop: Path, home: Path, data: Path) -> None:
    for command in ("link", "unlink", "setup"):
        ended = run(shop, command, "emacs")
        assert ended.status == 2
        assert "claude, codex, gemini" in ended.err
    assert files(shop) == []
    assert files(home) == []
    assert not data.exists()


def test_a_file_that_does_not_parse_is_exit_one_and_the_others_are_written(shop: Path) -> None:
    (shop / ".mcp.json").write_text('{"mcpServers": {')

    ended = run(shop, "link", "claude")

    assert ended.status == 1
    assert "skipped      .mcp.json" in ended.out
    assert "cannot be parsed" in ended.out
    assert "written      CLAUDE.md" in ended.out
    assert (shop / ".mcp.json").read_text() == '{"mcpServers": {'


def test_a_plan_says_what_would_be_done_and_writes_nothing(shop: Path, data: Path) -> None:
    ended = run(shop, "link", "claude", "--plan")

    assert ended.status == 0
    assert "would write  .mcp.json" in ended.out
    assert files(shop) == []
    assert not data.exists()


def test_the_result_as_json_names_every_file(shop: Path) -> None:
    ended = run(shop, "link", "gemini", "--json")

    changes = ended.json["data"]["changes"]
    assert {Path(change["path"]).name for change in changes} == {
        "GEMINI.md",
        "engram.md",
        "engram.toml",
        "settings.json",
    }
    assert {change["status"] for change in changes} == {"written"}


def test_an_upgrade_without_links_has_nothing_to_do(shop: Path) -> None:
    ended = run(shop, "upgrade")
    assert (ended.status, ended.out.strip()) == (0, "Nothing to do.")


def test_capabilities_give_the_reasons_for_one_program(shop: Path) -> None:
    ended = run(shop, "capabilities", "cascade")
    assert ended.status == 0
    assert ended.out.startswith("windsurf:")
    assert run(shop, "capabilities", "emacs").status == 2


def test_a_damaged_registry_is_named_and_nothing_is_changed(shop: Path, data: Path) -> None:
    data.mkdir()
    (data / "engram-links.json").write_text("{")

    ended = run(shop, "link", "claude")

    assert ended.status == 4
    assert "engram-links.json" in ended.err
    assert files(shop) == []
