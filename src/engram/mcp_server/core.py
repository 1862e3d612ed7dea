"""The Model Context Protocol, messages in and messages out: no I/O, both eras, whatever transport carries them.

A `Server` is tables of tools, resources and prompts. A `Peer` is one client: `receive` takes a line, replies go to
`send`. What is constant is answered at once; tool calls, resources and prompts run one after the other on a thread
that starts with the first of them, so that a later read sees an earlier write. What may wait for a person runs
beside. Only light modules here: a host waits for this file to load.
"""

from __future__ import annotations

import threading
from _queue import SimpleQueue
from functools import partial

from engram.mcp_server import eras
from engram.mcp_server.calls_in_flight import Call, InputRequired, Stopped
from engram.mcp_server.server import Server
from engram.mcp_server.wire import (
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Failure,
    Malformed,
    Prompt,
    Resource,
    Result,
    Template,
    Tool,
    encode,
    failure,
    parse,
    success,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = dict[str, Any]
    Send = Callable[[Any], None]
    Job = Callable[[], None]

__all__ = ["Call", "Peer", "Prompt", "Resource", "Result", "Server", "Template", "Tool", "encode"]

# Results of these may be kept by a client; for how long, in milliseconds.
_LONG, _NONE = 3_600_000, 0


class Peer:
    """One client. `receive` may be called from one thread at a time; `send` is called from several."""

    def __init__(self, server: Server, send: Send) -> None:
        self.server = server
        self.send = send
        self.version = eras.NEWEST_LEGACY
        self.client_capabilities: Message = {}
        self.client_info: Message = {}
        self.log_level = "debug"
        self._lock = threading.Condition()
        self._queue: SimpleQueue[tuple[Call, Job] | None] = SimpleQueue()
        self._worker: threading.Thread | None = None
        self._running: set[Call] = set()
        self._asked: dict[str, Call] = {}
        self._count = 0
        self._done = 0
        self._is_closing = False

    # -- messages in ---------------------------------------------------------------------------------------------

    def receive(self, line: bytes) -> None:
        """Take one line. Never raises for what a client sends."""
        try:
            message = parse(line)
        except Malformed as error:
            self.send(failure(None, error.code, error.message))
            return
        self.take(message, self.send)

    def take(self, message: Any, reply: Send) -> bool:
        """Take one parsed message, or a batch where the protocol version has them; as `serve`."""
        if not isinstance(message, list):
            return self.serve(message, reply)
        if self.version in eras.WITH_BATCHES and message:
            return _Batch(self, message, reply).is_awaited
        reply(failure(None, INVALID_REQUEST, "a batch is not part of this protocol version"))
        return True

    def serve(self, message: Any, reply: Send) -> bool:
        """Handle one message; whether `reply` is called, now or later.

        Attributes that `reply` may have: `notify` takes what belongs to the call besides its answer, `dropped` is
        called instead of `reply` when the client has cancelled.
        """
        if not isinstance(message, dict):
            reply(failure(None, INVALID_REQUEST, "a message is an object"))
            return True
        if "method" not in message and ("result" in message or "error" in message):
            self._answered(message)
            return False
        id = message.get("id")
        method = message.get("method")
        known_id = isinstance(id, (str, int)) and not isinstance(id, bool)
        if "id" in message and not known_id:
            reply(failure(None, INVALID_REQUEST, "id must be a string or a whole number"))
            return True
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            reply(failure(id, INVALID_REQUEST, "not a JSON-RPC 2.0 message"))
            return True
        params = message.get("params", {})
        if "id" not in message:
            if isinstance(params, dict):
                self._notified(method, params)
            return False
        if not isinstance(params, dict):
            reply(failure(id, INVALID_PARAMS, "params must be an object"))
            return True
        try:
            self._request(id, method, params, reply)
        except Failure as error:
            reply(failure(id, error.code, error.message, error.data))
        except Exception as error:
            self.report(error)
            reply(failure(id, INTERNAL, "internal error"))
        return True

    def _notified(self, method: str, params: Message) -> None:
        if method == "notifications/cancelled":
            id = params.get("requestId")
            if isinstance(id, (str, int)) and not isinstance(id, bool):
                self.cancel(id)

    def _answered(self, message: Message) -> None:
        call = self._asked.pop(str(message.get("id")), None)
        if call is not None:
            call.answer(message)

    # -- requests ------------------------------------------------------------------------------------------------

    def _request(self, id: Any, method: str, params: Message, reply: Send) -> None:
        meta = params.get("_meta")
        if not isinstance(meta, dict) or not eras.is_modern(meta):
            self._legacy(id, method, params, reply)
            return
        eras.check_modern(meta)
        modern: dict[str, Callable[[], Message]] = {
            "server/discover": self._discover,
            "tools/list": lambda: self.server.tool_list() | eras.cached(_LONG),
            "resources/list": lambda: self._resource_list() | eras.cached(_NONE),
            "resources/templates/list": lambda: self._template_list() | eras.cached(_LONG),
            "prompts/list": lambda: self._prompt_list() | eras.cached(_LONG),
        }
        if method in modern and self._offers(method) and not self._lists_anew(method):
            reply(success(id, eras.stamped(modern[method](), self.server.info)))
            return
        if not self._run(id, method, params, reply, meta):
            raise Failure(METHOD_NOT_FOUND, f"no method {method[:100]}")

    def _legacy(self, id: Any, method: str, params: Message, reply: Send) -> None:
        if method == "initialize":
            reply(success(id, self._initialize(params)))
        elif method == "ping":
            reply(success(id, {}))
        elif method == "tools/list" and self._offers(method):
            reply(success(id, self.server.tool_list()))
        elif method == "resources/list" and self._offers(method) and not self._lists_anew(method):
            reply(success(id, self._resource_list()))
        elif method == "resources/templates/list" and self._offers(method):
            reply(success(id, self._template_list()))
        elif method == "prompts/list" and self._offers(method):
            reply(success(id, self._prompt_list()))
        elif method in ("resources/subscribe", "resources/unsubscribe") and self.server.subscriptions:
            reply(success(id, {}))
        elif method == "logging/setLevel" and self.server.logs:
            if params.get("level") not in eras.LOG_LEVELS:
                raise Failure(INVALID_PARAMS, "level is not one of the protocol's")
            self.log_level = params["level"]
            reply(success(id, {}))
        elif not self._run(id, method, params, reply, None):
            raise Failure(METHOD_NOT_FOUND, f"no method {method[:100]}")

    def _offers(self, method: str) -> bool:
        family = method.partition("/")[0]
        return family == "server" or family in self.server.capabilities()

    def _lists_anew(self, method: str) -> bool:
        return method == "resources/list" and self.server.list_resources is not None

    def _initialize(self, params: Message) -> Message:
        wanted = params.get("protocolVersion")
        self.version = wanted if wanted in eras.LEGACY else eras.NEWEST_LEGACY
        offered = self.server.capabilities()
        if self.server.subscriptions:
            offered["resources"] = {"subscribe": True}
        capabilities, info = params.get("capabilities"), params.get("clientInfo")
        self.client_capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.client_info = info if isinstance(info, dict) else {}
        return {
            "protocolVersion": self.version,
            "capabilities": offered,
            "serverInfo": self.server.info,
            "instructions": self.server.instructions,
        }

    def _discover(self) -> Message:
        return {
            "supportedVersions": list(eras.MODERN),
            "capabilities": self.server.capabilities(),
            "instructions": self.server.instructions,
        } | eras.cached(_LONG)

    def _resource_list(self) -> Message:
        return {"resources": [resource.listed() for resource in self.server.resources.values()]}

    def _template_list(self) -> Message:
        return {"resourceTemplates": [template.listed() for template in self.server.templates]}

    def _prompt_list(self) -> Message:
        return {"prompts": [prompt.listed() for prompt in self.server.prompts.values()]}

    # -- what runs -----------------------------------------------------------------------------------------------

    def _run(self, id: Any, method: str, params: Message, reply: Send, meta: Message | None) -> bool:
        """Start what takes time; False when there is no such method."""
        call = Call(self, id, method, params, meta, reply)
        if method == "tools/call" and self.server.tools:
            tool = self.server.tools.get(str(params.get("name")))
            if tool is None:
                raise Failure(INVALID_PARAMS, f"no tool {str(params.get('name'))[:100]}")
            arguments = params.get("arguments", {})
            if not isinstance(arguments, dict):
                raise Failure(INVALID_PARAMS, "arguments must be an object")
            call.prepare()
            self._start(call, partial(self._tool, call, tool, arguments), beside=tool.interactive)
        elif method == "resources/read" and self._offers(method):
            uri = params.get("uri")
            found = self.server.resource(uri) if isinstance(uri, str) else None
            if found is None:
                code = eras.RESOURCE_NOT_FOUND if meta is None else INVALID_PARAMS
                raise Failure(code, "no such resource", {"uri": uri})
            call.prepare()
            row, values = found
            self._start(call, lambda: self._resource(call, row, str(uri), values))
        elif self._lists_anew(method):
            call.prepare()
            self._start(call, lambda: self._list_resources(call))
        elif method == "prompts/get" and self.server.prompts:
            prompt = self.server.prompts.get(str(params.get("name")))
            if prompt is None:
                raise Failure(INVALID_PARAMS, f"no prompt {str(params.get('name'))[:100]}")
            given = params.get("arguments", {})
            prompt.check(given)
            call.prepare()
            self._start(call, lambda: self._finish(call, prompt.run(given, call)), beside=prompt.interactive)
        elif method == "completion/complete" and self.server.complete is not None:
            proposed = self.server.complete(params)
            self._finish(call, {"completion": {"values": proposed[:100], "total": len(proposed), "hasMore": False}})
        elif meta is None and method in self.server.tools:
            # A bare call by the tool's name: plain text, through the same gates.
            tool = self.server.tools[method]
            arguments = {name: value for name, value in params.items() if name != "_meta"}
            self._start(call, partial(self._tool, call, tool, arguments, bare=True), beside=tool.interactive)
        else:
            return False
        return True

    def _start(self, call: Call, job: Job, *, beside: bool = False) -> None:
        with self._lock:
            self._running.add(call)
            self._count += 1
        if beside:
            threading.Thread(target=self._perform, args=(call, job), name="engram-dialog", daemon=True).start()
            return
        with self._lock:
            self._queue.put((call, job))
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="engram-calls", daemon=True)
                self._worker.start()

    def _work(self) -> None:
        while (waiting := self._queue.get()) is not None:
            self._perform(*waiting)

    def _perform(self, call: Call, job: Job) -> None:
        """Run a call to its end. Nothing that it raises ends the thread, which later calls need."""
        try:
            if not call.cancelled():
                call.begun = True
                self._attempt(call, job)
        except (Exception, SystemExit) as error:
            self.report(error)
            call.reply_with(failure(call.id, INTERNAL, "internal error"))
        finally:
            call.end()
            with self._lock:
                self._running.discard(call)
                self._done += 1
                self._lock.notify_all()

    def _attempt(self, call: Call, job: Job) -> None:
        try:
            job()
        except Stopped:
            pass  # a cancelled call has no answer
        except InputRequired as asking:
            call.reply_with(success(call.id, eras.stamped(asking.result, self.server.info, complete=False)))
        except Failure as error:
            call.reply_with(failure(call.id, error.code, error.message, error.data))

    def _tool(self, call: Call, tool: Tool, arguments: Message, *, bare: bool = False) -> None:
        from engram.errors import EngramError

        try:
            result = tool.run(arguments, call)
        except EngramError as error:
            result = Result(error.sentence(), is_error=True)
        except (InputRequired, Stopped, Failure):
            raise
        except (Exception, SystemExit) as error:
            self.report(error)
            result = Result("internal error: the call failed and the reason is in the server's log", is_error=True)
        if bare:
            call.reply_with(success(call.id, result.text))
            return
        self._finish(call, result.body())

    def _resource(self, call: Call, row: Resource | Template, uri: str, values: dict[str, str]) -> None:
        contents = row.read(uri, values, call)
        body: Message = {"contents": contents}
        self._finish(call, body | eras.cached(_NONE) if call.modern else body)

    def _list_resources(self, call: Call) -> None:
        assert self.server.list_resources is not None
        body: Message = {"resources": self.server.list_resources()}
        self._finish(call, body | eras.cached(_NONE) if call.modern else body)

    def _finish(self, call: Call, body: Message) -> None:
        if call.modern:
            body = eras.stamped(body, self.server.info)
        call.reply_with(success(call.id, body))

    # -- our own requests ----------------------------------------------------------------------------------------

    def ask(self, call: Call, method: str, params: Message) -> str:
        """Send a request of our own (legacy only); returns its id. The answer goes to `call`."""
        with self._lock:
            self._count += 1
            id = f"engram-elicit-{self._count}"
            if self._is_closing:
                call.cancel()
                return id
            self._asked[id] = call
        call.notify({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def forget(self, id: str) -> None:
        self._asked.pop(id, None)

    # -- the end -------------------------------------------------------------------------------------------------

    def close(self, *, patience: float = 1.0) -> bool:
        """The client is gone: end dialogs, let accepted calls finish as long as one ends every `patience` seconds.

        Whether all have finished.
        """
        self._end_dialogs()
        with self._lock:
            while self._running:
                before = self._done
                if not self._lock.wait_for(partial(self._has_ended_more_than, before), patience):
                    return False
        return True

    def _has_ended_more_than(self, calls: int) -> bool:
        return self._done > calls

    def cancel(self, id: Any) -> None:
        """The client does not wait for this request any more."""
        with self._lock:
            given_up = [call for call in self._running if call.id == id]
        for call in given_up:
            call.cancel()

    def retire(self) -> None:
        """No more messages come: the thread ends with the last accepted call, dialogs end now."""
        self._queue.put(None)
        self._end_dialogs()

    def _end_dialogs(self) -> None:
        with self._lock:
            self._is_closing = True
            asked = list(self._asked.values())
            self._asked.clear()
        for call in asked:
            call.cancel()

    def report(self, error: BaseException) -> None:
        if self.server.report is not None:
            try:
                self.server.report(error)
            except Exception:
                return  # the log is gone; the client still gets its answer


class _Batch:
    """The replies to a batch, sent as one when the last is there; the `reply` of each of its messages."""

    def __init__(self, peer: Peer, messages: list[Any], reply: Send) -> None:
        self.notify: Send = getattr(reply, "notify", peer.send)
        self._reply = reply
        self._lock = threading.Lock()
        self._replies: list[Message] = []
        self._open = len(messages)
        awaited = [peer.serve(message, self) for message in messages]
        self.is_awaited = any(awaited)
        for _ in range(awaited.count(False)):
            self._one_less()

    def __call__(self, reply: Message) -> None:
        self._one_less(reply)

    def dropped(self) -> None:
        self._one_less()

    def _one_less(self, *replies: Message) -> None:
        with self._lock:
            self._replies += replies
            self._open -= 1
            is_whole = self._open == 0
        if is_whole and self._replies:
            self._reply(self._replies)
        elif is_whole:
            dropped = getattr(self._reply, "dropped", None)
            if dropped is not None:
                dropped()
