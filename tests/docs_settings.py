"""The table in docs/settings.md and the file .env.example, made from the settings themselves.

`python -m tests.docs_settings --write` brings both up to date; a test fails
when one is not.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from vivavoce.app.settings import Settings, variable

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "settings.md"
ENV_FILE = ROOT / ".env.example"
BEGIN = "<!-- settings: begin (generated) -->"
END = "<!-- settings: end -->"


def descriptions() -> dict[str, str]:
    """What stands below each field: nobody but a reader needs it, so nothing keeps it in memory."""
    found = {}
    for part in reversed(Settings.__mro__):
        if not issubclass(part, BaseSettings) or part is BaseSettings:
            continue
        body = cast("ast.ClassDef", ast.parse(inspect.getsource(part)).body[0]).body
        for field, below in pairwise(body):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(name)),
                    ast.Expr(value=ast.Constant(value=str(words))),
                ):
                    found[name] = " ".join(words.split())
    return found


def table() -> str:
    described = descriptions()
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        rows.append(f"| `{variable(name)}` | {_default(field)} | {described[name]} |")
    return "\n".join(rows)


def _default(field: FieldInfo) -> str:
    extra: Any = field.json_schema_extra
    if isinstance(extra, dict) and "shown" in extra:
        return str(extra["shown"])
    value = field.default
    if isinstance(value, tuple) and value:
        value = ",".join(map(str, value))
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def current() -> str:
    return FILE.read_text(encoding="utf-8")


def expected() -> str:
    before, _, rest = current().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


ENV_HEAD = """\
# Every setting, with its default. Copy this file to .env and take the # away from what you change.
# `vivavoce serve` reads .env in the folder where it starts; compose.yaml gives it to its server.
# Keep .env to yourself: it holds keys.

# --- For compose.yaml: fill these in (docs/deploy.md)

# The name people use for the server; it has to point to this machine. Without one: localhost.
DOMAIN=localhost
# Of the database inside; letters and digits. `openssl rand -hex 32` makes a good one.
POSTGRES_PASSWORD=
# The most memory that the server may have, with its models; a larger brain needs more.
#SERVER_MEMORY=6g
# So long Docker waits for the server to end in order: longer than VIVAVOCE_DRAIN_SECONDS and
# twice VIVAVOCE_SHUTDOWN_SECONDS together.
#STOP_GRACE=30s
"""
# What has to be chosen before anyone beyond this machine may come.
_TO_FILL = {"auth": "off, token or jwt; compose.yaml needs one of the last two", "auth_token": ""}


def env_file() -> str:
    """The settings in the order of the docs, each with what it is; only some are not comments."""
    parts = [ENV_HEAD, "# --- Settings\n"]
    described = descriptions()
    for name, field in Settings.model_fields.items():
        lines = textwrap.wrap(described[name], 96)
        if (extra := _TO_FILL.get(name)) or isinstance(field.json_schema_extra, dict):
            lines += textwrap.wrap(extra or f"Default: {_default(field)}.", 96)
        said = "".join(f"# {line}\n" for line in lines)
        value = "" if isinstance(field.json_schema_extra, dict) else _default(field).strip("`")
        if name in _TO_FILL:
            parts.append(f"{said}{variable(name)}=\n")
        else:
            parts.append(f"{said}#{variable(name)}={value}\n")
    return "\n".join(parts)


def main() -> None:
    text = expected()
    if "--write" in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
        ENV_FILE.write_text(env_file(), encoding="utf-8")
    elif text != current() or ENV_FILE.read_text(encoding="utf-8") != env_file():
        sys.exit(
            f"{FILE.name} or {ENV_FILE.name} is out of date: "
            "run python -m tests.docs_settings --write"
        )


if __name__ == "__main__":
    main()
