"""The ledger: who approved which content, how and when; and the log that makes a batch of files all or nothing.

One file of JSON lines per root in the data folder, only ever appended to, each line sealed with an HMAC under a key of
this user. A batch is committed when its line is on disk: it holds the files' texts before and after, so whoever comes
next can finish what a crash interrupted, and `engram undo` can take it back.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from engram import files
from engram.core.proposal import same_digits
from engram.errors import InvalidInput, StoreUnavailable
from engram.vault.roots import Root

FOLDER = "ledger"
KEY_FILE = "user.key"
MAX_LINE = 64 * 1024 * 1024

COMMIT, APPLIED, UNDO, DECLINED = "commit", "applied", "undo", "declined"
# Ways of approval that a person takes; `force` is the recorded exception.
BY_A_PERSON = ("dialog", "token", "terminal")
CREATED, TRUSTED, DISTRUSTED = "created", "trusted", "distrusted"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a batch: its text before and after, None where there is none. `id`, `type` and `content_hash` name
    the memory as it is afterwards ("" for a file that goes)."""

    path: str
    before: str | None
    after: str | None
    id: str = ""
    type: str = ""
    content_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the ledger. `root` is the folder it was about, `batch` its batch, `how` the way of approval (dialog,
    token, terminal, force, undo, …), `by` the person, `data` what else belongs to the event."""

    event: str
    at: str
    root: str
    how: str = ""
    by: str = ""
    batch: str = ""
    changes: tuple[FileChange, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    is_sealed: bool = True
    end: int = 0
    mac: str = ""


class Ledger:
    """The ledger of a root (of all worktrees of its repository). Appending needs the lock."""

    def __init__(self, root: Root, *, data_folder: str) -> None:
        self._folder = os.path.join(data_folder, FOLDER)
        self._path = os.path.join(self._folder, root.shared_key + ".jsonl")
        self._lock = os.path.join(self._folder, root.shared_key + ".lock")
        self._root = root
        self._key = b""
        self._holder = 0

    @property
    def path(self) -> str:
        return self._path

    @contextmanager
    def locked(self, *, seconds: float = 60.0) -> Iterator[None]:
        """Hold the lock of the root's writers."""
        files.private_folder(self._folder)
        with files.locked(self._lock, seconds=seconds):
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = 0

    def is_held(self) -> bool:
        """Whether this thread holds the lock."""
        return self._holder == threading.get_ident()

    def size(self) -> int:
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0

    def lines(self, after: int = 0, *, mac: str = "") -> Iterator[Line]:
        """Whole lines from byte `after` on, where the line before ends with the seal `mac`; a line that was cut by a
        crash is as if it were not there. Each line names the seal of the one before, so none can be repeated."""
        try:
            file = open(self._path, "rb")  # noqa: SIM115  # closed below, whoever stops early
        except OSError:
            return
        with file:
            file.seek(after)
            at = after
            while raw := file.readline(MAX_LINE):
                at += len(raw)
                while not raw.endswith(b"\n") and (more := file.readline(MAX_LINE)):  # longer than any that we write
                    at += len(more)
                    raw = more
                if not raw.endswith(b"\n"):
                    return
                line = self._read(raw, at, mac)
                mac = line.mac
                yield line

    def append(self, line: Line, *, lasting: bool = True) -> None:
        """Add a line; on disk when this returns. Raises `StoreUnavailable`, or `InvalidInput` for a line longer
        than any reader takes, and then nothing was added."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | files.BINARY, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            end = _whole_end(handle)
            body = _plain(line)
            body["prev"] = _last_mac(handle, end)
            body["mac"] = self._mac(body)
            raw = (json.dumps(body, ensure_ascii=False, separators=(",", ":")) + "\n").encode("utf-8", "replace")
            if len(raw) > MAX_LINE:
                raise InvalidInput(
                    f"changes {len(raw) >> 20} MB of text at once, and {MAX_LINE >> 20} is the most; nothing was saved",
                    hint="approve fewer at a time",
                )
            try:
                os.ftruncate(handle, end)
                os.lseek(handle, end, os.SEEK_SET)
                left = memoryview(raw)
                while left:
                    left = left[os.write(handle, left) :]
                if lasting:
                    os.fsync(handle)
            except OSError as error:
                os.ftruncate(handle, end)
                raise self._unwritable(error) from error
        finally:
            os.close(handle)

    def open_batch(self) -> Line | None:
        """The last batch of this folder, when it was not carried out to its end."""
        found: Line | None = None
        for line in self.lines():
            if line.root != self._root.path or not line.is_sealed:
                continue
            if line.event in (COMMIT, UNDO):
                found = line
            elif line.event == APPLIED and found is not None and line.batch == found.batch:
                found = None
        return found

    def _unwritable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._path}: cannot be written: {error.strerror}; nothing was saved",
            hint="check permissions and free space",
        )

    def _read(self, raw: bytes, end: int, before: str) -> Line:
        mac = ""
        try:
            body = json.loads(raw)
            mac = str(body.pop("mac"))
            is_ours = same_digits(mac, self._mac(body))
            is_next = body.pop("prev") == before
            changes = tuple(FileChange(**row) for row in body.pop("changes", ()))
            return Line(changes=changes, is_sealed=is_ours and is_next, end=end, mac=mac, **body)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return Line(event="unreadable", at="", root="", is_sealed=False, end=end, mac=mac)

    def _mac(self, body: Mapping[str, Any]) -> str:
        said = json.dumps(
            {name: value for name, value in body.items() if value or name in ("event", "at", "root")},
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
        )
        return hmac.new(self.key(), said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def key(self) -> bytes:
        """This user's key; made at first use."""
        if not self._key:
            self._key = user_key(self._folder)
        return self._key


def user_key(folder: str) -> bytes:
    """32 random bytes that never leave this user's data folder."""
    path = os.path.join(folder, KEY_FILE)
    try:
        with open(path, "rb") as file:
            found = file.read(64)
        if len(found) == 32:
            return found
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreUnavailable(f"{path}: cannot be read: {error.strerror}", hint="check permissions") from error
    files.private_folder(folder)
    with files.locked(path + ".lock"):
        if not os.path.exists(path) or os.path.getsize(path) != 32:
            beside = f"{path}.{os.getpid()}.tmp"
            try:
                handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | files.BINARY, 0o600)
                try:
                    os.write(handle, os.urandom(32))
                    os.fsync(handle)
                finally:
                    os.close(handle)
                os.replace(beside, path)
            except OSError as error:
                raise StoreUnavailable(f"{path}: cannot be written: {error.strerror}", hint=_PLACE) from error
    try:
        with open(path, "rb") as file:
            return file.read(64)
    except OSError as error:
        raise StoreUnavailable(f"{path}: cannot be read: {error.strerror}", hint=_PLACE) from error


_PLACE = "check permissions and free space"


def _plain(line: Line) -> dict[str, Any]:
    body: dict[str, Any] = {"event": line.event, "at": line.at, "root": line.root}
    for name in ("how", "by", "batch"):
        if value := getattr(line, name):
            body[name] = value
    if line.data:
        body["data"] = dict(line.data)
    if line.changes:
        body["changes"] = [asdict(change) for change in line.changes]
    return body


def _whole_end(handle: int) -> int:
    """Where the last whole line ends: what a crash left behind it is not part of the ledger."""
    size = os.fstat(handle).st_size
    at = size
    while at > 0:
        start = max(0, at - 65536)
        os.lseek(handle, start, os.SEEK_SET)
        block = os.read(handle, at - start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        at = start
    return 0


def _last_mac(handle: int, end: int) -> str:
    """The seal of the last whole line, as it stands there; "" for the first one."""
    start = end
    size = 65536
    block = b""
    while start > 0 and block[:-1].rfind(b"\n") < 0:
        start = max(0, end - size)
        os.lseek(handle, start, os.SEEK_SET)
        block = _read_exactly(handle, end - start)
        size *= 4
    line = block[:-1].rpartition(b"\n")[2]
    try:
        return str(json.loads(line)["mac"]) if line else ""
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""


def _read_exactly(handle: int, size: int) -> bytes:
    blocks = []
    while size > 0 and (block := os.read(handle, size)):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)


def undo_of(line: Line) -> Sequence[FileChange]:
    """The changes that take a batch back."""
    return [
        FileChange(path=change.path, before=change.after, after=change.before, id=change.id, type=change.type)
        for change in reversed(line.changes)
    ]
