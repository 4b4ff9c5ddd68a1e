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
from typing import Any

Redact = Callable[[str], str]
Change = Callable[[re.Match[str]], str]

_END = r"(?![A-Za-z0-9_\-])"

# A maker's own beginning, and at least as much behind it as the maker gives.
_KEYS = re.compile(
    r"(?<![A-Za-z0-9_\-])(?:"
    r"sk-(?=[\w\-]{0,200}\d)[A-Za-z0-9_\-]{16,}"
    r"|(?:sk|pk|rk|whsec)_(?:live_|test_)[A-Za-z0-9]{10,}"
    r"|gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_\-]{20,}"
    r"|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}"
    r"|AIza[A-Za-z0-9_\-]{35}|ya29\.[A-Za-z0-9_\-]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9\-]{10,}|xapp-[A-Za-z0-9\-]{10,}"
    r"|(?:hf|gsk|npm|xai|dapi|shpat|shpss|dop_v1|lin_api|r8|pplx|nvapi|tvly)[_-]"
    r"(?=[A-Za-z0-9]{0,200}\d)[A-Za-z0-9]{20,}"
    r"|pypi-[A-Za-z0-9_\-]{50,}|SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"
    r"|\d{8,10}:AA[A-Za-z0-9_\-]{33}"
    r")" + _END
)
# What this server gives out itself.
_OURS = re.compile(
    r"(?<![A-Za-z0-9_.\-])(?:ek|st|vvk?)_(?=[A-Za-z0-9_.\-]{0,200}\d)[A-Za-z0-9_.\-]{24,}"
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
_BEARER = re.compile(
    r"(?i)\b(bearer|basic)(\s+)(?=[A-Za-z0-9._~+/\-]{0,200}\d)[A-Za-z0-9._~+/\-]{16,}={0,2}"
)
_IN_URL = re.compile(r"(://[^/\s:@\"'\\]*:)[^/\s@\"'\\\[\]]+@")
_NAMES = (
    r"passwords?|passwd|pwd|passphrase|secret|client[-_ ]?secret|secret[-_ ]?key|api[-_ ]?keys?|"
    r"access[-_ ]?key|access[-_ ]?token|auth[-_ ]?token|refresh[-_ ]?token|private[-_ ]?key|"
    r"secret[-_ ]?access[-_ ]?key"
)
# `password = …`, `"api_key": "…"`, `?token=…`: a name that says what follows, and no code.
_NAMED = re.compile(
    rf"(?i)((?:[?&](?:token|key|sig|signature)|(?<![A-Za-z0-9])(?:{_NAMES}))"
    rf"(?:\\?[\"'])?\s{{0,3}}(?:=|:(?!:))\s{{0,3}}(?:\\?[\"'])?)"
    r"([^\s\"'\\&,;(){}<>\[\]$|]{6,200}+)(?!\()"
)
_NAME = re.compile(rf"(?i)(?:[a-z0-9]+[-_ ])*(?:{_NAMES}|token|authorization)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Z][A-Z0-9_]+|\*+|x+|\.+", re.ASCII)

# Groups as cards print them, or one run of digits; nothing that could be a part of more.
_CARD = re.compile(
    r"(?<![\w.\-+/#@])(?:\d{4}([ \-])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ \-])\d{6}\2\d{4,5}"
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
    keys += "aiza|ya29|xox|xapp|hf_|hf-|gsk_|gsk-|npm_|npm-|xai_|xai-|dapi|shpat|shpss|dop_v1|"
    keys += "lin_api|r8_|r8-|pplx|nvapi|tvly|pypi-|sg.|:aa"
    names = "password|passwd|pwd|passphrase|secret|key|token|sig"
    return (
        (_PRIVATE_KEY, marked("private key"), ("-----begin",)),
        (_JWT, marked("token"), ("eyj",)),
        (_KEYS, marked("key"), tuple(keys.split("|"))),
        (_OURS, marked("token"), ("ek_", "st_", "vv_", "vvk_")),
        (_BEARER, rf"\1\2{marked('token')}", ("bearer", "basic")),
        (_IN_URL, rf"\1{marked('password')}@", ("://",)),
        (_NAMED, _assigned, tuple(names.split("|"))),
    )


def suspicious(text: str) -> bool:
    """Whether it is worth a closer look, encoded or not."""
    low = text.lower()
    for word in _WORDS:  # on the way of every event: `any` of a generator takes twice as long
        if word in low:
            return True
    return _DIGITS.search(text) is not None


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
    if isinstance(item, str) and isinstance(key, str) and _NAME.fullmatch(key):
        # `Bearer …` says itself what it is, and a variable's name is no secret.
        kept = not item.strip() or "[redacted: " in item or "authorization" in key.lower()
        return text(item) if kept or item.startswith("$") else marked(_kind(key))
    return redacted(item, text)


def _assigned(found: re.Match[str]) -> str:
    """Not where code names where it comes from, nor where words follow."""
    name, value = found[1], found[2]
    mixed = len(value) >= 16 and not value.islower() and not value.isupper()
    if _IDENTIFIER.fullmatch(value) or not (mixed or re.search(r"\d", value)):
        return found[0]
    return f"{name}{marked(_kind(name))}"


def _kind(name: str) -> str:
    low = name.lower()
    if "pass" in low or "pwd" in low:
        return "password"
    return "token" if "token" in low or "authorization" in low else "key"


def _card(found: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", found[0])
    return marked("card number") if is_card(digits) else found[0]


def _luhn(digits: str) -> bool:
    numbers = [int(digit) for digit in reversed(digits)]
    doubled = (n * 2 - 9 if n > 4 else n * 2 for n in numbers[1::2])
    return (sum(numbers[::2]) + sum(doubled)) % 10 == 0


_DIGITS = re.compile(r"\d{4}(?:[ \-]\d{4}|\d{10})")
"""Every card has it; a date without hyphens, which is in every id of a session, has not."""
_LOOKED_FOR = _in_order()
_WORDS = tuple(word for _, _, words in _LOOKED_FOR for word in words)
