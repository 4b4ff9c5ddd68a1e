"""Names that machines gave: addresses, file paths, identifiers, hashes, as one reads them. Pure.

Looks at one token at a time and leaves ordinary words alone. Digits inside
names are left to the rules for numbers, which come later.
"""

from __future__ import annotations

import re

from vivavoce.language.en.aloud.words import IN_NAMES, PER, SAID, UNITS
from vivavoce.language.en.numbers import label, one_by_one

_TOKEN = re.compile(r"[^\s,;\"<>“”|]{2,}")
_OPENING, _CLOSING = "(['{", ")]'}!?:.…"

_URL = re.compile(r"(?:https?|wss?|ftp|file)://(?:www\.)?|www\.", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HASH = re.compile(r"(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])(?:[0-9a-f]{7,}|[0-9A-F]{7,})")
_HEX = re.compile(r"(0x|#)([0-9a-fA-F]+)")
_IP = re.compile(r"(\d{1,3}(?:\.\d{1,3}){3})(?:/(\d\d?))?")
_DOTTED = re.compile(r"\.?\w[\w-]*(?:\.[A-Za-z][\w-]*)*\.[A-Za-z_][\w-]*|\.[a-z][\w-]+")
_ABBREVIATED = re.compile(r"[A-Za-z]\.[A-Za-z]|[Pp]h\.[Dd]|(?:[A-Z]\.)+[A-Z]s?")
_LINE = re.compile(r":(\d+)(?::\d+)?")
_DRIVE = re.compile(r"([A-Za-z]):[\\/]")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
_HUMP = re.compile(r"[A-Za-z]*[a-z][A-Z][A-Za-z]*|[A-Z]{2,}[a-z]{2,}[A-Za-z]*")
_UNSPLIT = re.compile(r"(?:Mc|Mac|O'|De|Di|La|Le|Van)[A-Z][a-z]+|[A-Z]{2,}(?:s|ed|ing)")
_SPELLED, _FIRST = 8, 4
"""Hashes as short as git shows them are read whole; of longer ones the first few."""


def names(text: str) -> str:
    return _TOKEN.sub(_token, text)


def _token(match: re.Match[str]) -> str:
    token = match.group()
    if token.isalpha() and (token.islower() or token.istitle()):
        return token
    start = len(token) - len(token.lstrip(_OPENING))
    core = token[start:].rstrip(_CLOSING)
    if len(core) < 2:
        return token
    said = _name(core)
    return token if said is None else f"{token[:start]}{said}{token[start + len(core) :]}"


def _name(core: str) -> str | None:
    """What is said for it; None where it is no such name."""
    if core.lower() in SAID or core in UNITS:
        return None  # a word of its own, said wherever it stands
    if scheme := _URL.match(core):
        return _address(core[scheme.end() :])
    if _EMAIL.fullmatch(core):
        return _email(core)
    if _UUID.fullmatch(core) or _HASH.fullmatch(core):
        return _letters(core if len(core) <= _SPELLED else core[:_FIRST])
    if found := _HEX.fullmatch(core):
        return _hex(*found.groups())
    if _is_host(core):
        return _address(core)
    if _is_path(core):
        return _path(core)
    if _DOTTED.fullmatch(_LINE.sub("", core)) and not _ABBREVIATED.fullmatch(core):
        return _file(core)
    if "_" in core or (_HUMP.fullmatch(core) and not _UNSPLIT.fullmatch(core)):
        return _words(core)
    return None


# --- Addresses ------------------------------------------------------------------------


def _is_host(core: str) -> bool:
    host = re.split(r"[:/]", core, maxsplit=1)[0]
    if _IP.fullmatch(host):
        return True
    return bool(re.fullmatch(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{2,5}(?:/\S*)?", core)) and (
        host.rpartition(".")[2] not in ("py", "js", "ts", "md", "rs", "go", "c", "h", "tsx")
    )


def _address(text: str) -> str:
    """A host with its port and path; what comes after "?" or "#" nobody reads out."""
    text = re.split(r"[?#]", text, maxsplit=1)[0].rstrip("/")
    host, *parts = text.split("/")
    host, _, port = host.partition(":")
    if _IP.fullmatch(host):
        said = " dot ".join(label(group) for group in host.split("."))
        if len(parts) == 1 and parts[0].isdigit():
            return f"{said} slash {label(parts[0])}"
    else:
        said = " dot ".join(_words(part) for part in host.split("."))
    if port.isdigit():
        said += f" port {label(port)}"
    return " slash ".join([said, *(_file(part) for part in parts if part)])


def _email(text: str) -> str:
    name, _, host = text.partition("@")
    marks = {".": " dot ", "_": " underscore ", "-": " dash ", "+": " plus "}
    pieces = re.split(r"([._+-])", name)
    said = "".join(marks.get(piece) or _words(piece) for piece in pieces)
    return f"{said} at {' dot '.join(_words(part) for part in host.split('.'))}"


def _hex(mark: str, digits: str) -> str | None:
    if mark == "#" and (digits.isdigit() or len(digits) not in (3, 6, 8)):
        return None
    return ("hex " if mark == "0x" else "") + _letters(digits[:_SPELLED])


def _letters(text: str) -> str:
    """One by one: a3f as ay three F."""
    said = (
        one_by_one(c) if c.isdigit() else "ay" if c in "aA" else c.upper() for c in text if c != "-"
    )
    return " ".join(said)


# --- Paths and identifiers ------------------------------------------------------------


def _is_path(core: str) -> bool:
    parts = re.split(r"[/\\]", core)
    if len(parts) < 2 or not any(c.isalpha() for c in core):
        return False
    if _DRIVE.match(core) or parts[0] in ("", "~", ".", "..") or parts[-1] == "":
        return True
    if parts[-1] in PER and (len(parts[0]) < 2 or parts[0][0].isdigit() or parts[0] in UNITS):
        return False
    ends = (parts[0], parts[-1].partition(":")[0])
    return len(parts) > 2 or "_" in core or any(map(_DOTTED.fullmatch, ends))


def _path(core: str) -> str:
    line = ""
    if (found := _LINE.search(core)) and found.end() == len(core):
        core, line = core[: found.start()], f", line {found[1]}"
    start = ""
    if drive := _DRIVE.match(core):
        core, start = core[drive.end() :], f"{drive[1].upper()} colon backslash "
    mark = "backslash" if "\\" in core else "slash"
    parts = re.split(r"[/\\]+", core)
    if parts[0] == "":
        start += f"{mark} "
    said = [{"~": "tilde", ".": "dot", "..": "dot dot"}.get(p) or _file(p) for p in parts if p]
    return start + f" {mark} ".join(said) + line


def _file(name: str) -> str:
    """A name with dots: a file, a host, something of a module."""
    name, _, line = name.partition(":") if _LINE.search(name) else (name, "", "")
    said = " dot ".join(filter(None, map(_words, name.split("."))))
    said = f"dot {said}" if name.startswith(".") else said
    return f"{said}, line {line}" if line.isdigit() else said


def _words(name: str) -> str:
    """The words of an identifier, its marks left out."""
    if name.lower() in SAID:
        return SAID[name.lower()]
    parts = re.split(r"[_-]", name.replace("@", "_at_").replace("+", "_plus_"))
    said = (_word(word) for part in parts for word in _HUMPS.findall(part))
    return " ".join(said)


def _word(word: str) -> str:
    low = word.lower()
    if found := SAID.get(low) or IN_NAMES.get(low):
        return found
    # The dictionary spells out what it does not know in capitals, such as TOKENS.
    return low if word.isupper() and len(word) > 1 else word
