"""Attacks by address, as data: none may reach the network inside. And honest uses: all may.

`public.example` and all names not listed resolve to a public address. A
redirect starts at a public page; a rebinding is a name whose answers change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.tools.web.internet import PUBLIC, PUBLIC6

Names = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Attack:
    url: str
    names: Names = field(default_factory=dict)
    leads: Mapping[str, str] = field(default_factory=dict)
    """From the path of a public page to where it redirects."""


NUMBERS = (
    # Loopback, in every spelling
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/admin",
    "http://127.255.255.254/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://127.0.0.0x1/",
    "http://127.000.000.001/",
    "http://127.0.0.1./",
    "http://127.0.0.1..//",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://１２７.０.０.１/",
    "http://①②⑦.0.0.1/",
    "http://127。0。0。1/",
    "http://127．0．0．1/",
    "http://4294967297/",
    "http://18446744071562067969/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    # IPv6, and IPv4 inside it
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:10.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::80ff:fffe]/",
    "http://[2606:2800:220:1:0:5efe:10.0.0.1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1%25lo]/",
    "http://[fec0::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456:789a::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[100::1]/",
    "http://[5f00::1]/",
    "http://[v1.127.0.0.1]/",
    "http://[127.0.0.1]/",
    # Private, shared, link-local, and the rest that is not the internet
    "http://10.0.0.1/",
    "http://10.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://0xc0a80101/",
    "http://3232235777/",
    "http://100.64.0.1/",
    "http://169.254.1.1/",
    "http://192.0.0.8/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.51.100.7/",
    "http://203.0.113.9/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    # Where clouds keep their keys
    "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "http://2852039166/latest/",
    "http://0251.0376.0251.0376/",
    "http://0xa9fea9fe/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fd00:ec2::254]/latest/",
    "http://[fd20:ce::254]/",
    "http://169.254.170.2/v2/credentials",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/machine",
    "http://192.0.0.192/latest/",
)

SPELLINGS = (
    "http://localhost/",
    "localhost",
    "localhost:8080",
    "http://LOCALHOST:8080/",
    "http://localhost./",
    "http://ｌｏｃａｌｈｏｓｔ/",
    "http://anything.localhost/",
    "http://localhost.localdomain/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata/",
    "http://router.lan/",
    "http://printer.local/",
    "http://nas.home.arpa/",
    "http://vault.corp/",
    "http://public.example@127.0.0.1/",
    "http://127.0.0.1@public.example/",
    "http://user:password@public.example/",
    "http://@public.example/",
    "http://public.example:80@127.0.0.1:80/",
    "http://127.0.0.1\\@public.example/",
    "http://public.example\\@127.0.0.1/",
    "http://127.0.0.1\t/",
    "http://127.0.0.1\n.public.example/",
    "http://public.example\r\nHost: localhost/",
    "http:/\t/127.0.0.1/",
    "http://public.example /",
    "http://public.example\x00.localhost/",
    "http:///127.0.0.1/",
    "http://:80/",
    "http://?@127.0.0.1/",
    "http://-public.example/",
    "http://pub_lic..example/",
    "http://" + "a" * 64 + ".example/",
    "http://public.example/" + "a" * 5000,
    # Ports and schemes
    "http://public.example:22/",
    "http://public.example:25/",
    "http://public.example:6379/",
    "http://public.example:0/",
    "http://public.example:65536/",
    "http://public.example:80:80/",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "FILE://localhost/etc/passwd",
    "ftp://public.example/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict://127.0.0.1:11211/stat",
    "ldap://127.0.0.1/",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "jar:http://127.0.0.1!/",
    "data:text/html,hello",
    "javascript:alert(1)",
    "view-source:http://127.0.0.1/",
    "ws://127.0.0.1/",
)

RESOLVED = (
    ["127.0.0.1"],
    ["::1"],
    ["10.0.0.5"],
    ["169.254.169.254"],
    ["::ffff:127.0.0.1"],
    ["fe80::1%eth0"],
    ["64:ff9b::7f00:1"],
    [PUBLIC, "127.0.0.1"],
    ["127.0.0.1", PUBLIC],
    [PUBLIC, PUBLIC6, "10.0.0.5"],
    [PUBLIC, "fd00::1"],
    [PUBLIC, "168.63.129.16"],
    ["not-an-address"],
    [PUBLIC, ""],
)

LOCATIONS = (
    "http://127.0.0.1/",
    "//127.0.0.1/",
    "http://localhost:8080/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::1]/",
    "http://[::ffff:169.254.169.254]/latest/",
    "http://169.254.169.254/latest/meta-data/",
    "http://rebound.example/",
    "http://user:pw@public.example/",
    "http://public.example:6379/",
    "/\\127.0.0.1/",
    "\\\\127.0.0.1\\",
    "http:\\\\127.0.0.1/",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "ftp://public.example/",
    "gopher://127.0.0.1/",
    "data:text/html,hello",
    "javascript:alert(1)",
    "http://[::1/",
    "/go",  # for ever
)

_REBOUND: Names = {"rebound.example": (["127.0.0.1"],)}

ATTACKS: tuple[Attack, ...] = (
    *map(Attack, NUMBERS),
    *map(Attack, SPELLINGS),
    *(Attack("http://trap.example/", {"trap.example": (answer,)}) for answer in RESOLVED),
    *(Attack("http://public.example/go", _REBOUND, {"/go": to}) for to in LOCATIONS),
    # Public when it is looked at, something else a moment later
    Attack("http://twice.example/go", {"twice.example": ([PUBLIC], ["127.0.0.1"])}, {"/go": "/x"}),
    Attack(
        "http://twice.example/go",
        {"twice.example": ([PUBLIC], [PUBLIC, "10.0.0.1"])},
        {"/go": "http://twice.example:8080/"},
    ),
    Attack(
        "http://a.example/1",
        {"c.example": (["169.254.169.254"],)},
        {"/1": "http://b.example/2", "/2": "http://c.example/3"},
    ),
    Attack(
        "http://a.example/1",
        leads={"/1": "/2", "/2": "/3", "/3": "/4", "/4": "/5", "/5": "http://127.0.0.1/"},
    ),
    Attack("http://a.example/1", leads={f"/{n}": f"/{n + 1}" for n in range(1, 8)}),
    Attack("https://secure.example/go", leads={"/go": "http://public.example/"}),
)


@dataclass(frozen=True)
class Honest:
    said: str
    host: str
    path: str = "/"
    names: Names = field(default_factory=dict)
    leads: Mapping[str, str] = field(default_factory=dict)


HONEST: tuple[Honest, ...] = (
    Honest("python.org", "python.org"),
    Honest("python dot org", "python.org"),
    Honest("HTTPS://Python.ORG", "python.org"),
    Honest("https://python.org./", "python.org"),
    Honest(" <https://example.com/a> ", "example.com", "/a"),
    Honest("//example.com/a", "example.com", "/a"),
    Honest("http://public.example/a?b=c&d=%20e#part", "public.example", "/a?b=c&d=%20e"),
    Honest("http://public.example?q=1", "public.example", "/?q=1"),
    Honest("public.example/caf\u00e9", "public.example", "/caf%C3%A9"),
    Honest("https://münchen.de/", "xn--mnchen-3ya.de"),
    Honest("http://public.example:8080/x", "public.example:8080", "/x"),
    Honest("https://public.example:8443/", "public.example:8443"),
    Honest("http://public.example:80/", "public.example"),
    Honest(f"http://{PUBLIC}/", PUBLIC),
    Honest(f"https://{PUBLIC}/", PUBLIC),
    Honest(f"http://[{PUBLIC6}]/", f"[{PUBLIC6}]"),
    Honest("http://6.example/", "6.example", names={"6.example": ([PUBLIC6, PUBLIC],)}),
    Honest("http://64.example/", "64.example", names={"64.example": ([f"64:ff9b::{PUBLIC}"],)}),
    Honest("http://public.example/go", "public.example", "/there", leads={"/go": "/there"}),
    Honest("http://public.example/a/go", "public.example", "/a/b", leads={"/a/go": "b"}),
    Honest(
        "http://public.example/go",
        "secure.example",
        "/x",
        leads={"/go": "https://secure.example/x"},
    ),
    Honest(
        "http://public.example/1",
        "public.example",
        "/6",
        leads={f"/{n}": f"/{n + 1}" for n in range(1, 6)},
    ),
    Honest("http://public.example/@user/status:1", "public.example", "/@user/status:1"),
    Honest("https://localhost.example/", "localhost.example"),
    Honest("http://internal.example/127.0.0.1", "internal.example", "/127.0.0.1"),
)
