"""Secrets that their name announces: `API_KEY=…`, `"password": "…"`, `--token …`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from engram.core.secret_formats import Span
from engram.core.secret_values import before_mark, is_secret_value

_KEYWORDS = ("key", "secret", "token", "passw", "pwd", "pass", "credential", "auth", "pw")
# A name, its closing quote, and what stands between it and the value. The value is not part of the match, so that the
# next name may stand inside it: `set: API_KEY=…`.
_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?P<name>[A-Za-z_][A-Za-z0-9_.-]{1,79}+)(?P<quote>\\{0,3}[\"'`])?\]?\*{0,3}[ \t]{0,8}"
    r"(?P<sign>=>|:=|={1,3}|:|\|(?=[ \t])|,(?=[ \t]{0,4}\\{0,3}[\"'`])|>(?=[^\s<>=])"
    r"|is:?[ \t]|[ \t](?=\S))\*{0,3}[ \t]{0,8}"
)
_ANNOTATION = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\]|<> ]{0,40}=[ \t]{0,4}")
_VALUE = re.compile(
    r"\\{0,3}\"(?P<double>[^\"\n]{1,8192})|\\{0,3}'(?P<single>[^'\n]{1,8192})|\\{0,3}`(?P<back>[^`\n]{1,8192})"
    r"|(?P<bare>[^\s\"'`<>\\]{1,256})"
)
_LONGEST_BARE = 256  # enough to judge; the rest is taken along once it is found to be a secret
_REST_OF_BARE = re.compile(r"[^\s\"'`<>\\]*+")
_PAIR = re.compile(
    r"\b(?:key|name)\\{0,2}[\"']?[ \t]{0,4}[=:][ \t]{0,4}\\{0,2}[\"']?(?P<name>[A-Za-z_][A-Za-z0-9_.-]{1,79}+)"
    r"\\{0,2}[\"']?,?\s{1,40}\\{0,2}[\"']?value\\{0,2}[\"']?[ \t]{0,4}[=:][ \t]{0,4}"
)
_NEXT_FIELD = re.compile(r"&(?=[A-Za-z0-9_.-]{1,40}=)|;(?=\s*[A-Za-z0-9_. ]{1,40}=|$)|,(?=[A-Za-z0-9_.\"-]{1,40}[=:])")


_WORD_BEFORE = re.compile(r"([A-Za-z]{2,20})[ -]$")


def _whole_name(text: str, match: re.Match[str]) -> str:
    """The name; a bare `key` with the word before it, as people write labels: `**API key**: …`."""
    name = match.group("name")
    if name.lower() != "key":
        return name
    before = _WORD_BEFORE.search(text, max(0, match.start() - 24), match.start())
    return f"{before.group(1).lower()}_{name}" if before else name


# `password` in other languages, and how a value is put behind it.
_FOREIGN = re.compile(
    r"(?:パスワード|密码|密碼|口令|비밀번호|пароль|парола|contraseña|clave secreta|passwort|kennwort|mot de passe|senha"
    r"|hasło|parola|wachtwoord|mật khẩu|كلمة المرور)\*{0,2}"
    r"[ \t]{0,4}(?:(?:es|ist|lautet|est|é|è|is|to|là|は|是|는|은)[ \t]{0,4})?"
    r"(?:[:：=][ \t]{0,4}|(?<=[ は是])(?=\S))\*{0,2}[ \t]{0,4}",
    re.IGNORECASE,
)
_FOREIGN_WORDS = tuple(
    "パスワード 密码 密碼 口令 비밀번호 парол contraseña clave passwort kennwort mot senha hasło parola wachtwoord mật "
    "كلمة".split()
)


def _foreign_spans(text: str, lowered: str) -> Iterator[Span]:
    if not any(word in lowered for word in _FOREIGN_WORDS):
        return
    for match in _FOREIGN.finditer(text):
        span = _value_span(text, match.end(), "password", in_code=False)
        if span is not None:
            yield span[0], span[1], "password"


def named_spans(text: str) -> Iterator[Span]:
    lowered = text.lower()
    yield from _foreign_spans(text, lowered)
    if not any(word in lowered for word in _KEYWORDS):
        return
    done = 0
    for match in _NAME.finditer(text):
        if match.start() < done:  # inside a value that was found
            continue
        kind = _kind_of_name(_whole_name(text, match))
        sign = match.group("sign")
        if not kind or (sign == "," and not match.group("quote")):
            continue
        if sign == ">" and text[match.start() - 1 : match.start()] != "<":
            continue
        if sign.isspace() and not _takes_a_value(text, match.start()):
            continue
        if sign.startswith("is") and not kind.endswith("password"):
            continue
        in_code = sign.startswith("=") and text[match.end("name") : match.start("sign")].endswith((" ", "\t"))
        span = _value_span(text, match.end(), kind, in_code=in_code)
        if span is None and sign == ":" and (annotation := _ANNOTATION.match(text, match.end())):
            span = _value_span(text, annotation.end(), kind, in_code=True)
        if span is not None and (sign != ">" or text.startswith("</", span[1])):
            done = span[1]
            yield span[0], span[1], kind
    if "value" in lowered:
        for match in _PAIR.finditer(text):
            kind = _kind_of_name(match.group("name"))
            if kind and (span := _value_span(text, match.end(), kind, in_code=False)):
                yield span[0], span[1], kind


def _takes_a_value(text: str, start: int) -> bool:
    """`--token VALUE` and `ENV TOKEN VALUE`: only there does a blank stand between name and value."""
    before = text[max(0, start - 8) : start]
    return before.endswith(("--", "ENV ", "ARG ", "setx "))


def _value_span(text: str, at: int, kind: str, *, in_code: bool) -> tuple[int, int] | None:
    match = _VALUE.match(text, at)
    if match is None or match.lastgroup is None:
        return None
    bare = match.lastgroup == "bare"
    start, end = match.span(match.lastgroup)
    end = before_mark(text, start, end)
    value = _trimmed(text[start:end], bare=bare)
    if not is_secret_value(value, kind, bare=bare, in_code=in_code):
        return None
    if bare and len(value) == _LONGEST_BARE and (rest := _REST_OF_BARE.match(text, end)):
        value = _trimmed(text[start : before_mark(text, start, rest.end())], bare=True)
    return start, start + len(value)


def _trimmed(value: str, *, bare: bool) -> str:
    if not bare:
        return value.rstrip("\\")
    if field := _NEXT_FIELD.search(value):
        value = value[: field.start()]
    return value.rstrip(".,;:)]}|")


_WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# What a name is about when it ends with one of these is not the secret itself.
_ABOUT = frozenset(
    "id ids name names type types count counts url uri path file files filename dir ttl expiry expires expiration age "
    "length len size limit limits format prefix suffix hash hashed digest fingerprint version header headers field "
    "label ref arn policy rule rules scope scopes provider manager store service hint strength usage budget index "
    "checksum sha sum algorithm alg email user username status state error date at in enabled required".split()
)
_KEY_OF = frozenset(
    "api access secret private encryption encrypt signing sign auth master account service admin app application "
    "client storage shared license licence webhook deploy functions function integration subscription session cookie "
    "jwt hmac aes fernet consumer server live prod dev write read ingest x".split()
)
_KEY_NOT = frozenset(
    "public pub primary foreign cache partition sort idempotency topic site publishable host row lookup dict group "
    "hash map routing registry object sorting index unique composite natural surrogate join search config".split()
)
_VENDORS = frozenset(
    "aws azure gcp google github gitlab heroku cloudflare fastly twilio datadog newrelic stripe slack discord openai "
    "anthropic cohere mistral deepseek elevenlabs deepgram assemblyai okta auth0 railway bitbucket circleci figma "
    "mailgun sendgrid telegram notion linear vault npm pypi docker sentry grafana doppler snyk sonar algolia mapbox "
    "pagerduty mattermost supabase paypal ibm jira atlassian dropbox zoom fly vercel netlify digitalocean linode "
    "pinecone voyage tavily".split()
)


@cache
def _words_that_end_in() -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("password", ("password", "passwd", "passphrase", "passcode", "pwd")),
        ("secret", ("secret", "secretkey", "secrets", "credential", "credentials", "secretbase")),
        ("api-key", ("apikey", "accesskey", "privatekey", "signingkey", "encryptionkey", "accountkey", "masterkey")),
        ("token", ("token", "authtoken", "accesstoken", "apitoken")),
    )


def _kind_of_name(name: str) -> str:
    """`password`, `secret`, `token`, `api-key`, with a known vendor in front; empty when the name announces nothing."""
    words = [word.lower() for word in _WORDS_OF_NAME.findall(name[-80:])]
    if not words or words[-1] in _ABOUT:
        return ""
    base = next((base for base, ends in _words_that_end_in() if any(word.endswith(ends) for word in words)), "")
    if not base and (words[-1] in ("pass", "pw") or (words[-1] == "auth" and name.startswith("_"))):
        base = "password" if words[-1] != "auth" else "token"
    if not base and "key" in words:
        at = len(words) - 1 - words[::-1].index("key")
        before = set(words[:at])
        if not before & _KEY_NOT and (before & (_KEY_OF | _VENDORS) or (before and name.isupper())):
            base = "api-key"
    if not base:
        return ""
    if base == "token" and not {"auth", "access", "api", "bearer"}.isdisjoint(words):
        base = "access-token"
    vendor = next((word for word in words if word in _VENDORS), "")
    if {"secret", "access", "key"} <= set(words) or (vendor == "aws" and base in ("secret", "api-key")):
        return "aws-secret-key"
    return f"{vendor}-{base}" if vendor else base
