"""Measure what search finds, through the product's own save and search.

    python bench/retrieval.py --data DIR [--sets locomo,gitmem,cjk] [--limit N] [--json FILE] [--misses FILE]

DIR holds `NAME-dev.jsonl.gz` files: one collection a line, `{"name", "docs", "queries"}`. Each collection becomes a
store of its own. Beside the product, in the same run, stands the yardstick of systems that demand every word
(`all words`) and that of any word without stemming (`any word`), both plain FTS5.

Figures: H@k = share of queries with a relevant document among the first k; R@10 = share of the relevant documents
found; MRR = mean of 1/rank of the first relevant one. `sessions` scores groups of documents instead.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from engram.bootstrap import App
from engram.core import times
from engram.settings import load

CUTS = (1, 5, 10)
Search = Callable[[str, int], list[str]]


def collections(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Collections of one set, as its file lists them."""
    with gzip.open(folder / f"{name}-dev.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


class Product:
    """The product as an agent uses it: each document is one save; documents of one group are one session."""

    def __init__(self, folder: str, docs: list[dict[str, Any]], *, conversation: bool) -> None:
        self._clock = 1_700_000_000.0
        self.app = App(
            load({"ENGRAM_DATA_DIR": folder, "ENGRAM_SYNCHRONOUS": "normal"}),
            workspace=folder,
            process="bench",
            now=self._now,
        )
        self.by_id: dict[int, str] = {}
        began = time.process_time()
        for doc in docs:
            saved = self.app.observations.save(
                title=doc["title"] or doc["speaker"] or doc["text"][:60],
                content=doc["text"].strip() or doc["title"],
                type="turn" if conversation else "commit",
                project="bench",
                session_id=str(doc["group"]) if conversation else None,
            )
            self.by_id[saved.id] = doc["id"]
        self.save_ms = 1000 * (time.process_time() - began) / max(1, len(docs))

    def _now(self) -> str:
        # An hour a document: no two documents fall into one window of duplicates.
        self._clock += 3600
        return times.stamp(__import__("datetime").datetime.fromtimestamp(self._clock, __import__("datetime").UTC))

    def search(self, query: str, limit: int) -> list[str]:
        found = self.app.search.find(query, project="bench", limit=limit)
        return [self.by_id[hit.id] for hit in found.hits]


class Plain:
    """Bare FTS5, one joined text a document."""

    def __init__(self, docs: list[dict[str, Any]], joiner: str) -> None:
        self._ids = [doc["id"] for doc in docs]
        self._joiner = joiner
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE f USING fts5(text)")
        self._db.executemany(
            "INSERT INTO f(rowid, text) VALUES (?, ?)", ((n, f"{d['title']} {d['text']}") for n, d in enumerate(docs))
        )

    def search(self, query: str, limit: int) -> list[str]:
        words = [f'"{word}"' for word in re.findall(r"\w+", query)]
        if not words:
            return []
        match = self._joiner.join(words)
        rows = self._db.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f) LIMIT ?", (match, limit))
        return [self._ids[row[0]] for row in rows]


class Score:
    """Sums over queries, per category and whole."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, float]]] = defaultdict(list)

    def add(self, category: str, found: list[str], relevant: set[str]) -> None:
        first = next((n for n, id in enumerate(found, 1) if id in relevant), 0)
        row = {f"H@{k}": float(0 < first <= k) for k in CUTS}
        row["R@10"] = len(relevant.intersection(found[:10])) / len(relevant)
        row["MRR"] = 1 / first if first else 0.0
        self.rows[category].append(row)
        self.rows["all"].append(row)

    def summary(self, category: str = "all") -> dict[str, float]:
        rows = self.rows[category]
        return {name: round(100 * statistics.mean(row[name] for row in rows), 1) for name in rows[0]} | {"n": len(rows)}


def groups_of(found: list[str], group: dict[str, str]) -> list[str]:
    return list(dict.fromkeys(group[id] for id in found))


def measure(folder: Path, name: str, limit: int | None, misses: list[dict[str, Any]]) -> dict[str, Any]:
    conversation = name.startswith("locomo")
    scores: dict[str, dict[str, Score]] = defaultdict(lambda: defaultdict(Score))
    save_ms, search_ms = [], []
    for collection in collections(folder, name):
        docs, queries = collection["docs"], collection["queries"][:limit]
        group = {doc["id"]: str(doc["group"]) for doc in docs}
        with tempfile.TemporaryDirectory() as place:
            product = Product(place, docs, conversation=conversation)
            save_ms.append(product.save_ms)
            systems: dict[str, Search] = {
                "engram": product.search,
                "any word": Plain(docs, " OR ").search,
                "all words": Plain(docs, " AND ").search,
            }
            for query in queries:
                relevant = set(query["rel"]) & group.keys()
                if not relevant:
                    continue
                for system, search in systems.items():
                    began = time.process_time()
                    found = search(query["q"], 20)
                    if system == "engram":
                        search_ms.append(1000 * (time.process_time() - began))
                        if not relevant.intersection(found[:5]):
                            misses.append(
                                {"set": name, "q": query["q"], "relevant": sorted(relevant), "found": found[:5]}
                            )
                    scores["documents"][system].add(str(query["cat"]), found, relevant)
                    if conversation:
                        wanted = {group[id] for id in relevant}
                        scores["sessions"][system].add(str(query["cat"]), groups_of(found, group), wanted)
            product.app.close()
    search_ms.sort()
    return {
        "scores": {
            level: {
                system: {
                    "all": score.summary(),
                    "by category": {c: score.summary(c) for c in sorted(score.rows) if c != "all"},
                }
                for system, score in by_system.items()
            }
            for level, by_system in scores.items()
        },
        "cpu ms a save": round(statistics.mean(save_ms), 2),
        "cpu ms a search": {
            "p50": round(search_ms[len(search_ms) // 2], 2),
            "p95": round(search_ms[len(search_ms) * 95 // 100], 2),
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the *-dev.jsonl.gz files")
    parser.add_argument("--sets", default="locomo,gitmem,cjk")
    parser.add_argument("--limit", type=int, help="queries a collection")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--misses", type=Path, help="write the queries that found nothing relevant in the first 5")
    args = parser.parse_args()
    results, misses = {}, []
    print(f"{'set':<10}{'level':<11}{'system':<11}{'H@1':>7}{'H@5':>7}{'H@10':>7}{'R@10':>7}{'MRR':>7}{'n':>7}")
    for name in args.sets.split(","):
        results[name] = measure(args.data, name, args.limit, misses)
        for level, systems in results[name]["scores"].items():
            for system, score in systems.items():
                row = score["all"]
                figures = "".join(f"{row[k]:>7.1f}" for k in ("H@1", "H@5", "H@10", "R@10", "MRR"))
                print(f"{name:<10}{level:<11}{system:<11}{figures}{row['n']:>7}")
        spent = results[name]["cpu ms a search"]
        print(f"{name:<10}cpu ms: save {results[name]['cpu ms a save']}, search p50 {spent['p50']} p95 {spent['p95']}")
        sys.stdout.flush()
    if args.json:
        args.json.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if args.misses:
        args.misses.write_text("".join(json.dumps(m, ensure_ascii=False) + "\n" for m in misses), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
