"""A model that is none: one server on the loopback address that speaks as four services do and answers by a script.

It understands the Anthropic Messages API, the OpenAI Responses API, OpenAI chat completions and Gemini's
generateContent, streamed or whole. Each request is kept, so a test can ask what reached "the model". The steps of the
script are taken in order by the requests that offer tools; a request without tools (a title, a summary) is a chore of
the agent program and gets `chore` as its answer. When the script is used up, every answer is `Say("Done.")`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Say:
    """The model answers with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool. `tool` is the end of its name: programs put the server's name before it."""

    tool: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came: which service it was meant for, its path and its parsed body."""

    service: str
    path: str
    body: Json

    @property
    def text(self) -> str:
        """Every string of the body, one after the other: what the model would have read."""
        return "\n".join(_strings(self.body))

    @property
    def tools(self) -> list[str]:
        """Names of the tools offered, those inside a namespace as `namespace/name`."""
        return [f"{space}/{name}" if space else name for space, name in _tools(self.body)]

    def find(self, tool: str) -> tuple[str, str]:
        """The namespace ("" if none) and the full name of the tool whose name ends so; `tool` itself when unknown."""
        offered = list(_tools(self.body))
        for space, name in offered:
            if name == tool:
                return space, name
        return next(((space, name) for space, name in offered if name.endswith(tool)), ("", tool))


# A step may depend on what was asked: on a token in the result of the call before, say.
Step = Say | Call | Callable[[Asked], Say | Call]


class FakeModels:
    """Use it as a context: it listens from entry to exit. `asked` grows with every request."""

    def __init__(self, *script: Step, chore: str = "Shop work", input_tokens: int = 100) -> None:
        self.asked: list[Asked] = []
        self.chore = chore
        self.input_tokens = input_tokens
        self._steps: Iterator[Step] = itertools.chain(script, itertools.repeat(Say("Done.")))
        self._turn = threading.Lock()
        self._count = itertools.count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _listener(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> FakeModels:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end and without `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def turns(self) -> list[Asked]:
        """The requests that offered tools: the conversation itself, without the chores."""
        return [one for one in self.asked if one.tools]

    def follow(self, *script: Step) -> None:
        """Forget what is left of the script and go on with this one."""
        with self._turn:
            self._steps = itertools.chain(script, itertools.repeat(Say("Done.")))

    def answer(self, asked: Asked) -> tuple[int, Say | Call]:
        """Keep the request; the number of the answer and the answer."""
        with self._turn:
            self.asked.append(asked)
            step = next(self._steps) if asked.tools else Say(self.chore)
            return next(self._count), step(asked) if callable(step) else step


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _tools(body: Json) -> Iterator[tuple[str, str]]:
    """Namespace and name of each tool, in the four shapes in which they are offered."""
    for tool in body.get("tools") or []:
        if "functionDeclarations" in tool:
            yield from (("", one["name"]) for one in tool["functionDeclarations"])
        elif tool.get("type") == "namespace":
            yield from ((tool["name"], one["name"]) for one in tool["tools"])
        elif isinstance(tool.get("function"), dict):
            yield "", tool["function"]["name"]
        elif "name" in tool:
            yield "", tool["name"]


# -- the four services -------------------------------------------------------------------------------------------------

Events = list[tuple[str, Json]]


def _anthropic(models: FakeModels, asked: Asked) -> tuple[Events, Json]:
    number, step = models.answer(asked)
    usage = {"input_tokens": models.input_tokens, "output_tokens": 9}
    head: Json = {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", "fake"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    if isinstance(step, Say):
        whole: Json = {"type": "text", "text": step.text}
        empty: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": step.text}
        why = "end_turn"
    else:
        whole = {
            "type": "tool_use",
            "id": f"toolu_{number:04d}",
            "name": asked.find(step.tool)[1],
            "input": step.arguments,
        }
        empty = {**whole, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
        why = "tool_use"
    end = {"stop_reason": why, "stop_sequence": None}
    events: Events = [
        ("message_start", {"type": "message_start", "message": head}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": empty}),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        ("message_delta", {"type": "message_delta", "delta": end, "usage": usage}),
        ("message_stop", {"type": "message_stop"}),
    ]
    return events, {**head, "content": [whole], **end}


def _responses(models: FakeModels, asked: Asked) -> tuple[Events, Json]:
    number, step = models.answer(asked)
    if isinstance(step, Say):
        piece: Json = {
            "type": "message",
            "id": f"msg_{number:04d}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": step.text, "annotations": []}],
        }
    else:
        space, name = asked.find(step.tool)
        piece = {
            "type": "function_call",
            "id": f"fc_{number:04d}",
            "call_id": f"call_{number:04d}",
            "name": name,
            "arguments": json.dumps(step.arguments),
            **({"namespace": space} if space else {}),
        }
    head = {"id": f"resp_{number:04d}", "object": "response", "model": asked.body.get("model", "fake")}
    usage = {
        "input_tokens": models.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": models.input_tokens + 9,
    }
    done = {**head, "status": "completed", "output": [piece], "usage": usage}
    events: Events = [
        ("response.created", {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": piece}),
        ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": piece}),
        ("response.completed", {"type": "response.completed", "response": done}),
    ]
    return events, done


def _chat(models: FakeModels, asked: Asked) -> tuple[Events, Json]:
    number, step = models.answer(asked)
    head = {"id": f"chatcmpl-{number:04d}", "created": 0, "model": asked.body.get("model", "fake")}
    if isinstance(step, Say):
        message: Json = {"role": "assistant", "content": step.text}
        why = "stop"
    else:
        function = {"name": asked.find(step.tool)[1], "arguments": json.dumps(step.arguments)}
        call = {"index": 0, "id": f"call_{number:04d}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        why = "tool_calls"
    usage = {"prompt_tokens": models.input_tokens, "completion_tokens": 9, "total_tokens": models.input_tokens + 9}
    part = {**head, "object": "chat.completion.chunk"}
    events: Events = [
        ("", {**part, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        ("", {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": why}], "usage": usage}),
    ]
    choice = {"index": 0, "message": message, "finish_reason": why}
    return events, {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def _gemini(models: FakeModels, asked: Asked) -> tuple[Events, Json]:
    _, step = models.answer(asked)
    form = asked.body.get("generationConfig", {})
    schema = form.get("responseJsonSchema") or form.get("responseSchema")
    if isinstance(step, Say):
        part: Json = {"text": json.dumps(_fitting(schema)) if schema else step.text}
    else:
        part = {"functionCall": {"name": asked.find(step.tool)[1], "args": step.arguments}}
    whole: Json = {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": models.input_tokens,
            "candidatesTokenCount": 9,
            "totalTokenCount": models.input_tokens + 9,
        },
    }
    return [("", whole)], whole


def _fitting(schema: Json) -> Any:
    """The smallest value that fits a schema: programs ask for JSON when they choose a model or check a turn."""
    kind = str(schema.get("type", "object")).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: _fitting(one) for name, one in schema.get("properties", {}).items()}
    return {"array": [], "string": "shop", "boolean": False}.get(kind, 1)


def _listener(models: FakeModels) -> type[BaseHTTPRequestHandler]:
    class Listener(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            try:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    raw = gzip.decompress(raw)
                self._answer(json.loads(raw or b"{}"))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the program went away in the middle of an answer

        def do_GET(self) -> None:
            self._whole(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def _answer(self, body: Json) -> None:
            path = self.path.split("?")[0]
            is_streamed = bool(body.get("stream"))
            if path.endswith(("/count_tokens", ":countTokens")):
                return self._whole(200, {"input_tokens": models.input_tokens, "totalTokens": models.input_tokens})
            if path.endswith("/messages"):
                service, speak = "anthropic", _anthropic
            elif path.endswith("/responses"):
                service, speak = "responses", _responses
            elif path.endswith("/chat/completions"):
                service, speak = "chat", _chat
            elif path.endswith((":generateContent", ":streamGenerateContent")):
                service, speak = "gemini", _gemini
                is_streamed = path.endswith(":streamGenerateContent")
            else:
                return self._whole(404, {"error": {"message": f"nothing is served at {path}"}})
            events, whole = speak(models, Asked(service=service, path=path, body=body))
            if not is_streamed:
                return self._whole(200, whole)
            return self._stream(events, ends_with_done=service == "chat")

        def _whole(self, status: int, answer: Json) -> None:
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _stream(self, events: Iterable[tuple[str, Json]], *, ends_with_done: bool) -> None:
            lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events]
            if ends_with_done:
                lines.append("data: [DONE]\n\n")
            text = "".join(lines).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is said: a test reads `asked`."""

    return Listener
