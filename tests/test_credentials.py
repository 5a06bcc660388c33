"""Credentials are found by shape, ordinary text passes untouched, and no value is ever repeated (case A2).

Every value here is made up, and put together from pieces so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import string
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.credentials import find_secrets

ALNUM = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6" * 4
HEX = "0123456789abcdef" * 5


def _part(data: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


SECRETS = {
    "AWS Access Key": [
        "AKIA" + "IOSFODNN7EXAMPLE",
        f"aws_secret_access_key = '{ALNUM[:40]}'",
        "aws_secret_access_key=" + ALNUM[:40],
        "AWS_SECRET_ACCESS_KEY: " + "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
    ],
    "Azure Storage Account access key": ["AccountKey=" + ALNUM[:86] + "=="],
    "Basic Auth Credentials": [
        "postgres://u:" + "pw@h/db",
        "redis://:" + "s3cret@cache:6379/0",
        "amqp://guest:" + "p!w$d@mq",
        "mysql://root:" + "%40pass@h",
    ],
    "Discord Bot Token": ["M" + ALNUM[:23] + "." + ALNUM[:6] + "." + ALNUM[:27]],
    "GitHub Token": ["ghp_" + ALNUM[:36], "ghs_" + ALNUM[:24], "github_pat_" + ALNUM[:22] + "_" + ALNUM[:40]],
    "GitLab Token": ["glpat-" + ALNUM[:20]],
    "Google API key": ["AIza" + ALNUM[:35]],
    "Google OAuth token": ["ya29." + ALNUM[:40]],
    "Hugging Face token": ["hf_" + ALNUM[:34]],
    "JSON Web Token": [".".join((_part({"alg": "HS256"}), _part({"sub": "1"}), ALNUM[:43]))],
    "Mailchimp Access Key": [HEX[:32] + "-us12"],
    "NPM tokens": ["//registry.npmjs.org/:_authToken=" + "npm_" + ALNUM[:36], "npm_" + ALNUM[:36]],
    "OpenAI Token": ["sk-" + ALNUM[:20] + "T3Blbk" + "FJ" + ALNUM[:20], "sk-proj-" + ALNUM[:40]],
    "API key": ["sk-ant-api03-" + ALNUM[:40], "sk-" + ALNUM[:32]],
    "Private Key": [
        "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----BEGIN ENCRYPTED " + "PRIVATE KEY-----",
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----\\nb3BlbnNzaC1r",
        "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----",
        "---- BEGIN SSH2 ENCRYPTED " + "PRIVATE KEY ----",
        "PuTTY-User-" + "Key-File-3: ssh-ed25519",
    ],
    "PyPI Token": ["pypi-" + "AgEIcHlwaS5vcmc" + ALNUM[:80]],
    "SendGrid API Key": ["SG." + ALNUM[:22] + "." + ALNUM[:43]],
    "Slack Token": [
        "xoxb-" + "123456789012-" + "abcdef123456",
        "https://hooks.slack.com" + "/services/T0A/B0B/" + ALNUM[:24],
    ],
    "Square OAuth Secret": ["sq0csp-" + ALNUM[:43]],
    "Stripe Access Key": ["sk_live_" + ALNUM[:24], "rk_test_" + ALNUM[:30]],
    "Telegram Bot Token": ["1234567890:" + ALNUM[:35]],
    "Twilio API Key": ["SK" + HEX[:32]],
    "Bearer token": [
        "Authorization: Bearer " + ALNUM[:32],
        "curl -H 'authorization: bearer " + "0a1b2c3d4e'",
        "use Bearer " + "abcdefghijklmnopqrstuvwxyz please",
        'headers={"Authorization": "Bearer ' + '9f8e7d6c5b4a"}',
    ],
}

CONTROLS = [
    "rotate the API key monthly",
    "fixed in 3f2a9c1b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a",
    "the aws key rotation landed in 3f2a9c1b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a",
    "aws key '3f2a9c1b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a'",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "01JDXK3Q8ZV5T9W2M4N6P8R0S1",
    'token = os.environ["TOKEN"]',
    "password = input()",
    'password = getpass("Password: ")',
    "headers = {'Authorization': f'Bearer {token}'}",
    "headers={'Authorization': 'Bearer valid_token'}",
    "Authorization: Bearer <token>",
    "Authorization: Bearer my-test-token-12",
    "Bearer token-based-authentication-2",
    "new WebClient('xoxb-your-slack-token')",
    "stripe.api_key = 'sk_live_your_secret_key_here'",
    "postgres://user:your_password@localhost/db",
    "Authorization: Bearer $ACCESS_TOKEN_2",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_2",
    "send it as a bearer token, the bearer authentication scheme",
    "Bearer yourPersonalAccessTokenGoesHere",
    "the bearer of bad news was internationalization",
    "postgres://$USER:$PASSWORD@localhost/db",
    "https://<user>:<password>@example.test/",
    "https://{user}:{token}@example.test/",
    "https://user:****@example.test/",
    "clone git@github.com:owner/repo.git or ssh://git@host:22/x",
    "http://localhost:8080/@scope/package and mail ana@example.test",
    "task-force-delta-2024-and-more-words, risk-management-framework-2023",
    "sk-learn-contrib-pipelines-and-models-2024",
    "the file starts with BEGIN RSA PRIVATE KEY between dashes",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "APCentral AKCollege ASIA PACIFIC ACCA",
    "AKIA is the prefix of access key ids, ghp_ of GitHub tokens, sk- of others",
    "export GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}",
    "the JWT refresh token has a race condition; eyJ is how they begin",
    "2026-11-30 10:00:00,123 INFO 12345678:started",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAAKIAIOSFODNN7EXAMPLE9TXL0Y4OHwAAAABJRU5Erk",
    "设备清单与备份计划：每月轮换一次密钥",
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in SECRETS.items() for text in texts])
def test_each_shape_is_found_with_its_line(kind, text):
    found = find_secrets(f"first line\n\nsecond: {text} and more\nlast")
    assert (3, kind) in found


@pytest.mark.parametrize("text", CONTROLS)
def test_ordinary_text_passes(text):
    assert find_secrets(text) == []


def test_all_the_lines_are_named_once_each():
    text = "ok\n" + "ghp_" + ALNUM[:36] + "\nok\n" + "ghp_" + ALNUM[:36] + " ghp_" + ALNUM[1:37]
    assert find_secrets(text) == [(2, "GitHub Token"), (4, "GitHub Token")]


def test_windows_line_ends_count_as_one():
    assert find_secrets("a\r\nb\r\n" + "ghp_" + ALNUM[:36] + "\r\n") == [(3, "GitHub Token")]


@pytest.mark.parametrize("text", [t for texts in SECRETS.values() for t in texts])
def test_the_value_is_not_repeated(text):
    value = max(text.split(), key=len)
    assert all(value not in kind for _, kind in find_secrets(text))


@given(st.integers(0, 9000))
def test_a_key_is_found_anywhere_in_a_long_line(before):
    assert find_secrets("word " * (before // 5) + "ghp_" + ALNUM[:36] + " word" * 500) == [(1, "GitHub Token")]


@given(st.text(st.sampled_from(string.ascii_lowercase + " .,'-\n"), max_size=300))
def test_prose_in_lower_case_is_never_a_secret(text):
    # The one way for such letters to be opaque: a bearer value longer than any word.
    assert [kind for _, kind in find_secrets(text) if kind != "Bearer token"] == []


@pytest.mark.parametrize("line", ["/" * 60_000, "://" + "a:" * 30_000, "Bearer " + "a-" * 30_000, "aws " * 15_000])
def test_hostile_lines_end(line):
    assert find_secrets(line) == []


def test_clean_text_does_not_load_the_detectors():
    code = (
        "import sys; from atlas.credentials import find_secrets;"
        "find_secrets('Rotate the API key monthly; see https://example.test/a@b and task-force notes.' * 50);"
        "sys.exit('detect_secrets' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
