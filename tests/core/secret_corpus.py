"""Secrets as memory candidates would carry them, and candidates that only speak of secrets.

The values come from `corpus` or are put together at run time, so that no literal here looks like a secret. Every entry
of `MUST_REFUSE` is a text and the part of it that must lie inside a finding.
"""

from __future__ import annotations

import base64
import random
import string

from tests.core.corpus import canary_values

_rng = random.Random(20_250_311)

_HEX = "0123456789abcdef"
_ALNUM = string.ascii_letters + string.digits


def _value(length: int = 28, alphabet: str = _ALNUM) -> str:
    """Random characters with a letter at both ends and digits between."""
    while True:
        text = "".join(_rng.choices(alphabet, k=length))
        if text[0].isalpha() and text[-1].isalpha() and sum(map(str.isdigit, text)) >= 2:
            return text


def _password() -> str:
    return f"{_value(5)}!{_value(4)}#{_rng.randrange(10, 99)}"


# Tokens that their prefix gives away, each in another place of a note.
_PREFIXED = {
    "bullet": ("github-ghp", "- Deploys use {} until the end of the month"),
    "nested bullet": ("gitlab", "- deploys\n    - runner: {}\n    - region: eu"),
    "checkbox": ("npm", "* [ ] rotate `{}`"),
    "ordered": ("slack-bot", "1. Open the app\n2. Paste {}\n3. Save"),
    "table": ("stripe-live", "| name | value |\n| --- | --- |\n| live | {} |"),
    "table with ticks": ("aws-access-key", "| id | `{}` | eu-west-1 |"),
    "quotation": ("github-fine-grained", "> use {} for the bot"),
    "bold": ("openai-project", "The key is **{}**, ask before use."),
    "fence": ("anthropic", "```sh\ncurl -H 'x-api-key: {}' https://api.internal\n```"),
    "code span": ("gcp-api-key", "Maps are loaded with `key={}`."),
    "heading": ("sendgrid", "## Mail {}"),
    "link": ("slack-webhook", "[alerts](https://hooks.slack" + ".com/services/{})"),
    "query": ("github-gho", "https://api.internal/v1?access_token={}&page=2"),
    "remote": ("github-ghp", "git remote add ci https://x-access-token:{}@github.com/o/r.git"),
    "html": ("gitlab", '<a href="https://git.internal/?private_token={}">ci</a>'),
    "html comment": ("npm", "<!-- {} -->"),
    "trigger": ("github-ghs", "triggers: deploy, {}, release"),
    "field": ("huggingface", "type: knowledge\ntext: the hub token is {}\ntags: hub"),
    "sentence end": ("pypi", "Releases are uploaded with {}."),
    "japanese": ("stripe-live", "本番のキーは{}です。"),
    "chinese": ("github-ghp", "部署令牌：{}，不要提交"),
    "arabic": ("aws-access-key", "المفتاح هو {} للخادم"),
    "emoji": ("slack-bot", "\U0001f511 {} \U0001f511"),
    "json": ("openai-old", '{"name": "hub", "key": "{}"}'),
    "yaml list": ("digitalocean", "tokens:\n  - {}\n  - other"),
    "diff": ("npm", "-//registry.npmjs.org/:_authToken=\n+//registry.npmjs.org/:_authToken={}"),
    "log": ("jwt", "12:00:01 GET /me 200 token={}"),
    "cookie": ("jwt", "Cookie: session={}; theme=dark"),
    "shell": ("doppler", "doppler run --token {} -- make"),
    "python": ("databricks", 'client = Client(host, "{}")'),
    "two on a line": ("shopify", "old {} and new, both live"),
    "windows lines": ("linear", "one\r\nkey: {}\r\nthree"),
    "telegram": ("telegram", "The bot answers at https://api.telegram.org/bot{}/sendMessage"),
    "vault": ("vault", "export VAULT_TOKEN={}"),
    "sentry": ("sentry", "sentry-cli --auth-token {} releases list"),
}

# Values that only their name gives away.
_NAMED = {
    "env line": "DATABASE_PASSWORD={}",
    "exported": "export PAYMENT_API_KEY={}",
    "env bullet": "- `SESSION_SECRET={}`",
    "env in prose": "Start it with API_TOKEN={} make run",
    "quoted env": "JWT_SECRET='{}'",
    "powershell": '$env:API_KEY = "{}"',
    "setx": "setx SERVICE_TOKEN {}",
    "docker": "docker run -e API_SECRET={} app",
    "compose": "services:\n  app:\n    environment:\n      - DB_PASSWORD={}",
    "yaml": "redis:\n  password: {}",
    "toml": '[auth]\nclient_secret = "{}"',
    "ini": "[client]\nuser=app\npassword={}",
    "json value": '{"client_id": "web", "client_secret": "{}"}',
    "properties": "spring.datasource.password={}",
    "terraform": 'variable "db_password" {\n  default = "{}"\n}',
    "bold label": "**Password:** {}",
    "bold label bullet": "* **API key**: {}",
    "table row": "| DB_PASSWORD | {} |",
    "prose": "the password is {}",
    "prose with colon": "Admin password: {}",
    "function call": 'connect(user="app", password="{}")',
    "typescript": 'const apiKey: string = "{}";',
    "rust": 'let secret_key = "{}";',
    "java": 'private static final String API_TOKEN = "{}";',
    "kotlin": 'val authToken = "{}"',
    "php": "define('DB_PASSWORD', '{}');",
    "csharp": 'Password = "{}",',
    "header": "X-Auth-Token: {}",
    "bearer": "Authorization: Bearer {}",
    "curl bearer": 'curl -H "Authorization: Bearer {}" https://ci.internal/jobs',
    "curl login": "curl -u ci:{} https://ci.internal/jobs",
    "option": "mysql -u root --password={} app",
    "url": "postgresql://app:{}@db.internal:5432/app",
    "url in a link": "[db](postgres://app:{}@db.internal/app)",
    "url bullet": "- broker: amqps://svc:{}@mq.internal/vhost",
    "redis url": "REDIS_URL=redis://:{}@cache.internal:6379/0",
    "jdbc": "jdbc:mysql://db.internal/app?user=app&password={}",
    "odbc": "Server=db;Database=app;Uid=app;Pwd={};",
    "japanese label": "パスワード: {}",
    "spanish label": "La contraseña es {}",
    "german label": "Das Passwort lautet: {}",
    "french label": "mot de passe : {}",
    "chinese label": "密码：{}",
    "russian label": "Пароль: {}",
}


def _private_key() -> tuple[str, str]:
    body = "\n".join(_value(64) for _ in range(5))
    label = "OPENSSH PRIVATE KEY"
    return f"Deploy with\n\n-----BEGIN {label}-----\n{body}\n-----END {label}-----\n", body


def _kubernetes() -> tuple[str, str]:
    encoded = base64.b64encode(f"token={canary_values['github-ghp']}".encode()).decode()
    return f"apiVersion: v1\nkind: Secret\ndata:\n  config: {encoded}", encoded.rstrip("=")


def _must_refuse() -> dict[str, tuple[str, str]]:
    entries = {f"token: {place}": (form.replace("{}", canary_values[name]), canary_values[name])
               for place, (name, form) in _PREFIXED.items()}  # fmt: skip
    for place, form in _NAMED.items():
        value = _value()
        entries[f"named: {place}"] = (form.replace("{}", value), value)
    for place in ("env line", "yaml", "json value", "bold label", "prose", "table row"):
        value = _password()
        entries[f"short: {place}"] = (_NAMED[place].replace("{}", value), value)
    value = _value(40, _HEX)
    entries["hex: env"] = (f"SIGNING_SECRET={value}", value)
    entries["private key"] = _private_key()
    entries["kubernetes"] = _kubernetes()
    return entries


MUST_REFUSE: dict[str, tuple[str, str]] = _must_refuse()

# A person would call these secrets; the scanner does not yet see them. Their tests must fail until it does.
NOT_FOUND_YET = frozenset(f"named: {place}" for place in ("terraform",))

_LINES = r"""
Tokens are read from the environment, never from files.
- Secrets live in the vault; the app reads them at start.
- Rotate API keys every 90 days.
* **Password:** kept in the team vault under `web/db`
* **API key**: see the onboarding page
| DB_PASSWORD | from the vault |
| API_KEY | required, no default |
| token | string | the session token |
| --- | --- | --- |
The password is hashed with argon2id before it is stored.
The password must have 12 characters, one digit and one sign.
The token is refreshed five minutes before it expires.
The secret is mounted at /run/secrets/db_password.
Use the `GITHUB_TOKEN` of the job, not a personal one.
Set `OPENAI_API_KEY` before running the examples.
export OPENAI_API_KEY=<your key>
export API_KEY=...
API_KEY=your-key-here
PASSWORD=changeme
DB_PASSWORD=${DB_PASSWORD:?missing}
DB_PASSWORD=$(vault read -field=password web/db)
API_TOKEN={{ api_token }}
password: !vault web/db
password: "${env.DB_PASSWORD}"
token: ${{ secrets.DEPLOY_TOKEN }}
client_secret = var.client_secret
apiKey: process.env.API_KEY,
api_key=settings.API_KEY.get_secret_value()
secret_key = config["SECRET_KEY"]
password = os.environ.get("DB_PASSWORD", "")
const token = await getAccessToken(user.id);
let password = read_password()?;
String password = request.getParameter("password");
token := r.Header.Get("Authorization")
assert response.json()["token"] is not None
if not token: raise Unauthorized("token is missing")
Authorization: Bearer <token>
Authorization: Bearer $ACCESS_TOKEN
curl -H "Authorization: Bearer ${TOKEN}" https://ci.internal
curl -u "$CI_USER:$CI_PASSWORD" https://ci.internal
postgresql://app:${DB_PASSWORD}@db.internal/app
postgres://user:password@localhost:5432/app
redis://localhost:6379/0
https://example.com/reset?token=<token>
git clone git@github.com:owner/project.git
The commit 3f2a9c1d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39 broke the login.
Bisected to 9fceb02d0ae598e95dc970b74767f19372d61af8.
| a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 | first release |
The image is app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
Run 123e4567-e89b-12d3-a456-426614174000 was flaky.
Trace id 4bf92f3577b34da6a3ce929d0e0e4736 shows the slow query.
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
Cache key: node-linux-5d41402abc4b2a76b9719d911017c592
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl deploy
-----BEGIN CERTIFICATE-----
Keys that begin with sk_live_ are live, sk_test_ are for tests.
GitHub tokens begin with ghp_, gho_ or github_pat_.
A JWT has three parts, each base64url: header.payload.signature
The scanner finds AKIA ids and xoxb- tokens.
AKIAIOSFODNN7EXAMPLE is the sample of the documentation.
max_tokens: 4096 and temperature: 0.2
token_budget = 12000
The tokenizer counts 1,234 tokens for this page.
primary_key = "order_id"
sort_key: created_at
foreign_key: users.id
keyboard shortcuts: ctrl+shift+p opens the palette
password_hash TEXT NOT NULL
ALTER TABLE users ADD COLUMN reset_token TEXT;
SELECT token_id, expires_at FROM session WHERE user_id = :user
CREATE USER app WITH PASSWORD :password
POST /v1/tokens returns 201 with the id of the token
403 when the token has no write scope
feat(auth): accept tokens in the query for downloads
fix: do not log the password of the proxy
test: password longer than 72 bytes is refused
rule: never print secrets in CI logs
skill: rotate the signing key with `make rotate-keys`
workflow: create token, store it in the vault, delete the old one
triggers: token, password, secret, api key
tags: auth, token-refresh, secrets-rotation
topic_key: decisions/auth-token-storage
パスワードは保管庫にあります。
トークンは一時間で失効する
密码不能写在代码里
La contraseña está en el gestor de secretos.
Das Passwort steht im Tresor.
Le mot de passe se trouve dans le coffre.
Пароль хранится в хранилище.
Mật khẩu được lưu trong kho bí mật.
كلمة المرور محفوظة في الخزنة
OPENAI_API_KEY=test-key-for-unit-tests # engram:allow
"""

MUST_PASS: tuple[str, ...] = (
    *_LINES.strip().split("\n"),
    "variables:\n  - name: API_TOKEN\n    valueFrom:\n      secretKeyRef:\n        name: web\n        key: api-token",
    "```sh\nexport API_TOKEN=$(pass show web/api)\nmake deploy\n```",
    "-----BEGIN PRIVATE KEY-----\n<key of the test host>\n-----END PRIVATE KEY-----",
    "| name | value |\n| --- | --- |\n| API_TOKEN | `${API_TOKEN}` |\n| PASSWORD | `********` |",
)
