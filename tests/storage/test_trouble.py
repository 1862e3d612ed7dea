"""When the disk, the file or the process is not as it should be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from engram.bootstrap import App
from engram.errors import EngramError, IntegrityFailed, StoreUnavailable
from engram.settings import load
from engram.storage.sqlite.connect import explain
from engram.storage.sqlite.store import SqliteStore

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def test_a_folder_in_place_of_the_file_is_a_sentence_not_a_traceback(app: App, data: Path) -> None:
    (data / "engram.db").mkdir(parents=True)

    with pytest.raises(StoreUnavailable, match="cannot be"):
        app.observations.save(title="Auth", content="JWT")


def test_a_file_in_place_of_the_folder_is_a_sentence(app: App, data: Path) -> None:
    data.write_text("not a folder")

    with pytest.raises(StoreUnavailable, match="cannot be created") as raised:
        app.observations.save(title="Auth", content="JWT")
    assert "ENGRAM_DATA_DIR" in raised.value.hint


def test_a_folder_below_a_file_is_a_sentence(make_app: Callable[..., App], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    app = make_app(ENGRAM_DATA_DIR=str(tmp_path / "file" / "data"))

    with pytest.raises(StoreUnavailable):
        app.status.stats()


@pytest.mark.skipif(AS_ROOT or os.name != "posix", reason="root may write everywhere")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_may_not_be_written_is_a_sentence(app: App, data: Path, what: str) -> None:
    app.observations.save(title="Auth", content="JWT")
    app.close()
    place = data if what == "folder" else data / "engram.db"
    os.chmod(place, 0o500 if what == "folder" else 0o400)
    try:
        with pytest.raises(StoreUnavailable):
            app.observations.save(title="Feed", content="Join")
    finally:
        os.chmod(place, 0o700)


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (apsw.BusyError, StoreUnavailable, "locked"),
        (apsw.LockedError, StoreUnavailable, "locked"),
        (apsw.FullError, StoreUnavailable, "disk is full"),
        (apsw.ReadOnlyError, StoreUnavailable, "cannot be written"),
        (apsw.PermissionsError, StoreUnavailable, "cannot be written"),
        (apsw.CantOpenError, StoreUnavailable, "cannot be opened"),
        (apsw.NotADBError, IntegrityFailed, "no database"),
        (apsw.CorruptError, IntegrityFailed, "damaged"),
        (apsw.IOError, StoreUnavailable, "disk reports"),
        (apsw.SQLError, StoreUnavailable, "SQLError"),
    ],
)
def test_each_error_of_the_engine_is_said_in_our_words(
    error: type[apsw.Error], kind: type[EngramError], says: str
) -> None:
    told = explain(error("SQLiteError: details"), "/data/engram.db")

    assert type(told) is kind
    assert says in told.message
    assert "/data/engram.db" in told.message
    assert told.hint


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A file system of two megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    if not AS_ROOT or not sys.platform.startswith("linux"):
        pytest.skip("cannot mount a small file system here")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip("cannot mount a small file system here")
    return place


def test_a_full_disk_refuses_the_save_and_keeps_what_was_acknowledged(
    make_app: Callable[..., App], small_disk: Path
) -> None:
    try:
        app = make_app(ENGRAM_DATA_DIR=str(small_disk / "data"))
        kept = []

        def save_until_it_is_full() -> None:
            for number in range(200):
                saved = app.observations.save(title=f"Note {number}", content=f"{number} " + "filler " * 3000)
                kept.append(saved.id)

        with pytest.raises(StoreUnavailable, match="disk"):
            save_until_it_is_full()

        with app.store.read() as tx:
            assert [row.id for row in tx.all_observations(deleted=True)] == kept
        assert kept
        app.close()
        app.store._idle.clear()
        again = make_app(ENGRAM_DATA_DIR=str(small_disk / "data"), process="later")
        assert [f for f in again.store.check(deep=True) if f.level == "error"] == []
        again.close()
    finally:
        subprocess.run(["umount", "-l", str(small_disk)], check=False)


def test_a_database_that_may_not_grow_refuses_the_save_and_stays_whole(app: App) -> None:
    app.observations.save(title="Auth", content="JWT")
    connection = app.store._idle[0]  # type: ignore[attr-defined]
    pages = connection.pragma("page_count")
    connection.execute(f"PRAGMA max_page_count = {pages}").get  # noqa: B018

    with pytest.raises(StoreUnavailable, match="disk is full"):
        app.observations.save(title="Log", content="filler " * 20_000)

    connection.execute("PRAGMA max_page_count = 1000000").get  # noqa: B018
    assert app.status.stats().observations == 1
    assert app.observations.save(title="Log", content="filler " * 20_000).id == 2
    assert {finding.level for finding in app.store.check(deep=True)} == {"ok"}


def test_a_damaged_page_is_reported_and_named(app: App, data: Path) -> None:
    for number in range(50):
        app.observations.save(title=f"Note {number}", content="filler " * 500 + str(number))
    app.close()
    file = data / "engram.db"
    raw = bytearray(file.read_bytes())
    pages = len(raw) // 4096
    for page in range(pages // 2, pages):
        raw[page * 4096 : page * 4096 + 64] = b"\xde\xad" * 32
    file.write_bytes(raw)

    with pytest.raises(IntegrityFailed, match="damaged") as raised, app.store.read() as tx:
        list(tx.all_observations(deleted=True))
    assert "doctor" in raised.value.hint
    report = app.doctor.examine(deep=True)
    assert report.worst() == "error"
    assert "backups" in next(finding for finding in report.findings if finding.id == "store.pages").remedy


def test_a_truncated_file_is_no_traceback(app: App, data: Path) -> None:
    app.observations.save(title="Auth", content="JWT")
    app.close()
    os.truncate(data / "engram.db", 5000)

    with pytest.raises((IntegrityFailed, StoreUnavailable)):
        app.search.find("JWT")


def test_a_removed_folder_is_made_anew(app: App, data: Path) -> None:
    app.observations.save(title="Auth", content="JWT")
    shutil.rmtree(data)

    assert app.observations.save(title="Auth", content="JWT").id == 1
    assert app.status.stats().observations == 1


def replace_database(store: SqliteStore, data: Path, title: str) -> None:
    """Put another database in place, as restoring a backup does."""
    other = SqliteStore(str(data.parent / "other" / "engram.db"))
    with other.write() as tx:
        from engram.core.project import Project

        tx.add_project(Project(key=title, name=title), at="2026-03-02T09:00:00.000Z")
    other.close()
    os.replace(data.parent / "other" / "engram.db", store.place)


def names(store: SqliteStore) -> list[str]:
    with store.read() as tx:
        return tx.project_keys()


def test_a_replaced_database_is_seen_by_the_next_read(data: Path) -> None:
    store = SqliteStore(str(data / "engram.db"))
    assert names(store) == []
    replace_database(store, data, "replaced")

    assert names(store) == ["replaced"]
    store.close()


def test_a_connection_in_use_while_the_file_is_replaced_is_not_used_again(data: Path) -> None:
    store = SqliteStore(str(data / "engram.db"))
    with store.read() as tx:
        assert tx.project_keys() == []
        replace_database(store, data, "replaced")
        assert names(store) == ["replaced"]  # the file is known to be another one now

    assert [names(store) for _ in range(3)] == [["replaced"]] * 3
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_parent_and_child_of_a_fork_both_go_on(tmp_path: Path) -> None:
    app = App(load(), workspace=str(tmp_path), process="parent")  # ids in order would be given by both
    app.observations.save(title="Before", content="the fork")
    child = os.fork()
    if not child:
        status = 1
        try:
            for number in range(20):
                app.observations.save(title=f"Child {number}", content=f"child {number}")
            app.store.close()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    for number in range(20):
        app.observations.save(title=f"Parent {number}", content=f"parent {number}")

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert app.status.stats().observations == 41
    assert {finding.level for finding in app.store.check(deep=True)} == {"ok"}
    app.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_connection_that_was_in_use_at_a_fork_stays_with_the_parent(app: App) -> None:
    app.observations.save(title="Before", content="the fork")
    with app.store.read() as tx:
        assert tx.counts().observations == 1
        child = os.fork()
        if not child:
            status = 1
            try:
                app.observations.save(title="Child", content="child")
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert tx.counts().observations == 1

    assert app.status.stats().observations == 2


def test_a_writer_that_is_blocked_waits_for_the_other(make_app: Callable[..., App]) -> None:
    import threading

    one, two = make_app(process="p-1"), make_app(process="p-2")
    one.status.stats()
    began, saved = threading.Event(), []

    def save() -> None:
        began.set()
        saved.append(two.observations.save(title="Two", content="two").id)

    with one.store.write():
        thread = threading.Thread(target=save)
        thread.start()
        began.wait()
        assert not saved
    thread.join()
    assert len(saved) == 1


def test_a_read_only_disk_is_read_and_a_write_is_a_sentence(make_app: Callable[..., App], small_disk: Path) -> None:
    try:
        app = make_app(ENGRAM_DATA_DIR=str(small_disk / "data"))
        app.observations.save(title="Auth", content="JWT")
        app.close()
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

        with pytest.raises(StoreUnavailable, match="cannot be"):
            app.observations.save(title="Feed", content="Join")
        later = make_app(ENGRAM_DATA_DIR=str(small_disk / "data"), process="later")
        assert [hit.title for hit in later.search.find("JWT").hits] == ["Auth"]
    finally:
        subprocess.run(["umount", "-l", str(small_disk)], check=False)


def test_a_store_that_others_wrote_to_between_two_checks_is_still_well(make_app: Callable[..., App]) -> None:
    app = make_app(process="long-running")
    app.observations.save(title="Auth", content="JWT")
    code = (
        "import sys; from engram.bootstrap import open_app; app = open_app()\n"
        "for n in range(5): app.observations.save(title='Note', content=f'{sys.argv[1]} {n}', topic_key=f'a/{n % 2}')\n"
        "app.close()"
    )
    environment = {**os.environ, "ENGRAM_PROJECT": "shop"}
    for number in range(4):
        assert [finding.message for finding in app.store.check(deep=True) if finding.level != "ok"] == []
        subprocess.run([sys.executable, "-c", code, str(number)], check=True, env=environment, timeout=60)

    assert {finding.level for finding in app.store.check(deep=True)} == {"ok"}
