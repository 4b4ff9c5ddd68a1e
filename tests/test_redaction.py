"""Secrets are replaced by a mark that says what was there; honest text stays as it is."""

from __future__ import annotations

import json

import pytest

from vivavoce.language.en.numbers import redact_dictated, redact_encoded
from vivavoce.redaction import redact, redacted, suspicious

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/IBAAKCAQEA7\nabc=\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"

SECRETS = [
    ("my card is 4111 1111 1111 1111, thanks", "my card is [redacted: card number], thanks"),
    ("4111-1111-1111-1111", "[redacted: card number]"),
    ("pay with...4111 1111 1111 1111", "pay with...[redacted: card number]"),
    ("+4111 1111 1111 1111", "+[redacted: card number]"),
    ("to a/4111 1111 1111 1111", "to a/[redacted: card number]"),
    ("me@4111-1111-1111-1111", "me@[redacted: card number]"),
    ("card_4111111111111111", "card_[redacted: card number]"),
    ("_sk-ant-api03-Zq9Xw8Vu7Ts6Rr5Qq4Pp3Oo2", "_[redacted: key]"),
    ("x-sk-ant-api03-Zq9Xw8Vu7Ts6Rr5Qq4Pp3Oo2", "x-[redacted: key]"),
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
    # What somebody from outside tried, and got through with.
    ("GITHUB_TOKEN=abcdef0123456789abcdef0123456789abcdef01", "GITHUB_TOKEN=[redacted: token]"),
    ("token=abcdef0123456789abcdef", "token=[redacted: token]"),
    ("export OPENAI_KEY=abcdef0123456789", "export OPENAI_KEY=[redacted: key]"),
    ("PGPASSWORD=s3cretpw psql", "PGPASSWORD=[redacted: password] psql"),
    ("DBPASSWORD=hunter2x", "DBPASSWORD=[redacted: password]"),
    ("login --password hunter2x now", "login --password [redacted: password] now"),
    ("--token abcdef0123456789abcdef", "--token [redacted: token]"),
    ("--api-key 'abcdef0123'", "--api-key '[redacted: key]'"),
    ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer [redacted: token]"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted: token]"),
    ('{"Authorization": "Basic dXNlcjpwYXNz"}', '{"Authorization": "Basic [redacted: token]"}'),
    ('{"password": "hunter"}', '{"password": "[redacted: password]"}'),
    ("{'db_password': 'open sesame'}", "{'db_password': '[redacted: password]'}"),
    ("password='p(w)d$x1'", "password='[redacted: password]'"),
    ("password=$ecret1234", "password=[redacted: password]"),
    ("password => hunter2x", "password => [redacted: password]"),
    ("otpauth://totp/x?secret=JBSWY3DPEHPK3PXP", "otpauth://totp/x?secret=[redacted: key]"),
    ("AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBe"
     "ksoGMGw==;x", "AccountKey=[redacted: key];x"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
     "https://hooks.slack.com/services/[redacted: key]"),
    ("https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz0123456789",
     "https://discord.com/api/webhooks/[redacted: key]"),
    ("GOCSPX-abcdefghijklmnopqrstuvwx", "[redacted: key]"),
    ("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", "[redacted: key]"),
    ("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\nAAAAIE1234567890abcdefghijklmnop\n"
     "abc=\nPrivate-MAC: 12", "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2 "
     "[redacted: private key]\nPrivate-MAC: 12"),
    ("sk-ant-abcdefghijklmnopqrstuvwx", "[redacted: key]"),
    ("mysql -uroot -phunter2x shop", "mysql -uroot -p[redacted: password] shop"),
    ("curl -u bob:hunter2x https://x", "curl -u bob:[redacted: password] https://x"),
    ("curl -s --user bob:hunter2x https://x", "curl -s --user bob:[redacted: password] https://x"),
    ("4111.1111.1111.1111", "[redacted: card number]"),
    ("4111  1111  1111  1111", "[redacted: card number]"),
    ("4111/1111/1111/1111", "[redacted: card number]"),
    ("4111_1111_1111_1111", "[redacted: card number]"),
    ("#4111111111111111", "#[redacted: card number]"),
    ("card4111111111111111", "card[redacted: card number]"),
    ("3782 8224 6310 005", "[redacted: card number]"),
]  # fmt: skip

BEYOND_ASCII = [
    "4111\u00a01111\u00a01111\u00a01111",
    "4111\u202f1111\u202f1111\u202f1111",
    "4111\u20131111\u20131111\u20131111",
    " ".join(["\uff14" + 3 * "\uff11", *3 * [4 * "\uff11"]]),
    "\uff14" + 15 * "\uff11",
]

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
    "version 4111.1111.1111.1112 of 10.4111111111111111",
    "the password is wrong; password: changed yesterday; secret: practise-every-day",
    "a bearer of news, the basic understanding of tokens, bearer authentication",
    "password = get_password(user), api_key=settings.api_key, token=$TOKEN, secret: ${SECRET1}",
    "PASSWORD=VIVAVOCE_AUTH_TOKEN1 and Optional[api_key: str]",
    "risk-of-something-very-long-1, task-list, ask_1234567890abcdef",
    "test_a_long_function_name_here at http://localhost:8080/x?key2=1 best_st_x",
    "http://localhost:8080/a@b, mailto:ada@example.org, git@example.org:ada/x.git",
    "item_a1b2c3d4e5f6a7b8c9d0, call_0123456789abcdef01234567, task_1, req_0123456789abcdef",
    "the pwd: /home/user1/project, pwd=~/src2, and sk-learn-contrib-package-2",
    "http://host:8080@x, access_key: keyboard-2, headers = {'x-token': imdsv2_session_token}",
    "token: 5 of 12, max_tokens=1024, next_token=page-2, CACHE_KEY=user-profile-12",
    "PRIMARY_KEY=id, PUBLIC_KEY=$PUBLIC_KEY, token=$CI_JOB_TOKEN2, --token $GITHUB_TOKEN",
    "--password-file /run/secrets/db1, --token-ttl 1234567, --password prompt",
    "Authorization: Bearer <token>, Authorization: Bearer your-token-here, authorization: basic",
    "Authorization: Bearer ek_…, Authorization: Bearer $TOKEN, Authorization: Bearer {token1}",
    '{"password": "string", "secret": "${SECRET1}", "token": "", "api_key": "<your key 1>"}',
    '{"password": {"type": "string", "minLength": 8}}, {"type": "password"}',
    "password='{{ vault_password1 }}', password=\"${DB_PASSWORD1}\", password='%(pw1)s'",
    "curl -u $USER:$PASS https://x1, curl -o out1 https://x:8080/u, mysql -p -u root",
    "otpauth://totp/x?issuer=Acme1, https://hooks.slack.com/services/ is where they go",
    "discord card 4111, the card5 of 1111 2222 3333 4444, room 4111/1111, 2026/1117/0001/4242",
    "20261117_220904_1234, 1234_5678, 10.1234.5678.9012, 3782 8224 6310 006",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
]


@pytest.mark.parametrize(("said", "kept"), SECRETS)
def test_a_secret_is_replaced_by_what_it_was(said: str, kept: str) -> None:
    assert redact(said) == kept
    assert redact(kept) == kept, "once is enough"


def test_what_nobody_sees_between_the_groups_of_a_card_hides_none_of_it() -> None:
    for gap in "\u200b\u200c\u200d\u2060\ufeff":
        said = gap.join(("4111", "1111", "1111", "1111"))
        assert redact(said) == "[redacted: card number]"
        for encoded in (json.dumps({"a": said}), json.dumps({"a": said}, ensure_ascii=False)):
            kept = json.loads(redact_encoded(encoded))
            assert kept == {"a": "[redacted: card number]"}


@pytest.mark.parametrize("said", HONEST)
def test_honest_text_is_left_alone(said: str) -> None:
    assert redact(said) == said


@pytest.mark.parametrize(("said", "kept"), SECRETS)
def test_json_stays_json(said: str, kept: str) -> None:
    line = json.dumps({"text": said, "more": ["after", {"n": 1}]})
    assert json.loads(redact(line)) == {"text": kept, "more": ["after", {"n": 1}]}


@pytest.mark.parametrize("said", BEYOND_ASCII)
def test_a_card_number_of_other_signs_is_one_escaped_or_not(said: str) -> None:
    assert redact(f"it is {said}.") == "it is [redacted: card number]."
    for line in (json.dumps({"text": said}), json.dumps({"text": said}, ensure_ascii=False)):
        assert json.loads(redact_encoded(line)) == {"text": "[redacted: card number]"}


@pytest.mark.parametrize(("said", "kept"), SECRETS)
def test_no_secret_is_missed_by_the_first_look(said: str, kept: str) -> None:
    assert suspicious(said)
    assert suspicious(json.dumps(said))


def test_the_first_look_passes_what_every_event_has() -> None:
    event = {"session_id": "vs_20260131_143022_a3f2", "timestamp": "2026-01-31T14:30:22.123456Z",
             "item_id": "item_0123456789abcdef01234567", "transcript": "It is half past nine.",
             "audio_end_ms": 12345678, "duration": 1763417358.123456}  # fmt: skip
    assert not suspicious(json.dumps(event))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"password": ["x", "y"]}, {"password": ["[redacted: password]"] * 2}),
        ({"secret": 12345678}, {"secret": "[redacted: key]"}),
        ({"userPassword": "x"}, {"userPassword": "[redacted: password]"}),
        ({"dbpassword": "x"}, {"dbpassword": "[redacted: password]"}),
        ({"DB_PASS": "abc12345"}, {"DB_PASS": "[redacted: password]"}),
        ({"pass": "hunter2x"}, {"pass": "[redacted: password]"}),
        ({"credentials": "user:pw1"}, {"credentials": "[redacted: password]"}),
        ({"clientSecret": "x"}, {"clientSecret": "[redacted: key]"}),
        *(
            (same, same)
            for same in (
                {"pass": "all 12 of them", "fail": 0},
                {"pass": 12, "token": 5, "tokens": ["five"]},
                {"credentials": "same-origin"},
                {"password": {"type": "string"}, "secret": None, "api_key": True},
                {"bypass": "route66a", "compass": "north1234"},
            )
        ),
    ],
)
def test_a_field_is_known_by_its_name_in_every_spelling(
    given: dict[str, object], kept: dict[str, object]
) -> None:
    assert redacted(given) == kept
    assert json.loads(redact_encoded(json.dumps(given))) == kept


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


def test_the_ids_of_our_own_items_are_no_keys() -> None:
    """What a client tells is matched by them."""
    item = "vv_0123456789abcdef0123456789ab"
    assert redacted(item) == item
    assert item + "cdefgh" not in redacted(f"the key is {item}cdefgh")
