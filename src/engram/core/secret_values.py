"""Is a value a secret, or does it only stand for one: a sample, a variable, a word."""

from __future__ import annotations

import binascii
import re

_SAMPLES = (
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "your-",
    "your_",
    "xxxxx",
    "*****",
)
_MORE_SAMPLES = ("12345678", "abcdefgh", "0000000", "aaaaaaa", "insert-", "insert_", "replace", "dummy", "sample")
_STAND_IN = re.compile(
    r"\$\{|\$\(|\$\[|\$[A-Za-z_]\w*$|%[A-Za-z_]\w*%$|%\(|\{\{|\{[\w.]*\}?$|<|\[REDACTED|\*{3}|\.{3}|…|@\w+@$|!\w+$|ENC\["
    r"|(?:os|process|env|import\.meta|config|settings|secrets|self|this|ctx|cfg|opts|options|args|var|local|data|Deno|"
    r"vault|op|file|https?|ref\+\w+|ssm|arn|keychain|keyring|sha\d+|md5|urn|npm|git|pkg|uuid)(?:\.|:|\[|\()|\$2[aby]\$|\$argon2"
)


def is_sample(value: str) -> bool:
    """A value out of documentation: few different signs, or a word no random value would hold."""
    if len(set(value[:_JUDGED])) < (8 if len(value) >= 20 else 5):
        return True
    if len(value) > 400:
        return False
    lowered = value.lower()
    if any(sample in lowered for sample in _SAMPLES):
        return True
    return len(value) <= 80 and any(sample in lowered for sample in _MORE_SAMPLES)


def is_stand_in(value: str) -> bool:
    """A variable, a call, a mask, a reference: something that names a secret kept elsewhere."""
    return _STAND_IN.match(value) is not None or any(sample in value[:_JUDGED].lower() for sample in _SAMPLES)


_CALL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*+[(\[{]")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$")
_STRONG_SIGN = re.compile(r"[!@#$%^&*+=?~]")
_NOT_WORDS = re.compile(r"[^A-Za-z0-9]+")
_WORD = re.compile(r"(?:(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,}+)++\d{0,4}|v?\d{1,4}|[A-Za-z])")
_COMMON_BASE = re.compile(
    r"(?:test|pass|password|passwd|secret|example|demo|foo|bar|baz|dummy|fake|sample|admin|user|sha|md|base|utf|argon|"
    r"bcrypt|pbkdf|scrypt|oauth|http|field|input|value|form|string|str|text|param|arg|var|token|key|type|line|step|column|"
    r"version|level|item|part|row|col|page|ipv|win|python|node|es|web|db|aes|rsa)\d{1,4}$",
    re.IGNORECASE,
)
_PRINTABLE = re.compile(r"[!-~]+$")
_BLANK = re.compile(r"\s")
# So many signs tell; the span of the finding still covers the whole value.
_JUDGED = 128


def is_secret_value(value: str, kind: str, *, bare: bool, in_code: bool) -> bool:
    if len(value) < 6 or is_stand_in(value) or (not bare and _BLANK.search(value)):
        return False
    if is_sample(value) or (bare and _CALL.match(value)):
        return False
    value = value[:_JUDGED]
    if _UUID.match(value):
        return kind.endswith(("secret", "password")) or "-" in kind
    if not _PRINTABLE.match(value):
        return kind.endswith("password") and len(value) >= 8 and any(map(str.isdigit, value))
    if is_random(value):
        return True
    if kind.endswith(("password", "secret", "secret-key")):
        return _is_password(value, literal=not bare or not in_code)
    return False


def is_random(value: str) -> bool:
    """At least 16 signs that nobody would have typed as words."""
    if len(value) < 16:
        return False
    value = value[:_JUDGED]
    digits = sum(map(str.isdigit, value))
    if len(set(value)) < 8 or digits == len(value) or (digits < 2 and len(value) < 24):
        return False
    return _share_of_words(value) < 0.5


def _is_password(value: str, *, literal: bool) -> bool:
    """Shorter than a key, yet more than a word: digits or signs among the letters."""
    if not any(map(str.isalpha, value)):
        return False
    strong = len(_STRONG_SIGN.findall(value))
    digits = sum(map(str.isdigit, value))
    if value.endswith("(") or "(" in value[:-1] or "://" in value or value[0] in "/.-~":
        return strong >= 1 and digits >= 1 and len(value) >= 10
    cases = any(map(str.islower, value)) + any(map(str.isupper, value))
    if strong and digits and len(value) >= 8:
        return True
    if strong and cases == 2 and len(value) >= 10 and literal:
        return True
    if not digits or not literal or not value.isalnum():
        return digits >= 2 and cases == 2 and len(value) >= 10 and _share_of_words(value) < 0.5
    return _COMMON_BASE.match(value) is None


def _share_of_words(value: str) -> float:
    """Which part of the letters and digits stands in words, short numbers and camel case."""
    parts = [part for part in _NOT_WORDS.split(value) if part]
    total = sum(map(len, parts))
    return sum(len(part) for part in parts if _WORD.fullmatch(part)) / total if total else 1.0


def before_mark(text: str, start: int, end: int) -> int:
    """Where the value ends when something in it has been redacted already."""
    mark = text.find("[REDACTED", start, end)
    return end if mark < 0 else mark


def decoded(value: str, *, shortest: int) -> str:
    """The readable text behind base64, or nothing."""
    body = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = binascii.a2b_base64(body + "=" * (-len(body) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""
    return plain if len(plain) >= shortest and plain.replace("\n", "").replace("\r", "").isprintable() else ""
