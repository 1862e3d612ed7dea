"""Ask the person in the host's own dialog, in both protocol eras; without one the approval token is the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engram.bootstrap import App
from engram.errors import EngramError, InvalidInput, NotFound, Unsafe
from engram.mcp_server.calls_in_flight import Call, InputRequired, Stopped
from engram.mcp_server.wire import INVALID_PARAMS, Failure
from engram.services import memory_views
from engram.services.memory_views import View
from engram.services.proposed import NOTE, Proposed

KEY = "approval"
MAX_OPEN = 64
NOTHING = "nothing was saved"


class Dialogs:
    """Proposals whose dialog is open; their tokens are known to this process only."""

    def __init__(self, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._open: dict[str, Proposed] = {}
        self._lock = threading.Lock()

    def remember(self, proposed: Proposed) -> None:
        with self._lock:
            self._open[proposed.proposal.name] = proposed
            while len(self._open) > MAX_OPEN:
                del self._open[next(iter(self._open))]

    def recall(self, state: Any) -> Proposed:
        """The proposal that a verified state speaks of. Raises `Failure` for one that is settled."""
        name = state.get("proposal") if isinstance(state, dict) else None
        with self._lock:
            found = self._open.get(str(name))
        if found is None:
            raise Failure(INVALID_PARAMS, "requestState is not valid for this call")
        return found

    def settle(self, proposed: Proposed) -> None:
        with self._lock:
            self._open.pop(proposed.proposal.name, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What the person chose: candidate numbers, and the scope where there was a choice."""

    numbers: tuple[int, ...]
    scope: str | None


def ask(app: App, call: Call, dialogs: Dialogs, propose: Callable[[], Proposed]) -> View:
    """Propose, and let the person decide: written at once after a yes, the token text where nobody could be asked."""
    if call.modern and call.state is not None:
        proposed = dialogs.recall(call.state)
    else:
        proposed = propose()
        if not dialogs.is_on or not call.can_elicit():
            return memory_views.proposed(proposed)
        dialogs.remember(proposed)
    is_flat = not call.modern and call.peer.version != "2025-11-25"
    try:
        answer = _elicited(call, proposed, is_flat=is_flat)
    except InputRequired:
        raise
    except (Stopped, Failure):
        dialogs.settle(proposed)
        _decline(app, proposed)
        raise
    return _settled(app, call, dialogs, proposed, answer, is_flat=is_flat)


def _elicited(call: Call, proposed: Proposed, *, is_flat: bool) -> dict[str, Any]:
    message, schema = _message(proposed), _schema(proposed, is_flat=is_flat)
    payload = {"proposal": proposed.proposal.name}
    if call.modern:
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        answers = call.require({KEY: {"method": "elicitation/create", "params": params}}, payload)
        given: dict[str, Any] = answers[KEY]
        return given
    return call.elicit(message, schema, key=KEY, payload=payload)


def _settled(
    app: App, call: Call, dialogs: Dialogs, proposed: Proposed, answer: dict[str, Any], *, is_flat: bool
) -> View:
    action = answer.get("action", "cancel")
    dialogs.settle(proposed)
    if action == "cancel" and not _waits(app, proposed):
        return _settled_elsewhere("The dialog gave no answer", proposed, "it waits no longer")
    if action == "cancel":
        return memory_views.proposed(proposed, prefix=f"{NOTHING}: the dialog gave no answer.")
    chosen: _Answer | None = None
    if action not in ("accept", "decline"):
        raise InvalidInput(f"the dialog's answer is none; {_revoked(app, proposed)}", hint="propose again")
    if action == "accept":
        try:
            chosen = _read(proposed, answer.get("content"), is_flat=is_flat)
        except InvalidInput as error:
            raise InvalidInput(f"{error.message}; {_revoked(app, proposed)}", hint="propose again") from error
    if chosen is None or not chosen.numbers:
        if too_late := _decline(app, proposed):
            return _settled_elsewhere("The person declined", proposed, too_late)
        text = f"The person declined; {NOTHING}. Do not propose the same again unasked."
        return text, {"proposal": proposed.proposal.name, "status": "declined"}, []
    call.check()
    done = app.proposals.commit(proposed.token, list(chosen.numbers), how="dialog", scope=chosen.scope)
    return memory_views.committed(done)


def _decline(app: App, proposed: Proposed) -> str:
    """Revoke a proposal. Why it was too late for that, or ""."""
    try:
        app.proposals.decline(proposed.token)
    except NotFound:
        return ""  # its record has gone, and with it every way to write it
    except Unsafe:
        return ""  # a person said no elsewhere
    except EngramError as error:
        return error.message
    return ""


def _revoked(app: App, proposed: Proposed) -> str:
    too_late = _decline(app, proposed)
    return f"the proposal could not be revoked: {too_late}" if too_late else f"{NOTHING} and the proposal is revoked"


def _waits(app: App, proposed: Proposed) -> bool:
    return any(one.proposal.name == proposed.proposal.name for one in app.proposals.waiting())


def _settled_elsewhere(what: str, proposed: Proposed, why: str) -> View:
    """The person had answered somewhere else before: in a terminal, or over the token."""
    text = (
        f"{what}, but the proposal was settled before, outside of this dialog: {why}. See what there is with"
        " engram_search; what was saved a person takes back with `engram undo`. Do not propose the same again unasked."
    )
    return text, {"proposal": proposed.proposal.name, "status": "settled"}, []


def _message(proposed: Proposed) -> str:
    """What the dialog says: number, verdict, type, id and scope, never the text of a memory."""
    proposal = proposed.proposal
    if proposal.kind == NOTE:
        plan = proposal.plans[0]
        return f"Save a working note ({plan.id}, {plan.scope}, until {proposal.note['valid_until']})?"
    lines = ["Approve these memories?", *(_line(proposed, number) for number in _numbers(proposed))]
    lines.append(f"Scope: {proposal.scope}. The texts stand in the chat.")
    return "\n".join(lines)


def _numbers(proposed: Proposed) -> list[int]:
    return [candidate.number for candidate in proposed.proposal.candidates]


def _line(proposed: Proposed, number: int) -> str:
    plans = [plan for plan in proposed.proposal.plans if plan.number == number]
    candidate = next(one for one in proposed.proposal.candidates if one.number == number)
    verdicts = "; ".join(dict.fromkeys(plan.verdict.line for plan in plans))
    ids = ", ".join(dict.fromkeys(plan.id for plan in plans))
    return f"{number}. {verdicts} · {candidate.type} · {ids} · {', '.join(plan.scope for plan in plans)}"


def _schema(proposed: Proposed, *, is_flat: bool) -> dict[str, Any]:
    """The form. Handshake clients before 2025-11-25 know single values only: one yes or no for each candidate."""
    properties: dict[str, Any] = {}
    numbers = _numbers(proposed)
    if proposed.proposal.kind == NOTE:
        properties["save"] = {"type": "boolean", "title": "Save this note", "default": True}
    elif is_flat:
        for number in numbers:
            properties[f"candidate_{number}"] = {
                "type": "boolean",
                "title": _line(proposed, number),
                "default": True,
            }
    else:
        properties["approve"] = {
            "type": "array",
            "title": "Approve",
            "items": {"anyOf": [{"const": str(number), "title": _line(proposed, number)} for number in numbers]},
            "default": [str(number) for number in numbers],
        }
    required = list(properties)
    scopes = _scopes(proposed)
    if scopes:
        properties["scope"] = {"type": "string", "title": "Save in", "enum": scopes, "default": scopes[0]}
    return {"type": "object", "properties": properties, "required": required}


def _scopes(proposed: Proposed) -> list[str]:
    """Where there is a choice: a scope can be narrowed, never widened."""
    return ["both", "workspace", "global"] if proposed.proposal.scope == "both" else []


def _read(proposed: Proposed, content: Any, *, is_flat: bool) -> _Answer:
    """The answer of an accepted form. Raises `InvalidInput` for anything that the form could not give."""
    if not isinstance(content, dict):
        raise InvalidInput("the dialog's answer has no content")
    scope = content.get("scope")
    if scope is not None and scope not in (_scopes(proposed) or [proposed.proposal.scope]):
        raise InvalidInput("the dialog's answer widens the scope")
    numbers = _numbers(proposed)
    if proposed.proposal.kind == NOTE:
        return _Answer(numbers=(1,) if _yes(content, "save") else (), scope=None)
    if is_flat:
        return _Answer(numbers=tuple(n for n in numbers if _yes(content, f"candidate_{n}")), scope=scope)
    chosen = content.get("approve")
    if not isinstance(chosen, list) or not all(isinstance(one, str) for one in chosen):
        raise InvalidInput("the dialog's answer names no candidates")
    known = {str(number): number for number in numbers}
    if any(one not in known for one in chosen):
        raise InvalidInput("the dialog's answer names a candidate that was not proposed")
    return _Answer(numbers=tuple(sorted({known[one] for one in chosen})), scope=scope)


def _yes(content: dict[str, Any], name: str) -> bool:
    value = content.get(name)
    if not isinstance(value, bool):
        raise InvalidInput("the dialog's answer lacks a yes or no")
    return value
