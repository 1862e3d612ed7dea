"""Read the Go program's database without a trace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import apsw
import pytest

from engram.errors import InvalidInput, StoreUnavailable
from engram.storage.sqlite.foreign import open_foreign
from tests import foreign


def kinds(path: str) -> list[str]:
    with open_foreign(path) as source:
        return [kind for kind, _ in source.rows()]


@pytest.mark.parametrize("journal_mode", ["wal", "delete"])
def test_all_rows_are_read_and_no_byte_changes(tmp_path: Path, journal_mode: str) -> None:
    folder = tmp_path / "engram"
    folder.mkdir()
    path = foreign.database(folder / "engram.db", journal_mode=journal_mode)
    before = Path(path).read_bytes()

    assert kinds(path) == ["sessions", "observations", "observations", "prompts"]

    assert Path(path).read_bytes() == before
    assert os.listdir(folder) == ["engram.db"]


def test_rows_carry_the_names_of_the_columns(tmp_path: Path) -> None:
    path = foreign.database(tmp_path / "engram.db", observations=[foreign.observation(7, tool_name="Edit")])

    with open_foreign(path) as source:
        rows = dict(source.rows())

    assert rows["observations"]["title"] == "Decision 7"
    assert rows["observations"]["tool_name"] == "Edit"
    assert rows["observations"]["revision_count"] == 1
    assert rows["observations"]["deleted_at"] is None
    assert rows["sessions"]["directory"] == "/home/ada/shop"


def test_rows_that_are_only_in_the_log_of_a_running_program_are_read(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    foreign.database(path)
    running = foreign.open_database(path)
    foreign.insert(running, "observations", [foreign.observation(3)])

    assert kinds(str(path)).count("observations") == 3

    foreign.insert(running, "observations", [foreign.observation(4)])
    running.close()
    assert kinds(str(path)).count("observations") == 4


def test_what_is_written_between_two_readings_stays_out_of_both(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    foreign.database(path)
    running = foreign.open_database(path)
    foreign.insert(running, "observations", [foreign.observation(3)])

    with open_foreign(str(path)) as source:
        first = list(source.rows())
        foreign.insert(running, "observations", [foreign.observation(4)])
        second = list(source.rows())

    assert first == second
    running.close()


def test_the_log_of_a_program_that_crashed_is_read_and_kept(tmp_path: Path) -> None:
    running_at = tmp_path / "running"
    running_at.mkdir()
    foreign.database(running_at / "engram.db")
    running = foreign.open_database(running_at / "engram.db")
    foreign.insert(running, "observations", [foreign.observation(3)])
    left = tmp_path / "left"
    left.mkdir()
    for name in ("engram.db", "engram.db-wal"):
        shutil.copy(running_at / name, left / name)
    running.close()
    log = (left / "engram.db-wal").read_bytes()

    assert kinds(str(left / "engram.db")).count("observations") == 3
    assert (left / "engram.db-wal").read_bytes() == log


def test_a_change_under_a_still_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    foreign.database(path)

    with open_foreign(str(path)) as source:
        rows = source.rows()
        next(rows)
        other = foreign.open_database(path)
        foreign.insert(other, "observations", [foreign.observation(3)])
        other.close()
        with pytest.raises(StoreUnavailable, match="was changed by another program"):
            list(rows)


def test_a_text_cut_inside_a_character_is_read_as_the_go_program_exports_it(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    foreign.database(path, observations=[])
    connection = foreign.open_database(path)
    connection.execute(
        "INSERT INTO observations (session_id, type, title, content) VALUES ('s-1', 'x', 'Cut', CAST(? AS TEXT))",
        (b"caf\xc3\xa9 \xe6\x95",),
    )
    connection.close()

    with open_foreign(str(path)) as source:
        rows = dict(source.rows())

    assert rows["observations"]["content"] == "café \ufffd\ufffd"


def test_columns_that_an_old_database_lacks_are_left_out(tmp_path: Path) -> None:
    path = foreign.database(tmp_path / "engram.db", old=True)

    with open_foreign(path) as source:
        rows = list(source.rows())

    assert [kind for kind, _ in rows] == ["sessions", "observations", "observations"]
    assert "scope" not in rows[1][1]


def test_a_missing_column_that_matters_is_named(tmp_path: Path) -> None:
    connection = foreign.open_database(tmp_path / "engram.db")
    list(connection.execute("CREATE TABLE sessions (id TEXT); CREATE TABLE observations (id INT, title TEXT)"))
    connection.close()

    with pytest.raises(InvalidInput, match=r"observations\.session_id: is missing"):
        open_foreign(str(tmp_path / "engram.db"))


def test_another_program_s_database_is_refused_by_name(tmp_path: Path) -> None:
    connection = foreign.open_database(tmp_path / "other.db")
    list(connection.execute("CREATE TABLE contact (name TEXT)"))
    connection.close()

    with pytest.raises(InvalidInput, match="no table `sessions`"):
        open_foreign(str(tmp_path / "other.db"))


def test_a_damaged_database_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    foreign.database(path, observations=[foreign.observation(n, content="word " * 500) for n in range(200)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])

    with pytest.raises(InvalidInput, match=r"engram\.db: is damaged"):
        kinds(str(path))


def test_a_path_with_signs_of_addresses_is_just_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "what? 100% #1 & mode=rw"
    folder.mkdir()

    assert kinds(foreign.database(folder / "engram.db")).count("sessions") == 1


def test_the_foreign_file_cannot_be_written_through_the_connection(tmp_path: Path) -> None:
    path = foreign.database(tmp_path / "engram.db")

    with open_foreign(path) as source, pytest.raises(apsw.ReadOnlyError):
        source._connection.execute("DELETE FROM observations")
