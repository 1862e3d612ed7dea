"""Tell rules, procedures and facts apart by their wording, and name them in a few words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engram.core.guidance_blocks import COMMAND, LINK, LISTED, TAG, Block
from engram.core.text import cut

MAX_TITLE = 80
MAX_TRIGGERS = 6

_REFERS_BACK = re.compile(
    r"(?:it|this|these|those|that|they|then|also|otherwise|where|additionally|instead|however|in (?:this|that) case|"
    r"for example|e\.g\.|examples?:)(?![\w-])",
    re.IGNORECASE,
)
_STEPS_NAMED = re.compile(
    r"\b(?:steps?|procedures?|how to|workflows?|process|releas\w+|deploy\w*|set ?up|install\w*|checklist|recipe|"
    r"getting started|quick ?start|as follows|adding|creating|running)\b|流程|步骤|手順",
    re.IGNORECASE,
)
_STEPS_FOLLOW = re.compile(r"\b(?:as follows|steps)\b", re.IGNORECASE)
_STEP = re.compile(
    r"(?:run|create|add|open|update|install|build|commit|push|pull|tag|check|verify|edit|copy|deploy|start|stop|write|"
    r"go to|generate|click|set|clone|configure|implement|test|review|merge|bump|publish|register|define|wait|ask|read|"
    r"find|fix|select|import|make|move|remove|replace|call|use|if|once|when|after|then|first|finally|"
    r"only (?:if|when))\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"\b(?:the|and|with|for|from|of|via|in)\b")
_MODAL = re.compile(
    r"\b(?:always|never|must|mustn['’]t|should|shouldn['’]t|shall|do not|don['’]t|cannot|preferred|avoid|required|"
    r"forbidden|mandatory|prohibited|not allowed|ensure|make sure|instead of|rather than|maximum|at (?:least|most)|"
    r"siempre|nunca|debes?|deben|evita[r]?|toujours|jamais|doit|doivent|ne pas|immer|niemals|muss|müssen|vermeiden?|"
    r"sempre|deve|evitare?|всегда|никогда|нельзя|должн\w+|обязательно)\b|必须|必須|必ず|禁止|不要|不得|应该|應該|避免|始终|"
    r"优先|务必|遵循|しない|べき|てください|반드시|금지|항상|마세요",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"(?:(?:when|if|for|before|after|once|in)\b[^,.]{1,120},\s+)?(?:please\s+)?"
    r"(?:use|prefer|keep|follow|do|make|put|write|include|exclude|document|treat|ensure|place|return|handle|only|no|"
    r"consider|limit|mention|remember|respect|wrap|break|be|think|stay|minimi[sz]e|check|verify|add|update|favou?r|"
    r"implement|leave|try|ask|stop|delete|read|run|validate|define|provide|reuse|match|aim|conform|cover|mirror|report|cite|split|suggest|give|value|apply|install|wait|trust|catch|build|"
    r"usa|nutze|verwende|utilise[rz]?|"
    r"используй\w*)\b|使用|保持",
    re.IGNORECASE,
)
_EMPHATIC = re.compile(r"(?:always|never|do not|don['’]t)\b", re.IGNORECASE)
_RULES_NAMED = re.compile(
    r"\b(?:rules?|guidelines?|conventions?|principles?|standards?|practices|constraints|requirements|style|"
    r"dos? and don['’]?ts)\b|规范|規範|规则|原则|要求|規約|ルール",
    re.IGNORECASE,
)
_FILLER = frozenset(
    "the and for with from that this into your our how all any are not use using when what why where of in on to a an "
    "do be is by or it before after must should also each general overview notes note guide guidelines guideline "
    "instructions project rules rule important key claude agents agent cursor copilot readme github file files md code "
    "standards conventions best practices additional other about introduction common".split()
)


def is_procedure(block: Block, about: str) -> bool:
    """Whether the items of a list are steps or commands rather than rules or facts."""
    texts = [LISTED.sub("", item.text, count=1).lstrip("*_ ") for item in block.inside]
    steps = sum(bool(_STEP.match(text)) for text in texts)
    rules = sum(bool(_MODAL.search(text)) for text in texts)
    if block.kind == "bullets":
        commands = sum(bool(COMMAND.search(text[:200].split("\n", 1)[0])) for text in texts)
        are_steps = _STEPS_FOLLOW.search(about) and steps * 2 >= len(texts)
        return bool(are_steps) or (commands * 3 >= len(texts) * 2 and rules * 2 <= len(texts))
    if _STEPS_NAMED.search(about):
        return True
    if _RULES_NAMED.search(about) or rules * 2 >= len(texts):
        return False
    return steps * 3 >= len(texts) if _ENGLISH.search(block.text) else True


def type_of(blocks: Sequence[Block], about: str) -> str:
    """rule, skill or knowledge, by what most of the text is; a third in the wording of rules makes rules.

    `about` is what the text stands under; below a heading that speaks of rules, every item is one.
    """
    skill = rule = fact = 0
    announced, are_rules = about, bool(_RULES_NAMED.search(about))
    for block in blocks:
        size = len(block.text)
        if block.kind == "code":
            skill += 2 * size * block.shell
        elif block.kind in ("bullets", "numbers") and is_procedure(block, announced):
            skill += size
        elif block.kind in ("bullets", "numbers", "item"):
            for item in block.inside if block.kind != "item" else (block,):
                if are_rules or _is_rule(item.text):
                    rule += len(item.text)
                else:
                    fact += len(item.text)
        elif block.kind != "heading":
            for each in _sentences(block.text):
                if _MODAL.search(each) or _IMPERATIVE.match(each):
                    rule += len(each) * (3 if _EMPHATIC.match(each) else 1)
                elif each[-1:] not in ":：":
                    fact += len(each)
        announced = f"{about} {block.text}" if block.kind == "prose" and size < 200 else about
    if skill and skill >= rule + fact:
        return "skill"
    return "rule" if rule and rule * 3 >= rule + fact else "knowledge"


def leans(block: Block) -> bool:
    """Whether `block` needs what stands before it: code, a table, or words that refer back."""
    text = LISTED.sub("", block.text, count=1).lstrip(" *_`") if block.kind in ("prose", "item") else ""
    return block.kind in ("code", "table") or bool(_REFERS_BACK.match(text)) or text[:1].islower()


def _is_rule(text: str) -> bool:
    return any(_MODAL.search(each) or _IMPERATIVE.match(each) for each in _sentences(text))


def _sentences(text: str) -> list[str]:
    parts = re.split(r"\n|(?<=[.!?:;])[*_]{0,3}\s|(?<=[。！？；])", text)
    return [each for part in parts if (each := part.lstrip(" \t*_`>#-+"))]


def plain(text: str) -> str:
    """`text` on one line without the marks of Markdown, numbering, and symbols before the first word."""
    text = LISTED.sub("", re.sub(r"^\s*#+|\s#+\s*$|\n\s*[=-]+\s*$", "", text), count=1)
    text = LINK.sub(r"\1", re.sub(rf"`([^`]*)`|{TAG}|\*+|\|", lambda mark: mark[1] or "", text))
    text = " ".join(text.split())
    return re.sub(r"^(?:\d+(?:\.\d+)*[.)]?\s+|[^\w(<\"'@/.$-]+)+", "", text).rstrip(" :：")


def lead_in(text: str) -> str:
    """The first sentence of a passage, or the first line of its code that is no comment."""
    is_code = text.lstrip().startswith(("```", "~~~"))
    marks = ("```", "~~~", "#") if is_code else ("```", "~~~")
    lines = [re.sub(r"\s{2,}#.*", "", line) for line in text[:400].split("\n") if not line.lstrip().startswith(marks)]
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    end = next(
        (at for at in range(first + 1, len(lines)) if is_code or not lines[at].strip() or LISTED.match(lines[at])),
        len(lines),
    )
    first_line = plain(" ".join(lines[first:end]))
    return re.split(r"(?<=[.?])\s|(?<=!)\s(?![a-z])|(?<=[。！？])", first_line)[0].rstrip(".:： ")


def name_for(path: tuple[str, ...], label: str, text: str, *, whole: bool, taken: dict[str, int]) -> str:
    """Nearest heading, then the label of the list, then the first words: as much as tells this passage from others.

    `taken` holds the titles so far, with the number that was last put behind each.
    """
    base = path[-1] if path else ""
    if len(path) > 1 and len(base.split()) < 3 and len(path[-2]) + len(base) < 60:
        base = f"{path[-2]}: {base}"
    parts = [part for part in (base, label if len(label) <= 40 else "") if part]
    words = lead_in(text) or text[:MAX_TITLE]
    brief = [_shortened(_without_aside(part), MAX_TITLE // 2) for part in parts if not words.startswith(part)]
    says_enough = whole and len(" ".join(parts).split()) > 1 and not _FILLER.issuperset(base.lower().split())
    for tried in (parts if says_enough else [], [*brief, words]):
        title = _shortened(" ".join(": ".join(tried).split()), MAX_TITLE)
        if title and title not in taken:
            return title
    title = _shortened(title, MAX_TITLE - 8)
    number = taken.get(title, 1) + 1
    while f"{title} ({number})" in taken:
        number += 1
    taken[title] = number
    return f"{title} ({number})"


def _without_aside(name: str) -> str:
    return re.sub(r"\s\([^()]*\)$", "", name)


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    short = cut(text, limit - 1)
    return (short[: short.rfind(" ")] if short.rfind(" ") > limit // 2 else short).rstrip(" ,;:(") + "…"


def triggers_from(sources: Sequence[str]) -> tuple[str, ...]:
    """Headings of up to three words as they are, then single words, nearest heading first."""
    names = [re.sub(r"\b[\w-]+\.mdc?\b", "", source.lower()).strip(" -–—:") for source in sources]
    phrases = [
        name
        for name in map(_without_aside, names)
        if 1 < len(name.split()) < 4 and not _FILLER.issuperset(name.split())
    ]
    words = [word for name in names for word in re.findall(r"[^\W_][\w.+#-]*[\w+#]", name) if word not in _FILLER]
    return tuple(dict.fromkeys([*phrases, *(word for word in words if len(word) > 1)]))[:MAX_TRIGGERS]
