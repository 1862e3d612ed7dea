"""Make a git repository from a collection of commit messages, for trying `engram import --git` on real text.

    python bench/replay.py --data DIR --collection simonw+datasette OUT

Each document of `gitmem-dev.jsonl.gz` becomes one commit with its message, date and touched paths (their contents are
made up). The repository holds nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from retrieval import collections


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--collection", required=True)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    docs = next(c["docs"] for c in collections(args.data, "gitmem") if c["name"] == args.collection)
    args.out.mkdir(parents=True)
    subprocess.run(["git", "-C", str(args.out), "init", "-q", "-b", "main"], check=True)
    stream = b"".join(commit(doc, number) for number, doc in enumerate(sorted(docs, key=lambda doc: doc["ts"])))
    subprocess.run(["git", "-C", str(args.out), "fast-import", "--quiet"], input=stream, check=True)
    print(f"{len(docs)} commits in {args.out}")
    return 0


def commit(doc: dict[str, Any], number: int) -> bytes:
    """One commit in the form that `git fast-import` reads."""
    body, _, files = doc["text"].partition("Files:")
    message = f"{doc['title']}\n\n{body.strip()}\n".encode()
    at = int(doc["ts"])
    lines = [
        b"commit refs/heads/main\n",
        f"committer A Person <person@example.org> {at} +0000\n".encode(),
        b"data %d\n" % len(message) + message + b"\n",
    ]
    for name in (name.strip() for name in files.split(",")):
        if name and not name.startswith(("/", ".git/")) and ".." not in name and '"' not in name and "\n" not in name:
            content = f"{number}\n".encode()
            lines.append(f"M 100644 inline {name}\n".encode() + b"data %d\n" % len(content) + content + b"\n")
    return b"".join(lines)


if __name__ == "__main__":
    sys.exit(main())
