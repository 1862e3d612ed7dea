"""`pending-approvals.json`: proposals that wait for a person. Tokens themselves are never written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from engram import files
from engram.errors import IntegrityFailed
from engram.vault.roots import Root

FILE = "pending-approvals.json"
VERSION = 1


def read(root: Root) -> list[Mapping[str, Any]]:
    """The sealed records as they stand in the file. Raises `IntegrityFailed` for a file that is none of ours."""
    path = os.path.join(root.path, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise IntegrityFailed(f"{path}: cannot be read", hint="remove it and propose again") from error
    rows = found.get("proposals") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise IntegrityFailed(f"{path}: is not a list of proposals", hint="remove it and propose again")
    return rows


def write(root: Root, records: Sequence[Mapping[str, Any]]) -> None:
    """Replace the file. Need not survive a power cut: a lost proposal is made again, and a token whose use was lost
    finds its candidates known already."""
    # A line for each, so that a person can read it and the fast encoder can write it.
    encode = json.JSONEncoder(ensure_ascii=False).encode
    rows = ",\n".join(map(encode, records))
    text = f'{{"version": {VERSION}, "proposals": [\n{rows}\n]}}\n'
    files.write_whole(os.path.join(root.path, FILE), text, lasting=False)
