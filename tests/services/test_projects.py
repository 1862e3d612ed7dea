"""Rule 9: which project a save or a question is about."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.core.project import near_duplicate
from engram.errors import Conflict, InvalidInput, NotFound, SettingsError
from engram.services.projects import Detected, detect
from tests.conftest import git

Repository = Callable[..., Path]


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that is not below a temporary one, as a person's folder would be."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no writable folder outside the temporary ones")
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def find(folder: Path, home: Path, *, environment: str | None = None, data: Path | None = None) -> tuple[str, str]:
    found = detect(str(folder), environment=environment, home=str(home), data_folder=str(data or home / ".engram"))
    return found.name, found.source


def configure(folder: Path, **values: object) -> None:
    (folder / ".engram").mkdir(parents=True, exist_ok=True)
    (folder / ".engram" / "config.json").write_text(json.dumps(values))


def test_explicit_then_environment_then_config_then_remote_then_root_then_folder(
    home: Path, outside: Path, repository: Repository, make_app: Callable[..., App]
) -> None:
    folder = repository("work", origin="git@example.org:team/from-remote.git")
    configure(folder, project_name="from-config")

    explicit = make_app(workspace=folder, ENGRAM_PROJECT="from-environment").projects.for_writing("given")
    assert explicit == Detected(name="given", source="explicit")
    assert find(folder, home, environment=" from-environment ") == ("from-environment", "environment")
    assert find(folder, home) == ("from-config", "config")
    (folder / ".engram" / "config.json").unlink()
    assert find(folder, home) == ("from-remote", "git_remote")
    git(folder, "remote", "remove", "origin")
    assert find(folder, home) == ("work", "git_root")
    (outside / "plain").mkdir()
    assert find(outside / "plain", home) == ("plain", "folder")


@pytest.mark.parametrize(
    "origin",
    [
        "git@example.org:team/shop.git",
        "https://user:token@example.org/team/shop.git/",
        "https://example.org/shop",
        "ssh://git@example.org:2222/team/shop.git",
        "/srv/git/shop.git",
        "C:\\git\\shop.git",
        "example.org:shop",
    ],
)
def test_the_name_of_the_origin_is_its_repository_name(home: Path, repository: Repository, origin: str) -> None:
    assert find(repository("work", origin=origin), home) == ("shop", "git_remote")


def test_a_folder_deep_inside_a_repository_belongs_to_it(home: Path, repository: Repository) -> None:
    deep = repository("work") / "src" / "deep"
    deep.mkdir(parents=True)

    assert find(deep, home) == ("work", "git_root")


def test_a_worktree_agrees_with_the_main_tree(home: Path, repository: Repository, tmp_path: Path) -> None:
    main = repository("shop")
    git(main, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "feature-tree"))

    assert find(tmp_path / "feature-tree", home) == find(main, home) == ("shop", "git_root")


def test_a_worktree_of_a_bare_repository_has_its_name(home: Path, repository: Repository, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository("source")), str(tmp_path / "shop.git"))
    git(tmp_path / "shop.git", "remote", "remove", "origin")
    git(tmp_path / "shop.git", "worktree", "add", "-q", str(tmp_path / "tree"), "main")

    assert find(tmp_path / "tree", home) == ("shop", "git_root")


def test_home_root_and_temporary_folders_are_unscoped(home: Path, tmp_path: Path) -> None:
    assert find(home, home) == ("unscoped", "unscoped")
    assert find(Path("/"), home) == ("unscoped", "unscoped")
    assert find(tmp_path, home) == ("unscoped", "unscoped")


def test_saving_unscoped_says_so(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(workspace=tmp_path / "plain", ENGRAM_PROJECT="")
    saved = app.observations.save(title="Auth", content="JWT")

    assert (saved.project, saved.project_source) == ("unscoped", "unscoped")
    assert "unscoped" in saved.notices[0]


def test_a_dotfiles_repository_at_home_does_not_swallow_folders_below(outside: Path) -> None:
    git(outside, "init", "-q")
    (outside / "work" / "shop").mkdir(parents=True)

    assert find(outside / "work" / "shop", outside) == ("shop", "folder")
    assert find(outside, outside) == ("unscoped", "unscoped")


def test_a_repository_below_home_is_itself(outside: Path) -> None:
    (outside / "shop").mkdir()
    git(outside / "shop", "init", "-q")

    assert find(outside / "shop", outside) == ("shop", "git_root")


def test_the_nearest_config_above_speaks(home: Path, tmp_path: Path) -> None:
    configure(tmp_path / "a", project_name="outer")
    configure(tmp_path / "a" / "b", project_name="inner")
    (tmp_path / "a" / "b" / "c").mkdir()

    assert find(tmp_path / "a" / "b" / "c", home) == ("inner", "config")
    assert find(tmp_path / "a", home) == ("outer", "config")


def test_a_memory_root_gives_its_folder_a_name(home: Path, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".agents" / ".engram").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()

    assert find(tmp_path / "shop" / "src", home) == ("shop", "root")


def test_the_data_folder_is_never_a_project_config(home: Path, tmp_path: Path) -> None:
    configure(home, project_name="wrong")
    configure(tmp_path / "x", project_name="wrong")

    assert find(home, home)[1] == "unscoped"
    assert find(tmp_path / "x", home, data=tmp_path / "x" / ".engram")[1] == "unscoped"


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"project_name": 3}', '{"project_name": " "}', "\xff"])
def test_a_config_that_cannot_be_read_is_an_error_that_names_it(home: Path, tmp_path: Path, text: str) -> None:
    configure(tmp_path)
    (tmp_path / ".engram" / "config.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(SettingsError, match=r"config\.json"):
        find(tmp_path, home)


def test_a_config_without_a_name_is_passed_over(home: Path, repository: Repository) -> None:
    folder = repository("work")
    configure(folder, other=1)

    assert find(folder, home) == ("work", "git_root")


def test_two_spellings_are_one_project_shown_as_first_seen(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", project="Größe  App")
    again = app.observations.save(
        title="Feed", content="Join", project=unicodedata.normalize("NFD", " grösse app ".upper())
    )

    assert again.project == "Größe App"
    assert [(one.name, one.observations) for one in app.projects.list()] == [("Größe App", 2)]
    assert len(app.search.find("JWT Join", project="GRÖSSE APP").hits) == 2
    assert app.context.recent(project="grösse app").project == "Größe App"


def test_a_name_close_to_a_known_one_is_saved_with_a_warning(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", project="my-app")
    near = app.observations.save(title="Feed", content="Join", project="my_app")

    assert near.project == "my_app"
    assert "`my-app`" in near.notices[0]
    assert app.observations.save(title="More", content="x", project="my_app").notices == ()


@pytest.mark.parametrize(
    ("name", "other", "near"),
    [
        ("my_app", "my-app", True),
        ("my.app", "myapp", True),
        ("engramm", "engram", True),
        ("fronted", "frontend", True),
        ("service1", "service2", False),
        ("api", "app", False),
        ("web", "shop", False),
        ("!!!", "???", False),
    ],
)
def test_what_is_close(name: str, other: str, near: bool) -> None:
    assert (near_duplicate(name, [other]) == other) is near
    assert near_duplicate(other, [other]) is None


def test_an_alias_reads_and_writes_the_same_rows(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", project="shop")
    app.projects.add_alias("Store", "SHOP")
    saved = app.observations.save(title="Feed", content="Join", project="store")

    assert saved.project == "shop"
    assert len(app.search.find("JWT Join", project="STORE").hits) == 2
    assert app.projects.list()[0].aliases == ("Store",)


def test_aliases_refuse_what_would_hide_rows(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", project="shop")
    app.observations.save(title="Feed", content="Join", project="web")

    with pytest.raises(Conflict, match="of its own") as raised:
        app.projects.add_alias("web", "shop")
    assert "projects merge" in raised.value.hint
    with pytest.raises(NotFound):
        app.projects.add_alias("x", "unknown")
    for alias in (" ", "\x00", "x" * 201):
        with pytest.raises(InvalidInput):
            app.projects.add_alias(alias, "shop")


def test_merging_moves_everything_and_the_old_name_keeps_working(app: App) -> None:
    app.sessions.start("s", project="my_app")
    app.observations.save(title="Auth", content="JWT", project="my_app", session_id="s")
    app.sessions.save_prompt("why", session_id="s", project="my_app")
    app.observations.save(title="Feed", content="Join", project="my-app")
    app.projects.add_alias("oldest", "my_app")

    target, moved = app.projects.merge("MY_APP", "my-app")

    assert (target.name, moved) == ("my-app", 1)
    (only,) = app.projects.list()
    assert (only.name, only.observations, only.prompts) == ("my-app", 2, 1)
    for name in ("my_app", "my-app", "oldest"):
        assert {hit.id for hit in app.search.find("JWT Join", project=name).hits} == {1, 2}
    assert app.observations.save(title="More", content="x", project="my_app").project == "my-app"


def test_a_topic_that_both_have_keeps_both_texts(app: App) -> None:
    app.observations.save(title="Auth", content="Sessions", project="one", topic_key="architecture/auth-model")
    app.observations.save(title="Auth", content="JWT", project="two", topic_key="architecture/auth-model")

    app.projects.merge("one", "two")

    assert (app.observations.get(1).observation.content, app.observations.get(2).observation.content) == (
        "Sessions",
        "JWT",
    )
    revised = app.observations.save(title="Auth", content="Paseto", project="two", topic_key="architecture/auth-model")
    assert revised.id == 2
    assert [finding for finding in app.store.check(deep=True) if finding.level != "ok"] == []


def test_merging_the_unknown_or_itself_is_refused(app: App) -> None:
    app.observations.save(title="Auth", content="JWT", project="shop")
    app.projects.add_alias("store", "shop")

    with pytest.raises(NotFound):
        app.projects.merge("shop", "unknown")
    with pytest.raises(NotFound):
        app.projects.merge("unknown", "shop")
    with pytest.raises(Conflict):
        app.projects.merge("store", "shop")


def test_reading_an_unknown_project_finds_nothing_and_makes_nothing(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")

    assert app.search.find("JWT", project="nowhere").hits == []
    assert app.context.recent(project="nowhere").lines == []
    assert app.sessions.recent(project="nowhere", limit=5) == []
    assert len(app.projects.list()) == 1
    for use in (lambda: app.search.find("x", project=" "), lambda: app.context.recent(project="")):
        with pytest.raises(InvalidInput, match="project"):
            use()
