r"""Find sentences that turn their reader against what it was told: to override, to become another, to leak, to conceal.

Text comes in as `disguise` shows it, case folded, with `\r` for a line break inside a paragraph. In the expressions
here a blank stands for any space or such a break; sets of characters therefore spell theirs as `\x20`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from engram.core.foreign_orders import FOREIGN_OVERRIDES, gap


def find_orders(text: str) -> Iterator[tuple[str, int]]:
    """Kind and place of every such sentence."""
    yield from _overrides(text)
    for kind, hints, pattern in _SENTENCES:
        if any(hint in text for hint in hints.split()):
            for match in _expression(pattern).finditer(text):
                if match.lastgroup is None or _LEADS[match.lastgroup].fullmatch(_lead(text, match.start())):
                    yield kind, match.start()
    for verbs, nouns, pattern in FOREIGN_OVERRIDES:
        if any(verb in text for verb in verbs.split()) and any(noun in text for noun in nouns.split()):
            yield from (("override", match.start()) for match in _expression(pattern).finditer(text))


def _lead(text: str, at: int) -> str:
    """What stands before `at` in its sentence."""
    return re.split(r"[.!?;:,|\n\r]", text[max(0, at - 80) : at])[-1]


def _any(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


def _words(text: str) -> str:
    return _any(*text.split())


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    """Compiled at first need: together they cost more than a short command takes."""
    return re.compile(pattern.replace(" ", r"(?:[\x20\r]{1,9})"))


def _either(*alternatives: str) -> str:
    return "|".join(alternatives)


# A clause ends here: "ignore all rules." gives an order, "ignore all rules of the parser" is about something else.
_END = (
    r"(?=[\x20\t\"'`*)\]]{0,4}+(?:[.!?;:,|<({\[\n–—]|\r+(?!(?:in|of|for|from|that|which|when|if|on|with|to|about)\b)"
    r"|(?:and|then|now|instead|but|because|completely|entirely|as|you|please|since|or|from now|immediately)\b))"
)

# --- Override --------------------------------------------------------------------------------------------------------

_VERB = _either(
    r"\b(?:(?P<weak>(?:skip|neglect|discard|dismiss|drop|erase|abandon|disable|deactivate|supersedes?|overrides"
    r"|takes? (?:precedence|priority) over|set aside|throw away|turn off)\b)|(?P<override>(?:override|bypass)\b)"
    r"|(?:ignore|disregard|forget|(?:start|begin|by|be|keep) (?:ignoring|disregarding|forgetting)"
    r"|pay no (?:attention|heed) to|(?:do not|don['’]?t|never|no longer|stop|quit|cease|refuse to)"
    r" (?:follow|obey|listen(?:ing)? to|comply(?:ing)? with|adher(?:e|ing) to|respect|following|obeying))\b)"
)
_NEGATED = re.compile(r"(?:\b(?:never|not|cannot|nor)|n['’]t)[^\w\n.!?;]{1,3}$")
_REVOKED = (
    r"\b(?:all|any|your|the|these) (?:of )?(?:your )?(?:previous|prior|above|earlier|preceding|original) (?:\w{1,20} )?"
    r"(?:instructions|prompts|rules|guidelines|directives) (?:(?:are|were|is|have been) (?:now |hereby |all )?"
    r"(?:void|null|cancell?ed|revoked|rescinded|lifted|suspended|overridden|a mistake|a test|no longer valid)"
    r"|no longer apply)\b"
    r"|\binstead of (?:following|obeying) your (?:\w{1,20} )?(?:instructions|guidelines|rules)\b"
)
_NEAR = 16  # two verbs closer than this have one object; the later one decides
_OBJECT_HINTS = (
    "instruction prompt rule guid direct before above prior previous earlier far now know said told taught given came "
    "train program safe context message polic restrict limit ethic filter persona identity"
).split()
_BEFORE = r"(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing)\b"
_TOLD = r"(?:instructions|prompts|directives|directions|guidelines|guidance)\b"
_RULED = _words(
    "rules messages? context commands? text conversations? policy policies training constraints restrictions "
    "orders content"
)
_OWN = _words(
    "own previous prior earlier original initial current existing default core internal ethical moral safety security "
    "content system developer built-in programmed hidden strict usual normal old other and all"
)
_MINE = r"(?:instructions|guidelines|directives|programming|safeguards|guardrails)\b"
_MINE_TOO = _words("training restrictions limitations rules policies ethics filters persona identity") + r"\b"
_GIVEN = r"(?:(?:that|which) )?you (?:were|have|had|got|received|are|was)\b"
_SET_BEFORE = _any(
    "above|so far|(?:up to|until) (?:now|this point)|before (?:this|that)",
    "(?:given|issued) (?:to you )?(?:above|before|earlier|previously)",
    "from (?:the |your )?(?:system|developers?|creators?|openai|anthropic)|in (?:the|your) system (?:prompt|message)",
)
_SAID_BEFORE = _any(
    "above|before(?: this)?|previously|prior|earlier|so far|until now|up to (?:now|this point)|you know",
    "(?:was|been|is) (?:said|told|instructed)|i (?:said|told you)|came before",
)
# What no project has for itself; any verb will do.
_GRAVE = _either(
    r"(?: (?:all|any|every|each|the|those|these|my|of|other|such|and|your)){0,4}?"
    + _any(
        rf" {_BEFORE}{gap(2)}{_TOLD}",
        rf" your(?: {_OWN}\b){{0,3}} (?:{_MINE}|(?:system|initial|original|developer) (?:prompt|message)\b)",
    )
)
_OBJECT = _either(
    gap(6)
    + _any(
        rf"{_BEFORE}{gap(2)}(?:{_TOLD}|(?:instruction|prompt|directive)\b|{_RULED}\b{_END})",
        rf"(?:all|any|every|each)\b{gap(2)}(?:instructions|guidelines|rules|restrictions)\b{_END}",
        rf"(?:{_TOLD}|prompt\b|{_RULED}\b){gap(2)}(?:{_GIVEN}|{_SET_BEFORE}{_END})",
        rf"(?:everything|all|anything|whatever|what)\b{gap(3)}"
        rf"(?:{_SAID_BEFORE}{_END}|you (?:were|have been|had been) (?:told|taught|given|instructed)\b)",
    )
)
_SYSTEM = _either(
    rf"{gap(4)}your(?: {_OWN}\b){{0,3}} {_MINE_TOO}",
    rf"{gap(2)}(?:system|developer|safety|ethical) (?:prompt|message|{_TOLD}|guardrails|protocols)\b{_END}",
)


def _overrides(text: str) -> Iterator[tuple[str, int]]:
    if not any(hint in text for hint in _OBJECT_HINTS):
        return
    verbs = [
        verb
        for verb in _expression(_VERB).finditer(text)
        if not _NEGATED.search(text, max(0, verb.start() - 14), verb.start())
    ]
    for verb, following in pairwise([*verbs, None]):
        if verb is None or (following is not None and following.start() - verb.end() < _NEAR):
            continue
        after = verb.end()
        is_order = _expression(_GRAVE).match(text, after) is not None
        if not is_order and not verb["weak"]:
            objects = (_SYSTEM,) if verb["override"] else (_SYSTEM, _OBJECT)
            is_order = any(_expression(pattern).match(text, after) for pattern in objects)
        if is_order:
            yield "override", verb.start()


# --- Other sentences -------------------------------------------------------------------------------------------------

_POLITE = (
    r"(?:\W|\b(?:please|then|and|now|just|first|also|next|finally|to|you|must|should|can|could|would|will|always"
    r"|kindly|quietly|silently|assistant|ai|agents?|model|the|or|a|your)\b)*+"
)
_DO = _words(
    "do run delete remove send push merge commit execute install change add use edit write upload copy make apply read "
    "fetch open create post call perform disable approve accept force proceed continue store save modify replace grant"
)
_LEADS = {
    "first": re.compile(_POLITE),  # the sentence begins here: "we print the system prompt" only reports
    "ordered": re.compile(rf"{_POLITE}{_DO}\b.*", re.DOTALL),  # "the job ends without telling the user" only reports
}
_AI = r"(?:ai|a\.i|llm|language model|assistant|chatbot|chatgpt|gpt|claude|bot)\b"
_FREE = r"(?:unrestricted|uncensored|unfiltered|unlimited|jailbroken|amoral|unethical|evil|rogue|dan)\b"
_MODE = rf"(?:developer|god|dan|jailbreak|admin|root|{_FREE}) mode\b"
_FEW = r"(?:[^\w\n.!?;]\w{1,20}){0,4}?"
_ONE = r"(?:an? |the |my )?(?:\w{1,20} )?"
_IDENTITY = _either(
    rf"\byou(?: are|['’]re) now\b{gap(3)}(?:{_AI}|{_FREE}|{_MODE}|free (?:of|from)\b|no longer\b|not bound\b)",
    rf"\byou are (?:an? )?{_FREE}|\byou are (?:no longer|not) (?:an? )?(?:bound|restricted|limited|constrained|{_AI})",
    rf"\b(?:act|behave|respond|answer|role-?play|play) (?:as|like) (?:if you (?:are|were) )?{_ONE}"
    rf"(?:{_FREE}|{_MODE}|{_AI} (?:without|with no|that|who)\b|(?:{_AI}|system\b){_END})",
    rf"\b(?:pretend|imagine|simulate|assume) (?:that )?(?:to be|you are|you['’]re|being) {_ONE}"
    rf"(?:{_FREE}|{_AI}|system\b|not |no longer|free\b)",
    rf"\bpretend (?:that )?you(?: are|['’]re) {_ONE}(?:admin\w{{0,10}}|root|developer|human|user|owner)\b",
    r"\byou (?:have|are under|are bound by) no (?:more )?(?:ethical|moral|content|safety|guidelines|guardrails)\b",
    rf"\byou (?:have|are under|are bound by) no (?:more )?(?:restrictions|rules|filters){_END}",
    r"\b(?:from now on|henceforth|from this (?:point|moment)(?: on| forward| onwards?)?|starting now|going forward)"
    rf"{gap(3)}(?:you (?:(?:must|will|shall|have to|are to|should|only|always|can) ){{0,3}}"
    r"(?:obey|answer|respond|reply|comply|behave|speak|ignore|disregard|serve|act as|call me|take orders"
    r"|do (?:anything|whatever|as i)|follow (?:only )?(?:my|these))|you are (?:an?|the|no longer|free)"
    r"|your (?:name|role|identity) is|obey (?:me|my|only))\b",
    r"\b(?:obey|comply with) (?:me\b|(?:all (?:of )?)?my\b|(?:every|all|the following) (?:orders?|commands?)\b)",
    r"\byour (?:new|updated|revised|real|true|actual|only|secret|hidden) (?:system )?(?:instructions?|directives?"
    r"|orders|purpose|identity|persona|prompt|objective|mission|rules) (?:is|are|will be)\b",
    r"\byour (?:real|true|actual|only|secret|hidden) (?:goal|task|role|name) (?:is|are|will be)\b",
    r"\byour new (?:role|task|goal|name|job) is to\b",
    r"\byou are (?:an? )?\w{1,20} with(?:out| no)(?: any)? (?:restrictions|limits|limitations|filters|rules)\b",
    r"\b(?:new|updated|revised|real) (?:system |assistant )?(?:instructions?|prompt|directives?|orders) ?:\W{0,4}"
    r"(?:you|ignore|disregard|forget|obey|reveal|the (?:assistant|ai|agent|model))\b",
    rf"\b(?:enter|enable|activate|switch (?:in)?to|engage) (?:dan|jailbreak|god|{_FREE}) mode\b|\bdo anything now\b",
    rf"\b(?:answer|respond|reply|comply){_FEW} without (?:any )?(?:restrictions|filters|limitations|censorship"
    r"|guardrails|safety|moral|ethical|refus)",
)

_SECRET = _any(
    r"(?:(?:api|access|secret|private|ssh|signing) )?keys|id_rsa|tokens|secrets|credentials|passwords|\.?env|cookies",
    r"env(?:ironment)? (?:files?|variables|vars)|(?:conversation|chat)(?: history| log)?|(?:system )?prompt",
    r"private key|memory|memories|source code|codebase|transcripts?",
)
_SEND = _words("send post upload transmit forward exfiltrate leak e-?mail submit copy paste append deliver ship encode")
_TELL = _any(_words("reveal print output repeat show display leak dump expose disclose recite"), "(?:tell|give) me")
_KEPT = r"(?:system (?:prompt|message|instructions)|hidden (?:prompt|instructions)|initial (?:prompt|instructions))"
_BETWEEN = r"(?:[^\w\n!?;]{1,4}+[\w'’]{1,20}+)"
# What may follow the object: "upload the source code to", not "upload source code coverage to".
_LINK = r"(?=[^\w\n]{0,4}(?:to|into|at|via|in|on|and|or|from|of|you|with|as|by|so|found|stored|files?|using|over)\b)"
_LEAK = _either(
    rf"\b{_SEND}\b{_BETWEEN}{{0,5}}?[^\w\n!?;.]{{1,4}}{_SECRET}\b{_LINK}{_BETWEEN}{{0,6}}?[^\w\n!?;]{{1,4}}"
    r"(?:(?:https?|ftp)://|attackers?\b|(?:a|this|the|my) webhook\b|[\w.+-]{1,40}@\w)",
    rf"\bexfiltrate{_FEW} {_SECRET}\b",
    r"\b(?:send|give|show|tell|e-?mail) me (?:all )?(?:of )?your (?:\w{1,10} )?"
    r"(?:keys|tokens|secrets|credentials|passwords)\b",
    rf"\b{_TELL}(?: (?:me|us|out|back|all|of|verbatim|exactly|the|contents?|full|text|to)\b){{0,6}}"
    r" your (?:[\w-]{1,20} ){0,2}?(?:system prompt|system message|instructions|initial prompt|prompt|guidelines)\b"
    rf"(?:{_END}| (?:verbatim|word|to)\b)",
    rf"(?P<first>\b{_TELL}{_FEW} (?:the|its) (?:\w{{1,20}} ){{0,2}}?{_KEPT}(?:{_END}| (?:verbatim|word|to)\b)"
    r"|\b(?:repeat|output|print|recite) (?:everything|all|the (?:text|words|instructions)) (?:\w{1,20} )?above"
    rf"(?: this (?:line|message|point))?{_END})",
)
_STORES = r"[~/\w.$-]{0,40}(?:\.env\b|id_rsa|id_ed25519|\.ssh\b|\.aws\b|\.npmrc|credentials\b)"
_STEAL = _either(
    rf"\b(?:curl|wget|nc|ncat)\b[^\n\r|]{{0,80}}?(?:@|\$\((?:cat|base64) |`cat |< ?){_STORES}",
    rf"\b(?:cat|base64|tar)(?: [\w-]{{1,10}}){{0,3}} {_STORES}[^\n\r]{{0,60}}?\| ?(?:curl|wget|nc|ncat)\b",
    r"!\[[^\]\n]{0,80}\]\(https?://[^)\s=]{1,120}=[{<\[(%$]{1,3}[\w\x20]{0,20}"
    r"(?:conversation|secret|api_?key|token|prompt|history|data|env)",
)

_PERSON = r"(?:(?:the |your |any )?(?:user|human|person|operator|owner|developer|reviewer|anyone|anybody|them)s?)\b"
_NEVER = r"\b(?:do not|don['’]?t|never|must not|should not|shall not|avoid|refrain from) (?:ever )?"
_CONCEAL = _either(
    rf"{_NEVER}(?:tell|inform|alert|notify)(?:ing)? {_PERSON}"
    rf"(?: (?:about|of) (?:this|that|these|it|what you)\b|{_END})",
    rf"{_NEVER}(?:mention|reveal|disclose|show)(?:ing)? (?:any of )?(?:this|these|that|it|them)(?: \w{{1,20}})?"
    rf" (?:to {_PERSON}{_END}|in your (?:answer|reply|response))",
    rf"{_NEVER}let {_PERSON} (?:know|see|notice|find out)(?: (?:about )?(?:this|that|what you)\b|{_END})",
    rf"\b(?:keep|hide|conceal) (?:this|that|it|these|them|your (?:actions|instructions)){_FEW} from {_PERSON}{_END}",
    r"\bkeep (?:this|it) (?:a secret|between us)\b",
    r"\bsecretly (?:add|send|insert|copy|run|install|upload|delete|push|include|commit|change|store|forward)\b",
    rf"\b(?:make sure|ensure) (?:that )?{_PERSON} (?:does not|doesn['’]t|never|do not|don['’]t)"
    rf" (?:know|find out|notice|learn)s?(?: (?:about )?(?:this|that)\b|{_END})",
    rf"\b{_PERSON} (?:must|should|may) not (?:know|learn|find out) (?:about|of) (?:this|that)\b",
    rf"(?P<ordered>\bwithout (?:{_PERSON}(?:['’]s)? (?:knowing|noticing|knowledge|consent|being (?:aware|told))"
    rf"|(?:telling|informing|notifying|alerting) {_PERSON}){_END})",
)
# Kind, what a text must hold to be searched at all, and the expression; a named match depends on what leads to it.
_SENTENCES = (
    ("override", "instructions prompts rules guidelines directives", _REVOKED),
    (
        "new-identity",
        "you act play respon answer reply obey comply mode now pretend instruct directive prompt",
        _IDENTITY,
    ),
    (
        "exfiltration",
        "http ftp exfiltrate @ keys tokens secrets credentials passwords webhook attacker prompt instructions "
        "guidelines above message",
        _LEAK,
    ),
    ("exfiltration", ".env id_rsa id_ed25519 .ssh .aws .npmrc credentials ](http", _STEAL),
    (
        "concealment",
        "tell inform alert notif mention reveal disclose show let keep hide conceal without secretly know "
        "find notice learn",
        _CONCEAL,
    ),
)
