"""Secrets whose own shape tells: tokens with a prefix, by rules of our own and by a maintained library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from classifinder_engine import scan

from engram.core.secret_values import is_sample

# Start, end, kind.
Span = tuple[int, int, str]

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


def format_spans(text: str) -> Iterator[Span]:
    # One pass over the literals decides which expressions are worth trying: mostly none.
    for kind, source in dict.fromkeys((kind, source) for literal, kind, source in _by_literal() if literal in text):
        pattern = _compiled(source)
        group = "s" if pattern.groupindex else 0
        for match in pattern.finditer(text):
            if not is_sample(match.group(group)):
                yield match.start(group), match.end(group), kind


_THREE_PARTS = re.compile(
    r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{0,}+){0,2}\.[A-Za-z0-9_-]{8,}+"
)


def jwt_spans(text: str) -> Iterator[Span]:
    if "eyJ" in text:
        for match in _THREE_PARTS.finditer(text):
            at = match.group().find("eyJ")
            if 0 <= at < match.group().index("."):
                yield match.start() + at, match.end(), "jwt"


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


def library_spans(text: str) -> Iterator[Span]:
    rules = [rule for rule, literal in _LIBRARY.items() if literal in text]
    if not rules:  # an empty list would mean all of them
        return
    for found in scan(text, types=rules, include_context=False):
        if found.encoding is None and not is_sample(text[found.span_start : found.span_end]):
            yield found.span_start, found.span_end, found.type.replace("_", "-")
