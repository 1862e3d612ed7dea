"""A request being served: who asks, whether it was cancelled, and dialogs with the person behind it."""

from __future__ import annotations

import threading

from engram.mcp_server import eras
from engram.mcp_server.wire import INVALID_PARAMS, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from engram.mcp_server.core import Peer


class Stopped(Exception):
    """The call was cancelled; it has no answer."""


class InputRequired(Exception):
    """A modern call that cannot go on before the client has answered: the result to send."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__("input required")
        self.result = result


class Call:
    """One request. Handed to what serves it."""

    def __init__(
        self,
        peer: Peer,
        id: Any,
        method: str,
        params: dict[str, Any],
        meta: dict[str, Any] | None,
        reply: Callable[[Any], None],
    ) -> None:
        self.peer = peer
        self.id = id
        self.method = method
        self.params = params
        self.meta = meta
        self.begun = False
        # Notices and requests that belong to this call; a transport may give them a stream of their own.
        self.notify: Callable[[Any], None] = getattr(reply, "notify", peer.send)
        self._reply = reply
        self._is_answered = False
        self._changed = threading.Condition()
        self._cancelled = False
        self._answer: dict[str, Any] | None = None
        self._responses: dict[str, Any] = {}
        self.state: Any = None

    @property
    def modern(self) -> bool:
        return self.meta is not None

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the client has declared: with this request, or at the handshake."""
        if self.meta is not None:
            found: dict[str, Any] = self.meta[eras.CAPABILITIES]
            return found
        return self.peer.client_capabilities

    def prepare(self) -> None:
        """Read what a modern client sends back with a retry. Raises `Failure` for state that is not ours."""
        if not self.modern:
            return
        state = self.params.get("requestState")
        responses = self.params.get("inputResponses")
        if state is None:
            return  # answers without a sealed state count as absent
        self.state = self.peer.server.seal.open(state, self.method, self.params)
        if responses is not None and not isinstance(responses, dict):
            raise Failure(INVALID_PARAMS, "inputResponses must be an object")
        self._responses = responses or {}

    # -- while it runs -------------------------------------------------------------------------------------------

    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def check(self) -> None:
        """Raises `Stopped` when the client has cancelled; to be called before a write begins."""
        if self._cancelled:
            raise Stopped

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far it is, if it asked to be told."""
        meta = self.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if token is None or self._cancelled:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self.notify({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def log(self, level: str, data: Any) -> None:
        """A log message to the client, when the server declares logs and the client wants this level."""
        if not self.peer.server.logs:
            return
        wanted = self.peer.log_level if self.meta is None else self.meta.get(eras.LOG_LEVEL)
        if wanted is None or eras.LOG_LEVELS.index(level) < eras.LOG_LEVELS.index(wanted):
            return
        params = {"level": level, "data": data, "logger": self.peer.server.info["name"]}
        self.notify({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    def reply_with(self, message: dict[str, Any]) -> None:
        """Answer, unless the client has said that it does not wait any more."""
        if not self._cancelled:
            self._reply(message)
            self._is_answered = True

    def end(self) -> None:
        """Nothing more comes. An attribute `dropped` of `reply` hears of a call that ends without an answer."""
        dropped = getattr(self._reply, "dropped", None)
        if dropped is not None and not self._is_answered:
            dropped()

    # -- dialogs -------------------------------------------------------------------------------------------------

    def can_elicit(self) -> bool:
        """Whether the client shows forms to its person."""
        if self.meta is None and self.peer.version not in ("2025-11-25", "2025-06-18"):
            return False
        declared = self.capabilities.get("elicitation")
        return isinstance(declared, dict) and (not declared or "form" in declared)

    def elicit(
        self, message: str, schema: dict[str, Any], *, key: str = "answer", payload: Any = None
    ) -> dict[str, Any]:
        """Ask the person by a form; returns `{"action": accept | decline | cancel, "content"?}`.

        Without the capability, on time-out and on a client's error the answer is `cancel`. In the modern era the
        call ends here with `input_required` and is made again with the answer; `payload` comes back as
        `call.state`.
        """
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        if self.modern:
            if not self.can_elicit():
                return {"action": "cancel"}
            answers: dict[str, dict[str, Any]] = self.require(
                {key: {"method": "elicitation/create", "params": params}}, payload
            )
            return answers[key]
        if not self.can_elicit():
            return {"action": "cancel"}
        if self.peer.version != "2025-11-25":
            del params["mode"]
        answer = self.ask("elicitation/create", params)
        return answer if answer is not None and "action" in answer else {"action": "cancel"}

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """A request of ours to a legacy client, while other traffic goes on. None: no answer, or an error."""
        seconds = self.peer.server.dialog_seconds
        with self._changed:
            self._answer = None
        id = self.peer.ask(self, method, params)
        with self._changed:
            self._changed.wait_for(lambda: self._answer is not None or self._cancelled, timeout=seconds)
            answer = self._answer
        if answer is None:
            self.peer.forget(id)
            self.notify(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": {"requestId": id, "reason": "no answer in time"},
                }
            )
            self.check()
            return None
        result = answer.get("result")
        return result if isinstance(result, dict) else None

    def answer(self, message: dict[str, Any]) -> None:
        with self._changed:
            self._answer = message
            self._changed.notify_all()

    def require(self, requests: dict[str, Any], payload: Any = None) -> dict[str, Any]:
        """Answers to `requests` (key → method and params) from a modern client.

        All there with a verified state: returned. Else the call ends with `input_required` and all are asked for
        again, since a retry carries only the answers to its own round; other keys are ignored.
        """
        given = {key: self._responses[key] for key in requests if isinstance(self._responses.get(key), dict)}
        if len(given) == len(requests):
            return given
        self._refuse_undeclared(requests)
        state = self.peer.server.seal.close(self.method, self.params, payload)
        raise InputRequired({"resultType": "input_required", "inputRequests": requests, "requestState": state})

    def _refuse_undeclared(self, requests: dict[str, Any]) -> None:
        needs = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
        wanted = {needs[request["method"]] for request in requests.values()}
        lacking = sorted(name for name in wanted if name not in self.capabilities)
        if lacking:
            raise Failure(
                eras.MISSING_CAPABILITY,
                f"the client has not declared: {', '.join(lacking)}",
                {"requiredCapabilities": {name: {} for name in lacking}},
            )
