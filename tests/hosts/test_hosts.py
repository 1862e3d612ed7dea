"""What a link puts where: every program, in a workspace and for a person. `links.txt` is the table of the contract."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from engram.errors import InvalidInput
from engram.hosts import texts
from engram.hosts.editing import blocks, elements, members, tables, wholes
from engram.hosts.host import Host, Wanted
from engram.hosts.parts import Block, Element, Member, Part, Table, Told, Whole
from engram.hosts.table import ABILITIES, HOSTS, YES, capabilities, named
from tests.hosts.worlds import ENGRAM, HOME, SHOP, lines, place, wanted

TABLE = (Path(__file__).parent / "links.txt").read_text(encoding="utf-8")
SCOPES = ("workspace", "global")
EVERYWHERE = [pytest.param(host, scope, id=f"{host.name}-{scope}") for host in HOSTS for scope in SCOPES]
SPACED = "/home/a/my programs/bin/engram"


def path_of(part: Part) -> str:
    return "" if isinstance(part, Told) else part.path


def only(parts: list[Part], kind: type) -> Any:
    found = [part for part in parts if isinstance(part, kind)]
    assert len(found) == 1
    return found[0]


def hooks(parts: list[Part]) -> list[Element]:
    return [part for part in parts if isinstance(part, Element)]


def linked(name: str, scope: str, *, wish: Wanted | None = None, **about: Any) -> list[Part]:
    return named(name).parts(place(scope, **about), wish or wanted())


def put(text: str | None, part: Part) -> str:
    match part:
        case Block():
            return blocks.put(text or "", part).text
        case Member():
            return members.put(text or "", part).text
        case Element():
            return elements.put(text or "", part).text
        case Table():
            return tables.put(text or "", part).text
        case Whole():
            return wholes.put(text, part, known="", force=False).text
        case _:
            return text or ""


def take(text: str, part: Part) -> str:
    match part:
        case Block():
            return blocks.take(text, part).text
        case Member():
            return members.take(text, part, containers=None).text
        case Element():
            return elements.take(text, part, containers=None).text
        case Table():
            return tables.take(text, part).text
        case Whole():
            return wholes.take(text, part, known="", force=False).text
        case _:
            return text


def all_put(files: dict[str, str], parts: list[Part]) -> dict[str, str]:
    files = dict(files)
    for part in parts:
        if path_of(part):
            files[path_of(part)] = put(files.get(path_of(part)), part)
    return files


def read(files: dict[str, str]) -> dict[str, Any]:
    return {path: json.loads(text) if text.startswith("{") else text for path, text in files.items()}


@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_a_link_puts_what_the_table_says(host: Host, scope: str) -> None:
    _, _, rest = TABLE.partition(f"== {host.name} {scope}\n")
    wanted_lines = rest.partition("\n==")[0].strip("\n").split("\n")

    assert lines(host, scope) == [line for line in wanted_lines if line]


@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_a_scope_without_parts_says_why_and_others_do_not(host: Host, scope: str) -> None:
    assert bool(host.parts(place(scope), wanted())) is (scope not in host.absent)


@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_paths_are_absolute_and_stay_in_the_scope(host: Host, scope: str) -> None:
    for part in host.parts(place(scope), wanted()):
        if scope == "workspace":
            assert path_of(part).startswith(f"{SHOP}/")
        elif path_of(part):
            assert path_of(part).startswith(f"{HOME}/")
            assert not path_of(part).startswith(f"{SHOP}/")


@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_no_two_parts_of_one_program_meet(host: Host, scope: str) -> None:
    spots = []
    for part in host.parts(place(scope), wanted()):
        if not isinstance(part, Told):
            spots.append((part.path, getattr(part, "keys", ())))
    for (path, keys), (other, others) in itertools.combinations(spots, 2):
        if path == other:
            assert keys, "a text and something else in one file"
            assert others
            assert keys[: len(others)] != others
            assert others[: len(keys)] != keys


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("has_observations", [False, True])
def test_programs_that_share_a_file_agree_on_what_stands_there(scope: str, has_observations: bool) -> None:
    said: dict[object, tuple[str, Part]] = {}
    wish = wanted(has_observations=has_observations, always_load=True)
    for host in HOSTS:
        for part in host.parts(place(scope), wish):
            if isinstance(part, Told):
                continue
            name, before = said.setdefault((part.path, getattr(part, "keys", ())), (host.name, part))
            assert part == before, f"{host.name} and {name}: {part.path}"


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("program", [ENGRAM, SPACED, "C:\\Users\\A B\\Scripts\\engram.exe"])
@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_what_was_put_is_known_again_and_goes_without_a_trace(
    host: Host, scope: str, program: str, platform: str
) -> None:
    parts = host.parts(place(scope, platform=platform), wanted(engram=(program,)))

    files = all_put({}, parts)

    assert all_put(files, parts) == files
    for part in parts:
        if path_of(part):
            files[path_of(part)] = take(files[path_of(part)], part)
    beside = {"\n".join(("{", '  "version": 1', "}")), ""}
    assert {text.strip().replace("{}", "") for text in files.values()} <= beside


@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_a_program_that_moved_is_called_once_and_at_its_new_place(host: Host, scope: str) -> None:
    before = all_put({}, host.parts(place(scope), wanted(engram=(SPACED,), server=("/old place/engram-mcp",))))
    parts = host.parts(place(scope), wanted())

    after = all_put(before, parts)

    assert read(after) == read(all_put({}, parts))


def test_a_hook_of_another_program_is_not_taken_for_ours() -> None:
    part = hooks(linked("claude", "workspace"))[0]
    theirs = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "acme hook claude"}]}]}}

    text = elements.put(json.dumps(theirs), part).text

    assert "acme hook claude" in text
    assert "engram hook claude SessionStart" in text


@pytest.mark.parametrize(
    ("name", "variable", "folder", "usual"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", "/etc/c", "~/.claude"),
        ("slash", "CLAUDE_CONFIG_DIR", "/etc/c", "~/.claude"),
        ("codex", "CODEX_HOME", "/etc/c", "~/.codex"),
        ("opencode", "XDG_CONFIG_HOME", "/etc/c", "~/.config"),
        ("slash", "XDG_CONFIG_HOME", "/etc/c", "~/.config"),
        ("vscode", "XDG_CONFIG_HOME", "/etc/c", "~/.config"),
        ("copilot", "COPILOT_HOME", "/etc/c", "~/.copilot"),
    ],
)
def test_a_folder_of_its_own_choice_is_honoured(name: str, variable: str, folder: str, usual: str) -> None:
    usually = lines(named(name), "global")

    assert lines(named(name), "global", **{variable: folder}) == [
        line.replace(f" {usual}/", f" {folder}/") for line in usually
    ]
    assert lines(named(name), "global", **{variable: "  "}) == usually
    assert lines(named(name), "workspace", **{variable: folder}) == lines(named(name), "workspace")


def test_a_folder_from_the_environment_may_begin_with_a_tilde_or_be_relative() -> None:
    assert place("global", CODEX_HOME="~/c").chosen("CODEX_HOME", ".codex") == f"{HOME}/c"
    assert place("global", CODEX_HOME="~").chosen("CODEX_HOME", ".codex") == HOME
    assert place("global", CODEX_HOME="c/d").chosen("CODEX_HOME", ".codex") == f"{HOME}/c/d"


# --- servers and the human gate


def test_always_load_reaches_only_what_claude_code_reads() -> None:
    found = set()
    for host in HOSTS:
        for scope in SCOPES:
            for part in host.parts(place(scope), wanted(always_load=True)):
                if isinstance(part, Told):
                    found |= {"told"} if "--always-load" in part.command else set()
                elif isinstance(part, Member | Table) and "--always-load" in str(part.value):
                    found.add(part.path)

    assert found == {"told", f"{SHOP}/.mcp.json"}


def test_always_load_comes_behind_the_options_of_the_server() -> None:
    wish = wanted(always_load=True, server=("engram-mcp", "--tools=governed"))

    assert only(linked("mcp", "workspace", wish=wish), Member).value["args"] == ["--tools=governed", "--always-load"]
    assert only(linked("claude", "global", wish=wish), Told).command[-3:] == (
        "engram-mcp",
        "--tools=governed",
        "--always-load",
    )


def test_no_part_says_that_engram_commit_may_run_unasked() -> None:
    for host in HOSTS:
        for scope in SCOPES:
            for part in host.parts(place(scope), wanted()):
                if isinstance(part, Member | Table | Element):
                    said = str(part.value).lower()
                    assert not {"trust", "approve", "allow", "auto"} & set(said.replace("'", " ").split())


def test_a_server_with_options_only_is_still_a_list() -> None:
    assert only(linked("mcp", "workspace", wish=wanted(server=("engram-mcp",))), Member).value == {
        "command": "engram-mcp",
        "args": [],
    }


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ((), "opencode.jsonc"),
        (("opencode.jsonc",), "opencode.jsonc"),
        (("opencode.json",), "opencode.json"),
        (("opencode.json", "opencode.jsonc"), "opencode.json"),
    ],
)
def test_opencode_uses_the_file_that_is_there(scope: str, there: tuple[str, ...], chosen: str) -> None:
    folder = f"{HOME}/.config/opencode" if scope == "global" else SHOP
    parts = linked("opencode", scope, there=[f"{folder}/{name}" for name in there])

    assert {path_of(part) for part in parts if isinstance(part, Member)} == {f"{folder}/{chosen}"}


def test_rules_of_cline_that_are_one_file_get_the_block_there() -> None:
    parts = linked("cline", "workspace", files=[f"{SHOP}/.clinerules"])
    assert only(parts, Block).path == f"{SHOP}/.clinerules"

    parts = linked("cline", "workspace", there=[f"{SHOP}/.clinerules"])
    assert only(parts, Block).path == f"{SHOP}/.clinerules/engram.md"


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, f"{HOME}/.config/Code/User"),
        ("darwin", {}, f"{HOME}/Library/Application Support/Code/User"),
        ("win32", {}, f"{HOME}/AppData/Roaming/Code/User"),
        ("win32", {"APPDATA": "/r"}, "/r/Code/User"),
    ],
)
def test_vs_code_keeps_a_persons_servers_where_the_platform_says(
    platform: str, environ: dict[str, str], folder: str
) -> None:
    assert only(linked("vscode", "global", platform=platform, **environ), Member).path == f"{folder}/mcp.json"


# --- hooks


def test_hooks_on_windows_have_a_line_for_powershell_where_the_host_asks_for_one() -> None:
    wish = wanted(engram=("C:\\A B\\engram.exe",))
    windsurf = hooks(linked("windsurf", "workspace", wish=wish, platform="win32"))[0]
    copilot = hooks(linked("copilot", "global", wish=wish, platform="win32"))[0]

    assert windsurf.value["command"] == '"C:\\A B\\engram.exe" hook windsurf pre_user_prompt'
    assert windsurf.value["powershell"] == "& 'C:\\A B\\engram.exe' 'hook' 'windsurf' 'pre_user_prompt'"
    assert copilot.value["bash"] == '"C:\\A B\\engram.exe" hook copilot sessionStart'
    assert copilot.value["powershell"] == "& 'C:\\A B\\engram.exe' 'hook' 'copilot' 'sessionStart'"


@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_a_hook_names_its_host_and_the_event_it_stands_under(host: Host, scope: str) -> None:
    for part in hooks(host.parts(place(scope), wanted(engram=(SPACED,)))):
        event = part.keys[-1]
        assert part.marks == f"hook {host.name} {event}"
        assert f"'{SPACED}' hook {host.name} {event}" in str(part.value).replace('"', "")


# --- names and abilities


def test_every_name_and_alias_finds_one_program() -> None:
    names = [name for host in HOSTS for name in (host.name, *host.aliases)]

    assert len(names) == len(set(names))
    assert [named(host.name) for host in HOSTS] == list(HOSTS)
    assert {alias: named(alias).name for alias in ("cascade", "open-code", "antigravity-cli")} == {
        "cascade": "windsurf",
        "open-code": "opencode",
        "antigravity-cli": "antigravity",
    }
    assert named(" Claude ").name == "claude"


@pytest.mark.parametrize("name", ["", "emacs", "x" * 500, "a\x1b[2J", "all"])
def test_an_unknown_program_is_refused_with_the_names(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        named(name)

    assert caught.value.exit_status == 2
    assert all(host.name in caught.value.hint for host in HOSTS)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 100


def test_each_ability_is_a_yes_or_a_reason() -> None:
    rows = capabilities()

    assert [row.host for row in rows] == [host.name for host in HOSTS]
    for host, row in zip(HOSTS, rows, strict=True):
        assert tuple(row.cells) == ABILITIES
        assert set(host.lacks) == set(ABILITIES) - host.abilities
        assert set(host.limits) <= host.abilities
        for ability, cell in row.cells.items():
            assert (cell == YES or cell.startswith(f"{YES}; ")) is (ability in host.abilities)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_an_ability_is_there_exactly_when_a_part_gives_it(host: Host) -> None:
    parts = [part for scope in SCOPES for part in host.parts(place(scope), wanted())]
    features = {part.feature for part in parts}

    assert ("instructions" in host.abilities) is ("instructions" in features)
    assert ("guide" in host.abilities) is ("guide" in features)
    assert ("server" in host.abilities) is ("server" in features)
    calls = bool({"hooks"} & features) or any(path_of(part).endswith("plugins/engram.js") for part in parts)
    assert bool({"startup", "prompt", "capture", "proof"} & host.abilities) is calls


def test_programs_are_known_by_signs_in_the_home_folder() -> None:
    for host in HOSTS:
        signs = host.signs(place("global"))
        assert all(sign.startswith(HOME) for sign in signs)
        assert bool(signs) is (host.in_all == "installed")


def test_a_place_says_its_scope() -> None:
    assert [place(scope).scope for scope in SCOPES] == list(SCOPES)


def test_files_of_ours_hold_the_mark_by_which_they_are_known() -> None:
    for host in HOSTS:
        for scope in SCOPES:
            for part in host.parts(place(scope), wanted()):
                if isinstance(part, Whole):
                    assert texts.MARK in part.text
                    assert part.text.endswith("\n")
