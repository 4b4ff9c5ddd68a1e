"""A repository's settings, as git reads them. No I/O."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]\s*(.*)', re.ASCII)
_VARIABLE = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?", re.ASCII)
_PLAIN = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase"
    r"|precomposeunicode|symlinks|autocrlf|eol|safecrlf)|user\.(?:name|email)"
    r"|remote\.[^.]+\.(?:url|fetch)|branch\..+\.(?:remote|merge|rebase)"
    r"|init\.defaultbranch|extensions\.objectformat"
)
"""Settings that name no program, no further settings, and no other place."""
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\\]")
"""Where our reading and git's may part: a backslash joins lines, but not after a comment; a
return or a form feed is no end of a line. Who means well needs none of them."""


def settings(text: str) -> Iterator[tuple[str, str]]:
    """Each `section.key` with its value, in lower case but for the value. Liberal: what cannot be
    read is given without a name, and so is the rest of a value that goes on in the next line."""
    section = ""
    for line in text.split("\n"):
        line = line.strip(" \t\r")
        if (found := _SECTION.match(line)) is not None:
            section = ".".join(filter(None, (found[1].lower(), found[2])))
            line = found[3].strip(" \t")
        if not line or line[0] in "#;":
            continue
        variable = _VARIABLE.fullmatch(line)
        if variable is None or not section:
            yield "", line
        else:
            yield f"{section}.{variable[1].lower()}", variable[2] or ""


def harmless(text: str) -> bool:
    return _ODD.search(text) is None and all(
        _PLAIN.fullmatch(name) and _plain_value(value) for name, value in settings(text)
    )


def _plain_value(value: str) -> bool:
    """`ext::…` is a program, and quotes within it are not read by git; `-…` is an option."""
    bare = value.replace('"', "")
    return "::" not in bare and not bare.startswith("-")


def hash_size(text: str) -> int | None:
    """Of the repository's object names, in bytes; None where it is told in more than one way. Git
    looks at extensions only in repositories of version 1."""
    told = {value.lower() for name, value in settings(text) if name == "extensions.objectformat"}
    version = {value for name, value in settings(text) if name == "core.repositoryformatversion"}
    match sorted(told):
        case [] | ["sha1"]:
            return 20
        case ["sha256"] if version == {"1"}:
            return 32
        case _:
            return None


def named_words(text: str) -> Iterator[str]:
    """What the settings name that may be a file: a program, or further settings."""
    for setting, value in settings(text):
        if setting.split(".")[0] not in ("remote", "branch", "submodule", "user", "url"):
            yield from _words(value)


def _words(value: str) -> Iterator[str]:
    try:
        words = shlex.split(value)
    except ValueError:
        words = value.split()
    for word in words:
        plain = word.lstrip("!").strip()
        # One word without a slash or a dot is a number, a yes, a program of the system.
        if plain and ("/" in plain or "." in plain) and not plain.startswith(("-", "~", "$")):
            yield plain
