"""Words as people write them in code: parts of identifiers, joined forms, pairs of unspaced scripts.

The same rules make the derived column of the index and the extra terms of a query, so that `getUserToken`,
`get_user-token` and `user token` find each other.
"""

from __future__ import annotations

import re
import unicodedata

# Han, kana, Hangul, Thai, Lao, Khmer, Burmese: runs without spaces, matched by overlapping pairs.
UNSPACED = "々〆ぁ-ゟ゠-ヿㇰ-ㇿ㐀-䶿一-鿿豈-﫿가-힯ᄀ-ᇿ㄰-㆏฀-๿຀-໿ក-៿က-႟\U00020000-\U0003ffff"
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_MIXED = re.compile(f"(?<=[{UNSPACED}])[A-Za-z0-9]+|[A-Za-z0-9]+(?=[{UNSPACED}])")
_IDENTIFIER = re.compile(r"[A-Za-z0-9]+(?:[_.\-][A-Za-z0-9]+)*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Only a text that has one of these is looked at word by word; prose mostly has none.
_WORTH_A_LOOK = re.compile(r"[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z]|[A-Za-z0-9][_.\-][A-Za-z0-9]|[A-Z]{2}[a-z]")
_SIGNS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?P<letter>[A-Za-z])(?P<sign>\+\+|#)|\.(?P<net>[Nn][Ee][Tt]))(?![A-Za-z0-9+#])"
)

MAX_DERIVED_TERMS = 4000


def clean_for_search(text: str) -> str:
    """NFKC; control characters and lone surrogates become spaces."""
    text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
    return "".join(char if char.isprintable() else " " for char in text) if not text.isprintable() else text


def unspaced_runs(text: str) -> list[str]:
    return _UNSPACED_RUN.findall(text)


def pairs(run: str) -> list[str]:
    """`数据库` → `数据`, `据库`; a run of one character is itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def identifier_forms(word: str) -> tuple[list[str], str]:
    """Parts of one identifier in lower case, and the form with nothing between them.

    `getUserToken` → ([get, user, token], getusertoken); `session_store` → ([session, store], sessionstore);
    `utf8` → ([utf, 8], utf8). One part means that there is nothing to split.
    """
    parts = [part.lower() for part in _PART.findall(word)]
    return parts, "".join(parts)


def sign_aliases(text: str) -> list[str]:
    """`C#` → csharp, `C++` → cpp, `.NET` → dotnet: names whose signs a tokenizer drops."""
    found = []
    for match in _SIGNS.finditer(text):
        if match.group("net"):
            found.append("dotnet")
        else:
            found.append(match.group("letter").lower() + ("sharp" if match.group("sign") == "#" else "pp"))
    return found


def derive(*texts: str) -> str:
    """The derived column for a row: every form that the plain words of `texts` do not already give."""
    seen: dict[str, None] = {}
    for raw in texts:
        text = clean_for_search(raw)
        if _WORTH_A_LOOK.search(text):
            for word in _IDENTIFIER.findall(text):
                # A plain word has nothing to split; asked first, as most words are plain.
                if not word.isalpha() or not word[1:].islower():
                    _add_identifier(word, seen)
        for alias in sign_aliases(text):
            seen[alias] = None
        if not text.isascii():
            for run in unspaced_runs(text):
                for pair in pairs(run):
                    seen[pair] = None
                seen[run[-1]] = None  # so that a search for one character finds the end of a run by prefix, too
            for word in _MIXED.findall(text):
                seen[word.lower()] = None
        if len(seen) > MAX_DERIVED_TERMS:
            break
    return " ".join(list(seen)[:MAX_DERIVED_TERMS])


def _add_identifier(word: str, seen: dict[str, None]) -> None:
    if len(word) > 80:
        return
    parts, joined = identifier_forms(word)
    if len(parts) < 2:
        return
    pieces = [piece.lower() for piece in re.split(r"[_.\-]", word)]
    if len(parts) <= 6 and joined not in pieces:
        seen[joined] = None
    for part in parts:
        if part not in pieces:
            seen[part] = None
