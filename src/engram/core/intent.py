"""What kind of task a request is: whole words only, and never more than a weight."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNKNOWN = "unknown"

# Words that announce a kind of task; a phrase counts twice. Order breaks ties.
_SIGNS: dict[str, str] = {
    "bug": "bug|bugs|bugfix|fix|fixes|fixing|broken|crash|crashes|error|errors|exception|traceback|fails|failing|"
    "failure|regression|wrong|debug|debugging|stack trace|does not work|doesn't work|hangs|leak",
    "feature": "add|adding|implement|implementing|feature|build|create|introduce|support|new endpoint|new page",
    "refactor": "refactor|refactoring|rename|extract|clean up|cleanup|simplify|restructure|move|split|deduplicate|tidy",
    "test": "test|tests|testing|pytest|jest|vitest|coverage|fixture|fixtures|mock|mocks|e2e|unit test|integration test",
    "docs": "docs|document|documentation|readme|changelog|docstring|comment|comments|guide|tutorial|explain",
    "release": "release|releasing|publish|version|tag|ship|shipping|deploy|deploys|deployment|rollout|rollback|hotfix",
    "review": "review|reviewing|pull request|merge request|pr|audit|approve|feedback",
    "security": "security|vulnerability|cve|auth|authentication|authorization|permission|permissions|secret|"
    "secrets|token|tokens|xss|csrf|injection|encrypt|encryption",
    "performance": "performance|slow|faster|latency|optimise|optimize|optimisation|optimization|profile|profiling|"
    "cache|caching|memory usage|n+1|throughput",
    "database": "database|migration|migrations|schema|sql|query|queries|index|postgres|postgresql|mysql|sqlite|table",
    "dependencies": "dependency|dependencies|upgrade|upgrading|bump|package|packages|install|installs|lockfile|npm|"
    "pnpm|yarn|pip|poetry|cargo",
    "ci": "ci|pipeline|pipelines|workflow|github actions|build fails|runner|lint|linter|pre-commit",
    "design": "design|architecture|adr|decide|decision|trade-off|tradeoff|proposal|plan|planning|rfc",
    "ui": "ui|ux|css|component|components|layout|button|page|screen|style|styles|responsive|frontend|accessibility",
    "api": "api|endpoint|endpoints|rest|graphql|grpc|route|routes|webhook|openapi",
    "config": "config|configuration|setting|settings|environment variable|env|flag|flags|dotenv",
    "research": "research|investigate|compare|evaluate|benchmark|find out|why does|how does",
}
_PATTERNS = {
    kind: re.compile(r"(?<![\w-])(?:" + "|".join(re.escape(sign) for sign in signs.split("|")) + r")(?![\w-])", re.I)
    for kind, signs in _SIGNS.items()
}
_EXPLICIT = re.compile(r"\btask(?:[ _-]type)?\s*:\s*([a-z]+)\b", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """`kind` is the kind of task or `unknown`; `confidence` from 0 to 1; `signs` the words that said so."""

    kind: str
    confidence: float
    signs: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.kind != UNKNOWN


def kinds() -> tuple[str, ...]:
    return tuple(_SIGNS)


def read_intent(text: str) -> Intent:
    """The kind of task that `text` asks for. `task: docs` says it outright."""
    explicit = _EXPLICIT.search(text)
    if explicit and explicit.group(1).lower() in _SIGNS:
        return Intent(kind=explicit.group(1).lower(), confidence=1.0, signs=(explicit.group().lower(),))
    scores: dict[str, float] = {}
    signs: dict[str, list[str]] = {}
    for kind, pattern in _PATTERNS.items():
        found = list(dict.fromkeys(match.group().lower() for match in pattern.finditer(text[:4000])))
        if found:
            scores[kind] = sum(2.0 if " " in sign else 1.0 for sign in found)
            signs[kind] = found
    if not scores:
        return Intent(kind=UNKNOWN, confidence=0.0)
    best = max(scores, key=lambda kind: scores[kind])
    share = scores[best] / sum(scores.values())
    return Intent(
        kind=best, confidence=round(min(1.0, share * (0.5 + 0.25 * scores[best])), 2), signs=tuple(signs[best])
    )
