"""Anything a person types, as a query. Never raises on any text but a blank one."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

from engram.core import terms
from engram.errors import InvalidInput

MAX_CHARACTERS = 4000
MAX_TERMS = 48
# Words read before the rarest 48 are chosen; bounds the counting.
MAX_WORDS_READ = 160
# An identifier with at most so many other words beside it is what the question is about.
MAX_WORDS_BESIDE = 2

# Function words and question words of English, and the commonest of Spanish. They are dropped from a query when
# something else remains; the index keeps them.
STOP_WORDS = frozenset(
    """
    a about above after again against all am an and any are aren as at be because been before being
    below between both but by can cannot could couldn d did didn do does doesn doing don down during
    each few for from further had hadn has hasn have haven having he her here hers herself him himself
    his how i if in into is isn it its itself just let ll m me might more most must my myself no nor not
    now of off on once only or other our ours ourselves out over own re s same shan she should shouldn
    so some such t than that the their theirs them themselves then there these they this those through
    to too under until up us ve very was wasn we were weren what when where which while who whom whose
    why will with won would wouldn y you your yours yourself yourselves el la los las un una unos unas
    de del al y o en que como por para con se su sus es son fue lo le les nos mi tu
    """.split()
)

_QUOTED = re.compile(r'"([^"]{2,200})"|“([^”]{2,200})”')
_ID = re.compile(r"^\s*#?(\d{1,15})\s*$|(?<![\w&])#(\d{1,15})(?!\w)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]{1,2}(?![^\W_]))?")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
# Begins where a word does: trying every letter of a long word anew would take the square of its length.
_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]+(?:[_.\-][A-Za-z0-9]+)+|[A-Za-z]+[0-9]+[A-Za-z0-9]*|[0-9]+[A-Za-z]+"
    r"|[A-Za-z]*[a-z][A-Z]\w*)"
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for.

    `text` is what the index is asked for (one word, or a few that stand side by side), `word` what the person
    wrote, `prefix` whether the index word may go on. Several terms may come from one `word`.
    """

    text: str
    word: str
    prefix: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed query. `terms` decide coverage; `forms` are other spellings that also count as a match."""

    text: str
    terms: tuple[Term, ...]
    forms: tuple[Term, ...]
    phrases: tuple[str, ...]
    exact: tuple[str, ...]
    ids: tuple[int, ...]
    topic_key: str | None

    @property
    def words(self) -> list[str]:
        """The words looked for, lower case, in order, each once."""
        return list(dict.fromkeys(term.word for term in self.terms))


def parse(text: str) -> Query:
    """Read `text` as words, identifiers, pairs of unspaced scripts, quoted phrases, ids and a topic key."""
    # A cap before normalising, too: one character may become eighteen.
    cleaned = terms.clean_for_search(text.strip()[:MAX_CHARACTERS])[:MAX_CHARACTERS]
    if not cleaned.strip():
        raise InvalidInput("query: must not be blank", hint="give a few words of what you look for")
    words, unspaced = _words(cleaned)
    kept = [word for word in words if word not in STOP_WORDS] or words
    kept = kept[:MAX_WORDS_READ]
    found: dict[str, Term] = {word: Term(word, word) for word in kept}
    for pair, run in unspaced[:MAX_WORDS_READ]:
        found.setdefault(pair, Term(pair, run, prefix=len(pair) == 1))
    forms = {text: term for text, term in _forms(cleaned, kept).items() if text not in found}
    return Query(
        text=cleaned.strip(),
        terms=tuple(found.values()),
        forms=tuple(forms.values())[:MAX_TERMS],
        phrases=tuple(dict.fromkeys(f"{one} {other}" for one, other in pairwise(kept)))[:24],
        exact=_exact(cleaned, kept),
        ids=tuple(dict.fromkeys(int(a or b) for a, b in _ID.findall(cleaned)))[:10],
        topic_key=_topic_key(cleaned),
    )


def _words(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Distinct lower-case words in order, and (pair, run) of scripts without spaces."""
    unspaced = [(pair, run) for run in terms.unspaced_runs(text) for pair in terms.pairs(run)]
    spaced = text
    for _, run in dict.fromkeys(unspaced):
        spaced = spaced.replace(run, " ")
    words: dict[str, None] = {}
    for match in _WORD.finditer(spaced):
        words[re.sub(r"['’].*$", "", match.group()).lower()] = None
    for alias in terms.sign_aliases(text):
        words.pop(alias[0], None)  # the lone `c` of `C#`
        words[alias] = None
    return list(words), unspaced


def _forms(text: str, kept: list[str]) -> dict[str, Term]:
    """Other spellings: joined and split forms of identifiers, neighbours written as one word."""
    found: dict[str, Term] = {}
    for match in _CODE.finditer(text):
        parts, joined = terms.identifier_forms(match.group())
        if 2 <= len(parts) <= 8:
            found.setdefault(joined, Term(joined, joined))
            apart = " ".join(parts)
            found.setdefault(apart, Term(apart, joined))
            if _CAMEL.search(match.group()):  # other separators give these words anyway
                for part in parts:
                    if len(part) > 1 and part not in STOP_WORDS:
                        found.setdefault(part, Term(part, joined))
    for one, other in pairwise(kept):
        if one.isascii() and other.isascii() and 4 <= len(one + other) <= 40:
            found.setdefault(one + other, Term(one + other, one))
    return found


def _exact(text: str, kept: list[str]) -> tuple[str, ...]:
    """Quoted phrases and identifiers that are the question: a row that has one literally goes first.

    In a longer question an identifier is one word among others; putting its rows first lost 1 point of H@1 on
    commit messages.
    """
    phrases = [_spaced(a or b) for a, b in _QUOTED.findall(text)]
    identifiers = [_spaced(match.group()) for match in _CODE.finditer(text) if len(match.group()) >= 4]
    inside = {word for identifier in identifiers for word in identifier.split()}
    if sum(word not in inside for word in kept) <= MAX_WORDS_BESIDE:
        phrases += identifiers
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[:8]


def _spaced(text: str) -> str:
    """The words of a phrase or an identifier, as they stand side by side in the index."""
    return " ".join(_WORD.findall(text.lower().replace("_", " ")))


def _topic_key(text: str) -> str | None:
    key = unicodedata.normalize("NFC", text.strip().lower())
    return key if key and len(key) <= 120 and not re.search(r"\s", key) and re.search(r"[/\-]", key) else None
