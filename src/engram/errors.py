"""Every error that is raised on purpose: a code, a sentence, the next step.

`EngramError`
 ├─ `InvalidInput`      a value from outside is wrong; the message names the field
 ├─ `NotFound`          an id that does not exist
 ├─ `Conflict`          the change would break a rule that another row holds
 ├─ `Unsafe`            policy forbids it
 ├─ `StoreUnavailable`  the store cannot be opened, read or written now
 ├─ `IntegrityFailed`   stored data is damaged
 ├─ `SettingsError`     a setting, an option or the environment is wrong
 └─ `Unsupported`       not possible here (platform, missing extra, newer format)

Front ends translate in one place: the command line to `exit_status`, MCP to a tool result with `isError`.
"""

from __future__ import annotations


class EngramError(Exception):
    """Base of all. `code` is stable and machine-readable; `hint` is the next step, or empty."""

    code = "error"
    exit_status = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def sentence(self) -> str:
        """Message and hint as one line of text for people and models."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidInput(EngramError):
    code = "invalid_input"
    exit_status = 2


class NotFound(EngramError):
    code = "not_found"
    exit_status = 7


class Conflict(EngramError):
    code = "conflict"
    exit_status = 8


class Unsafe(EngramError):
    code = "unsafe"
    exit_status = 5


class StoreUnavailable(EngramError):
    code = "store_unavailable"
    exit_status = 1


class IntegrityFailed(EngramError):
    code = "integrity"
    exit_status = 4


class SettingsError(EngramError):
    code = "settings"
    exit_status = 3


class Unsupported(EngramError):
    code = "unsupported"
    exit_status = 3
