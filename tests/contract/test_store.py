"""What every store must do, whatever holds the rows. A second backend joins by adding its factory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from engram.core.clean import clean
from engram.core.observation import Draft, Observation, Scope
from engram.core.ports import Filters, Store, StoredObservation, Writer
from engram.core.project import Project
from engram.core.query import parse
from engram.core.session import Session
from engram.core.text import content_hash
from engram.errors import EngramError
from engram.storage import open_store

Factory = Callable[[Path], Store]


def sqlite(folder: Path) -> Store:
    return open_store(f"sqlite://{folder / 'engram.db'}")


BACKENDS: list[Factory] = [sqlite]


@pytest.fixture(params=BACKENDS, ids=lambda factory: factory.__name__)
def factory(request: pytest.FixtureRequest) -> Factory:
    made: Factory = request.param
    return made


@pytest.fixture
def store(factory: Factory, tmp_path: Path) -> Iterator[Store]:
    """An empty store with project `shop` and session `s`."""
    made = factory(tmp_path / "store")
    with made.write() as tx:
        tx.add_project(Project(key="shop", name="Shop"), at=at(0))
        tx.add_session(session("s"))
    yield made
    made.close()


def at(second: int) -> str:
    return f"2026-03-02T09:{second // 60:02}:{second % 60:02}.000Z"


def session(id: str, *, project: str = "shop", started: int = 0, directory: str = "", by: str = "") -> Session:
    return Session(
        id=id,
        project=project,
        directory=directory,
        started_at=at(started),
        ended_at=None,
        summary=None,
        started_by=by,
    )


def draft(
    content: str = "JWT",
    *,
    title: str = "Auth",
    kind: str = "decision",
    project: str = "shop",
    scope: Scope = "project",
    topic: str | None = None,
) -> Draft:
    return Draft(
        title=clean(title),
        content=clean(content),
        type=clean(kind),
        project=project,
        scope=scope,
        topic_key=topic,
        source=None,
        content_hash=content_hash(content),
    )


def add(tx: Writer, given: Draft, *, second: int, in_session: str = "s") -> int:
    return tx.add_observation(given, session_id=in_session, sync_id=f"obs-{second}-{given.content[:20]}", at=at(second))


def put(store: Store, given: Draft, *, second: int = 1, in_session: str = "s") -> int:
    with store.write() as tx:
        return add(tx, given, second=second, in_session=in_session)


def find(store: Store, text: str, **filters: str) -> list[int]:
    with store.read() as tx:
        return [row.id for row in tx.search(parse(text), Filters(**filters), pool=60).candidates]


def test_a_write_is_all_or_nothing(store: Store) -> None:
    def write_and_fail() -> None:
        with store.write() as tx:
            tx.add_project(Project(key="web", name="web"), at=at(1))
            tx.add_session(session("t"))
            tx.soft_delete(add(tx, draft(), second=1), at=at(2))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_and_fail()

    with store.read() as tx:
        assert (tx.project("web"), tx.session("t"), tx.observation(1, deleted=True)) == (None, None, None)
    assert find(store, "JWT") == []
    assert put(store, draft()) >= 1


def test_a_writer_reads_its_own_writes_and_nobody_else_does_before_the_end(store: Store) -> None:
    with store.write() as tx:
        id = add(tx, draft(), second=1)
        assert tx.observation(id) is not None
        with store.read() as other:
            assert other.observation(id) is None
    with store.read() as other:
        assert other.observation(id) is not None


def test_a_reader_sees_one_moment(store: Store) -> None:
    put(store, draft())
    with store.read() as tx:
        before = tx.counts()
        put(store, draft("later", title="Later"), second=2)
        assert tx.counts() == before
        assert [row.id for row in tx.search(parse("later"), Filters(), pool=5).candidates] == []
    with store.read() as tx:
        assert tx.counts().observations == before.observations + 1


def test_one_live_row_a_topic_is_guarded_by_the_store(store: Store) -> None:
    first = put(store, draft(topic="a/b"))
    with pytest.raises(EngramError):
        put(store, draft("other", topic="a/b"), second=2)
    with store.write() as tx:
        tx.soft_delete(first, at=at(3))
    second = put(store, draft("other", topic="a/b"), second=4)

    with store.read() as tx:
        live = tx.live_topic("shop", "project", "a/b")
        assert live is not None
        assert live.id == second
        assert tx.live_topic("shop", "personal", "a/b") is None
        assert tx.live_topic("web", "project", "a/b") is None


@pytest.mark.parametrize("bad", [draft(project="unknown"), draft(title=""), draft(""), draft(kind="")])
def test_rows_that_break_a_rule_are_refused(store: Store, bad: Draft) -> None:
    with pytest.raises(EngramError):
        put(store, bad)
    with store.read() as tx:
        assert tx.counts().observations == 0


def test_a_row_needs_its_session(store: Store) -> None:
    with pytest.raises(EngramError):
        put(store, draft(), in_session="unknown")


def test_twins_share_everything_and_were_seen_lately(store: Store) -> None:
    older, newer = put(store, draft(), second=1), put(store, draft(), second=5)
    others = [draft(title="x"), draft(kind="x"), draft(scope="personal"), draft("other")]
    with store.read() as tx:
        twin = tx.recent_twin(draft("  jwt "), since=at(0))
        assert twin is not None
        assert twin.id == newer
        assert tx.recent_twin(draft(), since=at(6)) is None
        assert [tx.recent_twin(other, since=at(0)) for other in others] == [None] * 4
    with store.write() as tx:
        tx.soft_delete(newer, at=at(7))
        twin = tx.recent_twin(draft(), since=at(0))
        assert twin is not None
        assert twin.id == older
        tx.hard_delete(older, at=at(8))
        assert tx.recent_twin(draft(), since=at(0)) is None


def test_a_row_under_another_topic_is_no_twin(store: Store) -> None:
    put(store, draft(topic="a/one"))
    with store.read() as tx:
        assert tx.recent_twin(draft(topic="a/two"), since=at(0)) is None
        assert tx.recent_twin(draft(), since=at(0)) is not None


def test_same_content_is_of_any_age_but_live(store: Store) -> None:
    id = put(store, draft())
    with store.write() as tx:
        found = tx.same_content("shop", content_hash("JWT"))
        assert found is not None
        assert found.id == id
        assert tx.same_content("web", content_hash("JWT")) is None
        tx.soft_delete(id, at=at(2))
        assert tx.same_content("shop", content_hash("JWT")) is None


def test_versions_are_numbered_from_the_first_text(store: Store) -> None:
    id = put(store, draft("one", topic="a/b"))
    for number, text in enumerate(("two", "three"), 2):
        with store.write() as tx:
            old = tx.observation(id)
            assert old is not None
            tx.keep_version(old, at=at(number))
            tx.revise(id, draft(text, topic="a/b"), session_id="s", at=at(number))

    with store.read() as tx:
        assert [(v.version, v.content, v.replaced_at) for v in tx.versions(id)] == [
            (1, "one", at(2)),
            (2, "two", at(3)),
        ]
        row = tx.observation(id)
    assert row is not None
    assert (row.content, row.revision_count, row.created_at, row.updated_at) == ("three", 3, at(1), at(3))
    assert (find(store, "one"), find(store, "three")) == ([], [id])


def test_a_touch_counts_and_adopts(store: Store) -> None:
    id = put(store, draft())
    with store.write() as tx:
        tx.touch(id, at=at(9))
        tx.touch(id, at=at(10), adopt="a/b")
        row = tx.observation(id)
        assert row is not None
        assert (row.duplicate_count, row.last_seen_at, row.topic_key, row.revision_count) == (3, at(10), "a/b", 1)
        assert tx.live_topic("shop", "project", "a/b") == row


def test_neighbours_stand_in_one_session_in_order(store: Store) -> None:
    with store.write() as tx:
        tx.add_session(session("t"))
        ids = [add(tx, draft(str(number)), second=3) for number in range(5)]
        add(tx, draft("elsewhere"), second=3, in_session="t")
        tx.soft_delete(ids[1], at=at(4))
    with store.read() as tx:
        focus = tx.observation(ids[2])
        assert focus is not None
        before, after = tx.neighbours(focus, before=5, after=1)
        assert ([row.id for row in before], [row.id for row in after]) == ([ids[0]], [ids[3]])
        assert tx.neighbours(focus, before=0, after=0) == ([], [])
        assert tx.session_size("s") == 4


def test_recent_is_by_last_activity_with_a_total_order(store: Store) -> None:
    with store.write() as tx:
        ids = [add(tx, draft(str(number)), second=3) for number in range(4)]
        tx.touch(ids[0], at=at(9))
        tx.soft_delete(ids[3], at=at(9))
    with store.read() as tx:
        assert [row.id for row in tx.recent_observations(Filters(), limit=9)] == [ids[0], ids[2], ids[1]]
        assert [row.id for row in tx.recent_observations(Filters(), limit=2)] == [ids[0], ids[2]]
        assert tx.recent_observations(Filters(), limit=9, besides="shop") == []
        assert tx.recent_observations(Filters(), limit=9, without_type="decision") == []
        assert tx.recent_observations(Filters(scope="personal"), limit=9) == []


def test_the_open_session_is_of_this_process_first_then_of_this_directory(store: Store) -> None:
    with store.write() as tx:
        tx.add_session(session("a", started=1, by="p1"))
        tx.add_session(session("b", started=2, directory="/w", by="p9"))
        tx.add_session(session("imported", started=3, directory="/w"))
        tx.add_session(session("manual-save-shop", started=3, by="p1"))
        tx.add_session(session("c", started=4))

        def choose(by: str, directory: str) -> str | None:
            found = tx.open_session("shop", started_by=by, directory=directory)
            return found.id if found else None

        assert choose("p1", "/w") == "a"
        assert choose("p2", "/w") == "b"
        assert choose("p2", "/x") is None
        assert choose("", "") is None
        tx.end_session("a", at=at(5), summary=None)
        assert choose("p1", "/w") == "b"


def test_a_session_ends_once_and_keeps_its_summary(store: Store) -> None:
    with store.write() as tx:
        tx.resume_session("s", directory=clean("/w"), started_by="process-2")
        tx.resume_session("s", directory=clean("/x"), started_by="process-2")
        tx.end_session("s", at=at(1), summary=clean("done"))
        tx.end_session("s", at=at(2), summary=None)
        found = tx.session("s")
    assert found is not None
    assert (found.directory, found.ended_at, found.summary) == ("/w", at(1), "done")


def test_prompts_are_listed_newest_first(store: Store) -> None:
    with store.write() as tx:
        tx.add_project(Project(key="web", name="web"), at=at(0))
        for number, project in enumerate(["shop", "web", "shop"]):
            tx.add_prompt(sync_id=f"p{number}", session_id="s", project=project, content=clean("why"), at=at(1))
    with store.read() as tx:
        assert [prompt.sync_id for prompt in tx.recent_prompts(None, limit=9)] == ["p2", "p1", "p0"]
        assert [prompt.sync_id for prompt in tx.recent_prompts("shop", limit=1)] == ["p2"]
        assert [prompt.sync_id for prompt in tx.recent_prompts(None, limit=9, besides="shop")] == ["p1"]


def test_an_alias_moves_rows_and_reads_both_ways(store: Store) -> None:
    with store.write() as tx:
        tx.add_project(Project(key="old", name="Old"), at=at(0))
        tx.add_session(session("o", project="old"))
        clash = add(tx, draft("old text", project="old", topic="architecture/auth-model"), second=1, in_session="o")
        add(tx, draft("new text", topic="architecture/auth-model"), second=2)
        gone = add(tx, draft("deleted", project="old", topic="x/y"), second=3, in_session="o")
        tx.soft_delete(gone, at=at(4))
        tx.alias("older", target="old", at=at(5), name="Older")
        tx.alias("old", target="shop", at=at(6))
    with store.read() as tx:
        for key in ("old", "older", "shop"):
            assert tx.project(key) == Project(key="shop", name="Shop")
        row = tx.observation(clash)
        assert row is not None
        assert (row.project, row.content, row.topic_key) == ("shop", "old text", None)
        deleted = tx.observation(gone, deleted=True)
        assert deleted is not None
        assert deleted.project == "shop"
        assert [(p.key, p.aliases, p.observations) for p in tx.projects()] == [("shop", ("Old", "Older"), 2)]
        assert tx.project_keys() == ["shop"]
        moved = tx.session("o")
        assert moved is not None
        assert moved.project == "shop"
    assert find(store, "old text", project="shop")[0] == clash
    assert [finding.message for finding in store.check(deep=True) if finding.level != "ok"] == []


def test_a_hard_delete_takes_versions_and_leaves_a_tombstone(store: Store) -> None:
    id = put(store, draft("one"))
    with store.write() as tx:
        old = tx.observation(id)
        assert old is not None
        tx.keep_version(old, at=at(2))
        tx.hard_delete(id, at=at(3))
        assert tx.versions(id) == []
        assert tx.observation_by_sync_id(old.sync_id) is None
        assert tx.tombstone(old.sync_id) == at(3)
        assert tx.tombstone("never") is None
    assert find(store, "one") == []


def test_a_row_from_elsewhere_is_put_once(store: Store) -> None:
    with store.write() as tx:
        row = tx.observation(add(tx, draft("one"), second=1))
        assert row is not None
        changed: Observation = replace(row, content="two", content_hash=content_hash("two"), revision_count=7)
        assert tx.put_observation(StoredObservation(observation=changed)) == row.id
        assert tx.observation(row.id) == changed
        fresh = replace(row, sync_id="obs-elsewhere", content="three", deleted_at=at(5))
        id = tx.put_observation(StoredObservation(observation=fresh))
        assert tx.observation(id) is None
        assert tx.observation(id, deleted=True) == replace(fresh, id=id)
    assert (find(store, "one"), find(store, "two"), find(store, "three")) == ([], [row.id], [])


def test_search_honours_its_filters_and_its_pool(store: Store) -> None:
    with store.write() as tx:
        tx.add_project(Project(key="web", name="web"), at=at(0))
        add(tx, draft("login", kind="bugfix"), second=1)
        add(tx, draft("login page", project="web"), second=2)
        add(tx, draft("login mine", scope="personal"), second=3)
    assert sorted(find(store, "login")) == [1, 2, 3]
    assert find(store, "login", project="web") == [2]
    assert find(store, "login", type="bugfix") == [1]
    assert find(store, "login", scope="personal") == [3]
    assert find(store, "login", project="unknown") == []


def test_an_edit_can_move_a_row(store: Store) -> None:
    with store.write() as tx:
        tx.add_project(Project(key="web", name="web"), at=at(0))
        id = add(tx, draft("login"), second=1)
        tx.edit(id, draft("logout", project="web", topic="a/b"), revised=True, at=at(2))
    assert (find(store, "logout", project="web"), find(store, "login", project="shop")) == ([id], [])


def test_everything_can_be_read_in_order(store: Store) -> None:
    first, second = put(store, draft("one")), put(store, draft("two"), second=2)
    with store.write() as tx:
        tx.soft_delete(first, at=at(3))
    with store.read() as tx:
        assert [row.id for row in tx.all_observations(deleted=False)] == [second]
        assert [row.id for row in tx.all_observations(deleted=True)] == [first, second]
        assert [row.id for row in tx.all_observations(deleted=True, newest_first=True)] == [second, first]
        assert [row.id for row in tx.observations([second, 99, first])] == [second]
        assert [one.id for one in tx.all_sessions()] == ["s"]
        assert list(tx.all_prompts()) == []


def test_a_backup_is_whole_while_another_connection_writes(store: Store, factory: Factory, tmp_path: Path) -> None:
    for number in range(200):
        put(store, draft(f"text {number} " + "filler " * 200), second=number)
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        other = factory(tmp_path / "store")
        while not stop.is_set():
            written.append(put(other, draft(f"while {len(written)}"), second=300 + len(written)))
        other.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            folder = tmp_path / f"copy-{number}"
            folder.mkdir()
            store.backup(str(folder / "engram.db"))
    finally:
        stop.set()
        writer.join()

    for number in range(5):
        copy = factory(tmp_path / f"copy-{number}")
        with copy.read() as tx:
            assert tx.counts().observations >= 200
        assert [finding for finding in copy.check(deep=True) if finding.level == "error"] == []
        copy.close()
    assert written


def test_a_backup_never_overwrites(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "kept.db"
    target.write_text("mine")
    with pytest.raises(EngramError, match="exists already"):
        store.backup(str(target))
    assert target.read_text() == "mine"


def test_a_healthy_store_has_nothing_to_report(store: Store) -> None:
    put(store, draft("getUserToken in 数据库", topic="architecture/auth-model"))
    for deep in (False, True):
        findings = store.check(deep=deep)
        assert {finding.level for finding in findings} == {"ok"}
        assert len({finding.id for finding in findings}) == len(findings)


def spoil_full_text(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("INSERT INTO observation_fts (rowid, title, content) VALUES (77, 'ghost', 'phantom')")
    connection.close()


def spoil_words(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("UPDATE observation SET search_terms = 'phantom', content_hash = 'wrong'")
    connection.close()


def spoil_project_token(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("UPDATE observation SET search_project = 'elsewhere'")
    connection.close()


SPOILT = {
    sqlite: [
        (spoil_full_text, "store.full_text"),
        (spoil_words, "store.derived"),
        (spoil_project_token, "store.derived"),
    ]
}


@pytest.mark.parametrize("number", range(3))
def test_damage_to_what_is_derived_is_found_and_healed(store: Store, factory: Factory, number: int) -> None:
    spoil, id = SPOILT[factory][number]
    put(store, draft("getUserToken"))
    spoil(store.place)

    assert {finding.id for finding in store.check(deep=True) if finding.level != "ok"} == {id}
    assert store.repair()
    assert {finding.level for finding in store.check(deep=True)} == {"ok"}
    assert (find(store, "getUserToken", project="shop"), find(store, "phantom")) == ([1], [])


def test_a_store_that_was_closed_opens_again(store: Store) -> None:
    put(store, draft())
    store.close()
    with store.read() as tx:
        assert tx.counts().observations == 1
    assert os.path.basename(store.place) == "engram.db"


def test_many_threads_share_one_store(store: Store) -> None:
    def work(number: int) -> None:
        for step in range(10):
            put(store, draft(f"{number} {step}"), second=1000 + number * 10 + step)
            find(store, "words")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as tx:
        assert tx.counts().observations == 60
