"""Links as a person asks for them: which hosts, which flags, plan, upgrade, and what is told."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engram.errors import InvalidInput
from engram.hosts import registry
from engram.hosts.table import HOSTS
from engram.services.links import Choice, Linked, Ran, capabilities
from tests.hosts.world import NOW, OLDER, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def link(world: World, *names: str, programs: Any = NOW, **how: Any) -> Linked:
    return world.links(programs).link(names, workspace=str(world.project), **how)


def unlink(world: World, *names: str, **how: Any) -> Linked:
    return world.links().unlink(names, workspace=str(world.project), **how)


def args_of(world: World) -> list[str]:
    said = json.loads((world.project / ".mcp.json").read_text())
    args: list[str] = said["mcpServers"]["engram"]["args"]
    return args


def told(linked: Linked) -> list[tuple[str, ...]]:
    return [change.command for change in linked.changes if change.command]


# -- which hosts -----------------------------------------------------------------------------------------------------


def test_an_unknown_host_is_answered_with_the_list_and_nothing_is_written(world: World) -> None:
    for names in (("claude", "emacs"), ("emacs",)):
        with pytest.raises(InvalidInput) as caught:
            link(world, *names)
        assert "emacs" in caught.value.message
        assert all(host.name in caught.value.hint for host in HOSTS)
        assert caught.value.exit_status == 2
    assert world.tree() == {}
    assert not world.data.exists()


def test_no_host_at_all_is_answered_with_what_to_say(world: World) -> None:
    for run in (link, unlink):
        with pytest.raises(InvalidInput, match="missing"):
            run(world)


def test_an_alias_is_the_host_itself(world: World) -> None:
    assert link(world, "cascade").hosts == ("windsurf",)
    assert link(world, "open-code").hosts == ("opencode",)


def test_all_is_what_is_on_this_machine_and_what_any_program_can_use(world: World) -> None:
    world.program("codex")
    world.write("person/.gemini/settings.json", "{}")

    assert link(world, "all").hosts == ("codex", "gemini", "mcp", "slash")


def test_a_home_folder_is_no_project(world: World) -> None:
    with pytest.raises(InvalidInput, match="home folder"):
        world.links().link(["claude"], workspace=str(world.home))


def test_unlinking_all_leaves_nothing_of_ours_and_tells_nothing_that_was_never_asked_for(world: World) -> None:
    for name in ("claude", "codex", "opencode", "gemini", "slash"):
        link(world, name)

    linked = unlink(world, "all")

    assert linked.is_whole
    assert world.tree() == {}
    assert told(unlink(world, "all", is_global=True)) == []


def test_two_hosts_that_share_a_file_do_not_take_it_from_each_other(world: World) -> None:
    for name in ("codex", "opencode", "agents-md"):
        link(world, name)
    text = (world.project / "AGENTS.md").read_text()
    assert text.count("engram:start") == 1

    unlink(world, "codex")
    unlink(world, "agents-md")
    assert (world.project / "AGENTS.md").read_text() == text

    unlink(world, "opencode")
    assert world.tree() == {}


def test_the_same_host_in_two_projects_and_at_home_are_three_links(world: World) -> None:
    other = world.folder / "other"
    other.mkdir()
    link(world, "gemini")
    world.links().link(["gemini"], workspace=str(other))
    link(world, "gemini", is_global=True)

    unlink(world, "gemini")

    assert {one.owner for one in world.links().known()} == {"gemini", f"gemini in {other}"}
    assert (other / ".gemini" / "settings.json").exists()
    assert (world.home / ".gemini" / "settings.json").exists()


# -- the always-load flag --------------------------------------------------------------------------------------------


def test_without_any_claude_hook_the_flag_is_added(world: World) -> None:
    link(world, "mcp")
    assert args_of(world) == ["--always-load"]


def test_with_a_claude_hook_in_the_same_run_the_flag_is_not_added(world: World) -> None:
    link(world, "mcp", "claude")
    assert args_of(world) == []


def test_with_a_claude_hook_of_the_workspace_the_flag_is_not_added(world: World) -> None:
    link(world, "claude", choice=Choice(has_server=False))
    link(world, "mcp")
    assert args_of(world) == []


def test_with_a_claude_hook_of_the_home_folder_the_flag_is_not_added(world: World) -> None:
    link(world, "claude", is_global=True)
    link(world, "mcp")
    assert args_of(world) == []


def test_claude_without_hooks_gets_the_flag_in_the_file_and_in_the_printed_command(world: World) -> None:
    link(world, "claude", choice=Choice(has_hooks=False))
    assert args_of(world) == ["--always-load"]

    linked = link(world, "claude", is_global=True, choice=Choice(has_hooks=False))
    assert told(linked) == [("claude", "mcp", "add", "--scope", "user", "engram", "--", "engram-mcp", "--always-load")]


def test_a_registered_server_keeps_its_flag_until_it_is_refreshed(world: World) -> None:
    link(world, "mcp")
    link(world, "claude")
    assert args_of(world) == ["--always-load"]

    link(world, "mcp")
    assert args_of(world) == ["--always-load"]

    link(world, "mcp", force=True)
    assert args_of(world) == []


def test_unlinking_the_hooks_does_not_add_the_flag_and_an_upgrade_does(world: World) -> None:
    link(world, "claude", "mcp")
    unlink(world, "claude")
    link(world, "mcp")
    assert args_of(world) == []

    world.links().upgrade()
    assert args_of(world) == ["--always-load"]


def test_no_other_host_ever_gets_the_flag(world: World) -> None:
    for host in HOSTS:
        for is_global in (False, True):
            link(world, host.name, is_global=is_global, choice=Choice(has_hooks=False))
    with_flag = [name for name, data in world.tree().items() if isinstance(data, bytes) and b"always-load" in data]
    assert with_flag == ["shop/.mcp.json"]


# -- what is registered ----------------------------------------------------------------------------------------------


def test_codex_asks_a_person_before_it_commits(world: World) -> None:
    link(world, "codex", is_global=True)

    said = tomllib.loads((world.home / ".codex" / "config.toml").read_text())
    server = said["mcp_servers"]["engram"]
    assert server["tools"]["engram_commit"]["approval_mode"] == "prompt"
    assert server["command"] == "engram-mcp"


def test_nothing_that_a_link_writes_would_run_a_commit_unasked(world: World) -> None:
    from engram.hosts.editing import json_text
    from engram.hosts.gates import open_gates

    def read(path: str) -> Any:
        if not os.path.exists(path):
            return None
        text = Path(path).read_text()
        return tomllib.loads(text) if path.endswith(".toml") else json_text.read(text).value

    for host in HOSTS:
        for is_global in (False, True):
            link(world, host.name, is_global=is_global)

    assert open_gates(home=str(world.home), workspace=str(world.project), environ={}, read=read) == []


def test_a_server_is_pinned_again_and_what_a_person_added_to_it_stays(world: World) -> None:
    link(world, "mcp", programs=OLDER)
    path = world.project / ".mcp.json"
    said = json.loads(path.read_text())
    said["mcpServers"]["engram"]["env"] = {"ENGRAM_PROJECT": "shop"}
    said["mcpServers"]["engram"]["timeout"] = 30
    path.write_text(json.dumps(said, indent=2))

    linked = link(world, "mcp")

    assert [change.status for change in linked.changes] == ["updated"]
    server = json.loads(path.read_text())["mcpServers"]["engram"]
    assert server["command"] == "engram-mcp"
    assert (server["env"], server["timeout"]) == ({"ENGRAM_PROJECT": "shop"}, 30)


def test_setup_registers_both_halves_and_a_later_link_does_not_take_one_away(world: World) -> None:
    link(world, "claude", choice=Choice(has_observations=True))
    assert args_of(world) == ["--tools=governed,agent"]
    assert "mem_save" in (world.project / "CLAUDE.md").read_text()

    assert {change.status for change in link(world, "claude").changes} == {"unchanged"}


def test_without_hooks_or_without_a_server_the_other_parts_are_there(world: World) -> None:
    link(world, "gemini", choice=Choice(has_hooks=False))
    assert list(json.loads((world.project / ".gemini" / "settings.json").read_text())) == ["mcpServers"]

    link(world, "gemini", choice=Choice(has_server=False))
    assert list(json.loads((world.project / ".gemini" / "settings.json").read_text())) == ["hooks"]


# -- what only a host's program may do -------------------------------------------------------------------------------


ADD = ("claude", "mcp", "add", "--scope", "user", "engram", "--", "engram-mcp")


def test_the_command_for_a_persons_own_claude_servers_is_printed_and_its_file_is_never_written(world: World) -> None:
    world.write("person/.claude.json", '{"mcpServers": {}}')

    linked = link(world, "claude", is_global=True)

    assert told(linked) == [ADD]
    assert world.ran == []
    assert world.tree()["person/.claude.json"] == b'{"mcpServers": {}}'
    assert told(unlink(world, "claude", is_global=True)) == [("claude", "mcp", "remove", "--scope", "user", "engram")]


def test_with_apply_the_command_is_run(world: World) -> None:
    program = str(world.program("claude"))

    linked = link(world, "claude", is_global=True, apply=True)

    assert world.ran == [(program, *ADD[1:])]
    assert [change.status for change in linked.changes if change.command] == ["written"]


def test_a_command_that_fails_is_named(world: World) -> None:
    world.program("claude")
    world.answer = Ran(status=1, said="already exists")

    linked = link(world, "claude", is_global=True, apply=True)

    (change,) = [change for change in linked.changes if change.command]
    assert (change.status, change.reason) == ("failed", "already exists")
    assert not linked.is_whole


def test_with_apply_and_no_program_the_command_is_still_told(world: World) -> None:
    linked = link(world, "claude", is_global=True, apply=True)

    (change,) = [change for change in linked.changes if change.command]
    assert change.status == "told"
    assert "not on PATH" in change.reason


def test_a_plan_runs_no_command(world: World) -> None:
    world.program("claude")
    link(world, "claude", is_global=True, apply=True, plan=True)
    assert world.ran == []
    assert world.tree() == {}


# -- upgrade ---------------------------------------------------------------------------------------------------------


def test_an_upgrade_brings_every_link_up_to_date_wherever_it_is(world: World) -> None:
    other = world.folder / "other"
    other.mkdir()
    for name in ("claude", "codex", "gemini"):
        link(world, name, programs=OLDER)
        link(world, name, programs=OLDER, is_global=True)
    world.links(OLDER).link(["mcp"], workspace=str(other))

    linked = world.links().upgrade()

    assert linked.is_whole
    everything = [*world.tree().values(), (other / ".mcp.json").read_bytes()]
    assert not any(isinstance(data, bytes) and (b"0.0.1" in data or b"/opt/old" in data) for data in everything)
    assert {one.version for one in world.links().known()} == {NOW.version}
    again = world.links().upgrade()
    assert {change.status for change in again.changes} <= {"unchanged", "told"}


def test_the_plan_of_an_upgrade_writes_nothing(world: World) -> None:
    link(world, "gemini", programs=OLDER)
    before, times = world.tree(), world.times()

    linked = world.links().upgrade(plan=True)

    assert "updated" in {change.status for change in linked.changes}
    assert (world.tree(), world.times()) == (before, times)
    assert {one.version for one in world.links().known()} == {OLDER.version}


def test_a_guide_that_was_edited_by_hand_is_a_conflict_that_an_upgrade_leaves_and_names(world: World) -> None:
    link(world, "gemini", programs=OLDER)
    guide = world.project / ".gemini" / "engram.md"
    guide.write_text(guide.read_text() + "My line.\n")
    edited = guide.read_text()

    (change,) = [one for one in world.links().upgrade().changes if one.path == str(guide)]

    # The text is the same in both versions, so only a text that differs would be replaced.
    assert (change.status, guide.read_text()) == ("kept", edited)
    assert world.links().upgrade(force=True).is_whole
    assert "My line." not in guide.read_text()


def test_when_a_file_cannot_be_written_an_upgrade_leaves_every_file_as_it_was(world: World) -> None:
    for name in ("claude", "gemini"):
        link(world, name, programs=OLDER)
    path = world.project / ".gemini" / "settings.json"
    path.chmod(0o444)
    before, remembered = world.tree(), (world.data / registry.FILE).read_bytes()

    linked = world.links().upgrade()

    assert linked.is_rolled_back
    assert not linked.is_whole
    assert "nothing was upgraded: every file is as it was" in linked.notes
    assert world.tree() == before
    assert (world.data / registry.FILE).read_bytes() == remembered

    path.chmod(0o644)
    assert world.links().upgrade().is_whole


def test_the_link_of_a_project_that_is_gone_is_forgotten(world: World) -> None:
    link(world, "mcp")
    for path in world.project.iterdir():
        path.unlink()
    world.project.rmdir()

    linked = world.links().upgrade()

    assert any("is gone" in note for note in linked.notes)
    assert world.links().known() == []


def test_an_upgrade_with_nothing_linked_does_nothing(world: World) -> None:
    assert world.links().upgrade().changes == ()
    assert world.tree() == {}


# -- more -------------------------------------------------------------------------------------------------------------


def test_links_at_once_all_stay_remembered(world: World) -> None:
    from concurrent.futures import ThreadPoolExecutor

    names = [host.name for host in HOSTS]
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda name: link(world, name), names))

    assert all(run.is_whole for run in runs)
    assert len(world.links().known()) == len(names)
    unlink(world, *names)
    assert world.tree() == {}


def test_what_each_program_can_do_is_a_yes_or_a_reason() -> None:
    rows = capabilities()
    assert [row.host for row in rows] == [host.name for host in HOSTS]
    assert all(len(cell) > 3 or cell == "yes" for row in rows for cell in row.cells.values())
    (row,) = capabilities("cascade")
    assert row.host == "windsurf"
