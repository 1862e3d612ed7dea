"""The one place that writes to the terminal: results as text or `--json`, errors as a sentence and a status."""

from __future__ import annotations

import dataclasses
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from engram import streams
from engram.errors import EngramError

CONTRACT_VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a command gives back: `data` for scripts, `text` for people, and the exit status."""

    data: Any
    text: str
    status: int = 0
    diagnostics: list[dict[str, Any]] = field(default_factory=list)


def show(result: Result, *, as_json: bool) -> int:
    """Print a result; returns its exit status. A closed pipe is a normal end."""
    if as_json:
        write(_envelope(ok=result.status == 0, data=_plain(result.data), diagnostics=result.diagnostics))
    elif result.text:
        write(result.text)
    return result.status


def show_error(error: EngramError, *, as_json: bool) -> int:
    """Print an error as its surface wants it; returns its exit status."""
    from engram.core.clean import clean

    message, hint = clean(error.message), clean(error.hint)
    if as_json:
        finding = {"id": error.code, "severity": "error", "message": message}
        if hint:
            finding["remediation"] = hint
        with suppress(EngramError):  # the sentence on stderr says what is the matter all the same
            write(_envelope(ok=False, data=None, diagnostics=[finding]))
    streams.tell(f"engram: {message}\n" + (f"  next: {hint}\n" if hint else ""))
    return error.exit_status


def _envelope(*, ok: bool, data: Any, diagnostics: list[dict[str, Any]]) -> str:
    whole = {"contract_version": CONTRACT_VERSION, "ok": ok, "data": data, "diagnostics": diagnostics}
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _plain(value: Any) -> Any:
    """Dataclasses and tuples as JSON knows them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def write(text: str) -> None:
    """A line of text to stdout. Raises `EngramError` when it cannot be written though somebody would read it."""
    try:
        streams.write(text + "\n")
    except OSError as error:
        raise unwritable(error) from error


def unwritable(error: OSError) -> EngramError:
    return EngramError(f"the output cannot be written: {error.strerror}", hint="free some space")
