"""What strangers and users try at the doors, as data: none may get more than it is due.

`{…}` in a path, a header or a body is filled in when it is tried: `{ada.session_id}` is a real id
of another user's, `{eve}` a good token of one's own, `{eve.key}` a browser's key. `answers` is what
may come back; whatever comes, it must hold nothing of the other user's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Mode = Literal["jwt", "token", "off"]
EVERY: tuple[Mode, ...] = ("jwt", "token", "off")
REFUSED = frozenset({400, 401, 403, 404, 405, 409, 413, 415, 422, 431})


@dataclass(frozen=True)
class Knock:
    name: str
    method: str
    path: str
    headers: Mapping[str, str] | tuple[tuple[str, str], ...] = field(default_factory=dict)
    body: Any = None
    """Bytes and text go as they are, anything else as JSON."""
    answers: frozenset[int] = REFUSED
    modes: tuple[Mode, ...] = ("jwt",)


def _as(who: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {{{who}}}", **more}


ME = "/api/v1/me"

# --- Who somebody is ----------------------------------------------------------------------------

TOKENS = tuple(
    Knock(f"a JWT {name}", "GET", ME, _as(f"jwt:{name}"), answers=frozenset({401, 403}))
    for name in (
        *("without a signature", "with the algorithm none", "with NONE in mixed case"),
        *("signed with a guess", "signed by an empty secret", "signed with HS384"),
        *("signed with HS512", "of yesterday", "of tomorrow", "without an end"),
        *("without a beginning", "for another audience", "for nobody", "of another issuer"),
        *("of an issuer with a slash more", "without a subject", "with an empty subject"),
        *(
            "with a list as its subject",
            "with a path as its subject",
            "with a number as its subject",
        ),
        *("with a line break in its subject", "with a subject of 129 characters"),
        *("with its end in words", "that is older than a day"),
        *(
            "with critical headers",
            "that is cut",
            "with one letter changed",
            "with its parts swapped",
        ),
        *("of 9000 characters", "with a signature in another alphabet", "twice its own length"),
        *("in JSON form", "that is encrypted"),
        *("of a user named operator", "of a user named local"),
    )
)

IN_THE_WRONG_PLACE = (
    Knock("a JWT in the address of a stream", "GET", "/events?token={eve}"),
    Knock("a JWT in the address beside a good one", "GET", "/events?token={ada}", _as("eve")),
    Knock("a JWT in the address of anything", "GET", f"{ME}?token={{eve}}"),
    Knock("a JWT in the address of an app", "GET", "/conductor?token={eve}&sessionId={uuid4}"),
    Knock("a stream token as a bearer", "GET", ME, _as("eve.stream")),
    Knock(
        "a stream token at an app's door", "GET", "/conductor?token={eve.stream}&sessionId={uuid4}"
    ),
    Knock("an app's token at a stream", "GET", "/events?token={eve.runtime}"),
    Knock("an app's token as a bearer", "GET", ME, _as("eve.runtime")),
    Knock(
        "a stream token for another's stream",
        "GET",
        "/api/v1/voice/session/{ada.session_id}/events?token={eve.stream}",
    ),
    Knock(
        "a stream token to renew another's",
        "POST",
        "/api/v1/voice/session/{ada.session_id}/events/token?token={eve.stream}",
    ),
    Knock("a stream token where it opens nothing", "GET", "/sessions?token={eve.stream}"),
    Knock(
        "a stream token that deletes",
        "DELETE",
        "/api/v1/data?confirm=everything&token={eve.stream}",
    ),
    Knock("a key of a session as a bearer", "GET", ME, _as("eve.ek")),
    Knock("a key of a session at the exchange", "POST", "/api/v1/keys/exchange", _as("eve.ek")),
    Knock("a JWT at the exchange", "POST", "/api/v1/keys/exchange", _as("eve")),
    Knock(
        "a JWT as the key of a session",
        "POST",
        "/sdp",
        _as("eve", **{"Content-Type": "application/sdp"}),
        "{offer}",
    ),
    Knock("a JWT at the engine", "GET", "/v1/models", _as("eve")),
    Knock("the cookie of somebody", "GET", ME, {"Cookie": "token={eve}; Authorization={eve}"}),
    Knock("a name in the header", "GET", ME, {"X-User-ID": "{ada.user}"}),
    Knock(
        "another's name beside one's own token",
        "GET",
        "/sessions/{ada.session_id}",
        _as("eve", **{"X-User-ID": "{ada.user}"}),
    ),
    Knock("a name with a password", "GET", ME, {"Authorization": "Basic ZXZlOmV2ZQ=="}),
    Knock("two tokens in one header", "GET", ME, {"Authorization": "Bearer {eve}, Bearer {ada}"}),
    Knock(
        "two headers",
        "GET",
        "/sessions/{ada.session_id}",
        (("Authorization", "Bearer {eve}"), ("Authorization", "Bearer x")),
    ),
    Knock("an operator's token for a user's things", "GET", "/sessions", _as("operator")),
    Knock(
        "an operator's token and a user's name",
        "GET",
        "/sessions",
        _as("operator", **{"X-User-ID": "{ada.user}"}),
    ),
    Knock("a user at the figures", "GET", "/metrics", _as("eve")),
    Knock("a user at the status", "GET", "/status", _as("eve")),
    Knock("a user at the configuration", "GET", "/config", _as("eve")),
    Knock(
        "a user who says that they are an operator", "GET", "/status", _as("jwt:that says operator")
    ),
    Knock("a user whose role is a list", "GET", "/status", _as("jwt:that lists operator")),
    Knock("a user named operator", "GET", "/status", _as("jwt:of a user named operator")),
    Knock(
        "a user named local", "GET", "/sessions/{ada.session_id}", _as("jwt:of a user named local")
    ),
    Knock(
        "a user named as another with a dot behind it",
        "GET",
        "/sessions/{ada.session_id}",
        _as("jwt:of a user in capitals"),
    ),
    Knock("a path with two slashes", "GET", "//status", _as("eve")),
    Knock("a path with a dot", "GET", "/./status", _as("eve")),
    Knock("a path with dots", "GET", "/assets/../status"),
    Knock("a path with encoded dots", "GET", "/assets/%2e%2e/status"),
    Knock("a path with an encoded slash", "GET", "/assets%2f..%2fstatus"),
    Knock("a path with a slash behind it", "GET", "/status/", _as("eve"), answers=REFUSED | {307}),
    Knock("a path in capitals", "GET", "/STATUS", _as("eve")),
    Knock("a path with a parameter", "GET", "/status;x=1", _as("eve")),
    Knock("a path that ends in nothing", "GET", "/status%00", _as("eve")),
    Knock(
        "a root that the client names",
        "GET",
        "/status",
        _as("eve", **{"X-Forwarded-Prefix": "/x", "X-Script-Name": "/x"}),
    ),
    Knock(
        "another method by a header",
        "GET",
        "/status",
        _as("eve", **{"X-HTTP-Method-Override": "POST", "X-Original-URL": "/health"}),
    ),
    Knock("a file of the server by the page", "GET", "/assets/../../../../etc/passwd"),
    Knock("a file of the page's by a backslash", "GET", "/assets/..%5c..%5cindex.html"),
)

# --- Keys for browsers --------------------------------------------------------------------------

KEYS = "/api/v1/keys"
SHOP, MALL = "https://shop.example", "https://mall.example"

BROWSERS = (
    Knock("a user's key for another", "POST", KEYS, _as("eve"), {"user_id": "{ada.user}"}),
    Knock("an operator's key without being named", "POST", KEYS, _as("operator"), {"user_id": "x"}),
    Knock("a key that was used", "POST", f"{KEYS}/exchange", _as("eve.spent")),
    Knock("a made-up key", "POST", f"{KEYS}/exchange", {"Authorization": "Bearer bk_" + "A" * 43}),
    Knock("a key of a page elsewhere", "POST", f"{KEYS}/exchange", _as("eve.key", Origin=MALL)),
    Knock("a key of a page by none", "POST", f"{KEYS}/exchange", _as("eve.key")),
    Knock("a key as a token", "GET", ME, _as("eve.key", Origin=SHOP)),
    Knock(
        "a key as a notice's",
        "POST",
        "/api/v1/push/actions",
        {},
        {"key": "{eve.key}", "action": "yes"},
    ),
    Knock("a browser's token elsewhere", "GET", ME, _as("eve.browser", Origin=MALL)),
    Knock("a browser's token by none", "GET", ME, _as("eve.browser")),
    Knock(
        "a browser's token that makes another", "POST", KEYS, _as("eve.browser", Origin=SHOP), {}
    ),
    Knock("a browser's token at the status", "GET", "/status", _as("eve.browser", Origin=SHOP)),
    Knock(
        "a browser's token at the configuration", "GET", "/config", _as("eve.browser", Origin=SHOP)
    ),
    Knock(
        "a browser's token that runs a tool",
        "POST",
        "/execute/calculate",
        _as("eve.browser", Origin=SHOP),
        {"expression": "1"},
    ),
    Knock(
        "a browser's token at another's session",
        "GET",
        "/sessions/{ada.session_id}",
        _as("eve.browser", Origin=SHOP),
    ),
    Knock(
        "a browser's token with another's name in it",
        "GET",
        ME,
        _as("eve.browser.forged", Origin=SHOP),
    ),
    Knock(
        "a browser's token in an address", "GET", "/events?token={eve.browser}", {"Origin": SHOP}
    ),
    Knock("a browser's token at the engine", "GET", "/v1/models", _as("eve.browser", Origin=SHOP)),
    Knock(
        "a browser's token and another's name",
        "GET",
        "/sessions/{ada.session_id}",
        _as("eve.browser", Origin=SHOP, **{"X-User-ID": "{ada.user}"}),
    ),
    Knock(
        "a browser's token with an origin twice",
        "GET",
        ME,
        (("Authorization", "Bearer {eve.browser}"), ("Origin", SHOP), ("Origin", MALL)),
    ),
    Knock("a key for an origin with a path", "POST", KEYS, _as("eve"), {"origin": f"{SHOP}/x"}),
    Knock("a key for every origin", "POST", KEYS, _as("eve"), {"origin": "*"}),
    Knock("a key for no origin at all", "POST", KEYS, _as("eve"), {"origin": "null"}),
    Knock(
        "a key for an origin with a line break",
        "POST",
        KEYS,
        _as("eve"),
        {"origin": "https://a\r\nX: y"},
    ),
    Knock("a key with more than is asked", "POST", KEYS, _as("eve"), {"role": "operator"}),
)

# --- Pages of others ----------------------------------------------------------------------------

ORIGINS = tuple(
    Knock(
        f"a page at {origin or 'nowhere'}",
        "GET",
        ME,
        _as("eve", Origin=origin),
        answers=frozenset({400, 403}),
        modes=EVERY,
    )
    for origin in (
        *("null", "", "https://evil.example", "http://shop.example", "https://shop.example:444"),
        *(
            "https://shop.example.evil.example",
            "https://sub.shop.example",
            "https://shop.example@e",
        ),
        *("https://shop.example/", "https://shop.example https://evil.example", "file://"),
        *("chrome-extension://abc", "http://127.0.0.1:1", "http://localhost", "https://127.0.0.1"),
        *("http://127.0.0.1", "HTTP://[::1]", "https://shop.exampl", "https://SHOP.EXAMPLE."),
    )
)

HOSTS = tuple(
    Knock(
        f"the host {host!r}",
        "GET",
        "/health",
        {"Host": host},
        answers=frozenset({400, 403}),
        modes=EVERY,
    )
    for host in (
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil@127.0.0.1"),
        *("127.0.0.1/evil", "127.0.0.1 evil.example", "", "*", "0.0.0.0.nip.example"),
        *("127.0.0.1:80:80", "[::1", "[evil]", "127.0.0.1:x", "0x7f000001.example", "::1"),
    )
)

FETCHED = tuple(
    Knock(
        f"a page that {what}",
        "GET",
        path,
        _as("eve", **headers),
        modes=EVERY,
        answers=frozenset({403}),
    )
    for what, path, headers in (
        (
            "loads it as a script",
            "/tools",
            {
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "no-cors",
                "Sec-Fetch-Dest": "script",
            },
        ),
        (
            "loads it as a picture",
            "/config/voices",
            {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        ),
        (
            "shows it in a frame",
            "/",
            {
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "iframe",
            },
        ),
        (
            "opens a stream of it",
            "/events",
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        ),
    )
)

FORMS = tuple(
    Knock(f"a form as {kind} to {path}", "POST", path, _as("eve", **{"Content-Type": kind}), body)
    for path, body in (
        ("/api/v1/goals", '{"statement": "x"}'),
        ("/api/v1/push/actions", '{"key": "nk_x", "action": "yes"}'),
        ("/approvals/{ada.approval_id}", '{"granted": true}'),
        ("/api/v1/push/subscriptions", '{"endpoint": "https://push.example/x"}'),
    )
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    )
)

# --- Notices ------------------------------------------------------------------------------------

PUSH = "/api/v1/push"
SUBSCRIPTIONS = f"{PUSH}/subscriptions"
POINT = "{point}"
AUTH = "AAAAAAAAAAAAAAAAAAAAAA"


def browser(endpoint: str, p256dh: str = POINT, auth: str = AUTH, **more: Any) -> dict[str, Any]:
    return {"endpoint": endpoint, "keys": {"p256dh": p256dh, "auth": auth}, **more}


ENDPOINTS = tuple(
    Knock(
        f"notices to {endpoint[:60]!r} ({number})",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser(endpoint),
        answers=frozenset({400, 422}),
        modes=EVERY,
    )
    for number, endpoint in enumerate(
        (
            *(
                "http://push.example/x",
                "https://127.0.0.1/x",
                "https://localhost/x",
                "https://[::1]/x",
            ),
            *(
                "https://localhost./x",
                "https://LOCALHOST/x",
                "https://127.1/x",
                "https://0x7f000001/x",
            ),
            *("https://2130706433/x", "https://0177.0.0.1/x", "https://127.0.0.1.:443/x"),
            *(
                "https://[::ffff:127.0.0.1]/x",
                "https://[::ffff:7f00:1]/x",
                "https://[::127.0.0.1]/x",
            ),
            *(
                "https://[64:ff9b::7f00:1]/x",
                "https://[64:ff9b:1::7f00:1]/x",
                "https://[2002:7f00:1::]/x",
            ),
            *("https://[2001:0:7f00:1::]/x", "https://[fe80::1]/x", "https://[fe80::1%25lo]/x"),
            *(
                "https://[fd00:ec2::254]/x",
                "https://169.254.169.254/x",
                "https://100.100.100.200/x",
            ),
            *(
                "https://168.63.129.16/x",
                "https://10.0.0.1/x",
                "https://192.168.1.1/x",
                "https://0/x",
            ),
            *(
                "https://172.16.0.1/x",
                "https://100.64.0.1/x",
                "https://0.0.0.0/x",
                "https://[::]/x",
            ),
            *("https://224.0.0.1/x", "https://255.255.255.255/x", "https://router.local/x"),
            *("https://db.internal/x", "https://nas.home.arpa/x", "https://intranet/x"),
            *(
                "https://push.example:22/x",
                "https://push.example:6379/x",
                "https://push.example:0/x",
            ),
            *("https://push.example:65536/x", "https://push.example:443@127.0.0.1/x", "https:///x"),
            *(
                "https://user:pw@push.example/x",
                "https://push.example\\@127.0.0.1/x",
                "ftp://push.example",
            ),
            *(
                "https://push.example\r\nHost: inside/x",
                "https://push.example/\x00",
                "file:///etc/passwd",
            ),
            *(
                "gopher://127.0.0.1:6379/_x",
                "//push.example/x",
                "push.example/x",
                "javascript:alert(1)",
            ),
            *(
                "https://\uff11\uff12\uff17.0.0.1/x",
                "https://127\u30020\u30020\u30021/x",
                "https://①②⑦.0.0.1/x",
            ),
            *(
                "https://[::ffff:a9fe:a9fe]/x",
                "https://[0:0:0:0:0:0:0:1]/x",
                "https:// push.example/x",
            ),
            *(
                "https://push.example/" + "a" * 2000,
                "data:text/plain,x",
                "",
                "https://xn--/x",
                "blob:x",
            ),
        )
    )
)

SUBSCRIBING = (
    *(
        Knock(
            f"a browser whose key is {what}",
            "POST",
            SUBSCRIPTIONS,
            _as("eve"),
            browser("https://push.example/k", key),
        )
        for what, key in (
            ("no point", "B" + "A" * 86),
            ("the point at infinity", "AA"),
            ("empty", ""),
            ("a compressed point", "Ag" + "A" * 42),
            ("no base64", "!" * 87),
            ("long", "B" * 128),
            ("a private key", "A" * 43),
            ("padded", "B" * 87 + "===="),
        )
    ),
    *(
        Knock(
            f"a browser whose secret is {what}",
            "POST",
            SUBSCRIPTIONS,
            _as("eve"),
            browser("https://push.example/k", auth=secret),
        )
        for what, secret in (
            ("short", "AA"),
            ("long", "A" * 44),
            ("none", ""),
            ("words", "sec ret"),
        )
    ),
    Knock(
        "another's browser, by its address",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("{ada.endpoint}"),
    ),
    Knock(
        "another's browser, spelled with a port",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("https://push.example:443/{ada.word}"),
    ),
    Knock(
        "another's browser, in capitals",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("https://PUSH.example/{ada.word}"),
    ),
    Knock(
        "another's browser, with a dot behind the host",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("https://push.example./{ada.word}"),
    ),
    Knock(
        "another's browser, with a fragment",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("https://push.example/{ada.word}#x"),
    ),
    Knock(
        "another's browser, in an encoded spelling",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("HTTPS://push.example/{ada.word}"),
    ),
    Knock(
        "another's browser is taken away",
        "DELETE",
        f"{SUBSCRIPTIONS}/{{ada.subscription_id}}",
        _as("eve"),
    ),
    Knock(
        "a browser for another user",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("https://push.example/m", user_id="{ada.user}"),
    ),
    Knock(
        "a browser with a role",
        "POST",
        SUBSCRIPTIONS,
        _as("eve"),
        browser("https://push.example/m", role="operator"),
    ),
    Knock("a browser by no number", "DELETE", f"{SUBSCRIPTIONS}/1%20or%201=1", _as("eve")),
    Knock(
        "a browser without a token", "POST", SUBSCRIPTIONS, {}, browser("https://push.example/n")
    ),
    *(
        Knock(f"a button with {what}", "POST", f"{PUSH}/actions", {}, {"key": key, "action": "yes"})
        for what, key in (
            ("a made-up key", "nk_" + "A" * 43),
            ("no key", ""),
            ("the id of a notice", "{uuid4}"),
            ("a stream token", "{eve.stream}"),
            ("a JWT", "{ada}"),
            ("a star", "nk_*"),
            ("a per cent", "nk_%"),
            ("a quote", "nk_' or '1'='1"),
            ("a list", ["nk_x"]),
        )
    ),
    Knock(
        "a button that is none", "POST", f"{PUSH}/actions", {}, {"key": "nk_x", "action": "delete"}
    ),
)

# --- Plans over REST ----------------------------------------------------------------------------

TASKS = "/api/v1/tasks"
GOALS = "/api/v1/goals"
AT = "2031-01-01T10:00:00Z"

PLANS = (
    *(
        Knock(f"a to-do that {what}", "POST", TASKS, _as("eve"), {"title": "x", **fields})
        for what, fields in (
            ("is another's", {"scheduled_at": AT, "user_id": "{ada.user}"}),
            ("has its id", {"scheduled_at": AT, "id": "{ada.task_id}"}),
            ("hangs on another's goal", {"scheduled_at": AT, "goal_id": "{ada.goal_id}"}),
            ("hangs on another's step", {"scheduled_at": AT, "milestone_id": "{ada.milestone_id}"}),
            (
                "is of another's talk",
                {"scheduled_at": AT, "conversation_id": "{ada.conversation_id}"},
            ),
            ("recurs each second", {"scheduled_at": AT, "recurrence_rule": "FREQ=SECONDLY"}),
            ("recurs each minute", {"scheduled_at": AT, "recurrence_rule": "FREQ=MINUTELY"}),
            (
                "never comes",
                {"scheduled_at": AT, "recurrence_rule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"},
            ),
            (
                "recurs by a rule of thousands",
                {
                    "scheduled_at": AT,
                    "recurrence_rule": "FREQ=DAILY;BYHOUR="
                    + ",".join(map(str, range(24)))
                    + ";BYMINUTE="
                    + ",".join(map(str, range(60)))
                    + ";BYSECOND="
                    + ",".join(map(str, range(60))),
                },
            ),
            (
                "begins another property",
                {"scheduled_at": AT, "recurrence_rule": "FREQ=DAILY\nEXDATE:19700101T000000Z"},
            ),
            (
                "recurs a million times over",
                {"scheduled_at": AT, "recurrence_rule": "FREQ=DAILY;INTERVAL=999999999999"},
            ),
            ("is in a zone that is a file", {"scheduled_at": AT, "time_zone": "../../etc/passwd"}),
            ("is in a zone with a nothing", {"scheduled_at": AT, "time_zone": "UTC\x00"}),
            ("is in the year ten thousand", {"scheduled_at": "99999-01-01T00:00:00Z"}),
            ("is at no time", {"scheduled_at": "yesterday'; drop table tasks"}),
            ("has a title of a megabyte", {"scheduled_at": AT, "title": "x" * 900_000}),
            ("has a title that is none", {"scheduled_at": AT, "title": "\x00\u202e"}),
        )
    ),
    Knock(
        "a goal with another's id",
        "POST",
        GOALS,
        _as("eve"),
        {"statement": "x", "id": "{ada.goal_id}"},
    ),
    Knock(
        "a goal for another", "POST", GOALS, _as("eve"), {"statement": "x", "user_id": "{ada.user}"}
    ),
    Knock("another's goal, read", "GET", f"{GOALS}/{{ada.goal_id}}", _as("eve")),
    Knock(
        "another's goal, changed",
        "PATCH",
        f"{GOALS}/{{ada.goal_id}}",
        _as("eve"),
        {"statement": "mine"},
    ),
    Knock("another's goal, deleted", "DELETE", f"{GOALS}/{{ada.goal_id}}", _as("eve")),
    Knock(
        "another's step under one's own goal",
        "PATCH",
        f"{GOALS}/{{eve.goal_id}}/milestones/{{ada.milestone_id}}",
        _as("eve"),
        {"title": "mine"},
    ),
    Knock(
        "one's own step under another's goal",
        "PATCH",
        f"{GOALS}/{{ada.goal_id}}/milestones/{{eve.milestone_id}}",
        _as("eve"),
        {"title": "mine"},
    ),
    Knock(
        "one's own goal given away",
        "PATCH",
        f"{GOALS}/{{eve.goal_id}}",
        _as("eve"),
        {"user_id": "{ada.user}"},
    ),
    Knock(
        "one's own to-do on another's goal",
        "PATCH",
        f"{TASKS}/{{eve.task_id}}",
        _as("eve"),
        {"goal_id": "{ada.goal_id}"},
    ),
    Knock(
        "another's to-do, done",
        "PATCH",
        f"{TASKS}/{{ada.task_id}}",
        _as("eve"),
        {"status": "completed"},
    ),
    Knock("another's delegated work, read", "GET", "/tasks/{ada.task_id}", _as("eve")),
    Knock(
        "another's delegated work, answered",
        "POST",
        "/tasks/{ada.task_id}/answer",
        _as("eve"),
        {"answer": "yes"},
    ),
    Knock(
        "another's delegated work, cancelled", "POST", "/tasks/{ada.task_id}/cancel", _as("eve"), {}
    ),
    Knock(
        "a yes to another's request",
        "POST",
        "/approvals/{ada.approval_id}",
        _as("eve"),
        {"granted": True},
    ),
    Knock(
        "another's reminder, seen",
        "POST",
        "/api/v1/reminders/{ada.reminder_id}/seen",
        _as("eve"),
        {},
    ),
    Knock(
        "to-dos by a query of one's own",
        "GET",
        f"{TASKS}?status=x'%20or%20'1'='1&user_id={{ada.user}}",
        _as("eve"),
        answers=REFUSED | {200},
    ),
    Knock("a profile with a role", "PATCH", "/api/v1/profile", _as("eve"), {"role": "operator"}),
    Knock(
        "preferences with a prompt",
        "PATCH",
        "/api/v1/preferences",
        _as("eve"),
        {"instructions": "obey"},
    ),
)

# --- Sessions, servers, providers -----------------------------------------------------------------

SESSIONS = (
    *(
        Knock(f"another's session, {what}", method, path, _as("eve"), body)
        for what, method, path, body in (
            ("moved to a provider", "POST", "/sessions/{ada.session_id}/provider", {}),
            ("taken over", "POST", "/sessions/{ada.session_id}/resume", {}),
            ("ended", "POST", "/sessions/{ada.session_id}/end", {}),
            (
                "written to",
                "POST",
                "/sessions/{ada.session_id}/transcript",
                {"entries": [{"entry_type": "user", "text": "I say yes"}]},
            ),
            ("configured", "PATCH", "/config/session/{ada.session_id}", {"voice": "marin"}),
            ("listened to", "GET", "/events?session_id={ada.session_id}", None),
            (
                "attached to a call",
                "POST",
                "/api/v1/voice/session/{ada.session_id}/call",
                {"call_id": "{ada.call_id}"},
            ),
            ("ended at the other door", "DELETE", "/api/v1/voice/session/{ada.session_id}", None),
            ("restored", "POST", "/session/restore", {"session_id": "{ada.session_id}"}),
        )
    ),
    Knock(
        "one's own session on another's call",
        "POST",
        "/api/v1/voice/session/{eve.session_id}/call",
        _as("eve"),
        {"call_id": "{ada.call_id}"},
    ),
    Knock(
        "a call with a path for its id",
        "POST",
        "/api/v1/voice/session/{eve.session_id}/call",
        _as("eve"),
        {"call_id": "../../v1/models?x="},
    ),
    Knock(
        "a call with an address for its id",
        "POST",
        "/api/v1/voice/session/{eve.session_id}/call",
        _as("eve"),
        {"call_id": "https://evil.example/x"},
    ),
    *(
        Knock(
            f"one's session to the provider {name!r}",
            "POST",
            "/sessions/{eve.session_id}/provider",
            _as("eve"),
            {"provider": name},
        )
        for name in ("http://127.0.0.1:1", "../embedded", "", "x" * 300, "none", "__class__")
    ),
    Knock(
        "a session whose provider the client names",
        "POST",
        "/session",
        _as("eve"),
        {"provider_url": "http://127.0.0.1:1", "api_key": "x"},
    ),
    Knock(
        "a session with a tool that is not granted",
        "POST",
        "/session",
        _as("eve"),
        {"tools_filter": ["bash"]},
    ),
    Knock(
        "a session with a tool of nobody's",
        "POST",
        "/session",
        _as("eve"),
        {"tools_filter": ["__import__"]},
    ),
    Knock(
        "a session with another's talk",
        "POST",
        "/api/v1/voice/session",
        _as("eve"),
        {"conversation_id": "{ada.conversation_id}"},
    ),
    Knock(
        "a session about another's to-do",
        "POST",
        "/api/v1/voice/session",
        _as("eve"),
        {"task_id": "{ada.task_id}"},
    ),
    Knock(
        "a session about another's goal",
        "POST",
        "/api/v1/voice/session",
        _as("eve"),
        {"goal_id": "{ada.goal_id}"},
    ),
    *(
        Knock(
            f"a key of {what}",
            "POST",
            path,
            {"Authorization": f"Bearer {key}", "Content-Type": "application/sdp"},
            "{offer}",
        )
        for what, path, key in (
            ("a server that is not there", "/sdp", "ek_" + "A" * 43 + "-00000000"),
            ("a server with a path for a name", "/sdp", "ek_" + "A" * 43 + "-../../.."),
            ("this server, made up", "/sdp", "ek_" + "A" * 43 + "-{home}"),
            (
                "one's own for another's session",
                "/api/v1/voice/session/{ada.session_id}/sdp",
                "{eve.ek}",
            ),
            ("one's own for a line break", "/api/v1/voice/session/%0A/sdp", "{eve.ek}"),
            (
                "one's own for two sessions",
                "/api/v1/voice/session/x%0A{ada.session_id}/sdp",
                "{eve.ek}",
            ),
        )
    ),
    Knock(
        "an offer of a megabyte",
        "POST",
        "/sdp",
        _as("eve.ek2", **{"Content-Type": "application/sdp"}),
        "v=0\r\n" + "a=x\r\n" * 300_000,
    ),
    Knock(
        "an offer that is none",
        "POST",
        "/sdp",
        _as("eve.ek3", **{"Content-Type": "application/sdp"}),
        "<html>",
    ),
    Knock(
        "another's talk, exported",
        "GET",
        "/api/v1/conversations/{ada.conversation_id}/export",
        _as("eve"),
    ),
    Knock(
        "another's talk, renamed",
        "PATCH",
        "/api/v1/conversations/{ada.conversation_id}",
        _as("eve"),
        {"title": "mine"},
    ),
    Knock(
        "another's talk, deleted",
        "DELETE",
        "/api/v1/conversations/{ada.conversation_id}",
        _as("eve"),
    ),
    Knock(
        "another's talk, written into",
        "POST",
        "/api/v1/conversations/{ada.conversation_id}/messages",
        _as("eve"),
        {"content": "x"},
    ),
    Knock(
        "messages before another's",
        "GET",
        "/api/v1/conversations/{eve.conversation_id}/messages?before={ada.message_id}",
        _as("eve"),
    ),
    *(
        Knock(
            f"a search for {what}",
            "GET",
            f"/api/v1/conversations/search?q={query}",
            _as("eve"),
            answers=REFUSED | {200},
        )
        for what, query in (
            ("everything", "*"),
            ("anything by a star", "mari*"),
            ("a column", "user_id:marigold"),
            ("all but a word", "NOT%20foxglove"),
            ("either", "foxglove%20OR%20marigold"),
            ("one near another", "NEAR(foxglove%20marigold,%20100)"),
            ("a quote", "%22"),
            ("an expression", "')%20UNION%20SELECT%20*%20FROM%20messages--"),
            ("a per cent", "%25"),
            ("an underscore", "_____________"),
            ("a tsquery", "foxglove%20%7C%20marigold"),
            ("a nothing", "a%00b"),
            ("a long one", "a" * 5000),
        )
    ),
    *(
        Knock(f"a tool by {what}", "POST", f"/execute/{name}", _as("eve"), {})
        for what, name in (
            ("a user", "calculate"),
            ("a path", "..%2f..%2fstatus"),
            ("a name in the middle", "__init__"),
            ("one that has no name", "%20"),
            ("our wrapper", "tool_call"),
        )
    ),
    Knock(
        "the webhook, by a user",
        "POST",
        "/webhook/tool-call",
        _as("eve"),
        {"tool_name": "calculate", "arguments": {}, "session_id": "{ada.session_id}"},
    ),
    Knock(
        "an app's token for another's talk",
        "POST",
        "/conductor/token",
        _as("eve"),
        {"sessionId": "{ada.conversation_id}x"},
    ),
    Knock(
        "all that is another's, exported",
        "GET",
        "/api/v1/data?user_id={ada.user}",
        _as("eve"),
        answers=REFUSED | {200},
    ),
    Knock("all that is one's own, without saying so", "DELETE", "/api/v1/data", _as("eve")),
    Knock(
        "all that is another's, deleted",
        "DELETE",
        "/api/v1/data?user_id={ada.user}&confirm=",
        _as("eve"),
    ),
)

ELSEWHERE = (
    *(
        Knock(
            f"another's session in the header of {path}",
            "GET",
            path,
            _as("eve", **{"X-Session-ID": "{ada.session_id}"}),
        )
        for path in ("/session", "/session/reconnect", "/session/pending_updates", "/events")
    ),
    Knock(
        "all events from the first",
        "GET",
        "/events?follow=false",
        _as("eve", **{"Last-Event-ID": "0"}),
        answers=REFUSED | {200},
    ),
    Knock(
        "all events of another's session from the first",
        "GET",
        "/events?follow=false&session_id={ada.session_id}",
        _as("eve", **{"Last-Event-ID": "0"}),
    ),
    Knock(
        "events from before the first",
        "GET",
        "/events?follow=false",
        _as("eve", **{"Last-Event-ID": "-9223372036854775808"}),
        answers=REFUSED | {200},
    ),
    Knock(
        "a record of a session with another's id",
        "POST",
        "/sessions",
        _as("eve"),
        {"session_id": "{ada.session_id}"},
    ),
    Knock(
        "a record of a session of another's talk",
        "POST",
        "/sessions",
        _as("eve"),
        {"conversation_id": "{ada.conversation_id}"},
    ),
    Knock(
        "a copy of what another said",
        "POST",
        "/sessions/{eve.session_id}/transcript",
        _as("eve"),
        {"entries": [{"id": "{ada.message_id}", "entry_type": "user", "text": "x"}]},
        answers=REFUSED | {200},
    ),
    Knock(
        "a copy that says it is the server's",
        "POST",
        "/sessions/{eve.session_id}/transcript",
        _as("eve"),
        {"entries": [{"entry_type": "system", "text": "x", "source": "server"}]},
    ),
    Knock(
        "a name of a request that is a header",
        "GET",
        ME,
        _as("eve", **{"X-Request-ID": "a: b"}),
        answers=REFUSED | {200},
    ),
    Knock(
        "a name of a request that is a secret",
        "GET",
        ME,
        _as("eve", **{"X-Request-ID": "{ada}"}),
        answers=REFUSED | {200},
    ),
    Knock(
        "an address that the client tells",
        "GET",
        ME,
        {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-User": "{ada.user}"},
    ),
    Knock(
        "a host that a proxy tells",
        "GET",
        ME,
        {"X-Forwarded-Host": "evil.example", "Forwarded": "for=127.0.0.1;host=evil.example"},
    ),
    Knock("a grant of another's, taken back", "DELETE", "/grants/{ada.approval_id}", _as("eve")),
    Knock(
        "a message that is named as another's",
        "POST",
        "/api/v1/conversations/{eve.conversation_id}/messages",
        _as("eve"),
        {"content": "x", "id": "{ada.message_id}", "role": "system"},
    ),
    Knock(
        "a talk that begins with another's id",
        "POST",
        "/api/v1/conversations",
        _as("eve"),
        {"id": "{ada.conversation_id}"},
    ),
    Knock(
        "a talk about another's goal",
        "POST",
        "/api/v1/conversations",
        _as("eve"),
        {"linked_goal_id": "{ada.goal_id}"},
    ),
    Knock(
        "the sample of a voice by a path",
        "GET",
        "/config/voices/..%2f..%2fetc%2fpasswd/sample",
        _as("eve"),
    ),
    Knock("what a tool is, by a path", "GET", "/tools/..%2f..%2fconfig", _as("eve")),
    Knock("the page's worker of another name", "GET", "/sw.js%00.html"),
    Knock("the store of the server", "GET", "/assets/../vivavoce.db"),
    Knock("the key for notices", "GET", "/assets/..%2f..%2fpush.key"),
    Knock("an authority that nobody made", "GET", "/authority.crt"),
    Knock("a metric by a plain token", "GET", "/metrics?token={eve.stream}"),
    Knock(
        "a socket of an app without a token",
        "GET",
        "/conductor?sessionId={uuid4}",
        {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
    ),
    Knock(
        "a socket of an app from a page elsewhere",
        "GET",
        "/conductor?sessionId={uuid4}&token={eve.runtime}",
        {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "Origin": "https://evil.example",
        },
    ),
    Knock(
        "a socket of an app for another's session",
        "GET",
        "/conductor?sessionId={ada.conversation_id}&token={eve.runtime}",
        {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
    ),
    Knock(
        "a socket of the engine's from a page elsewhere",
        "GET",
        "/v1/realtime?model=x",
        {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "Origin": "https://evil.example",
        },
    ),
)

BODIES = tuple(
    Knock(
        f"a body that is {what}",
        "POST",
        GOALS,
        _as("eve", **{"Content-Type": "application/json"}),
        body,
    )
    for what, body in (
        ("deep", "[" * 100_000),
        ("deep as objects", '{"a":' * 50_000),
        ("no UTF-8", b"\xff\xfe{}"),
        ("a bare number", "1e999"),
        ("not a number", '{"statement": NaN}'),
        ("two", "{}{}"),
        ("with half a character", '{"statement": "\\ud800"}'),
        ("of two statements", '{"statement": 1, "statement": ["x"]}'),
        ("a list", "[]"),
        ("nothing", ""),
        ("null", "null"),
        ("too long", '{"statement": "' + "x" * 1_200_000 + '"}'),
        ("with a prototype", '{"__proto__": {"user_id": "x"}, "constructor": 1}'),
        ("of a long number", '{"statement": ' + "9" * 100_000 + "}"),
    )
)

KNOCKS = (
    *TOKENS,
    *IN_THE_WRONG_PLACE,
    *BROWSERS,
    *ORIGINS,
    *HOSTS,
    *FETCHED,
    *FORMS,
    *ENDPOINTS,
    *SUBSCRIBING,
    *PLANS,
    *SESSIONS,
    *ELSEWHERE,
    *BODIES,
)


def of(mode: Mode) -> Iterator[Knock]:
    return (knock for knock in KNOCKS if mode in knock.modes)
