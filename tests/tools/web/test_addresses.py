"""What is public and what is not, beside what Python itself thinks."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.language.en.addresses import Refused, spelled
from vivavoce.tools.web.urls import Rules, kind_of, target_of

CARRIERS = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.216.34",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "64:ff9b::808:808",
    ],
)
def test_the_internet_is_public(address: str) -> None:
    assert kind_of(ip_address(address)) == "public"


@pytest.mark.parametrize(
    "address",
    [
        *("2002:7f00:1::", "2002:a00:1::", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2001::1"),
        *("::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "fec0::1", "0.0.0.0"),
        *("100.64.0.1", "192.0.0.192", "198.18.0.1", "240.0.0.1", "169.254.169.254"),
        *("fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.88.99.1", "5f00::1"),
        *("3fff::1", "2001:db8::1", "2001:20::1"),
    ],
)
def test_what_only_looks_public_is_not(address: str) -> None:
    assert kind_of(ip_address(address)) != "public"


@pytest.mark.parametrize(
    "said",
    [
        *("127.1", "0x7f000001", "http://017700000001/", "https://evil.example\\@good.example"),
        *("http://localhost/", "http://x.internal/", "http://u:p@e.example/", "http://[::1]/"),
        *("http://e.example:22/", "file:///etc/passwd", "http://\u2460\u2461\u2466.0.0.1/"),
        "http://127.0.0.1%2eevil.example/",
        "a" + " " * 200_000 + "x",
    ],
)
def test_an_odd_address_is_refused(said: str) -> None:
    with pytest.raises(Refused):
        target_of(spelled(said), Rules())


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_passes(address: IPv4Address | IPv6Address) -> None:
    if kind_of(address) == "public" and not any(address in one for one in CARRIERS):
        assert not address.is_private
        assert not address.is_multicast
        assert not address.is_reserved
        assert not address.is_loopback
        assert not address.is_link_local


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_by_itself(address: IPv4Address) -> None:
    for carrier in CARRIERS:
        assert kind_of(carrier[int(address)]) == kind_of(address)


@given(st.text(max_size=40))
def test_whatever_is_said_is_refused_or_becomes_one_plain_target(said: str) -> None:
    try:
        target = target_of(spelled(said), Rules())
    except Refused:
        return
    assert target.url.isascii()
    assert target_of(target.url, Rules()) == target


@given(st.integers(0, 2**32 - 1), st.sampled_from(["{}", "0x{:x}", "0{:o}"]))
def test_a_number_written_as_one_is_never_a_host(number: int, form: str) -> None:
    with pytest.raises(Refused):
        target_of(f"http://{form.format(number)}/", Rules())
