"""How a notice is encrypted and signed, by the standard's own example and by others' reading."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec

from tests.runtime.push.services import Browser, PushService, b64, point, unb64
from vivavoce.errors import InvalidRequest, Unavailable
from vivavoce.runtime.push.sealing import FILE, MOST_BYTES, PushKey, padded, sealed

# RFC 8291, appendix A.
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
BROWSER = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
SERVER, SALT = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", "DGv6ra1nlYgDCS1FRnbzlw"
SENT = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
    "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulc"
    "y4a-fN"
)
NOW = datetime(2026, 1, 31, 14, 30, tzinfo=UTC)


def test_the_standards_own_example_comes_out_as_it_says() -> None:
    own = ec.derive_private_key(int.from_bytes(unb64(SERVER), "big"), ec.SECP256R1())
    words = b"When I grow up, I want to be a watermelon"
    assert b64(sealed(words, BROWSER, AUTH, own=own, salt=unb64(SALT))) == SENT


def test_only_its_browser_reads_it_and_no_two_are_the_same() -> None:
    mine, other = Browser(), Browser()
    keys = mine.keys()
    first, second = (sealed(b"hello", keys["p256dh"], keys["auth"]) for _ in range(2))
    assert first != second
    assert mine.read(first) == mine.read(second) == b"hello"
    with pytest.raises(InvalidTag):
        other.read(first)
    with pytest.raises(InvalidTag):
        mine.read(first[:-1] + bytes([first[-1] ^ 1]))


def test_a_size_says_little_and_too_much_is_refused() -> None:
    keys = Browser().keys()
    sizes = {len(sealed(padded(b"x" * n), keys["p256dh"], keys["auth"])) for n in (1, 500, 1024)}
    assert len(sizes) == 1
    assert len(sealed(padded(b"x" * MOST_BYTES), keys["p256dh"], keys["auth"])) == 4096
    with pytest.raises(InvalidRequest):
        sealed(b"x" * (MOST_BYTES + 1), keys["p256dh"], keys["auth"])


OFF_THE_CURVE = b64(b"\x04" + b"\x01" * 64)


@pytest.mark.parametrize("p256dh", ["", "%%", "AAAA", OFF_THE_CURVE, BROWSER[:-2]])
def test_a_key_that_is_none_is_refused(p256dh: str) -> None:
    with pytest.raises(InvalidRequest):
        sealed(b"x", p256dh, AUTH)


def test_a_secret_that_is_none_is_refused() -> None:
    for auth in ("", "AAAA", AUTH + "AA", "!!!!"):
        with pytest.raises(InvalidRequest):
            sealed(b"x", BROWSER, auth)


def test_the_key_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with ThreadPoolExecutor(8) as several:
        keys = list(several.map(lambda _: PushKey.kept(folder).public, range(8)))
    assert len(set(keys)) == 1
    assert PushKey.kept(folder).public == keys[0]
    assert stat.S_IMODE(os.stat(folder / FILE).st_mode) == 0o600
    assert os.listdir(folder) == [FILE]
    (folder / FILE).write_text("nonsense")
    with pytest.raises(Unavailable, match=FILE):
        PushKey.kept(folder)


def test_a_key_of_your_own_is_taken() -> None:
    key = PushKey.of(SERVER)
    own = ec.derive_private_key(int.from_bytes(unb64(SERVER), "big"), ec.SECP256R1())
    assert key.public == b64(point(own.public_key()))
    for wrong in ("", "AAAA", b64(b"\x00" * 32), b64(b"\xff" * 32)):
        with pytest.raises(InvalidRequest):
            PushKey.of(wrong)


def test_it_is_signed_for_one_push_service_for_half_a_day() -> None:
    key = PushKey.of(SERVER, "mailto:ops@voice.example")
    service = PushService(url="https://push.example:8443", public_key=key.public)
    claims = service.signed_by(key.headers(f"{service.url}/a/b?c", NOW)["Authorization"])
    assert claims == {
        "aud": service.url,
        "exp": int((NOW + timedelta(hours=12)).timestamp()),
        "sub": "mailto:ops@voice.example",
    }
    again = key.headers(f"{service.url}/other", NOW + timedelta(minutes=59))
    assert again == key.headers(service.url, NOW), "signing takes a while, and is kept"
    later = key.headers(service.url, NOW + timedelta(hours=2))
    assert later != again
    other = PushService(url="https://other.example", public_key=key.public)
    with pytest.raises(jwt.InvalidAudienceError):
        other.signed_by(later["Authorization"])
