"""`serve --https`: certificates that are made and kept, what they can vouch for, and a whole server
that speaks TLS to others and to itself."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID
from websockets.asyncio.client import connect

from tests.journeys.process import free_port
from vivavoce.app import certificates
from vivavoce.app.certificates import Secured, addresses, names_for, qr_code, secured
from vivavoce.app.listen import for_phones
from vivavoce.app.settings import SettingsError, load_settings
from vivavoce.errors import Unavailable

TOKEN = "a-token-that-is-long-enough"
HOME = ["localhost", "127.0.0.1", "::1"]


def shaken(made: Secured, name: str) -> None:
    """A handshake as a browser makes it, which knows the authority and asks for that name."""
    assert made.authority is not None
    client = ssl.create_default_context(cafile=str(made.authority))
    _shake(made.context(), client, name)


def _shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    one, two = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        server.wrap_bio(one, two, server_side=True),
        client.wrap_bio(two, one, server_hostname=name),
    ]
    while sides:
        for side in list(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                pass


def test_a_certificate_is_made_once_for_the_names_that_are_listened_on(tmp_path: Path) -> None:
    names = [*HOME, "192.168.1.20", "kitchen.local"]
    made = secured(tmp_path, names)
    for name in names:
        shaken(made, name)
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(made, "192.168.1.21")
    before = made.certificate.read_bytes()
    assert secured(tmp_path, names[:3]).certificate.read_bytes() == before, "fewer are in it"
    assert stat.S_IMODE(os.stat(made.key).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "https" / "ca.key").st_mode) == 0o600
    known = x509.load_pem_x509_certificate(before)
    assert known.not_valid_after_utc - datetime.now(UTC) < timedelta(days=398)


def test_another_address_gets_another_certificate_of_the_same_authority(tmp_path: Path) -> None:
    first = secured(tmp_path, HOME)
    assert first.authority is not None
    authority, before = first.authority.read_bytes(), first.certificate.read_bytes()
    again = secured(tmp_path, [*HOME, "10.1.2.3"])
    shaken(again, "10.1.2.3")
    assert again.certificate.read_bytes() != before
    assert first.authority.read_bytes() == authority, "what phones have installed stays good"


def test_one_that_soon_ends_is_made_anew(tmp_path: Path) -> None:
    made = secured(tmp_path, HOME)
    before = made.certificate.read_bytes()
    with patch.object(certificates, "_RENEWED_BEFORE", timedelta(days=398)):
        assert secured(tmp_path, HOME).certificate.read_bytes() != before


def test_the_authority_cannot_vouch_for_anybody_outside(tmp_path: Path) -> None:
    """Its key is a file: whoever has it must not be able to be a bank."""
    made = secured(tmp_path, HOME)
    assert made.authority is not None
    authority = x509.load_pem_x509_certificate(made.authority.read_bytes())
    by = serialization.load_pem_private_key((tmp_path / "https/ca.key").read_bytes(), None)
    assert isinstance(by, ec.EllipticCurvePrivateKey)
    for name in (x509.DNSName("bank.example"), x509.IPAddress(ipaddress.ip_address("8.8.8.8"))):
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        stolen = (
            x509.CertificateBuilder()
            .issuer_name(authority.subject)
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Bank")]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([name]), critical=False)
            .sign(by, SHA256())
        )
        pem = serialization.Encoding.PEM
        (tmp_path / "bad.crt").write_bytes(stolen.public_bytes(pem))
        (tmp_path / "bad.key").write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        bad = Secured(
            certificate=tmp_path / "bad.crt", key=tmp_path / "bad.key", authority=made.authority
        )
        with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree"):
            shaken(bad, str(name.value))


@pytest.mark.parametrize("name", ["voice.example", "8.8.8.8", "2001:4860:4860::8888"])
def test_a_name_outside_wants_a_certificate_of_yours(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unavailable, match="VIVAVOCE_HTTPS_CERT"):
        secured(tmp_path, [*HOME, name])


def test_a_certificate_of_yours_is_used_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    made, other = secured(tmp_path / "a", HOME), secured(tmp_path / "b", HOME)
    Secured(certificate=made.certificate, key=made.key).context()
    for key in (other.key, tmp_path / "nowhere"):
        with pytest.raises(Unavailable, match="cannot be used"):
            Secured(certificate=made.certificate, key=key).context()
    with pytest.raises(SettingsError, match="VIVAVOCE_HTTPS_KEY"):
        load_settings(https_cert=made.certificate)
    assert load_settings(https_cert=made.certificate, https_key=made.key).is_secure


def test_it_is_for_all_private_addresses_of_a_machine_that_listens_everywhere() -> None:
    found = names_for("0.0.0.0", ["voice.local"])
    assert found[:3] == HOME
    assert "voice.local" in found
    assert socket.gethostname().lower() in found
    for address in addresses():
        assert not address.is_loopback
        assert not address.is_link_local
    assert names_for("192.168.7.1") == [*HOME, "192.168.7.1"]


def test_a_phone_is_shown_an_address_that_it_can_reach_and_no_token(tmp_path: Path) -> None:
    made = secured(tmp_path, HOME)
    (told,) = for_phones("127.0.0.1", 8443, made)
    assert "--host 0.0.0.0" in told
    lines = for_phones("192.168.1.20", 8443, made)
    assert lines[-2] == "From a phone: https://192.168.1.20:8443"
    assert "https://192.168.1.20:8443/authority.crt" in lines[-1]
    assert "\n".join(lines[:-2]) == qr_code("https://192.168.1.20:8443").rstrip("\n")
    assert len(lines) > 10


# --- A whole server -----------------------------------------------------------------------


@asynccontextmanager
async def served(
    tmp_path: Path, *options: str, **settings: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    port = free_port()
    own = {name: value for name, value in os.environ.items() if "VIVAVOCE" not in name}
    kept = os.environ.get("VIVAVOCE_MODELS_DIR")
    environment = own | {
        "VIVAVOCE_DATA_DIR": str(tmp_path / "data"),
        "VIVAVOCE_WORKSPACE": str(tmp_path / "work"),
        **({"VIVAVOCE_MODELS_DIR": kept} if kept else {}),
        **settings,
    }
    words = ["-m", "vivavoce", "serve", "--https", "--port", str(port), *options]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        cwd=tmp_path,
        env=environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process, port
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.communicate()


async def trusting(tmp_path: Path, process: Any) -> ssl.SSLContext:
    authority = tmp_path / "data" / "https" / "authority.crt"
    async with asyncio.timeout(30):
        while not authority.is_file() or not (authority.parent / "server.crt").is_file():
            assert process.returncode is None
            await asyncio.sleep(0.05)
    return ssl.create_default_context(cafile=str(authority))


async def up(http: httpx.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                if (await http.get("/ready")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)


async def test_beyond_this_machine_it_wants_authentication_with_tls_too(tmp_path: Path) -> None:
    async with served(tmp_path, "--host", "0.0.0.0") as (process, _):
        _, said = await process.communicate()
        assert process.returncode == 2
        assert b"without authentication" in said
        assert not (tmp_path / "data" / "https").exists()


async def test_a_server_speaks_tls_to_others_and_reaches_its_own_engine(tmp_path: Path) -> None:
    given = {
        "VIVAVOCE_AUTH": "token",
        "VIVAVOCE_AUTH_TOKEN": TOKEN,
        "VIVAVOCE_BRAIN": "scripted",
        "VIVAVOCE_AGENT": "flux",
    }
    listening = served(tmp_path, "--host", "0.0.0.0", **given)
    async with listening as (process, port):
        trust = await trusting(tmp_path, process)
        near = [one for one in names_for("0.0.0.0") if one[0].isdigit() and one != "127.0.0.1"]
        for host in ["127.0.0.1", "localhost", *near[:1]]:
            url = f"https://{host}:{port}"
            async with httpx.AsyncClient(verify=trust, base_url=url, timeout=20) as http:
                await up(http)
                assert (await http.get("/")).status_code == 200
                assert (await http.get("/status")).status_code == 401
                given_out = await http.get("/authority.crt")
                assert given_out.headers["content-type"] == "application/x-x509-ca-cert"
                assert b"PRIVATE" not in given_out.content
        foreign = {"origin": f"http://localhost:{port}"}
        bearer = {"authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(
            verify=trust, base_url=f"https://localhost:{port}", headers=bearer, timeout=20
        ) as http:
            assert (await http.get("/sessions", headers=foreign)).status_code == 403
            # The session is made at the engine inside, over our own way to it.
            opened = (await http.post("/session", json={})).json()
            assert opened["provider"] == "embedded"
            key = {"authorization": f"Bearer {opened['client_secret']['value']}"}
            audio = (await http.post("/audio", headers=key)).json()
            line = f"wss://localhost:{port}{audio['url']}"
            async with connect(line, ssl=trust, subprotocols=audio["protocols"]) as socket_:
                assert "session.created" in str(await socket_.recv())
        with pytest.raises(httpx.HTTPError):
            async with httpx.AsyncClient() as http:
                await http.get(f"http://127.0.0.1:{port}/health")
