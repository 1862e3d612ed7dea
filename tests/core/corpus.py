"""True secrets, made up at run time, and innocent look-alikes.

No secret-looking literal stands in this file: every one is put together from a prefix and characters of a seeded
generator. `SECRETS` maps a name to a text that holds the secret, `canary_values` maps the same name to the exact part
that must never reach a disk.
"""

from __future__ import annotations

import base64
import json
import random
import string

_rng = random.Random(20_240_607)

HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
ALNUM = string.ascii_letters + string.digits
URL_SAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"


def _some(alphabet: str, length: int) -> str:
    """`length` random characters; begins and ends with a letter or digit and holds at least one digit."""
    while True:
        text = "".join(_rng.choices(alphabet, k=length))
        if text[0].isalnum() and text[-1].isalnum() and (length < 8 or any(map(str.isdigit, text))):
            return text


def _uuid() -> str:
    return "-".join(_some(HEX, length) for length in (8, 4, 4, 4, 12))


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _b64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _jwt() -> str:
    header = _b64url(json.dumps({"alg": "HS256", "typ": "JWT"}))
    payload = _b64url(json.dumps({"sub": _some(LOWER, 12), "iat": _rng.randrange(10**9)}))
    return f"{header}.{payload}.{_some(URL_SAFE, 43)}"


def _lines(lines: int, width: int = 64) -> str:
    return "\n".join(_some(BASE64, width) for _ in range(lines))


def _pem(label: str, body: str, *, closed: bool = True) -> str:
    dashes = "-" * 5
    end = f"\n{dashes}END {label}{dashes}" if closed else ""
    return f"{dashes}BEGIN {label}{dashes}\n{body}{end}"


SECRETS: dict[str, str] = {}
canary_values: dict[str, str] = {}


def _add(name: str, canary: str, text: str = "{}") -> None:
    assert name not in SECRETS, name
    SECRETS[name] = text.replace("{}", canary)
    canary_values[name] = canary


def _private_keys() -> None:
    for name, label in (
        ("pem-rsa", "RSA PRIVATE KEY"),
        ("pem-ec", "EC PRIVATE KEY"),
        ("pem-pkcs8", "PRIVATE KEY"),
        ("pem-encrypted", "ENCRYPTED PRIVATE KEY"),
        ("openssh", "OPENSSH PRIVATE KEY"),
        ("pgp", "PGP PRIVATE KEY BLOCK"),
    ):
        body = _lines(6)
        _add(name, body, f"The deploy key:\n\n{_pem(label, '{}')}\n\nKeep it.")
    body = _lines(5)
    _add("pem-unterminated", body, f"log:\n{_pem('RSA PRIVATE KEY', '{}', closed=False)}\n")
    key = _lines(4).replace("\n", "\\n")
    one_line = _pem("PRIVATE KEY", "{}").replace("\n", "\\n")
    _add("pem-escaped", key, f'PRIVATE="{one_line}"')
    key = _lines(8).replace("\n", "\\n")
    account = '{"type": "service_account", "private_key": "' + one_line + '\\n", "client_email": "a@b.example"}'
    _add("gcp-service-account", key, account)
    key = _lines(3)
    indented = "\n".join("    > " + line for line in _pem("EC PRIVATE KEY", key).split("\n"))
    _add("pem-quoted", key.split("\n")[1], indented)


def _clouds() -> None:
    key_id = "AKIA" + _some(UPPER.translate({ord(c): None for c in "0189"}), 16)
    _add("aws-access-key", key_id, "uses `{}` in eu-west-1")
    _add("aws-temporary-key", "ASIA" + _some("ABCDEFGHJKLMNPQRSTUVWXYZ234567", 16), "key={}, expired")
    _add("aws-secret-key", _some(BASE64, 40), "aws_secret_access_key = {}")
    _add("aws-secret-json", _some(BASE64, 40), '{"SecretAccessKey": "{}", "Region": "eu"}')
    _add("aws-pair", _some(BASE64, 40), f"creds: {'AKIA' + _some('ABCDEFGH234567', 16)} / {{}}")
    _add("gcp-api-key", "AIza" + _some(URL_SAFE, 35), "maps?key={}&v=3")
    _add("gcp-client-secret", "GOCSPX-" + _some(URL_SAFE, 28), 'client_secret: "{}"')
    account = f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={_some(BASE64, 86)}==;EndpointSuffix=core"
    _add("azure-account-key", account.split("AccountKey=")[1].split("=")[0], account)
    _add("azure-client-secret", _some(ALNUM, 3) + "8Q~" + _some(ALNUM + "_-~.", 34), "secret is {} for the app")
    _add("azure-sas", _some(ALNUM, 43) + "%3D", "https://x.blob.core.windows.net/c?sv=2022-11-02&se=2030-01-01&sig={}")
    _add("digitalocean", "dop_v1_" + _some(HEX, 64))
    _add("heroku-uuid", _uuid(), "HEROKU_API_KEY={}")
    _add("heroku-new", "HRKU-" + _some(URL_SAFE, 60), "heroku login with {}.")
    _add("cloudflare", _some(URL_SAFE, 40), "CLOUDFLARE_API_TOKEN={}")
    _add("fastly", _some(URL_SAFE, 32), "Fastly-Key: {}")
    _add("terraform-cloud", _some(ALNUM, 14) + ".atlasv1." + _some(ALNUM, 67), 'token = "{}"')
    _add("vault", "hvs." + _some(ALNUM, 90), "VAULT={}")
    _add("vault-old", "s." + _some(ALNUM, 24), "VAULT_TOKEN={}")
    _add("doppler", "dp.pt." + _some(ALNUM, 43))
    _add("doppler-service", "dp.st.prd." + _some(ALNUM, 43))
    _add("databricks", "dapi" + _some(HEX, 32))
    _add("age", "AGE-SECRET-KEY-1" + _some("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))


def _code_hosts() -> None:
    for letter in "pousr":
        _add(f"github-gh{letter}", f"gh{letter}_" + _some(ALNUM, 36), "remote uses {}!")
    _add("github-fine-grained", "github_pat_" + _some(ALNUM, 22) + "_" + _some(ALNUM, 59), "(`{}`)")
    _add("gitlab", "glpat-" + _some(URL_SAFE, 20))
    _add("npm", "npm_" + _some(ALNUM, 36), "//registry.npmjs.org/:_authToken={}")
    _add("npm-old", _uuid(), "//registry.npmjs.org/:_authToken={}")
    _add("pypi", "pypi-AgEIcHlwaS5vcmc" + _some(URL_SAFE, 150), "password = {}")
    _add("rubygems", "rubygems_" + _some(HEX, 48))
    _add("docker-hub", "dckr_pat_" + _some(URL_SAFE, 27), "docker login -p {}")
    _add("atlassian", "ATATT3" + _some(URL_SAFE, 180) + "=" + _some(HEX, 8).upper(), "jira: {}")
    _add("bitbucket", "ATBB" + _some(ALNUM, 32))
    _add("postman", "PMAK-" + _some(HEX, 24) + "-" + _some(HEX, 34))
    _add("circleci", _some(HEX, 40), "CIRCLECI_TOKEN={}")


def _services() -> None:
    _add("slack-bot", f"xoxb-{_some('123456789', 12)}-{_some('123456789', 12)}-{_some(ALNUM, 24)}")
    _add("slack-app", f"xapp-1-A{_some(UPPER, 10)}-{_some('123456789', 12)}-{_some(HEX, 64)}")
    hook = f"T{_some(UPPER, 9)}/B{_some(UPPER, 9)}/{_some(ALNUM, 24)}"
    _add("slack-webhook", hook, "https://hooks.slack" + ".com/services/{}")
    _add("discord-webhook", _some(URL_SAFE, 68), f"https://discord.com/api/webhooks/{_some('123456789', 18)}/" + "{}")
    _add("discord-bot", "MT" + _some(ALNUM, 24) + "." + _some(ALNUM, 6) + "." + _some(URL_SAFE, 38), "bot {} runs")
    _add("stripe-live", "sk_" + "live_" + _some(ALNUM, 24))
    _add("stripe-test", "sk_" + "test_" + _some(ALNUM, 99), "charge with '{}'")
    _add("stripe-restricted", "rk_" + "live_" + _some(ALNUM, 24))
    _add("stripe-webhook", "whsec_" + _some(ALNUM, 32))
    _add("openai-old", "sk-" + _some(ALNUM, 20) + "T3Blbk" + "FJ" + _some(ALNUM, 20))
    _add("openai-project", "sk-proj-" + _some(URL_SAFE, 74) + "T3Blbk" + "FJ" + _some(URL_SAFE, 74), '"{}"')
    _add("anthropic", "sk-ant-api03-" + _some(URL_SAFE, 93) + "AA", "x-api-key: {}")
    _add("huggingface", "hf_" + _some(string.ascii_letters + "7", 34), "login(token='{}')")
    _add("sendgrid", f"SG.{_some(URL_SAFE, 22)}.{_some(URL_SAFE, 43)}")
    _add("twilio-key", "SK" + _some(HEX, 32))
    _add("twilio-auth", _some(HEX, 32), "TWILIO_AUTH_TOKEN={}")
    _add("mailgun", "key-" + _some(HEX, 32), "api:{}")
    _add("telegram", _some("123456789", 10) + ":AA" + _some(URL_SAFE, 33), "https://api.telegram.org/bot{}/getMe")
    _add("shopify", "shpat_" + _some(HEX, 32))
    _add("square", "sq0atp-" + _some(URL_SAFE, 22))
    _add("square-new", "EAAA" + _some(URL_SAFE, 60), "pay with {}")
    _add("linear", "lin_api_" + _some(ALNUM, 40))
    _add("notion", "ntn_" + _some(ALNUM, 46))
    _add("notion-old", "secret_" + _some(ALNUM, 43))
    _add("grafana", f"glsa_{_some(ALNUM, 32)}_{_some(HEX, 8)}")
    _add("new-relic", "NRAK-" + _some(UPPER, 27))
    _add("new-relic-license", _some(HEX, 36) + "NRAL")
    _add("sentry", "sntrys_eyJ" + _some(BASE64, 120) + "_" + _some(BASE64, 43))
    _add("datadog", _some(HEX, 32), "DD_API_KEY: {}")
    _add("jwt", _jwt(), "cookie session={}; path=/")


def _logins() -> None:
    secret = _some(ALNUM, 14)
    for name, scheme in (
        ("postgres", "postgresql"),
        ("mysql", "mysql+pymysql"),
        ("mongodb", "mongodb+srv"),
        ("amqp", "amqps"),
        ("mssql-url", "mssql+pyodbc"),
        ("https", "https"),
    ):
        secret = _some(ALNUM, 14)
        _add(f"url-{name}", secret, f"{scheme}://svc_user:" + "{}@db.internal/main?x=1")
    _add("url-redis", _some(ALNUM, 20), "redis://:{}@cache:6379/0")
    _add("url-signs", _some(ALNUM, 6) + "@" + _some(ALNUM, 5) + "#1", "mysql://root:{}@127.0.0.1:3306/app")
    _add("mssql", "S" + _some(ALNUM, 9) + "!", "Server=tcp:db,1433;User Id=sa;Password={};Encrypt=true")
    _add("jdbc", _some(ALNUM, 12), "jdbc:postgresql://db/main?user=app&password={}&ssl=true")
    _add("curl-user", _some(ALNUM, 12), "curl -s -u deploy:{} https://ci.internal/api")
    _add("bearer", _some(ALNUM, 40), 'curl -H "Authorization: Bearer {}" https://api.internal')
    _add("basic", _b64("deploy:" + _some(ALNUM, 12)).rstrip("="), "Authorization: Basic {}=")
    _add("netrc", _some(ALNUM, 12), "machine ci.internal login deploy password {}")


def _named_values() -> None:
    _add("env", _some(URL_SAFE, 32), "export PAYMENTS_SECRET={}")
    _add("env-hex", _some(HEX, 64), "SECRET_KEY_BASE={}\nRAILS_ENV=production")
    _add("env-quoted", _some(BASE64, 44), "SIGNING_KEY='{}'  # rotate in May")
    _add("env-password", _some(ALNUM, 5) + "#" + _some(ALNUM, 4) + "$2", "DB_PASSWORD={}")
    _add("yaml-password", _some(ALNUM, 12), "database:\n  user: app\n  password: {}\n")
    _add("yaml-quoted", "P" + _some(ALNUM, 7) + "!9", 'admin_password: "{}"')
    _add("json-api-key", _some(ALNUM, 32), '{"user": 1, "api_key": "{}", "n": 2}')
    _add("json-escaped", _some(ALNUM, 32), '"body": "{\\"access_token\\": \\"{}\\", \\"n\\": 1}"')
    _add("json-newline", _some(ALNUM, 32), '"FOO=1\\nAPI_TOKEN={}\\nBAR=2"')
    _add("python", _some(ALNUM, 32), 'API_KEY: str = "{}"')
    _add("javascript", _some(ALNUM, 28), "const config = { clientSecret: '{}' };")
    _add("go", _some(ALNUM, 28), 'authToken := "{}"')
    _add("ruby", _some(ALNUM, 28), ":secret_key => '{}',")
    _add("xml", _some(ALNUM, 14), "<user>app</user><password>{}</password>")
    _add("app-settings", _some(ALNUM, 28), '<add key="PaymentApiKey" value="{}" />')
    _add("kubernetes", _some(ALNUM, 28), "- name: API_TOKEN\n  value: {}\n")
    _add("option", _some(ALNUM, 14), "tool login --password {} --yes")
    _add("dockerfile", _some(ALNUM, 28), "ENV API_TOKEN {}")
    _add("header", _some(ALNUM, 28), "X-Api-Key: {}")
    _add("prose", _some(ALNUM, 6) + "!7" + _some(ALNUM, 4), "the password is {} for now")
    hidden = "ghp" + "_" + _some(ALNUM, 36)
    _add("base64", _b64(f"token={hidden}").rstrip("="), "data:\n  config: {}\n")


for _make in (_private_keys, _clouds, _code_hosts, _services, _logins, _named_values):
    _make()


# Nothing in these is a secret; each line is one text.
_ONE_LINERS = r"""
Use <token> as the password
export GITHUB_TOKEN=<your token here>
API_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
API_KEY=your-api-key
api_key: "your_api_key_here"
SECRET_KEY=changeme
SECRET_KEY=change-me-in-production-please
password: example
PASSWORD=********
token: ***
TOKEN=${GITHUB_TOKEN}
TOKEN=$GITHUB_TOKEN
TOKEN=$(gh auth token)
TOKEN="$(cat /run/secrets/token)"
password: {{ vault_db_password }}
password: "{{ .Values.database.password }}"
api_key = os.environ["OPENAI_API_KEY"]
api_key=os.getenv("OPENAI_API_KEY")
const apiKey = process.env.OPENAI_API_KEY;
apiKey: process.env.STRIPE_SECRET_KEY!
token = import.meta.env.VITE_API_TOKEN
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
[REDACTED:github-token] was in the log
API_TOKEN=[REDACTED:api-key]
password: [REDACTED]
token = get_token()
token = await client.fetch_token(scope="read")
password = input()
password = getpass.getpass("Password: ")
api_key: str
api_key: str | None = None
def login(user: str, password: str) -> Session:
def connect(token: Optional[str] = None, *, api_key: SecretStr = SecretStr("")):
password: string;
secret: Buffer
self.token = token
self._api_key = settings.api_key
token=token, password=password
if token == expected_token:
request.headers["Authorization"] = f"Bearer {token}"
-H "Authorization: Bearer $TOKEN"
-H 'Authorization: Bearer <access_token>'
Authorization: Bearer YOUR_ACCESS_TOKEN_HERE
Authorization: Basic <base64 of user:password>
use Basic authentication with a bearer token over the authorization header
the bearer authentication-middleware is registered first
fixed in 3f2a9c1d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39
commit 9fceb02d0ae598e95dc970b74767f19372d61af8 reverts the key change
git cherry-pick e83c5163316f89bfbde7d9ab23ca2e25604af290
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
image: app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
md5 of the key file: d41d8cd98f00b204e9800998ecf8427e
integrity="sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
hash = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
h1:CjnDlHq8ikf6E492q6eKboGOC0T8CDaOvkHCIg8idEI=
checksum = "8c2e92ba2e06b1fce7bbf5dc5b2e6f1d4a2bdf1fcf8a1f0f7c9d3e5a4b6c7d8e"
cache key: 5d41402abc4b2a76b9719d911017c592
cache-key: npm-linux-9fceb02d0ae598e95dc970b74767f19372d61af8
key: ${{ runner.os }}-pip-${{ hashFiles('**/poetry.lock') }}
key: linux-pip-2024-cache-v3
restore-keys: ubuntu-22.04-node-18-
request id 123e4567-e89b-12d3-a456-426614174000
session: 6ba7b810-9dad-11d1-80b4-00c04fd430c8
token_id: 6ba7b811-9dad-11d1-80b4-00c04fd430c8
secret_name: production-database-password-2024
secretName: tls-wildcard-cert-v2
key_id = 0A1B2C3D4E5F60718293A4B5C6D7E8F9
git@github.com:owner/repository.git
git clone git@gitlab.internal:team/app.git
ssh://git@github.com:22/owner/repository.git
https://github.com/owner/repository/commit/9fceb02d0ae598e95dc970b74767f19372d61af8
https://user:password@host.example/path
postgres://user:pass@localhost:5432/db
postgresql://postgres:postgres@localhost/test
postgres://app:${DB_PASSWORD}@db:5432/app
mongodb://<user>:<password>@cluster0.mongodb.net
redis://localhost:6379/0
amqp://guest:guest@localhost:5672/
http://localhost:3000/@scope/package
http://[::1]:8080/path
https://medium.com/@someone/a-title-8f3c2b1a9d7e
npm install @scope/package@1.2.3
docker run -u 1000:1000 image
curl -u user:password https://example.com
curl -u "$USER:$PASS" https://ci.internal
AKIAIOSFODNN7EXAMPLE is the key of the AWS documentation
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
ghp_ tokens are classic, github_pat_ tokens are fine grained
sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
sk-your-key-here
set OPENAI_API_KEY=sk-...
keys begin with sk-ant-api03- and hf_
Stripe keys look like sk_live_... or sk_test_...
xoxb-your-token-here
eyJhbGciOi... is what a token begins with
the JWT has three parts: header.payload.signature
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
a file that starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY----- is refused
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl user@host
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDhA6oH8n user@host
age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p
SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDKzhBf3UJLLEQ1mZU is the fingerprint
the password must be at least 12 characters with 1 digit
password is required
password is base64-encoded
the token is expired
token: invalid
Secret rotation: every 90 days
PASSWORD_MIN_LENGTH=12
password_hash: $2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW
password_reset_url: https://app.internal/reset/8f3c2b1a
TOKEN_TTL=3600
token_count = 182734
max_tokens: 4096
tokenizer: cl100k_base
num_key_value_heads: 8
author: Someone Else
authors = ["someone"]
keyboard: us-intl-2024
monkey = "bananas1234567890"
primary_key=True
public_key: MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWd5x
topic_key: architecture/auth-token-refresh-2024
partition_key = "tenant#42#2024-05-01"
idempotency-key: 6ba7b814-9dad-11d1-80b4-00c04fd430c8
pk_live_ keys are publishable
foreign key (secret_id) references secrets(id)
PWD=/home/runner/work/project/project
pwd: /srv/app1/releases/20240501
pass: 128 tests, 3 skipped
PASS src/auth/token.test.ts (12.4s)
--token TOKEN      the token to use
--password-file /run/secrets/db1
--api-key <key>
ENV TOKEN_FILE /run/secrets/token
- name: API_TOKEN
<password>your password</password>
<label for="password">Password1</label>
<input type="password" name="password" placeholder="Enter your password">
"password": "Enter your password"
"token": "string"
"secret": null, "token": true
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
base64 of hello world is aGVsbG8gd29ybGQsIHRoaXMgaXMgcGxhaW4gdGV4dA==
UserAuthenticationTokenRefreshServiceImplementationFactoryBean
com.example.auth.token.TokenAuthenticationProvider2
src/engram/core/secrets.py:117: password_policy_check_v2
AC power, SK hynix, EAA standard, key-value store
const KEY_ESCAPE = 27
API_KEY = None
auth: none
OAuth2 with PKCE, secret-less
secretsmanager:GetSecretValue arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-Ab12Cd
password: op://vault/database/password
db_password: ENC[AES256_GCM,data:CwE4O1s=,iv:2k=,tag:o1==,type:str]
PGPASSWORD=$PGPASSWORD psql -h db
token ||= ENV.fetch("API_TOKEN")
if (password.length < 8) throw new Error("short")
password=hashlib.sha256(raw).hexdigest()
the key insight: store tokens by hash, secrets by reference
秘密: パスワードは必須です
la contraseña / password: obligatoria
v1.0-beta.2, 10.0.0.1:8080, 2024-05-01T12:00:00Z
x-request-id: 01ARZ3NDEKTSV4RRFFQ69G5FAV
"""

INNOCENTS: tuple[str, ...] = (
    *_ONE_LINERS.strip().split("\n"),
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n<your key here>\n-----END RSA PRIVATE KEY-----",
    "- name: API_TOKEN\n  valueFrom:\n    secretKeyRef:\n      name: app\n      key: api-token-v1",
    "diff --git a/x b/x\nindex 83db48f..bf2a9c1 100644\n--- a/token.py\n+++ b/token.py",
    "CI_TOKEN=abcdefghijklmnopqrstuvwxyz0123456789  # engram:allow",
    'resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#0e5a8e8b1f0c3c7e1a7f5d6f9b2a4c8d1e3f5a7b"',
)
