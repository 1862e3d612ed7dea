"""Every host in every state of a person's files: linked, linked again, unlinked.

What a link writes stands in `golden/<host>.txt`, so that a change of it is seen; `GOLDEN=write` renews them.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engram.hosts.editing import json_text
from engram.hosts.editing.wholes import MARK
from engram.hosts.host import Place, Wanted
from engram.hosts.parts import Block, Element, Member, Part, Table, Told, Whole
from engram.hosts.table import HOSTS, named
from tests.hosts.world import ENGRAM, NOW, OLDER, SERVER, World

GOLDEN = Path(__file__).parent / "golden"
NAMES = [host.name for host in HOSTS]
SCOPES = [False, True]

MARKDOWN = "# Ours\n\nWe test first.\n"
TOML = 'model = "x"\n\n[mcp_servers.other]\ncommand = "theirs"\n'


def _json(keys: tuple[str, ...], *, is_list: bool) -> str:
    inner: object = [{"command": "theirs"}] if is_list else {"other": {"command": "theirs"}}
    for key in reversed(keys if is_list else keys[:-1]):
        inner = {key: inner}
    return json.dumps({"theme": "dark", **(inner if isinstance(inner, dict) else {})}, indent=4) + "\n"


def human(part: Part) -> str:
    """A file that a person could have where this part belongs."""
    match part:
        case Block():
            return MARKDOWN
        case Table():
            return TOML
        case Member() | Element():
            return _json(part.keys, is_list=isinstance(part, Element))
    raise AssertionError(part)


def _crlf(text: str, path: str) -> str:
    return text.replace("\n", "\r\n")


def _no_newline(text: str, path: str) -> str:
    return text.rstrip("\n")


def _byte_order_mark(text: str, path: str) -> str:
    return "\ufeff" + text


def _comments(text: str, path: str) -> str:
    if path.endswith((".md", ".mdc")):
        return "<!-- ours -->\n" + text + "\n<!-- the end -->\n"
    if path.endswith(".toml"):
        return "# ours\n" + text.replace('"theirs"', '"theirs" # do not touch') + "# the end\n"
    commented = text.replace("{", '{ // ours: "x" {', 1).replace('"theme"', '/* look */ "theme"')
    return "// the beginning\n" + commented.rstrip("\n") + "\n// the end\n"


def _trailing_commas(text: str, path: str) -> str:
    if path.endswith((".md", ".mdc", ".toml")):
        return text
    return text.replace('"theirs"\n', '"theirs",\n').replace("}\n}", "},\n}")


def _one_line(text: str, path: str) -> str:
    return text if path.endswith((".md", ".mdc", ".toml")) else json.dumps(json.loads(text), separators=(",", ":"))


STATES: dict[str, Callable[[str, str], str]] = {
    "human": lambda text, path: text,
    "crlf": _crlf,
    "no final newline": _no_newline,
    "byte order mark": _byte_order_mark,
    "comments": _comments,
    "trailing commas": _trailing_commas,
    "one line": _one_line,
}


def parts_of(world: World, name: str, *, is_global: bool) -> list[Part]:
    place = Place(home=str(world.home), workspace=str(world.project), is_global=is_global, environ={}, platform="linux")
    return named(name).parts(place, Wanted(server=SERVER, engram=ENGRAM, version=NOW.version))


def edited(world: World, name: str, *, is_global: bool) -> Iterator[tuple[Path, Part]]:
    """Files in which something of a person's can stand beside ours, with the first part that goes there."""
    seen: set[str] = set()
    for part in parts_of(world, name, is_global=is_global):
        if not isinstance(part, Told | Whole) and part.path not in seen:
            seen.add(part.path)
            yield Path(part.path), part


def said(path: Path) -> object:
    text = path.read_bytes().decode("utf-8-sig")
    if path.suffix == ".toml":
        return tomllib.loads(text.replace("\r\n", "\n"))
    return text if path.suffix in (".md", ".mdc") or "rules" in path.name else json_text.read(text).value


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("is_global", SCOPES, ids=["workspace", "global"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("state", ["empty", *STATES])
def test_linked_linked_again_and_unlinked_the_same_bytes_stand_there(
    world: World, state: str, name: str, is_global: bool
) -> None:
    if state != "empty":
        for path, part in edited(world, name, is_global=is_global):
            world.write(str(path.relative_to(world.folder)), STATES[state](human(part), str(path)))
    before = world.tree()
    links, at = world.links(), {"workspace": str(world.project), "is_global": is_global}

    first = links.link([name], **at)  # type: ignore[arg-type]
    assert [change for change in first.changes if change.is_trouble] == []
    assert {change.status for change in first.changes} <= {"written", "told"}
    for path, part in edited(world, name, is_global=is_global):
        if isinstance(part, Block):
            assert ("We test first." in str(said(path))) == (state != "empty")
        else:
            assert ("theirs" in str(said(path))) == (state != "empty")

    linked, times = world.tree(), world.times()
    second = links.link([name], **at)  # type: ignore[arg-type]
    assert {change.status for change in second.changes} <= {"unchanged", "told"}
    assert (world.tree(), world.times()) == (linked, times)

    last = links.unlink([name], **at)  # type: ignore[arg-type]
    assert [change for change in last.changes if change.is_trouble] == []
    assert world.tree() == before


def _unparseable(path: Path, part: Part) -> None:
    texts = {".toml": "model = [", ".md": "<!-- engram:start -->\nno end\n", ".mdc": "<!-- engram:end -->\n"}
    path.write_text(texts.get(path.suffix, "<!-- engram:start -->\n" if isinstance(part, Block) else '{"theme": '))


def _read_only(path: Path, part: Part) -> None:
    path.write_text(human(part))
    path.chmod(0o444)


def _folder(path: Path, part: Part) -> None:
    path.mkdir()


def _two_blocks(path: Path, part: Part) -> None:
    block = "<!-- engram:start -->\nx\n<!-- engram:end -->\n"
    table = "# engram:start\n# engram:end\n"
    path.write_text(2 * block if isinstance(part, Block) else 2 * table if isinstance(part, Table) else '{"a":1,"a":2')


@pytest.mark.parametrize("is_global", SCOPES, ids=["workspace", "global"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("spoil", [_unparseable, _read_only, _folder, _two_blocks])
def test_a_file_that_cannot_be_edited_is_left_and_named_and_the_others_are_done(
    world: World, spoil: Callable[[Path, Part], None], name: str, is_global: bool
) -> None:
    places = list(edited(world, name, is_global=is_global))
    for path, _ in places:
        path.parent.mkdir(parents=True, exist_ok=True)
    for path, part in places:
        spoil(path, part)
    before = world.tree()
    links = world.links()

    for force in (False, True):
        linked = links.link([name], workspace=str(world.project), is_global=is_global, force=force)
        troubled = {change.path for change in linked.changes if change.is_trouble}
        assert troubled == {str(path) for path, _ in places}
        assert all(change.reason for change in linked.changes if change.is_trouble)
        assert linked.is_whole == (not places)
        after = world.tree()
        assert {key: after[key] for key in before} == before

    links.unlink([name], workspace=str(world.project), is_global=is_global)
    assert world.tree() == before


@pytest.mark.parametrize("is_global", SCOPES, ids=["workspace", "global"])
@pytest.mark.parametrize("name", NAMES)
def test_links_of_the_file_system_are_written_through(world: World, name: str, is_global: bool) -> None:
    for number, (path, part) in enumerate(edited(world, name, is_global=is_global)):
        real = world.write(f"dotfiles/{number}{path.suffix}", human(part))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(real)
    before = world.tree()
    real_before = {path: path.read_bytes() for path in world.folder.glob("dotfiles/*")}
    links, at = world.links(), {"workspace": str(world.project), "is_global": is_global}

    assert links.link([name], **at).is_whole  # type: ignore[arg-type]
    assert {name: kind for name, kind in world.tree().items() if isinstance(kind, str)} == {
        name: kind for name, kind in before.items() if isinstance(kind, str)
    }
    assert all("engram" in path.read_text() for path in real_before)

    links.unlink([name], **at)  # type: ignore[arg-type]
    assert world.tree() == before
    assert {path: path.read_bytes() for path in real_before} == real_before


@pytest.mark.parametrize("is_global", SCOPES, ids=["workspace", "global"])
@pytest.mark.parametrize("name", NAMES)
def test_an_older_version_is_brought_up_to_date_and_still_gives_back_the_same_bytes(
    world: World, name: str, is_global: bool
) -> None:
    for path, part in edited(world, name, is_global=is_global):
        world.write(str(path.relative_to(world.folder)), human(part))
    before = world.tree()
    at = {"workspace": str(world.project), "is_global": is_global}
    world.links(OLDER).link([name], **at)  # type: ignore[arg-type]
    is_pinned = any(isinstance(data, bytes) and b"0.0.1" in data for data in world.tree().values())

    linked = world.links().link([name], **at)  # type: ignore[arg-type]

    assert ("updated" in {change.status for change in linked.changes}) >= is_pinned
    assert not any(
        isinstance(data, bytes) and (b"0.0.1" in data or b"/opt/old" in data) for data in world.tree().values()
    )
    fresh = World(world.folder / "fresh")
    for path, part in edited(world, name, is_global=is_global):
        fresh.write(str(path.relative_to(world.folder)), human(part))
    fresh.links().link([name], workspace=str(fresh.project), is_global=is_global)
    assert world.tree() == fresh.tree()

    world.links().unlink([name], **at)  # type: ignore[arg-type]
    assert world.tree() == before


@pytest.mark.parametrize("name", NAMES)
def test_what_a_link_writes_is_as_it_was_looked_at(tmp_path: Path, name: str) -> None:
    shown = []
    for is_global in SCOPES:
        for state in ("empty", "comments"):
            world = World(tmp_path / f"{is_global}-{state}")
            if state != "empty":
                for path, part in edited(world, name, is_global=is_global):
                    world.write(str(path.relative_to(world.folder)), STATES[state](human(part), str(path)))
            linked = world.links().link([name], workspace=str(world.project), is_global=is_global)
            shown.append(f"==== {'global' if is_global else 'workspace'}, {state}\n")
            shown += [f"to do: {' '.join(change.command)}\n" for change in linked.changes if change.command]
            shown += [_shown(name, data) for name, data in world.tree().items() if isinstance(data, bytes)]
    text = "".join(shown)
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def _shown(name: str, data: bytes) -> str:
    text = data.decode()
    if MARK in text:  # a text of ours: it has tests of its own
        text = f"(ours, {MARK})\n"
    return f"---- {name}\n{text}" + ("" if text.endswith("\n") else "(no newline)\n")
