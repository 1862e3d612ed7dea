"""A data folder that cannot be written: what is there is read, and nothing else is promised."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram.errors import Unsupported
from engram.storage.sqlite.connect import connect
from engram.storage.sqlite.read_only import connect_read_only
from engram.storage.sqlite.store import SqliteStore
from tests.cli.terminal import Ended, engram

pytestmark = pytest.mark.skipif(
    os.name != "posix" or (os.geteuid() == 0 and shutil.which("setpriv") is None), reason="modes that hold for us"
)

# The superuser may write everywhere, unless it gives that up.
AS_ANYBODY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.name == "posix" else []


def anybody(*arguments: str, cwd: Path) -> Ended:
    """A command of somebody whom the modes of files bind."""
    before = AS_ANYBODY if os.geteuid() == 0 else []
    done = subprocess.run(
        [*before, sys.executable, "-m", "engram", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, "ENGRAM_PROJECT": "shop"},
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    engram("init", cwd=folder)
    engram("save-session", "--force", "TYPE: rule | TEXT: Use pnpm for installing packages.", cwd=folder)
    engram("save", "The lockfile", "pnpm keeps its lockfile", cwd=folder)
    return folder


@pytest.fixture
def fixed(shop: Path, data: Path) -> Iterator[Path]:
    """The workspace, and a data folder that nobody may write."""
    modes = {path: path.stat().st_mode for path in (data, *data.rglob("*"))}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield shop
    for path, mode in modes.items():
        path.chmod(mode)


READS = {
    "load install packages with pnpm": 'state="approved"',
    "route install packages": "use-pnpm",
    "search lockfile": "#1 [manual] The lockfile",
    "": "1 observation",
    "context": "The lockfile",
    "show 1": "pnpm keeps its lockfile",
    "verify": "1 file looked at: 1 ok",
    "review": "Nothing waits",
    "trust --status": "trusted",
    "export -": "pnpm keeps its lockfile",
    "doctor": "cannot be written",
}


@pytest.mark.parametrize("cache", ["kept", "gone"])
def test_reading_works_from_a_folder_that_cannot_be_written(shop: Path, data: Path, cache: str) -> None:
    if cache == "gone":
        shutil.rmtree(data / "cache")
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    modes = {path: path.stat().st_mode for path in (data, *data.rglob("*"))}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for command, says in READS.items():
            ended = anybody(*command.split(), cwd=shop)
            assert ended.status == 0, (command, ended.err)
            assert says in ended.out, command
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("command", ["save A B", "delete 1", "undo --yes", "propose --scope=workspace x"])
def test_writing_there_is_refused_in_a_sentence(fixed: Path, command: str) -> None:
    ended = anybody(*command.split(), cwd=fixed)

    assert ended.status == 1
    assert "Traceback" not in ended.err
    assert "cannot be" in ended.err
    assert "  next: " in ended.err


def test_memories_are_read_where_no_data_folder_can_be_made(
    shop: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENGRAM_DATA_DIR")
    home.chmod(0o555)
    try:
        loaded = anybody("load", "install", "packages", cwd=shop)
        found = anybody("search", "lockfile", cwd=shop)
    finally:
        home.chmod(0o755)

    assert loaded.status == 0
    assert "workspace not trusted" in loaded.out  # who approved what is in the data folder
    assert (found.status, found.out.startswith("No memories found")) == (0, True)


def test_no_temporary_index_is_left_behind(fixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))

    assert anybody("load", "install", "packages", cwd=fixed).status == 0

    assert list(place.iterdir()) == []


# -- the store itself --------------------------------------------------------------------------------------------------


def made(folder: Path) -> Path:
    path = folder / "engram.db"
    store = SqliteStore(str(path))
    with store.write():
        pass
    store.close()
    return path


def test_an_older_schema_is_not_guessed_at(tmp_path: Path) -> None:
    path = made(tmp_path)
    connection = connect(str(path))
    connection.execute("PRAGMA user_version = 0")
    connection.close()

    with pytest.raises(Unsupported, match="older schema"):
        connect_read_only(str(path))


def test_changes_that_cannot_be_read_without_writing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path)
    connection = connect(str(path))
    connection.execute("CREATE TABLE late (n)")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("engram.db", "engram.db-wal"):
        shutil.copy(tmp_path / name, copy / name)
    connection.close()
    copy.chmod(0o555)
    code = "import sys; from engram.storage.sqlite.read_only import connect_read_only; connect_read_only(sys.argv[1])"
    before = AS_ANYBODY if os.geteuid() == 0 else []
    try:
        done = subprocess.run(
            [*before, sys.executable, "-c", code, str(copy / "engram.db")], capture_output=True, text=True
        )
    finally:
        copy.chmod(0o755)

    assert done.stderr.strip().split("\n")[-1].startswith("engram.errors.StoreUnavailable")
    assert "engram.db-wal, which cannot be read without writing here" in done.stderr


# -- something else in the place of what is ours -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "is_folder", "command"),
    [
        ("data", False, "config set load.limit 4 --user"),
        ("data", False, "save A B"),
        ("data/engram.db", True, "search word"),
        ("data/ledger", False, "propose --scope=workspace x"),
        ("data/engram.config.json", True, "config set load.limit 4 --user"),
        ("data/profiles.json", True, "profile"),
        ("shop/.agents/.engram/engram.config.json", True, "config set load.limit 4"),
        ("shop/.agents/.engram/.gitignore", True, "init"),
        ("shop/.agents/.engram/pending-approvals.json", True, "review"),
        ("shop/.agents/.engram/rules", False, "save-session --force Dogs-never-meow-here."),
        ("shop/CLAUDE.md", True, "propose --from CLAUDE.md"),
    ],
)
def test_a_folder_in_place_of_a_file_or_a_file_in_place_of_a_folder_is_a_sentence(
    shop: Path, tmp_path: Path, place: str, is_folder: bool, command: str
) -> None:
    path = tmp_path / place
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if is_folder:
        (path / "inside").mkdir(parents=True)
    else:
        path.write_text("no folder")

    ended = engram(*command.split(), cwd=shop)

    assert ended.status != 0
    assert "Traceback" not in ended.err
    assert ended.err.startswith("engram: ")


def test_the_cache_is_not_needed_for_reading(shop: Path, data: Path) -> None:
    shutil.rmtree(data / "cache")
    (data / "cache").write_text("no folder")

    ended = engram("load", "installing", "packages", cwd=shop)

    assert (ended.status, ended.err) == (0, "")
    assert "Use pnpm" in ended.out
