"""A commit of memories is all or nothing, whenever the process dies and however many try at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="fork and kill -9")]

ROUNDS = 200

COMMON = """
import json, os, random, signal, sys
from engram.bootstrap import open_app
from engram.errors import EngramError
from engram.services import memories, proposals, review, promotion, trust, memory_views  # before any fork
from engram.core import instructions, secrets, guidance
from engram.storage.sqlite import memory_index
import filelock, json

def in_a_process(job):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        code = 0
        try:
            os.write(write, json.dumps(job()).encode())
        except EngramError as error:
            os.write(write, json.dumps({"error": error.message}).encode())
        except BaseException as error:
            os.write(2, repr(error).encode() + b"\\n")
            code = 70
        os._exit(code)
    os.close(write)
    told = b""
    while piece := os.read(read, 65536):
        told += piece
    os.close(read)
    status = os.waitpid(child, 0)[1]
    return json.loads(told) if told else None, os.waitstatus_to_exitcode(status)

def words(number, at):
    return " ".join(f"{chr(97 + (number * 5 + at) // 26 ** p % 26) * 3}{p}{number}{at}" for p in range(8))
"""

KILLED = (
    COMMON
    + """
STEPS = {"write", "fsync", "replace", "rename", "open", "unlink", "ftruncate", "close", "mkdir", "execute"}

def propose(number):
    def job():
        app = open_app()
        text = "\\n".join(f"TYPE: knowledge | TEXT: {words(number, at)}" for at in range(5))
        proposed = app.proposals.propose(text)
        return {"token": proposed.token, "ids": [plan.id for plan in proposed.proposal.plans]}
    return in_a_process(job)[0]

def commit(token, dies_at):
    def job():
        app = open_app()
        app.roots.existing()
        seen = 0
        def count(frame, event, what):
            nonlocal seen
            if event == "c_call" and what.__name__ in STEPS:
                seen += 1
                if seen == dies_at:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.setprofile(count)
        done = app.proposals.commit(token, "all")
        sys.setprofile(None)
        return {"results": [one.result for one in done.outcomes], "steps": seen}
    return in_a_process(job)

def judge(ids):
    def job():
        app = open_app()
        root = app.roots.named("workspace").root.path
        on_disk = [os.path.exists(os.path.join(root, "knowledge", id + ".md")) for id in ids]
        found = []
        for id in ids:
            try:
                found.append(len(app.memories.fetch(id).pack.bodies) == 1)
            except EngramError:
                found.append(False)
        after = [os.path.exists(os.path.join(root, "knowledge", id + ".md")) for id in ids]
        return {"found": found, "after": after}
    return in_a_process(job)[0]

in_a_process(lambda: open_app().trust.init() and None)
outcomes = {"none": 0, "all": 0, "acknowledged": 0, "killed": 0}
made, _ = commit(propose(100_000)["token"], 0)
steps = made["steps"]
chance = random.Random(7)
for number in range(int(sys.argv[1])):
    proposed = propose(number)
    dies_at = number % steps + 1 if number < 2 * steps else chance.randint(1, steps)
    done, status = commit(proposed["token"], dies_at)
    state = judge(proposed["ids"])
    assert len(set(state["found"])) == 1, (number, dies_at, state)
    assert state["found"] == state["after"], (number, dies_at, state)
    outcomes["all" if state["found"][0] else "none"] += 1
    outcomes["killed"] += status == -signal.SIGKILL
    if done and "results" in done:
        outcomes["acknowledged"] += 1
        assert state["found"][0], (number, dies_at)
last = in_a_process(lambda: {"wrong": [row.path for row in open_app().review.verify().wrong]})[0]
print(json.dumps({"steps": steps, **outcomes, **last}))
"""
)

AT_ONCE = (
    COMMON
    + """
in_a_process(lambda: open_app().trust.init() and None)
proposed = in_a_process(lambda: {"token": open_app().proposals.propose("Only one of twenty writes this.").token})[0]
gate_read, gate_write = os.pipe()
children = []
for _ in range(20):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(gate_write)
        app = open_app()
        os.read(gate_read, 1)
        try:
            told = app.proposals.commit(proposed["token"], "all").outcomes[0].result
        except EngramError as error:
            told = error.code
        os.write(write, told.encode())
        os._exit(0)
    os.close(write)
    children.append((child, read))
os.close(gate_write)
told = []
for child, read in children:
    told.append(os.read(read, 100).decode())
    os.waitpid(child, 0)
print(json.dumps(told))
"""
)


def run(script: str, tmp_path: Path, *arguments: str) -> object:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=workspace,
        timeout=400,
        env={**os.environ, "HOME": str(tmp_path), "ENGRAM_DATA_DIR": str(tmp_path / "data")},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_commit_of_five_killed_at_every_step_leaves_all_or_nothing_and_heals(tmp_path: Path) -> None:
    told = run(KILLED, tmp_path, str(ROUNDS))

    assert isinstance(told, dict)
    assert told["wrong"] == []
    assert told["none"] + told["all"] == ROUNDS
    # Else nothing was tried: kills before and after the moment of commit, and some that came too late.
    assert told["killed"] > ROUNDS / 2
    assert told["none"] > 10
    assert told["all"] - told["acknowledged"] > 10


def test_of_twenty_processes_with_one_token_exactly_one_writes(tmp_path: Path) -> None:
    told = run(AT_ONCE, tmp_path)

    assert isinstance(told, list)
    assert sorted(told) == ["conflict"] * 19 + ["written"]
