"""Measure governed memory: what `engram_load` finds and wrongly loads, and what reading and committing cost.

    python bench/memories.py --data DIR [--skip-recall] [--count 10000] [--json FILE]

Recall: each repository's commit messages become approved memories of a root; its own questions must load their memory,
questions of other repositories and of conversations nothing. Cost: a root of `--count` memories; a load in a warm and
in a new process, a cold read of all files, one commit, each beside its yardstick in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engram.bootstrap import App
from engram.core.memory import Memory
from engram.settings import load
from engram.vault import memory_file

sys.path.insert(0, str(Path(__file__).parent))
from retrieval import collections

ASKED = 120
FOREIGN = 40


def root_of(folder: str, memories: list[Memory]) -> App:
    """A trusted workspace with these memories, and the app that sees it."""
    os.environ["ENGRAM_TRUST"] = "1"
    place = Path(folder, "shop", ".agents", ".engram")
    for memory in memories:
        path = place / memory_file.place_for(memory)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(memory_file.render(memory, scope="workspace"), encoding="utf-8")
    app = App(load({"ENGRAM_DATA_DIR": str(Path(folder, "data"))}), workspace=str(place.parent.parent), process="bench")
    app.trust.trust()
    return app


def of_commits(docs: list[dict[str, Any]]) -> list[Memory]:
    return [
        Memory(
            id=f"c-{number}",
            type="knowledge",
            title=doc["title"] or doc["text"][:60],
            text=doc["text"].strip() or doc["title"],
            created="2026-01-01",
            updated="2026-01-01",
        )
        for number, doc in enumerate(docs)
    ]


def recall(folder: Path) -> dict[str, Any]:
    sets = {name: list(collections(folder, name)) for name in ("gitmem", "locomo")}
    chance = random.Random(7)
    own: list[bool] = []
    wrong: dict[str, list[bool]] = {"gitmem": [], "locomo": []}
    sizes: list[int] = []
    for collection in sets["gitmem"]:
        ids = {doc["id"]: f"c-{number}" for number, doc in enumerate(collection["docs"])}
        with tempfile.TemporaryDirectory() as place:
            app = root_of(place, of_commits(collection["docs"]))
            for query in collection["queries"][:ASKED]:
                wanted = {ids[id] for id in query["rel"] if id in ids}
                keys = app.memories.load(query["q"]).pack.selected
                sizes.append(len(keys))
                own.append(bool(wanted & {key.rpartition(":")[2] for key in keys}))
            for name, others in sets.items():
                for other in others:
                    if other["name"] == collection["name"]:
                        continue
                    for query in chance.sample(other["queries"], min(FOREIGN, len(other["queries"]))):
                        wrong[name].append(bool(app.memories.load(query["q"]).pack.selected))
            app.close()
    share = {name: round(100 * statistics.mean(rows), 1) for name, rows in wrong.items()}
    return {
        "own questions that load their memory, %": round(100 * statistics.mean(own), 1),
        "memories selected per own question": round(statistics.mean(sizes), 1),
        "false loads, questions of other repositories, %": share["gitmem"],
        "false loads, questions of conversations, %": share["locomo"],
        "false loads, all, %": round(100 * statistics.mean([*wrong["gitmem"], *wrong["locomo"]]), 1),
    }


TOPICS = (
    "cache queue login invoice feed search upload webhook session schema report mailer export payment audit".split()
)
VERBS = "retry batch validate encrypt paginate throttle log rename split merge".split()


def invented(count: int) -> list[Memory]:
    chance = random.Random(3)
    made = []
    for number in range(count):
        topic, verb = chance.choice(TOPICS), chance.choice(VERBS)
        other = chance.choice(TOPICS)
        text = (
            f"The {topic} service must {verb} every {other} request in module m{number % 997} before it answers. "
            f"Ticket {number} decided it; see src/{topic}/{verb}{number % 89}.py and the {other} runbook."
        )
        made.append(
            Memory(
                id=f"{topic}-{verb}-{number}",
                type=("rule", "knowledge", "skill")[number % 3],
                title=f"{topic} must {verb} {other} requests ({number})",
                text=text,
                triggers=(f"{verb} {topic}",) if number % 500 == 0 else (),
                created="2026-01-01",
                updated=f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}",
            )
        )
    return made


def middle(job: Callable[[], object], times: int) -> float:
    """Median milliseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        job()
        taken.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(taken), 2)


def bare_write(folder: Path) -> None:
    """Write, fsync and rename one file of a memory's size: the yardstick of a commit."""
    path = folder / "bare.tmp"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(handle, b"x" * 700)
    os.fsync(handle)
    os.close(handle)
    os.replace(path, folder / "bare")


def cost(count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        app = root_of(place, invented(count))
        app.close()
        root = Path(place, "shop", ".agents", ".engram")
        questions = [f"how does the {t} service {v} requests?" for t in TOPICS for v in VERBS[:3]]
        app = App(load({"ENGRAM_DATA_DIR": str(Path(place, "data"))}), workspace=str(root.parent.parent), process="b")
        app.memories.load(questions[0])
        asked = iter(questions * 10)
        warm = middle(lambda: app.memories.load(next(asked)), 60)
        place_of = app.roots.named("workspace")
        whole = middle(lambda: place_of.refresh(whole=True), 7)
        one = next(root.glob("rules/*.md"))
        reading = middle(one.read_bytes, 200)
        bare = middle(lambda: bare_write(Path(place)), 60)
        spent = []
        for number in range(30):
            words = [f"w{number * 31 + at}x" for at in range(12)]
            text = f"The {words[0]} of {words[1]} keeps {' and '.join(words[2:])} by hand."
            proposed = app.proposals.propose(text, is_single=True)
            began = time.perf_counter()
            done = app.proposals.commit(proposed.token, "all")
            spent.append(1000 * (time.perf_counter() - began))
            assert done.wrote, done
        committing = round(statistics.median(spent), 2)
        app.close()
        for path in list(root.glob("*/*.md")):
            path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        app = App(load({"ENGRAM_DATA_DIR": str(Path(place, "data"))}), workspace=str(root.parent.parent), process="c")
        began = time.perf_counter()
        app.roots.existing()
        changed = round(1000 * (time.perf_counter() - began))
        app.close()
        memory = _resident(place, str(root.parent.parent))
        return {
            "memories": count,
            "load, warm, ms": warm,
            "a whole look at all files, ms": whole,
            "reading one file, ms": reading,
            "all files changed, first read, ms": changed,
            "one commit, ms": committing,
            "write + fsync + rename, ms": bare,
            "commit / write + fsync + rename": round(committing / bare, 1),
            "resident after a load in a new process, MB": memory,
        }


def _resident(place: str, workspace: str) -> float:
    code = (
        "from engram.bootstrap import open_app; import sys; "
        "app = open_app(workspace=sys.argv[1]); app.memories.load('how does the cache service retry requests?'); "
        # Not getrusage: its maximum is inherited from the process that started this one.
        "print([int(line.split()[1]) / 1024 for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, workspace],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ENGRAM_DATA_DIR": str(Path(place, "data"))},
    )
    return round(float(done.stdout), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--skip-recall", action="store_true")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        found = {"cost": cost(args.count)}
        if args.data and not args.skip_recall:
            found["recall"] = recall(args.data)
    found["peak of this process, MB"] = {"value": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}
    for title, rows in found.items():
        print(title)
        for name, value in rows.items():
            print(f"  {name:<52} {value}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
