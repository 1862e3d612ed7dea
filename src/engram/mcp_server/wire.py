"""What goes over the wire: messages, error codes, and the rows of a server's tables."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from engram.mcp_server.calls_in_flight import Call

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603

# Deeper than any real message, and far from what recursion over a message could not follow.
MAX_DEPTH = 128


class Malformed(Exception):
    """A line that is no message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Failure(Exception):
    """A protocol error to answer a request with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def success(id: Any, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def failure(id: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def parse(line: bytes) -> Any:
    """The JSON of a line. Invalid UTF-8 and lone surrogates are replaced; raises `Malformed`."""
    try:
        text = line.decode("utf-8", "replace")
        message = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Malformed(PARSE_ERROR, "not JSON, or nested too deep") from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_too_deep(message):
        raise Malformed(PARSE_ERROR, "not JSON, or nested too deep")
    return _without_surrogates(message) if "\\u" in text else message


def encode(message: Any) -> bytes:
    """One line of UTF-8, without its end; lone surrogates become question marks. Raises `ValueError` for what JSON
    cannot say, such as an infinite number."""
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number


def _is_too_deep(message: Any) -> bool:
    level = [message]
    for _ in range(MAX_DEPTH):
        nested = [value for value in level if isinstance(value, (list, dict))]
        level = [inner for value in nested for inner in (value.values() if isinstance(value, dict) else value)]
        if not level:
            return False
    return True


def _without_surrogates(value: Any) -> Any:
    """`json` lets half a surrogate pair through as an escape; no file or terminal could take it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(inner) for inner in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(inner) for key, inner in value.items()}
    return value


class Result:
    """What a tool gives back: text for people and models, the same as structure, or blocks of its own."""

    __slots__ = ("content", "is_error", "structured", "text")

    def __init__(
        self,
        text: str,
        *,
        structured: Any = None,
        is_error: bool = False,
        content: list[dict[str, Any]] | None = None,
    ) -> None:
        self.text = text
        self.structured = structured
        self.is_error = is_error
        self.content = content

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"content": self.content or [{"type": "text", "text": self.text}]}
        if self.structured is not None:
            body["structuredContent"] = self.structured
        if self.is_error:
            body["isError"] = True
        return body


class Tool:
    """A row of the tool table. `interactive`: may wait for a person, so it runs beside the others."""

    __slots__ = ("_listed", "interactive", "name", "run")

    def __init__(
        self,
        *,
        name: str,
        description: str,
        input_schema: dict[str, Any],
        run: Callable[[dict[str, Any], Call], Result],
        title: str | None = None,
        output_schema: dict[str, Any] | None = None,
        annotations: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
        interactive: bool = False,
    ) -> None:
        self.name = name
        self.run = run
        self.interactive = interactive
        row: dict[str, Any] = {"name": name}
        if title:
            row["title"] = title
        row["description"] = description
        row["inputSchema"] = input_schema
        if output_schema:
            row["outputSchema"] = output_schema
        if annotations:
            row["annotations"] = annotations
        if meta:
            row["_meta"] = meta
        self._listed = row

    def listed(self) -> dict[str, Any]:
        return self._listed


class Resource:
    """A row of the resource table; `read` gives its contents."""

    __slots__ = ("_listed", "_read", "uri")

    def __init__(
        self,
        *,
        uri: str,
        name: str,
        description: str,
        mime_type: str,
        read: Callable[[str, dict[str, str], Call], list[dict[str, Any]]],
    ) -> None:
        self.uri = uri
        self._read = read
        self._listed = {"uri": uri, "name": name, "description": description, "mimeType": mime_type}

    def listed(self) -> dict[str, Any]:
        return self._listed

    def read(self, uri: str, values: dict[str, str], call: Call) -> list[dict[str, Any]]:
        return self._read(uri, values, call)


class Template:
    """A family of resources: `engram://memory/{id}`. A value is one path segment."""

    __slots__ = ("_listed", "_parts", "_read", "uri")

    def __init__(
        self,
        *,
        uri: str,
        name: str,
        description: str,
        mime_type: str,
        read: Callable[[str, dict[str, str], Call], list[dict[str, Any]]],
    ) -> None:
        self.uri = uri
        self._read = read
        self._parts = uri.split("/")
        self._listed = {"uriTemplate": uri, "name": name, "description": description, "mimeType": mime_type}

    def listed(self) -> dict[str, Any]:
        return self._listed

    def match(self, uri: str) -> dict[str, str] | None:
        given = uri.split("/")
        if len(given) != len(self._parts):
            return None
        values: dict[str, str] = {}
        for part, value in zip(self._parts, given, strict=True):
            if part.startswith("{") and part.endswith("}"):
                if not value:
                    return None
                values[part[1:-1]] = value
            elif part != value:
                return None
        return values

    def read(self, uri: str, values: dict[str, str], call: Call) -> list[dict[str, Any]]:
        return self._read(uri, values, call)


class Prompt:
    """A row of the prompt table; `run` gives the whole result."""

    __slots__ = ("_listed", "_required", "interactive", "name", "run")

    def __init__(
        self,
        *,
        name: str,
        description: str,
        run: Callable[[dict[str, Any], Call], dict[str, Any]],
        arguments: list[dict[str, Any]] | None = None,
        interactive: bool = False,
    ) -> None:
        self.name = name
        self.run = run
        self.interactive = interactive
        self._required = [row["name"] for row in arguments or [] if row.get("required")]
        self._listed: dict[str, Any] = {"name": name, "description": description}
        if arguments:
            self._listed["arguments"] = arguments

    def listed(self) -> dict[str, Any]:
        return self._listed

    def check(self, given: Any) -> None:
        if not isinstance(given, dict):
            raise Failure(INVALID_PARAMS, "arguments must be an object")
        for name in self._required:
            if name not in given:
                raise Failure(INVALID_PARAMS, f"{name} is required")
