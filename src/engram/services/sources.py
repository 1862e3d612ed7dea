"""Read what other programs left: rows of an Engram JSON export, one at a time however long the file is.

A source is read twice, first to see that all of it is sound, then to take it in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, TextIO

from engram.errors import InvalidInput

KINDS = ("sessions", "observations", "prompts")
VERSIONS = ("0.1.0", "0.2.0")

_SPACE = re.compile(r"[ \t\n\r]*")
_CHUNK = 1 << 20

Row = Mapping[str, Any]


class Source(Protocol):
    """Rows by kind, named as the columns of the Go program's tables."""

    @property
    def format(self) -> str:
        """What this is, for people; known once all rows were read."""

    @property
    def notes(self) -> Sequence[str]:
        """What was found and is not taken, known once all rows were read."""

    def rows(self) -> Iterator[tuple[str, Any]]:
        """(kind, row) from the beginning, each time. Raises `InvalidInput` where the file is damaged."""

    def __enter__(self) -> Source: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


class JsonExport:
    """An export of version 0.1.0 or 0.2.0. Other top-level arrays are counted and left."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._file: TextIO = open(path, encoding="utf-8-sig", newline="")  # noqa: SIM115  # closed by __exit__
        except OSError as error:
            raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
        self._version = ""
        self._left: Counter[str] = Counter()

    @property
    def format(self) -> str:
        return f"Engram export {self._version}"

    @property
    def notes(self) -> Sequence[str]:
        return [f"{name}: {count:,} are not taken" for name, count in sorted(self._left.items())]

    def rows(self) -> Iterator[tuple[str, Any]]:
        self._file.seek(0)
        self._left.clear()
        version: Any = None
        try:
            for key, value, is_element in _walk(_Buffer(self._file)):
                if key in KINDS:
                    if is_element:
                        yield key, value
                    elif value is not None:
                        raise InvalidInput(f"{self._path}: {key}: must be an array")
                elif key == "version":
                    version = value
                elif is_element:
                    self._left[key] += 1
        except (ValueError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else _reason(error)
            raise InvalidInput(
                f"{self._path}: is damaged or no Engram export ({why}); nothing was changed",
                hint="export it once more",
            ) from error
        except OSError as error:
            raise InvalidInput(f"{self._path}: cannot be read: {error.strerror}") from error
        if version not in VERSIONS:
            shown = f"version `{version}`" if isinstance(version, str) and len(version) < 30 else "no version"
            raise InvalidInput(f"{self._path}: {shown}; Engram exports of {' and '.join(VERSIONS)} are known")
        self._version = version

    def __enter__(self) -> JsonExport:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def _reason(error: ValueError) -> str:
    """Why, without a word of the text itself."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else "a number or text that cannot be"


def _walk(text: _Buffer) -> Iterator[tuple[str, Any, bool]]:
    """(key, value, whether it is an element of the key's array) of the one object that the text is."""
    text.take("{")
    while text.peek() != "}":
        key = text.value()
        if not isinstance(key, str):
            raise json.JSONDecodeError("a name was expected", "", 0)
        text.take(":")
        if text.peek() == "[":
            text.take("[")
            while text.peek() != "]":
                yield key, text.value(), True
                if text.peek() != "]":
                    text.take(",", before="]")
            text.take("]")
        else:
            yield key, text.value(), False
        if text.peek() != "}":
            text.take(",", before="}")
    text.take("}")
    if text.peek():
        raise json.JSONDecodeError("something follows the end", "", 0)


class _Buffer:
    """The part of a long JSON text that is being looked at."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._decode = json.JSONDecoder().raw_decode

    def _more(self) -> bool:
        # As much again as is held, so that one very long value is not begun over and over.
        chunk = self._file.read(max(_CHUNK, len(self._text) - self._at))
        if not chunk:
            return False
        self._text = self._text[self._at :] + chunk
        self._at = 0
        return True

    def peek(self) -> str:
        """The next character that is no space, or "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, char: str, *, before: str = "") -> None:
        """Step over `char`; after it `before` must not follow."""
        found = self.peek()
        if found != char:
            raise json.JSONDecodeError(f"`{char}` was expected" if found else "it ends too early", "", 0)
        self._at += 1
        if before and self.peek() == before:
            raise json.JSONDecodeError(f"a value was expected before `{before}`", "", 0)

    def value(self) -> Any:
        if not self.peek():
            raise json.JSONDecodeError("it ends too early", "", 0)
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._more():
                    raise
                continue
            # A number may go on in the next piece.
            if end == len(self._text) and self._more():
                continue
            self._at = end
            return value
