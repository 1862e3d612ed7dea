"""Proposals: what waits for a person, sealed so that nobody edits it in between."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from engram.core.candidate import Candidate
from engram.core.clean import Clean
from engram.core.verdict import Action, Verdict
from engram.errors import IntegrityFailed

MINUTES = 30
MAX_WAITING = 64

WAITING, USED, DECLINED = "waiting", "used", "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What approving candidate `number` does in the root of `scope`: the verdict, the file that it writes, and the
    hash that the target had."""

    number: int
    scope: str
    verdict: Verdict
    id: str
    path: str
    target_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A pending record. `token_hash` is the SHA-256 of the approval token, whose first eight digits name the
    proposal to a person; `kind` is memory or note. Times are RFC 3339."""

    token_hash: str
    root: str
    kind: str
    tool: str
    scope: str
    status: str
    created_at: str
    expires_at: str
    candidates: tuple[Candidate, ...]
    plans: tuple[Plan, ...]
    by: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.token_hash[:8]


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def same_digits(given: str, ours: str) -> bool:
    """Compared in constant time, whatever was given."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), ours.encode())


def seal(proposal: Proposal, key: bytes) -> dict[str, Any]:
    """The record as JSON knows it, with an HMAC over all of it."""
    record = json.loads(json.dumps(asdict(proposal), ensure_ascii=False))
    return {**record, "mac": _mac(record, key)}


def unseal(record: Mapping[str, Any], key: bytes) -> Proposal:
    """A proposal as it was sealed. Raises `IntegrityFailed` for one that was changed since, or never sealed here."""
    body = {name: value for name, value in record.items() if name != "mac"}
    if not same_digits(str(record.get("mac", "")), _mac(body, key)):
        raise IntegrityFailed(
            "the proposal was changed after it was made; nothing was written", hint="propose it again"
        )
    try:
        return Proposal(
            **{
                **body,
                "candidates": tuple(_candidate(row) for row in body["candidates"]),
                "plans": tuple(_plan(row) for row in body["plans"]),
            }
        )
    except (TypeError, KeyError, ValueError) as error:
        raise IntegrityFailed("the proposal was made by another version", hint="propose it again") from error


def _candidate(row: Mapping[str, Any]) -> Candidate:
    lists = ("tags", "triggers", "depends_on", "parent", "role", "evidence_refs", "derived_from")
    values: dict[str, Any] = {**row, **{name: tuple(row[name]) for name in lists}}
    return Candidate(**{**values, "text": Clean(row["text"]), "title": Clean(row["title"])})


def _plan(row: Mapping[str, Any]) -> Plan:
    verdict = dict(row["verdict"])
    verdict["action"] = Action(verdict["action"])
    verdict["related"] = tuple(verdict["related"])
    return Plan(**{**row, "verdict": Verdict(**verdict)})


def _mac(record: Mapping[str, Any], key: bytes) -> str:
    said = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def numbers_of(approve: Any, count: int) -> tuple[int, ...] | None:
    """Which candidates `approve` means: `"all"`, `[1, 3]`, `"1,3"`, `2`; None when it means nothing valid."""
    if isinstance(approve, str):
        text = approve.strip().lower()
        if text in ("all", "[all]", '"all"', '["all"]'):
            return tuple(range(1, count + 1))
        parts: Sequence[Any] = [part for part in text.strip("[]").replace(" ", ",").split(",") if part]
    elif isinstance(approve, bool):
        return None
    elif isinstance(approve, (int, float)):
        parts = [approve]
    elif isinstance(approve, (list, tuple)):
        if list(approve) == ["all"]:
            return tuple(range(1, count + 1))
        parts = approve
    else:
        return None
    chosen: dict[int, None] = {}
    for part in parts:
        if isinstance(part, str) and part.strip().isascii() and part.strip().isdigit() and len(part) < 6:
            part = int(part)
        if isinstance(part, float) and part.is_integer():
            part = int(part)
        if isinstance(part, bool) or not isinstance(part, int) or not 1 <= part <= count:
            return None
        chosen[part] = None
    return tuple(sorted(chosen)) or None
