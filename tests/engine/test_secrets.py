"""labkit.documents.secrets: what looks like a secret is found, and what stands in for one is not.

Every value here was made up; none opens anything.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given

from conftest import CHECKOUT
from labkit.documents.secrets import Secret, find_secrets
from strategies import any_text

HEX = "9f86d081884c7d659a2feaa0c55ad015"
MIXED = "4f3Kd92mXq71LpZr8TnBa7"
UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
JWT_IO = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0."
    "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)
JWT_OF_A_TUTORIAL = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJqb2huZG9lIiwiZXhwIjoxNDk5ODk0OTI1fQ."
    "a1b2c3d4e5f6a7b8c9d0e1f2"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9Pl"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('password = "hunter2"', "password"),
        ("password: Summer2026!", "password"),
        ("Wi-Fi password: Kestrel-42-Harbour", "password"),
        ("mot de passe\u00a0: Azerty123!", "password"),
        ("**Password:** `k9!fPq2xz`", "password"),
        ("| Password | `k9!fPq2xz` |", "password"),
        ("| password | Hunter2Wolf99 |", "password"),
        ("|**Mot de passe**|Hunter2Wolf99|", "password"),
        (f"| API key | {MIXED} |", "key or token"),
        (f"| api_key | {HEX} |", "key or token"),
        ("<password>Hunter2Wolf99</password>", "password"),
        ("  <db.password encrypted='no'> Hunter2Wolf99 </db.password>", "password"),
        (f"<apiKey>{MIXED}</apiKey>", "key or token"),
        ("curl -u admin:Hunter2Wolf99 https://api.example", "password"),
        ("curl -sS --user 'admin:Hunter2Wolf99'", "password"),
        ("  -uadmin:Hunter2Wolf99 \\", "password"),
        ("pw: Hunter2Wolf99", "password"),
        ("DB_PW=Hunter2Wolf99", "password"),
        ("Mdp\u00a0: Hunter2Wolf99", "password"),
        ("export DB_PASSWORD='k9!fPq2xz'", "password"),
        ("PGPASSWORD=k9fPq2xz psql", "password"),
        ('const password: string = "k9!fPq2xz";', "password"),
        (f'"api_key": "{HEX}"', "key or token"),
        (f"api_key: {MIXED}", "key or token"),
        (f"X-API-Key: {MIXED}", "key or token"),
        (f"client_secret={MIXED}", "key or token"),
        (f"ACME_TOKEN={MIXED}.", "key or token"),
        (f"Authorization: Bearer {MIXED}", "bearer token"),
        (f"curl -H 'Cookie: s={JWT}'", "JSON web token"),
        ("postgresql://app:k9fPq2xz@db.example/prod", "password in an address"),
        ("AKIA" + "Z7Q2M4N6B8V1C3X5", "AWS access key"),
        ("ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a", "GitHub token"),
        ("glpat-" + "x7Kd92mXq71LpZr8TnBa", "GitLab token"),
        ("xoxb-" + "123456789012-AbCdEfGhIjKl", "Slack token"),
        ("sk_live_" + MIXED, "Stripe key"),
        ("sk-proj-" + MIXED, "OpenAI or Anthropic key"),
        ("AIza" + "SyD7Kd92mXq71LpZr8TnBa7Q2M4N6B8V1C3", "Google key"),
    ],
)
def test_a_secret_is_named_by_kind_and_line(line: str, kind: str) -> None:
    assert find_secrets(f"# Title\n\n{line}\n") == [Secret(kind, 3)]


@pytest.mark.parametrize("label", ["", "RSA ", "OPENSSH ", "EC "])
def test_a_private_key_is_found_by_its_first_line(label: str) -> None:
    body = "MIIEowIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJjRazXBZ1BjP5CE"
    text = f"Text.\n-----BEGIN {label}PRIVATE KEY-----\n{body}\n-----END {label}PRIVATE KEY-----\n"
    assert find_secrets(text) == [Secret("private key", 2, lines=3)]


@pytest.mark.parametrize(
    "line",
    [
        # what documentation writes in place of a secret
        'password = "YOUR_PASSWORD"',
        "api_key: YOUR_API_KEY",
        "api_key = my-secret-api-key-123456",
        "token: <token>",
        "token = xxxxxxxxxxxxxxxxxxxxxxxx",
        "token: 12345678901234567890",
        "password: changeme",
        "password: ********",
        'password: "my-super-secret-password"',
        'token: "..."',
        "Authorization: Bearer YOUR_ACCESS_TOKEN",
        "Authorization: Bearer <your-token-here>",
        "postgresql://user:password@localhost/db",
        "postgresql://postgres:postgres@localhost/db",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        # what a page shows to everybody
        f"Authorization: Bearer {JWT_IO}",
        f'{{"access_token": "{JWT_OF_A_TUTORIAL}", "token_type": "bearer"}}',
        f"![Plan](https://files.example/plan.png?alt=media&token={UUID})",
        f"<img src='https://files.example/x.png?token={MIXED}'>",
        f'<iframe src="https://maps.example/embed?share_token={MIXED}&key={MIXED}"></iframe>',
        f"[Our tour](https://maps.example/tour/12?share_token={MIXED})",
        f"[Form](https://files.example/form.pdf?alt=media&amp;token={UUID})",
        "signing key: 3AA5C34371567BD2",
        "The signing key = 0xE1DEC5F3A0B1C2D4E5F60718293A4B5C6D7E8F90 (GPG)",
        # what a program writes there
        "PASSWORD=${DB_PASSWORD}",
        'api_key = os.environ["API_KEY"]',
        "token = settings.auth.token",
        "password = getpass.getpass()",
        'password: "{{ vault.password }}"',
        'if password == "abc123def":',
        'tokenizer = load("bert-base-uncased-2024-v2")',
        # what prose writes there
        "Password: required",
        "password: at least 12 characters",
        "Password: 14-character minimum",
        "The token: it lives 24 hours.",
        "Passwords: SHA-256",
        "api-key: string, 32 characters, see section 12",
        "| token | string | the token that the server gave you in step 12 |",
        "| password | required | from 12 characters |",
        "| Password | SHA-256 | 2026 |",
        "| password | base64url |",
        "| password | PBKDF2-SHA256 |",
        "| password | VARCHAR(255) |",
        "| Password | Tr0ub4dor and more words |",
        "<password>your-password</password>",
        "<password>${DB_PASSWORD}</password>",
        "<password>********</password>",
        "<token>string</token>",
        "curl -u user:password https://api.example",
        "curl -u $USER:$PASS https://api.example",
        "curl -u <user>:<password> https://api.example",
        "curl -u elastic: https://api.example",
        "docker run -u 1000:1000 image",
        "chown -u www-data:www-data",
        "pw: required",
        "PW: see 12-a",
        "Le jeton (token) : 24 heures.",
        "Le mot de passe : douze caractères.",
        "https://example.com/reset-password/how-to-2026",
    ],
)
def test_what_stands_in_for_a_secret_is_none(line: str) -> None:
    assert find_secrets(line) == []


def test_a_line_is_reported_once_and_lines_come_in_order() -> None:
    text = f'password = "hunter2" or token = {MIXED}\n\nghp_{MIXED}{MIXED}\npassword: Summer2026!'
    assert [secret.line for secret in find_secrets(text)] == [1, 3, 4]


@given(any_text, any_text)
def test_no_text_raises_and_the_value_is_never_told(before: str, after: str) -> None:
    value = "k9!fPq2xzW"
    for secret in find_secrets(f'{before}\npassword = "{value}"\n{after}'):
        assert value not in secret.kind
        assert secret.line >= 1


@pytest.mark.parametrize(
    "piece",
    ["a://", "://a:", "password ", "password:x", 'password="', "token=", "Bearer ", "sk-a-",
     "<password", "<password>", "<password a", " -u", "-ua:", "--user a:", "| password |", "pw",
     "eyJa-", "eyJaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "x", "xyz", "pass"],
)  # fmt: skip
def test_a_hostile_text_takes_no_longer_than_its_length_allows(piece: str) -> None:
    text = "password: " + piece * (200_000 // len(piece)) + "q"
    start = time.perf_counter()
    find_secrets(text)
    assert time.perf_counter() - start < 10  # the square of its length would take minutes


# --- how often it cries wolf ----------------------------------------------------------------------


def alarms(root: Path) -> dict[str, list[Secret]]:
    texts = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in root.rglob("*")
        if path.suffix in {".md", ".txt"}
    }
    return {name: found for name, text in sorted(texts.items()) if (found := find_secrets(text))}


def test_in_the_knowledge_corpus_exactly_the_planted_file_is_reported() -> None:
    planted = [Secret("key or token", 19), Secret("password", 20)]
    assert alarms(CHECKOUT / "corpus/knowledge") == {"api/token-rotation-example.md": planted}


@pytest.mark.parametrize("folder", ["corpus/starter", "docs", "notebooks"])
def test_in_other_texts_of_this_lab_nothing_is(folder: str) -> None:
    assert alarms(CHECKOUT / folder) == {}


@pytest.mark.real_data
def test_in_168_real_files_nothing_is(real_data: Path) -> None:
    assert alarms(real_data / "markdown") == {}
