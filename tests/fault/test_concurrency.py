"""Many agents at once: nothing refused, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from engram.bootstrap import App
from engram.settings import load

PROCESSES = 16
SAVES = 50
TOPIC_EVERY = 5

WORKER = """
import json, sys
from engram.bootstrap import open_app
number, saves, every = map(int, sys.argv[1:])
app = open_app()
sys.stdin.readline()
for step in range(saves):
    topic = "shared/decision" if step % every == 0 else None
    try:
        saved = app.observations.save(
            title=f"Worker {number}", content=f"worker {number} step {step}", topic_key=topic, session_id=f"w{number}"
        )
        print(json.dumps([saved.id, str(saved.outcome), f"worker {number} step {step}"]), flush=True)
    except Exception as error:
        print(json.dumps([0, "refused", repr(error)]), flush=True)
app.close()
"""


@pytest.mark.slow
def test_sixteen_processes_save_fifty_times_each_and_every_text_is_kept(data: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "ENGRAM_DATA_DIR": str(data), "ENGRAM_PROJECT": "shop"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(number), str(SAVES), str(TOPIC_EVERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    ends = [worker.communicate("go\n", timeout=300) for worker in workers]

    assert [err for _, err in ends if err] == []
    told = [json.loads(line) for out, _ in ends for line in out.splitlines()]
    assert [answer for answer in told if answer[1] == "refused"] == []
    outcomes = [outcome for _, outcome, _ in told]
    assert (len(told), set(outcomes)) == (PROCESSES * SAVES, {"created", "updated"})

    app = App(load(environment), workspace=str(tmp_path), process="judge")
    with app.store.read() as tx:
        rows = list(tx.all_observations(deleted=True))
        assert len(rows) == outcomes.count("created")
        topic = tx.live_topic("shop", "project", "shared/decision")
        assert topic is not None
        versions = tx.versions(topic.id)
        assert topic.revision_count == len(versions) + 1 == outcomes.count("updated") + 1
        assert len([row for row in rows if row.topic_key]) == 1
        kept = {row.content for row in rows} | {version.content for version in versions}
        assert kept == {text for _, _, text in told}
        assert len({version.version for version in versions}) == len(versions)
    assert {finding.level for finding in app.store.check(deep=True)} == {"ok"}
    app.close()
    connection = apsw.Connection(str(data / "engram.db"))
    assert list(connection.execute("PRAGMA integrity_check")) == [("ok",)]
    connection.close()
