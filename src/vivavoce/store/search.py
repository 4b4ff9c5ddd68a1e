"""The search in what was said: the full-text index of each database, words, score, snippet.

SQLite has an FTS5 table that triggers keep; PostgreSQL a generated column with
a GIN index. Both hold the owner as a word too, so that a search never walks
through what others said. Neither is in `schema.metadata`: change what is made here, and a
migration has to change it in the databases there are.

Whatever people type is taken as words: there is no syntax to get wrong, or to get through.
The databases find candidates with an index; which of them is best is decided here, so it is
the same on each of them.

The FTS5 table keeps no text. Its rows are numbered by a table of our own: the
row ids of `messages` are SQLite's, and VACUUM may give others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, TextualSelect, text

from vivavoce.store.schema import SAID, messages
from vivavoce.wire.records.plans import Hit

WORDS = 12  # of a query
LETTERS = 64  # of a word
CANDIDATES = 200  # the newest; among them the best
PREVIEW = 120
_BEFORE, _AFTER = 50, 110  # characters of a snippet around the first word found

INDEX = "message_words"
NUMBERS = "message_numbers"
COLUMN = "words"  # of `messages`, on PostgreSQL
_SAID = str(SAID)  # as SQL writes it, too
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

# Folded as `fold` does. Punctuation goes first: the parser would take addresses,
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
    for statement in _POSTGRES if connection.dialect.name == "postgresql" else _SQLITE:
        connection.exec_driver_sql(statement)


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


# --- Words, score, snippet ----------------------------------------------------------

# An accent may stand after its letter, as a character of its own.
_WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")
_ACCENTED = re.compile(r"([A-Za-z])[\u0300-\u036f]+")


def fold(text: str) -> str:
    """As the indexes fold: no capitals, no accents on Latin letters, one form for one letter."""
    if text.isascii():
        return text.lower()
    plain = _ACCENTED.sub(r"\1", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).lower()


def words(query: str) -> list[str]:
    """The last of them may be a beginning."""
    return [word[:LETTERS] for word in _WORD.findall(fold(query[:2000]))[:WORDS]]


class Found(NamedTuple):
    """A message with all the words, as `_SHOWN` has it."""

    message_id: str
    conversation_id: str
    role: str
    text: str
    created_at: datetime


def rank(found: Iterable[Found], wanted: Sequence[str], limit: int) -> list[Hit]:
    """Best first; of equal ones the newest."""
    score = _scorer(wanted)
    scored = [(score(each.text), each) for each in found]
    scored.sort(key=lambda pair: (pair[0], pair[1].created_at, pair[1].message_id), reverse=True)
    return [_hit(each, wanted, points) for points, each in scored[: max(0, limit)]]


def _hit(found: Found, wanted: Sequence[str], points: float) -> Hit:
    whole, last = set(wanted), wanted[-1]
    marked = [
        match
        for match in _WORD.finditer(found.text)
        if (word := fold(match.group())) in whole or word.startswith(last)
    ]
    parts = _parts(found.text, marked)
    return Hit(
        message_id=found.message_id,
        conversation_id=found.conversation_id,
        role=found.role,
        created_at=found.created_at,
        snippet="".join(f"«{text}»" if hit else text for text, hit in parts),
        score=points,
        parts=parts,
    )


def _scorer(wanted: Sequence[str]) -> Callable[[str], float]:
    """Whole words before beginnings, together before apart, much of a text before little.

    With expressions made once: a common word has hundreds of candidates.
    """
    words = [re.escape(word) for word in wanted]
    some = re.compile(rf"(?<![^\W_])(?:{'|'.join(words)}|{words[-1]}[^\W_]*)(?![^\W_])")
    all_of_them = re.compile(r"(?<![^\W_])" + r"[\W_]+".join(words))
    asked = set(wanted)

    def score(text: str) -> float:
        folded = fold(text)
        there = some.findall(folded)
        exact = len(asked.intersection(there)) / len(asked)
        together = len(wanted) > 1 and all_of_them.search(folded) is not None
        return round(exact + together + sum(map(len, there)) / max(1, len(folded)), 4)

    return score


_MARKS = re.compile("([\ue000\ue001])")
"""Of nobody's, while spaces are put in order."""


def _parts(text: str, found: Sequence[re.Match[str]]) -> tuple[tuple[str, bool], ...]:
    """A piece of the text around the words, and which of it they are."""
    pieces: list[tuple[str, bool]] = []
    hit = False
    for piece in _MARKS.split(_marked(text, found)):
        if piece in ("\ue000", "\ue001"):
            hit = piece == "\ue000"
        elif piece:
            pieces.append((piece, hit))
    return tuple(pieces)


def _marked(text: str, found: Sequence[re.Match[str]]) -> str:
    first = found[0].start() if found else 0
    start = _word_start(text, max(0, first - _BEFORE))
    end = _word_end(text, min(len(text), first + _AFTER))
    out, at = [], start
    for word in found:
        if word.start() >= at and word.end() <= end:
            out += [_bare(text[at : word.start()]), "\ue000", word.group(), "\ue001"]
            at = word.end()
    out.append(_bare(text[at:end]))
    middle = " ".join("".join(out).split())
    return f"{'…' if start else ''}{middle}{'…' if end < len(text) else ''}"


def _bare(text: str) -> str:
    return _MARKS.sub("", text)


def _word_start(text: str, at: int) -> int:
    """The next beginning of a word, unless that is too far."""
    if at == 0:
        return 0
    space = text.find(" ", at, at + 20)
    return at if space < 0 else space + 1


def _word_end(text: str, at: int) -> int:
    if at == len(text):
        return at
    space = text.rfind(" ", max(0, at - 20), at)
    return at if space < 0 else space


def preview(text: str | None) -> str | None:
    """One line, cut at a word."""
    if text is None:
        return None
    line = " ".join(text.split())
    if len(line) <= PREVIEW:
        return line
    return line[: _word_end(line, PREVIEW - 1)] + "…"
