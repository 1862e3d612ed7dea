"""Which protocol a request speaks: the handshake of 2024 to 2025, or the stateless one of 2026."""

from __future__ import annotations

from engram.mcp_server.wire import INVALID_PARAMS, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NEWEST_LEGACY = LEGACY[0]
WITH_BATCHES = ("2025-03-26", "2024-11-05")
MODERN = ("2026-07-28",)

PREFIX = "io.modelcontextprotocol/"
VERSION = PREFIX + "protocolVersion"
CAPABILITIES = PREFIX + "clientCapabilities"
CLIENT = PREFIX + "clientInfo"
LOG_LEVEL = PREFIX + "logLevel"
SERVER = PREFIX + "serverInfo"

RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def is_modern(meta: dict[str, Any]) -> bool:
    """Whether a request with this `_meta` stands alone; else it belongs to the handshake's era."""
    return VERSION in meta or CAPABILITIES in meta


def check_modern(meta: dict[str, Any]) -> None:
    """What a modern request must carry. Raises `Failure`."""
    version = meta.get(VERSION)
    if not isinstance(version, str):
        raise Failure(INVALID_PARAMS, f"_meta.{VERSION} is required")
    if version not in MODERN:
        raise Failure(
            UNSUPPORTED_VERSION,
            f"protocol version {version[:40]} is not supported",
            {"supported": list(MODERN), "requested": version},
        )
    if not isinstance(meta.get(CAPABILITIES), dict):
        raise Failure(INVALID_PARAMS, f"_meta.{CAPABILITIES} is required")
    if LOG_LEVEL in meta and meta[LOG_LEVEL] not in LOG_LEVELS:
        raise Failure(INVALID_PARAMS, f"_meta.{LOG_LEVEL} is not one of the protocol's levels")


def cached(milliseconds: int) -> dict[str, Any]:
    """How long a client may keep a result; what memory holds is private."""
    return {"ttlMs": milliseconds, "cacheScope": "private"}


def stamped(body: dict[str, Any], info: dict[str, Any], *, complete: bool = True) -> dict[str, Any]:
    """A modern result: its type, and who gave it."""
    kind = {} if not complete else {"resultType": "complete"}
    meta = body.get("_meta", {})
    return {**kind, **body, "_meta": {**meta, SERVER: info}}
