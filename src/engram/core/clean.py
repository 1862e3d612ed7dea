"""Redaction as a type: text is safe to keep once it is `Clean`.

Stores accept only `Clean`, and only this module makes it, so text that was not redacted cannot reach a disk without
the type checker saying so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NewType

from engram.core.secrets import find_secrets

Clean = NewType("Clean", str)

PRIVATE_MARK = "[REDACTED]"


@dataclass(frozen=True, slots=True)
class Redacted:
    """Redacted text, and the distinct kinds of secret that were in it, in order; never a value."""

    text: Clean
    kinds: tuple[str, ...]


def clean(text: str) -> Clean:
    """`text` without control characters, private blocks and secrets. Cleaning twice changes nothing more."""
    return redact(text).text


def redact(text: str) -> Redacted:
    """Like `clean`, and also says which kinds of secret were found."""
    text = _without_private(_printable(text))
    kinds: dict[str, None] = {}
    # What stood beside a secret can look like one itself once the secret is gone. Text that still does after a few
    # rounds was made to; it loses everything from there on.
    for round_ in range(_ROUNDS + len(text)):
        findings = find_secrets(text)
        if not findings:
            break
        kinds.update((finding.kind, None) for finding in findings)
        pieces: list[str] = []
        at = 0
        for finding in findings:
            pieces += text[at : finding.start], f"[REDACTED:{finding.kind}]"
            at = finding.end
            if round_ >= _ROUNDS:
                break
        else:
            pieces.append(text[at:])
        text = _without_private("".join(pieces))
    return Redacted(Clean(text), tuple(kinds))


_ROUNDS = 3
_LINE_END = re.compile(r"\r\n?")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _printable(text: str) -> str:
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    return _UNPRINTABLE.sub("", text)


# An opening tag needs no `>` of its own: what follows its name is redacted with the block, so that neither an attribute
# nor a forgotten bracket can carry text out.
_TAG = re.compile(
    r"(?P<empty><\s*+private(?:\s[^<>]*)?/\s*+>)"
    r"|(?P<open><\s*+private(?:>|(?=\s)))"
    r"|(?P<close><\s*+/\s*+private(?:\s[^<>]*+)?>)",
    re.IGNORECASE,
)


def _without_private(text: str) -> str:
    # Taking a stray tag out can join its surroundings to a new one; who nests that deep loses the rest of the text.
    for _ in range(_ROUNDS):
        if "<" not in text or (first := _first_tag(text)) < 0:
            return text
        text = _private_removed(text)
    first = _first_tag(text)
    return text if first < 0 else text[:first] + PRIVATE_MARK


def _first_tag(text: str) -> int:
    last_bracket = text.rfind(">")
    match = _TAG.search(text)
    return match.start() if match is not None and match.start() < last_bracket else -1


def _private_removed(text: str) -> str:
    last_bracket = text.rfind(">")
    pieces: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(text):
        if tag.start() > last_bracket:  # `a <private method`, with no bracket behind it, is prose
            break
        if depth == 0:
            pieces.append(text[at : tag.start()])
        if tag.lastgroup == "open":
            depth += 1
        elif tag.lastgroup == "close" and depth > 0:
            depth -= 1
            if depth == 0:
                pieces.append(PRIVATE_MARK)
        at = tag.end()
    pieces.append(PRIVATE_MARK if depth > 0 else text[at:])
    return "".join(pieces)
