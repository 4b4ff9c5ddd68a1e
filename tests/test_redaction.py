"""Secrets are replaced by a mark that says what was there; honest text stays as it is."""

from __future__ import annotations

import json

import pytest

from vivavoce.language.en.numbers import redact_dictated
from vivavoce.redaction import redact, redacted

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/IBAAKCAQEA7\nabc=\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"

SECRETS = [
    ("my card is 4111 1111 1111 1111, thanks", "my card is [redacted: card number], thanks"),
    ("4111-1111-1111-1111", "[redacted: card number]"),
    ("card=5555555555554444;", "card=[redacted: card number];"),
    ("mastercard 2223003122003222.", "mastercard [redacted: card number]."),
    ("amex 3782 822463 10005", "amex [redacted: card number]"),
    ("diners 3056 930902 5904", "diners [redacted: card number]"),
    ("jcb 3530111333300000", "jcb [redacted: card number]"),
    ("it is 6011111111111117!", "it is [redacted: card number]!"),
    (f"key:\n{PEM}\nend", "key:\n[redacted: private key]\nend"),
    ("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "[redacted: private key]"),
    (f"token {JWT}", "token [redacted: token]"),
    (f"Authorization: Bearer {JWT}", "Authorization: Bearer [redacted: token]"),
    ("Bearer a1b2c3d4e5f6g7h8i9", "Bearer [redacted: token]"),
    ("use sk-proj-AbCd1234EfGh5678IjKl", "use [redacted: key]"),
    ("stripe sk_live_4eC39HqLyjWDarjtT1zdp7dc", "stripe [redacted: key]"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted: key]"),
    ("glpat-ABCdef1234567890abcd is mine", "[redacted: key] is mine"),
    ("AKIAIOSFODNN7EXAMPLE", "[redacted: key]"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted: key]"),
    ("xoxb-123456789012-abcdefghij", "[redacted: key]"),
    ("hf_abcdefghij0123456789ABCDEFGHIJ", "[redacted: key]"),
    ("password: hunter2x", "password: [redacted: password]"),
    ("DB_PASSWORD=s3cr3t-pass", "DB_PASSWORD=[redacted: password]"),
    ("api_key = 'a1b2c3d4e5'", "api_key = '[redacted: key]'"),
    ("https://x.example/?access_token=abc123def&y=1",
     "https://x.example/?access_token=[redacted: token]&y=1"),
    ("postgresql://ada:hunter2@db/voice", "postgresql://ada:[redacted: password]@db/voice"),
]  # fmt: skip

HONEST = [
    "call me at +49 170 1234567 or (555) 123-4567 or 0049 30 1234 5678",
    "+1 415 555 2671, ext. 4111",
    "order 1234-5678-9012-3456 and order 4000123412341235",
    "tracking 1Z999AA10123456784, invoice 2026-1117-0001-4242",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and b2d70ec",
    "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "id 123e4567-e89b-12d3-a456-426614174000, vs_20261117_220904_ab12cd34",
    "2026-11-17T22:09:18.123456Z, 1763417358123, 1763417358123456",
    "IMEI 356938035643809, EAN 4006381333931, IBAN DE89 3704 0044 0532 0130 00",
    "4111 1111 1111 1112 fails its check digit, 411111111111111 is too short",
    "version 4111.1111.1111.1111 of 10.4111111111111111",
    "the password is wrong; password: changed yesterday; secret: practise-every-day",
    "a bearer of news, the basic understanding of tokens, bearer authentication",
    "password = get_password(user), api_key=settings.api_key, token=$TOKEN, secret: ${SECRET1}",
    "PASSWORD=VIVAVOCE_AUTH_TOKEN1 and Optional[api_key: str]",
    "risk-of-something-very-long-1, task-list, ask_1234567890abcdef",
    "test_a_long_function_name_here at http://localhost:8080/x?key2=1 best_st_x",
    "http://localhost:8080/a@b, mailto:ada@example.org, git@example.org:ada/x.git",
    "item_a1b2c3d4e5f6a7b8c9d0, call_0123456789abcdef01234567, task_1, req_0123456789abcdef",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
]


@pytest.mark.parametrize(("said", "kept"), SECRETS)
def test_a_secret_is_replaced_by_what_it_was(said: str, kept: str) -> None:
    assert redact(said) == kept
    assert redact(kept) == kept, "once is enough"


@pytest.mark.parametrize("said", HONEST)
def test_honest_text_is_left_alone(said: str) -> None:
    assert redact(said) == said


@pytest.mark.parametrize(("said", "kept"), SECRETS)
def test_json_stays_json(said: str, kept: str) -> None:
    line = json.dumps({"text": said, "more": ["after", {"n": 1}]})
    assert json.loads(redact(line)) == {"text": kept, "more": ["after", {"n": 1}]}


def test_a_field_that_is_named_for_a_secret_is_one_whatever_it_looks_like() -> None:
    given = {"user": "ada", "password": "open sesame", "deep": [{"api_key": "abc"}], "port": 8080,
             "secret": "", "token": "$TOKEN", "tokens": "five",
             "Authorization": "Bearer a"}  # fmt: skip
    assert redacted(given) == {
        "user": "ada",
        "password": "[redacted: password]",
        "deep": [{"api_key": "[redacted: key]"}],
        "port": 8080,
        "secret": "",
        "token": "$TOKEN",
        "tokens": "five",
        "Authorization": "Bearer a",
    }


@pytest.mark.parametrize(
    "said",
    [
        "four one one one, one one one one, one one one one, one one one one",
        "Four double one one one one one one one one one one one one one one.",
        "forty-one eleven eleven eleven eleven eleven eleven eleven",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "4111, 1111, 1111, 1111",
    ],
)
def test_a_card_number_that_was_dictated_is_none_the_less_one(said: str) -> None:
    assert redact_dictated(f"it is {said}".rstrip(".")) == "it is [redacted: card number]"


@pytest.mark.parametrize(
    "said",
    [
        *HONEST,
        "one two three four five six seven eight nine ten eleven twelve",
        "four one one one, one one one one, one one one one, one one one two",
        "my number is oh one seven oh, one two three, four five six seven",
        "4, 8, 15, 16, 23, 42, 108, 1111, 1",
        "2024, 2025, 2026, 2027",
    ],
)
def test_numbers_that_are_said_otherwise_stay(said: str) -> None:
    assert redact_dictated(said) == said
