"""Serve many clients over streamable HTTP on a loopback address, both eras at one path.

Handshake clients get a session (`Mcp-Session-Id`) with a stream for what the server sends on its own; modern ones
stand alone, their headers checked against the body. A call that says something before its result gets an event
stream, any other a JSON body.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from engram.errors import SettingsError
from engram.mcp_server import eras
from engram.mcp_server.core import Peer, Server, encode
from engram.mcp_server.stdio import report_failure
from engram.mcp_server.wire import (
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Malformed,
    failure,
    parse,
)

MAX_BODY = 4 * 1024 * 1024
MAX_SESSIONS = 1000
IDLE_SECONDS = 60 * 60

_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    METHOD_NOT_FOUND: 404,
    eras.HEADER_MISMATCH: 400,
    eras.MISSING_CAPABILITY: 400,
    eras.UNSUPPORTED_VERSION: 400,
}
# Which parameter the `Mcp-Name` header repeats.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def serve_http(server: Server, host: str, port: int, token: str, *, closing: Callable[[], None]) -> int:
    """Serve until a signal; returns the exit status. Raises `SettingsError` for an address that is not loopback."""
    if not _is_loopback(host):
        raise SettingsError(f"--http: {host} is not a loopback address", hint="use 127.0.0.1:PORT")
    if server.report is None:
        server.report = report_failure
    app = build_app(server, token=token)
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False, lifespan="off")
    try:
        uvicorn.Server(config).run()
    finally:
        closing()
    return 0


def build_app(server: Server, *, token: str | None, now: Callable[[], float] = time.monotonic) -> Starlette:
    """The application. With `token` None everybody on this machine may call: for a judge of the protocol only."""
    endpoint = _Endpoint(server, token, now)
    return Starlette(
        routes=[
            Route("/mcp", endpoint.post, methods=["POST"]),
            Route("/mcp", endpoint.get, methods=["GET"]),
            Route("/mcp", endpoint.delete, methods=["DELETE"]),
            Route("/health", _health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _as_json, Exception: _as_json},
    )


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _as_json(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse(
            failure(None, INVALID_REQUEST, str(error.detail)), status_code=error.status_code, headers=error.headers
        )
    return JSONResponse(failure(None, INTERNAL, "internal error"), status_code=500)


class _Refused(Exception):
    def __init__(self, status: int, message: str, code: int = INVALID_REQUEST, id: Any = None) -> None:
        super().__init__(message)
        self.response = JSONResponse(
            failure(id, code, message),
            status_code=status,
            headers={"WWW-Authenticate": "Bearer"} if status == 401 else None,
        )


_Part = tuple[bool, int | None, bytes]


class _Session:
    """A handshake client: its peer, and the messages that wait for its stream."""

    def __init__(self, server: Server, at: float) -> None:
        self.loop = asyncio.get_running_loop()
        self.waiting: asyncio.Queue[Any] = asyncio.Queue(maxsize=1000)
        self.peer = Peer(server, self._push)
        self.used_at = at
        self.streaming = False

    def end(self) -> None:
        """Its calls finish, its dialogs and its stream end."""
        self.peer.retire()
        self._push(None)

    def _push(self, message: Any) -> None:
        def put() -> None:
            if self.waiting.full():
                self.waiting.get_nowait()  # nobody listens; the newest are kept
            self.waiting.put_nowait(message)

        _soon(self.loop, put)


class _Exchange:
    """The messages of one POST: its answer, and what comes before it. The `reply` of its request.

    Each waits as (whether it is the last, its error code or None, its bytes); no bytes: there is no answer.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.messages: asyncio.Queue[_Part] = asyncio.Queue()

    def __call__(self, message: Any) -> None:
        code = message.get("error", {}).get("code") if isinstance(message, dict) else None
        self._put((True, code, encode(message)))

    def notify(self, message: Any) -> None:
        self._put((False, None, encode(message)))

    def dropped(self) -> None:
        self._put((True, None, b""))

    def _put(self, part: _Part) -> None:
        _soon(self._loop, partial(self.messages.put_nowait, part))


def _soon(loop: asyncio.AbstractEventLoop, job: Callable[[], None]) -> None:
    """Let the server's thread do `job`; when it has ended, nobody is there to hear."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(job)


class _Endpoint:
    def __init__(self, server: Server, token: str | None, now: Callable[[], float]) -> None:
        self._server = server
        self._token = token
        self._now = now
        self._sessions: dict[str, _Session] = {}

    # -- methods -------------------------------------------------------------------------------------------------

    async def post(self, request: Request) -> Response:
        try:
            self._admit(request)
            self._check_form(request)
            message = await self._body(request)
            if _is_modern(request, message):
                return await self._modern(request, message)
            return await self._legacy(request, message)
        except _Refused as refused:
            return refused.response
        except ClientDisconnect:
            return Response(status_code=400)

    async def get(self, request: Request) -> Response:
        """The stream of a session for what the server sends on its own."""
        try:
            self._admit(request)
            if "text/event-stream" not in request.headers.get("accept", ""):
                raise _Refused(406, "a stream is text/event-stream")
            session = self._session(request)
            if session.streaming:
                raise _Refused(409, "this session has a stream already")
        except _Refused as refused:
            return refused.response
        return StreamingResponse(self._stream(session), media_type="text/event-stream")

    async def delete(self, request: Request) -> Response:
        try:
            self._admit(request)
            self._session(request)
        except _Refused as refused:
            return refused.response
        self._sessions.pop(request.headers["mcp-session-id"]).end()
        return Response(status_code=204)

    # -- who may call --------------------------------------------------------------------------------------------

    def _admit(self, request: Request) -> None:
        """Host and Origin of this machine, and the token."""
        if not _is_loopback(_host_of(request.headers.get("host", ""))):
            raise _Refused(403, "this host name is not served here")
        origin = request.headers.get("origin")
        if origin is not None and not _is_loopback(_host_of(origin.partition("://")[2])):
            raise _Refused(403, "this origin may not call")
        if self._token is not None:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token.encode()):
                raise _Refused(401, "a bearer token is required")

    def _check_form(self, request: Request) -> None:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise _Refused(415, "a body is application/json")
        accepted = request.headers.get("accept", "*/*")
        if "*/*" not in accepted and not ("application/json" in accepted and "text/event-stream" in accepted):
            raise _Refused(406, "accept application/json and text/event-stream")

    async def _body(self, request: Request) -> Any:
        size = request.headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit()) or int(size) > MAX_BODY:
            raise _Refused(413, "a body is at most 4 MiB")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise _Refused(413, "a body is at most 4 MiB")
        try:
            return parse(bytes(body))
        except Malformed as error:
            raise _Refused(400, error.message, error.code) from error

    # -- eras ----------------------------------------------------------------------------------------------------

    async def _modern(self, request: Request, message: Any) -> Response:
        if not isinstance(message, dict):
            raise _Refused(400, "a batch is not part of this protocol version")
        _check_headers(request, message)
        peer = Peer(self._server, lambda _: None)
        try:
            return await self._exchange(request, peer, message, modern=True)
        finally:
            peer.retire()

    async def _legacy(self, request: Request, message: Any) -> Response:
        version = request.headers.get("mcp-protocol-version")
        if version is not None and version not in eras.LEGACY:
            raise _Refused(400, "this protocol version is not supported")
        if isinstance(message, dict) and message.get("method") == "initialize":
            session = self._open_session()
            id = os.urandom(16).hex()
            response = await self._exchange(request, session.peer, message, modern=False)
            if response.status_code == 200:
                self._sessions[id] = session
                response.headers["Mcp-Session-Id"] = id
            return response
        return await self._exchange(request, self._session(request).peer, message, modern=False)

    def _open_session(self) -> _Session:
        self._end_idle()
        if len(self._sessions) >= MAX_SESSIONS:
            oldest = min(self._sessions, key=lambda id: self._sessions[id].used_at)
            self._sessions.pop(oldest).end()
        return _Session(self._server, self._now())

    def _end_idle(self) -> None:
        at = self._now()
        for id, session in list(self._sessions.items()):
            if not session.streaming and at - session.used_at > IDLE_SECONDS:
                self._sessions.pop(id).end()

    def _session(self, request: Request) -> _Session:
        id = request.headers.get("mcp-session-id")
        if id is None:
            raise _Refused(400, "Mcp-Session-Id is required after initialize")
        self._end_idle()
        session = self._sessions.get(id)
        if session is None:
            raise _Refused(404, "no such session; initialize again")
        session.used_at = self._now()
        return session

    # -- one exchange --------------------------------------------------------------------------------------------

    async def _exchange(self, request: Request, peer: Peer, message: Any, *, modern: bool) -> Response:
        exchange = _Exchange()
        # On a thread of its own: the first call opens a store.
        if not await run_in_threadpool(peer.take, message, exchange):
            return Response(status_code=202)
        id = message.get("id") if isinstance(message, dict) else None
        first = await self._next(request, exchange, peer, id)
        is_last, code, data = first
        if is_last and not data:
            return Response(status_code=202)
        if is_last:
            has_status = code is not None and (modern or code in (PARSE_ERROR, INVALID_REQUEST))
            status = _STATUS.get(code, 200) if has_status and code is not None else 200
            return Response(data, status_code=status, media_type="application/json")
        return StreamingResponse(
            self._events(exchange, first, peer, id),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    async def _next(self, request: Request, exchange: _Exchange, peer: Peer, id: Any) -> _Part:
        """The next message; a client that hangs up cancels its call."""
        while True:
            try:
                return await asyncio.wait_for(exchange.messages.get(), timeout=1.0)
            except TimeoutError:
                if await request.is_disconnected():
                    peer.cancel(id)
                    raise ClientDisconnect from None

    async def _events(self, exchange: _Exchange, first: _Part, peer: Peer, id: Any) -> AsyncIterator[bytes]:
        is_last, _, data = first
        try:
            while data:
                yield _event(data)
                if is_last:
                    return
                is_last, _, data = await exchange.messages.get()
        finally:
            if not is_last:
                peer.cancel(id)

    async def _stream(self, session: _Session) -> AsyncIterator[bytes]:
        session.streaming = True
        try:
            yield b": open\n\n"
            while True:
                try:
                    message = await asyncio.wait_for(session.waiting.get(), timeout=15.0)
                    if message is None:
                        return
                    yield _event(encode(message))
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            session.streaming = False
            session.used_at = self._now()


def _event(data: bytes) -> bytes:
    return b"event: message\ndata: " + data + b"\n\n"


def _is_modern(request: Request, message: Any) -> bool:
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    header = request.headers.get("mcp-protocol-version")
    if isinstance(meta, dict) and eras.is_modern(meta):
        return True
    # A modern header on a body that lacks its version, or a version that nobody knows and no session.
    known = header in eras.LEGACY or header is None
    return not known and "mcp-session-id" not in request.headers


def _check_headers(request: Request, message: dict[str, Any]) -> None:
    """Headers of a modern request must say what the body says."""
    id = message.get("id")
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    version = meta.get(eras.VERSION) if isinstance(meta, dict) else None
    if "id" not in message:
        return
    if not isinstance(meta, dict) or not eras.is_modern(meta):
        raise _Refused(400, f"_meta.{eras.VERSION} is required", INVALID_PARAMS, id)
    wanted: list[tuple[str, Any]] = [("mcp-protocol-version", version), ("mcp-method", message.get("method"))]
    named = _NAMED.get(str(message.get("method")))
    if named is not None:
        wanted.append(("mcp-name", params.get(named)))
    for header, value in wanted:
        given = request.headers.get(header)
        if isinstance(value, str) and (given is None or _header_text(given) != value):
            raise _Refused(400, f"header {header} must repeat the body", eras.HEADER_MISMATCH, id)


def _header_text(value: str) -> str:
    value = value.strip(" \t")
    if value.startswith("=?base64?") and value.endswith("?="):
        try:
            return base64.b64decode(value[9:-2], validate=True).decode()
        except ValueError:
            return ""
    return value


def _host_of(address: str) -> str:
    """`localhost:7437` → localhost; `[::1]:7437` → ::1."""
    address = address.partition("/")[0].strip().lower()
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.rpartition(":")[0] if address.count(":") == 1 else address


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
