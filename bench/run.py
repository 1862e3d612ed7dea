"""Measure start-up, save, search, writers at once, and the cost of the tools, beside yardsticks in the same run.

    python bench/run.py [--rows 10000,100000] [--quick] [--json FILE]

Every figure is a median (or a percentile) of many runs, taken in turn with its yardstick, and reported as a ratio:
milliseconds depend on the machine, ratios much less. Run it in a virtual environment, with byte code present.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import stores
from wire import Agent

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="10000,100000")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    table = Table()
    repeat = 7 if args.quick else 31
    start_up(table, repeat)
    tokens(table)
    writers(table, processes=16, saves=10 if args.quick else 50)
    for rows in (int(count) for count in args.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            stores.fill(Path(folder), rows)
            save(table, folder, rows, 60 if args.quick else 600)
            search(table, folder, rows, 40 if args.quick else 120)
    table.show()
    if args.json:
        args.json.write_text(json.dumps(table.rows, indent=2) + "\n", encoding="utf-8")
    return 0


class Table:
    """Rows of the report: what, measured, yardstick, ratio, what must be reached."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, what: str, measured: float, yardstick: float | None, must: str, unit: str = "ms") -> None:
        row: dict[str, Any] = {"what": what, "measured": round(measured, 2), "unit": unit, "must": must}
        if yardstick:
            row |= {"yardstick": round(yardstick, 2), "ratio": round(measured / yardstick, 2)}
        self.rows.append(row)
        print(f"  {what}: {row['measured']} {unit}" + (f", {row['ratio']} x" if yardstick else ""), file=sys.stderr)

    def show(self) -> None:
        print("| what | measured | yardstick | ratio | must reach |")
        print("| --- | ---: | ---: | ---: | --- |")
        for row in self.rows:
            yardstick = f"{row['yardstick']} {row['unit']}" if "yardstick" in row else "–"
            ratio = f"{row['ratio']} ×" if "ratio" in row else "–"
            print(f"| {row['what']} | {row['measured']} {row['unit']} | {yardstick} | {ratio} | {row['must']} |")


def timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return 1000 * (time.perf_counter() - began)


def in_turn(runs: dict[str, Callable[[], float]], repeat: int) -> dict[str, list[float]]:
    """Each measurement once a round, so that all see the same machine. The first round only warms up."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for at in range(repeat + 1):
        for name, run in runs.items():
            value = run()
            if at:
                found[name].append(value)
    return found


def start_up(table: Table, repeat: int) -> None:
    """Spawn to the answer of the first `tools/list`, to `--version`, and to a search on an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ENGRAM_DATA_DIR": folder}
        resident: list[float] = []

        def mcp() -> float:
            began = time.perf_counter()
            with Agent(folder) as agent:
                agent.ask("initialize", INITIALIZE)
                agent.ask("tools/list", {})
                spent = 1000 * (time.perf_counter() - began)
                resident.append(agent.resident_mb())
            return spent

        def command(*arguments: str) -> Callable[[], float]:
            return lambda: timed(
                lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
            )

        found = in_turn(
            {
                "bare": command("-c", "pass"),
                "mcp": mcp,
                "version": command("-m", "engram", "--version"),
                "search": command("-m", "engram", "search", "anything"),
            },
            repeat,
        )
    median = {name: statistics.median(values) for name, values in found.items()}
    table.add("start of `engram mcp` to first `tools/list`", median["mcp"], median["bare"], "≤ 3 ×")
    table.add("resident after `tools/list`", statistics.median(resident), None, "≤ 30 MB", "MB")
    table.add("`engram --version`", median["version"], median["bare"], "–")
    table.add("`engram search`, empty store", median["search"], median["bare"], "–")


def tokens(table: Table) -> None:
    from engram.core.text import count_tokens

    with tempfile.TemporaryDirectory() as folder, Agent(folder) as agent:
        agent.ask("initialize", INITIALIZE)
        tools = agent.ask("tools/list", {})["tools"]
        spent = count_tokens(json.dumps(tools, ensure_ascii=False, separators=(",", ":")))
    table.add("tokens of `tools/list`, 14 tools", spent, None, "≤ 2,000", "tokens")


def save(table: Table, folder: str, rows: int, repeat: int) -> None:
    """`mem_save` over stdio beside the same row, history and index in bare SQLite, same durability."""
    bare = stores.Bare(Path(folder) / "bare.db", rows)
    with Agent(folder) as agent:
        agent.ask("initialize", INITIALIZE)
        texts = stores.texts(rows + 7)

        def product() -> float:
            title, content, project = next(texts)
            given = {"title": title, "content": content, "type": "discovery", "project": project}
            return timed(lambda: agent.ask("tools/call", {"name": "mem_save", "arguments": given}))

        def plain() -> float:
            title, content, project = next(texts)
            return timed(lambda: bare.save(title, content, project))

        found = in_turn({"product": product, "plain": plain}, repeat)
    for name, q in (("p50", 0.5), ("p95", 0.95)):
        mine, theirs = (quantile(found[key], q) for key in ("product", "plain"))
        table.add(f"`mem_save` {name}, {rows:,} rows", mine, theirs, "≤ 2.5 ×")


def search(table: Table, folder: str, rows: int, repeat: int) -> None:
    """`mem_search` over stdio beside matching any of the words without scoring in bare SQLite."""
    bare = stores.Bare(Path(folder) / "bare.db", rows)
    with Agent(folder) as agent:
        agent.ask("initialize", INITIALIZE)
        for words in (4, 14):
            questions = stores.questions(words)
            asked: list[str] = []

            def product(questions: Any = questions, asked: list[str] = asked) -> float:
                asked.append(next(questions))
                given = {"query": asked[-1]}
                return timed(lambda: agent.ask("tools/call", {"name": "mem_search", "arguments": given}))

            def plain(asked: list[str] = asked) -> float:
                return timed(lambda: bare.match(asked[-1]))

            found = in_turn({"product": product, "plain": plain}, repeat)
            for name, q in (("p50", 0.5), ("p95", 0.95)):
                mine, theirs = (quantile(found[key], q) for key in ("product", "plain"))
                table.add(f"`mem_search` {name}, {words} words, {rows:,} rows", mine, theirs, "p95 ≤ 6 ×")


def writers(table: Table, *, processes: int, saves: int) -> None:
    """Many processes save at once through the product, and through bare SQLite."""
    times: dict[str, float] = {}
    kept: dict[str, int] = {}
    for kind in ("bare", "product"):
        with tempfile.TemporaryDirectory() as folder:
            stores.prepare(kind, folder)
            script = [sys.executable, str(Path(__file__).parent / "writer.py"), kind, folder, str(saves)]
            began = time.perf_counter()
            running = [subprocess.Popen([*script, str(n)], stdout=subprocess.PIPE) for n in range(processes)]
            kept[kind] = sum(int(process.communicate()[0]) for process in running)
            times[kind] = 1000 * (time.perf_counter() - began)
    table.add(f"{processes} processes × {saves} saves", times["product"], times["bare"], "≤ 3 ×")
    table.add("of these kept", kept["product"], None, f"{processes * saves}", "rows")


def quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


if __name__ == "__main__":
    sys.exit(main())
