"""The full-text index over what was said: how each database makes it, and is asked.

SQLite has an FTS5 table that triggers keep; PostgreSQL a generated column with
a GIN index. Both hold the owner as a word too, so that a search never walks
through what others said. Neither is in `schema.metadata`. Migrations use this
module: change what is made here, and a migration has to change it in the
databases there are.

The FTS5 table keeps no text. Its rows are numbered by a table of our own: the
row ids of `messages` are SQLite's, and VACUUM may give others.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, TextualSelect, text

from vivavoce.store.schema.talk import messages

INDEX = "message_words"
NUMBERS = "message_numbers"
COLUMN = "words"  # of `messages`, on PostgreSQL
_SAID = "('user', 'assistant')"
_SHOWN = [messages.c[name] for name in ("id", "conversation_id", "role", "content", "created_at")]
_ALL = ", ".join(f"messages.{column.name}" for column in _SHOWN)

# --- SQLite -------------------------------------------------------------------------

_DELETE = f"""
    INSERT INTO {INDEX} ({INDEX}, rowid, owner, said)
    SELECT 'delete', number, 'u' || hex(old.user_id), old.content
    FROM {NUMBERS} WHERE message_id = old.id;"""  # noqa: S608

_SQLITE = (
    f"CREATE TABLE {NUMBERS} (number INTEGER PRIMARY KEY, message_id CHAR(36) NOT NULL UNIQUE)",
    f"""CREATE VIRTUAL TABLE {INDEX} USING fts5(
        owner, said, content='', tokenize='unicode61 remove_diacritics 2', prefix='1 2 3')""",
    f"""CREATE TRIGGER messages_said AFTER INSERT ON messages
    WHEN new.role IN {_SAID} BEGIN
    INSERT INTO {NUMBERS} (message_id) VALUES (new.id);
    INSERT INTO {INDEX} (rowid, owner, said)
    VALUES (last_insert_rowid(), 'u' || hex(new.user_id), new.content);
    END""",  # noqa: S608
    f"""CREATE TRIGGER messages_said_again AFTER UPDATE OF content ON messages
    WHEN new.role IN {_SAID} AND new.content <> old.content BEGIN{_DELETE}
    INSERT INTO {INDEX} (rowid, owner, said)
    SELECT number, 'u' || hex(new.user_id), new.content
    FROM {NUMBERS} WHERE message_id = new.id;
    END""",  # noqa: S608
    f"""CREATE TRIGGER messages_unsaid AFTER DELETE ON messages
    WHEN old.role IN {_SAID} BEGIN{_DELETE}
    DELETE FROM {NUMBERS} WHERE message_id = old.id;
    END""",  # noqa: S608
    # What is there already, in the order in which it was said.
    f"""INSERT INTO {NUMBERS} (message_id) SELECT id FROM messages
    WHERE role IN {_SAID} ORDER BY created_at""",  # noqa: S608
    f"""INSERT INTO {INDEX} (rowid, owner, said)
    SELECT number, 'u' || hex(user_id), content
    FROM {NUMBERS} JOIN messages ON messages.id = message_id ORDER BY number""",  # noqa: S608
)

_FIND_SQLITE = f"""
SELECT {_ALL} FROM
    (SELECT rowid AS number FROM {INDEX} WHERE {INDEX} MATCH :match
     ORDER BY rowid DESC LIMIT :candidates) AS found
    JOIN {NUMBERS} ON {NUMBERS}.number = found.number
    JOIN messages ON messages.id = {NUMBERS}.message_id
WHERE messages.user_id = :user_id
"""  # noqa: S608

# --- PostgreSQL ---------------------------------------------------------------------

# Folded as `finding.fold` does. Punctuation goes first: the parser would take addresses,
# numbers with signs and hyphenated words as one. A vector has at most a megabyte, and a
# message that is too long to be found must not be too long to be kept.
_LETTERS = "left(normalize(left(content, 50000), NFKD), 100000)"
_FOLDED = rf"normalize(regexp_replace({_LETTERS}, '([A-Za-z])[\u0300-\u036f]+', '\1', 'g'), NFC)"
_PUNCTUATION = (
    r"[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9"
    r"\u00bb-\u00bf\u00d7\u00f7\u2000-\u206f\u3000-\u303f]+"
)
_VECTOR = f"""to_tsvector('simple', regexp_replace({_FOLDED}, '{_PUNCTUATION}', ' ', 'g'))
    || array_to_tsvector(ARRAY['@' || left(user_id, 200)])"""

_POSTGRES = (
    f"""ALTER TABLE messages ADD COLUMN {COLUMN} tsvector GENERATED ALWAYS AS
    (CASE WHEN role IN {_SAID} THEN {_VECTOR} END) STORED""",
    f"CREATE INDEX idx_messages_words ON messages USING gin ({COLUMN})",
    f"CREATE INDEX idx_messages_recent ON messages (user_id, created_at) WHERE role IN {_SAID}",
)

# A common word is in half of everything, which the index would bring to be sorted. The newest
# few thousand have enough of it; what they have not is rare, and the index is quick.
_RECENT_POSTGRES = f"""
SELECT {_ALL} FROM (
    SELECT * FROM messages WHERE user_id = :user_id AND role IN {_SAID}
    ORDER BY created_at DESC LIMIT 4000) AS messages
WHERE {COLUMN} @@ CAST(:match AS tsquery)
ORDER BY created_at DESC LIMIT :candidates
"""  # noqa: S608

_FIND_POSTGRES = f"""
SELECT {_ALL} FROM messages
WHERE {COLUMN} @@ CAST(:match AS tsquery) AND user_id = :user_id
ORDER BY created_at DESC LIMIT :candidates
"""  # noqa: S608

# --- Both ---------------------------------------------------------------------------


def install(connection: Connection) -> None:
    """Makes the index, with what is there already."""
    for statement in _POSTGRES if connection.dialect.name == "postgresql" else _SQLITE:
        connection.exec_driver_sql(statement)


def remove(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("DROP INDEX idx_messages_recent")
        connection.exec_driver_sql(f"ALTER TABLE messages DROP COLUMN {COLUMN}")
        return
    for trigger in ("messages_said", "messages_said_again", "messages_unsaid"):
        connection.exec_driver_sql(f"DROP TRIGGER {trigger}")
    connection.exec_driver_sql(f"DROP TABLE {INDEX}")
    connection.exec_driver_sql(f"DROP TABLE {NUMBERS}")


def ours(name: str | None) -> bool:
    """Is this table, column or index part of the search?"""
    names = (INDEX, NUMBERS, COLUMN, "idx_messages_words", "idx_messages_recent")
    return name is not None and (name in names or name.startswith(f"{INDEX}_"))


def find(dialect: str) -> list[TextualSelect]:
    """To be asked one after another until there are candidates enough."""
    ways = (_RECENT_POSTGRES, _FIND_POSTGRES) if dialect == "postgresql" else (_FIND_SQLITE,)
    return [text(sql).columns(*_SHOWN) for sql in ways]  # typed as any query's columns are


def match(dialect: str, wanted: Sequence[str], user_id: str) -> str:
    """In the index's own language. The words are letters and digits; the owner is escaped."""
    if dialect == "postgresql":
        owner = "@" + user_id[:200].replace("\\", "\\\\").replace("'", "''")
        return " & ".join([f"'{owner}'", *(f"'{word}'" for word in wanted)]) + ":*"
    owner = "u" + user_id.encode().hex()
    said = " AND ".join(f'"{word}"' for word in wanted)
    return f'owner:"{owner}" AND said:({said}*)'
