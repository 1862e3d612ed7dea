"""The ledger and the batches that it makes all or nothing."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from engram.vault import batch, ledger
from engram.vault.ledger import APPLIED, COMMIT, FileChange, Ledger, Line, undo_of, user_key
from engram.vault.roots import Root, root_at

AT = "2026-03-02T09:00:00.000Z"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "root" / "rules").mkdir(parents=True)
    return root_at(str(tmp_path / "root"), scope="workspace")


@pytest.fixture
def book(root: Root, data: Path) -> Ledger:
    book = Ledger(root, data_folder=str(data))
    with book.locked():
        pass
    return book


def line(root: Root, *changes: FileChange, name: str = "b-1", event: str = COMMIT) -> Line:
    return Line(event=event, at=AT, root=root.path, how="token", by="Ada", batch=name, changes=changes)


def new(path: str, text: str) -> FileChange:
    return FileChange(path=path, before=None, after=text, id=Path(path).stem, type="rule", content_hash="sha256:1")


def said(book: Ledger) -> list[str]:
    return [f"{one.event} {one.batch}" for one in book.lines()]


# -- the file ----------------------------------------------------------------------------------------------------------


def test_lines_are_read_back_sealed_and_in_order(book: Ledger, root: Root) -> None:
    first = line(root, new("rules/ü.md", "テキスト\n"))
    second = line(root, name="b-2")
    book.append(first)
    book.append(second)

    found = list(book.lines())

    assert [replace(one, end=0, mac="") for one in found] == [first, second]
    assert found[-1].end == book.size()
    assert [one.batch for one in book.lines(found[0].end)] == ["b-2"]
    assert stat.S_IMODE(os.stat(book.path).st_mode) == 0o600


def test_a_ledger_that_is_not_there_has_no_lines(book: Ledger) -> None:
    assert (list(book.lines()), book.size(), book.open_batch()) == ([], 0, None)


FIELDS = ("event", "at", "root", "how", "by", "batch", "changes", "mac")


@pytest.mark.parametrize("field", FIELDS)
def test_a_change_of_any_field_breaks_the_seal(book: Ledger, root: Root, field: str) -> None:
    book.append(line(root, new("rules/a.md", "text")))
    body = json.loads(Path(book.path).read_text(encoding="utf-8"))
    body[field] = [] if field == "changes" else "other"
    Path(book.path).write_text(json.dumps(body) + "\n", encoding="utf-8")

    (found,) = book.lines()

    assert not found.is_sealed
    assert book.open_batch() is None


@pytest.mark.parametrize(
    "raw", [b"\n", b"x\n", b"[]\n", b"{}\n", b"null\n", b'{"mac": 1}\n', b"\xff\n", b"{" * 9999 + b"\n"]
)
def test_a_line_that_is_none_is_skipped_and_the_next_one_counts(book: Ledger, root: Root, raw: bytes) -> None:
    Path(book.path).write_bytes(raw)
    book.append(line(root))

    broken, good = book.lines()

    assert (broken.is_sealed, good.is_sealed) == (False, True)


@given(cut=st.integers(1, 200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_a_line_that_was_cut_anywhere_is_as_if_it_were_not_there(book: Ledger, root: Root, cut: int) -> None:
    Path(book.path).write_bytes(b"")
    book.append(line(root, name="b-1"))
    whole = Path(book.path).read_bytes()
    book.append(line(root, new("rules/a.md", "text"), name="b-2"))
    torn = Path(book.path).read_bytes()[: len(whole) + cut]
    Path(book.path).write_bytes(torn)

    before = said(book)
    book.append(line(root, name="b-3"))

    assert before == [f"{COMMIT} b-1"]
    assert said(book) == [f"{COMMIT} b-1", f"{COMMIT} b-3"]


def test_a_very_long_torn_line_is_dropped_too(book: Ledger, root: Root) -> None:
    book.append(line(root))
    with open(book.path, "ab") as file:
        file.write(b"x" * 200_000)

    book.append(line(root, name="b-2"))

    assert said(book) == [f"{COMMIT} b-1", f"{COMMIT} b-2"]


def test_a_line_longer_than_any_reader_takes_hides_none_after_it(
    book: Ledger, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.append(line(root))
    with open(book.path, "ab") as file:
        file.write(b"x" * 200_000 + b"\n")
    book.append(line(root, name="b-2"))
    monkeypatch.setattr(ledger, "MAX_LINE", 4_096)

    found = list(book.lines())

    assert [one.event for one in found] == [COMMIT, "unreadable", COMMIT]
    assert found[-1].end == book.size()


def test_a_batch_longer_than_any_reader_takes_is_refused_before_anything_is_written(
    book: Ledger, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MAX_LINE", 4_096)

    with pytest.raises(InvalidInput, match="nothing was saved"):
        batch.commit(root, book, line(root, new("rules/long.md", "x" * 5_000)))

    assert said(book) == []
    assert not (Path(root.path) / "rules" / "long.md").exists()


def test_the_seal_of_a_long_line_is_found_by_the_next_one(book: Ledger, root: Root) -> None:
    book.append(line(root, new("rules/long.md", "x" * 900_000)))
    book.append(line(root, name="b-2"))

    assert all(one.is_sealed for one in book.lines())


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom modes stop")
def test_a_file_that_cannot_be_removed_is_named(root: Root, book: Ledger) -> None:
    path = Path(root.path) / "rules" / "a.md"
    path.write_text("old\n", encoding="utf-8")
    gone = FileChange(path="rules/a.md", before="old\n", after=None)
    path.parent.chmod(0o500)
    try:
        with pytest.raises(StoreUnavailable, match=r"a\.md: cannot be removed"):
            batch.commit(root, book, line(root, gone))
    finally:
        path.parent.chmod(0o700)


def test_the_key_of_a_user_is_made_once_and_is_theirs_alone(data: Path) -> None:
    folder = str(data / "ledger")
    (data / "ledger").mkdir(parents=True)

    first = user_key(folder)

    assert (len(first), user_key(folder)) == (32, first)
    assert stat.S_IMODE(os.stat(data / "ledger" / "user.key").st_mode) == 0o600


def test_the_ledger_of_another_user_counts_for_nothing(root: Root, book: Ledger, tmp_path: Path) -> None:
    book.append(line(root))
    other = Ledger(root, data_folder=str(tmp_path / "other"))
    with other.locked():
        Path(other.path).write_bytes(Path(book.path).read_bytes())

    assert [one.is_sealed for one in other.lines()] == [False]


# -- batches -----------------------------------------------------------------------------------------------------------


def text_of(root: Root, path: str) -> str | None:
    place = Path(root.path) / path
    return place.read_bytes().decode() if place.exists() else None


def test_a_batch_writes_changes_and_removes_as_one(root: Root, book: Ledger) -> None:
    (Path(root.path) / "rules" / "old.md").write_text("old", encoding="utf-8")
    (Path(root.path) / "rules" / "gone.md").write_text("gone", encoding="utf-8")

    batch.commit(
        root,
        book,
        line(
            root,
            new("knowledge/deep/new.md", "new\r\n"),
            FileChange(path="rules/old.md", before="old", after="newer"),
            FileChange(path="rules/gone.md", before="gone", after=None),
        ),
    )

    assert text_of(root, "knowledge/deep/new.md") == "new\r\n"
    assert (text_of(root, "rules/old.md"), text_of(root, "rules/gone.md")) == ("newer", None)
    assert said(book) == [f"{COMMIT} b-1", f"{APPLIED} b-1"]
    assert os.listdir(Path(root.path) / ".staging") == []


@pytest.mark.parametrize(
    "wrong",
    [
        FileChange(path="rules/old.md", before="other", after="x"),
        FileChange(path="rules/old.md", before=None, after="x"),
        FileChange(path="rules/gone.md", before="x", after="y"),
        FileChange(path="../out.md", before=None, after="x"),
        FileChange(path="rules", before=None, after="x"),
    ],
)
def test_a_batch_of_which_one_file_is_not_as_expected_does_nothing(root: Root, book: Ledger, wrong: FileChange) -> None:
    (Path(root.path) / "rules" / "old.md").write_text("old", encoding="utf-8")

    with pytest.raises((Conflict, NotFound, StoreUnavailable)):
        batch.commit(root, book, line(root, new("rules/first.md", "first"), wrong))

    assert (text_of(root, "rules/first.md"), text_of(root, "rules/old.md")) == (None, "old")
    assert said(book) == []
    assert not any((Path(root.path) / ".staging").iterdir())


def test_what_is_committed_and_not_carried_out_is_finished_once(root: Root, book: Ledger) -> None:
    (Path(root.path) / "rules" / "gone.md").write_text("gone", encoding="utf-8")
    (Path(root.path) / ".staging").mkdir()
    (Path(root.path) / ".staging" / "left").write_text("left", encoding="utf-8")
    book.append(
        line(
            root,
            new("rules/a.md", "a"),
            new("rules/b.md", "b"),
            FileChange(path="rules/gone.md", before="gone", after=None),
        )
    )
    (Path(root.path) / "rules" / "a.md").write_text("a", encoding="utf-8")

    assert batch.recover(root, book) is True

    assert [text_of(root, f"rules/{name}.md") for name in ("a", "b", "gone")] == ["a", "b", None]
    assert os.listdir(Path(root.path) / ".staging") == []
    assert batch.recover(root, book) is False


def test_an_edit_since_the_crash_stays(root: Root, book: Ledger) -> None:
    book.append(line(root, new("rules/a.md", "a"), FileChange(path="rules/b.md", before="b", after=None)))
    (Path(root.path) / "rules" / "a.md").write_text("by hand", encoding="utf-8")
    (Path(root.path) / "rules" / "b.md").write_text("by hand", encoding="utf-8")

    batch.recover(root, book)

    assert (text_of(root, "rules/a.md"), text_of(root, "rules/b.md")) == ("by hand", "by hand")
    assert book.open_batch() is None


def test_the_open_batch_of_another_worktree_is_not_ours(root: Root, book: Ledger) -> None:
    book.append(replace(line(root, new("rules/a.md", "a")), root="/elsewhere"))

    assert (book.open_batch(), batch.recover(root, book)) == (None, False)


def test_taking_back_is_the_batch_turned_around(root: Root, book: Ledger) -> None:
    (Path(root.path) / "rules" / "old.md").write_text("old", encoding="utf-8")
    done = line(root, new("rules/new.md", "new"), FileChange(path="rules/old.md", before="old", after=None))
    batch.commit(root, book, done)

    batch.commit(root, book, replace(line(root, *undo_of(done), name="b-2"), event="undo"))

    assert (text_of(root, "rules/new.md"), text_of(root, "rules/old.md")) == (None, "old")


def test_bytes_that_are_no_text_survive_a_batch(root: Root, book: Ledger) -> None:
    path = Path(root.path) / "rules" / "latin.md"
    path.write_bytes(b"caf\xe9")
    before = path.read_bytes().decode("utf-8", "surrogateescape")

    batch.commit(root, book, line(root, FileChange(path="rules/latin.md", before=before, after="café")))

    assert path.read_text(encoding="utf-8") == "café"
    (commit, _) = book.lines()
    assert commit.is_sealed


def test_the_mode_of_a_file_stays(root: Root, book: Ledger) -> None:
    path = Path(root.path) / "rules" / "old.md"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o600)

    batch.commit(root, book, line(root, FileChange(path="rules/old.md", before="old", after="new")))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
