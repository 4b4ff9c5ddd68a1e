"""Inserts made ready once: the SQL as text, and how each column becomes a driver's value.

SQLAlchemy works out the parameters anew for every row of an executemany,
which costs more than the insert itself. Its words and its types are kept
here; only that work is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

from sqlalchemy import Connection, Dialect, Insert, Table

Process = Callable[[Any], Any]


class Prepared:
    """One INSERT with the columns `names`, whatever its ON CONFLICT says."""

    def __init__(self, statement: Insert, names: Sequence[str], dialect: Dialect) -> None:
        table = cast("Table", statement.table)
        self.sql = str(statement.compile(dialect=dialect, column_keys=list(names)))
        # The order in which the compiled statement names them: that of the table.
        self._names = [column.name for column in table.columns if column.name in names]
        self._values = itemgetter(*self._names)
        self._process = [_processor(table, name, dialect) for name in self._names]
        self._positional = dialect.positional

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        ready: list[Any] = [self._bind(row) for row in rows]
        connection.exec_driver_sql(self.sql, ready)

    def _bind(self, row: Mapping[str, Any]) -> tuple[Any, ...] | dict[str, Any]:
        pairs = zip(self._process, self._values(row), strict=True)
        values = [value if process is None else process(value) for process, value in pairs]
        return tuple(values) if self._positional else dict(zip(self._names, values, strict=True))


def _processor(table: Table, name: str, dialect: Dialect) -> Process | None:
    return table.c[name].type.dialect_impl(dialect).bind_processor(dialect)
