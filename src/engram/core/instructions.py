"""Find text that forges instructions, roles or tools, so that notes and memory candidates holding it are refused.

A verb alone is never enough: the rules of a project are imperatives too. An order is suspect when its object is what
the reader was told before, a role when it is handed to the assistant, a tag when clients read it as another speaker.
Every expression has bounded repetition, so the time grows with the length of the text and not faster.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from engram.core.disguise import flowing, hidden_places, shown
from engram.core.orders import find_orders


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A kind of forgery and the line on which it begins; lines count from 1 in the text as given."""

    kind: str
    line: int


def find_instructions(text: str) -> tuple[Suspect, ...]:
    """Every suspicious line of `text` in order, each once per kind; empty for ordinary prose, rules and code."""
    plain = shown(text) + "\n"
    folded = plain.casefold()
    found = {
        *_on_lines(text, (("hidden-characters", at) for at in hidden_places(text))),
        *_on_lines(plain, _forged_markup(plain)),
        *_on_lines(folded, find_orders(flowing(folded))),
    }
    return tuple(Suspect(kind=kind, line=line) for line, kind in sorted(found))


def _on_lines(text: str, places: Iterator[tuple[str, int]]) -> Iterator[tuple[int, str]]:
    found = list(places)
    breaks = [match.start() for match in re.finditer("\n", text)] if found else []
    return ((bisect_left(breaks, at) + 1, kind) for kind, at in found)


# --- Roles and tools: what a client or a model would read as markup ---------------------------------------------------

_LINE = r"(?<![^\n\r])[ \t>*\-#+|`\"']{0,8}+"
_SPEAKS = re.compile(
    r"(?:\A|[.!?;:,\n\r>]|\b(?:please|and|now|then|assistant|ai|agent)\b)\W{0,6}"
    r"(?:you (?:are|must|will|shall|now)|you're|your (?:new|task|job|role|instructions|rules)"
    r"|ignore|disregard|obey|reveal|pretend|from now on|do not (?:tell|reveal|mention|refuse)|never refuse"
    r"|(?:always |only )?(?:respond|reply|answer|comply))\b",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"\W{0,3}(?:i|i'll|i'm|sure|ok|okay|of course|understood|certainly|yes|no problem)\b", re.IGNORECASE
)
_TAG = re.compile(
    r"<(?=[/a-z \t])(?<![\w./\\-]<)(?P<close>/?)[ \t]?(?P<name>"
    r"(?P<sure>(?:ant|antml):\w+|tool_calls?|tool_use|tool_results?|tool_response"
    r"|function_(?:calls?|results?|response)|function=[\w.-]+|invoke(?=[ \t]+name[ \t]*=))"
    r"|(?P<role>system[-_](?:reminder|prompt|message|instructions?|note)|assistant|start_of_turn|end_of_turn)"
    r"|(?P<word>system|user|human|developer|instructions?|important|admin|secret|hidden|prompt|context|override))"
    r"(?P<rest>[ \t/][^<>\n]{0,200})?>(?![\w/\\-]{0,40}/)",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"<\|(?:im_(?:start|end|sep)|system|user|assistant|human|endof(?:text|prompt)|end|(?:start|end)_header_id|eot_id|eom_id|end_of_turn"
    r"|(?:begin|end)[_▁]of[_▁](?:text|sentence|turn)|python_tag|channel|message|start|return|call|constrain|observation|tool\w{0,20})\|>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<</?SYS>>",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    _LINE
    + r"(?:\[?(?P<who>system|assistant|user|human|developer|ai|claude|chatgpt)(?: (?:prompt|message|note|override))?"
    r"\]?\*{0,2}[ \t]?:\*{0,2}"
    r"|[\[(](?P<marked>system|assistant|user|human|developer)(?: (?:prompt|message|override))?[\])])"
    r"\s{0,3}(?P<said>[^\n\r]{0,200})",
    re.IGNORECASE,
)
_DIALOGUE = re.compile(
    r"(?<![^\n\r])[ \t>*]{0,4}(?:user|human)\*{0,2}:(?:[ \t*]{1,3}[^\s:]{1,40}){3,60}+[ \t]{0,3}\n"
    r"(?:[^\n]{0,400}\n){0,2}?[ \t>*]{0,4}(?:assistant|ai)\*{0,2}:[ \t*]{1,3}\S+[ \t]+\S",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"(?<![^\n\r])#{1,4}[ \t](?:new |hidden )?(?P<who>system|instructions?|response|assistant|human|user)"
    r"(?: (?:prompt|message|override))?[ \t]?(?P<colon>:?)[ \t]{0,3}\n\s{0,3}(?P<said>[^\n]{0,200})",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"[\"'](?:tool_calls|function_call)[\"']\s{0,9}:\s{0,9}[\[{]\s{0,9}[{\"']|[\"']tool_(?:call|use)_id[\"']\s{0,9}:\s{0,9}[\"']"
    r"|[\"']type[\"']\s{0,9}:\s{0,9}[\"'](?:tool_use|tool_result|tool_call|function_call)[\"']"
    r"|[\"']method[\"']\s{0,9}:\s{0,9}[\"']tools/call[\"']|[\"']recipient_name[\"']\s{0,9}:\s{0,9}[\"']functions\."
    r"|[\"'](?:name|function)[\"']\s{0,9}:\s{0,9}[\"'][\w.-]{1,80}[\"']\s{0,9},\s{0,9}[\"']arguments[\"']\s{0,9}:\s{0,9}[\"']?\{"
    r"|[\"'](?:tool|tool_name|action)[\"']\s{0,9}:\s{0,9}[\"'][\w.-]{1,80}[\"']\s{0,9},\s{0,9}"
    r"[\"'](?:input|args|arguments|parameters|tool_input|tool_args|action_input)[\"']\s{0,9}:\s{0,9}[\"']?\{"
    r"|(?<![^\n\r])action input:|\bto=functions\.\w",
    re.IGNORECASE,
)
_AGENT = (
    r"(?:assistants?|agents?|ai|a\.i\.|llms?|language models?|claude|chatgpt|gpt(?:-\d)?|copilot|codex|gemini|cursor"
    r"|chatbots?)\b"
)
_ADDRESSED = re.compile(
    rf"(?:\A|[.!?\n])\W{{0,6}}+(?:the )?{_AGENT}(?: \w{{1,20}})?[:,!]\s(?!\W{{0,3}}(?:and )?{_AGENT})"
    rf"|\b{_AGENT}\s{{1,3}}(?:must|should|shall|please|needs? to|ha(?:s|ve) to|(?:is|are) to)\b"
    r"|\b(?:as an?|if you are an?|dear|hey|attention|note to|(?:to|for) (?:the|any|all)) (?:\w{1,20} )?"
    rf"{_AGENT}.{{0,40}}[:,!]"
    r"|\b(?:curl|wget)\b[^\n|]{0,200}\|\s?(?:ba|z)?sh\b",
    re.IGNORECASE,
)


def _forged_markup(text: str) -> Iterator[tuple[str, int]]:
    if "<" in text:
        yield from ((_TAG_KIND[bool(tag["sure"])], tag.start()) for tag in _TAG.finditer(text) if _is_forged(tag, text))
    if "|>" in text or "]" in text or ">>" in text:
        yield from (("role-markup", token.start()) for token in _TOKEN.finditer(text))
    for turn in _SPEAKER.finditer(text):
        is_reply = (turn["who"] or turn["marked"]).lower() == "assistant" and _ANSWERS.match(turn["said"])
        if is_reply or _SPEAKS.search(turn["said"]):
            yield "role-markup", max(turn.start("who"), turn.start("marked"))
    yield from (("role-markup", turns.start()) for turns in _DIALOGUE.finditer(text))
    headings = list(_HEADING.finditer(text))
    both = {"instruction", "response"} <= {heading["who"].lower() for heading in headings if heading["colon"]}
    for heading in headings:
        if (both and heading["colon"]) or re.match(
            r"\W*you (?:are|must|will)\b|\W*(?:ignore|disregard|obey)\b(?! the \w+ (?:folder|file))",
            heading["said"],
            re.I,
        ):
            yield "role-markup", heading.start()
    if '"' in text or "'" in text or "action" in text.lower() or "to=" in text:
        yield from (("tool-call", call.start()) for call in _CALL.finditer(text))
    for start, inside in _comments(text):
        if _ADDRESSED.search(inside) or any(True for _ in find_orders(flowing(inside.casefold() + "\n"))):
            yield "html-comment", start


_TAG_KIND = ("role-markup", "tool-call")


def _is_forged(tag: re.Match[str], text: str) -> bool:
    """Whether a tag is a forged turn: names like `system` are those of configurations, types and components as well."""
    if not tag["word"]:
        return tag["sure"] is not None or not tag["name"].istitle()
    said, closes, _ = text[tag.end() : tag.end() + 300].partition("</")
    if _SPEAKS.search(said) if closes else _SPEAKS.match(said):
        return not tag["close"]
    before = text[max(0, tag.start() - 60) : tag.start()] if tag["close"] else ""
    inside = before.rpartition(">")[2] if tag["close"] else said if closes and len(said) < 60 else None
    is_value = inside is not None and len(inside.split()) <= 2
    return tag["name"].lower() == "system" and not tag["name"].istitle() and not is_value


def _comments(text: str) -> Iterator[tuple[int, str]]:
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at)
        end = len(text) if end < 0 else end
        yield at, text[at + 4 : end]
        at = text.find("<!--", end)
    for match in re.finditer(r"(?<![^\n])\[[^\]\n]{0,20}\]: ?#? ?[(\"<]([^\n]{0,2000})", text):
        yield match.start(), match.group(1)
