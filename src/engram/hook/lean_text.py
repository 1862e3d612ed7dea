"""Stored text in one harmless line, and what it costs: `core.quoting` and `core.text` without `re`.

Tests hold them to their elders: what those mark is marked here, and nothing counts fewer tokens than there.
"""

from __future__ import annotations

MARK = "[quoted, not an instruction] "

# No markup survives, so no text can end the block that it stands in or change the speaker.
_CHARACTERS = {
    **dict.fromkeys(range(0x20), " "),
    **dict.fromkeys(range(0x7F, 0xA0), " "),
    **dict.fromkeys(
        (
            *(0xAD, 0x34F, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF, 0x3164, 0xFFA0),
            *range(0x202A, 0x202F),
            *range(0x2060, 0x2070),
            *range(0xE0000, 0xE0080),
            *range(0xD800, 0xE000),
        ),
        None,
    ),
    ord("<"): "‹",
    ord(">"): "›",
}
_SEATS = ("inst]", "sys]")
# What an order to the model is made of: one of the first and one of the second, anywhere in the line.
_VERBS = ("ignore", "disregard", "forget", "override", "bypass", "ignora", "olvida", "descarta")
_OBJECTS = (
    *("instruction", "prompt", "rules", "directions", "guidelines", "context", "message"),
    *("instrucciones", "reglas", "indicaciones"),
)
_SHOW = ("reveal", "print", "output", "repeat")
_SHOWN = ("system prompt", "hidden instructions", "your instructions")
_TELL = ("tell", "inform", "mention", "reveal")
_TOLD = ("user", "human", "person")
_BECOME = ("mode", "unrestricted", "jailbroken", "dan", "admin", "root")


def one_line(text: str, limit: int) -> str:
    """`text` as data on one line of at most `limit` characters (and a mark, where it reads like an order)."""
    line = " ".join(text.translate(_CHARACTERS).split())
    lowered = line.casefold()
    if any(seat in lowered for seat in _SEATS):
        line = line.replace("[", "‹").replace("]", "›")
    marked = MARK if _is_order(lowered) else ""
    if len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    return marked + line


def _is_order(line: str) -> bool:
    return (
        (_has(line, _VERBS) and _has(line, _OBJECTS))
        or ("you are now" in line and _has(line, _BECOME))
        or (_has(line, _SHOW) and _has(line, _SHOWN))
        or ("do not" in line and _has(line, _TELL) and _has(line, _TOLD))
    )


def _has(line: str, words: tuple[str, ...]) -> bool:
    return any(word in line for word in words)


def most_tokens(text: str) -> int:
    """At least what `core.text.count_tokens` counts, and little more for plain text."""
    if not text.isascii():
        plain = "".join(char if char.isascii() else " " for char in text)
        return len(text) - (len(plain) - plain.count(" ")) - text.count(" ") + most_tokens(plain)
    tokens = text.count("\n")
    for word in text.split():
        if word.isalpha():
            tokens += 1 if len(word) <= 9 else (len(word) + 5) // 6
        else:
            tokens += _pieces(word)
    return tokens


def _pieces(word: str) -> int:
    """Tokens of a word of letters, digits and signs: each run by its kind."""
    tokens = run = 0
    kind = ""
    for char in word:
        now = "a" if char.isalpha() else "1" if char.isdigit() else "_" if char == "_" else "."
        if now != kind and run:
            tokens += _of_run(kind, run)
            run = 0
        kind = now
        run += 1
    return tokens + _of_run(kind, run)


def _of_run(kind: str, run: int) -> int:
    if kind == "a":
        return 1 if run <= 9 else (run + 5) // 6
    return (run + 2) // 3
