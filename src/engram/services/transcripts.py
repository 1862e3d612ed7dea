"""Prompts as evidence, for those who ask for it: an inbox page to edit, and a trace beside it that never changes.

Off unless `.agents/engram.transcripts.json` of a trusted workspace says `{"enabled": true}`. Nothing of it is ever a
memory by itself: `engram save-session --file PAGE` proposes what the trace says, and a person decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engram import files
from engram.core import times
from engram.core.clean import clean, redact
from engram.core.instructions import find_instructions
from engram.core.text import cut
from engram.errors import InvalidInput, NotFound, Unsafe
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.vault import setup

SETTINGS = "engram.transcripts.json"
INBOX, TRACES = "inbox", os.path.join("inbox", "traces")
# Hosts whose prompts come through a hook as the person wrote them.
HOSTS = ("claude", "gemini", "windsurf", "opencode")
MARK = "<!-- engram: inbox page of trace "
_TRACE_ID = re.compile(r"tr_[0-9a-f]{32}")
_DAYS = re.compile(r"(\d{1,4})\s*d(?:ays?)?")
_CHARACTERS = (20_000, 100_000)  # kept of a prompt: by default, and at most
_FILES = (100, 1_000)
_MOST_TRACE = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the person's file says. `days` is how long a trace is kept."""

    hosts: tuple[str, ...]
    scope: str
    max_chars: int
    max_files: int
    sensitivity: str
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of a prompt: `written`, `known` (the same came before), `disabled`, or `limited` by the number of
    files. `redacted` names kinds of what was replaced, `removed` counts lines that forged instructions."""

    status: str
    page: str = ""
    redacted: tuple[str, ...] = ()
    removed: int = 0
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The immutable record: its id, the text, and what memories made of it cite."""

    id: str
    text: str
    session: str
    host: str
    at: str


class Transcripts:
    def __init__(self, roots: MemoryRoots, *, now: Callable[[], str]) -> None:
        self._roots = roots
        self._now = now

    # -- taking in -------------------------------------------------------------------------------------------------

    def take(self, prompt: str, *, host: str, session: str, turn: str) -> Ingested:
        """Keep a prompt as a page and a trace, if this workspace wants that. The same prompt of the same turn is kept
        once."""
        place = self._roots.workspace
        wanted = self._wanted(place) if place is not None else None
        if place is None or wanted is None or host not in wanted.hosts:
            return Ingested(status="disabled")
        home = self._roots.named(wanted.scope)
        home.root.check_writable()
        told = redact(prompt)
        lines = told.text.split("\n")
        forged = {suspect.line for suspect in find_instructions(told.text)}
        kept = "\n".join(line for at, line in enumerate(lines, 1) if at not in forged).strip()
        text = cut(kept, wanted.max_chars)
        if not text.strip():
            return Ingested(status="disabled", redacted=tuple(told.kinds), removed=len(forged))
        said: dict[str, Any] = {
            "host": host,
            "session": clean(session),
            "turn": clean(turn),
            "speaker": "user",
            "source": "hook",
            "trust": "not reviewed",
            "sensitivity": wanted.sensitivity,
            "root": home.root.path,
            "text": text,
        }
        id = f"tr_{_digest(said)[:32]}"
        page = os.path.join(home.root.path, INBOX, f"{id}.md")
        with home.ledger.locked():
            self._purge(home)
            if os.path.exists(os.path.join(home.root.path, TRACES, f"{id}.jsonl")):
                return Ingested(status="known", page=page)
            if _count(home) >= wanted.max_files:
                return Ingested(status="limited")
            now = self._now()
            whole = {**said, "id": id, "at": now, "expires": times.earlier(now, minutes=-wanted.days * 24 * 60)}
            self._write(home, page, whole)
        return Ingested(
            status="written",
            page=page,
            redacted=tuple(told.kinds),
            removed=len(forged),
            truncated=len(text) < len(kept),
        )

    def _wanted(self, place: MemoryRoot) -> Wanted | None:
        """None where nobody asked for it, or where nobody trusts who did."""
        path = os.path.join(os.path.dirname(place.root.path), SETTINGS)
        try:
            with open(path, encoding="utf-8-sig") as file:
                found = json.loads(file.read(64 * 1024))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or found.get("enabled") is not True:
            return None
        place.catch_up()
        if not place.trust.is_trusted:
            return None
        hosts = found.get("hosts")
        named = [str(host).lower() for host in hosts] if isinstance(hosts, list) else list(HOSTS)
        return Wanted(
            hosts=tuple(host for host in HOSTS if host in named),
            scope="global" if found.get("scope") == "global" else "workspace",
            max_chars=_whole(found, "max_chars", *_CHARACTERS),
            max_files=_whole(found, "max_files", *_FILES),
            sensitivity=clean(" ".join(str(found.get("sensitivity") or "private").split())[:40]),
            days=_days(found.get("retention")),
        )

    def _write(self, home: MemoryRoot, page: str, whole: dict[str, Any]) -> None:
        setup.complete(home.root)  # the inbox must not reach Git
        for name in (INBOX, TRACES):
            files.private_folder(os.path.join(home.root.path, name))
        line = _canonical({**whole, "hash": _digest(whole)})
        files.write_whole(os.path.join(home.root.path, TRACES, f"{whole['id']}.jsonl"), line + "\n")
        files.write_whole(page, _page(whole))

    def _purge(self, home: MemoryRoot) -> None:
        """Traces whose time is over go, with their pages."""
        now = self._now()
        for id in _ids(home):
            path = os.path.join(home.root.path, TRACES, f"{id}.jsonl")
            expires = str(_read(path).get("expires", ""))
            if expires and expires < now:
                for gone in (path, os.path.join(home.root.path, INBOX, f"{id}.md")):
                    if os.path.exists(gone):
                        os.unlink(gone)

    # -- giving out ------------------------------------------------------------------------------------------------

    def trace_of(self, page: str, text: str) -> Trace | None:
        """The trace behind an inbox page, None for a file that is no such page. What the page says does not count.

        Raises `NotFound` for a trace that is gone or expired, `Unsafe` for one that was changed or belongs to another
        root.
        """
        if not text.startswith(MARK):
            return None
        found = _TRACE_ID.match(text, len(MARK))
        if found is None:
            raise InvalidInput("--file: the page names no trace", hint="give the page as it was made")
        id = found.group()
        root = os.path.dirname(os.path.dirname(os.path.realpath(page)))
        if root not in {place.root.path for place in self._roots.existing()}:
            raise Unsafe(f"{id}: its page does not lie in the inbox of this workspace", hint="run it in that workspace")
        whole = _read(os.path.join(root, TRACES, f"{id}.jsonl"))
        if not whole:
            raise NotFound(f"{id}: the trace is gone", hint="its time was over, or somebody removed it")
        digest = whole.pop("hash", "")
        if _digest(whole) != digest or whole.get("id") != id:
            raise Unsafe(f"{id}: the trace was changed; it is no evidence any more", hint="remove it and its page")
        if whole.get("root") != root:
            raise Unsafe(f"{id}: the trace belongs to another root", hint="run it in that workspace")
        if str(whole.get("expires", "")) < self._now():
            raise NotFound(f"{id}: the trace has expired", hint="ask again; what is old is not proposed")
        return Trace(id=id, text=whole["text"], session=whole["session"], host=whole["host"], at=whole["at"])


def _whole(found: Mapping[str, Any], name: str, default: int, most: int) -> int:
    value = found.get(name)
    is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return min(value, most) if is_number and isinstance(value, int) else default


def _days(value: Any) -> int:
    match = _DAYS.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    return max(1, min(int(match[1]), 3650)) if match else 30


def _ids(home: MemoryRoot) -> list[str]:
    try:
        names = os.listdir(os.path.join(home.root.path, TRACES))
    except OSError:
        return []
    return sorted(name.removesuffix(".jsonl") for name in names if _TRACE_ID.fullmatch(name.removesuffix(".jsonl")))


def _count(home: MemoryRoot) -> int:
    return len(_ids(home))


def _read(path: str) -> dict[str, Any]:
    """A trace as it stands, {} for none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(file.read(_MOST_TRACE))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _canonical(said: Mapping[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _digest(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(said).encode("utf-8", "replace")).hexdigest()


def _page(whole: Mapping[str, Any]) -> str:
    quoted = "\n".join(f"> {line}".rstrip() for line in str(whole["text"]).split("\n"))
    return (
        f"{MARK}{whole['id']} -->\n\n"
        f"Asked in {whole['host']} at {whole['at']}, kept until {whole['expires'][:10]}.\n"
        "Not a memory: nobody approved it.\n"
        f"To propose it: engram save-session --file {INBOX}/{whole['id']}.md\n\n{quoted}\n"
    )
