"""Topic keys: `family/segment`, the name under which an observation is revised instead of repeated."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_KEY = 120
MAX_SEGMENT = 80

_BY_TYPE = {
    "architecture": "architecture adr design refactor",
    "bug": "bug bugfix fix hotfix incident error crash",
    "decision": "decision choice tradeoff",
    "pattern": "pattern convention guideline standard",
    "config": "config configuration setup infra infrastructure ci environment",
    "discovery": "discovery investigation research finding root_cause root-cause",
    "learning": "learning learn lesson passive",
    "session": "session session_summary",
}
_BY_WORD = {
    "bug": "bug bugs bugfix fix fixes fixed panic error errors crash crashes regression incident hotfix",
    "architecture": "architecture architectural design adr boundary hexagonal refactor refactored refactoring",
    "decision": "decision decided decide chose choose chosen tradeoff",
    "pattern": "pattern patterns convention conventions naming guideline guidelines",
    "config": "config configuration setup environment env docker pipeline",
    "discovery": "discovery discovered discover investigate investigated investigation found",
    "learning": "learned learning learnings lesson",
    "session": "session summary",
}
_FAMILY_OF_TYPE = {word: family for family, words in _BY_TYPE.items() for word in words.split()}
_FAMILY_OF_WORD = {word: family for family, words in _BY_WORD.items() for word in words.split()}
_WORDS = re.compile(r"[^\W_]+")


def normalise_topic_key(key: str) -> str | None:
    """Trimmed, NFC, lower case, runs of white space as `-`, at most 120 characters; None when there is no key in it.

    A longer key ends in a hash of the whole, so that two never become one. What lost a part to redaction is no key:
    topics that have nothing in common would share it.
    """
    text = unicodedata.normalize("NFC", re.sub(r"\s+", "-", unicodedata.normalize("NFC", key).strip().lower())).strip(
        "-"
    )
    if "[redacted" in text:
        return None
    if len(text) > MAX_KEY:
        text = f"{text[: MAX_KEY - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return text or None


def suggest_topic_key(*, kind: str, title: str, content: str) -> str:
    """A stable key for what `title` (else `content`) is about. Same input, same key; never an empty part."""
    family = _family(kind, title, content)
    source = title.strip() or " ".join(content.split()[:8])
    return f"{family}/{_segment(source, family)}"


def _family(kind: str, title: str, content: str) -> str:
    by_type = _FAMILY_OF_TYPE.get(kind.strip().lower().replace(" ", "_"))
    if by_type:
        return by_type
    # Words of the title speak before words of the content.
    for text in (title, content):
        lowered = text.lower()
        if "root cause" in lowered:
            return "discovery"
        for word in _WORDS.findall(lowered):
            if word in _FAMILY_OF_WORD and word not in ("session", "summary"):
                return _FAMILY_OF_WORD[word]
    return "topic"


def _segment(source: str, family: str) -> str:
    words = _slug_words(unicodedata.normalize("NFKC", source).lower())
    if len(words) > 1 and words[0] == family:
        words = words[1:]
    slug = "-".join(words)
    if slug and len(slug) <= MAX_SEGMENT:
        return slug
    # Too long, or nothing but signs: a short hash keeps two different titles apart.
    mark = hashlib.sha256(source.encode()).hexdigest()[:8]
    return f"{slug[: MAX_SEGMENT - 9].rstrip('-')}-{mark}".lstrip("-")


def _slug_words(text: str) -> list[str]:
    """Runs of letters, digits and the marks on them: a vowel sign is all that tells some words apart."""
    kept = (char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in text)
    return "".join(kept).split()
