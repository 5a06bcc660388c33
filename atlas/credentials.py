"""Credentials in text: found by their shape, named by kind and line, never repeated.

Shapes with a fixed mark (`AKIA…`, `ghp_…`, `user:password@`) are found; mere randomness is not a finding, because
commit hashes, UUIDs and digests are what notes are full of. detect-secrets knows most shapes; `_OWN` adds the others.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Protocol

# Every finding contains one of these. Text is nearly always clean, and must not pay 0.12 s to import detect-secrets.
# One pattern each, with fixed letters first: as one pattern of alternatives they took five times as long.
_HINTS = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        *(r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}", r"(?i:aws).{0,60}?[0-9a-zA-Z/+]{40}", r"AccountKey="),
        *(r"://[^\s/@]*@", r"gh[pousr]_\w{20}", r"github_pat_", r"gl[a-z]{2,5}-[\w-]{20}", r"GR1348941"),
        *(r"x(?:ox[a-z]|app)-", r"hooks\.slack\.com/", r"k_(?:live|test)_", r"whsec_", r"eyJ[\w-]{8}", r"sk-[\w-]{20}"),
        *(r"_authToken=", r"npm_\w{20}", r"pypi-AgE", r"(?:AC|SK)[a-z0-9]{32}", r"SG\.[\w-]{22}\.", r"sq0csp-"),
        *(r"-us\d", r":[\w-]{35}", r"[MNO][\w-]{23,25}\.[\w-]{6}\.", r"PRIVATE KEY"),
        *(r"PuTTY-User-Key", r"(?i:bearer)\s+[\"']?[\w.~+/=-]{8}", r"AIza", r"ya29\.", r"GOCSPX-", r"hf_\w{20}"),
        *(r"do[opr]_v1_", r"shp[a-z]{2}_", r"AGE-SECRET-KEY-"),
    )
)

# Left out: entropy and `password = …` detectors (they refuse ordinary code), Artifactory (takes `APCentral`), IBM,
# SoftLayer and Cloudant (any long value called key), private keys (takes prose that only names such a header).
_PLUGINS = (
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("basic_auth", "BasicAuthDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("gitlab_token", "GitLabTokenDetector"),
    ("jwt", "JwtTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("openai", "OpenAIDetector"),
    ("pypi_token", "PypiTokenDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"),
    ("twilio", "TwilioKeyDetector"),
)

_PRIVATE_KEY = "Private Key"
# The lines below the header of a private key, and what stands for a value: no word, and nothing to YAML.
_KEY_BODY = re.compile(r"^[ \t>]*[A-Za-z0-9+/=]{16,}[ \t\r]*$", re.MULTILINE)
_BLOT = "•••"

# What may follow `Bearer`, and is not words joined by signs, as samples write it: `valid_token`, `my-test-token-2`.
_OPAQUE = r"[\w.~+/=-]"
_BEARER = rf"(?i:\bbearer)\s+[\"']?(?![A-Za-z]+(?:[_-][A-Za-z]+)+[_-]?\d{{0,3}}(?!{_OPAQUE}))"
# (kind, pattern); group 1 is the value. Kinds that detect-secrets also has bear its name, so a line counts once.
_OWN = tuple(
    (kind, re.compile(pattern, re.ASCII))
    for kind, pattern in (
        (_PRIVATE_KEY, r"(-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|PuTTY-User-Key-File-\d)"),
        (_PRIVATE_KEY, r"(AGE-SECRET-KEY-1[0-9A-Z]{30,})"),
        ("AWS Access Key", r"(?i:aws).{0,40}?[\s=:\"']([0-9a-zA-Z/+]{40})(?![0-9a-zA-Z/+=])"),
        ("Basic Auth Credentials", r"://[^\s/:@\"'<>]*:([^\s/@\"']+)@"),
        ("GitHub Token", r"(?<!\w)(gh[pousr]_\w{20,}|github_pat_\w{20,})"),
        ("Slack Token", r"(?<!\w)(xox[a-z]-(?=[\w-]*\d)[\w-]{10,}|xapp-\d[\w-]{10,})"),
        ("Stripe Access Key", r"(?<!\w)([rs]k_(?:live|test)_\w{16,}|whsec_\w{16,})"),
        ("OpenAI Token", r"(?<![\w-])sk-proj-([\w-]{20,})"),
        ("API key", r"(?<![\w-])(sk-(?=[\w-]*\d)(?=[\w-]*[A-Za-z0-9]{16})[\w-]{20,})"),
        ("Google API key", r"(?<!\w)(AIza[\w-]{35})(?![\w-])"),
        ("Google OAuth token", r"(?<!\w)(ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})"),
        ("Hugging Face token", r"(?<!\w)(hf_[A-Za-z0-9]{30,})"),
        ("NPM tokens", r"(?<!\w)(npm_[A-Za-z0-9]{36})(?!\w)"),
        ("DigitalOcean token", r"(?<!\w)(do[opr]_v1_[0-9a-f]{64})"),
        ("Shopify token", r"(?<!\w)(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})"),
        ("Bearer token", rf"{_BEARER}((?={_OPAQUE}*\d)(?={_OPAQUE}*[A-Za-z]){_OPAQUE}{{16,}})"),
        ("Bearer token", rf"{_BEARER}((?!(?i:your|my|the|some))[A-Za-z]{{24,}})"),
        ("Bearer token", rf"(?i:\bauthorization)\b.{{0,9}}{_BEARER}((?={_OPAQUE}*\d){_OPAQUE}{{8,}})"),
    )
)
# What stands where a secret would: `<token>`, `{token}`, `$TOKEN`, `%s`, `***`, `xxxx`, `YOUR_TOKEN`.
_PLACEHOLDER = re.compile(
    r"<.*>|\{.*\}|\[.*\]|\$\{?[A-Za-z_]\w*\}?|%(?:\(\w+\))?s|%\w+%|[*.…]+|[xX]{3,}|[A-Z0-9]+(?:_[A-Z0-9]+)+"
    r"|.*(?i:your)[_-].*",
    re.DOTALL,
)
# Mere digests, which some plugins take when the word `aws` or `key` stands near.
_DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")

# Lines are looked at in windows: the patterns of some plugins take quadratic time on a line of a megabyte.
_WINDOW, _OVERLAP = 4096, 512


class _Plugin(Protocol):
    secret_type: str

    def analyze_string(self, string: str) -> Iterator[str]:
        """Every value of this kind in one line."""


def find_secrets(text: str) -> list[tuple[int, str]]:
    r"""(line, kind) of everything that looks like a credential, in order; lines count from 1. Values are not returned.

    >>> find_secrets("rotate the API key monthly"), find_secrets("db:\n  postgres://u:pw@h/db")
    ([], [(2, 'Basic Auth Credentials')])
    """
    if not _hinted(text):
        return []
    found: set[tuple[int, str]] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        found.update((number, kind) for kind, _ in _values(line))
    return sorted(found)


def masked(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text with such values blotted out, line for line, and what `find_secrets` says of it.

    >>> masked("db: postgres://u:tr0ub4dor@h/db")
    ('db: postgres://u:•••@h/db', [(1, 'Basic Auth Credentials')])
    """
    found = find_secrets(text)
    if not found:
        return text, found
    lines = text.split("\n")
    for number in {number for number, _ in found}:
        lines[number - 1] = _blotted(lines[number - 1])
    rest = "\n".join(lines)
    has_key = any(kind == _PRIVATE_KEY for _, kind in found)
    return _KEY_BODY.sub(_BLOT, rest) if has_key else rest, found


def _blotted(line: str) -> str:
    """One line without the values in it; what follows the header of a private key goes too."""
    for kind, value in sorted(_values(line), key=lambda pair: (-len(pair[1]), pair)):
        before, found, after = line.partition(value)
        if found:
            line = before + _BLOT + ("" if kind == _PRIVATE_KEY else after.replace(value, _BLOT))
    return line


def _hinted(text: str) -> bool:
    return any(hint.search(text) for hint in _HINTS)


def _windows(line: str) -> Iterator[str]:
    if len(line) <= _WINDOW:
        yield line
        return
    for start in range(0, len(line), _WINDOW - _OVERLAP):
        yield line[start : start + _WINDOW]


def _values(line: str) -> set[tuple[str, str]]:
    """(kind, value) of every credential in one line."""
    found: set[tuple[str, str]] = set()
    for piece in filter(_hinted, _windows(line)):
        found.update((kind, m[1]) for kind, pattern in _OWN for m in pattern.finditer(piece) if _is_value(m[1]))
        for plugin in _plugins():
            values = (v for v in plugin.analyze_string(piece) if _is_value(v) and _stands_alone(v, piece))
            found.update((plugin.secret_type, value) for value in values)
    return found


def _is_value(value: str) -> bool:
    return not _PLACEHOLDER.fullmatch(value) and not _DIGEST.fullmatch(value)


def _stands_alone(value: str, line: str) -> bool:
    """Whether the value begins a word: twenty capitals amid an encoded picture are no access key."""
    at = line.find(value)
    return at <= 0 or not (value[0].isalnum() and line[at - 1].isalnum())


@cache
def _plugins() -> tuple[_Plugin, ...]:
    """The chosen detectors, imported when a line first needs them."""
    return tuple(
        getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)() for module, name in _PLUGINS
    )
