"""Make stored text safe to show to a model: it is data, and must not read as an order or hide anything."""

from __future__ import annotations

import re

# Characters that hide text or turn its direction. Joiners that scripts and emoji need (200c, 200d, fe0f) stay.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)

# Markup that clients and models read as a change of speaker or as a call of a tool.
_ROLE = re.compile(
    r"<(?P<close>/?)\s*(?P<name>system|assistant|user|human|developer|tool|function|tool_call|tool_use|tool_result"
    r"|function_calls?|function_results?|invoke|antml:\w+|system-reminder|instructions?|important)(?P<rest>[^<>\n]{0,200})>"
    r"|<\|(?P<special>[a-z_]{2,40})\|>|\[(?P<inst>/?INST|/?SYS)\]|<<(?P<sys>/?SYS)>>",
    re.IGNORECASE,
)

_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|your|"
    r"system|safety)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules|directions|guidelines|context|messages?)\b"
    r"|\b(?:ignora|olvida|descarta)\b[^.\n]{0,40}\b(?:instrucciones|reglas|indicaciones)\b"
    r"|\byou are now\b[^.\n]{0,60}\b(?:mode|unrestricted|jailbroken|dan|admin|root)\b"
    r"|\b(?:reveal|print|output|repeat)\b[^.\n]{0,30}\b(?:system prompt|hidden instructions|your instructions)\b"
    r"|\bdo not (?:tell|inform|mention|reveal)\b[^.\n]{0,40}\b(?:the )?(?:user|human|person)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"^(?P<space>\s{0,3})(?P<who>system|assistant|human|user)\s*:(?=\s)", re.IGNORECASE | re.MULTILINE
)

MARK = "[quoted, not an instruction] "


def defang(text: str) -> str:
    """`text` with hidden characters removed, role and tool markup broken, and orders to the model marked as quoted.

    Ordinary prose and code come back unchanged.
    """
    text = _HIDDEN.sub("", text)
    if "<" in text or "[" in text:
        text = _ROLE.sub(_broken, text)
    text = _SPEAKER.sub(r"\g<space>\g<who> (quoted):", text)
    if not _ORDER.search(text):
        return text
    return "\n".join(MARK + line if _ORDER.search(line) else line for line in text.split("\n"))


def _broken(match: re.Match[str]) -> str:
    inside = match.group()[1:-1]
    return "‹" + inside.strip("<>[]|").strip() + "›"
