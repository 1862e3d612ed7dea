"""A process killed at any moment loses nothing that it had acknowledged."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engram.bootstrap import App
from engram.settings import load

ROUNDS = 100
SEED = 20260302

WORKER = """
import os, sys
from engram.bootstrap import open_app
app = open_app()
round = sys.argv[1]
for step in range(100_000):
    topic = f"kill/{step % 3}" if step % 4 == 0 else None
    saved = app.observations.save(title=f"Round {round}", content=f"round {round} step {step}", topic_key=topic)
    os.write(1, f"{saved.id} round {round} step {step}\\n".encode())
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_hundred_kills_lose_no_acknowledged_row(data: Path, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    environment = {**os.environ, "ENGRAM_DATA_DIR": str(data), "ENGRAM_PROJECT": "shop"}
    acknowledged: list[tuple[int, str]] = []
    app = App(load(environment), workspace=str(tmp_path), process="judge")
    for number in range(ROUNDS):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert worker.stdout is not None
        # Some die while they start or open the store, most while they save.
        answers = b""
        wanted = chance.choice([0, 1, 1, 2, 3, 5, 8, 13])
        while answers.count(b"\n") < wanted:
            answers += os.read(worker.stdout.fileno(), 65536)
        select.select([], [], [], chance.uniform(0, 0.12 if not wanted else 0.004))
        os.kill(worker.pid, signal.SIGKILL)
        answers += worker.stdout.read()
        worker.wait()
        worker.stdout.close()
        for line in answers.decode().splitlines():
            id, _, text = line.partition(" ")
            acknowledged.append((int(id), text))
        if number % 10 == 9:
            assert {finding.level for finding in app.store.check(deep=True)} == {"ok"}

    assert len(acknowledged) > ROUNDS
    with app.store.read() as tx:
        rows = {row.id: row for row in tx.all_observations(deleted=True)}
        for id, text in acknowledged:
            assert text in {rows[id].content, *(version.content for version in tx.versions(id))}
        for row in rows.values():
            assert row.revision_count == len(tx.versions(row.id)) + 1
    assert {finding.level for finding in app.store.check(deep=True)} == {"ok"}
    app.close()
