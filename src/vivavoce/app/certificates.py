"""A certificate for `serve --https`: one of yours, or one that is made on the spot and kept.

Phones give a microphone, and browsers a service worker, to secure pages only. So the server can be
its own authority: it makes one once, with a key in the data folder that can vouch for names and
addresses of private networks alone, and with it a certificate for the names and addresses that it
listens on. That is made anew when these are others, or it soon ends. Whoever installs the authority
on a phone sees no warning there.

Needs `cryptography`.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import ssl
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vivavoce.errors import Unavailable
from vivavoce.wire.values import Value

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

FOLDER = "https"
AUTHORITY, CERTIFICATE, KEY, AUTHORITY_KEY = "authority.crt", "server.crt", "server.key", "ca.key"
_AUTHORITY_DAYS, _DAYS = 3650, 397  # longer, and Apple's systems refuse a server's
_RENEWED_BEFORE = timedelta(days=30)
_SKEW = timedelta(hours=1)  # between two machines' clocks
PRIVATE = (
    *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
    *("100.64.0.0/10", "::1/128", "fc00::/7", "fe80::/10"),
)
"""What the authority may vouch for, beside the names of this machine and of `.local`."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Secured(Value):
    """Where the files are; `authority` is for phones to install, where it was made here."""

    certificate: Path
    key: Path
    authority: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Raises `Unavailable` where they do not fit, or cannot be read."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.set_alpn_protocols(["http/1.1"])
        try:
            made.load_cert_chain(self.certificate, self.key, password=_no_password)
        except (OSError, ssl.SSLError) as fault:
            why = fault.strerror or str(fault)
            raise Unavailable(
                f"The certificate cannot be used: {self.certificate}, {self.key}: {why}"
            ) from None
        return made


def _no_password() -> str:
    raise ssl.SSLError("the key has a password; give one without")


# --- Which names and addresses --------------------------------------------------------------


def addresses() -> list[Address]:
    """Of this machine in its networks, those of IPv4 first; without loopback, and without those
    that are good on one link only."""
    import psutil  # most servers have no use for it

    found: dict[Address, None] = {}
    for each in psutil.net_if_addrs().values():
        for one in each:
            if one.family in (socket.AF_INET, socket.AF_INET6):
                with suppress(ValueError):
                    address = ipaddress.ip_address(one.address.partition("%")[0])
                    if not (address.is_loopback or address.is_link_local):
                        found[address] = None
    return sorted(found, key=lambda one: (one.version, one != _first(), int(one)))


def _first() -> Address | None:
    """The one by which this machine reaches others. Nothing is sent."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # of no machine (RFC 5737)
        return ipaddress.ip_address(probe.getsockname()[0])
    return None


def names_for(host: str, more: Iterable[str] = ()) -> list[str]:
    """What somebody may call a server that listens there: addresses, and names of this machine."""
    own = socket.gethostname().lower().rstrip(".")
    named = [own] if "." in own else [own, f"{own}.local"]
    everywhere = host.strip("[]") in ("", "0.0.0.0", "::")  # noqa: S104 # compared, not bound
    near = [str(one) for one in addresses() if vouched_for(str(one))]
    listened = [*named, *near] if everywhere else [host.strip("[]").lower()]
    asked = [name for name in more if name not in ("*", "")]
    return list(dict.fromkeys(["localhost", "127.0.0.1", "::1", *listened, *asked]))


# --- Made on the spot ----------------------------------------------------------------------


def secured(folder: Path, names: Sequence[str]) -> Secured:
    """The certificate of this data folder for all these names, made where there is none that is
    good for a while. Raises `Unavailable`."""
    place = folder / FOLDER
    ready = Secured(certificate=place / CERTIFICATE, key=place / KEY, authority=place / AUTHORITY)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(place, names)
    except ImportError:
        raise Unavailable(
            "A certificate needs one more package: pip install 'vivavoce[https]', or name one of "
            "yours with VIVAVOCE_HTTPS_CERT and VIVAVOCE_HTTPS_KEY"
        ) from None
    except (OSError, ValueError) as fault:
        raise Unavailable(f"No certificate can be made in {place}: {fault}") from fault
    return ready


def _make(place: Path, names: Sequence[str]) -> None:
    from cryptography import x509

    now = datetime.now(UTC)
    authority, key = _authority(place, now)
    outside = [name for name in names if not vouched_for(name)]
    if outside:
        raise ValueError(
            f"{', '.join(outside)} is no name or address of a private network; name a certificate "
            "of yours with VIVAVOCE_HTTPS_CERT and VIVAVOCE_HTTPS_KEY"
        )
    kept = place / CERTIFICATE
    if kept.is_file() and (place / KEY).is_file():
        known = x509.load_pem_x509_certificate(kept.read_bytes())
        by_us = known.issuer == authority.subject
        if (
            by_us
            and known.not_valid_after_utc - now > _RENEWED_BEFORE
            and _names(known) >= {*names}
        ):
            with suppress(Exception):
                known.verify_directly_issued_by(authority)
                return
    _write_server(place, names, authority, key, now)


def _authority(place: Path, now: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    file, secret = place / AUTHORITY, place / AUTHORITY_KEY
    if file.is_file() and secret.is_file():
        known = x509.load_pem_x509_certificate(file.read_bytes())
        key = serialization.load_pem_private_key(secret.read_bytes(), None)
        if known.not_valid_after_utc - now > timedelta(days=_DAYS) and isinstance(
            key, ec.EllipticCurvePrivateKey
        ):
            return known, key
    key = ec.generate_private_key(ec.SECP256R1())
    host = socket.gethostname()
    # A name of its own: two authorities of one machine must not be taken for each other.
    subject = _name(f"Vivavoce on {host[:30]} ({secrets.token_hex(3)})")
    permitted: list[x509.GeneralName] = [
        *(x509.IPAddress(ipaddress.ip_network(one)) for one in PRIVATE),
        *(x509.DNSName(one) for one in ("localhost", "local", host.lower())),
    ]
    made = (
        _begun(subject, subject, key.public_key(), now, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, _sha256())
    )
    _put(secret, _as_pem(key), 0o600)
    _put(file, made.public_bytes(serialization.Encoding.PEM), 0o644)
    return made, key


def _write_server(
    place: Path,
    names: Sequence[str],
    authority: x509.Certificate,
    by: ec.EllipticCurvePrivateKey,
    now: datetime,
) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    known_by = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    made = (
        _begun(authority.subject, _name("Vivavoce"), key.public_key(), now, _DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([*map(_general, names)]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known_by),
            critical=False,
        )
        .sign(by, _sha256())
    )
    _put(place / KEY, _as_pem(key), 0o600)
    _put(place / CERTIFICATE, made.public_bytes(serialization.Encoding.PEM), 0o644)


def _begun(
    issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _name(common: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(**used: bool) -> x509.KeyUsage:
    from cryptography import x509

    every = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
        *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    )
    return x509.KeyUsage(**{name: used.get(name, False) for name in every})


def _sha256() -> Any:
    from cryptography.hazmat.primitives.hashes import SHA256

    return SHA256()


def _general(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def vouched_for(name: str) -> bool:
    """May our own authority say who this is?"""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        return name == "localhost" or name == own or name.endswith((".local", f".{own}"))
    return any(address in ipaddress.ip_network(one) for one in PRIVATE)


def _names(known: x509.Certificate) -> set[str]:
    from cryptography import x509

    held = known.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    numbers = held.get_values_for_type(x509.IPAddress)
    return {*held.get_values_for_type(x509.DNSName), *map(str, numbers)}


def _as_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _put(path: Path, data: bytes, mode: int) -> None:
    """As a whole or not at all, and never readable for others in between."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    own.unlink(missing_ok=True)
    handle = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    own.replace(path)


# --- For whoever stands at the terminal ------------------------------------------------------


def qr_code(url: str) -> str:
    """As a terminal shows it, to be read by a phone; empty where its package is not there."""
    try:
        import segno
    except ImportError:
        return ""
    import io

    shown = io.StringIO()
    segno.make(url, error="l", micro=False).terminal(out=shown, border=2, compact=True)
    return shown.getvalue()
