"""State that a client carries for us between two calls: sealed, bound to its call, short-lived, used once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import threading
import time

from engram.mcp_server.wire import INVALID_PARAMS, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VERSION = 1
SECONDS = 30 * 60
_REFUSED = "requestState is not valid for this call"


class Seal:
    """Makes and opens sealed states under a key that lives as long as this object."""

    def __init__(
        self,
        root: str,
        *,
        now: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._root = root
        self._now = now
        self._random = random
        self._key = random(32)
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def close(self, method: str, params: dict[str, Any], payload: Any) -> str:
        """A sealed record for the same call made again within 30 minutes."""
        record = {
            "v": VERSION,
            "nonce": self._random(16).hex(),
            "method": method,
            "root": self._root,
            "digest": _digest(params),
            "expires": int(self._now()) + SECONDS,
            "payload": payload,
        }
        body = json.dumps(record, separators=(",", ":"), sort_keys=True).encode()
        return base64.urlsafe_b64encode(self._mac(body) + body).decode()

    def open(self, state: Any, method: str, params: dict[str, Any]) -> Any:
        """The payload. Raises `Failure` -32602 for a state that is forged, expired, of another call, or used."""
        record = self._verified(state)
        wanted = (VERSION, method, self._root, _digest(params))
        given = (record["v"], record["method"], record["root"], record["digest"])
        if given != wanted or record["expires"] < self._now():
            raise Failure(INVALID_PARAMS, _REFUSED)
        with self._lock:
            now = self._now()
            self._used = {nonce: until for nonce, until in self._used.items() if until >= now}
            if record["nonce"] in self._used:
                raise Failure(INVALID_PARAMS, _REFUSED)
            self._used[record["nonce"]] = record["expires"]
        return record["payload"]

    def _verified(self, state: Any) -> dict[str, Any]:
        try:
            raw = base64.b64decode(state.encode("ascii"), altchars=b"-_", validate=True)
        except (AttributeError, ValueError) as error:
            raise Failure(INVALID_PARAMS, _REFUSED) from error
        # Compared before anything of it is parsed.
        if len(raw) < 32 or not hmac.compare_digest(raw[:32], self._mac(raw[32:])):
            raise Failure(INVALID_PARAMS, _REFUSED)
        record: dict[str, Any] = json.loads(raw[32:])
        return record

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()


def _digest(params: dict[str, Any]) -> str:
    """What the call is about: its target and arguments, without what changes from try to try."""
    about = {key: value for key, value in params.items() if key not in ("_meta", "requestState", "inputResponses")}
    canonical = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()
