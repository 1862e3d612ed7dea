"""Find secrets in text: one scanner for everything that could be written to disk.

Three sources are joined: formats that a maintained library knows by their prefix, formats of our own, and names that
announce a secret (`API_KEY=…`, `"password": "…"`) with a value that looks like one. Nothing here ever reports a value.

Every expression starts at a literal or at the beginning of a word and has bounded or possessive repetition, so the
time grows with the length of the text and not faster.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from engram.core.named_secrets import named_spans
from engram.core.secret_formats import Span, format_spans, jwt_spans, library_spans
from engram.core.secret_values import before_mark, decoded, is_random, is_sample, is_stand_in

ALLOW_MARK = "engram:allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Where a secret of which kind stands. Spans never overlap; `line` counts from 1."""

    kind: str
    start: int
    end: int
    line: int


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Every secret in `text`, in order. Placeholders, hashes and lines marked `engram:allow` are not findings."""
    findings: list[Finding] = []
    line, counted = 1, 0
    allowed = _allowed_lines(text)
    for start, end, kind in _joined([*_spans(text), *_encoded_spans(text)]):
        line += text.count("\n", counted, start)
        counted = start
        if line not in allowed:
            findings.append(Finding(kind=kind, start=start, end=end, line=line))
    return tuple(findings)


def _allowed_lines(text: str) -> frozenset[int]:
    if ALLOW_MARK not in text:
        return frozenset()
    return frozenset(number for number, line in enumerate(text.split("\n"), 1) if ALLOW_MARK in line)


def _joined(spans: list[Span]) -> Iterator[Span]:
    """Overlapping spans become one that covers all of them, named by the source that came first."""
    rank = sorted(range(len(spans)), key=lambda at: (spans[at][0], at))
    open_span: tuple[int, int, int] | None = None  # start, end, the best place in `spans`
    for at in rank:
        start, end, _ = spans[at]
        if open_span is not None and start < open_span[1]:
            open_span = (open_span[0], max(open_span[1], end), min(open_span[2], at))
            continue
        if open_span is not None:
            yield open_span[0], open_span[1], spans[open_span[2]][2]
        open_span = (start, end, at)
    if open_span is not None:
        yield open_span[0], open_span[1], spans[open_span[2]][2]


def _spans(text: str) -> Iterator[Span]:
    yield from _private_keys(text)
    yield from format_spans(text)
    yield from jwt_spans(text)
    yield from _url_spans(text)
    yield from _header_spans(text)
    yield from library_spans(text)
    yield from named_spans(text)


# --- Private keys ----------------------------------------------------------------------------------------------------

_KEY_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/]{24,}+")
# The body of a key without an end: armour headers, then lines of base64, however the lines are joined or quoted.
_KEY_BODY = re.compile(
    r"(?:(?:\\[nr]|[\s\"'`>|,])|\+[ \t]*[\"'\n]"
    r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\n\\]{0,200}|[A-Za-z0-9+/=]{16,}+)*+"
    r"(?:[A-Za-z0-9+/]{1,15}={1,2})?"
)
_PUTTY = re.compile(r"Private-Lines: \d{1,4}\n(?P<s>(?:[A-Za-z0-9+/=]{8,128}\n?){1,500}+)")
_LONGEST_KEY = 20_000


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" in text:
        begins = list(_KEY_BEGIN.finditer(text))
        ends = [(match.start(), match.end()) for match in _KEY_END.finditer(text)]
        done = 0
        for number, begin in enumerate(begins):
            if begin.start() < done:
                continue
            following = begins[number + 1].start() if number + 1 < len(begins) else len(text)
            place = bisect_left(ends, (begin.end(),))
            if place < len(ends) and ends[place][1] <= min(following, begin.end() + _LONGEST_KEY):
                stop = ends[place][1]
            else:
                body = _KEY_BODY.match(text, begin.end(), following)
                stop = begin.end() + len(body.group().rstrip("\"'`>|, \t\n") if body else "")
            material = _KEY_MATERIAL.search(text, begin.end(), stop)
            if material and not is_sample(material.group()):
                done = stop
                yield begin.start(), stop, "private-key"
    if "Private-Lines:" in text:
        for match in _PUTTY.finditer(text):
            yield match.start("s"), match.end("s"), "private-key"


# --- Addresses and headers -------------------------------------------------------------------------------------------

_LOGIN = re.compile(
    r"://(?P<user>[^\s:@/\"'`<>]{0,128}):(?P<password>\$\{[^}\s]{1,80}\}|[^\s\"'`<>/]{3,256})@(?=[A-Za-z0-9\[_$<{%-])"
)
_DATABASE_LOGIN = re.compile(
    r"(?:postgres|postgresql|mysql|mariadb|mongodb|redis|rediss|amqp|amqps|mssql|sqlserver|oracle|clickhouse|srv|"
    r"psycopg2?|asyncpg|pymysql|kafka|nats|ldaps?)://(?P<user>[^\s:@/\"'`<>]{0,128}):(?P<password>[^\s\"'`<>@]{3,256})@"
)
_WELL_KNOWN = frozenset(
    "password passwd pass pwd secret user username postgres root admin guest test testing example changeme token "
    "mysql redis rabbitmq mongo dev local demo mypassword mypass dbpass dbpassword pw hunter foo bar baz x-oauth-basic "
    "yourpassword your-password your_password somepassword supersecret s3cr3t p4ssw0rd p@ssw0rd port".split()
)


def _url_spans(text: str) -> Iterator[Span]:
    if "://" not in text or "@" not in text:
        return
    for pattern in (_LOGIN, _DATABASE_LOGIN):
        for match in pattern.finditer(text):
            start, end = match.span("password")
            cut = before_mark(text, start, end)
            value = text[start:cut]
            port = value.isdigit() and len(value) <= 5
            if len(value) >= 3 and not port and value.lower() not in _WELL_KNOWN and not is_stand_in(value):
                yield start, cut, "url-password"


_BEARER = re.compile(r"\b[Bb](?:earer|EARER)[ \t]{1,4}[\"'`]?(?P<s>[A-Za-z0-9._~+/-]{16,4096}={0,2})")
_BASIC = re.compile(r"\b[Bb](?:asic|ASIC)[ \t]{1,4}[\"'`]?(?P<s>[A-Za-z0-9+/_-]{8,1024}+={0,2})")
_AUTHORIZATION = re.compile(
    r"(?i:authorization)\\{0,2}[\"']?[ \t]{0,4}[:=,][ \t]{0,4}\\{0,2}[\"'`]?(?:[A-Za-z-]{2,20}[ \t]{1,3})?"
    r"(?:token=[\"']?)?(?P<s>[A-Za-z0-9._~+/-]{16,4096}={0,2})"
)
_CURL_LOGIN = re.compile(
    r"(?<![^\s\"'`])(?:-u|--user|--proxy-user)[ =]?\\{0,2}[\"']?[^\s\"':]{1,100}:(?P<s>[^\s\"'\\`]{2,200})"
)


def _header_spans(text: str) -> Iterator[Span]:
    lowered = text.lower()
    if "bearer" in lowered or "authorization" in lowered:
        for pattern in (_BEARER, _AUTHORIZATION):
            for match in pattern.finditer(text):
                if is_random(match.group("s")) and not is_stand_in(match.group("s")):
                    yield match.start("s"), match.end("s"), "authorization-header"
    if "basic" in lowered:
        for match in _BASIC.finditer(text):
            login = decoded(match.group("s"), shortest=3)
            if ":" in login and not is_stand_in(login.partition(":")[2]):
                yield match.start("s"), match.end("s"), "authorization-header"
    if "curl" in lowered or "wget" in lowered or "http" in lowered:
        for match in _CURL_LOGIN.finditer(text):
            before = lowered[max(0, match.start() - 400) : match.start()].rpartition("\n")[2]
            value = match.group("s")
            known = value.lower() in _WELL_KNOWN or is_stand_in(value)
            if not known and ("curl" in before or "wget" in before or "http" in before):
                yield match.start("s"), match.end("s"), "login-password"


# --- Hidden behind base64 --------------------------------------------------------------------------------------------

_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{28,}+={0,2}")
_LONGEST_ENCODED = 65_536


def _encoded_spans(text: str) -> Iterator[Span]:
    """Base64 that hides a secret in plain text, one level deep, as in manifests of Kubernetes."""
    for match in _ENCODED.finditer(text):
        if match.end() - match.start() <= _LONGEST_ENCODED and (plain := decoded(match.group(), shortest=20)):
            hidden = next(_spans(plain), None)
            if hidden is not None:
                yield match.start(), match.end(), hidden[2]
