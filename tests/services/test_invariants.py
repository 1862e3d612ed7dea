"""Whatever is saved, corrected and deleted in whatever order, the store's promises hold."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engram.bootstrap import App
from engram.core.observation import Outcome
from engram.errors import Conflict, InvalidInput, NotFound
from engram.settings import load
from tests.conftest import Clock

WORDS = ("auth", "feed", "token", "日本", "Größe", "getUserToken")
TEXT = st.sampled_from(WORDS)
TOPIC = st.none() | st.sampled_from(["a/one", "a/two", "B/Three"])
PROJECT = st.sampled_from(["shop", "Shop", "web", "api-service"])
SCOPE = st.sampled_from(["project", "personal"])
MINUTES = st.sampled_from([0, 1, 14, 16, 2000])


class Life(RuleBasedStateMachine):
    """One store through its life; `live`, `hidden` and `gone` are what it should hold."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        settings_ = load({"ENGRAM_DATA_DIR": str(Path(self.folder.name) / "data"), "ENGRAM_PROJECT": "shop"})
        self.app = App(settings_, workspace=self.folder.name, process="p-1", now=self.clock)
        self.live: dict[int, int] = {}  # id → revisions
        self.seen: dict[int, int] = {}  # id → times seen
        self.hidden: set[int] = set()
        self.gone: set[int] = set()

    def teardown(self) -> None:
        if hasattr(self, "app"):
            self.app.close()
            self.folder.cleanup()

    @rule(title=TEXT, content=TEXT, topic=TOPIC, project=PROJECT, scope=SCOPE, minutes=MINUTES)
    def save(self, title: str, content: str, topic: str | None, project: str, scope: str, minutes: int) -> None:
        self.clock.pass_minutes(minutes)
        saved = self.app.observations.save(title=title, content=content, topic_key=topic, project=project, scope=scope)
        if saved.outcome is Outcome.CREATED:
            assert saved.id not in self.live.keys() | self.hidden | self.gone
            self.live[saved.id], self.seen[saved.id] = 1, 1
        elif saved.outcome is Outcome.UPDATED:
            self.live[saved.id] += 1
        else:
            self.seen[saved.id] += 1
        assert saved.id in self.live
        assert saved.topic_key == topic.lower() if topic else True
        row = self.app.observations.get(saved.id).observation
        assert (row.title, row.content.casefold()) == (title, content.casefold())

    @rule(title=st.none() | TEXT, content=st.none() | TEXT, topic=TOPIC, project=st.none() | PROJECT, data=st.data())
    def update(
        self, title: str | None, content: str | None, topic: str | None, project: str | None, data: st.DataObject
    ) -> None:
        id = data.draw(st.sampled_from(sorted(self.live.keys() | self.hidden | self.gone | {999})))
        try:
            updated = self.app.observations.update(id, title=title, content=content, topic_key=topic, project=project)
        except InvalidInput:
            assert (title, content, topic, project) == (None,) * 4
        except NotFound:
            assert id not in self.live
        except Conflict:
            assert topic is not None or project is not None
        else:
            assert id in self.live
            self.live[id] = updated.revision_count

    @precondition(lambda self: self.live or self.hidden)
    @rule(hard=st.booleans(), data=st.data())
    def delete(self, hard: bool, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.live.keys() | self.hidden)))
        self.app.observations.delete(id, hard=hard)
        self.live.pop(id, None)
        self.seen.pop(id, None)
        self.hidden.discard(id)
        (self.gone if hard else self.hidden).add(id)

    @rule()
    def merge(self) -> None:
        try:
            self.app.projects.merge("web", "shop")
        except (NotFound, Conflict):
            return
        with self.app.store.read() as tx:
            assert tx.project("web") == tx.project("shop")

    @invariant()
    def promises_hold(self) -> None:
        if not hasattr(self, "app"):
            return
        with self.app.store.read() as tx:
            rows = list(tx.all_observations(deleted=True))
            live = [row for row in rows if row.deleted_at is None]
            assert {row.id: row.revision_count for row in live} == self.live
            assert {row.id: row.duplicate_count for row in live} == self.seen
            assert {row.id for row in rows} - self.live.keys() == self.hidden
            held = Counter((row.project, row.scope, row.topic_key) for row in live if row.topic_key)
            assert all(count == 1 for count in held.values())
            assert all(len(tx.versions(row.id)) == row.revision_count - 1 for row in rows)
            assert all(tx.versions(id) == [] for id in self.gone)
            counts = tx.counts()
            assert (counts.observations, counts.deleted) == (len(self.live), len(self.hidden))
            assert sum(project.observations for project in tx.projects()) == counts.observations
            assert sum(tx.session_size(session.id) for session in tx.all_sessions()) == counts.observations
        assert {finding.id for finding in self.app.store.check(deep=True) if finding.level != "ok"} == set()

    @rule(word=TEXT)
    def search(self, word: str) -> None:
        hits = {hit.id for hit in self.app.search.find(word, limit=20).hits}
        assert hits <= self.live.keys()
        assert hits or all(
            word not in (row.title, row.content)
            for row in (self.app.observations.get(id).observation for id in self.live)
        )


Life.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
