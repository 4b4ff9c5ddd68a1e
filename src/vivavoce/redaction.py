"""What must not be kept: keys, tokens, passwords, private keys, card numbers.

    redact("pay with 4111 1111 1111 1111")  ->  "pay with [redacted: card number]"

Whoever stores or logs text puts it through here first; what went is marked. A secret is known
by its form: a maker's own beginning, a checksum, or a name that says what follows. Long numbers,
digests and ids alone are none: honest text stays as it is. Nothing runs past a quote or a
backslash but a private key, so that JSON stays JSON. Pure; knows neither the store nor the logs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

Redact = Callable[[str], str]
Change = Callable[[re.Match[str]], str]

_END = r"(?![A-Za-z0-9_\-])"

# A maker's own beginning, and at least as much behind it as the maker gives.
_KEYS = re.compile(
    r"(?:(?<![A-Za-z0-9_\-])|(?<=_)|(?<=\b[xX]-))(?:"
    r"sk-(?:ant|proj|svcacct|admin)-[A-Za-z0-9_\-]{16,}"
    # Not what is made of words and a number: a package may be called so.
    rf"|sk-(?!(?:[a-z]+|\d{{1,3}})(?:[-_](?:[a-z]+|\d{{1,3}}))+{_END})"
    r"(?=[\w\-]{0,200}\d)[A-Za-z0-9_\-]{16,}"
    r"|(?:sk|pk|rk|whsec)_(?:live_|test_)[A-Za-z0-9]{10,}"
    r"|gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_\-]{20,}"
    r"|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}"
    r"|AIza[A-Za-z0-9_\-]{35}|ya29\.[A-Za-z0-9_\-]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9\-]{10,}|xapp-[A-Za-z0-9\-]{10,}"
    r"|(?:hf|gsk|npm|xai|dapi|shpat|shpss|dop_v1|lin_api|r8|pplx|nvapi|tvly)[_-]"
    r"(?=[A-Za-z0-9]{0,200}\d)[A-Za-z0-9]{20,}"
    r"|pypi-[A-Za-z0-9_\-]{50,}|SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"
    r"|\d{8,10}:AA[A-Za-z0-9_\-]{33}|GOCSPX-[A-Za-z0-9_\-]{20,}|AGE-SECRET-KEY-1[0-9A-Z]{40,}"
    r")" + _END
)
# What this server gives out itself.
# `vv_` and 28 hex digits is an item of a conversation.
_OURS = re.compile(
    r"(?<![A-Za-z0-9_.\-])(?!vv_[0-9a-f]{28}(?![A-Za-z0-9_.\-]))"
    r"(?:ek|st|bk|bt|nk|vvk?)_(?=[A-Za-z0-9_.\-]{0,200}\d)[A-Za-z0-9_.\-]{24,}"
)
# Two parts of JSON in base64, and a signature that may be missing.
_JWT = re.compile(
    r"(?<![A-Za-z0-9_.\-])eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[A-Za-z0-9+/=\s:,.()]|\\[nr]|-(?!----))*"
    r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)?"
)
# PuTTY's: so many lines of base64, each to its end.
_PRIVATE_LINES = re.compile(
    r"(?i)(private-lines:\s{0,3}\d{1,3})(?:(?:\r?\n|(?:\\r)?\\n)[A-Za-z0-9+/=]+(?=[\r\n\\\"']|\Z))+"
)
# An address that is the key itself: whoever has it may write there, or has the codes.
_HOOK = re.compile(
    r"(?i)(hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/)"
    r"[A-Za-z0-9/_\-]{20,}"
)
_CODES = re.compile(r"(?i)(otpauth://[^\s\"'\\]{0,200}?[?&]secret=)[A-Z2-7]{8,}=*")
# With its header before it a token needs no digit; a word that stands for one is none.
_AUTHORIZED = re.compile(
    r"(?i)(\bauthorization(?:\\?[\"'])?\s{0,3}[:=]\s{0,3}(?:\\?[\"'])?(?:bearer|basic|token)\s{1,3})"
    r"(?-i:(?![a-z]{1,18}(?:[-_][a-z]+)*(?![A-Za-z0-9._~+/=\-])))[A-Za-z0-9._~+/=\-]{8,}"
)
_BEARER = re.compile(
    r"(?i)\b(bearer|basic)(\s+)(?=[A-Za-z0-9._~+/\-]{0,200}\d)[A-Za-z0-9._~+/\-]{16,}={0,2}"
)
# A number of that size is a port.
_IN_URL = re.compile(r"(://[^/\s:@\"'\\]*:)(?!\d{2,5}@)[^/\s@\"'\\\[\]]+@")
_LOGGED_IN = re.compile(
    r"(\bcurl\b[^\n|;&\"'\\]{0,300}?\s(?:-u\s{0,3}|--user[ =])(?:\\?[\"'])?[^\s:\"'\\$]{1,100}:"
    r"|\b(?:mysql\w{0,10}|mariadb)\b[^\n|;&\"'\\]{0,300}?\s-p)"
    r"(?!\[redacted)[^\s\"'\\$]{4,200}"
)
_NAMES = (
    r"passwords?|passwd|pwd|passphrase|secret|client[-_ ]?secret|secret[-_ ]?key|api[-_ ]?keys?|"
    r"access[-_ ]?key|access[-_ ]?token|auth[-_ ]?token|refresh[-_ ]?token|private[-_ ]?key|"
    r"secret[-_ ]?access[-_ ]?key|account[-_ ]?key|shared[-_ ]?access[-_ ]?key"
)
_VALUE = r"(\$?[^\s\"'\\&,;(){}<>\[\]$|]{6,200}+)(?!\()"
_NAMING = rf"passwords?|passwd|(?<![A-Za-z0-9])(?:{_NAMES})"
_IS = r"\s{0,3}(?:=>?|:(?!:))\s{0,3}"
# `password = …`, `?token=…`, `GITHUB_TOKEN=…`: a name that says what follows, and no code.
_NAMED = re.compile(
    rf"(?i)((?:[?&](?:token|key|sig|signature)|{_NAMING}|(?<![A-Za-z0-9])token"
    rf"|(?-i:(?<![A-Za-z0-9_])[A-Z][A-Z0-9_]{{0,60}}_KEY))"
    rf"(?:\\?[\"'])?{_IS}(?:\\?[\"'])?){_VALUE}"
)
# `password='p(w)d$x1'`: in quotes it may be of any signs.
_QUOTED = re.compile(rf"(?i)((?:{_NAMING}){_IS}\\?([\"']))([^\s\"'\\]{{6,200}})(?=\\?\2)")
# `{"password": "hunter"}` in a text is the field that `redacted` takes out whole.
_IN_JSON = re.compile(
    rf"(?i)(\\?[\"'](?:[a-z0-9]+[-_])*(?:{_NAMES}|token)\\?[\"']\s{{0,3}}(?::|=>)\s{{0,3}}\\?[\"'])"
    r"([^\"'\\\n]{4,200})(?=\\?[\"'])"
)
_OPTION = re.compile(
    rf"(?i)((?<![\w\-])--(?:[a-z0-9]+-)*(?:{_NAMES}|token)\s{{1,3}}(?:\\?[\"'])?)(?!-){_VALUE}"
)
_NAME = re.compile(rf"(?i)(?:[a-z0-9]+[-_ ])*(?:{_NAMES}|token|authorization)|[a-z]*password")
_LESS = re.compile(r"(?i)(?:[a-z0-9]+[-_ ])*(?:pass|credentials?|creds)")
"""Names that may say something else: it has to look like a secret too."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Z][A-Z0-9_]+|\*+|x+|\.+", re.ASCII)
_VARIABLE = re.compile(r"\$(?!\w*\d{3})[A-Za-z_]\w*", re.ASCII)
_TEMPLATE = re.compile(r"\$[{(]|[{<]|%[({s]|\[redacted: ")
_KIND_OF_VALUE = re.compile(
    r"(?i)string|text|none|null|true|false|required|optional|changed|hidden|your[-_ ].*|.*passw.*"
)
"""What stands for a value in a schema, a form or a manual."""
_WORDY = re.compile(r"[a-z]{3,}\d?(?:[-_][a-z]{2,}\d?)+(?:[-_]\d{1,4})?|[a-z]{3,}[-_]\d{1,4}")
_WEAK = re.compile(r"(?i)token|(?-i:[A-Z][A-Z0-9_]*_KEY)")
"""Names that are not for secrets alone: what follows is long, and of letters and digits."""
_OPAQUE = re.compile(r"(?=[^\d]{0,200}\d)[A-Za-z0-9._~+/=\-]{16,}")
_PATH = re.compile(r"~?/|\.{1,2}/")

# Groups as cards print them, or one run of digits; nothing that could be a part of more. Between
# them spaces of all kinds, hyphens and dashes, and what people type instead.
_GAP = r"[ \u00a0\u2007\u202f]{1,2}|[\-\u2010-\u2014./_\u200b-\u200d\u2060\ufeff]"
_CARD = re.compile(
    rf"(?:(?<![\w.\-+/@])|(?<=[Cc]ard)|(?<=CARD)|(?<=[Vv]isa)|(?<=[Aa]mex)"
    # An ellipsis and the end of a name are no part of a number, nor is a sign before groups.
    rf"|(?<=\.\.)|(?<=[Cc]ard_)|(?<=CARD_)|(?:(?<=^[+/@])|(?<=[^\d+/@][+/@]))(?=\d{{4}}(?:{_GAP})))"
    rf"(?:\d{{4}}({_GAP})\d{{4}}\1\d{{4}}\1\d{{2,4}}(?:\1\d{{3}})?|\d{{4}}({_GAP})\d{{6}}\2\d{{4,5}}"
    r"|\d{14,19})(?![\w\-/@]|\.\d)"
)
_MAKERS = re.compile(
    r"4\d{15}(?:\d{3})?|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}|(?:6011|64[4-9]\d|65\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)


def marked(what: str) -> str:
    return f"[redacted: {what}]"


def _in_order() -> tuple[tuple[re.Pattern[str], str | Change, tuple[str, ...]], ...]:
    """Each with what must be somewhere in small letters for it to be there: most text has none of
    it, and looking for plain words is a hundred times as quick."""
    keys = "sk-|sk_|pk_|rk_|whsec_|gho_|ghp_|ghs_|ghu_|ghr_|github_pat_|glpat|akia|asia|abia|acca|"
    keys += "aiza|ya29|xox|xapp|hf_|hf-|gsk|npm_|npm-|xai|dapi|shp|dop_v1|"
    keys += "lin_api|r8_|r8-|pplx|nvapi|tvly|pypi-|sg.|:aa|gocspx-|age-secret-key-"
    names = ("pass", "pwd", "secret", "key", "token")
    return (
        (_PRIVATE_KEY, marked("private key"), ("-----begin",)),
        (_PRIVATE_LINES, rf"\1 {marked('private key')}", ("private-lines:",)),
        (_JWT, marked("token"), ("eyj",)),
        (_KEYS, marked("key"), tuple(keys.split("|"))),
        (_HOOK, rf"\1{marked('key')}", ("hooks",)),
        (_CODES, rf"\1{marked('key')}", ("otpauth://",)),
        (_OURS, marked("token"), ("ek_", "st_", "bk_", "bt_", "nk_", "vv_", "vvk_")),
        (_AUTHORIZED, rf"\1{marked('token')}", ("bearer", "basic", "token")),
        (_BEARER, rf"\1\2{marked('token')}", ("bearer", "basic")),
        (_IN_URL, rf"\1{marked('password')}@", ("://",)),
        (_LOGGED_IN, rf"\1{marked('password')}", ("curl", "mysql", "mariadb")),
        (_IN_JSON, _as_field, names),
        (_QUOTED, _assigned, names),
        (_OPTION, _assigned, names),
        (_NAMED, _assigned, (*names, "sig")),
    )


def suspicious(text: str) -> bool:
    """Whether it is worth a closer look, encoded or not."""
    return _look(text)


def redact(text: str) -> str:
    """The text with every secret in it replaced by a mark that says what it was."""
    if not suspicious(text):
        return text
    low = text.lower()
    for pattern, instead, words in _LOOKED_FOR:
        if any(word in low for word in words):
            text = pattern.sub(instead, text)
    return _CARD.sub(_card, text) if _DIGITS.search(text) is not None else text


def redacted(value: Any, text: Redact = redact) -> Any:
    """The same for what JSON can hold: also the whole value of a field whose name says it."""
    match value:
        case str():
            return text(value)
        case dict():
            return {key: _field(key, item, text) for key, item in value.items()}
        case list() | tuple():
            return [redacted(item, text) for item in value]
        case _:
            return value


def is_card(digits: str) -> bool:
    """By its maker's numbers and its own check digit."""
    return _MAKERS.fullmatch(digits) is not None and _luhn(digits)


def _field(key: Any, item: Any, text: Redact) -> Any:
    says, may_say = _says(key[:_LONGEST]) if isinstance(key, str) else (False, False)
    if not says:
        looks = may_say and isinstance(item, str) and _looks_secret(item)
        return marked("password") if looks else redacted(item, text)
    match item:
        case str():
            # `Bearer …` says itself what it is, and a variable's name is no secret.
            kept = not item.strip() or "[redacted: " in item or "authorization" in key.lower()
            return text(item) if kept or item.startswith("$") else marked(_kind(key))
        case list() | tuple():
            return [_field(key, one, text) for one in item]
        case int() | float() if not isinstance(item, bool) and "token" not in key.lower():
            return marked(_kind(key))  # tokens are counted
        case _:
            return redacted(item, text)


_LONGEST = 200  # longer names are none that anybody gave


@lru_cache(maxsize=1024)  # there are few, and each comes often
def _says(name: str) -> tuple[bool, bool]:
    """Whether a field of that name is a secret, and whether it may be one."""
    name = _HUMP.sub("_", name)
    return _NAME.fullmatch(name) is not None, _LESS.fullmatch(name) is not None


def _looks_secret(value: str) -> bool:
    return len(value) >= 6 and not re.search(r"\s", value) and re.search(r"\d", value) is not None


def _as_field(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    stands_for_one = _TEMPLATE.match(value) or _VARIABLE.fullmatch(value)
    if stands_for_one or _IDENTIFIER.fullmatch(value) or _KIND_OF_VALUE.fullmatch(value):
        return found[0]
    return f"{name}{marked(_kind(name))}"


def _assigned(found: re.Match[str]) -> str:
    """Not where code names where it comes from, nor where words follow."""
    name, value = found[1], found[found.re.groups]
    kind = _kind(name)
    mixed = len(value) >= 16 and not value.islower() and not value.isupper()
    if _IDENTIFIER.fullmatch(value) or not (mixed or re.search(r"\d", value)):
        return found[0]
    if _TEMPLATE.match(value) or _VARIABLE.fullmatch(value):
        return found[0]
    if kind != "password" and _WORDY.fullmatch(value):
        return found[0]
    if _WEAK.match(name) and not _OPAQUE.fullmatch(value):
        return found[0]
    if "pwd" in name.lower() and _PATH.match(value):  # where somebody is
        return found[0]
    return f"{name}{marked(kind)}"


def _kind(name: str) -> str:
    low = name.lower()
    if "pass" in low or "pwd" in low:
        return "password"
    return "token" if "token" in low or "authorization" in low else "key"


def _card(found: re.Match[str]) -> str:
    digits = "".join(str(int(digit)) for digit in re.findall(r"\d", found[0]))  # of any script
    return marked("card number") if is_card(digits) else found[0]


def _luhn(digits: str) -> bool:
    numbers = [int(digit) for digit in reversed(digits)]
    doubled = (n * 2 - 9 if n > 4 else n * 2 for n in numbers[1::2])
    return (sum(numbers[::2]) + sum(doubled)) % 10 == 0


# --- A first look -----------------------------------------------------------------------


def first_look(pattern: str) -> Callable[[str], bool]:
    """Whether it is anywhere in a text, of any case: by the regular expressions of Rust, which go
    over a text once, whatever they look for, and so take a thirtieth of the time. They know no
    looking around."""

    @cache
    def compiled() -> Callable[[Any], bool]:
        # At the first text, not at the start.
        from pydantic_core import SchemaValidator, core_schema

        schema = core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex")
        return SchemaValidator(schema).isinstance_python

    def look(text: str) -> bool:
        return compiled()(text) or not (text.isascii() or _readable(text))

    return look


def _readable(text: str) -> bool:
    """What Rust cannot read, it says nothing of."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_GAP_ENCODED = rf"(?:{_GAP}|\\u[0-9a-f]{{4}})"
_DIGITS = re.compile(rf"\d(?:(?<!\d\d)\d{{3}}{_GAP_ENCODED}\d{{4}}(?:\d\d)?(?!\d)|\d{{13}})")
"""Every card has it, its spaces escaped in JSON or not; a date without hyphens, which is in every
id of a session, has not."""
_LOOKED_FOR = _in_order()
_ENCODED = ("cred", r"\uff1")
"""What names a field, and the digits of another script, in JSON that is encoded already."""
_FOLLOWED = r"""[\s\x1c-\x1f\\"'=:]"""
_NEARER = {
    # A name of a secret is at the end of its word: no keyword, and no `estimated_tokens`.
    "key": rf"keys?{_FOLLOWED}",
    "token": rf"token{_FOLLOWED}",
    "sig": rf"sig(?:nature)?{_FOLLOWED}",
    **{word: rf"{word}[a-z0-9_.\-]{{24}}" for word in ("ek_", "st_", "bk_", "bt_", "nk_", "vvk_")},
    # The name of an item of ours is in nearly every event, and no token.
    "vv_": r"vv_(?-i:[0-9a-f]{0,27}[g-zA-Z_.\-]"
    r"|[0-9a-f]{24,27}(?:[^0-9a-f]|$)|[0-9a-f]{28}[A-Za-z0-9_.\-])",
}
"""Words that are often in honest text, with what must be beside them."""
_WORDS = dict.fromkeys((*(w for _, _, words in _LOOKED_FOR for w in words), *_ENCODED))
FIRST_LOOK = "|".join(
    (
        *(_NEARER.get(word, re.escape(word)) for word in _WORDS),
        # A card, in groups or not.
        r"(?:^|[^a-z0-9_.\-]|\.\.|card_|card|visa|amex|\\(?:[bfnrt]|u[0-9a-f]{4}))"
        rf"(?:\d{{4}}{_GAP_ENCODED}\d{{4}}{_GAP_ENCODED}\d{{4}}{_GAP_ENCODED}\d\d"
        rf"|\d{{4}}{_GAP_ENCODED}\d{{6}}{_GAP_ENCODED}\d{{4}}|\d{{14}})",
    )
)
_look = first_look(FIRST_LOOK)
