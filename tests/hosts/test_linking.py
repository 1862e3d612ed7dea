"""Parts of a link in real files: copies, one write, the same bytes again, and only ours taken out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engram.errors import IntegrityFailed, Unsupported
from engram.hosts import registry
from engram.hosts.editing import wholes
from engram.hosts.linking import Change, Run
from engram.hosts.parts import Block, Element, Member, Part, Table, Told, Whole
from engram.hosts.registry import Registry

SERVER = {"command": "engram-mcp", "args": []}
HOOK = {"hooks": [{"type": "command", "command": "engram hook claude Stop", "timeout": 10}]}
GUIDE = f"<!-- {wholes.MARK} -->\nHow to use Engram.\n"


class Desk:
    """A folder, its registry, and runs over both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry_path = str(folder.parent / "data" / registry.FILE)
        self.runs = 0

    def parts(self) -> list[Part]:
        def at(*names: str) -> str:
            return str(self.folder.joinpath(*names))

        return [
            Block(path=at("AGENTS.md"), text="Use Engram."),
            Whole(path=at(".agents", "engram.md"), text=GUIDE),
            Member(path=at(".mcp.json"), keys=("mcpServers", "engram"), value=SERVER),
            Element(path=at(".claude", "settings.json"), keys=("hooks", "Stop"), value=HOOK),
            Table(path=at("config.toml"), keys=("mcp_servers", "engram"), value=SERVER),
        ]

    def run(self, *, plan: bool = False) -> Run:
        self.runs += 1
        known = registry.load(self.registry_path)
        save = (lambda: None) if plan else (lambda: registry.save(self.registry_path, known))
        return Run(registry=known, save=save, stamp=f"2026030{self.runs}T090000Z", plan=plan)

    def put(self, *parts: Part, owner: str = "claude", force: bool = False, plan: bool = False) -> list[Change]:
        return self.run(plan=plan).put(owner, parts or self.parts(), force=force)

    def take(self, *parts: Part, owner: str = "claude", force: bool = False, plan: bool = False) -> list[Change]:
        return self.run(plan=plan).take(owner, parts or self.parts(), force=force)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def tree(self, *, copies: bool = False) -> dict[str, bytes | None]:
        """Every file and folder, without the copies that runs keep."""
        return {
            str(path.relative_to(self.folder)): None if path.is_dir() else path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if copies or not path.name.endswith(".bak")
        }


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "shop").mkdir()
    return Desk(tmp_path / "shop")


def statuses(changes: list[Change]) -> set[str]:
    return {change.status for change in changes}


def test_in_an_empty_folder_everything_is_written_and_everything_goes_again(desk: Desk) -> None:
    assert statuses(desk.put()) == {"written"}
    assert json.loads((desk.folder / ".mcp.json").read_text()) == {"mcpServers": {"engram": SERVER}}

    assert statuses(desk.take()) == {"removed"}

    assert desk.tree(copies=True) == {}
    assert registry.load(desk.registry_path) == Registry()


HUMAN = {
    "AGENTS.md": "# Our rules\r\n\r\nBe kind.",
    ".mcp.json": '\ufeff{\r\n\t// mine\r\n\t"mcpServers": {"other": {"command": "x"},},\r\n}\r\n',
    ".claude/settings.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}',
    "config.toml": '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"',
}


def test_link_and_unlink_give_back_the_same_bytes(desk: Desk) -> None:
    for name, text in HUMAN.items():
        desk.write(name, text)
    before = desk.tree()

    assert statuses(desk.put()) == {"written"}
    assert desk.tree() != before
    desk.take()

    assert desk.tree() == before


def test_the_second_link_changes_no_byte_and_no_time(desk: Desk) -> None:
    for name, text in HUMAN.items():
        desk.write(name, text)
    desk.put()
    before = {path: os.stat(path).st_mtime_ns for path in desk.folder.rglob("*")}
    remembered = os.stat(desk.registry_path).st_mtime_ns

    assert statuses(desk.put()) == {"unchanged"}

    assert {path: os.stat(path).st_mtime_ns for path in desk.folder.rglob("*")} == before
    assert os.stat(desk.registry_path).st_mtime_ns == remembered


def test_a_copy_is_kept_before_the_first_change_of_a_run_with_the_mode_of_the_file(desk: Desk) -> None:
    path = desk.write(".mcp.json", HUMAN[".mcp.json"])
    path.chmod(0o640)

    (change,) = desk.put(desk.parts()[2])

    assert Path(change.backup).read_bytes() == HUMAN[".mcp.json"].encode()
    assert Path(change.backup).parent == desk.folder
    assert os.stat(change.backup).st_mode & 0o777 == 0o640
    assert os.stat(path).st_mode & 0o777 == 0o640


def test_a_run_keeps_one_copy_of_a_file_however_many_hosts_change_it(desk: Desk) -> None:
    path = desk.write("settings.json", "{}\n")
    run = desk.run()
    run.put("claude", [Member(path=str(path), keys=("mcpServers", "engram"), value=SERVER)])
    run.put("gemini", [Element(path=str(path), keys=("hooks", "Stop"), value=HOOK)])

    assert [one.name for one in desk.folder.glob("*.bak")] == ["settings.json.engram-20260301T090000Z.bak"]
    assert next(desk.folder.glob("*.bak")).read_text() == "{}\n"


def test_an_older_copy_is_never_overwritten(desk: Desk) -> None:
    desk.write("AGENTS.md", "mine\n")
    older = desk.write("AGENTS.md.engram-20260301T090000Z.bak", "older")

    (change,) = desk.put(desk.parts()[0])

    assert older.read_text() == "older"
    assert change.backup.endswith("-2.bak")


def test_what_a_person_did_meanwhile_stays(desk: Desk) -> None:
    desk.put()
    settings = desk.folder / ".claude" / "settings.json"
    said = json.loads(settings.read_text())
    said["theme"] = "dark"
    settings.write_text(json.dumps(said))
    notes = desk.folder / "AGENTS.md"
    notes.write_text(notes.read_text() + "\nMine, written later.\n")

    desk.take()

    assert json.loads(settings.read_text()) == {"theme": "dark"}
    assert notes.read_text().strip() == "Mine, written later."
    assert sorted(desk.tree()) == [".claude", ".claude/settings.json", "AGENTS.md"]


def test_without_the_registry_ours_is_known_by_its_marks(desk: Desk) -> None:
    for name, text in HUMAN.items():
        desk.write(name, text)
    desk.put()
    Path(desk.registry_path).unlink()

    assert statuses(desk.take()) == {"removed"}

    left = "".join((data or b"").decode() for data in desk.tree().values())
    assert "engram" not in left
    for mine in ("Be kind.", '"other"', "say done", 'model = "x"'):
        assert mine in left


def test_what_another_host_needs_stays_until_it_goes_too(desk: Desk) -> None:
    block = desk.parts()[0]
    desk.put(block, owner="codex")
    assert statuses(desk.put(block, owner="opencode")) == {"unchanged"}

    (change,) = desk.take(block, owner="codex")
    assert (change.status, change.reason) == ("kept", "needed by opencode")
    assert "Use Engram." in (desk.folder / "AGENTS.md").read_text()

    desk.take(block, owner="opencode")
    assert not (desk.folder / "AGENTS.md").exists()


def test_a_host_that_was_not_linked_takes_nothing_of_another(desk: Desk) -> None:
    block = desk.parts()[0]
    desk.put(block, owner="codex")

    (change,) = desk.take(block, owner="opencode")

    assert change.status == "kept"
    assert (desk.folder / "AGENTS.md").exists()


def test_what_an_older_version_put_elsewhere_goes_with_the_next_link(desk: Desk) -> None:
    old = Element(path=str(desk.folder / "settings.json"), keys=("hooks", "Old"), value=HOOK)
    new = Element(path=str(desk.folder / "settings.json"), keys=("hooks", "Stop"), value=HOOK)
    desk.put(old)

    run = desk.run()
    run.put("claude", [new])
    (change,) = run.take_old("claude", [new])

    assert change.status == "removed"
    assert json.loads((desk.folder / "settings.json").read_text()) == {"hooks": {"Stop": [HOOK]}}


def test_a_plan_writes_nothing_and_tells_what_would_be_done(desk: Desk) -> None:
    desk.write("AGENTS.md", "mine\n")
    before = desk.tree(copies=True)
    run = desk.run(plan=True)

    first = run.put("codex", desk.parts())
    second = run.put("opencode", desk.parts())

    assert statuses(first) == {"written"}
    assert statuses(second) == {"unchanged"}
    assert desk.tree(copies=True) == before
    assert not os.path.exists(desk.registry_path)


def test_a_plan_to_unlink_writes_nothing(desk: Desk) -> None:
    desk.put()
    before, remembered = desk.tree(), Path(desk.registry_path).read_bytes()

    assert statuses(desk.take(plan=True)) == {"removed"}

    assert desk.tree() == before
    assert Path(desk.registry_path).read_bytes() == remembered


def test_a_link_of_the_file_system_is_written_through(desk: Desk, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "AGENTS.md"
    real.parent.mkdir()
    real.write_text("mine\n")
    (desk.folder / "AGENTS.md").symlink_to(real)

    desk.put(desk.parts()[0])
    assert (desk.folder / "AGENTS.md").is_symlink()
    assert "Use Engram." in real.read_text()

    desk.take(desk.parts()[0])
    assert (desk.folder / "AGENTS.md").is_symlink()
    assert real.read_text() == "mine\n"


def _folder(path: Path) -> None:
    path.mkdir()


def _read_only(path: Path) -> None:
    path.write_text("{}\n")
    path.chmod(0o444)


def _unparseable(path: Path) -> None:
    path.write_text('{"mcpServers": {')


def _latin(path: Path) -> None:
    path.write_bytes(b'{"caf\xe9": 1}')


def _nowhere(path: Path) -> None:
    path.symlink_to(path.parent / "gone")


def _list(path: Path) -> None:
    path.write_text("[]\n")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [_folder, _read_only, _unparseable, _latin, _nowhere, _list, _pipe])
def test_a_file_that_cannot_be_edited_is_left_and_named_and_the_others_are_done(
    desk: Desk, make: Callable[[Path], None]
) -> None:
    path = desk.folder / ".mcp.json"
    make(path)
    before = path.read_bytes() if path.is_file() else None

    for force in (False, True):
        changes = desk.put(force=force)
        (named,) = [change for change in changes if change.path == str(path)]
        assert named.status in ("failed", "skipped")
        assert named.reason
        assert named.is_trouble
    assert {change.status for change in changes if change is not named} == {"unchanged"}
    assert (path.read_bytes() if path.is_file() else None) == before
    assert not list(desk.folder.glob(".mcp.json.engram-*"))


def test_a_parent_that_is_a_file_is_named(desk: Desk) -> None:
    desk.write(".claude", "a file")

    changes = desk.put()

    assert [change.status for change in changes if ".claude" in change.path] == ["failed"]
    assert (desk.folder / ".claude").read_text() == "a file"


def test_a_server_of_a_person_that_is_called_engram_stays_and_is_named(desk: Desk) -> None:
    text = '{"mcpServers": {"engram": {"command": "my-own"}}}'
    desk.write(".mcp.json", text)

    (change,) = desk.put(desk.parts()[2], force=True)
    assert (change.status, change.is_trouble) == ("kept", True)
    assert "somebody else's" in change.reason

    desk.take(desk.parts()[2], force=True)
    assert (desk.folder / ".mcp.json").read_text() == text


def test_a_guide_that_a_person_edited_stays_unless_forced_and_a_copy_is_kept(desk: Desk) -> None:
    guide = desk.parts()[1]
    desk.put(guide)
    path = desk.folder / ".agents" / "engram.md"
    path.write_text(GUIDE + "My own line.\n")

    newer = Whole(path=str(path), text=GUIDE.replace("How", "How best"))
    (change,) = desk.put(newer)
    assert (change.status, "by hand" in change.reason) == ("kept", True)
    (change,) = desk.take(guide)
    assert change.status == "kept"

    (change,) = desk.put(newer, force=True)
    assert change.status == "updated"
    assert Path(change.backup).read_text() == GUIDE + "My own line.\n"


def test_a_newer_text_of_ours_needs_no_force_and_no_copy(desk: Desk) -> None:
    desk.put(desk.parts()[1])
    path = desk.folder / ".agents" / "engram.md"

    (change,) = desk.put(Whole(path=str(path), text=GUIDE.replace("How", "How best")))

    assert (change.status, change.backup) == ("updated", "")
    assert not list(desk.folder.rglob("*.bak"))


def test_a_file_that_changes_under_our_hands_is_left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.write(".mcp.json", "{}\n")
    run = desk.run()
    save = run.save

    def meanwhile() -> None:
        path.write_text('{"theirs": 1}\n')
        save()

    run.save = meanwhile
    (change,) = run.put("claude", [desk.parts()[2]])

    assert change.status == "conflict"
    assert path.read_text() == '{"theirs": 1}\n'
    assert [one.name for one in desk.folder.iterdir() if one.name.endswith(".tmp")] == []
    assert registry.load(desk.registry_path).files == {}


def test_a_disk_that_refuses_leaves_the_file_and_no_leavings(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(".mcp.json", "{}\n")
    real = os.replace

    def refuse(source: str, target: str) -> None:
        if target.endswith(".mcp.json"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    changes = desk.put()

    (failed,) = [change for change in changes if change.status == "failed"]
    assert "No space left" in failed.reason
    assert (desk.folder / ".mcp.json").read_text() == "{}\n"
    assert not list(desk.folder.rglob("*.tmp"))
    assert statuses([change for change in changes if change is not failed]) == {"written"}


def test_rolled_back_everything_is_as_it_was(desk: Desk) -> None:
    for name, text in HUMAN.items():
        desk.write(name, text)
    before = desk.tree()
    run = desk.run()
    run.put("claude", desk.parts())

    assert run.roll_back(Registry()) == []

    assert desk.tree() == before
    assert registry.load(desk.registry_path) == Registry()


def test_rolling_back_leaves_a_file_that_another_program_changed_and_names_it(desk: Desk) -> None:
    run = desk.run()
    run.put("claude", desk.parts())
    path = desk.folder / "AGENTS.md"
    path.write_text("theirs\n")

    assert run.roll_back(Registry()) == [str(path)]
    assert path.read_text() == "theirs\n"


def test_what_only_the_person_can_do_is_told(desk: Desk) -> None:
    told = Told(command=("claude", "mcp", "add"), why="its file is its own")

    (change,) = desk.put(told)

    assert (change.status, change.command, change.path) == ("told", ("claude", "mcp", "add"), "")


def test_unlinking_when_a_person_has_removed_the_file_forgets_it(desk: Desk) -> None:
    desk.put(desk.parts()[0])
    (desk.folder / "AGENTS.md").unlink()

    assert desk.take(desk.parts()[0]) == []
    assert registry.load(desk.registry_path).files == {}


def test_a_link_after_the_person_removed_our_part_puts_it_again(desk: Desk) -> None:
    path = desk.write(".mcp.json", '{"a": 1}\n')
    desk.put(desk.parts()[2])
    path.write_text('{"a": 2}\n')

    (change,) = desk.put(desk.parts()[2])
    assert change.status == "written"
    desk.take(desk.parts()[2])

    assert path.read_text() == '{"a": 2}\n'


def test_an_adopted_part_is_taken_and_the_rest_stays(desk: Desk) -> None:
    text = json.dumps({"mcpServers": {"other": {"command": "x"}, "engram": SERVER}}, indent=2)
    path = desk.write(".mcp.json", text)

    assert statuses(desk.put(desk.parts()[2])) == {"unchanged"}
    assert statuses(desk.take(desk.parts()[2])) == {"removed"}

    assert json.loads(path.read_text()) == {"mcpServers": {"other": {"command": "x"}}}


def test_the_registry_is_private_and_holds_nothing_of_a_person(desk: Desk) -> None:
    secret = "sk-live-do-not-copy-me"
    desk.write(".mcp.json", json.dumps({"env": {"KEY": secret}, "mcpServers": {"other": {"env": {"K": secret}}}}))
    desk.write(".claude/settings.json", json.dumps({"hooks": {"Stop": [{"x": secret}]}, "apiKey": secret}))
    desk.write("AGENTS.md", f"{secret}\n")
    desk.put()

    assert os.stat(desk.registry_path).st_mode & 0o777 == 0o600
    assert secret not in Path(desk.registry_path).read_text()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 1}', '{"version": 1, "files": [], "links": 3, "folders": 1}']
)
def test_a_damaged_registry_is_named_and_not_replaced(desk: Desk, text: str) -> None:
    path = Path(desk.registry_path)
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(IntegrityFailed, match="damaged"):
        desk.put()

    assert path.read_text() == text
    assert desk.tree() == {}


def test_a_registry_of_a_newer_engram_is_left_alone(desk: Desk) -> None:
    path = Path(desk.registry_path)
    path.parent.mkdir()
    path.write_text('{"version": 99}')

    with pytest.raises(Unsupported):
        desk.put()
