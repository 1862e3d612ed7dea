"""Find secrets in text: one scanner for everything that could be written to disk.

Three sources are joined: formats that a maintained library knows by their prefix, formats of our own, and names that
announce a secret (`API_KEY=…`, `"password": "…"`) with a value that looks like one. Nothing here ever reports a value.

Every expression starts at a literal or at the beginning of a word and has bounded or possessive repetition, so the
time grows with the length of the text and not faster.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from classifinder_engine import scan

ALLOW_MARK = "engram:allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Where a secret of which kind stands. Spans never overlap; `line` counts from 1."""

    kind: str
    start: int
    end: int
    line: int


# Start, end, kind.
_Span = tuple[int, int, str]


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


def _joined(spans: list[_Span]) -> Iterator[_Span]:
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


def _spans(text: str) -> Iterator[_Span]:
    yield from _private_keys(text)
    yield from _format_spans(text)
    yield from _jwt_spans(text)
    yield from _url_spans(text)
    yield from _header_spans(text)
    yield from _library_spans(text)
    yield from _named_spans(text)


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


def _private_keys(text: str) -> Iterator[_Span]:
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
            if material and not _is_sample(material.group()):
                done = stop
                yield begin.start(), stop, "private-key"
    if "Private-Lines:" in text:
        for match in _PUTTY.finditer(text):
            yield match.start("s"), match.end("s"), "private-key"


# --- Formats with a shape of their own -------------------------------------------------------------------------------

# The beginning of a word; also right after `\n` in escaped text and after `%3D` in a URL.
_B = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
_T = r"[A-Za-z0-9_-]"

# Kind, literals of which one must be present, expression (the group `s` is the secret, where there is one).
_FORMATS: tuple[tuple[str, str, str], ...] = (
    ("aws-access-key", "AKIA ASIA ABIA ACCA", _B + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (
        "aws-secret-key",
        "AKIA ASIA",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[\s,:;|/\"']{1,8}(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    ("gcp-api-key", "AIza", r"AIza[0-9A-Za-z_-]{35,}"),
    ("gcp-client-secret", "GOCSPX-", rf"GOCSPX-{_T}{{20,}}"),
    ("gcp-access-token", "ya29.", _B + r"ya29\.[A-Za-z0-9_-]{30,}"),
    ("azure-account-key", "AccountKey SharedAccessKey", r"(?:Account|SharedAccess)Key=(?P<s>[A-Za-z0-9+/]{40,}={0,2})"),
    ("azure-client-secret", "Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ("azure-sas-signature", "sig=", r"[?&;]sig=(?P<s>[A-Za-z0-9%+/_-]{36,}={0,2})"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("github-fine-grained-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab-token", "gl", _B + r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|ffct|imt)-[A-Za-z0-9_.=-]{20,}"),
    ("slack-token", "xox", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{16,}"),
    ("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    (
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{24,})",
    ),
    (
        "discord-webhook",
        "/webhooks/",
        rf"discord(?:app)?\.com/api/(?:v\d{{1,2}}/)?webhooks/\d{{15,20}}/(?P<s>{_T}{{40,}})",
    ),
    ("discord-bot-token", ".", rf"(?<![A-Za-z0-9_.-])[MNO]{_T}{{22,28}}\.{_T}{{6}}\.{_T}{{27,45}}(?![A-Za-z0-9_.-])"),
    ("teams-webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/(?P<s>[A-Za-z0-9@/_-]{60,})"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    ("npm-token", "npm_", _B + r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-token", "pypi-", rf"pypi-{_T}{{50,}}"),
    ("rubygems-token", "rubygems_", r"rubygems_[A-Za-z0-9]{40,}"),
    ("anthropic-api-key", "sk-ant-", rf"sk-ant-{_T}{{24,}}"),
    ("openrouter-api-key", "sk-or-", rf"sk-or-{_T}{{30,}}"),
    (
        "openai-api-key",
        "sk-",
        _B + rf"sk-(?:(?:proj|svcacct|admin|None)-{_T}{{20,}}|(?=[A-Za-z]*+\d)[A-Za-z0-9]{{20,}})",
    ),
    ("api-key", "sk-", _B + rf"sk-{_T}{{36,}}"),
    ("huggingface-token", "hf_ api_org_", _B + r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("groq-api-key", "gsk_", _B + r"gsk_[A-Za-z0-9]{40,}"),
    ("perplexity-api-key", "pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    ("langsmith-api-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9_]{32,}"),
    ("sendgrid-api-key", "SG.", _B + rf"SG\.{_T}{{16,}}\.{_T}{{16,}}"),
    ("twilio-key", "SK AC", r"(?<![A-Za-z0-9+/])(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailgun-api-key", "key-", r"(?<![A-Za-z0-9_-])key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailgun-api-key", "-", r"(?<![A-Za-z0-9_-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])"),
    ("mailchimp-api-key", "-us", r"(?<![A-Za-z0-9_-])[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    ("brevo-api-key", "xkeysib-", r"xkeysib-[0-9a-f]{60,}-[A-Za-z0-9]{16}"),
    ("telegram-bot-token", ":AA", rf"(?<![A-Za-z0-9_:-])(?:bot)?\d{{8,10}}:AA{_T}{{32,34}}(?![A-Za-z0-9_-])"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    ("vault-token", "hvs. hvb. hvr.", _B + rf"hv[sbr]\.{_T}{{20,}}"),
    ("terraform-token", ".atlasv1.", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_T}{{60,}}"),
    ("shopify-token", "shp", r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32,}"),
    ("square-token", "sq0", _B + rf"sq0[a-z]{{3}}-{_T}{{22,}}"),
    ("square-token", "EAA", r"(?<![A-Za-z0-9+/_=-])EAA[A-Za-z0-9_-]{56,}"),
    ("linear-api-key", "lin_", _B + r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("notion-token", "ntn_ secret_", _B + r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9_]))"),
    ("databricks-token", "dapi", r"(?<![A-Za-z0-9])dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    ("age-secret-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("heroku-api-key", "HRKU-", rf"HRKU-{_T}{{30,}}"),
    ("doppler-token", "dp.", _B + r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,}"),
    ("grafana-token", "glsa_ glc_", _B + r"gl(?:sa|c)_[A-Za-z0-9+/_=-]{32,}"),
    ("grafana-token", "eyJrIjoi", r"(?<![A-Za-z0-9+/])eyJrIjoi[A-Za-z0-9+/_-]{40,}={0,2}"),
    ("new-relic-key", "NR", _B + rf"NR(?:AK|AA|JS|RA|II|IQ|SP)-{_T}{{19,}}"),
    ("new-relic-key", "NRAL", r"(?<![A-Za-z0-9])(?:eu01xx)?[0-9a-f]{30,36}F?F?F?F?NRAL(?![A-Za-z0-9])"),
    ("atlassian-token", "ATATT3 ATCTT3", rf"AT[AC]TT3{_T}{{60,}}(?:=[A-F0-9]{{8}})?"),
    ("atlassian-token", "ATBB", _B + r"ATBB[A-Za-z0-9]{28,}"),
    ("docker-token", "dckr_", rf"dckr_(?:pat|oat)_{_T}{{24,}}"),
    ("postman-api-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("sentry-token", "sntry", r"sntry[su]_[A-Za-z0-9+/_=-]{40,}"),
    ("cloudflare-origin-key", "v1.0-", r"(?<![A-Za-z0-9])v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("cloudflare-token", "cf", _B + r"cf(?:ut|at|k)_[A-Za-z0-9]{36,}"),
    ("supabase-key", "sbp_ sb_secret_", _B + rf"(?:sbp_[a-f0-9]{{40}}|sb_secret_{_T}{{20,}})"),
    ("planetscale-token", "pscale_", rf"pscale_(?:tkn|pw|oauth)_{_T}{{30,}}"),
    ("figma-token", "figd_", rf"figd_{_T}{{38,}}"),
    ("tailscale-key", "tskey-", rf"tskey-[a-z]{{3,12}}-{_T}{{20,}}"),
    ("circleci-token", "CCIPAT_", rf"CCIPAT_{_T}{{30,}}"),
    ("onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_-]{80,}={0,2}"),
    ("dropbox-token", "sl.", _B + rf"sl\.(?:u\.)?{_T}{{120,}}"),
    ("fly-token", "FlyV1", r"FlyV1 fm\d_[A-Za-z0-9+/_,=-]{60,}"),
    ("jfrog-token", "AKCp", _B + r"AKCp[A-Za-z0-9]{60,}"),
    ("netrc-password", "password", r"\blogin\s{1,8}\S{1,100}\s{1,8}password\s{1,8}(?P<s>\S{4,200})"),
)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


@cache
def _by_literal() -> tuple[tuple[str, str, str], ...]:
    """(literal, kind, expression), one for each literal."""
    return tuple((literal, kind, source) for kind, literals, source in _FORMATS for literal in literals.split())


def _format_spans(text: str) -> Iterator[_Span]:
    # One pass over the literals decides which expressions are worth trying: mostly none.
    for kind, source in dict.fromkeys((kind, source) for literal, kind, source in _by_literal() if literal in text):
        pattern = _compiled(source)
        group = "s" if pattern.groupindex else 0
        for match in pattern.finditer(text):
            if not _is_sample(match.group(group)):
                yield match.start(group), match.end(group), kind


_THREE_PARTS = re.compile(
    r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{0,}+){0,2}\.[A-Za-z0-9_-]{8,}+"
)


def _jwt_spans(text: str) -> Iterator[_Span]:
    if "eyJ" in text:
        for match in _THREE_PARTS.finditer(text):
            at = match.group().find("eyJ")
            if 0 <= at < match.group().index("."):
                yield match.start() + at, match.end(), "jwt"


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


def _url_spans(text: str) -> Iterator[_Span]:
    if "://" not in text or "@" not in text:
        return
    for pattern in (_LOGIN, _DATABASE_LOGIN):
        for match in pattern.finditer(text):
            start, end = match.span("password")
            cut = _before_mark(text, start, end)
            value = text[start:cut]
            port = value.isdigit() and len(value) <= 5
            if len(value) >= 3 and not port and value.lower() not in _WELL_KNOWN and not _is_stand_in(value):
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


def _header_spans(text: str) -> Iterator[_Span]:
    lowered = text.lower()
    if "bearer" in lowered or "authorization" in lowered:
        for pattern in (_BEARER, _AUTHORIZATION):
            for match in pattern.finditer(text):
                if _is_random(match.group("s")) and not _is_stand_in(match.group("s")):
                    yield match.start("s"), match.end("s"), "authorization-header"
    if "basic" in lowered:
        for match in _BASIC.finditer(text):
            login = _decoded(match.group("s"), shortest=3)
            if ":" in login and not _is_stand_in(login.partition(":")[2]):
                yield match.start("s"), match.end("s"), "authorization-header"
    if "curl" in lowered or "wget" in lowered or "http" in lowered:
        for match in _CURL_LOGIN.finditer(text):
            before = lowered[max(0, match.start() - 400) : match.start()].rpartition("\n")[2]
            value = match.group("s")
            known = value.lower() in _WELL_KNOWN or _is_stand_in(value)
            if not known and ("curl" in before or "wget" in before or "http" in before):
                yield match.start("s"), match.end("s"), "login-password"


# --- The library -----------------------------------------------------------------------------------------------------

# Its rules that we use, with a literal that must be present before it is asked. Left out on purpose: prompt injection
# (core/quoting.py), card numbers, publishable keys, and rules whose time grows with the square of a line or that search
# for a name first (the named values below do that).
_LIBRARY = {
    "replicate_api_token": "r8_",
    "xai_api_key": "xai-",
    "langfuse_secret_key": "sk-lf-",
    "aws_bedrock_short_lived_key": "bedrock-api-key-",
    "vercel_ai_gateway_key": "vck_",
    "weights_and_biases_v1_key": "wandb_v1_",
    "openai_api_key": "sk-",
    "anthropic_api_key": "sk-ant-",
    "anthropic_admin_api_key": "sk-ant-",
    "huggingface_token": "hf_",
    "groq_api_key": "gsk_",
    "gcp_api_key": "AIza",
    "digitalocean_token": "dop_v1_",
    "doppler_token": "dp.pt.",
    "terraform_cloud_token": ".atlasv1.",
    "vault_token": "hvs.",
    "pulumi_access_token": "pul-",
    "fly_api_token": "fo1_",
    "alibaba_access_key": "LTAI",
    "vercel_access_token": "vca_",
    "vercel_refresh_token": "vcr_",
    "netlify_token": "nfp_",
    "buildkite_token": "bkua_",
    "slack_bot_token": "xoxb-",
    "slack_user_token": "xoxp-",
    "slack_webhook_url": "hooks.slack.com",
    "sendgrid_api_key": "SG.",
    "discord_webhook_url": "/api/webhooks/",
    "newrelic_admin_api_key": "NRAA-",
    "newrelic_insights_key": "NRI",
    "newrelic_user_api_key": "NRAK-",
    "grafana_api_key": "glsa_",
    "linear_api_key": "lin_api_",
    "sentry_org_token": "sntrys_",
    "sentry_user_token": "sntryu_",
    "teams_webhook_url": ".webhook.office.com",
    "stripe_live_secret_key": "sk_live_",
    "stripe_test_secret_key": "sk_test_",
    "stripe_restricted_key": "rk_live_",
    "stripe_webhook_secret": "whsec_",
    "shopify_access_token": "shpat_",
    "shopify_custom_token": "shpca_",
    "shopify_private_token": "shppa_",
    "razorpay_key": "rzp_",
    "github_pat_classic": "ghp_",
    "github_pat_fine_grained": "github_pat_",
    "github_oauth_secret": "gho_",
    "github_app_installation_token": "ghs_",
    "github_user_to_server_token": "ghu_",
    "gitlab_pat": "glpat-",
    "gitlab_pipeline_trigger": "glptt-",
    "npm_token": "npm_",
    "pypi_token": "pypi-AgEIcHlwaS5vcmc",
    "rubygems_token": "rubygems_",
    "airtable_api_key": "pat",
    "nuget_api_key": "oy2",
}


def _library_spans(text: str) -> Iterator[_Span]:
    rules = [rule for rule, literal in _LIBRARY.items() if literal in text]
    if not rules:  # an empty list would mean all of them
        return
    for found in scan(text, types=rules, include_context=False):
        if found.encoding is None and not _is_sample(text[found.span_start : found.span_end]):
            yield found.span_start, found.span_end, found.type.replace("_", "-")


# --- Values that their name announces --------------------------------------------------------------------------------

_KEYWORDS = ("key", "secret", "token", "passw", "pwd", "pass", "credential", "auth", "pw")
# A name, its closing quote, and what stands between it and the value. The value is not part of the match, so that the
# next name may stand inside it: `set: API_KEY=…`.
_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?P<name>[A-Za-z_][A-Za-z0-9_.-]{1,79}+)(?P<quote>\\{0,3}[\"'`])?\]?[ \t]{0,8}"
    r"(?P<sign>=>|:=|={1,3}|:|,(?=[ \t]{0,4}\\{0,3}[\"'`])|>(?=[^\s<>=])|[ \t](?=\S)|is[ \t])[ \t]{0,8}"
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


def _named_spans(text: str) -> Iterator[_Span]:
    lowered = text.lower()
    if not any(word in lowered for word in _KEYWORDS):
        return
    done = 0
    for match in _NAME.finditer(text):
        if match.start() < done:  # inside a value that was found
            continue
        kind = _kind_of_name(match.group("name"))
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
    end = _before_mark(text, start, end)
    value = _trimmed(text[start:end], bare=bare)
    if not _is_secret_value(value, kind, bare=bare, in_code=in_code):
        return None
    if bare and len(value) == _LONGEST_BARE and (rest := _REST_OF_BARE.match(text, end)):
        value = _trimmed(text[start : _before_mark(text, start, rest.end())], bare=True)
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


# --- Is it a secret or does it only stand for one? -------------------------------------------------------------------

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


def _is_sample(value: str) -> bool:
    """A value out of documentation: few different signs, or a word no random value would hold."""
    if len(set(value[:_JUDGED])) < (8 if len(value) >= 20 else 5):
        return True
    if len(value) > 400:
        return False
    lowered = value.lower()
    if any(sample in lowered for sample in _SAMPLES):
        return True
    return len(value) <= 80 and any(sample in lowered for sample in _MORE_SAMPLES)


def _is_stand_in(value: str) -> bool:
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


def _is_secret_value(value: str, kind: str, *, bare: bool, in_code: bool) -> bool:
    if len(value) < 6 or _is_stand_in(value) or (not bare and _BLANK.search(value)):
        return False
    if _is_sample(value) or (bare and _CALL.match(value)):
        return False
    value = value[:_JUDGED]
    if _UUID.match(value):
        return kind.endswith(("secret", "password")) or "-" in kind
    if not _PRINTABLE.match(value):
        return kind.endswith("password") and len(value) >= 8 and any(map(str.isdigit, value))
    if _is_random(value):
        return True
    if kind.endswith(("password", "secret", "secret-key")):
        return _is_password(value, literal=not bare or not in_code)
    return False


def _is_random(value: str) -> bool:
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


# --- Shared ----------------------------------------------------------------------------------------------------------


def _before_mark(text: str, start: int, end: int) -> int:
    """Where the value ends when something in it has been redacted already."""
    mark = text.find("[REDACTED", start, end)
    return end if mark < 0 else mark


_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{28,}+={0,2}")
_LONGEST_ENCODED = 65_536


def _encoded_spans(text: str) -> Iterator[_Span]:
    """Base64 that hides a secret in plain text, one level deep, as in manifests of Kubernetes."""
    for match in _ENCODED.finditer(text):
        if match.end() - match.start() <= _LONGEST_ENCODED and (plain := _decoded(match.group(), shortest=20)):
            hidden = next(_spans(plain), None)
            if hidden is not None:
                yield match.start(), match.end(), hidden[2]


def _decoded(value: str, *, shortest: int) -> str:
    """The readable text behind base64, or nothing."""
    body = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = binascii.a2b_base64(body + "=" * (-len(body) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""
    return plain if len(plain) >= shortest and plain.replace("\n", "").replace("\r", "").isprintable() else ""
