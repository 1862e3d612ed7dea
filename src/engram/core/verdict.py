"""What remembering a candidate would mean, given the memories that are most like it: one pure function.

Similarity is the share of common words (Jaccard over word stems, stop words left out), which needs no statistics of
the store: the same two texts always give the same verdict. The thresholds are starting points of ours, held by the
table of cases in tests/core/test_verdict.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from engram.core import terms
from engram.core.candidate import Candidate
from engram.core.query import STOP_WORDS
from engram.errors import InvalidInput

# Share of common words from which two texts are about the same thing …
CLOSE = 0.6
# … may be: the person is asked before both are kept …
LIKELY = 0.42
# … or touch each other, which is worth a hint.
RELATED = 0.15
# Fewer common words than this are chance.
LEAST_COMMON = 3
# Share of a text's words that the other must hold to contain it.
CONTAINED = 0.9
# Containing a short remark proves nothing.
LEAST_CONTAINED = 4
MAX_RELATED = 3


class Action(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    SUPERSEDE = "SUPERSEDE"
    NOOP = "NOOP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A memory as far as a verdict looks at it."""

    id: str
    type: str
    text: str
    content_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`target` is the id that an UPDATE, SUPERSEDE or NOOP is about (of type `target_type`), "" for ADD.

    `related` are ids worth a look; `doubt` says why a person should look before both are kept, or is "".
    """

    action: Action
    reason: str
    target: str = ""
    target_type: str = ""
    related: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def line(self) -> str:
        """`ADD`, `UPDATE id`, `SUPERSEDE id`, `NOOP duplicate of id`."""
        if self.action is Action.ADD:
            return "ADD"
        return f"NOOP duplicate of {self.target}" if self.action is Action.NOOP else f"{self.action} {self.target}"


def decide(candidate: Candidate, known: Sequence[Known]) -> Verdict:
    """The verdict. `known` holds the live memories of one root that could matter, those named by the candidate among
    them. Raises `InvalidInput` when it names one that is not there, or of another type for UPDATE."""
    words = stems(candidate.text)
    compared = [(memory, theirs, _alike(words, theirs)) for memory in known for theirs in (stems(memory.text),)]
    compared.sort(key=lambda row: (-row[2], row[0].id, row[0].type))
    related = _related(compared)
    named = _named(candidate, known, related)
    if named is not None:
        return named
    said = normalised(candidate.text)
    for memory, _, _ in compared:
        if normalised(memory.text) == said:
            return _about(Action.NOOP, memory, "says the same already")
    same_type = [row for row in compared if row[0].type == candidate.type]
    # Who says "keep both" has looked at what is alike.
    alike = _likeness(candidate, words, same_type, related) if not candidate.keep_both else None
    if alike is not None:
        return alike
    reason = f"new; related: {', '.join(related)}" if related else "nothing like it is known"
    doubt = _doubt(candidate, [(score, memory) for memory, _, score in same_type], related)
    return Verdict(action=Action.ADD, reason=reason, related=related, doubt=doubt)


def _likeness(
    candidate: Candidate,
    words: frozenset[str],
    same_type: Sequence[tuple[Known, frozenset[str], float]],
    related: tuple[str, ...],
) -> Verdict | None:
    """The verdict on a candidate that a memory of its type contains, is contained in, contradicts or is close to."""
    for memory, theirs, _ in same_type:
        if _contains(theirs, words) and not differs(memory.text, candidate.text):
            return _about(Action.NOOP, memory, "is contained in it", related)
    for memory, theirs, _ in same_type:
        if _contains(words, theirs) and not differs(candidate.text, memory.text):
            return _about(Action.UPDATE, memory, "contains it, and says more", related)
    for memory, _, score in same_type:
        if score < LIKELY:
            break
        clash = contradicts(memory.text, candidate.text)
        if clash:
            return _about(Action.SUPERSEDE, memory, f"contradicts it: {clash}", related)
        if score >= CLOSE and not is_sibling(memory.text, candidate.text):
            return _about(Action.UPDATE, memory, f"says nearly the same ({score:.2f})", related)
    return None


def _about(action: Action, memory: Known, reason: str, related: tuple[str, ...] = ()) -> Verdict:
    return Verdict(
        action=action,
        target=memory.id,
        target_type=memory.type,
        reason=reason,
        related=_without(related, memory.id),
    )


def _named(candidate: Candidate, known: Sequence[Known], related: tuple[str, ...]) -> Verdict | None:
    """UPDATE or SUPERSEDES as the candidate says itself."""
    target = candidate.update or candidate.supersedes
    if not target:
        return None
    found = sorted((memory for memory in known if memory.id == target), key=lambda one: one.type != candidate.type)
    if not found:
        raise InvalidInput(f"candidate {candidate.number}: no memory `{target}` here", hint="`engram_search` finds ids")
    if candidate.supersedes:
        return _about(Action.SUPERSEDE, found[0], "as proposed", related)
    memory = found[0]
    if memory.type != candidate.type:
        raise InvalidInput(
            f"candidate {candidate.number}: `{target}` is a {memory.type}, not a {candidate.type}",
            hint="give its TYPE, or SUPERSEDES to replace it by another type",
        )
    if normalised(memory.text) == normalised(candidate.text) and not _says_more(candidate):
        return _about(Action.NOOP, memory, "says the same already")
    return _about(Action.UPDATE, memory, "as proposed", related)


def _says_more(candidate: Candidate) -> bool:
    """Whether a candidate with a known text changes something beside it."""
    fields = (candidate.triggers, candidate.tags, candidate.depends_on, candidate.role, candidate.variants)
    return (
        candidate.always or any(fields) or bool(candidate.valid_from or candidate.valid_until or candidate.confidence)
    )


def _doubt(candidate: Candidate, scored: Sequence[tuple[float, Known]], related: tuple[str, ...]) -> str:
    """Why an ADD should wait for an answer: a possible duplicate, or a dependency that is announced and not named."""
    if candidate.keep_both:
        return ""
    linked = {id.rpartition(":")[2] for id in (*candidate.depends_on, *candidate.parent)}
    for score, memory in scored:
        if score >= LIKELY and memory.id not in linked:
            return f"possible duplicate of {memory.id} ({score:.2f})"
    if _ANNOUNCES.search(candidate.text) and not candidate.depends_on and not candidate.parent and related:
        return f"announces a dependency, maybe on {related[0]}"
    return ""


_ANNOUNCES = re.compile(
    r"\b(?:depends? on|builds? (?:up)?on|requires? (?:the|that|step|rule)|prerequisites?|is a follow-?up (?:of|to)|"
    r"extends the)\b",
    re.IGNORECASE,
)


def _related(compared: Sequence[tuple[Known, frozenset[str], float]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(memory.id for memory, _, score in compared if score >= RELATED))[:MAX_RELATED]


def _without(ids: tuple[str, ...], id: str) -> tuple[str, ...]:
    return tuple(other for other in ids if other != id)


# -- comparing texts ---------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# Signs that are part of a name or turn a statement round: `C++`, `C#`, `===`, `>=`, `-5`.
_SAID = re.compile(r"[^\W_]+(?:['’][^\W_]+)?(?:\+\+|#)?|[=!<>]=+|=>|->|[<>]|(?<![\w.,])[-+](?=\d)")
_ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ies", "ied", "ers", "ed", "es", "er", "ly", "s", "e")


def normalised(text: str) -> str:
    """`text` for asking whether two say the same: no case, punctuation, list marks or white space. A text without words
    is what it is."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        # Vowel signs and tones of many scripts are marks, which expressions do not count among letters.
        folded = "".join(_letter(char) for char in folded)
    return " ".join(_SAID.findall(folded)) or " ".join(folded.split())


def _letter(char: str) -> str:
    """Marks as some letter each, so that they stay with their word and tell it from others."""
    return chr(0x20000 + ord(char) % 0xA6D0) if unicodedata.category(char) in ("Mn", "Mc") else char


def stems(text: str) -> frozenset[str]:
    """The words that carry meaning, without their commonest English endings; pairs for scripts without spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: set[str] = set()
    for run in terms.unspaced_runs(folded):
        found.update(terms.pairs(run))
        folded = folded.replace(run, " ")
    for word in _WORD.findall(folded):
        bare = re.sub(r"['’]s$", "", word)
        if bare not in STOP_WORDS or bare in _NEGATIONS:
            found.add(_stem(bare))
    return frozenset(found)


def _stem(word: str) -> str:
    if word.isascii() and len(word) > 4:
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word[: -len(ending)]
                break
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] else word


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    common = len(one & other)
    if common < min(LEAST_COMMON, len(one), len(other)) or not common:
        return 0.0
    return common / len(one | other)


def _contains(whole: frozenset[str], part: frozenset[str]) -> bool:
    return len(part) >= LEAST_CONTAINED and len(part & whole) >= CONTAINED * len(part)


# -- contradiction -----------------------------------------------------------------------------------------------------

_NEGATIONS = frozenset(
    "not never no don't dont doesn't doesnt won't can't cannot mustn't shouldn't isn't aren't without avoid stop "
    "forbid forbidden disallow disable disabled deny denied off false nunca jamais niemals никогда нельзя не "
    "нет без nicht kein keine keinen keinem não pas niet geen ikke không".split()
)
_OPPOSITES = (
    ("always", "never"),
    ("allow", "forbid"),
    ("allowed", "forbidden"),
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("on", "off"),
    ("true", "false"),
    ("before", "after"),
    ("required", "optional"),
    ("sync", "async"),
    ("synchronous", "asynchronous"),
    ("public", "private"),
    ("use", "avoid"),
    ("prefer", "avoid"),
    ("do", "don't"),
)
_NEGATED_SCRIPTS = re.compile(r"(?:しない|ません|禁止|ないで|ないこと|不要|不得|别|勿|못|지 ?마|하지 않)")
# How much of both texts must stand in the same order around a changed value.
_SAME_FRAME = 0.6
_LONGEST_VALUE = 3


def contradicts(known: str, candidate: str) -> str:
    """What the second text says against the first, or "": the polarity, a number, or a named value in the same
    place. For texts that are known to be about the same; where two places differ they are about two things."""
    before, after = _tokens(known), _tokens(candidate)
    if not before or not after:
        return ""
    turned = _turned_round(known, candidate, before, after)
    if turned:
        return turned
    changed = _changed_values(before, after)
    if len(changed) == 2 and changed[0] == changed[1][::-1]:
        return f"`{changed[0][0]}` and `{changed[0][1]}` have changed places"
    return f"`{changed[0][0]}` became `{changed[0][1]}`" if len(changed) == 1 else ""


def differs(one: str, other: str) -> bool:
    """Whether one text says something against the other, or the same of something else."""
    before, after = _tokens(one), _tokens(other)
    return bool(_turned_round(one, other, before, after) or _changed_values(before, after))


def is_sibling(one: str, other: str) -> bool:
    """Whether two texts say the same of two things: `orders listens on 9090`, `billing listens on 8080`."""
    return len(_changed_values(_tokens(one), _tokens(other))) > 1 and not contradicts(one, other)


def _turned_round(known: str, candidate: str, before: list[str], after: list[str]) -> str:
    one, other = set(before), set(after)
    for word, opposite in _OPPOSITES:
        for here, there in ((word, opposite), (opposite, word)):
            if here in one and here not in other and there in other and there not in one:
                return f"`{here}` became `{there}`"
    if _negated(before) & _affirmed(after) or _negated(after) & _affirmed(before):
        return "one says not to"
    if bool(_NEGATED_SCRIPTS.search(known)) != bool(_NEGATED_SCRIPTS.search(candidate)):
        return "one says not to"
    return ""


_TOKEN = re.compile(
    r"(?<![\w.,])[-+]?\d+(?:[.,:]\d+)*|[^\W\d_]+(?:'[^\W_]+)?(?:[._/-][^\W_]+)*(?:\+\+|#)?|[=!<>]=+|=>|->|[<>]|\d+"
)


def _tokens(text: str) -> list[str]:
    return [word.casefold() for word in _TOKEN.findall(unicodedata.normalize("NFKC", text).replace("’", "'"))]


def _negated(words: list[str]) -> set[str]:
    """Stems of the two words of meaning that follow each negation."""
    found: set[str] = set()
    for at, word in enumerate(words):
        if word in _NEGATIONS:
            following = [_stem(next_) for next_ in words[at + 1 : at + 6] if next_ not in STOP_WORDS]
            found.update(following[:2])
    return found


def _affirmed(words: list[str]) -> set[str]:
    return {_stem(word) for word in words if word not in STOP_WORDS} - _negated(words)


def _changed_values(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """`deploys go to fly` / `deploys go to aws`: the frame is the same, short pieces stand in place of others."""
    if not before or not after or len(before) > 400 or len(after) > 400:
        return []
    blocks = SequenceMatcher(None, before, after, autojunk=False)
    if blocks.ratio() < _SAME_FRAME:
        return []
    found = []
    for kind, i, j, k, m in blocks.get_opcodes():
        if kind != "replace" or j - i > _LONGEST_VALUE or m - k > _LONGEST_VALUE:
            continue
        old, new = before[i:j], after[k:m]
        if {_stem(word) for word in old} & {_stem(word) for word in new}:
            continue
        if all(word in STOP_WORDS for word in (*old, *new)):
            continue
        if (_is_value(old) and _is_value(new)) or (len(old) == len(new) == 1 and _are_names(old[0], new[0])):
            found.append((" ".join(old), " ".join(new)))
    return found


def _is_value(words: list[str]) -> bool:
    return any(char.isdigit() for word in words for char in word)


# Words that stand in for each other without changing what is meant.
_VERBS = frozenset(
    "use utilise utilize run execute call invoke create make write add put keep store save set choose pick select "
    "remove delete drop check verify ensure show display get fetch start begin stop end change update modify".split()
)


def _are_names(old: str, new: str) -> bool:
    """Whether two words are two things rather than two wordings of one."""
    if old in STOP_WORDS or new in STOP_WORDS or old in _VERBS or new in _VERBS:
        return False
    return _stem(old) != _stem(new)
