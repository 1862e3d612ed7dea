"""Opening a database: created once, upgraded with a copy, refused when it is not ours."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from engram.errors import IntegrityFailed, StoreUnavailable, Unsupported
from engram.storage.sqlite import schema
from engram.storage.sqlite.connect import APPLICATION_ID, connect
from engram.storage.sqlite.store import SqliteStore

NOW = "2026-03-02T09:00:00.000Z"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "engram.db")


def prepare(path: str, **options: str) -> None:
    schema.prepare(path, synchronous="FULL", now=NOW, **options)


def digest(folder: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
        if file.is_file() and not file.name.endswith(("-shm", "-wal", ".lock"))
    }


def run(path: str, sql: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(path)
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


def test_a_new_database_carries_our_mark_and_version(path: str) -> None:
    prepare(path)

    assert run(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert run(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert run(path, "SELECT count(*) FROM sqlite_master WHERE name = 'proof'") == [(0,)]


def test_every_pragma_is_set_on_every_connection(path: str) -> None:
    prepare(path)
    connection = connect(path)
    wanted = {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "trusted_schema": 0,
        "cache_size": -16384,
        "journal_size_limit": 67108864,
        "temp_store": 2,
        "synchronous": 2,
    }
    assert {name: connection.pragma(name) for name in wanted} == wanted
    assert connection.pragma("secure_delete") in (1, 2)  # on, or where it costs no page
    connection.close()
    faster = connect(path, synchronous="normal")
    assert faster.pragma("synchronous") == 1
    faster.close()


def test_opening_a_current_database_changes_nothing(path: str) -> None:
    prepare(path)
    before = digest(Path(path).parent)
    prepare(path)

    assert digest(Path(path).parent) == before


def test_a_newer_database_is_refused_unchanged(path: str) -> None:
    prepare(path)
    run(path, f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    before = digest(Path(path).parent)

    with pytest.raises(Unsupported, match="newer Engram") as raised:
        prepare(path)

    assert "pip install -U" in raised.value.hint
    assert digest(Path(path).parent) == before


@pytest.mark.parametrize("mark", ["PRAGMA application_id = 77", "CREATE TABLE theirs (n)"])
def test_a_database_of_another_program_is_refused_unchanged(path: str, mark: str) -> None:
    os.makedirs(os.path.dirname(path))
    run(path, "PRAGMA journal_mode = WAL")
    run(path, mark)
    run(path, "PRAGMA user_version = 0")
    before = digest(Path(path).parent)

    with pytest.raises(IntegrityFailed, match="another program"):
        prepare(path)

    assert digest(Path(path).parent) == before


def test_a_rollback_journal_database_of_another_program_keeps_its_mode(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    run(path, "CREATE TABLE theirs (n)")
    before = digest(Path(path).parent)

    with pytest.raises(IntegrityFailed):
        prepare(path)

    assert digest(Path(path).parent) == before


@pytest.mark.parametrize("version", [1, 7])
def test_a_number_of_version_alone_does_not_make_a_database_ours(path: str, version: int) -> None:
    os.makedirs(os.path.dirname(path))
    run(path, "CREATE TABLE theirs (n)")
    run(path, f"PRAGMA user_version = {version}")

    with pytest.raises(IntegrityFailed, match="another program"):
        prepare(path)


@pytest.mark.parametrize("content", [b"SQLite format 3\x00" + b"\xff" * 4096, b"just text, no database " * 400])
def test_what_is_no_database_is_refused_unchanged(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)

    with pytest.raises(IntegrityFailed) as raised:
        prepare(path)

    assert "doctor" in raised.value.hint
    assert Path(path).read_bytes() == content


def test_a_path_may_begin_with_the_home_folder(home: Path) -> None:
    store = SqliteStore("~/notes/engram.db")
    with store.read() as tx:
        assert tx.counts().observations == 0
    store.close()

    assert (home / "notes" / "engram.db").exists()


def test_an_empty_file_becomes_a_database(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).touch()
    prepare(path)

    assert run(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]


def test_a_process_that_died_while_it_made_the_database_leaves_one_that_opens(path: str) -> None:
    code = (
        "import os, sys; from engram.storage.sqlite import schema\n"
        "def stop(*_, **__):\n"
        "    os._exit(9)\n"
        "setattr(schema, sys.argv[2], stop)\n"
        "schema.prepare(sys.argv[1], synchronous='FULL', now='2026-03-02T09:00:00.000Z')\n"
    )
    for step in ("connect", "_prove_sharing", "_apply"):
        done = subprocess.run([sys.executable, "-c", code, path, step], timeout=60)
        assert done.returncode == 9
    run(path, "CREATE TABLE IF NOT EXISTS proof (n INTEGER)")

    prepare(path)
    assert run(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert run(path, "SELECT count(*) FROM sqlite_master WHERE name = 'proof'") == [(0,)]


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of migrations that knows one step more, and a program that asks for it."""
    folder = tmp_path / "migrations"
    shutil.copytree(schema._STEPS, folder)
    (folder / f"{schema.SCHEMA_VERSION + 1:04}_more.sql").write_text(
        "CREATE TABLE more (n INTEGER) STRICT; INSERT INTO more VALUES (1);"
    )
    monkeypatch.setattr(schema, "_STEPS", str(folder))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    return folder


def older(path: str) -> None:
    """A database of the version that is current without `next_version`, with a row in it."""
    prepare(path)
    run(path, "DROP TABLE more")
    run(path, f"PRAGMA user_version = {schema.SCHEMA_VERSION - 1}")
    run(path, "INSERT INTO meta VALUES ('kept', 'yes')")


def test_an_upgrade_keeps_a_copy_first(path: str, next_version: Path) -> None:
    older(path)
    prepare(path)

    assert run(path, "SELECT n FROM more") == [(1,)]
    assert run(path, "SELECT value FROM meta WHERE name = 'kept'") == [("yes",)]
    (copy,) = (Path(path).parent / "backups").iterdir()
    assert copy.name == f"engram-schema{schema.SCHEMA_VERSION - 1}-20260302T090000000Z.db"
    assert run(str(copy), "SELECT value FROM meta WHERE name = 'kept'") == [("yes",)]
    assert run(str(copy), "PRAGMA user_version") == [(schema.SCHEMA_VERSION - 1,)]
    assert run(str(copy), "SELECT count(*) FROM sqlite_master WHERE name = 'more'") == [(0,)]
    if os.name == "posix":
        assert copy.stat().st_mode & 0o777 == 0o600
        assert copy.parent.stat().st_mode & 0o777 == 0o700


def test_a_step_that_fails_leaves_the_old_version_whole(path: str, next_version: Path) -> None:
    older(path)
    (next_version / f"{schema.SCHEMA_VERSION:04}_more.sql").write_text(
        "CREATE TABLE more (n); INSERT INTO nowhere VALUES (1);"
    )

    with pytest.raises(StoreUnavailable):
        prepare(path)

    assert run(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION - 1,)]
    assert run(path, "SELECT count(*) FROM sqlite_master WHERE name = 'more'") == [(0,)]


def test_a_program_that_was_overtaken_by_an_upgrade_refuses_to_write(path: str) -> None:
    store = SqliteStore(path)
    with store.read() as tx:
        assert tx.counts().observations == 0
    run(path, f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")

    with pytest.raises(Unsupported, match="upgraded by a newer Engram"), store.write():
        pass
    store.close()


def test_eight_processes_may_open_a_fresh_folder_at_once(path: str) -> None:
    code = (
        "import sys; from engram.bootstrap import App; from engram.settings import load; "
        "app = App(load(), workspace='.', process=sys.argv[1]); "
        "print(app.observations.save(title=f'Note {sys.argv[1]}', content=f'by {sys.argv[1]}').outcome); app.close()"
    )
    environment = {**os.environ, "ENGRAM_DATA_DIR": os.path.dirname(path), "ENGRAM_PROJECT": "shop"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(n)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for n in range(8)
    ]
    ends = [process.communicate(timeout=60) for process in started]

    assert [(out, err) for out, err in ends] == [(b"created\n", b"")] * 8
    assert run(path, "SELECT count(*) FROM observation") == [(8,)]
    assert run(path, "SELECT count(*) FROM session") == [(1,)]


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_folder_and_files_are_closed_to_others(path: str) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(path)
        with store.read():
            folder = Path(path).parent
            assert folder.stat().st_mode & 0o777 == 0o700
            assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == {
                file.name: 0o600 for file in folder.iterdir()
            }
            assert {"engram.db", "engram.db-wal", "engram.db-shm"} <= {file.name for file in folder.iterdir()}
        store.backup(str(folder / "copy.db"))
        assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600
        store.close()
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_an_open_folder_is_closed_when_it_is_first_used(path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755)
    os.chmod(os.path.dirname(path), 0o755)
    prepare(path)

    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def mounts(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "mounts"
    file.write_text("".join(f"{line}\n" for line in lines))
    return str(file)


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "lustre"])
def test_a_network_file_system_is_refused_before_anything_is_written(tmp_path: Path, path: str, kind: str) -> None:
    table = mounts(tmp_path, "/dev/a / ext4 rw 0 0", f"server:/home {tmp_path} {kind} rw 0 0")

    with pytest.raises(StoreUnavailable, match=rf"network file system \({kind}\)") as raised:
        prepare(path, mounts=table)

    assert "ENGRAM_DATA_DIR" in raised.value.hint
    assert not os.path.exists(path)


def test_the_mount_nearest_to_the_folder_decides(tmp_path: Path, path: str) -> None:
    spaced = tmp_path / "a folder"
    table = mounts(
        tmp_path,
        f"server:/x {tmp_path.parent} nfs4 rw 0 0",
        f"/dev/b {tmp_path} ext4 rw 0 0",
        f"server:/x {tmp_path}x nfs rw 0 0",
        "server:/x " + str(spaced).replace(" ", "\\040") + " cifs rw 0 0",
        "nonsense",
    )
    prepare(path, mounts=table)
    with pytest.raises(StoreUnavailable):
        prepare(str(spaced / "engram.db"), mounts=table)
    prepare(path, mounts=str(tmp_path / "no such table"))


def test_a_folder_in_which_other_things_live_keeps_its_mode(tmp_path: Path) -> None:
    from engram import files

    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "somebody-elses.txt").write_text("x")
    files.private_folder(str(shared))
    assert shared.stat().st_mode & 0o777 == 0o755


def test_the_folder_of_another_programs_database_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o755)
    other = apsw.Connection(str(folder / "engram.db"))
    other.execute("CREATE TABLE sessions (id TEXT)")
    other.close()
    with pytest.raises(IntegrityFailed, match="another program"), SqliteStore(str(folder / "engram.db")).read():
        pass
    assert folder.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in folder.iterdir()) == ["engram.db"]


def test_a_network_share_is_refused_before_a_folder_is_made_on_it(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/x {tmp_path / 'share'} nfs4 rw 0 0\n")
    (tmp_path / "share").mkdir()
    path = tmp_path / "share" / "engram" / "engram.db"
    with pytest.raises(StoreUnavailable, match="nfs4"):
        schema.prepare(str(path), synchronous="FULL", now="2026-03-02T09:00:00.000Z", mounts=str(mounts))
    assert not path.parent.exists()
