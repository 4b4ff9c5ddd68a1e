"""The table in docs/settings.md, made from the settings themselves.

`python -m tests.docs_settings --write` brings the file up to date; a test
fails when it is not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from vivavoce.config import Settings, variable

FILE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
BEGIN = "<!-- settings: begin (generated) -->"
END = "<!-- settings: end -->"


def table() -> str:
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        rows.append(f"| `{variable(name)}` | {_default(field)} | {field.description} |")
    return "\n".join(rows)


def _default(field: FieldInfo) -> str:
    extra: Any = field.json_schema_extra
    if isinstance(extra, dict) and "shown" in extra:
        return str(extra["shown"])
    value = field.default
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


def main() -> None:
    text = expected()
    if "--write" in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
    elif text != current():
        sys.exit(f"{FILE.name} is out of date: run python -m tests.docs_settings --write")


if __name__ == "__main__":
    main()
