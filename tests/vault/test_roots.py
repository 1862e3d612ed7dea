"""Where memories live, what stays out of Git, and what git makes of two people's memories."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.errors import InvalidInput, NotFound, SettingsError
from engram.vault import setup
from engram.vault.roots import (
    Profiles,
    check_profile_name,
    global_root,
    inside,
    read_profiles,
    root_at,
    workspace_root,
    write_profiles,
)
from tests.conftest import git
from tests.services.governed import files, root_of, save, saved_id, state_of

ROOT = Path(".agents") / ".engram"


def made(folder: Path) -> Path:
    (folder / ROOT).mkdir(parents=True)
    return folder / ROOT


def found(folder: Path, home: Path) -> str | None:
    root = workspace_root(str(folder), home=str(home))
    return None if root is None else root.path


def test_the_nearest_root_at_or_above_a_folder_is_found(tmp_path: Path, home: Path) -> None:
    outer, inner = made(home / "a"), made(home / "a" / "b" / "c")
    (home / "a" / "b" / "c" / "d").mkdir()

    assert found(home / "a" / "b" / "c" / "d", home) == str(inner)
    assert found(home / "a" / "b", home) == str(outer)
    assert found(home, home) is None


def test_the_search_ends_at_the_home_folder(tmp_path: Path, home: Path) -> None:
    made(tmp_path)
    (home / "x").mkdir()

    assert found(home / "x", home) is None
    at_home = made(home)
    assert found(home / "x", home) == str(at_home)


def test_a_link_to_a_folder_leads_to_the_same_root(tmp_path: Path, home: Path) -> None:
    root = made(home / "real")
    (home / "link").symlink_to(home / "real")

    assert found(home / "link", home) == str(root)


def test_a_process_sees_at_once_where_its_nearest_root_is(make_app: Callable[..., App], home: Path) -> None:
    outer = made(home / "a")
    deep = home / "a" / "b"
    deep.mkdir()
    app = make_app(workspace=deep)

    def nearest() -> str | None:
        place = app.roots.workspace
        return place.root.path if place is not None else None

    assert [nearest(), nearest()] == [str(outer), str(outer)]
    inner = made(deep)
    assert nearest() == str(inner)
    shutil.rmtree(deep / ".agents")
    assert nearest() == str(outer)
    subprocess.run(["git", "init", "-q", str(home / "a")], check=True)
    place = app.roots.workspace
    assert place is not None
    assert place.root.repository == str(home / "a")
    shutil.rmtree(home / "a" / ".agents")
    assert nearest() is None


def test_a_root_has_one_identity_in_all_worktrees(repository: Callable[..., Path], tmp_path: Path) -> None:
    main = repository("main")
    tree = tmp_path / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    one = root_at(str(made(main)), scope="workspace")
    other = root_at(str(made(tree)), scope="workspace")

    assert (one.identity, one.shared_key) == (other.identity, other.shared_key)
    assert one.path != other.path
    assert (one.repository, other.repository) == (str(main), str(tree))


def test_two_clones_are_two_roots(repository: Callable[..., Path], tmp_path: Path) -> None:
    one, other = repository("one"), tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(one), str(other)], check=True)

    assert (
        root_at(str(made(one)), scope="workspace").shared_key != root_at(str(made(other)), scope="workspace").shared_key
    )


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "rules/../../x", "link/x.md", "rules/a\0b"])
def test_no_path_leads_out_of_a_root(tmp_path: Path, path: str) -> None:
    root = root_at(str(made(tmp_path)), scope="workspace")
    (tmp_path / ROOT / "link").symlink_to(tmp_path)

    with pytest.raises(NotFound, match="leads out"):
        inside(root, path)


# -- the global root and its profiles ----------------------------------------------------------------------------------


def test_the_global_root_is_chosen_in_this_order(tmp_path: Path, home: Path) -> None:
    data = str(tmp_path / "data")
    for name in ("user", "env", "work", "chosen"):
        (tmp_path / name).mkdir()
    paths = {name: str(tmp_path / name) for name in ("user", "env", "work", "chosen")}

    def where(**given: str) -> str:
        environ = {name: value for name, value in given.items() if name.isupper()}
        rest = {name: value for name, value in given.items() if name.islower()}
        return global_root(data_folder=data, environ=environ, **rest).path

    assert where() == str(home / ".engram" / "global")
    write_profiles(data, Profiles(active="user", paths=paths))
    assert where() == paths["user"]
    assert where(workspace_default="work") == paths["work"]
    assert where(workspace_default="work", ENGRAM_PROFILE="env") == paths["env"]
    assert where(workspace_default="work", ENGRAM_PROFILE="env", ENGRAM_GLOBAL_DIR=str(tmp_path)) == str(tmp_path)
    assert where(chosen="chosen", ENGRAM_PROFILE="env", ENGRAM_GLOBAL_DIR=str(tmp_path)) == paths["chosen"]
    with pytest.raises(SettingsError, match="profile"):
        where(chosen="nobody")
    with pytest.raises(SettingsError, match="profile"):
        where(ENGRAM_PROFILE="nobody")


@pytest.mark.parametrize("name", ["nobody", "../../etc", "a b", "x" * 100])
def test_a_profile_that_is_set_and_missing_is_a_root_where_nothing_is(tmp_path: Path, name: str) -> None:
    root = global_root(data_folder=str(tmp_path), environ={}, workspace_default=name)

    assert (root.exists, bool(root.problem)) == (False, True)
    assert Path(root.path).parent == tmp_path
    assert ".." not in root.problem
    with pytest.raises(SettingsError, match="not known on this machine"):
        setup.create(root)
    assert list(tmp_path.glob("no*")) == []


def test_profiles_are_read_back_and_a_broken_file_is_named(tmp_path: Path) -> None:
    profiles = Profiles(active="a", paths={"a": "/x/ü", "b": "~/y"})
    write_profiles(str(tmp_path), profiles)

    assert read_profiles(str(tmp_path)) == profiles
    for text in ("", "[]", '{"profiles": 1}', '{"profiles": {"a": {}}}', "null"):
        (tmp_path / "profiles.json").write_text(text, encoding="utf-8")
        with pytest.raises(SettingsError, match="profiles"):
            read_profiles(str(tmp_path))


@pytest.mark.parametrize("name", ["", "../x", "a b", "-a", "a" * 65, "é", ".a"])
def test_a_name_that_is_none_makes_no_profile(name: str) -> None:
    with pytest.raises(InvalidInput, match="profile"):
        check_profile_name(name)


# -- what stays out of Git ---------------------------------------------------------------------------------------------


def test_the_ignore_file_is_written_once_and_keeps_what_others_wrote(tmp_path: Path) -> None:
    root = root_at(str(made(tmp_path)), scope="workspace")
    path = tmp_path / ROOT / ".gitignore"
    path.write_bytes(b"mine/\r\n# a comment")

    assert setup.create(root) is False
    first = path.read_bytes()
    stamp = path.stat().st_mtime_ns
    setup.create(root)
    setup.complete(root)

    assert first.startswith(b"mine/\r\n# a comment\n")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (first, stamp)
    for pattern in (b"working/", b"pending-approvals.json", b"inbox/"):
        assert first.count(b"\n" + pattern + b"\n") == 1


def test_a_line_that_was_taken_out_of_the_ignore_file_comes_back_without_repeating_the_rest(tmp_path: Path) -> None:
    root = root_at(str(made(tmp_path)), scope="workspace")
    setup.create(root)
    path = tmp_path / ROOT / ".gitignore"
    path.write_text(path.read_text(encoding="utf-8").replace("working/\n", ""), encoding="utf-8")

    setup.complete(root)

    lines = path.read_text(encoding="utf-8").splitlines()
    assert "working/" in lines
    assert lines.count("pending-approvals.json") == 1


def test_only_memories_and_settings_reach_git(make_app: Callable[..., App], repository: Callable[..., Path]) -> None:
    folder = repository("clean")
    app = make_app(workspace=folder)
    app.trust.init()
    app.trust.change_setting("load.limit", 4)
    saved_id(app, "TYPE: rule | TEXT: Never log session tokens. | ID: tokens")
    app.proposals.propose("TYPE: rule | TEXT: Waiting for a person.")
    app.proposals.commit(app.proposals.propose_note("The flaky test depends on the clock.").token, "all")
    save(app, "TYPE: rule | TEXT: Whales sing in the ocean. | ID: whales")
    app.review.archive("whales")

    git(folder, "add", "-A")

    assert git(folder, "ls-files").split() == [
        ".agents/.engram/.gitignore",
        ".agents/.engram/archive/rules/whales.md",
        ".agents/.engram/engram.config.json",
        ".agents/.engram/rules/tokens.md",
    ]


# -- two people --------------------------------------------------------------------------------------------------------

HERS = [
    "Invoices are kept for ten years.",
    "The search index is rebuilt on Sundays.",
    "Avatars are resized in the browser.",
    "Refunds need a second pair of eyes.",
    "Exports run in a queue of their own.",
    "Mail templates live beside the code that sends them.",
    "Coupons cannot be combined.",
    "The warehouse closes at noon on Fridays.",
    "Prices are integers of cents.",
    "Staging is wiped each night.",
]
HIS = [
    "Migrations are reviewed by the database group.",
    "Feature flags expire after one quarter.",
    "Logs never hold addresses of customers.",
    "Translations come from the community portal.",
    "Screenshots belong into pull requests.",
    "Webhooks are retried with growing pauses.",
    "Backups are restored once a month as an exercise.",
    "The mobile app pins its certificates.",
    "Analytics events are named in past tense.",
    "Carts survive a change of device.",
]
SHARED = {
    "shared-one": "Whales sing in the ocean.",
    "shared-two": "Sessions live in Redis.",
    "shared-three": "Errors carry a hint.",
}


def person(make_app: Callable[..., App], folder: Path, name: str) -> App:
    git(folder, "config", "user.name", name)
    git(folder, "config", "user.email", f"{name.lower()}@example.org")
    return make_app(workspace=folder, process=name, ENGRAM_DATA_DIR=str(folder.parent / f"data-{name}"))


def write_memories(app: App, texts: list[str]) -> None:
    for at, text in enumerate(texts):
        assert saved_id(app, f"TYPE: knowledge\nTEXT: {text}\nTITLE: Finding {at}")


def committed(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


@pytest.mark.parametrize("her_way", [True, False], ids=["she merges his", "he merges hers"])
def test_two_people_who_save_offline_merge_with_plain_git(
    make_app: Callable[..., App], repository: Callable[..., Path], tmp_path: Path, her_way: bool
) -> None:
    origin = repository("origin")
    shared = person(make_app, origin, "Ada")
    shared.trust.init()
    for id, text in SHARED.items():
        assert saved_id(shared, f"TYPE: rule | TEXT: {text} | ID: {id}") == id
    committed(origin, "shared")
    for name in ("hers", "his"):
        subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / name)], check=True)
    hers, his = tmp_path / "hers", tmp_path / "his"
    eve, bob = person(make_app, hers, "Eve"), person(make_app, his, "Bob")
    eve.trust.trust()
    bob.trust.trust()

    write_memories(eve, HERS)
    write_memories(bob, HIS)
    for app, word in ((eve, "Eve"), (bob, "Bob")):
        for id in ("shared-one", "shared-two"):
            save(app, f"TYPE: rule | TEXT: {word} says something new of {id}. | UPDATE: {id}")
    save(bob, "TYPE: rule | TEXT: Bob alone changed this one. | UPDATE: shared-three")
    committed(hers, "hers")
    committed(his, "his")
    twice = set(files(root_of(eve))) & set(files(root_of(bob)))
    assert twice == {f"rules/{id}.md" for id in SHARED}

    mine, other = (hers, his) if her_way else (his, hers)
    git(mine, "fetch", "-q", str(other))
    merged = subprocess.run(["git", "-C", str(mine), "merge", "-q", "FETCH_HEAD"], capture_output=True, check=False)

    assert merged.returncode == 1
    conflicts = git(mine, "diff", "--name-only", "--diff-filter=U").split()
    assert conflicts == [f".agents/.engram/rules/shared-{n}.md" for n in ("one", "two")]
    app = eve if her_way else bob
    for path in files(root_of(app)):
        id = Path(path).stem
        if id in ("shared-one", "shared-two"):
            assert {row.state for row in app.review.verify().rows if row.path == path} == {"unreadable"}
    git(mine, "checkout", "--ours", "--", *conflicts)
    git(mine, "add", "-A")
    git(mine, "commit", "-q", "-m", "merged")

    assert app.review.verify().wrong == ()
    for path in files(root_of(app)):
        assert state_of(app, Path(path).stem) == "body", path


def test_two_people_who_save_the_same_words_offline_merge_without_a_conflict(
    make_app: Callable[..., App], repository: Callable[..., Path], tmp_path: Path
) -> None:
    origin = repository("origin")
    person(make_app, origin, "Ada").trust.init()
    committed(origin, "root")
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True)
    for folder, name in zip(folders, ("Eve", "Bob"), strict=True):
        app = person(make_app, folder, name)
        app.trust.trust()
        save(app, "TYPE: rule | TEXT: Never log session tokens.")
        committed(folder, name)

    git(folders[0], "fetch", "-q", str(folders[1]))
    git(folders[0], "merge", "-q", "FETCH_HEAD")

    app = person(make_app, folders[0], "Eve")
    assert app.review.verify().wrong == ()
    assert all(state_of(app, Path(path).stem) == "body" for path in files(root_of(app)))


def test_a_repository_under_way_is_no_reason_to_fail(
    make_app: Callable[..., App], repository: Callable[..., Path]
) -> None:
    folder = repository("odd")
    app = make_app(workspace=folder)
    app.trust.init()
    id = saved_id(app, "TYPE: rule | TEXT: Never log session tokens.")
    os.unlink(folder / ".git" / "HEAD")

    assert state_of(app, id) == "body"
